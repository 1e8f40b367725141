// Package deadline is a study of deadline scheduling as data for the experiment runner: J. Polo et al., "Performance-Driven Task Co-Scheduling
// for MapReduce Environments", NOMS 2010. A job has a goal, a time by which it should be done; how many slots it needs is estimated from the
// mean length of its finished tasks. The min-scheduler gives a job what it needs and leaves the rest idle; the max-scheduler gives all slots
// away.
//
// Four jobs share 60 map and 60 reduce slots: a long irregular one (J1), a regular one (J2) and two short, urgent ones (J3, J4). DL-1 is the
// accuracy of the estimate, DL-2 and DL-3 are the two schedulers, DL-4a and DL-4b are the Fair Scheduler without and with weights. DL-X1 and DL-X2
// are ours: FIFO, and the switches of the policy. The source states the goal of J3 and J4 twice, as 120 and as 150 s: everything is run with both.
package deadline
