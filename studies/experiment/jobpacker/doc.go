// Package jobpacker is a study of JobPacker as data for the experiment runner: chapter 4 of a dissertation on job schedulers for diverse workloads.
// JobPacker plans in which racks recurring jobs run, so that their shuffles are worth optical circuits (packages policy/plan and policy/planned). It is
// compared with Fair on the same network (F-Hybrid), with Corral, and with Fair on a packet network as fast as the circuits (F-EPS).
//
// JP-S1 to JP-S4 are the source's simulations, JP-E1 to JP-E3 its emulation on GENI, JP-T1 to JP-T6 its sweeps. JP-W has the statistics of the
// samples and bounds on what any scheduler can gain; JP-N1 to JP-N3 change settings that the source states or leaves open. JP-0 needs no trace.
package jobpacker
