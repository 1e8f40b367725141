package capacity

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// The hundred jobs: their numbers, tasks and volumes are those of the source's tables.
func TestMix(t *testing.T) {
	const mb = 1 << 20
	volumes := map[string][3]float64{ // of one job, in MB: input, shuffle, output
		"1": {6400, 6400, 6400}, "2": {12800, 320, 960}, "3": {25600, 76800, 1920}, "4": {51200, 3840, 1.92},
		"5": {64, 64, 64}, "6": {128, 128, 128}, "7": {640, 640, 640},
	}
	for _, p := range []pattern{longFirst, interleaved, separate} {
		jobs := mix(p)
		count, users := map[string]int{}, map[string]bool{}
		var maps, reduces int64
		var input, shuffle, output float64
		for _, j := range jobs {
			if err := j.Validate(); err != nil {
				t.Fatal(err)
			}
			count[j.Class]++
			users[j.User] = true
			m, r := &j.Stages[0], &j.Stages[1]
			maps, reduces = maps+m.Tasks, reduces+r.Tasks
			got := [3]float64{float64(m.Input) / mb, float64(r.After[0].Shuffle) / mb, float64(r.Output) / mb}
			for k, want := range volumes[j.Class] {
				if math.Abs(got[k]-want) > 0.001 {
					t.Errorf("%s: a job of type %s has volumes %v, want %v", p, j.Class, got, volumes[j.Class])
					break
				}
			}
			input, shuffle, output = input+got[0], shuffle+got[1], output+got[2]
		}
		if maps != 5376 || reduces != 342 || len(jobs) != 100 || len(users) != 100 {
			t.Errorf("%s: %d maps, %d reduces, %d jobs, %d users", p, maps, reduces, len(jobs), len(users))
		}
		if math.Round(input) != 344064 || math.Round(shuffle) != 379264 || math.Round(output) != 75908 {
			t.Errorf("%s: volumes %.1f, %.1f, %.1f", p, input, shuffle, output)
		}
		for class, want := range map[string]int{"1": 8, "2": 6, "3": 4, "4": 2, "5": 48, "6": 24, "7": 8} {
			if count[class] != want {
				t.Errorf("%s: %d jobs of type %s, want %d", p, count[class], class, want)
			}
		}
	}
}

func TestPatterns(t *testing.T) {
	want := []int{1, 1, 1, 1, 2, 2, 2, 3, 3, 4, 5}
	if got := longFirst.order(); !slices.Equal(got[:11], want) || got[49] != 7 {
		t.Errorf("long-first is %v", got)
	}
	got := interleaved.order()
	if !slices.Equal(got[:10], []int{5, 5, 5, 5, 1, 5, 5, 5, 5, 1}) || !slices.Equal(got[45:], []int{7, 7, 7, 7, 4}) {
		t.Errorf("interleaved is %v", got)
	}
	if !slices.Equal(separate.order(), got) {
		t.Error("separate queues have the instants of interleaved ones")
	}
	for _, j := range mix(interleaved) {
		if j.Queue != "q"+j.ID[1:2] {
			t.Errorf("%s is in %s", j.ID, j.Queue)
		}
	}
	inQueue := map[string]int{}
	jobs := mix(separate)
	for i, j := range jobs {
		inQueue[j.Queue]++
		isLong := j.Class <= "4"
		if isLong != (j.Queue == "q3" || j.Queue == "q4") {
			t.Errorf("type %s is in %s", j.Class, j.Queue)
		}
		if want := unit.Time(i/2) * unit.Second; j.Submit != want {
			t.Errorf("job %d is submitted at %v, want %v", i, j.Submit, want)
		}
	}
	if inQueue["q1"] != 40 || inQueue["q2"] != 40 || inQueue["q3"] != 10 || inQueue["q4"] != 10 {
		t.Errorf("jobs by queue: %v", inQueue)
	}
}

