// Package hadoop runs real Hadoop daemons on this machine, for tests and for measurements: a ResourceManager with the
// Capacity or the Fair scheduler, NodeManagers in two racks, and, if wanted, HDFS, the history server and the timeline server.
//
// There is no pretence in it. The jars are those that Apache publishes, fetched by Maven (Fetch); each daemon is a process of
// its own with a small heap (Up); applications are real ones: MapReduce jobs (Cluster.Jobs), and unmanaged application
// masters, many in one JVM, that ask for containers, hold them and give them back (Cluster.Masters). What the
// ResourceManager decided stands in its log; package rmlog reads it.
//
// # How many nodes share one machine
//
// Node i has the loopback address 127.0.0.(i+2). All daemons read one configuration folder; what differs between nodes is the
// address, which Hadoop's Configuration takes from the environment. Ports are chosen by the kernel, free on every address,
// so that labs can run beside one another; should another process take one before the daemon does, Up begins anew.
//
// # Ending
//
// Everything runs under package proc: recorded by process id and start time, marked by the run folder, and ended by Down, from
// any process, whatever became of the one that brought it up.
package hadoop
