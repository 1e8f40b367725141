package synth

import (
	"fmt"
	"testing"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Every submission stays within its bound, in order, and moves alike in a variant of the workload. Jobs trade places with jobs of the same
// user and class only, within the hour. The original is not modified.
func TestJittered(t *testing.T) {
	var base, half workload.Slice
	for i := range 500 {
		j := &workload.Job{ID: fmt.Sprint("j", i), Name: fmt.Sprint("work", i), User: fmt.Sprint("u", i%4), Queue: fmt.Sprint("q", i%3), Submit: unit.Time(i/3) * unit.Minute, Deadline: unit.Time(i/3+60) * unit.Minute}
		if base = append(base, j); i%4 < 2 {
			half = append(half, j)
		}
	}
	works, traded := map[string]string{}, 0
	read := func(of workload.Slice, seed uint64) map[string]unit.Time {
		t.Helper()
		jobs, err := workload.ReadAll(Jittered(of.Source(), 10*unit.Minute, seed))
		if err != nil || len(jobs) != len(of) {
			t.Fatalf("%d jobs, %v", len(jobs), err)
		}
		at := map[string]unit.Time{}
		for i, j := range jobs {
			if i > 0 && j.Submit < jobs[i-1].Submit || j.Submit < 0 {
				t.Fatalf("%s at %v, before the one ahead of it", j.ID, j.Submit)
			}
			if j.Deadline-j.Submit != 60*unit.Minute {
				t.Fatalf("%s has %v until its deadline", j.ID, j.Deadline-j.Submit)
			}
			at[j.ID] = j.Submit
			was, work := 0, 0
			fmt.Sscanf(j.ID, "j%d", &was)
			fmt.Sscanf(j.Name, "work%d", &work)
			if was%4 != work%4 || was/900 != work/900 || j.User != fmt.Sprint("u", was%4) || j.Queue != fmt.Sprint("q", was%3) {
				t.Fatalf("%+v", j)
			}
			if works[fmt.Sprint(seed, j.ID)] != "" && works[fmt.Sprint(seed, j.ID)] != j.Name {
				t.Fatalf("%s has other work in another variant", j.ID)
			}
			if works[fmt.Sprint(seed, j.ID)] = j.Name; was != work {
				traded++
			}
		}
		return at
	}
	was, one, other, ofHalf := read(base, 0), read(base, 1), read(base, 2), read(half, 1)
	moved, differ := 0, 0
	for id, t0 := range was {
		by := one[id] - t0
		if by < -10*unit.Minute || by > 10*unit.Minute && t0 > 10*unit.Minute {
			t.Errorf("%s moves by %v", id, by)
		}
		if by != 0 {
			moved++
		}
		if one[id] != other[id] {
			differ++
		}
		if at, ok := ofHalf[id]; ok && at != one[id] {
			t.Errorf("%s moves to %v in one workload and to %v in another", id, one[id], at)
		}
	}
	if moved < 490 || differ < 490 || traded < 1000 {
		t.Errorf("%d of 500 move, %d differ between seeds, %d traded", moved, differ, traded)
	}
	if base[10].Submit != 3*unit.Minute {
		t.Error("the original was modified")
	}
}
