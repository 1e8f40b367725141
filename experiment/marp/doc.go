// Package marp plays the experiments of an AM's thesis on adaptive self-balancing of job throughput and parallelism in Hadoop
// MapReduce batches: closed batches of like jobs on one host that carries three nodes, under fixed shares for AMs
// and under controllers that move the share while the batch runs (package steer/marp, the same values that steer a live cluster).
//
// Batch is one such run; Predict plays the batch of another cluster and other jobs, so that a live study can print what the
// simulator expects of it.
package marp
