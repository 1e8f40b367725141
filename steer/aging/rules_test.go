package aging

import (
	"fmt"
	"slices"
	"testing"

	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

func fresh(t *testing.T, set ...string) *aging {
	t.Helper()
	a, err := newAging(&steer.Setup{Queue: "q", Set: set})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// step is what a sample leads to, as in "a=1 b=2 ".
func step(a *aging, now unit.Time, jobs ...steer.Job) (out string) {
	for i := range jobs {
		jobs[i].Queue = "q"
	}
	do, _ := a.Step(&steer.Snapshot{Now: now * unit.Second, Jobs: jobs})
	for _, x := range do {
		out += fmt.Sprintf("%s=%v ", x.Job, x.Value)
	}
	return out
}

func TestSettings(t *testing.T) {
	for set, ok := range map[string]bool{
		"after=1s": true, "after=86400s": true, "after=86401s": false, "interval=0.9s": false, "interval=": false, "interval=x": false,
		"step=1": true, "step=1000": true, "step=1001": false, "max=0": false, "max=-1": false, "max=1": true, "max=1.5": false, "max=": false, " step = 7 ": true,
	} {
		if _, err := newAging(&steer.Setup{Set: []string{set}}); (err == nil) != ok {
			t.Errorf("%s: %v", set, err)
		}
	}
	// Each setting counts. The defaults: one more every ten minutes, at most 10, sampled every ten seconds.
	for _, x := range []struct {
		set   []string
		now   unit.Time
		want  string
		again unit.Time
	}{
		{nil, 599, "", 10},
		{nil, 600, "a=1 ", 10},
		{nil, 5999, "a=9 ", 10},
		{nil, 1e6, "a=10 ", 10},
		{[]string{"after=60s"}, 120, "a=2 ", 10},
		{[]string{"step=3"}, 1200, "a=6 ", 10},
		{[]string{"step=3", "max=5"}, 1200, "a=5 ", 10},
		{[]string{"interval=1m"}, 600, "a=1 ", 60},
	} {
		a := fresh(t, x.set...)
		do, again := a.Step(&steer.Snapshot{Now: x.now * unit.Second, Jobs: []steer.Job{{ID: "a", Queue: "q"}}})
		got := ""
		for _, d := range do {
			got += fmt.Sprintf("%s=%v ", d.Job, d.Value)
		}
		if got != x.want || again != x.again*unit.Second {
			t.Errorf("%v after %d s: %q, again in %v; want %q", x.set, x.now, got, again, x.want)
		}
	}
}

// A priority that somebody else sets is the job's own from then on.
func TestPrioritiesOfOthers(t *testing.T) {
	type seen struct {
		now      unit.Time
		priority int
		started  bool
		want     string
	}
	for name, list := range map[string][]seen{
		"set higher":                    {{60, 0, false, "a=1 "}, {70, 5, false, "a=6 "}, {120, 6, false, "a=7 "}, {130, 7, true, "a=5 "}},
		"set lower":                     {{60, 2, false, "a=3 "}, {70, 0, false, "a=1 "}, {80, 1, true, "a=0 "}},
		"set lower, and it starts":      {{60, 2, false, "a=3 "}, {70, 1, true, ""}},
		"set higher, and it starts":     {{60, 2, false, "a=3 "}, {70, 4, true, ""}},
		"between its own and the raise": {{300, 0, false, "a=5 "}, {310, 3, false, "a=5 "}, {320, 3, true, "a=0 "}},
		"not made, and it starts":       {{60, 2, false, "a=3 "}, {70, 2, true, ""}},
		"started at once":               {{60, 2, true, ""}, {600, 2, true, ""}},
		"above the max":                 {{6000, 12, false, ""}},
	} {
		a := fresh(t, "after=60s")
		for _, x := range list {
			if got := step(a, x.now, steer.Job{ID: "a", Priority: x.priority, Started: x.started}); got != x.want {
				t.Errorf("%s: at %d s with %d: %q, want %q", name, x.now, x.priority, got, x.want)
			}
		}
	}
}

// Refused raises are retried after two, four, eight... samples, up to an hour; what is made ends that. What restores a priority does not wait.
func TestBackoff(t *testing.T) {
	a := fresh(t, "after=60s")
	refuse := func(from, to, every int) (asked []int) {
		for now := from; now <= to; now += every {
			if step(a, unit.Time(now), steer.Job{ID: "a"}, steer.Job{ID: "b"}) != "" {
				asked = append(asked, now)
				a.NotMade(steer.Action{}) // both jobs'
				a.NotMade(steer.Action{})
			}
		}
		return asked
	}
	if asked := refuse(100, 350, 10); !slices.Equal(asked, []int{100, 120, 160, 240}) {
		t.Errorf("asked at %v", asked)
	}
	if got := step(a, 360, steer.Job{ID: "c"}); got != "" {
		t.Errorf("a new job does not wait for the retry: %q", got)
	}
	if got := step(a, 400, steer.Job{ID: "a"}); got != "a=6 " { // made
		t.Errorf("the retry: %q", got)
	}
	if asked := refuse(410, 450, 10); !slices.Equal(asked, []int{410, 430}) {
		t.Errorf("after one that was made: %v", asked)
	}
	a = fresh(t, "after=60s", "interval=10m")
	if asked := refuse(600, 12000, 600); !slices.Equal(asked, []int{600, 1800, 4200, 7800, 11400}) {
		t.Errorf("up to an hour: %v", asked)
	}
	a = fresh(t, "after=60s")
	step(a, 60, steer.Job{ID: "a"})
	a.NotMade(steer.Action{})
	if got := step(a, 70, steer.Job{ID: "a", Priority: 1, Started: true}); got != "a=0 " {
		t.Errorf("a job that runs, before the retry: %q", got)
	}
}

func TestExplains(t *testing.T) {
	a := fresh(t, "after=60s")
	want := func(text string) {
		t.Helper()
		if got := fmt.Sprint(a.Explain()); got != text {
			t.Errorf("%s, want %s", got, text)
		}
	}
	step(a, 0, steer.Job{ID: "a"}, steer.Job{ID: "b"})
	want("[jobs=2 raised=0 decision=wait why=nothing to change; 0 above their own priority]")
	step(a, 60, steer.Job{ID: "a"}, steer.Job{ID: "b", Started: true})
	want("[jobs=2 raised=1 decision=set why=1 to change]")
	step(a, 70, steer.Job{ID: "a", Priority: 1})
	want("[jobs=1 raised=1 decision=wait why=nothing to change; 1 above their own priority]")
	step(a, 80, steer.Job{ID: "a", Priority: 1, Started: true})
	want("[jobs=1 raised=0 decision=set why=1 to change]")
	step(a, 90, steer.Job{ID: "c"})
	step(a, 100)
	want("[jobs=0 raised=0 decision=wait why=nothing to change; 0 above their own priority]")
}
