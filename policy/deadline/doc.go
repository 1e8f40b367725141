// Package deadline gives containers to jobs according to their completion-time goals. What a job still needs is predicted from the mean length of its
// finished tasks, and corrected at every decision. It needs no profile and no history.
//
// For a stage with R running and U unstarted tasks, the mean length mu of its finished ones, and elapsed times e_i of the running ones:
//
//	W    = sum over running (mu - e_i) + U*mu      remaining work, in container-time
//	need = W / (goal - now) - R                     further containers needed now to finish on time
//
// A job is in one of three states, and served in this order:
//
//	Missed   its goal has passed               the one that is latest, relative to its goal, first
//	NoData   no task has finished              the oldest first
//	Adjust   all others                        the largest need first
//
// In min mode a job gets no more containers than it needs, and the rest stays idle; in max mode everything is given away, and needs are recomputed after each
// container. Running tasks are never stopped.
//
// Source: J. Polo et al., Performance-Driven Task Co-Scheduling for MapReduce Environments, NOMS 2010. What differs:
//   - A running task that exceeds the mean counts as about to end (clamp), where the formula lets it count negative.
//   - A stage aims at the goal less the time its successors take (reduce=split), or its work includes theirs (reduce=work). A reduce that waits for
//     its job's maps has not begun, so the time for it is still set aside.
//   - Jobs without a goal get what others leave: in max mode their need is -R; in min mode they take what would stay idle.
//   - Ties go to the earlier goal, then to the earlier arrival.
package deadline
