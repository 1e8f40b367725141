// Package study holds the simulator against real Hadoop daemons: not SLS, which has simulated nodes, but a ResourceManager and
// NodeManagers as separate processes that talk over the network.
//
// There are two studies. In "masters", hundreds of unmanaged applications ask for thousands of real allocations; the same
// workload, the same XML and the phases of the nodes' heartbeats go to the simulator. In "mapreduce", MapReduce jobs run under
// one set of settings, their history is imported as an operator would, the simulator predicts what other settings would
// do, and the cluster then shows it.
//
// A third, "cycles", measures what the simulator is fed with: the cycles that Hadoop's own examples take for a byte.
//
// What the cluster did is kept as records, so that anybody can compute the report again without Hadoop.
package study
