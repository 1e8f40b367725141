// Package slowdown is a study of size-based scheduling as data for the experiment runner: "Reducing Job Slowdown Variability for
// Data-Intensive Workloads", MASCOTS 2015. It compares FIFO with four policies, FBQ, TAGS, SITA and COMP, by how much longer a job takes than
// on the empty cluster (its slowdown), and by how unequal slowdowns are: V(q) is their q-quantile over their median.
//
// The jobs of the source are not public. W-1121 (workload.go) draws jobs with the same statistics; its parameters were fitted to these, and to
// three results: FIFO's median and V(95), and FBQ's V(95), at a load of 0.7. Checks on what was fitted are marked as met by construction.
//
// SV-0a to SV-0c are the source's validation on ten nodes, SV-W are the statistics of W-1121, SV-1 to SV-6 the source's figures, SV-X1 to
// SV-X4 extra checks. A run of W-1121 is made once for each seed, load and scheduler, whichever experiments need it (see runs).
package slowdown
