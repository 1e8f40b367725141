// Package gang chooses the nodes whose room engines hold for a gang that smaller jobs would otherwise overtake for ever.
package gang

import (
	"cmp"
	"slices"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

// Hold chooses nodes that hold a gang of so many tasks: those with the most free room first, and none that it can do without. room[i] is what node i will have
// once all that ends by itself has ended; node returns the node as it is now, nil: there is none. If the nodes that the placement (nil: none) scores 0 or more,
// with that room, are not enough, it returns nil; waits: the placement may accept others later.
func Hold(tasks int64, ask unit.Resources, room []unit.Resources, node func(i int32) *policy.Node, score func(n *policy.Node) policy.Score) (chosen []int32, waits bool) {
	type candidate struct {
		index      int32
		free, fits int64 // tasks that fit now and then
	}
	var list []candidate
	for i := range room {
		n, fits := node(int32(i)), room[i].Count(ask)
		if n == nil || fits == 0 {
			continue
		}
		then, s := *n, policy.Any
		if then.Free = room[i]; score != nil {
			s = score(&then)
		}
		if waits = waits || s == policy.Wait; s >= 0 {
			list = append(list, candidate{int32(i), n.Free.Count(ask), fits})
		}
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(b.free, a.free) })
	spare := -tasks
	for k := range list {
		if spare += list[k].fits; spare >= 0 {
			list = list[:k+1]
			break
		}
	}
	if spare < 0 {
		return nil, waits
	}
	for k := len(list) - 1; k >= 0; k-- {
		if list[k].fits <= spare {
			spare -= list[k].fits
			list = slices.Delete(list, k, k+1)
		}
	}
	for _, c := range list {
		chosen = append(chosen, c.index)
	}
	return chosen, waits
}
