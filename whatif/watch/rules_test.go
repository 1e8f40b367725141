package watch

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/whatif/goal"
)

var elapsed = goal.Goal{Statistic: goal.Mean, Figure: goal.Elapsed, Queue: "root.prod"}

// times is n applications that took d each, one a second, the last of them finished at an instant.
func times(id string, n int, finished time.Time, d time.Duration) (list []App) {
	for i := range n {
		list = append(list, took(fmt.Sprint(id, i), finished.Add(time.Duration(i-n+1)*time.Second), d))
	}
	return list
}

// submitted is n applications submitted after the start that took d each.
func submitted(id string, n int, d time.Duration) (list []App) {
	for i := range n {
		list = append(list, took(fmt.Sprint(id, i), start.Add(time.Minute+d), d))
	}
	return list
}

// The interval of one look of twenty leaves out a quarter of a percent of the resamples on each side. Of ten applications, k took twice as long with
// the probability of a binomial distribution: P(k <= 3) = 0.987, P(k <= 4) = 0.998.
func TestIntervalOfOneLook(t *testing.T) {
	for _, c := range []struct {
		fast, slow        int
		change, low, high float64
	}{
		{9, 1, 0.1, 0, 0.4}, {1, 9, 0.9, 0.6, 1}, {10, 0, 0, 0, 0},
	} {
		w := New(time.Hour, times("before", 10, start, 10*time.Second))
		w.Add(append(submitted("fast", c.fast, 10*time.Second), submitted("slow", c.slow, 20*time.Second)...), time.Hour)
		f, err := w.Measure(elapsed)
		if err != nil || !f.Enough || math.Abs(f.Change-c.change) > 1e-9 || math.Abs(f.Low-c.low) > 1e-9 || math.Abs(f.High-c.high) > 1e-9 {
			t.Errorf("%d of 10 s, %d of 20 s: %v in %v to %v, want %v in %v to %v (%v)", c.fast, c.slow, f.Change, f.Low, f.High, c.change, c.low, c.high, err)
		}
	}
}

// Ten applications on each side are enough, if they took any time before.
func TestEnough(t *testing.T) {
	for _, c := range []struct {
		before, since int
		took          time.Duration
		want          bool
	}{{10, 10, time.Second, true}, {9, 10, time.Second, false}, {10, 9, time.Second, false}, {10, 10, 0, false}} {
		w := New(time.Hour, times("before", c.before, start, c.took))
		w.Add(submitted("since", c.since, time.Second), time.Hour)
		if f, err := w.Measure(elapsed); err != nil || f.Enough != c.want || f.AppsBefore != c.before || f.Apps != c.since {
			t.Errorf("%+v: %+v, %v", c, f, err)
		}
	}
}

// Failures are compared by the share of those that have ended, with a test of two proportions at a normal quantile of 2.81.
func TestRejectsByTheShareOfFailures(t *testing.T) {
	for _, c := range []struct {
		name                                               string
		before, failedBefore, finished, unfinished, failed int
		want                                               bool
	}{
		// 7 %: 2.81 sqrt(0.035 x 0.965 x 2/100) = 0.0730. 8 %: 2.81 sqrt(0.04 x 0.96 x 2/100) = 0.0779.
		{"7 of 100 after none", 100, 0, 93, 0, 7, false},
		{"8 of 100 after none", 100, 0, 92, 0, 8, true},
		// 15 points: 2.81 sqrt(0.175 x 0.825 x 2/100) = 0.1510. 16 points: 2.81 sqrt(0.18 x 0.82 x 2/100) = 0.1527.
		{"25 of 100 after 10", 90, 10, 75, 0, 25, false},
		{"26 of 100 after 10", 90, 10, 74, 0, 26, true},
		{"fewer than before", 50, 50, 90, 0, 10, false},
		{"ten on each side", 10, 0, 0, 0, 10, true},
		{"nine before", 9, 0, 0, 0, 40, false},
		{"ten before, with those that failed", 5, 5, 0, 0, 40, true},
		{"nine have ended since", 100, 0, 0, 0, 9, false},
		{"nine have ended since, more run", 100, 0, 0, 50, 9, false},
		{"ten have ended since, more run", 100, 0, 0, 50, 10, true},
	} {
		f := Figure{AppsBefore: c.before, FailedBefore: c.failedBefore, Apps: c.finished + c.unfinished, Unfinished: c.unfinished, Failed: c.failed}
		if f.Rejects() != c.want {
			t.Errorf("%s: %v", c.name, !c.want)
		}
	}
}

