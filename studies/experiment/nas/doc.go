// Package nas is a study of the network-aware scheduler NAS as data for the experiment runner: chapter 3 of a dissertation on job schedulers for
// diverse workloads in data-parallel clusters, and the validation of its simulator in chapter 6.
//
// NAS-R are 40 nodes in 8 racks with samples of 200 jobs of Facebook's trace of 2010 (the source's cluster), NAS-S are 600 nodes in 30 racks with all
// of its 24,442 jobs (the source's simulation). SIM-V compares ratios of NAS-R with the source's. NAS-X are ours: readings of the algorithms
// that were not chosen, and NAS-P, which needs no trace and covers all settings for the page's fingerprint.
package nas
