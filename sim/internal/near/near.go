// Package near finds, among the waiting tasks of a stage, those whose input lies on a node or in a rack.
package near

import (
	"cmp"
	"slices"

	"github.com/yardmaster/yardmaster/policy"
)

// Tasks indexes a stage's tasks by the location of their input, and tracks which are taken.
type Tasks struct {
	Nodes, Racks Runs

	isTaken  []uint64 // bit per task
	hasInput []uint64 // bit per task: its input has a location
	next     int64    // no task before it is free
	tasks    int64
}

// Runs lists tasks by place (a node or a rack): for each place, in order, the numbers of the tasks whose input it holds.
type Runs struct {
	Place []int32 // distinct, rising
	start []int32 // of each place, index into task; plus one at the end
	next  []int32 // first entry of each place that may still be free
	skip  []int32 // by place without a free task: the distance to the next place that may have one
	task  []int32

	missing int // numbers below the last place that are not places
}

// At says that the input of a task lies at a place.
type At struct {
	Place int32
	Task  int32
}

func newRuns(pairs []At) Runs {
	pairs = slices.Compact(sorted(pairs))
	r := Runs{task: make([]int32, len(pairs))}
	for i, p := range pairs {
		r.missing = int(p.Place)
		if i == 0 || p.Place != pairs[i-1].Place {
			r.Place = append(r.Place, p.Place)
			r.start = append(r.start, int32(i))
		}
		r.task[i] = p.Task
	}
	r.missing -= len(r.Place) - 1
	r.next, r.skip = slices.Clone(r.start), make([]int32, len(r.start))
	r.start = append(r.start, int32(len(pairs)))
	return r
}

// sorted sorts pairs by place and task. Usually they are already ordered by task: then a counting sort by place suffices.
func sorted(pairs []At) []At {
	last := int32(0)
	for i := range pairs {
		last = max(last, pairs[i].Place)
		if i > 0 && pairs[i].Task < pairs[i-1].Task || int(last) > 8*len(pairs) {
			slices.SortFunc(pairs, func(a, b At) int { return cmp.Or(cmp.Compare(a.Place, b.Place), cmp.Compare(a.Task, b.Task)) })
			return pairs
		}
	}
	next := make([]int32, last+2) // position of the next pair of each place
	for _, p := range pairs {
		next[p.Place+1]++
	}
	for i := 1; i < len(next); i++ {
		next[i] += next[i-1]
	}
	out := make([]At, len(pairs))
	for _, p := range pairs {
		out[next[p.Place]] = p
		next[p.Place]++
	}
	return out
}

// New builds the index from the nodes that hold input, the rack of each node and the number of tasks.
func New(where []At, rackOf []int32, tasks int64) *Tasks {
	n := &Tasks{tasks: tasks, isTaken: make([]uint64, (tasks+63)/64), hasInput: make([]uint64, (tasks+63)/64)}
	inRack := make([]At, len(where))
	for k, w := range where {
		inRack[k] = At{rackOf[w.Place], w.Task}
		n.hasInput[w.Task/64] |= 1 << uint(w.Task%64)
	}
	n.Nodes, n.Racks = newRuns(where), newRuns(inRack)
	return n
}

func (n *Tasks) isFree(t int32) bool { return n.isTaken[t/64]>>uint(t%64)&1 == 0 }

// Waits reports whether a task is not taken.
func (n *Tasks) Waits(t int64) bool { return n.isFree(int32(t)) }

// Level is the locality of a node for input on the given nodes.
func Level(on, rackOf []int32, node int32) policy.Near {
	level := policy.NoPreference
	for _, n := range on {
		switch {
		case n == node:
			return policy.NodeLocal
		case rackOf[n] == rackOf[node]:
			level = policy.RackLocal
		default:
			level = max(level, policy.OffRack)
		}
	}
	return level
}

// Racks replaces nodes by their racks, each once.
func Racks(nodes, rackOf []int32) []int32 {
	racks := nodes[:0]
	for _, n := range nodes {
		if r := rackOf[n]; !slices.Contains(racks, r) {
			racks = append(racks, r)
		}
	}
	return racks
}

// Find returns the index of a place, or where it would be.
func (r *Runs) Find(place int32) (k int, ok bool) {
	// Places are distinct numbers from 0: the index is the number less those missing before it, at most missing in all.
	low, high := min(max(0, int(place)-r.missing), len(r.Place)), min(int(place)+1, len(r.Place))
	k, ok = slices.BinarySearch(r.Place[low:high], place)
	return low + k, ok
}

// Next returns the first free task of the k-th place or of the next place that has one, and that place's index; -1: none.
func (n *Tasks) Next(r *Runs, k int) (at int, t int64) {
	for k < len(r.Place) {
		if t = n.First(r, k); t >= 0 {
			return k, t
		}
		start := k
		k += int(max(1, r.skip[k]))
		if k < len(r.Place) && r.skip[k] > 0 {
			k += int(r.skip[k])
		}
		r.skip[start] = int32(k - start)
	}
	return k, -1
}

// FirstAt returns the first free task at a place; -1: none.
func (n *Tasks) FirstAt(r *Runs, place int32) int64 {
	k, ok := r.Find(place)
	if !ok {
		return -1
	}
	return n.First(r, k)
}

// First returns the first free task of the k-th place; -1: none.
func (n *Tasks) First(r *Runs, k int) int64 {
	for r.next[k] < r.start[k+1] {
		if t := r.task[r.next[k]]; n.isFree(t) {
			return int64(t)
		}
		r.next[k]++
	}
	return -1
}

// Best returns the waiting task whose input is nearest to a node. There must be one.
func (n *Tasks) Best(node, rack int32) (policy.Near, int64) {
	if t := n.FirstAt(&n.Nodes, node); t >= 0 {
		return policy.NodeLocal, t
	}
	if t := n.FirstAt(&n.Racks, rack); t >= 0 {
		return policy.RackLocal, t
	}
	return n.Any()
}

// Any returns the first waiting task. There must be one.
func (n *Tasks) Any() (policy.Near, int64) {
	for n.next < n.tasks && !n.isFree(int32(n.next)) {
		n.next++
	}
	if n.hasInput[n.next/64]>>uint(n.next%64)&1 == 0 {
		return policy.NoPreference, n.next
	}
	return policy.OffRack, n.next
}

// Take marks a task as no longer waiting.
func (n *Tasks) Take(t int64) { n.isTaken[t/64] |= 1 << uint(t%64) }

// Put makes tasks wait again. It happens only when a container is lost or a gang finds too little room, so the scan of places simply restarts.
func (n *Tasks) Put(tasks ...int64) {
	for _, t := range tasks {
		n.isTaken[t/64] &^= 1 << uint(t%64)
		n.next = min(n.next, t)
	}
	copy(n.Nodes.next, n.Nodes.start)
	copy(n.Racks.next, n.Racks.start)
	clear(n.Nodes.skip)
	clear(n.Racks.skip)
}
