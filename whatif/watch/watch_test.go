package watch

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	_ "github.com/yardmaster/yardmaster/internal/fixedseed"

	"github.com/yardmaster/yardmaster/whatif/goal"
)

var start = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// history are applications that took about ten seconds, one every ten seconds before the start.
func history(random *rand.Rand, n int) (list []App) {
	for i := range n {
		list = append(list, took(fmt.Sprintf("before-%d", i), start.Add(time.Duration(i-n)*10*time.Second), length(random)))
	}
	return list
}

func length(random *rand.Rand) time.Duration {
	return time.Duration(10 * math.Exp(random.NormFloat64()) * float64(time.Second))
}

func took(id string, finished time.Time, d time.Duration) App {
	return App{ID: id, Queue: "root.prod", Submitted: finished.Add(-d), Finished: finished, SoFar: d, Succeeded: true}
}

// play watches applications submitted every ten seconds, and returns the look that finds the bound broken; 0: none.
func play(random *rand.Rand, b goal.Bound, slower float64) int {
	const lasts = 20 * time.Minute
	w := New(lasts, history(random, 200))
	var all []time.Duration
	for range int(lasts / (10 * time.Second)) {
		all = append(all, time.Duration(slower*float64(length(random))))
	}
	for look := 1; look <= Looks; look++ {
		now := lasts * time.Duration(look) / Looks
		var list []App
		for i, d := range all {
			at := time.Duration(i) * 10 * time.Second
			if at > now {
				break
			}
			a := App{ID: strconv.Itoa(i), Queue: "root.prod", Submitted: start.Add(at), SoFar: min(now-at, d), Succeeded: at+d <= now}
			if a.Succeeded {
				a.Finished = start.Add(at + d)
			}
			list = append(list, a)
		}
		w.Add(list, now)
		if f, err := w.Measure(b.Goal); err == nil && w.Broken(b, &f) {
			return look
		}
	}
	return 0
}

// Chance alone hardly ever breaks a bound, and harm does. YARDMASTER_WATCHES sets how many are tried.
func TestNoiseAndHarm(t *testing.T) {
	n := 2
	if text := os.Getenv("YARDMASTER_WATCHES"); text != "" {
		n, _ = strconv.Atoi(text)
	}
	b, err := goal.ParseBound("mean elapsed of root.prod <= +2 %")
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(7, 7))
	falsely, found := 0, 0
	for range n {
		if play(random, b, 1) > 0 {
			falsely++
		}
		if play(random, b, 4) > 0 {
			found++
		}
	}
	if t.Logf("of %d watches each: broken by chance %d, a fourfold time found %d", n, falsely, found); falsely > max(1, n/20) || found < n*8/10 {
		t.Error("the rule does not hold")
	}
}

