package capacity

import (
	"slices"

	"github.com/yardmaster/yardmaster/policy/rm"
)

// Some choices of Hadoop follow the order of a java.util.HashMap: by bucket, and within a bucket by insertion. The hashes of
// names, nodes and priorities are defined by their classes, so the order can be reproduced.

// buckets is the number of buckets of a HashMap that grew to n keys.
func buckets(n int) uint32 {
	size := uint32(16)
	for uint32(n) > size/4*3 {
		size *= 2
	}
	return size
}

// bucket is the bucket of a hash in a table of the given size.
func bucket(h, size uint32) uint32 { return (h ^ h>>16) & (size - 1) }

// hashOf is String.hashCode of ASCII text.
func hashOf(s string) (h uint32) {
	for i := range len(s) {
		h = 31*h + uint32(s[i])
	}
	return h
}

// nodeBucket orders a node among an application's reservations at one priority, which are walked from the front
// to find one to unreserve (FiCaSchedulerApp.getNodeIdToUnreserve). There are 16 buckets up to twelve reservations; larger
// tables are not modelled.
func nodeBucket(n *rm.Node) uint32 {
	const prime, first = 493217, 8501
	start := uint32(first)
	return bucket(prime*(prime*start+hashOf(n.Name))+uint32(n.Port), 16)
}

// priorityBucket orders a priority among those that an application has reservations at.
func priorityBucket(priority int32) uint32 {
	const prime, first = 517861, 9511
	start := uint32(first)
	return bucket(31*31*(prime*start+uint32(priority)), 16)
}

// leavesBelow lists the leaves below q in the monitor's order: a set of paths is filled from the children's sets.
func leavesBelow(q *queue) (list []*queue) {
	if q.Leaf != nil {
		return []*queue{q}
	}
	for _, k := range q.Children {
		list = append(list, leavesBelow(k)...)
	}
	size := buckets(len(list))
	slices.SortStableFunc(list, func(a, b *queue) int { return int(bucket(hashOf(a.Path), size)) - int(bucket(hashOf(b.Path), size)) })
	return list
}
