// Package capacity is a study of the Capacity Scheduler of Hadoop 1 as data for the experiment runner: J. Chauhan, "Simulation and
// performance evaluation of the Hadoop Capacity Scheduler", MSc thesis, University of Saskatchewan, 2013.
//
// Three sets of experiments. S01 to S16 change one setting at a time on five machines with Sort, TeraSort and WordCount. V1-* and V2-*
// are the small workload with which the thesis validates its simulator against four machines. E01 to E32 are four full factorials of three
// settings (maximum-capacity, user-limit-factor, minimum-user-limit-percent) over thirty machines and a hundred jobs of seven types,
// submitted long jobs first, interleaved, or to separate queues. E09e and the like repeat them under another queue order.
//
// A run is the engine with policy/capacity1 and the phases of sim/mapreduce; everything that the thesis measures is computed from the
// task records (trace, metrics, effects). Its tables are in paper.yaml, its statements in study.yaml, each with its strength: what
// follows from the algorithm, what it reports as a trend, and what it reports although it cannot follow.
//
// One number per set of machines was calibrated on figures of the thesis (machines.slowDisk); Study lists which, and what the
// thesis leaves open. No check has a parameter of its own.
package capacity
