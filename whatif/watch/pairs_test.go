package watch

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/whatif/goal"
)

// mixed makes small and large applications, which take 10 s and 100 s times a factor, before the start or since.
func mixed(small, large int, since bool, factor func() float64) (list []App) {
	for i := range small + large {
		a := App{ID: fmt.Sprint(since, i), Name: fmt.Sprintf("etl-%d", i), User: "ann", Queue: "root.prod", Succeeded: true, Held: 100 + float64(i%9)}
		took := 10 * factor()
		if i >= small {
			a.Held, took = 50*a.Held, 10*took
		}
		a.SoFar = time.Duration(took * float64(time.Second))
		if a.Submitted, a.Finished = start.Add(-a.SoFar), start; since {
			a.Submitted, a.Finished = start.Add(time.Minute), start.Add(time.Minute+a.SoFar)
		}
		list = append(list, a)
	}
	return list
}

func always(x float64) func() float64 { return func() float64 { return x } }

// Other applications than before the change are not its effect: like is compared with like, by user, name and size.
func TestLikeWithLike(t *testing.T) {
	for name, c := range map[string]struct {
		since  []App
		change float64
		pairs  int
		enough bool
	}{
		"no effect, larger ones": {mixed(10, 40, true, always(1)), 0, 50, true},
		"half as long, larger":   {mixed(10, 40, true, always(0.5)), -0.5, 50, true},
		"longer, all small":      {mixed(30, 0, true, always(1.5)), 0.5, 30, true},
		"one kind is new":        {append(mixed(12, 0, true, always(1)), of("eve", 20, true, time.Hour, true)...), 0, 12, true},
		"all are new":            {of("eve", 20, true, time.Hour, true), 0, 0, false},
		"few have been there":    {append(mixed(9, 0, true, always(9)), of("eve", 20, true, time.Hour, true)...), 8, 9, false},
		"larger than ever before": {func() []App {
			l := mixed(0, 20, true, always(1))
			for i := range l {
				l[i].Held *= 100
			}
			return l
		}(), 0, 0, false},
		"unfinished, of any size": {func() []App {
			l := mixed(12, 0, true, always(1))
			for i := range l {
				l[i].Finished, l[i].Held = time.Time{}, 1
			}
			return l
		}(), -1 + 10/28., 12, true},
	} {
		w := New(time.Hour, mixed(40, 10, false, always(1)))
		w.Add(c.since, time.Hour)
		f, err := w.Measure(elapsed)
		if err != nil || f.Pairs != c.pairs || f.Enough != c.enough || c.enough && (math.Abs(f.Change-c.change) > 0.01 || f.Low > c.change+1e-9 || f.High < c.change-1e-9) {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
}

// The change that could have been seen is one that is seen 8 times of 10, at the level of one look.
func TestDetectable(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	factor := func(by float64) func() float64 {
		return func() float64 { return by * math.Exp(0.5*random.NormFloat64()) }
	}
	seen, n, detectable := 0, 16, 0.0
	for range n {
		w := New(time.Hour, mixed(100, 0, false, factor(1)))
		w.Add(mixed(40, 0, true, factor(1+detectable)), time.Hour)
		f, err := w.Measure(elapsed)
		if err != nil || !f.Enough {
			t.Fatal(err)
		}
		if detectable == 0 {
			if detectable = f.Detectable; detectable < 0.25 || detectable > 0.6 { // 3.65 x 0.5 x sqrt(1/100 + 1/40), about
				t.Fatalf("%+v", f)
			}
			continue
		}
		if f.Low > 0 {
			seen++
		}
	}
	if t.Logf("a change of %.0f %% is seen in %d of %d", 100*detectable, seen, n-1); seen < n*6/10 {
		t.Error("too rarely")
	}
}

// A queue that is used more than before is named: applications alike wait longer for each other.
func TestOtherLoad(t *testing.T) {
	app := func(i int, from time.Time, every time.Duration, held float64) App {
		a := took(fmt.Sprint(from, i), from.Add(time.Duration(i)*every+time.Second), time.Second)
		a.User, a.Name, a.Held = "ann", "etl", held
		return a
	}
	for _, c := range []struct {
		every time.Duration
		want  string
	}{
		{10 * time.Second, "8 times of 10"},
		{5 * time.Second, "8 times of 10; the load of the queue changed by +98 %, and the figures include that"},
		{20 * time.Second, "8 times of 10; the load of the queue changed by -50 %, and the figures include that"},
	} {
		var before, since []App
		for i := range 100 {
			before = append(before, app(i, start.Add(-1000*time.Second), 10*time.Second, 1000))
		}
		w := New(time.Minute, before)
		for i := range 40 {
			since = append(since, app(i, start, c.every, 1000))
		}
		w.Add(since, 40*c.every)
		f, err := w.Measure(goal.Goal{Statistic: goal.Mean, Figure: goal.Elapsed, Queue: "root.prod"})
		if err != nil || !f.Enough || !strings.HasSuffix(f.Told(), c.want) {
			t.Errorf("every %v: %q, %+v, %v", c.every, f.Told(), f, err)
		}
	}
}
