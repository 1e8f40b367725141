// Package nas is a network-aware scheduler for MapReduce on racks with oversubscribed uplinks. It evens out shuffle traffic over time by limiting
// the output of the maps that run on a node, lets reduces follow the map output across racks, and under congestion holds back the jobs that
// shuffle much. Users that hold fewer containers come first throughout.
//
// A free container goes to a map or to a reduce, by whose user holds fewer containers (of one user, whose job does), and if there is none of the one to the other:
//
//	reduce   ca; in a congested rack cr
//	map      mts
//
// The source tries a reduce first (first=reduces), and in a congested rack starts no maps of jobs predicted to be medium or heavy (gate=known). Where uplinks are busy for long that starves
// maps, and Hadoop's ApplicationMaster then kills their reduces; gate=soft holds maps back for no longer than skip says.
//
// # Maps (mts)
//
// A map qualifies if its predicted output fits into the node's traffic threshold (package shuffle) beside the maps running there. Each user in
// turn starts, of its qualified maps with input on the node, one of an unpredicted job, else the one that fits most closely. A user without any
// skips the offer. After enough skips, and then until it next starts a local map, it starts the best qualified one: small input before large, unpredicted before predicted, then the
// cheapest to read, then the closest fit. If none qualifies, it starts the map with the least predicted output, one with input on the node if
// there is one. A job's maps are alike but for their location, so a decision compares jobs, not tasks.
//
// # Reduces (ca, cr)
//
// A job's reduces may start when the adaptive slow-start of its size is reached. Each user in turn starts a reduce of the job that comes first by:
//
//	category      heavy, medium, light below its quota of reduces in the rack; then light, medium, heavy at or above it
//	delayed       jobs that cr held back
//	maps          all done
//	size          below the quota the largest, else the smallest
//
// In a congested rack a user starts only reduces of light jobs. A user without any skips the offer, and its other reduces are delayed. After enough
// skips it starts one anyway.
//
// Until the last map of a job has started, it has no more reduces than running maps: containers are untyped, and reduces that wait for maps could otherwise hold
// all of them. capped=all bounds them by a share of the cluster instead. See shuffle.Jobs.Spare for what else prevents a deadlock.
//
// # Cost
//
// A decision is O(users passed over x their waiting jobs), independent of the number of racks and tasks, and does not allocate.
//
// Source: Job schedulers for diverse workloads in data-parallel clusters (dissertation), chapter 3: algorithms 1 to 4. Where it leaves a choice: the
// load of a rack is that of the busier of its two directions; the traffic threshold is recomputed at every decision; a user without waiting maps
// does not count a skip; its skips are reset as in algorithm 2 and in delay scheduling, not at every start as in the text (reset=any); with gate=known, maps of
// unpredicted jobs start in congested racks (gate=all: they do not); the cap is ours.
package nas
