// Package endure tests the steering command with fault injection on real daemons: `yardmaster yarn steer --act` runs as a separate
// process and is killed at random moments, loses its ResourceManager to restarts and failovers, gets wrong answers and refusals, and
// has to read ten thousand applications.
//
// Two invariants must hold under every fault: the configuration found at the start is restored at the end, including its exact text and
// whether it was set at all, and no application is lost. The package treats the command as a black box except for its journal, which it reads to
// count the kills that fell between the two entries of a change. For the kills under several knobs the command is built with one more policy in
// its registry (package turn), which is used only here.
package endure