// A slow time before the change excuses one since, if ten applications of the queue have ended in it: in a stretch as long as the watch, which begins with the
// latest application that no later stretch holds.
func TestEveryStretchCounts(t *testing.T) {
	const long = 10 * time.Minute
	b := goal.Bound{Goal: elapsed, Limit: 0.02}
	slow := times("slow", 10, start.Add(5*time.Second-5*time.Hour), 100*time.Second)
	change := func(at int, f func(*App)) []App {
		list := slices.Clone(slow)
		f(&list[at])
		return list
	}
	end := slow[9].Finished
	for _, c := range []struct {
		name string
		slow []App
		want bool
	}{
		{"none", nil, true},
		{"ten", slow, false},
		{"nine", slow[1:], true},
		{"of another queue", change(4, func(a *App) { a.Queue = "root.other" }), true},
		{"failed", change(4, func(a *App) { a.Succeeded = false }), true},
		{"as long as the watch before", change(0, func(a *App) { a.Finished = end.Add(-long); a.Submitted = a.Finished.Add(-100 * time.Second) }), true},
		{"within the watch", change(0, func(a *App) {
			a.Finished = end.Add(time.Second - long)
			a.Submitted = a.Finished.Add(-100 * time.Second)
		}), false},
		{"just as slow", times("slow", 10, end, 99*time.Second), false}, // 100 s are 1.01 % more
		{"not as slow", times("slow", 10, end, 98*time.Second), true},   // 2.04 % more
	} {
		w := New(long, append(times("fast", 20, start, 10*time.Second), c.slow...))
		if got := w.Broken(b, &Figure{Statistic: goal.Mean, Before: 40, Since: 100, Low: 1, Enough: true}); got != c.want {
			t.Errorf("%s: broken is %v", c.name, got)
		}
	}
}

// A bound is broken only if the figure, and the lower end of its interval, are beyond it.
func TestBrokenBeyondTheInterval(t *testing.T) {
	w := New(time.Minute, times("before", 20, start, 10*time.Second))
	b := goal.Bound{Goal: elapsed, Limit: 0.1}
	f := Figure{Statistic: goal.Mean, Before: 10, Since: 12, Low: 0.11, Enough: true}
	for _, c := range []struct {
		name   string
		change func(*Figure)
		want   bool
	}{
		{"beyond it", func(*Figure) {}, true},
		{"too few", func(f *Figure) { f.Enough = false }, false},
		{"kept", func(f *Figure) { f.Since = 11 }, false},
		{"at the lower end", func(f *Figure) { f.Low = 0.1 }, false},
		{"unknown", func(f *Figure) { f.Low = math.NaN() }, false},
	} {
		g := f
		if c.change(&g); w.Broken(b, &g) != c.want {
			t.Errorf("%s: %v", c.name, !c.want)
		}
	}
}

// What an application's elapsed time and wait are, and when it has none.
func TestFigureOfAnApplication(t *testing.T) {
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	for _, c := range []struct {
		name          string
		app           App
		elapsed, wait float64 // s; -1: none
	}{
		{"finished", App{Submitted: at(0), Launched: at(3), Finished: at(10), SoFar: 99 * time.Second}, 10, 3},
		{"running", App{Submitted: at(0), Launched: at(3), SoFar: 8 * time.Second}, 8, 3},
		{"waiting", App{Submitted: at(0), SoFar: 8 * time.Second}, 8, 8},
		{"finished, launch unknown", App{Submitted: at(0), Finished: at(10), SoFar: 10 * time.Second}, 10, -1},
		{"at once", App{Submitted: at(0), Launched: at(0), Finished: at(0)}, 0, 0},
		{"before it was submitted", App{Submitted: at(5), Launched: at(3), Finished: at(4)}, -1, -1},
	} {
		for figure, want := range map[string]float64{goal.Elapsed: c.elapsed, goal.Wait: c.wait} {
			if got, ok := c.app.figure(figure); ok != (want >= 0) || ok && got != want {
				t.Errorf("%s: %s is %v, %v; want %v", c.name, figure, got, ok, want)
			}
		}
	}
}

// Before the change are those that ended in the last day, or in the length of the watch if that is more, by the ResourceManager's own clock: the latest
// instant that any application shows.
func TestBeforeTheChange(t *testing.T) {
	day := 24 * time.Hour
	for _, c := range []struct {
		name   string
		length time.Duration
		apps   []App
		began  time.Time
		want   int
	}{
		{"none", time.Hour, nil, time.Time{}, 0},
		{"a day", time.Hour, []App{took("a", start, time.Second), took("b", start.Add(-day), time.Second), took("c", start.Add(-day-1), time.Second)}, start, 2},
		{"a long watch", 2 * day, []App{took("a", start, time.Second), took("b", start.Add(-2*day), time.Second), took("c", start.Add(-2*day-1), time.Second)}, start, 2},
		{"a running one is later", time.Hour, []App{took("a", start, time.Second), {ID: "b", Submitted: start.Add(-time.Hour), SoFar: 2 * time.Hour}}, start.Add(time.Hour), 1},
		{"a new one is later", time.Hour, []App{took("a", start, time.Second), {ID: "b", Submitted: start.Add(time.Hour)}}, start.Add(time.Hour), 1},
	} {
		w := New(c.length, c.apps)
		from := c.began
		if !from.IsZero() {
			from = from.Add(-5 * time.Minute)
		}
		if !w.began.Equal(c.began) || len(w.before) != c.want || !w.From().Equal(from) {
			t.Errorf("%s: %d before %v, listed from %v", c.name, len(w.before), w.began, w.From())
		}
	}
}

