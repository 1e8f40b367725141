// Package levels is the steering form of the size-based policies: one leaf queue for each level, and jobs are moved between them.
//
//	fbq     a job is demoted to the next level when it has attained the limit of its level; the first level goes first
//	tags    the same, with a fixed share of the cluster for each level
//	sita    a job is placed by its size, and each level has a fixed share of the cluster
//	comp    a job is placed by comparison with the jobs that finished last; the first level goes first
//
// The scheduler's configuration makes the levels what they are: queue priorities (fbq, comp) or capacities with the same maximum (tags, sita). The
// policy only moves jobs. It gets the queues in order: K queues, of which the first is level 1 and takes new jobs, or K+1, of which the first is the
// intake: jobs are moved from there to their level at the next sample.
//
// The decisions are those of the dispatch form (policy/sizes). The differences:
//
//   - Attained service is what a ResourceManager reports, in vcore-seconds: all containers count, also the AM's and those of reduces that wait for
//     maps. With one vcore per container and no AM the limits mean the same.
//   - A job is demoted at the first sample after it has reached the limit. Its containers keep running.
//   - Within a level the scheduler's own order applies, which is by submission, not by entry into the level.
//
// Sizes come from tags: size:SECONDS (vcore-seconds), or input:BYTES and a regression on the finished jobs of the same user (of all users while there
// are few). Tags are user input. A job whose tag is missing, invalid, repeated or absurd has an unknown size: it counts as larger than any other, so
// it goes to the last level under sita, and behind all remembered departures under comp. A user can still understate a size; with outgrown=demote, sita
// demotes a job that has attained the limit of its level.
//
// A job is never moved up. One that somebody else has moved stays where it is: to another level, for good; to a queue that is not steered, until it
// comes back. A job found in a level when the policy starts stays there and is only demoted from there, so a restarted steerer continues from what it
// finds. Moves that were refused or do not show are retried with backoff, and a sample asks for at most steer.MovesPerSample.
//
// Source: "Reducing Job Slowdown Variability for Data-Intensive Workloads", MASCOTS 2015.
package levels
