// Package undo remembers what starts ended, for engines that reserve before they bind and take back what cannot be bound.
package undo

// kept is how many starts are remembered.
const kept = 8

// Log holds what the last starts ended, such as a wait. Starts are alike: whichever is undone, the last one's is returned.
type Log[T any] struct {
	ended [kept]T
	at, n uint8
}

// Keep remembers what a start ends. The oldest of many is forgotten.
func (l *Log[T]) Keep(ended T) {
	l.ended[l.at] = ended
	l.at, l.n = (l.at+1)%kept, min(l.n+1, kept)
}

// Take takes the last start out and returns what it ended; the zero value if that is forgotten.
func (l *Log[T]) Take() (ended T, ok bool) {
	if l.n == 0 {
		return ended, false
	}
	l.at, l.n = (l.at+kept-1)%kept, l.n-1
	return l.ended[l.at], true
}
