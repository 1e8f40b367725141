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
// There are two ways to act:
//   - One queue: priorities. The jobs with goals get the highest ones, in the order of serving; the scheduler does the rest. The order changes when a need
//     exceeds that of the job before by more than one container. Only max mode.
//   - An intake queue, to which users submit, and several slot queues of one parent ("yarn prepare --policy deadline" makes them): each job with a
//     goal is moved to a slot of its own; the others stay in the intake. In max mode the slots' capacities follow the containers that the jobs
//     should have, and their maximum stays. In min mode their maximum-capacity does: a job gets no more than it needs, and the last slot stays
//     empty, because it takes the rest of the capacity. Changes of one container are not written.
//
// Whoever may submit can claim any goal, and a job that has missed its goal is served first: missed-share limits what such jobs get together. The
// slots never have more than their parent may use.
//
// If the scheduler refuses moves or capacities from the start, jobs stay in the intake or return there, and are steered by priorities.
package deadline
