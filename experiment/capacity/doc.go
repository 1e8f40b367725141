// Package capacity is a study of the Capacity Scheduler of Hadoop 1 as data for the experiment runner: J. Chauhan, "Simulation and
// performance evaluation of the Hadoop Capacity Scheduler", MSc thesis, University of Saskatchewan, 2013.
//
// Three sets of experiments. S01 to S16 change one setting at a time on five machines with Sort, TeraSort and WordCount. V1-* and V2-*
// are the small workload by which the thesis holds its simulator against four machines. E01 to E32 are four full factorials of three
// settings (maximum-capacity, user-limit-factor, minimum-user-limit-percent) over thirty machines and a hundred jobs of seven types, which
// come long jobs first, interleaved, or into queues of their own. E09e and the like are the same under another order of queues.
//
// A run is the engine with policy/capacity1 and the phases of sim/mapreduce; everything that the thesis measures is taken from the record of
// every task (trace, metrics, effects). Its tables are in paper.yaml, its statements in study.yaml, each as strong as it is: what
// follows from the algorithm, what it reports as a trend, and what it reports although it cannot follow.
//
// One number for each set of machines was set by figures of the thesis (machines.slowDisk); see Study for which, and for what the
// thesis leaves open. No check has a parameter of its own.
package capacity
