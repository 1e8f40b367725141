// Package plan decides ahead of time where the tasks of recurring jobs run, for clusters whose racks are connected by packet switches and,
// optionally, by an optical circuit switch.
//
// A circuit switch connects each rack to one other rack at a time, and reconfiguring it takes milliseconds: only large flows (elephants) are
// worth a circuit. A job's shuffle becomes such flows if its maps and its reduces each run in few racks; but in too few racks its tasks wait
// for containers. JobPacker looks for the balance: for each job with a large shuffle it enumerates the pairs (racks for maps, racks for reduces) that
// still use circuits and lose no parallelism, and schedules the jobs one after the other on the containers that become free first. Corral,
// its predecessor, places maps and reduces of a job in the same racks to keep the shuffle inside them.
//
// A Plan is data: for each rack the sequence of tasks to run there, and for each job the racks of its maps, where its input should lie. Planning
// is a pure function of the jobs' profiles, the cluster and the settings. Times are seconds, sizes bytes, rates bytes per second.
//
// Sources: Z. Li, H. Shen, JobPacker (the dissertation on job schedulers for diverse workloads, chapter 4); V. Jalaparti et al., Network-Aware
// Scheduling for Data-Parallel Jobs: Plan When You Can (Corral), SIGCOMM 2015; R. Grandl et al., Multi-Resource Packing for Cluster
// Schedulers (Tetris), SIGCOMM 2014. Where the first is silent or contradicts itself, comments say what was chosen.
package plan
