// Package drive runs a steering policy on a scheduler unattended: it samples when the policy asks, journals every change before making it,
// verifies it, enforces bounds, and restores everything when it exits, is stopped, has crashed, or has lost sight of the scheduler.
//
// Invariants, also if the process dies at any point:
//
//   - A knob is not written before the journal on disk has both its original and its new value.
//   - Whatever the journal has open can be restored, any number of times (Recover). A knob is closed only when it has been read back with its
//     original value, and a write whose response was never seen has had time to arrive.
//   - A value that is neither the original nor one of ours was set by somebody else. It stays, and becomes the value to restore.
//   - A write with an unknown outcome is read back, never retried blindly.
//   - Without a snapshot, or one that the policy can use, for Rules.Silence, everything is restored; a fresh policy starts when snapshots have
//     been good for Rules.Settle.
//
// The driver is a step machine (Machine) without clock or I/O: package live steps it on a live scheduler, package sim in virtual time. Writes that are not
// in force yet are checked between the policy's samples. Policy and driver are the same code, live and in a rehearsal.
package drive
