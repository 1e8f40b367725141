// Package yard implements drive.Engine for a real ResourceManager: the sensors and knobs of one queue and its applications.
//
// Sensors are read over REST by the names of their fields, from Hadoop 2.10 to 3.5. What a version does not report is unknown, never made
// up; what it reports is passed on unchanged, so that a policy can detect impossible numbers itself. The number of requests per sample is
// constant: the queues, the cluster's counts, the running applications of the queue, and new waiting ones. The client should
// allow several requests a second and time out on a silent server within seconds: rest.Options.RMRate and Timeout.
//
// The knobs are properties of the queue, above all its AM share, and the queue and priority of its applications. There are three ways to set a
// property: the CapacityScheduler's scheduler-conf REST API, its file with a command to refresh the queues, and the FairScheduler's
// allocation file, which the ResourceManager polls. In a file, every byte but the value is preserved. Applications are changed over REST.
package yard
