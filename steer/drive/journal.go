package drive

import (
	"fmt"
	"slices"
	"time"

	"github.com/yardmaster/yardmaster/steer"
)

// Journal holds what has been changed and not restored. Store decides where its lines are kept: package live has one on disk.
type Journal struct {
	Name string // where it is kept, for messages
	Mark string // written beside a value to identify its driver
	// Store persists a line before it returns; nil: the journal does not outlive the process.
	Store func(line []byte) error

	seq     int64
	open    Ledger
	recent  []time.Time // changes written in the last hour, moves of jobs excepted
	rebased bool        // the times that were read are on the driver's clock
}

// MemoryJournal is a journal that does not outlive the process, for rehearsals.
func MemoryJournal(name string) *Journal { return &Journal{Name: name, Mark: name, rebased: true} }

// Open lists the open knobs, with all that is known of each.
func (j *Journal) Open() []Entry { return j.open.Entries() }

// Load applies an entry from an earlier process.
func (j *Journal) Load(e *Entry) {
	j.open.Add(e)
	j.seq = max(j.seq, e.Seq)
	if e.What == Before && e.Knob.Kind != steer.MoveJob {
		hour := e.At.Add(-time.Hour)
		j.recent = append(slices.DeleteFunc(j.recent, func(t time.Time) bool { return !t.After(hour) }), e.At)
	}
}

// rebase converts stored times to the driver's clock, which may have been set since: a time in the file can be later than now, or longer ago
// than it seems. Within a process the clock is monotonic.
func (j *Journal) rebase(now time.Time) {
	if j.rebased {
		return
	}
	j.rebased = true
	for _, h := range j.open {
		if !h.Doubted.IsZero() {
			h.Doubted = now // at the latest
		}
	}
	for i, t := range j.recent {
		j.recent[i] = earliest(t, now)
	}
}

// Append stores one entry.
func (j *Journal) Append(e Entry) error {
	e.Seq = j.seq + 1
	line, err := e.Line()
	if err == nil {
		err = e.check() // reject what could not be read back
	}
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	if j.Store != nil {
		if err := j.Store(line); err != nil {
			return err
		}
	}
	j.Load(&e)
	return nil
}
