// Package endure shows what a steerer must survive, on real daemons: the command `yardmaster yarn steer --act` runs as a process of
// its own, and is killed at random moments, loses its ResourceManager to restarts and failovers, is lied to, is refused, and is given
// ten thousand applications to look at.
//
// Two things must hold whatever happens: the configuration that was found at the start is in place at the end, as text and as set or unset,
// and no application is lost. Nothing here knows how the command works inside but for its journal, which is read to tell how many
// blows have fallen between a change's two entries. For the kills under several knobs the command is built with one more policy in its registry
// (package turn), as nobody would want that one otherwise.
package endure