// Since the change are those that were not known before it, except what had ended by then. What has finished stays as it was first seen.
func TestSinceTheChange(t *testing.T) {
	w := New(time.Hour, []App{took("known", start, time.Second)})
	minute := func(m float64) time.Time { return start.Add(time.Duration(m * float64(time.Minute))) }
	w.Add([]App{
		{ID: "known", Submitted: minute(1)},
		{ID: "ended before", Submitted: minute(-2), Finished: minute(-1)},
		{ID: "ended since", Submitted: minute(-2), Finished: minute(1)},
		{ID: "by an odd clock", Submitted: minute(1), Finished: minute(-1)},
		{ID: "running", Submitted: minute(-1), SoFar: 2 * time.Minute},
		{ID: "finished", Submitted: minute(1), Launched: minute(2), Finished: minute(3), Succeeded: true},
		{ID: "too long", Submitted: minute(1), Launched: minute(30), Finished: minute(31), SoFar: time.Hour},
	}, 5*time.Minute)
	for id, want := range map[string]bool{"known": false, "ended before": false, "ended since": true, "by an odd clock": true, "running": true, "finished": true} {
		if _, got := w.since[id]; got != want {
			t.Errorf("%s counts: %v", id, got)
		}
	}
	if a := w.since["too long"]; !a.Launched.Equal(minute(6)) || !a.Finished.Equal(minute(6)) || a.SoFar != 5*time.Minute {
		t.Errorf("nothing takes longer than the time since the change: %+v", a)
	}
	w.Add([]App{{ID: "finished", Submitted: minute(1), Finished: minute(5)}, {ID: "running", Submitted: minute(-1), SoFar: 4 * time.Minute}}, 6*time.Minute)
	if a, b := w.since["finished"], w.since["running"]; !a.Finished.Equal(minute(3)) || b.SoFar != 4*time.Minute {
		t.Errorf("%+v, %+v", a, b)
	}
	for k := range MaxList {
		w.since[fmt.Sprint("more", k)] = App{Finished: minute(2)}
		if len(w.since) == MaxList-1 {
			break
		}
	}
	w.Add([]App{{ID: "x", Submitted: minute(1), Finished: minute(2)}, {ID: "y", Submitted: minute(1), Finished: minute(2)}}, 6*time.Minute)
	if len(w.since) != MaxList {
		t.Errorf("%d are remembered", len(w.since))
	}
}

// Failures are counted apart on both sides, and a wait needs a launch time of more than half of the applications before.
func TestValues(t *testing.T) {
	wait := goal.Goal{Statistic: goal.Mean, Figure: goal.Wait, Queue: goal.All}
	app := func(id string, launched, finished, succeeded bool) App {
		a := App{ID: id, Queue: "root.prod", Submitted: start, SoFar: 9 * time.Second, Succeeded: succeeded}
		if launched {
			a.Launched = start.Add(time.Second)
		}
		if finished {
			a.Finished = start.Add(3 * time.Second)
		}
		return a
	}
	before := []App{app("a", true, true, true), app("b", true, true, true), app("c", false, true, true), app("d", true, true, false)}
	w := New(time.Hour, before)
	w.Add([]App{app("e", true, true, true), app("f", true, true, false), app("g", false, false, false), app("h", true, false, false), app("i", false, true, true)}, time.Hour)
	for _, c := range []struct {
		g    goal.Goal
		want Figure
	}{
		{wait, Figure{AppsBefore: 2, FailedBefore: 1, Apps: 3, Unfinished: 2, Failed: 1}},
		{elapsed, Figure{AppsBefore: 3, FailedBefore: 1, Apps: 4, Unfinished: 2, Failed: 1}},
		{goal.Goal{Statistic: goal.Mean, Figure: goal.Elapsed, Queue: "root.other"}, Figure{}},
	} {
		var f Figure
		if _, _, err := w.values(c.g, &f); err != nil || f != c.want {
			t.Errorf("%v: %+v, %v; want %+v", c.g, f, err, c.want)
		}
	}
	w.before = w.before[1:]
	if _, _, err := w.values(wait, &Figure{}); err == nil || !strings.Contains(err.Error(), "for 1 of the 2 applications") {
		t.Errorf("half have no launch time: %v", err)
	}
	if _, _, err := w.values(elapsed, &Figure{}); err != nil {
		t.Error(err)
	}
	if _, _, err := New(time.Hour, nil).values(wait, &Figure{}); err != nil {
		t.Errorf("there are none: %v", err)
	}
	f, err := New(time.Hour, times("t", 45, start, time.Second)).Measure(goal.Goal{Statistic: goal.P95, Figure: goal.Elapsed, Queue: goal.All})
	if err != nil || f.Goal != "p95 elapsed of all" || f.Name() != "p95 elapsed of all" || f.Before != 1 {
		t.Errorf("%+v, %v", f, err)
	}
	if f, err := New(time.Hour, times("t", maxApps+1, start, time.Second)).Measure(elapsed); err != nil || f.AppsBefore != maxApps {
		t.Errorf("the last %d: %d, %v", maxApps, f.AppsBefore, err)
	}
}
