// Package drive runs a steering policy on a scheduler, so that it can be left alone: it looks when the policy wants to
// look, writes down every change before it makes it, checks that it was taken, keeps within bounds, and puts everything back when
// it leaves, is told to, has crashed, or has lost sight of the scheduler.
//
// What holds at every moment, also if the process ends there:
//
//   - A knob is not written before the journal on disk has the value that was found and the one that is written.
//   - What the journal says is open can be put back, any number of times (Recover). A knob is closed only when it has been read
//     back as it was found, and a write whose answer was never seen has had time to arrive.
//   - A value that is neither the one found nor one of ours is somebody else's. It stays, and is what is put back from then on.
//   - A write of unknown fate is read back, never repeated blindly.
//   - No snapshot, or none that the policy can use, for a while: everything goes back, and a fresh policy begins when the
//     scheduler has been seen well for some time.
//
// The driver is a step machine (Machine) without clock and I/O: package live steps it on a live scheduler, package sim in virtual time. What waits for its
// effect is looked at between the policy's looks. Policy and driver are the same values, live and in a rehearsal.
package drive