func TestPrograms(t *testing.T) {
	jobs := threePrograms(3, 2, true)
	if len(jobs) != 9 {
		t.Fatalf("%d jobs", len(jobs))
	}
	last := jobs[8]
	if last.ID != "q3/WordCount" || last.User != "user9" || last.Submit != 2*unit.Second || last.Priority != veryHigh || last.Stages[1].Tasks != 2 {
		t.Errorf("the last job is %+v", last)
	}
	// Two jobs must fit into 160 active tasks and one, but not two, into 100 with at most 80 per user.
	for _, j := range threePrograms(2, 1, false) {
		if n := j.Tasks(); n > 80 || 2*n > 160 || 2*n <= 100 {
			t.Errorf("%s has %d tasks", j.ID, n)
		}
	}
	if jobs := fourTeraSorts(5); len(jobs) != 4 || jobs[3].Submit != 0 || jobs[3].User != "user4" || jobs[3].Stages[1].Tasks != 5 {
		t.Errorf("the fourth TeraSort is %+v", jobs[3])
	}
	first, then := validation(2)
	if len(first) != 4 || len(then) != 4 {
		t.Fatalf("%d TeraSorts, %d Sorts", len(first), len(then))
	}
	for _, j := range []*workload.Job{then["TSort2"], then["TSort4"]} {
		if j.Submit != 0 || j.Stages[0].Tasks != 16 {
			t.Errorf("%+v", j)
		}
	}
	if first[1].ID != "TSort3" || first[2].ID != "TSort2" || first[2].Submit != 5*unit.Second || first[2].Queue != "q1" || then["TSort4"].Queue != "q2" {
		t.Errorf("validation is %+v", first)
	}
}

// Every block is a full factorial, in the source's order.
func TestBlocks(t *testing.T) {
	seen := map[row]bool{}
	for i := range rows {
		seen[rows[i]] = true
	}
	if len(seen) != 8 {
		t.Fatalf("%d different rows", len(seen))
	}
	set := func(name string) (list []row) {
		for id := range strings.SplitSeq(texts().Words[name], "+") {
			n, err := strconv.Atoi(id[1:])
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, rows[(n-1)%8])
		}
		return list
	}
	for _, block := range []string{"L", "U", "I"} {
		for i, a := range set(block + "strict") {
			if b := set(block + "shared")[i]; a.percent != 100 || b.percent != 25 || a.capped != b.capped || a.factor != b.factor {
				t.Errorf("%v and %v do not differ in MULP alone", a, b)
			}
		}
	}
	for _, block := range []string{"U", "S"} {
		for i, a := range set(block + "open") {
			if b := set(block + "capped")[i]; a.capped || !b.capped || a.percent != b.percent || a.factor != b.factor {
				t.Errorf("%v and %v do not differ in maximum-capacity alone", a, b)
			}
		}
	}
	for _, b := range blocks {
		for i := range rows {
			c := b.settings(i).config()
			if _, err := c.Complete(); err != nil {
				t.Fatalf("%s: %v", b.ID(i), err)
			}
			for k, q := range c.Queues {
				if rows[i].capped && q.MaxCapacity != b.capacity[k] {
					t.Errorf("%s: queue %s has maximum-capacity %v", b.ID(i), q.Name, q.MaxCapacity)
				}
			}
		}
	}
	if blocks[3].ID(7) != "E32" || blocks[1].ID(2) != "E11" {
		t.Error("blocks are numbered wrongly")
	}
}

// The oracle's table.
func TestRackLocalShare(t *testing.T) {
	for maps, want := range map[int64]float64{1: 90, 2: 85.5, 10: 58.6, 100: 9, 200: 4.5, 400: 2.25, 800: 1.13} {
		if got := 100 * rackLocalShare(maps, 30, 3); math.Abs(got-want) > 0.06 {
			t.Errorf("L(%d) = %.2f, want %.2f", maps, got, want)
		}
	}
	for n, want := range map[int][2]float64{5: {80, 95}, 6: {75, 90}, 7: {52, 68}, 1: {10.3, 14.2}, 2: {4.5, 7.7}, 3: {2.3, 3.6}, 4: {1, 2.4}} {
		if low, high := printedRange(n); low != want[0] || high != want[1] {
			t.Errorf("type %d: printed %v to %v, want %v", n, low, high, want)
		}
	}
}
