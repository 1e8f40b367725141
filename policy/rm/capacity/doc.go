// Package capacity is YARN's CapacityScheduler as a ResourceManager runs it: told of requests, ends and heartbeats, it
// allocates and reserves containers on the node that has just reported.
//
// Its formulas (shares, user limits, limits on AMs) are those of policy/capacity/arith, which the order for ideal
// engines uses too. What is here is everything that makes a real cluster answer differently:
//
//   - One node is served at a time, when it reports. The tree is walked anew for every container, so the order of queues and
//     applications is always that of the moment; at most one container a report goes to a request without a place
//     (maximum-offswitch-assignments), and at most maximum-container-assignments in all.
//   - An application waits for activation until its AM's size fits the leaf's and its user's limit on AMs. That is
//     looked at only when an application comes or goes or the cluster changes, against what the leaf could reach when it
//     was last visited: that may be old.
//   - A request is looked at in the order of its priorities; locality is waited for by counting the turns that were let go.
//   - A request that fits a node but not what is free there reserves the node: nobody else is served there until it is free
//     or the request is gone. Reservations count as use of the queue and of the user, not of the application.
//   - A walk that stops says why. No need, or waiting for a better place: the next application is tried. No room left
//     under a limit: the leaf is left, and the room that it has is kept from the siblings after it. No room on the node: the
//     leaf is left, so that first come is first served.
//   - With the monitor on, every few seconds containers above a queue's guarantee are marked and, if they stay marked, taken
//     away for queues below theirs (preempt.go).
//
// Files: scheduler.go (what the engine calls), queue.go (tree), leaf.go (users, activation), walk.go (queues to
// application), place.go (application to container or reservation), preempt.go (choice of containers to take away) and
// ideal.go (what queues ought to have), hashorder.go (the order of Hadoop's hash maps, where choices follow it).
//
// # Source
//
// Apache Hadoop 3.4: CapacityScheduler, AbstractParentQueue, AbstractLeafQueue, UsersManager, RegularContainerAllocator,
// FiCaSchedulerApp, AppSchedulingInfo, ProportionalCapacityPreemptionPolicy.
//
// # What differs
//
// Node labels, asynchronous and multi-node scheduling, lazy and intra-queue preemption, user weights, max-parallel-apps,
// auto-created queues, placement constraints and opportunistic containers are not modelled; those that are set are listed
// by NotModelled.
//
// A node may come to have less than nothing free, as in Hadoop: what was reserved is given as soon as what is asked for at that
// priority by now fits, even if that is less.
//
// # How it was compared
//
// 237 random scripts with about 430 000 lines of answers, half of them with preemption, were played to the CapacityScheduler class of
// Hadoop 3.4.2 and to this one (testdata/hadoop/Recorder.java, record_test.go): 234 agree to the last line; of the 77 that were
// made up after the last correction, 76. In the other three the sum of users' shares, a float32, differs in its last bits, and a
// user's limit then by one step. It depends on the order in which a removed application's containers are given back: in Hadoop
// that of a hash map of their ids, which hold the time at which the ResourceManager was started.
// For the comparison, what varies from run to run in Hadoop was held still: applications come at least a millisecond apart, and
// sets of objects that have no hash of their own keep the order of entry.
package capacity
