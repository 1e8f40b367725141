// Package yardstick holds the flow network (sim/flow) against two others that the field trusts.
//
// SimGrid is the validated fluid network: with the settings in Settings it is plain max-min sharing, so that a list of flows
// must end at the same instants in both. The same lists give the speed of both, in the same run. ns-3 has packets, queues and
// TCP: a shuffle in both tells what a fluid network leaves out.
//
// A List is read by all sides from the same file. The programs for SimGrid and ns-3 are C++, embedded here and compiled into the
// lab's folder; what they answered is kept under docs/studies, so that the study's page can be computed again and checked by the
// ordinary tests without either.
package yardstick
