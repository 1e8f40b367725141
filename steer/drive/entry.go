package drive

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/yardmaster/yardmaster/steer"
)

// What is the kind of a journal entry.
type What string

// Kinds of entries.
const (
	Before What = "before" // a change is about to be written; the knob is open from here on
	After  What = "after"  // the write has returned
	Closed What = "closed" // the knob has its original value, or is somebody else's now
	Held   What = "held"   // all that is known of an open knob
)

// Entry is one line of the journal.
type Entry struct {
	Seq      int64     `json:"seq"`
	At       time.Time `json:"at"`
	What     What      `json:"what"`
	Engine   string    `json:"engine"` // its identity
	Knob     Knob      `json:"knob"`
	Original *Value    `json:"original,omitempty"` // value before the first change, to be restored
	Old      *Value    `json:"old,omitempty"`      // Before: configured at that time
	New      *Value    `json:"new,omitempty"`      // Before, After: value written. Held: last value written
	Ours     []Value   `json:"ours,omitempty"`     // Held: all values written since the knob was opened
	Why      string    `json:"why,omitempty"`
	Err      string    `json:"error,omitempty"`  // After: the engine's error
	Doubt    bool      `json:"doubt,omitempty"`  // After: the write may have been made, or may be later
	Doubted  time.Time `json:"doubted,omitzero"` // Held: time of the last write with unknown outcome

	earlier time.Time // Doubted before the write in progress
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const (
	sumHead = `,"crc":"`
	sumTail = `"}`
	sumLen  = len(sumHead) + 8 + len(sumTail)
)

// Line encodes the entry for the file: an object whose last field is the checksum of the object without it.
func (e *Entry) Line() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		return nil, err
	}
	return Seal(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

// Seal makes a line of an object: its checksum becomes its last field.
func Seal(object []byte) []byte {
	sum := crc32.Checksum(object, castagnoli)
	return fmt.Appendf(object[:len(object)-1:len(object)-1], "%s%08x%s\n", sumHead, sum, sumTail)
}

// ErrUnsealed says that a line has no checksum at its end.
var ErrUnsealed = errors.New("it is cut short")

// Unseal returns the object of a line without its newline.
func Unseal(line []byte) ([]byte, error) {
	cut := len(line) - sumLen
	if cut < 1 || !bytes.HasPrefix(line[cut:], []byte(sumHead)) || !bytes.HasSuffix(line, []byte(sumTail)) {
		return nil, ErrUnsealed
	}
	object := append(line[:cut:cut], '}')
	if string(line[cut+len(sumHead):len(line)-len(sumTail)]) != fmt.Sprintf("%08x", crc32.Checksum(object, castagnoli)) {
		return nil, errors.New("its checksum is wrong")
	}
	return object, nil
}

// ParseEntry parses a line without its newline.
func ParseEntry(line []byte) (e Entry, err error) {
	object, err := Unseal(line)
	if err != nil {
		return e, err
	}
	if err := json.Unmarshal(object, &e); err != nil {
		return e, err
	}
	return e, e.check()
}

// IsTorn reports whether a last line without a newline is what a crash leaves of an append: the beginning of an entry, without its complete
// checksum, followed by zeros at most, where the file had grown before its content arrived.
func IsTorn(line []byte) bool {
	const begin = `{"seq":`
	line = bytes.TrimRight(line, "\x00")
	n := min(len(line), len(begin))
	sum := bytes.LastIndex(line, []byte(sumHead))
	return string(line[:n]) == begin[:n] && (sum < 0 || len(line)-sum < sumLen)
}

// check rejects entries that no driver wrote: they must not reach a scheduler.
func (e *Entry) check() error {
	k := e.Knob
	switch {
	case !slices.Contains([]What{Before, After, Closed, Held}, e.What):
		return fmt.Errorf("there is no entry of kind %q", e.What)
	case (e.What == Before || e.What == Held) && (e.Original == nil || e.New == nil):
		return errors.New("it does not say what was found and what was written")
	case k.Kind == steer.SetQueue && (k.Queue == "" || k.Property == "" || k.Job != ""), k.Kind != steer.SetQueue && (k.Job == "" || k.Queue != "" || k.Property != ""):
		return errors.New("it does not say what was changed")
	}
	texts := []string{e.Engine, k.Queue, k.Property, k.Job}
	for _, v := range append(slices.Clone(e.Ours), deref(e.Original), deref(e.Old), deref(e.New)) {
		texts = append(texts, v.Text, v.Mark)
	}
	longest := LongestText
	if e.Stands() {
		longest = longestLayout
	}
	for _, s := range texts {
		if len(s) > longest || !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
			return fmt.Errorf("%.60q is no name and no value", s)
		}
	}
	return nil
}

