// Package fair is Hadoop's FairScheduler behind the seam of a ResourceManager, decision for decision.
//
// The idea: from the root down, each queue serves the child that holds least for what it is entitled to. What makes the
// real one different from that sentence, and is therefore here:
//
//   - Twice a second an update looks at what every application holds and wants (its demand), and works out fair shares. An
//     application is served only while its demand, as of the last update, differs from what it holds now: a new request waits
//     for the next update, unless something else of the application changed meanwhile.
//   - A node is served when it reports: first the applications that had containers taken away on it, then the one that it is
//     reserved for, else one container (assignmultiple=false), or as many as half of its free room holds and one more
//     (dynamic.max.assign), or max.assign.
//   - A request that does not fit the node may reserve it: if it is at least two increments large, its application is below
//     its fair share, and the application does not keep too many nodes already. A reserved node serves nobody else as long as
//     the request stands, fits its queues' maxima, and its AM (if it waits for one) may run.
//   - An AM runs only if the AMs of its leaf together fit ceil(maxAMShare x the leaf's fair share).
//   - Applications beyond maxRunningApps of their queue, of one above it, or of their user are parked.
//   - Preemption: an application below min(threshold x fair share, demand) for longer than its queue's timeout, or in a queue
//     below its minimum share, has containers of others taken away: on the first node where those of applications that
//     stay at or above their fair share make room, fewest AMs first. They are warned, and killed later; what that frees
//     goes to the starved application first.
//
// Where the file sits: tree.go the queues, order.go the three comparators, update.go demands and shares, beat.go a node's
// report, assign.go one application and one node, reserve.go reservations, admit.go parking, starve.go and preempt.go
// preemption.
//
// Source: Hadoop 3.4, package org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair (FairScheduler, FSAppAttempt,
// FSLeafQueue, FSParentQueue, FSPreemptionThread, MaxRunningAppsEnforcer, policies.*).
//
// # What differs
//
// Where Hadoop's order is that of a hash table (which node of several is looked at first for preemption, which container on
// it, which of a request's places), it is by number here: nodes by index, newest container first, nodes before racks. The
// update's thread and the preemption thread have no delay of their own. Among queues with a weight of 0 under drf, Hadoop's
// comparator is no order at all (0/0 equals everything) and its answer depends on the shape of a search tree. Continuous
// scheduling, access lists and maxContainerAllocation are not there. Apart from that, and from preemption, which is tested
// against its description only, answers were compared with those of the class itself: see testdata/hadoop.
//
// # Invariants
//
// A queue's used is the sum over its children, and a leaf's over its applications. queue.hungry counts the applications below
// that an assignment would look at, so that a beat with nothing to do costs nothing. leaf.line holds exactly those of the
// leaf, in order: whoever changes what the order is made of takes the application out (lift) and puts it back (settle).
package fair
