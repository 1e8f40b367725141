// Package conf reads the configuration of YARN's schedulers as it is: capacity-scheduler.xml, with its queue tree, and
// fair-scheduler.xml, with its allocations. It also reads the capacity-scheduler.xml of Hadoop 1 (see Capacity1), which has the same
// name and other settings.
//
// A file that a ResourceManager would take is taken here. What it says and this project does not act on is listed, with
// file and line, and never dropped in silence: see Capacity.NotModelled. What a ResourceManager would refuse is refused
// with the line and what was probably meant.
//
// Source: the documentation of Apache Hadoop 3.4 (Capacity Scheduler, Fair Scheduler) and the behaviour of
// CapacitySchedulerConfiguration and Configuration.
package conf
