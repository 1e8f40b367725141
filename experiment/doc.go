// Package experiment runs the experiments of published studies again and says, check by check, what holds.
//
// A Study is data: experiments, each of which knows how to play one seed and returns figures by name; and checks, each of which
// states what the source says, how strongly it has to hold, and how to judge it from the figures of all seeds. Run plays every
// pair of experiment and seed on all processors and judges the checks; its Findings depend on the seeds alone, never on the order in
// which the runs ended. Console, page and report show the same Findings, which can be kept as JSON.
//
// What a check's strength means:
//
//   - A: it follows from the algorithm, so it must hold. A miss fails the command.
//   - B: the source reports it as a trend. A miss is shown, with the reason where it is known.
//   - R: the source reports it, but it need not follow from what the source describes. It is recorded, "as reported" or "differs".
//
// Statistics. A figure is the mean over seeds with the 95 % interval of Student's t. Two experiments are compared seed by seed (the same
// seed gives the same workload), so what the seeds have in common cancels. A direction holds when the mean goes the stated way and the
// interval leaves out the other way; when only the mean does, the check does not hold and says "not significant". With a single seed
// there is no interval: the direction of that seed decides, and the judgement says so.
package experiment
