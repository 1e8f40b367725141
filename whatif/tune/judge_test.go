package tune

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/whatif/goal"
)

// ran is a run in which each queue finished so many jobs, with one elapsed time for the mean and ten times that for the 95th
// percentile.
func ran(mean float64, jobs map[string]int64) *result.Run {
	r := &result.Run{}
	for _, q := range []string{"root.a", "root.b", "root.c", "root.idle"} {
		if n, ok := jobs[q]; ok {
			r.Jobs.Finished += n
			r.ByQueue = append(r.ByQueue, result.Group{Name: q, Elapsed: result.Stats{Count: n, Mean: mean, P95: 10 * mean}})
		}
	}
	return r
}

// Every queue in which jobs finish has one bound: its own, or the common one. The goal's queue needs none.
func TestEveryQueueIsBounded(t *testing.T) {
	p95 := func(queue string) goal.Goal {
		return goal.Goal{Statistic: goal.P95, Figure: goal.Elapsed, Queue: queue}
	}
	wait := goal.Bound{Goal: goal.Goal{Statistic: goal.Mean, Figure: goal.Wait, Queue: "b"}, Limit: 0.02}
	a := Aim{Goal: p95("root.a"), Keep: []goal.Bound{wait}, Others: 0.1}
	days := []*result.Run{ran(1, map[string]int64{"root.a": 50, "root.b": 5, "root.idle": 0}), ran(1, map[string]int64{"root.b": 5, "root.c": 10}), ran(1, map[string]int64{"root.c": 70})}
	want := judge{{Goal: a.Goal}, wait, {Goal: p95("root.c"), Limit: 0.1}}
	if got := newJudge(&a, days); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	day := ran(1, map[string]int64{"root.a": 50, "root.b": 5, "root.c": 25}) // few a day, however many days there are
	want[2].Statistic = goal.Mean
	if got := newJudge(&a, []*result.Run{day, day}); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// A queue with fewer than 40 jobs a run is judged by its mean, and jobs that finish under the present settings only are counted.
func TestCompare(t *testing.T) {
	p95 := func(queue string) goal.Goal {
		return goal.Goal{Statistic: goal.P95, Figure: goal.Elapsed, Queue: queue}
	}
	nan := math.NaN()
	for _, x := range []struct {
		name          string
		before, after map[string]int64
		want          outcome
	}{
		{"many jobs", map[string]int64{"root.a": 40, "root.b": 40}, map[string]int64{"root.a": 40, "root.b": 40}, outcome{[]pair{{10, 20}, {10, 20}}, 0}},
		{"few jobs before", map[string]int64{"root.a": 39, "root.b": 40}, map[string]int64{"root.a": 50, "root.b": 40}, outcome{[]pair{{1, 2}, {10, 20}}, 0}},
		{"few jobs after", map[string]int64{"root.a": 40, "root.b": 40}, map[string]int64{"root.a": 40, "root.b": 10}, outcome{[]pair{{10, 20}, {10, 20}}, 30}},
		{"none after", map[string]int64{"root.a": 40, "root.b": 40}, map[string]int64{"root.a": 39}, outcome{[]pair{{10, 20}, {10, nan}}, 41}},
	} {
		base := ran(1, x.before)
		j := newJudge(&Aim{Goal: p95("root.a"), Keep: []goal.Bound{{Goal: p95("root.b")}}}, []*result.Run{base})
		if got := j.compare(base, ran(2, x.after)); fmt.Sprint(got) != fmt.Sprint(x.want) {
			t.Errorf("%s: %v, want %v", x.name, got, x.want)
		}
	}
}

// The ratio of a figure's means, with its standard error, over the runs in which jobs finished before.
func TestRatio(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, x := range []struct {
		name   string
		pairs  []pair
		r, err float64
	}{
		{"one run", []pair{{10, 5}}, 0.5, 0}, {"all alike", []pair{{10, 5}, {20, 10}}, 0.5, 0}, {"none before", []pair{{10, 5}, {nan, 9}}, 0.5, 0},
		{"the mean, not the worst", []pair{{10, 8}, {10, 14}}, 1.1, 0.3}, // residuals of -3 and 3: sqrt(18/2)/10
		{"none after", []pair{{10, nan}, {10, 5}}, inf, 0}, {"of nothing", []pair{{0, 0}, {0, 0}}, 1, 0}, {"from nothing", []pair{{0, 1}, {0, 0}}, inf, 0}, {"nothing", nil, 1, 0},
	} {
		if r, err := ratio(x.pairs); r != x.r || math.Abs(err-x.err) > 1e-9 {
			t.Errorf("%s: %v, %v", x.name, r, err)
		}
	}
}

// Goal and bounds are means over the runs. A bound must be kept by some standard errors; a job that no longer finishes in one run
// breaks it.
func TestScore(t *testing.T) {
	inf := math.Inf(1)
	j := judge{{}, {Limit: 0.1}, {Limit: 0.5}}
	for _, x := range []struct {
		name         string
		outcomes     []outcome
		errors       float64
		want         score // excess and change to be rounded
		kept, better bool
	}{
		{"kept on the mean, broken in one run", []outcome{{pairs: []pair{{10, 9}, {10, 12}, {10, 10}}}, {pairs: []pair{{10, 5}, {10, 8}, {10, 10}}}}, 0,
			score{ratio: 0.7, excess: -0.1, worst: 1, change: 0}, true, true},
		{"by less than a standard error", []outcome{{pairs: []pair{{10, 9}, {10, 12}, {10, 10}}}, {pairs: []pair{{10, 5}, {10, 8}, {10, 10}}}}, 1,
			score{ratio: 0.7, excess: 0.1, worst: 1, change: 0}, false, false},
		{"not clearly broken", []outcome{{pairs: []pair{{10, 5}, {10, 10}, {10, 10}}}, {pairs: []pair{{10, 5}, {10, 14}, {10, 10}}}}, -1,
			score{ratio: 0.5, excess: -0.1, worst: 1, change: 0.2}, true, true},
		{"a change above its bound, and a larger one below its own", []outcome{{pairs: []pair{{10, 5}, {10, 12}, {10, 14}}}}, 1,
			score{ratio: 0.5, excess: 0.1, worst: 1, change: 0.4}, false, false},
		{"at a bound", []outcome{{pairs: []pair{{10, 9}, {10, 11}, {10, 9}}}}, 1, score{ratio: 0.9, excess: 0, worst: 1, change: 0.1}, true, true},
		{"unchanged, of nothing", []outcome{{pairs: []pair{{0, 0}, {0, 0}, {0, 0}}}}, 1, score{ratio: 1, excess: -0.1, worst: 1, change: 0}, true, false},
		{"the most jobs lost", []outcome{{pairs: []pair{{10, 5}, {10, 8}, {10, 10}}, lost: 3}, {pairs: []pair{{10, 5}, {10, 8}, {10, 10}}, lost: 1}}, 0,
			score{ratio: 0.5, excess: inf, worst: 1, change: 0, lost: 3}, false, false},
	} {
		s := j.score(x.outcomes, x.errors)
		kept, better := s.kept(), s.better()
		s.excess, s.change = math.Round(1e6*s.excess)/1e6+0, math.Round(1e6*s.change)/1e6
		if s != x.want || kept != x.kept || better != x.better {
			t.Errorf("%s: %+v, kept %v, better %v", x.name, s, kept, better)
		}
	}
}

// Settings that keep the bounds come first, by the goal; then the others, by how much they break them. What breaks a bound by
// little is promising.
func TestMerit(t *testing.T) {
	ranked := []score{{ratio: 0.5, excess: 0}, {ratio: 0.6, excess: -1}, {ratio: 1.2, excess: -0.5}, {ratio: 0.1, excess: 0.1}, {ratio: 0.05, excess: 0.2}}
	for i := range ranked[1:] {
		if a, b := ranked[i].merit(), ranked[i+1].merit(); a >= b {
			t.Errorf("%+v and %+v: %v, %v", ranked[i], ranked[i+1], a, b)
		}
	}
	if a, b := ranked[3].promise(), ranked[0].promise(); a >= b {
		t.Errorf("%v, %v", a, b)
	}
}

func TestBroken(t *testing.T) {
	b, err := goal.ParseBound("p95 elapsed of root.b <= +2 %")
	if err != nil {
		t.Fatal(err)
	}
	j := judge{{}, b}
	for want, o := range map[string]outcome{
		"2 jobs no longer finished":              {pairs: []pair{{1, 1}, {1, 1}}, lost: 2},
		"p95 elapsed of root.b <= +2 %: +12.0 %": {pairs: []pair{{1, 1}, {100, 112}}},
	} {
		if got := j.broken([]outcome{o}); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// After a candidate broke a bound on the validation by rising further than in the search, those that would break it in the same way come last.
func TestAfterARejection(t *testing.T) {
	s := &search{judge: judge{{}, {Limit: 0.1}}}
	trialOf := func(goal, bound float64) *trial {
		return &trial{seen: []outcome{{pairs: []pair{{100, 100 * goal}, {100, 100 * bound}}}}}
	}
	tight, safe, worst := trialOf(0.5, 1.09), trialOf(0.7, 1.02), trialOf(0.4, 1.095)
	none, some := []float64{0, 0}, []float64{0.2, 0.05}
	if !(s.after(worst, none) < s.after(tight, none) && s.after(tight, none) < s.after(safe, none)) {
		t.Error("without a rejection, the goal decides")
	}
	if !(s.after(safe, some) < s.after(tight, some) && s.after(tight, some) < s.after(worst, some)) {
		t.Error("after one: ", s.after(safe, some), s.after(tight, some), s.after(worst, some))
	}
}
