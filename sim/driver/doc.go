// Package driver decides what the driver of a job does that runs its tasks inside containers it keeps, as Spark's driver does with its executors:
// when it submits a stage, which task goes to which container, how many containers it wants, and which it releases. It is a step machine without a
// clock: an engine notifies it of what happened and acts on its answers, so that both engines play the same driver.
//
// A driver begins when the job's AM is up, and is ready when enough of its first containers are (Keep.Ready). A stage is submitted Delay after the
// last stage that it needs has ended. Its tasks go to free slots: earlier stages first, or the pool that runs the fewest tasks (Keep.Fair); to the
// container with the most free slots, as Spark's offers spread them, or to the one that caches the task's input, for up to LocalityWait.
//
// With dynamic allocation (Keep.Dynamic) the driver wants as many containers as its running and waiting tasks could fill, but while tasks wait it
// raises the number in steps of 1, 2, 4, ...: the first step after Backlog, the others after Sustained each. It releases containers that were idle too
// long, which is longer with cached data or output, except those whose output a stage still needs.
//
// If containers are requested in batches (Keep.Batch), it asks for no more of what it wants than the next batch has.
//
// The loss of a container costs the tasks in it and, unless Keep.External, what they had passed on to a stage that has not ended: those tasks run
// again before any other task of that stage. Cached input that is lost is read from anywhere, and its tasks take no longer for it.
package driver
