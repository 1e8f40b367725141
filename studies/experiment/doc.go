// Package experiment reruns the experiments of published studies and reports, check by check, what holds.
//
// A Study is data: experiments, each of which runs one seed and returns named figures; and checks, each of which states what the source
// says, how strongly it has to hold, and how to judge it from the figures of all seeds. Run executes every pair of experiment and seed
// on all processors and judges the checks; its Findings depend on the seeds alone, never on the order in which runs complete. Console,
// page and report show the same Findings, which can be stored as JSON.
//
// What a check's strength means:
//
//   - A: it follows from the algorithm, so it must hold. A miss fails the command.
//   - B: the source reports it as a trend. A miss is shown, with the reason where it is known.
//   - R: the source reports it, but it need not follow from what the source describes. It is recorded, "as reported" or "differs".
//
// Statistics. A figure is the mean over seeds with the 95 % interval of Student's t. Two experiments are compared seed by seed (the same
// seed gives the same workload), so effects common to a seed cancel. A direction holds when the mean has the stated sign and the interval
// excludes the opposite one; if only the mean does, the check does not hold and says "not significant". With a single seed there is no
// interval: the sign of that seed decides, and the judgement says so.
package experiment
