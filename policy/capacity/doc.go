// Package capacity is the order of YARN's CapacityScheduler: a tree of queues, each with a guaranteed share of its
// parent and a maximum. The queue that uses the least of its guarantee goes first; inside a leaf jobs go in order of
// arrival (or by smallest memory usage), within limits on what one user may hold and on what AMs may hold.
//
// # Formulas
//
// Guarantees and maxima derive from the cluster C and are truncated to whole MiB and vcores; ratios are float32:
//
//	absCap(q) = (percent/100 or weight/sum of weights) * absCap(parent)     effMin(q) = floor(C * absCap(q))
//	absMax(q) = maximum/100 * absMax(parent)                                effMax(q) = floor(C * absMax(q))
//	used ratio = used / max(effMin, minimum allocation): smallest first, ties by larger absCap, then by the file
//
// A child may reach lim(parent) - used(parent) + used(child), less the room that earlier siblings have and cannot use
// because their next ask is too large for it. A leaf stops at the first ask that does not fit its room.
//
// A user gets no more once it holds more than its limit, so it ends at most one container above it:
//
//	current = guarantee, or use + one minimum allocation once use reaches the guarantee
//	limit   = min(max(held by active users / active users, current * minimum-user-limit-percent), guarantee * user-limit-factor)
//
// A job is not proposed before it is activated. Activation charges the size of its AM against
// maximum-am-resource-percent of what the leaf could reach when it was last visited, and against the user's part of
// that percentage of the guarantee; the first application of a leaf always passes. It is tried when a job arrives, leaves, or
// its AM ends, and when the tree is recomputed. Files: package arith (resources, shares, limits), package queues (tree,
// admission, knobs, gauges), queue.go (order of queues), leaf.go (users), activate.go (AM limits), ranked.go (the walk), forest.go
// (the structure that makes a decision O(log n) in jobs and users).
//
// # Source
//
// Apache Hadoop 3.4: CapacityScheduler, ParentQueue, LeafQueue, UsersManager, PriorityUtilizationQueueOrderingPolicy,
// DefaultResourceCalculator and DominantResourceCalculator, and the documentation page "Capacity Scheduler".
//
// # What differs, and why
//
// The engine offers room for one container at a time, so node heartbeats, reservations, the off-switch count and the
// locality delay are not here; they belong to an engine with heartbeats, and their settings are kept in conf.Heartbeat.
// Asks are used as given: Normalise is for engines that round them as YARN does. With a file, limits
// are rounded to the minimum allocation all the same, so asks that are not multiples of it can leave less than one step
// unused in each queue. If the largest node is smaller than that step, the step is the node. All users have weight 1. A job
// without an AM has an AM size of 0 and counts as asking from its activation. Size-based weight takes as demand
// what the job holds and the waiting tasks of its front stage. A priority of 0 stands for "none given" and takes the
// queue's default. When siblings' absolute amounts shrink, maxima are compared by component. A job that does not fit a maximum
// above it is skipped; Hadoop may propose it, refuse it in a final check and leave the node idle. max-parallel-apps, preemption,
// node labels, user weights, auto-created queues and asynchronous scheduling are not modelled, and are listed if set.
//
// Without a file (Entry) queues are created on first use, with weight 1, no maximum and no limit
// on a single user, half of it for AMs (all of it could deadlock a cluster full of waiting AMs), priorities as
// given, limits in steps of 1 MiB because asks are not rounded, and any number of applications. So "capacity" alone means:
// queues share equally, first in first out inside each, and what one queue leaves idle others may use.
package capacity
