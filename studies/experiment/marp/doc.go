// Package marp reruns the experiments of a master's thesis on adaptive self-balancing of job throughput and parallelism in Hadoop
// MapReduce batches: closed batches of identical jobs on one host with three nodes, under fixed AM shares
// and under controllers that move the share while the batch runs (package steer/marp, the same values that steer a live cluster).
//
// Batch is one such run; Predict runs the batch of another cluster and other jobs, so that a live study can print the
// simulator's prediction.
package marp
