// Package deadline gives containers to jobs according to their completion-time goals. It predicts what a job still needs from the mean length of
// its finished tasks, and corrects the prediction at every decision. It needs no profile and no history. The estimates and the order of claims
// (estimate.go) know no engine: the steering form, steer/deadline, shares them.
//
// For a stage with R running and U unstarted tasks, the mean length mu of its finished ones, and elapsed times e_i of the running ones:
//
//	W    = sum over running (mu - e_i) + U*mu      remaining work, in container-time
//	need = W / (goal - now) - R                     further containers needed now to finish on time
//
// A job is in one of three states, and served in this order:
//
//	Missed   its goal has passed               the one that will end latest, relative to the time it was given, first
//	NoData   no task has finished              the oldest first
//	Adjust   all others                        the largest need first
//
// In min mode a job gets no more containers than it needs, and the rest stays idle; in max mode all containers are given to jobs, and needs are
// recomputed after each. Running tasks are never preempted.
//
// Source: J. Polo et al., Performance-Driven Task Co-Scheduling for MapReduce Environments, NOMS 2010. What differs:
//   - A running task that exceeds the mean counts as about to end (clamp), where the formula lets it count negative.
//   - A stage aims at the goal less the time its successors take (reduce=split), or its work includes theirs (reduce=work). A reduce that waits for
//     its job's maps has not begun, so the time for it is still set aside.
//   - Jobs without a goal get what others leave: in max mode their need is -R; in min mode they take what would stay idle.
//   - Ties go to the earlier goal, then to the earlier arrival.
package deadline
