// Package capacity1 is the Capacity Scheduler of Hadoop 1: queues with a guaranteed share of a cluster's map slots and of its
// reduce slots, kept apart in everything. The queue that uses the least of its share goes first; inside a queue jobs go in order of
// submission (or by priority), within a limit on what one user may hold. Jobs take slots only after a poller has initialised them.
//
// # Formulas
//
// For each kind of slot, with S slots of that kind in the cluster:
//
//	capSlots = floor(capacity/100 * S)         maxSlots = floor(maximum-capacity/100 * S), or no limit
//	queues   ascending by occupied / capSlots (1 where capSlots is 0); ties stay as they were
//	job      the first of the queue's order with a task to start, whose user is within
//	limit    = min(max(ceil(current/A), ceil(MULP*current/100)), floor(cap * ULF))
//	           cap     = max(capSlots, 1)
//	           current = cap, or occupied + 1 once the queue has reached it
//	           A       = users of the queue with tasks of this kind to start
//
// MULP is minimum-user-limit-percent, ULF user-limit-factor. A start never takes a queue above maxSlots. There is no
// preemption: a queue below its share gets it as tasks of others end, because it goes first.
//
// Derived from maximum-system-jobs M, per queue:
//
//	jobs initialised at once    ceil(M * capacity/100)               of one user  ceil(M * capacity/100 * MULP/100)
//	jobs accepted               the above * init-accept-jobs-factor  of one user  likewise
//
// Every init-poll-interval the poller goes through each queue's waiting jobs in order and initialises them, until the queue has
// as many jobs, or as many tasks in them (maximum-initialized-active-tasks), as it may. A job that would bring its user above the
// user's limits is skipped, with all later ones of that user, so that a user's jobs stay in order.
//
// Locality of maps: a job counts its scheduling opportunities since its last node- or rack-local task.
// A node- or rack-local task is always accepted; an off-switch one only when the count exceeds the number
// of nodes, and once per heartbeat. Reduces have no locality; a node gets at most one per heartbeat.
//
// # Options
//
// Config has what later versions or studies of this scheduler propose: other orders of queues (QueueOrder), the older count of active
// users, Hadoop's finer off-switch rule, a delay between node and rack (MAPREDUCE-4305), several reduces a heartbeat, reduces that avoid
// busy nodes, the use of idle queues' shares above a maximum. All are off by default. Shares and limits can be changed during a
// run (policy.Knobs); Hadoop needed a restart for that.
//
// # Source
//
// Apache Hadoop 0.20.203 and 1.x, contrib/capacity-scheduler: CapacityTaskScheduler, CapacitySchedulerQueue, JobInitializationPoller,
// CapacitySchedulerConf; and their description, tables and defaults in J. Chauhan, "Simulation and performance evaluation of the Hadoop
// Capacity Scheduler", MSc thesis, University of Saskatchewan, 2013. Where the thesis prints strict comparisons that its own
// experiments contradict (capacities that sum to 100, a minimum user limit of 100, a maximum equal to the capacity, one job
// initialised where one is allowed), the boundary is allowed here.
//
// # What differs, and why
//
//   - A user or a queue may always hold one task: where a maximum or a user limit comes to less than a slot (a 1 % queue on
//     10 slots, a factor of 0.1), Hadoop's jobs would wait forever.
//   - Initialization takes no time, so the number of worker threads (min(queues, init-worker-threads)) has no effect.
//   - A user is active for reduces from when a reduce could start; Hadoop counts reduces that wait for slow-start too.
//   - A map whose input has no location has no preference and never waits; Hadoop treats it as off switch.
//   - Defaults are those of the documentation: 3000 jobs and 5 s, where Hadoop's code has 5000 and 3 s for an absent setting.
//   - Of the five priorities the engine's numbers are 1 (VERY_LOW) to 5 (VERY_HIGH), as its importers write them; 0 stands for
//     none given and is NORMAL (3); others are clamped.
//   - On a cluster without fixed slots a virtual core counts as a slot, maps and reduces draw on one set, and AMs count nothing.
package capacity1
