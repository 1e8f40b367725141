// Package yard is a real ResourceManager as a drive.Engine: the sensors and knobs of one queue and its applications.
//
// Sensors are read over REST by the names of their fields, from Hadoop 2.10 to 3.5. What a version does not tell is unknown, never made
// up; what it tells is passed on as it is, so that a policy can see for itself that a number is impossible. The requests of a look are
// constant: the queues, the cluster's counts, the running applications of the queue, and those waiting that are new. A client for it should
// allow some requests a second and give up on a silent server within seconds: rest.Options.RMRate and Timeout.
//
// The knobs are properties of the queue, above all its share for AMs, and the queue and priority of its applications. There are three ways to set a
// property: the scheduler-conf REST interface of the CapacityScheduler, its file with a command to refresh the queues, and the FairScheduler's
// allocation file, which the ResourceManager polls. Of a file, every byte but the value is kept. Applications are changed over REST.
package yard
