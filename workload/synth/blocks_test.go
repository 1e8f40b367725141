package synth

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// history has a job every ten minutes that says when it was submitted.
func history(from, span unit.Time) (jobs workload.Slice) {
	for at := from; at < from+span; at += 10 * unit.Minute {
		jobs = append(jobs, &workload.Job{ID: fmt.Sprint(int64(at / unit.Minute)), Name: fmt.Sprint(int64(at)), Submit: at, Deadline: at + unit.Hour})
	}
	return jobs
}

// Blocks keep what they should: the time of the day, the order, the number where each block has the same; names stay unique.
func TestBlocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := unit.Time(rapid.Int64Range(0, 100).Draw(t, "from")) * unit.Hour
		hours := rapid.IntRange(3, 24*9).Draw(t, "hours")
		if hours%24 == 23 {
			hours++ // a day that lacks an hour counts as whole
		}
		base := history(from, unit.Time(hours)*unit.Hour)
		r, seed := Resampling{Arrivals: Respread{How: Resampled}}, rapid.Uint64().Draw(t, "seed")
		out, err := r.Apply(base, seed)
		if err != nil || len(out) != len(base) {
			t.Fatal(len(out), len(base), err)
		}
		b, ids := blocksOf(base), map[string]bool{}
		for i, j := range out {
			var was int64
			fmt.Sscan(j.Name, &was)
			by := j.Submit - unit.Time(was)
			switch {
			case ids[j.ID], j.Submit != base[i].Submit, j.Deadline != j.Submit+unit.Hour:
				t.Fatalf("%+v after %+v", j, base[i])
			case by%b.length != 0, hours >= 48 && by%unit.Day != 0:
				t.Fatalf("moved by %v", by)
			}
			ids[j.ID] = true
		}
		again, err := r.Apply(base, seed)
		if err != nil || !reflect.DeepEqual(out, again) {
			t.Fatal("two draws with the same seed differ", err)
		}
	})
}

func TestBlocksCover(t *testing.T) {
	for span, want := range map[unit.Time]string{
		7 * unit.Day:                "days drawn from 7 days",
		6*unit.Day + 23*unit.Hour:   "days drawn from 7 days",
		6*unit.Day + 10*unit.Hour:   "days drawn from 6 days",
		3*unit.Day + 7*unit.Hour:    "the same hour of 3 days",
		unit.Day + 5*unit.Hour:      "hours drawn from 28 hours",
		2*unit.Hour + 5*unit.Minute: "hours drawn from 2 hours",
	} {
		if got := Covers(history(0, span)); !strings.Contains(got, want) {
			t.Errorf("%v: %s", span, got)
		}
	}
	for _, short := range []workload.Slice{nil, history(0, unit.Hour)} {
		if _, err := (Resampling{Arrivals: Respread{How: Resampled}}).Apply(short, 1); err == nil || !strings.Contains(err.Error(), "two hours") {
			t.Error(err)
		}
	}
}

// Days that differ give weeks that differ.
func TestBlocksVary(t *testing.T) {
	base := history(0, 7*unit.Day)
	var busy workload.Slice
	for _, j := range base {
		for k := range int64(j.Submit/unit.Day) + 1 {
			c := *j
			c.ID = fmt.Sprint(j.ID, "-", k)
			busy = append(busy, &c)
		}
	}
	seen := map[int]bool{}
	for seed := range uint64(20) {
		out, err := Resampling{Arrivals: Respread{How: Resampled}}.Apply(busy, seed)
		if err != nil {
			t.Fatal(err)
		}
		seen[len(out)] = true
	}
	if len(seen) < 5 {
		t.Errorf("20 weeks have %d sizes", len(seen))
	}
}
