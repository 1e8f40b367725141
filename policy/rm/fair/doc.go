// Package fair is Hadoop's FairScheduler behind package rm's interface, decision for decision.
//
// The idea: from the root down, each queue serves the child with the smallest usage relative to its entitlement. The
// real scheduler adds:
//
//   - Twice a second an update sums what every application holds and wants (its demand), and computes fair shares. An
//     application is served only while its demand, as of the last update, differs from what it holds now: a new request waits
//     for the next update, unless something else of the application changed meanwhile.
//   - A node is served when it heartbeats: first the applications for which containers were preempted on it, then the one it is
//     reserved for, else one container (assignmultiple=false), or as many as half of its free room holds and one more
//     (dynamic.max.assign), or max.assign.
//   - A request that does not fit the node may reserve it: if it is at least two increments large, its application is below
//     its fair share, and the application has not reserved too many nodes already. A reserved node serves nobody else as long as
//     the request stands, fits its queues' maxima, and its AM (if it waits for one) may run.
//   - An AM runs only if the AMs of its leaf together fit ceil(maxAMShare x the leaf's fair share).
//   - Applications beyond maxRunningApps of their queue, of one above it, or of their user are parked.
//   - Preemption: an application below min(threshold x fair share, demand) for longer than its queue's timeout, or in a queue
//     below its minimum share, preempts containers of others: on the first node where those of applications that
//     stay at or above their fair share make room, fewest AMs first. They are warned, and killed later; what that frees
//     goes to the starved application first.
//
// The tree, its placement rules and its fair shares are those of policy/fair/queues, which the order for ideal engines uses too.
//
// Files: tree.go (queues), order.go (the three comparators), update.go (demands and shares), beat.go (a node's
// heartbeat), assign.go (one application and one node), reserve.go (reservations), admit.go (parking), starve.go and
// preempt.go (preemption).
//
// Source: Hadoop 3.4, package org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair (FairScheduler, FSAppAttempt,
// FSLeafQueue, FSParentQueue, FSPreemptionThread, MaxRunningAppsEnforcer, policies.*).
//
// # What differs
//
// Where Hadoop's order is that of a hash table (which node is tried first for preemption, which container on
// it, which of a request's places), it is by number here: nodes by index, newest container first, nodes before racks. The
// update and preemption threads have no delay of their own. Among queues with a weight of 0 under drf, Hadoop's
// comparator is not an order (0/0 equals everything) and its result depends on the shape of a search tree. Continuous
// scheduling, access lists and maxContainerAllocation are not modelled. Apart from that, and from preemption, which is tested
// against its description only, decisions were compared with those of the class itself: see testdata/hadoop.
//
// # Invariants
//
// A queue's used is the sum over its children, and a leaf's over its applications. queue.hungry counts the applications below
// that an assignment would consider, so that a heartbeat with nothing to do costs nothing. leaf.line holds exactly those of the
// leaf, in order: code that changes a sort key removes the application first (lift) and reinserts it (settle).
package fair
