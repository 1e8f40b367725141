// Package marp holds steering controllers for one knob: the share of a queue's resources that all AMs together may take
// (maxAMShare of the Fair Scheduler, maximum-am-resource-percent of the Capacity Scheduler; "MARP"). Every
// running job needs one AM, so the share limits how many jobs run at once: too low and jobs wait while processors
// idle, too high and AMs crowd out their own tasks.
//
// The controllers:
//
//   - cbt: while processors idle, admit one more job; while they are busy, give back the share of jobs that are almost done.
//   - cbtws: as cbt, but admits a job only while the smoothed progress per sample grows.
//   - cbtwat: as cbtws, but the growth must reach a threshold that is learned epsilon-greedily.
//   - ahead: our own. It forecasts from the jobs' progress how much will idle by the time a job admitted now would get to work,
//     and acts in advance; its one parameter is a target share of idle processors.
//   - kalman-mem: a comparator that holds the memory in use within a band (after Zhang, Krikava, Rouvoy, Seinturier,
//     "Self-balancing job parallelism and throughput in Hadoop", DAIS 2016, as their published artefact does it).
//   - static: writes one value; the baselines are values for it, see Baselines and Sweep.
//
// The first three follow a master's thesis on balancing job throughput and parallelism in batches of MapReduce jobs, whose
// scripts ran on a Fair Scheduler. Where text and scripts differ we follow the scripts, except where they would stop
// admitting for ever, divide by zero or leave the bounds. Each such reading is a switch or a comment in Settings.
//
// Common to all of them:
//
//   - No clock and no randomness of their own: the same snapshots and the same seed give the same actions.
//   - The value lies between one AM's share and 1, whatever is seen. It is not raised to admit jobs while none waits.
//   - Stale, missing or impossible readings mean no action, a reason (Last) and a later sample.
//   - The original value is restored at the end of the batch; Restore tells a driver the value if it must exit early.
package marp
