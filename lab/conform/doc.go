// Package conform holds the simulator against Hadoop's own scheduler, decision by decision.
//
// A Scenario is a trace, nodes and the XML files of a ResourceManager, made by seeded code. Record runs it under SLS, several times
// (the real ResourceManager and scheduler with simulated nodes, package lab/hadoop/sls) and keeps what happened. Compare
// feeds the same files to the simulator (sim/yarn) and says how far the two are apart, in two ways:
//
//   - with phases: the simulator is told when each node's first heartbeat was and when the scheduler's own timer (preemption
//     monitor, update of fair shares) ran. Everything else is periodic, as it would be on an idle computer;
//   - with instants: it is also told the logged instant of every scheduling pass, every call of a master and every admission.
//     What the computer made late is late in both, and only the logic is compared.
//
// SLS does not repeat itself: heartbeat phases are drawn anew in each run, and the computer is never quite idle. How far two
// runs of SLS are apart is therefore the measure of what can be asked.
package conform
