// Package hybrid is a study of clusters of scale-up and scale-out machines as data for the experiment runner: the chapter on hybrid clusters of a
// dissertation on job schedulers for diverse workloads. Small jobs run on a few fast machines, large ones on many plain machines, and the whole
// is compared with a cluster of plain machines at the same price.
//
// HY-M1 are the machines themselves, HY-C1 and HY-C2 the classifier, HY-R1 to HY-R5 the source's real cluster (50 machines, 1000 jobs), HY-S1 to HY-S5
// its simulated one (600 machines, a day), HY-A1 and HY-A2 leave out one part at a time, HY-T1 and HY-T2 predict shuffles wrongly. HY-P is ours: a few
// generated jobs, which do not need the Facebook traces.
package hybrid
