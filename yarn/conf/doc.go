// Package conf reads the configuration of YARN's schedulers, unmodified: capacity-scheduler.xml, with its queue tree, and
// fair-scheduler.xml, with its allocations. It also reads the capacity-scheduler.xml of Hadoop 1 (see Capacity1), which has the same
// name and other settings.
//
// A file that a ResourceManager accepts is accepted here. Settings that this project does not model are listed, with
// file and line, never silently dropped: see Capacity.NotModelled. What a ResourceManager would reject is rejected
// with the line and a suggestion.
//
// Source: the documentation of Apache Hadoop 3.4 (Capacity Scheduler, Fair Scheduler) and the behaviour of
// CapacitySchedulerConfiguration and Configuration.
package conf
