package capacity

import (
	"fmt"

	"github.com/yardmaster/yardmaster/experiment"
)

// Study is the study as data.
func Study() *experiment.Study {
	var checks []experiment.Check
	for _, part := range [][]experiment.Check{
		sensitivityChecks(), validationChecks(), longFirstChecks(), unequalChecks(), interleavedChecks(), separateChecks(), localityChecks(),
		readingChecks(), variationRecords("L70", blocks[1]), variationRecords("I50", blocks[2]),
	} {
		checks = append(checks, part...)
	}
	return &experiment.Study{
		Name:  "capacity",
		Title: "The Hadoop Capacity Scheduler: which settings matter",
		Source: "J. Chauhan, Simulation and performance evaluation of the Hadoop Capacity Scheduler, MSc thesis, University " +
			"of Saskatchewan, 2013",
		About: "The study sets the Capacity Scheduler of Hadoop 0.20.203 in many ways and looks at what becomes of jobs: one " +
			"setting at a time on five real machines " +
			"(S01 to S16), a comparison of four real machines with a simulator (V1-*, V2-*), and, in the simulator, thirty " +
			"machines with a hundred jobs of seven types in four full " +
			"factorials of three settings (E01 to E32). All of it is played again here with the scheduler as the study " +
			"describes it and Hadoop's source has it, MRPERF's model of what tasks do, " +
			"and a network of flows instead of packets. Experiments whose name ends in e, m or s are others played again " +
			"under another reading of which queue is served first.",
		Assumptions: assumptions(),
		Calibrated: []string{
			fmt.Sprintf("E01 to E32: one factor that divides the disk rates of the public MRPERF (280 MiB/s read, 75 MiB/s "+
				"written), %.2f, so that E01 ends after about 1230 s. "+
				"That bounds the time that a map holds its slot to 27.5 s on average.", studyCluster.slowDisk),
			fmt.Sprintf("S01 to S16: the same factor for the real machines, %.2f, so that a reduce of 5 GB alone on its node "+
				"takes about 14 minutes in S07. "+
				"V1-* and V2-* take it over: the source prints no time for them.", sensitivityCluster.slowDisk),
			"S01 to S16: WordCount's 250 cycles a byte, so that 225 maps can go through the one map slot of S05's queue 2 in " +
				"2195 s (9.7 s each at most). No verdict depends on it.",
		},
		Experiments: experiments(),
		Probes:      probes,
		Checks:      marked(checks),
		Sections:    sections,
	}
}

// probes have every cluster, every way of submitting, every setting where it has an effect, and every order of queues.
var probes = []string{
	"S02", "S05", "S08", "S11", "S12", "S13", "S15", "V1-MULP", "V1-MSJ", "E01", "E12", "E14", "E22", "E30", "V2-Q2a", "E09e", "E25m", "V1-Q2s",
}

// assumptions are what the source leaves open and how it is settled here.
func assumptions() []string {
	return []string{
		"Heartbeats come every 0.3 s from each node, at a phase that is drawn for each seed; the end of a task is known at " +
			"once, and its slot is offered at the node's next heartbeat.",
		"Jobs are initialized by a poller every 5 s, from instant 0; a job that is submitted at 0 is seen at 5 s unless it " +
			"was there first.",
		"Blocks of 64 MiB with three copies at random nodes (three fit the source's shares of rack-local maps); the output " +
			"of reduces is written once, to the local disk.",
		"Disk, network and cycles a byte are those of the public MRPERF of 2010, except for the factor on the disk: 1 Gbit/s " +
			"a node on one switch, 44 cycles for each byte sorted, " +
			"4e9 to start a process, a map buffer of 50 MiB, 66 MiB in a reduce's memory; its noise (10 %) on every piece of work.",
		"The compute columns of the seven types are cycles a byte.",
		"Inside the long and the short jobs the order is by number of type: it fits \"early\" for type 2 and \"late\" for type 4.",
		"Sort and TeraSort take MRPERF's cycles for TeraSort (40 and 90 a byte); WordCount takes 250 a byte to map and, " +
			"combined, passes on 0.05 % of its input.",
		"5 GB are 75 maps: the source says 70 to 80, and that two such jobs, with their reduces, fit into 160 active tasks. " +
			"Machines of the sensitivity runs have 8 cores.",
		"The validation machines have two map slots (not stated) on four cores; a user's Sort is submitted the moment its " +
			"TeraSort is done.",
		"Three queues of \"33 % each\" leave one of ten slots to whoever asks first.",
		"A node is given at most one reduce in a heartbeat; active users are those with tasks to start; a map on another " +
			"rack does not occur, there is one.",
		"A reduce counts as paired when it shared its node with another job's for any time; the count of delayed map " +
			"execution is defined in its section.",
		"Makespans count from instant 0, when the first jobs are submitted. A response ratio of a type is the mean over its " +
			"jobs of elapsed over execution time, then over seeds.",
		"The variation of a type pools its jobs and all seeds. Where two queues have the same capacity and the same jobs, a " +
			"check takes the mean of both.",
		"Settings that the source misprints are read as its text has them: maximum-capacity 70 and 30 in E10, E13, E14 and " +
			"E16; queues 1 and 2 of E25 to E32 are the short ones; " +
			"S06 to S08 vary the minimum user limit.",
	}
}