// Applications that no longer end are noticed; those from before the change are not blamed on it.
func TestStarved(t *testing.T) {
	b, _ := goal.ParseBound("mean elapsed of root.prod <= +20 %")
	list := history(rand.New(rand.NewPCG(1, 1)), 100)
	old := App{ID: "service", Queue: "root.prod", Submitted: start.Add(-1000 * time.Hour), SoFar: 1000 * time.Hour}
	w := New(10*time.Minute, append(list, old))
	var waiting []App
	for i := range 12 {
		waiting = append(waiting, App{ID: strconv.Itoa(i), Queue: "prod", Submitted: start, SoFar: 5 * time.Minute})
	}
	w.Add(append(waiting, old), 5*time.Minute)
	f, err := w.Measure(b.Goal)
	if err != nil || !w.Broken(b, &f) || f.Unfinished != 12 || f.Since != 300 {
		t.Errorf("%+v, %v", f, err)
	}
	// The ResourceManager's clock jumps by a day: nothing submitted since can have taken longer than the time since.
	for i := range waiting {
		waiting[i].SoFar = 24 * time.Hour
	}
	w.Add(waiting, 6*time.Minute)
	if f, err := w.Measure(b.Goal); err != nil || f.Since != 360 {
		t.Errorf("%+v, %v", f, err)
	}
	// It restarts and has forgotten them: what is not known is not counted.
	w.Add(nil, 7*time.Minute)
	if f, err := w.Measure(b.Goal); err != nil || f.Apps != 0 || f.Enough {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestRejects(t *testing.T) {
	for _, c := range []struct {
		f    Figure
		want bool
	}{
		{Figure{AppsBefore: 100, Apps: 20, Failed: 15}, true},
		{Figure{AppsBefore: 100, Apps: 20, Unfinished: 20, Failed: 15}, true},
		{Figure{AppsBefore: 100, FailedBefore: 50, Apps: 20, Failed: 12}, false},
		{Figure{AppsBefore: 100, FailedBefore: 1, Apps: 30, Failed: 1}, false},
		{Figure{AppsBefore: 100, Apps: 2, Failed: 2}, false},
		{Figure{AppsBefore: 100, Apps: 100}, false},
	} {
		if c.f.Rejects() != c.want {
			t.Errorf("%+v: %v", c.f, !c.want)
		}
	}
}

// Figures of nearly nothing have an interval that can be recorded.
func TestNearlyZero(t *testing.T) {
	list := []App{took("slow", start, time.Second)}
	for i := range 20 {
		list = append(list, took(strconv.Itoa(i), start, 0))
	}
	w := New(time.Minute, list)
	for i := range 12 {
		w.Add([]App{took(fmt.Sprint("since-", i), start.Add(time.Second), time.Second)}, time.Minute)
	}
	f, err := w.Measure(goal.Goal{Statistic: goal.Mean, Figure: goal.Elapsed, Queue: goal.All})
	if _, bad := json.Marshal(f); err != nil || bad != nil || !f.Enough {
		t.Errorf("%+v: %v, %v", f, err, bad)
	}
}

// A wait without launch times is refused, with what to do.
func TestNoLaunchTimes(t *testing.T) {
	w := New(time.Minute, history(rand.New(rand.NewPCG(1, 1)), 20))
	if _, err := w.Measure(goal.Goal{Statistic: goal.Mean, Figure: goal.Wait, Queue: goal.All}); err == nil || !strings.Contains(err.Error(), "use elapsed") {
		t.Errorf("%v", err)
	}
}

// Whatever a ResourceManager answers, figures are finite and bounded by the time since the change, and the same answers give the same figures.
func TestAnyAnswers(t *testing.T) {
	app := rapid.Custom(func(t *rapid.T) App {
		at := func(name string) time.Time { return time.UnixMilli(rapid.Int64Range(-1<<50, 1<<50).Draw(t, name)) }
		a := App{ID: strconv.Itoa(rapid.IntRange(0, 40).Draw(t, "id")), Queue: "root.prod", Submitted: at("submitted"), Succeeded: rapid.Bool().Draw(t, "succeeded"),
			SoFar: time.Duration(rapid.Int64Range(0, 1<<60).Draw(t, "so far"))}
		if rapid.Bool().Draw(t, "ended") {
			a.Finished = at("finished")
		}
		return a
	})
	g := goal.Goal{Statistic: goal.Mean, Figure: goal.Elapsed, Queue: goal.All}
	rapid.Check(t, func(t *rapid.T) {
		first, then := rapid.SliceOfN(app, 0, 9).Draw(t, "before"), rapid.SliceOfN(app, 0, 40).Draw(t, "since")
		measure := func() Figure {
			w := New(time.Minute, first)
			w.Add(then, 30*time.Second)
			f, err := w.Measure(g)
			if err != nil {
				t.Fatal(err)
			}
			return f
		}
		f := measure()
		if again := measure(); again != f || math.IsNaN(f.Since) || f.Since < 0 || f.Since > 30 {
			t.Fatalf("%+v and %+v", f, again)
		}
	})
}
