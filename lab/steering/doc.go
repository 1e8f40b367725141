// Package steering runs the steering of a real ResourceManager as an experiment: batches of MapReduce jobs on real daemons, under shares of
// application masters that stand still and under every controller of steer/marp, in turn and several times, with the Fair and with the
// Capacity Scheduler.
//
// The controllers run as an operator runs them: the program's own "yarn steer --act", as a process of its own. What the cluster did is
// measured beside it, by this package's own looks at the ResourceManager and at the kernel's counters, and kept: one record a
// batch, so that a study which was broken off goes on where it was, and anybody can compute the report again without Hadoop.
package steering
