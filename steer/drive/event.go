package drive

import (
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/steer"
)

// EventKind says what happened.
type EventKind uint8

// Things that happen to a driver.
const (
	Started       EventKind = iota
	Decided                 // the policy looked: one a look, whether it does something or not
	Asked                   // a change was written down and then written
	Queued                  // a change waits: the knob was written a moment ago
	Kept                    // nothing to write: the value is there already
	Taken                   // the scheduler goes by the new value; Latency since it was written
	Refused                 // not written, or the write failed: nothing was changed
	Unverified              // written, but not in force after the time it may take
	Blind                   // there is no snapshot
	Foreign                 // somebody else has changed the knob: that stays
	Restored                // the knob is as it was found
	RestoreFailed           // it could not be put back; the journal stays open
	DeadMan                 // out of sight for too long: everything is put back
	Back                    // in sight again: a fresh policy begins
	Stopped
)

var kindNames = [...]string{"started", "decided", "asked", "queued", "kept", "taken", "refused", "unverified", "blind", "foreign",
	"restored", "restore-failed", "dead-man", "back", "stopped"}

func (k EventKind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("event-%d", uint8(k))
}

// EventKinds lists all kinds, for those who count them.
func EventKinds() []EventKind {
	out := make([]EventKind, len(kindNames))
	for i := range out {
		out[i] = EventKind(i)
	}
	return out
}

// Event is one thing that happened, for a log, a page or a counter.
type Event struct {
	At   time.Time
	Kind EventKind
	// Attrs are all there is to say, for a structured line. "why" is last and tells the reason in words.
	Attrs    []slog.Attr
	Snapshot *steer.Snapshot // Decided: what was seen; not to be changed
	Knob     Knob            // Asked to Unverified, Foreign, Restored, RestoreFailed
	Action   steer.Action    // Queued, Kept, Refused: what the policy asked for
	Since    time.Time       // the same: when
	Old, New float64         // of the knob; Old is what was configured
	Latency  time.Duration   // Taken: between write and effect. Decided: how long the snapshot took. Blind: how long without one
	Err      error
	Open     int    // knobs that are not as they were found
	Mode     string // "observe", "act", "wait" (for sight of the scheduler to come back) or "restore"
}

// Level is how much an event matters: Info is the ordinary course of things, Warn needs an eye, Error a hand.
func (e Event) Level() slog.Level {
	switch e.Kind {
	case Refused, Unverified, Blind, Foreign, DeadMan:
		return slog.LevelWarn
	case RestoreFailed:
		return slog.LevelError
	case Stopped:
		if e.Err != nil {
			return slog.LevelError
		}
	}
	return slog.LevelInfo
}

// String is the event as one line of key=value pairs.
func (e Event) String() string {
	var b strings.Builder
	b.WriteString(e.Kind.String())
	for _, a := range e.Attrs {
		b.WriteByte(' ')
		b.WriteString(a.Key)
		b.WriteByte('=')
		text := a.Value.String()
		if text == "" || strings.ContainsAny(text, " \t\r\n\"=") {
			text = fmt.Sprintf("%q", text)
		}
		b.WriteString(text)
	}
	return b.String()
}
