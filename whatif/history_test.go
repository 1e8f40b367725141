package whatif

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/result/verdict"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// aWeek has n jobs on 100 containers, half of them by day; busy is how much of the cluster they take, and drift how much longer tasks and
// AMs take by day.
func aWeek(n int, busy, peak, drift float64) (jobs workload.Slice) {
	for i := range n {
		at := unit.Time(i) * 7 * unit.Day / unit.Time(n)
		load, slow := 1.0, 1.0
		if at%unit.Day >= unit.Day/2 {
			load, slow = peak, drift
		}
		length := unit.FromSeconds((100 + float64(i*37%100)) * slow)
		tasks := busy * load * 100 * (7 * unit.Day).Seconds() / float64(n) / 150
		j := &workload.Job{ID: fmt.Sprint(i), User: "u", Queue: "root.a", Class: []string{"etl", "adhoc"}[i%2], Submit: at, AMStart: unit.FromSeconds(4 * slow),
			Stages: []workload.Stage{{Tasks: int64(tasks), Ask: cluster.Unit, Length: workload.Fixed(length)}}}
		if i%2 == 1 {
			j.Stages[0].Length.A *= 5 // classes differ
		}
		j.Observed = &workload.Observed{Launch: at + unit.Second, Finish: at + 20*unit.Minute}
		jobs = append(jobs, j)
	}
	return jobs
}

func touching(kind, name string) [][]verdict.Subject {
	return [][]verdict.Subject{nil, {{Kind: kind, Name: name}}}
}

func TestDoubt(t *testing.T) {
	c := cluster.Uniform(10, 1, cluster.Unit.Times(10))
	var none [][]verdict.Subject
	for name, x := range map[string]struct {
		jobs    workload.Slice
		touched [][]verdict.Subject
		want    []string
	}{
		"none":           {aWeek(5000, 0.3, 3, 1), touching("queue", "root.a"), nil},
		"few":            {aWeek(29, 0.3, 3, 1), touching("queue", "root.a"), []string{"only 29 jobs of queue root.a: its 95th percentile"}},
		"parent":         {aWeek(200, 0.3, 3, 1), touching("queue", "root"), nil},
		"nobody":         {aWeek(200, 0.3, 3, 1), touching("user", "v"), []string{"no job of the history is of user v"}},
		"no peak":        {aWeek(5000, 0.3, 1, 1), none, []string{"the history has no peak"}},
		"idle":           {aWeek(5000, 0.04, 3, 1), none, []string{"uses", "% of the cluster"}},
		"drift":          {aWeek(5000, 0.3, 3, 1.5), none, []string{"tasks of the same class take 1.4 times as long in the busiest third", "the AMs of a class take 1.5 times"}},
		"drift sampled":  {aWeek(100_000, 0.3, 3, 1.5), none, []string{"tasks of the same class take 1.4 times", "the AMs of a class take 1.5 times"}},
		"a little drift": {aWeek(5000, 0.3, 3, 1.1), none, nil},
		"empty":          {nil, touching("class", "x"), []string{"no job of the history is of class x"}},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "no peak" {
				for i := range x.jobs {
					x.jobs[i].Stages[0].Tasks *= 2
				}
			}
			got, err := Doubt(x.jobs.Source(), c, x.touched)
			if err != nil {
				t.Fatal(err)
			}
			all := strings.Join(got.Texts, "\n")
			for _, want := range x.want {
				if !strings.Contains(all, want) {
					t.Errorf("%q is missing in\n%s", want, all)
				}
			}
			if len(x.want) == 0 && len(got.Texts) > 0 || got.Drifts != strings.HasPrefix(name, "drift") {
				t.Error(all)
			}
		})
	}
}

// A history that the simulator cannot replay is said to be one, before anything else.
func TestReplayError(t *testing.T) {
	for want, o := range map[string]*result.Observed{
		"": {Jobs: 100, MedianError: 0.2},
		"the replay of this history as it is misses the observed times of jobs by 50 % (median of 100 jobs): what it says of a change may not hold": {Jobs: 100, MedianError: 0.499},
	} {
		c := comparisonOf(2, seen{wait: []float64{100, 101}}, seen{elapsed: []float64{500}})
		c.Runs[0][0].Observed = o
		c.Warnings = nil
		if c.judgeAgain(); strings.Join(c.Warnings, "") != want || want != "" && c.Report().Notices[0] != want {
			t.Errorf("%q", c.Warnings)
		}
	}
	for name, o := range map[string]*result.Observed{"few": {Jobs: 29, MedianError: 0.5}, "other settings": {Jobs: 100, MedianError: 0.5, OtherSettings: "fewer nodes"}, "nothing": nil} {
		if got := ReplayError(&result.Run{Observed: o}); got != "" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// Where task lengths follow the load, an answer has a direction and no size.
func TestDriftLeavesTheDirection(t *testing.T) {
	c := comparisonOf(2, seen{wait: []float64{100, 101}}, seen{elapsed: []float64{500}, etl: []float64{7200}})
	c.touched, c.doubts = [][]verdict.Subject{nil, {{Kind: "queue", Name: "etl"}}}, Doubts{Texts: []string{"tasks drift"}, Drifts: true}
	c.judgeAgain()
	want := "b: queue etl gets worse: p95 elapsed rises, by how much cannot be told. Better for the cluster as a whole: p95 elapsed falls, by how much cannot be told. " +
		"No other queue with 20 jobs or more loses or gains noticeably."
	if got := c.Answers[0].Text; got != want || !slices.Contains(c.Notes, "tasks drift") {
		t.Errorf("%s; %q", got, c.Notes)
	}
}

func BenchmarkDoubt(b *testing.B) {
	c, jobs := cluster.Uniform(10, 1, cluster.Unit.Times(10)), aWeek(1_000_000, 0.3, 3, 1.5)
	for b.Loop() {
		if _, err := Doubt(jobs.Source(), c, touching("queue", "root.a")); err != nil {
			b.Fatal(err)
		}
	}
}
