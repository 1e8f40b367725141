package tune

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/scenario"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// job is one of a task of some seconds.
func job(submit, length unit.Time) *workload.Job {
	return &workload.Job{Queue: "q", Submit: submit, Stages: []workload.Stage{{Tasks: 1, Ask: cluster.Unit,
		Length: workload.Fixed(length * unit.Second)}}}
}

func history(jobs ...*workload.Job) *scenario.Setup {
	for i, j := range jobs {
		j.ID = fmt.Sprint(i)
	}
	s := &scenario.Setup{}
	s.Workload = run.Jobs(jobs)
	s.Workload.Title = "h"
	return s
}

func names(parts []*Part) string {
	var list []string
	for _, p := range parts {
		list = append(list, p.Name)
	}
	return strings.Join(list, ", ")
}

// A history is cut into days from its first job on. The last third of them confirms the answer, a fifth before those validates
// candidates, and the busiest of the others comes first. One of less than three days is cut into thirds, if its queues have jobs
// enough. With another history to confirm with, no day is kept for that. All is replayed; what is validated or confirmed on the
// same days has replays of its own.
func TestDivide(t *testing.T) {
	days := func(work ...unit.Time) *scenario.Setup {
		var jobs []*workload.Job
		for i, w := range work {
			if w > 0 {
				day := 5*unit.Hour + unit.Time(i)*unit.Day
				jobs = append(jobs, job(day, w), job(day+20*unit.Hour, w))
			}
		}
		return history(jobs...)
	}
	end := func(last unit.Time) *scenario.Setup {
		return history(job(0, 1), job(unit.Day, 1), job(2*unit.Day, 1), job(last, 1))
	}
	many := func(n unit.Time) *scenario.Setup {
		var jobs []*workload.Job
		for i := range n {
			jobs = append(jobs, job(i*unit.Day/n, 1+i))
		}
		return history(jobs...)
	}
	for _, x := range []struct {
		name                           string
		setup                          *scenario.Setup
		others                         []*scenario.Setup
		days, validation, confirmation string
		repeated                       bool
	}{
		{"six days", days(3, 1, 9, 2, 7, 8), nil, "day 3, day 1, day 2", "day 4", "day 5, day 6", false},
		{"seven days", days(3, 1, 9, 2, 7, 8, 1), nil, "day 3, day 1, day 2, day 4", "day 5", "day 6, day 7", false},
		{"as busy", days(2, 2, 2), nil, "day 1, day 2", "day 1, day 2", "day 3", false},
		{"days without jobs", days(2, 0, 3, 1, 0, 1), nil, "day 3, day 1", "day 4", "day 6", false},
		{"few jobs", history(job(0, 1), job(unit.Day, 2), job(2*unit.Day-1, 1)), nil, "the whole history", "the whole history", "the whole history", true},
		{"a job less than enough", many(119), nil, "the whole history", "the whole history", "the whole history", true},
		{"enough in each third", many(120), nil, "third 2, third 1", "third 2, third 1", "third 3", false},
		{"two days, and another history", days(3, 4), []*scenario.Setup{days(1)}, "day 2, day 1", "day 2, day 1", "h", false},
		{"less than a quarter of a day more", end(3*unit.Day + unit.Day/4 - 2), nil, "day 1, day 2", "day 1, day 2", "day 3", false},
		{"a quarter more", end(3*unit.Day + unit.Day/4), nil, "day 1, day 2, day 3", "day 1, day 2, day 3", "day 4", false},
	} {
		h, err := Divide(x.setup, x.others)
		if err != nil || strings.Join(daysOf(h.Search), ", ") != x.days || strings.Join(daysOf(h.Validation), ", ") != x.validation ||
			strings.Join(daysOf(h.Confirmation), ", ") != x.confirmation || h.Repeated != x.repeated {
			t.Errorf("%s: %v; %v, %v, %v, %v", x.name, err, daysOf(h.Search), daysOf(h.Validation), daysOf(h.Confirmation), h.Repeated)
			continue
		}
		for name, n := range map[string]int{"search": len(h.Search) - replays*len(daysOf(h.Search)), "validation": len(h.Validation) - replays*len(daysOf(h.Validation)),
			"confirmation": len(h.Confirmation) - confirmedReplays*len(daysOf(h.Confirmation)), "days": h.Days - len(daysOf(h.Search))} {
			if n != 0 {
				t.Errorf("%s: %s has %d replays more than it should", x.name, name, n)
			}
		}
		if names(h.Search[:h.Days]) != x.days {
			t.Errorf("%s: the search starts with %s", x.name, names(h.Search[:h.Days]))
		}
	}
	for want, setup := range map[string]*scenario.Setup{
		"holds no jobs": history(), "at most 400 are supported": history(job(0, 1),
			job(401*unit.Day, 1)),
	} {
		if _, err := Divide(setup, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// The work of jobs is the container-time that they need.
func TestWork(t *testing.T) {
	list := workload.Lengths{Kind: workload.List}
	for i := range unit.Time(32) {
		list.Values = append(list.Values, i*unit.Second)
	}
	two := &workload.Job{Stages: []workload.Stage{{Tasks: 3, Length: workload.Fixed(10 * unit.Second)}, {Tasks: 32, Length: list}}}
	if got := work(workload.Slice{two, job(0,
		7)}); math.Abs(got-(3*10+32*15+7)) > 1e-9 { // of 32 tasks every second one: 0, 2, ... 30 s
		t.Errorf("%v s of work, want 517", got)
	}
}

func TestEqual(t *testing.T) {
	for _, x := range []struct {
		a, b string
		want bool
	}{{"1.0", "1", true}, {"fair", "fair", true}, {"fair", "fifo", false}, {"1", "2", false}, {"0", "fair", false}, {"fair", "0",
		false}, {"NaN", "NaN", true}} {
		if got := equal(x.a, x.b); got != x.want {
			t.Errorf("%s and %s: %v", x.a, x.b, got)
		}
	}
}

func TestReflect(t *testing.T) {
	for u, want := range map[float64]float64{0.3: 0.3, -0.2: 0.2, 1.3: 0.7, 2.4: 0.4, 1: 1} {
		if got := reflect(u); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v is folded to %v, want %v", u, got, want)
		}
	}
}

// The answer says by how much the goal's figure changes, as a share: with all changes of the best candidate, and with those that
// matter.
func TestAnswersInShares(t *testing.T) {
	a, err := Search(context.Background(), toyPlan(t, toy("3", 24)))
	if err != nil || !a.Found || !(a.Best < 0 && a.Best > -1) || !(a.With < 0 && a.With > -1) || !slices.Equal(a.Confirmation,
		[]string{"3"}) || !slices.Equal(a.Days, []string{"1", "2"}) {
		t.Errorf("best %v, with %v; %+v, %v", a.Best, a.With, a, err)
	}
}

// Two candidates hardly differ if they lie less than 2 % of each axis apart, on the mean. What a candidate leaves as it is lies
// where the present setting does.
func TestNear(t *testing.T) {
	s := &search{Plan: &Plan{Space: &Space{axes: []*axis{{at: 0.5}, {at: 0.2}}}}}
	nan := math.NaN()
	for _, x := range []struct {
		a, b Point
		want bool
	}{
		{Point{0.3, 0.3}, Point{0.3, 0.3}, true}, {Point{0.3, 0.3}, Point{0.3, 0.339}, true}, {Point{0.3, 0.3}, Point{0.3, 0.341},
			false},
		{Point{0.3, 0.3}, Point{0.279, 0.321}, false}, {Point{nan, 0.3}, Point{0.5, 0.3}, true}, {Point{nan, 0.2}, Point{0.5, nan},
			true}, {Point{nan, 0.3}, Point{0.6, 0.3}, false},
	} {
		if got := s.near(&trial{point: x.a}, &trial{point: x.b}); got != x.want {
			t.Errorf("%v and %v: %v", x.a, x.b, got)
		}
	}
}

// Points of a sweep are numbered from 0.
func TestMergeKnowsItsPoints(t *testing.T) {
	for points, ok := range map[string]bool{"0 1": true, "1 0": true, "0 2": false, "0 1 2": false} {
		var b strings.Builder
		b.WriteString("{\"points\":2}\n")
		for p := range strings.FieldsSeq(points) {
			fmt.Fprintf(&b, "{\"point\":%s}\n", p)
		}
		rows, err := Merge(map[string]io.Reader{"f": strings.NewReader(b.String())}, io.Discard)
		if (err == nil) != ok || ok && (len(rows) != 2 || rows[1].Point != 1) {
			t.Errorf("%s: %v, %v", points, rows, err)
		}
	}
}

// What is merged can be merged again, and nothing panics.
func FuzzMerge(f *testing.F) {
	f.Add("{\"points\":2}\n{\"point\":1}\n", "{\"points\":2}\n{\"point\":0,\"changes\":[\"a=1\"]}\n")
	f.Add("{\"points\":1000001}\n", "")
	f.Add("{\"points\":1}\n{\"point\":-1}\n", "{\"points\":1}")
	f.Fuzz(func(t *testing.T, a, b string) {
		var whole, again bytes.Buffer
		if _, err := Merge(map[string]io.Reader{"a": strings.NewReader(a), "b": strings.NewReader(b)}, &whole); err != nil {
			return
		}
		if _, err := Merge(map[string]io.Reader{"whole": bytes.NewReader(whole.Bytes())}, &again); err != nil || again.String() != whole.String() {
			t.Errorf("%v\n%s\n%s", err, &whole, &again)
		}
	})
}
