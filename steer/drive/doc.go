// Package drive runs a steering policy on a live scheduler, so that it can be left alone: it looks when the policy wants to
// look, writes down every change before it makes it, checks that it was taken, keeps within bounds, and puts everything back when
// it leaves, is told to, has crashed, or has lost sight of the scheduler.
package drive
