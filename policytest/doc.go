// Package policytest tests policies, those of this repository and of others. [Rules] checks what every policy must keep, with one call; [Golden] plays scripts:
// a cluster without nodes or time, in which jobs start and end tasks on command.
//
//	policy                         first: make the policy from the input below it
//	cluster mem=10240 cores=10     set the size of the cluster
//	job NAME user=u queue=q pri=1 tasks=5 mem=1024 cores=1 am=1024
//	                               a job arrives; with am=MB its AM must start first
//	start 3                        offer three containers; print who got them ("-": nobody)
//	rank                           print the jobs in the order in which they are proposed
//	why NAME                       print what holds a job back
//	end NAME 2                     two tasks of the job end; "am" instead of a number ends its AM
//	leave NAME                     the job is gone, after all it holds has ended
//	move NAME QUEUE; priority NAME to=3; set QUEUE PROPERTY VALUE
package policytest
