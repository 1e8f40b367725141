package marp

import (
	x "github.com/yardmaster/yardmaster/experiment"
)

// Study is the study as data. Twenty seeds are enough to judge it by.
func Study() *x.Study {
	return &x.Study{
		Name:  "marp",
		Title: "Moving the share of application masters while a batch runs",
		Source: "A master's thesis on adaptive self-balancing of job throughput and parallelism in Hadoop MapReduce batches (Hadoop 2.7.5, " +
			"Fair Scheduler, one host)",
		About: "The study runs batches of six like MapReduce jobs on one host that carries three nodes and one disk, and moves the share of the queue that application " +
			"masters may take while a batch runs: CBT lets one more job in when processors idle, CBTwS only while smoothed progress grows, CBTwAT only when it grows by a " +
			"threshold that is learned. The baseline, PRJ, runs all six at once; PRJ-n runs n at a time, FIFO one. The share is called MARP there, after maximum-am-resource-percent. All of it is played again here with the controllers that steer a live cluster, the schedulers as " +
			"Hadoop's source has them, and a model of tasks that share processors and one disk. Beside the source's controllers stand ahead (our own), kalman-mem (an " +
			"earlier controller that goes by memory) and fixed numbers of jobs at once. E21 and E22 are ours: what is left of the gain without a disk, and what it depends on.",
		Assumptions: assumptions(),
		Calibrated:  calibrated(),
		Experiments: experiments(),
		ProbeSeeds:  4, // thresholds decide in every other run or fewer
		Checks:      checks(),
		Sections:    sections,
	}
}
