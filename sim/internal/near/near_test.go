package near

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
	"github.com/yardmaster/yardmaster/policy"
)

// Whatever is taken and put back, the answer is that of a look at every waiting task.
func TestBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rackOf := []int32{0, 0, 1, 1, 2}
		tasks := rapid.Int64Range(1, 70).Draw(t, "tasks")
		var where []At
		on := make([][]int32, tasks)
		for i := range on {
			on[i] = rapid.SliceOfN(rapid.Int32Range(0, 4), 0, 3).Draw(t, "nodes")
			for _, n := range on[i] {
				where = append(where, At{Place: n, Task: int32(i)})
			}
		}
		x := New(slices.Clone(where), rackOf, tasks)
		taken := make([]bool, tasks)
		left := tasks
		naive := func(node int32) (policy.Near, int64) {
			best, at := policy.NoPreference, int64(-1)
			for i := range on {
				near := policy.NoPreference
				for _, n := range on[i] {
					switch {
					case n == node:
						near = policy.NodeLocal
					case rackOf[n] == rackOf[node]:
						near = max(near, policy.RackLocal)
					default:
						near = max(near, policy.OffRack)
					}
				}
				// The first that waits, unless a later one is local: other input than local is all the same.
				if !taken[i] && (at < 0 || near >= policy.RackLocal && near > best) {
					best, at = near, int64(i)
				}
			}
			return best, at
		}
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			if i := rapid.Int64Range(0, tasks-1).Draw(t, "put"); taken[i] && (left == 0 || rapid.Bool().Draw(t, "back")) {
				x.Put(i)
				taken[i] = false
				left++
			}
			if left == 0 {
				continue
			}
			node := rapid.Int32Range(0, 4).Draw(t, "node")
			near, at := x.Best(node, rackOf[node])
			if n, a := naive(node); near != n || at != a {
				t.Fatalf("task %d, %v; want %d, %v", at, near, a, n)
			}
			x.Take(at)
			taken[at] = true
			left--
		}
	})
}

func TestLevel(t *testing.T) {
	rackOf := []int32{0, 0, 1, 1, 2}
	for _, c := range []struct {
		copies []int32
		node   int32
		want   policy.Near
	}{
		{nil, 0, policy.NoPreference},
		{[]int32{0, 2, 3}, 0, policy.NodeLocal},
		{[]int32{0, 2, 3}, 2, policy.NodeLocal},
		{[]int32{0, 2, 3}, 1, policy.RackLocal},
		{[]int32{0, 2}, 3, policy.RackLocal},
		{[]int32{0, 2}, 4, policy.OffRack},
	} {
		if got := Level(c.copies, rackOf, c.node); got != c.want {
			t.Errorf("copies on %v, node %d: %v; want %v", c.copies, c.node, got, c.want)
		}
	}
}
