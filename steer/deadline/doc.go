// Package deadline steers jobs towards their completion-time goals on a scheduler that knows no goals. It is the steering form of policy/deadline:
// the same estimate of what a job needs, the same states and order, the same min and max mode.
//
// A job's goal is in its tags, which its user writes: deadline:2026-11-15T18:00Z, deadline:1700000000 (seconds, as Snapshot.Now counts), or
// goal:30m after its submission. A tag that makes no sense counts as none, and is reported.
//
// What a job needs is estimated from the mean length of its finished tasks. Task counts come from the engine where it knows them (a MapReduce AM,
// a simulator). Otherwise the containers stand for the tasks: requests that disappear between two samples were served, and what is not running
// any more has ended. The container-time that these took is the integral of the samples, kept within what the engine reports as service. Maps and
// reduces count alike.
//
// In max mode jobs with goals get everything, in min mode no more than they need. There are two ways to act:
//   - One queue: priorities. The jobs with goals get the highest ones, in the order of serving; the scheduler does the rest. The order changes when a need
//     exceeds that of the job before by more than one container. Only max mode.
//   - An intake queue, to which users submit, and several slot queues of one parent ("yarn prepare --policy deadline" makes them): each job with a
//     goal is moved to a slot of its own; the others stay in the intake. The slots' capacities follow the containers that the jobs should have. A job
//     that may not have more is limited by its slot's maximum-capacity. For that, the last slot stays empty: it takes the rest of the capacity.
//     Changes of one container are not written.
//
// Whoever may submit can claim any goal, so goals are not believed where they would harm others:
//   - A goal that could not be met at submission, even on the whole cluster, counts as none.
//   - Slots are shared among users, and so are containers, by need.
//   - While another user waits, jobs that have missed their goals, and those without estimate, together get no more than missed-share.
//
// The slots never have more than their parent may use. With priorities alone these limits are coarser: what has been given is not taken back. A goal that can be
// met still comes before all jobs without one.
//
// If the scheduler refuses moves or capacities from the start, jobs stay in the intake or return there, and are steered by priorities.
package deadline
