package study

import (
	"fmt"
	"math/rand/v2"
	"sort"

	"github.com/yardmaster/yardmaster/lab/hadoop"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Size says how large a study of masters is.
type Size struct {
	Apps, Containers int
	Over             hadoop.Millis    // arrivals
	Hold             [2]hadoop.Millis // of containers: least and most
	Nodes, NodeMB    int
}

// Sizes of the study and of its miniature.
var (
	Full = Size{Apps: 200, Containers: 2000, Over: 200_000, Hold: [2]hadoop.Millis{5000, 40_000}, Nodes: 4, NodeMB: 88 << 10}
	Mini = Size{Apps: 24, Containers: 200, Over: 12_000, Hold: [2]hadoop.Millis{2000, 8000}, Nodes: 3, NodeMB: 40 << 10}
)

// sizes of containers, MB, with how often they come of a hundred.
var sizes = []struct{ mb, often int }{{512, 25}, {1024, 35}, {2048, 25}, {4096, 10}, {12 << 10, 5}}

// made is the workload of a size; it is the same every time.
func (s Size) made() []hadoop.Application {
	random := rand.New(rand.NewPCG(2024, uint64(s.Apps)))
	queues := []string{"prod", "prod", "prod", "batch", "batch", "adhoc"}
	users := map[string][]string{"prod": {"ann", "ben", "eva"}, "batch": {"ben", "cem", "dora"}, "adhoc": {"ann", "cem", "eva", "finn"}}
	submits := make([]hadoop.Millis, s.Apps)
	for i := range submits {
		submits[i] = hadoop.Millis(random.Int64N(int64(s.Over)))
	}
	sort.Slice(submits, func(i, k int) bool { return submits[i] < submits[k] })
	apps := make([]hadoop.Application, s.Apps)
	left := s.Containers
	for i := range apps {
		q := queues[random.IntN(len(queues))]
		a := hadoop.Application{ID: fmt.Sprintf("app-%03d", i), Queue: q, User: users[q][random.IntN(len(users[q]))], Submit: submits[i]}
		mean := left / (s.Apps - i)
		n := min(left-(s.Apps-i-1), max(1, mean/3+random.IntN(max(1, mean*4/3+1))))
		if i == s.Apps-1 {
			n = left
		}
		left -= n
		first := n
		if n > 1 && random.IntN(2) == 0 { // two sizes
			first = 1 + random.IntN(n-1)
		}
		for p, count := range []int{first, n - first} {
			if count == 0 {
				continue
			}
			g := hadoop.Group{Count: count, MB: pick(random), Priority: p + 1}
			for range count {
				g.Hold = append(g.Hold, s.Hold[0]+hadoop.Millis(random.Int64N(int64(s.Hold[1]-s.Hold[0]))))
			}
			a.Containers = append(a.Containers, g)
		}
		apps[i] = a
	}
	return apps
}

func pick(random *rand.Rand) int {
	x := random.IntN(100)
	for _, s := range sizes {
		if x -= s.often; x < 0 {
			return s.mb
		}
	}
	return sizes[0].mb
}

// jobs is the same workload for the simulator: a stage for each group. Its stages ask at priorities 1, 2, ..., as the groups do.
func jobs(apps []hadoop.Application) (workload.Slice, error) {
	all := make(workload.Slice, len(apps))
	for i, a := range apps {
		j := &workload.Job{ID: a.ID, User: a.User, Queue: a.Queue, Priority: a.Priority, Submit: millis(a.Submit)}
		for k, g := range a.Containers {
			if g.Priority != k+1 {
				return nil, fmt.Errorf("application %s: group %d has priority %d; the simulator counts them from 1", a.ID, k+1, g.Priority)
			}
			s := workload.Stage{
				Kind: workload.Other, Tasks: int64(g.Count), Ask: unit.Resources{Mem: int64(g.MB), Cores: int64(max(1, g.Vcores))},
				Length: workload.Lengths{Kind: workload.List},
			}
			for n := range g.Count {
				s.Length.Values = append(s.Length.Values, millis(g.Hold[n%len(g.Hold)]))
			}
			j.Stages = append(j.Stages, s)
		}
		all[i] = j
	}
	return all, nil
}

func millis(m hadoop.Millis) unit.Time { return unit.Time(m) * unit.Millisecond }