// LongestText exceeds the length of any name or value that a scheduler accepts.
const LongestText = 4096

const longestLayout = 1 << 16

// Layout is the property of a queue with others made beside it. Such a change is to stand: it is open until its operator takes it back, and nothing that a
// driver left behind.
const Layout = "layout"

// Stands reports whether an open change is meant to stand.
func (e *Entry) Stands() bool { return e.Knob.Property == Layout }

func deref[T any](v *T) (x T) {
	if v != nil {
		x = *v
	}
	return x
}

// Ledger is the state that a journal adds up to: the open knobs, in the order in which they were opened.
type Ledger []*Entry

// Find returns the entry of an open knob; nil: it is not open.
func (l Ledger) Find(engine string, k Knob) *Entry {
	for _, h := range l {
		if h.Engine == engine && h.Knob == k {
			return h
		}
	}
	return nil
}

// Add applies an entry.
func (l *Ledger) Add(e *Entry) {
	h := l.Find(e.Engine, e.Knob)
	switch e.What {
	case Held:
		if h == nil {
			held := *e
			*l = append(*l, &held)
		}
	case Before:
		if h == nil {
			h = &Entry{What: Held, Engine: e.Engine, Knob: e.Knob}
			*l = append(*l, h)
		}
		if e.Old != nil && !h.doubtful(e.At) { // of the earlier writes, only the value before this one can still be in force
			h.Ours = slices.DeleteFunc(h.Ours, func(o Value) bool { return !Same(e.Knob, o, *e.Old) })
		}
		h.Original, h.New = e.Original, e.New
		h.Seq, h.At, h.Why = e.Seq, e.At, e.Why
		h.earlier, h.Doubted = h.Doubted, e.At
		if !slices.Contains(h.Ours, *e.New) { // with its mark
			h.Ours = append(h.Ours, *e.New)
		}
	case After:
		if h != nil {
			h.Seq, h.At, h.Doubted = e.Seq, e.At, h.earlier
			if e.Doubt {
				h.Doubted = e.At
			}
		}
	case Closed:
		*l = slices.DeleteFunc(*l, func(o *Entry) bool { return o == h })
	}
}

// Wrote reports whether a value was written to an open knob.
func (e *Entry) Wrote(v Value) bool {
	return slices.ContainsFunc(e.Ours, func(o Value) bool { return Same(e.Knob, o, v) })
}

// marked reports whether a mark was written to an open knob: a driver may have moved to a machine of another name since.
func (e *Entry) marked(mark string) bool {
	return mark != "" && slices.ContainsFunc(e.Ours, func(o Value) bool { return o.Mark == mark })
}

// MarkedByOther reports whether a value belongs to another driver, even if the same value was written here too.
func (e *Entry) MarkedByOther(v Value) bool { return v.Mark != "" && !e.marked(v.Mark) }

// Entries lists the open knobs.
func (l Ledger) Entries() []Entry {
	out := make([]Entry, len(l))
	for i, h := range l {
		out[i] = *h
		out[i].Ours = slices.Clone(h.Ours)
	}
	return out
}
