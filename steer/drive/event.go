package drive

import (
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/steer"
)

// EventKind is the type of an event.
type EventKind uint8

// Kinds of events.
const (
	Started       EventKind = iota
	Decided                 // the policy took a sample; one event per sample, with or without actions
	Asked                   // a change was journaled and then written
	Queued                  // a change waits: the knob was written too recently
	Kept                    // nothing to write: the value is already set
	Taken                   // the scheduler uses the new value; Latency since it was written
	Refused                 // not written, or the write failed: nothing was changed
	Unverified              // written, but not in force within Rules.Verify
	Blind                   // no snapshot
	Foreign                 // somebody else has changed the knob: their value stays
	Restored                // the knob has its original value
	RestoreFailed           // the restore failed; the journal stays open
	Released                // a change is no longer to be restored
	DeadMan                 // no usable snapshot for too long: everything is restored
	Back                    // snapshots are good again: a fresh policy starts
	Stopped
)

var kindNames = [...]string{"started", "decided", "asked", "queued", "kept", "taken", "refused", "unverified", "blind", "foreign",
	"restored", "restore-failed", "released", "dead-man", "back", "stopped"}

func (k EventKind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("event-%d", uint8(k))
}

// EventKinds lists all kinds, for counters.
func EventKinds() []EventKind {
	out := make([]EventKind, len(kindNames))
	for i := range out {
		out[i] = EventKind(i)
	}
	return out
}

// Event is something that happened, for a log, a page or a counter.
type Event struct {
	At   time.Time
	Kind EventKind
	// Attrs are all details, for a structured log line. "why" comes last and gives the reason in words.
	Attrs    []slog.Attr
	Snapshot *steer.Snapshot // Decided: the sample; read-only
	Knob     Knob            // Asked to Unverified, Foreign, Restored, RestoreFailed
	Action   steer.Action    // Queued, Kept, Refused: the policy's request
	Since    time.Time       // Queued, Kept, Refused: time of the request
	Old, New float64         // of the knob; Old is the configured value
	Latency  time.Duration   // Taken: from write to effect. Decided: duration of the snapshot call. Blind: time without a snapshot
	Err      error
	Open     int    // open knobs
	Mode     string // "observe", "act", "wait" (for good snapshots) or "restore"
}

// Level is the event's log level: Info is normal operation, Warn needs attention, Error needs a person.
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

// String formats the event as one line of key=value pairs.
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
