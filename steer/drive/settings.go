package drive

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/steer"
)

// Setting is one of several settings that are changed together, because a scheduler accepts them only together.
type Setting struct {
	Queue    string // its full path; "": the scheduler as a whole
	Property string // as the configuration spells it
	Text     string
	Set      bool // false: the configuration does not have it
}

// Name is the setting as it is typed: root.prod.capacity.
func (s Setting) Name() string { return strings.TrimPrefix(s.Queue+"."+s.Property, ".") }

// String is the setting's value, for messages.
func (s Setting) String() string {
	if !s.Set {
		return "unset"
	}
	return s.Text
}

// together begins the property of a knob of several settings: their names follow, separated by blanks.
const together = "settings "

// Together makes one knob of several settings, and its value.
func Together(list []Setting) (Knob, Value, error) {
	names, texts := make([]string, len(list)), make([]*string, len(list))
	for i, s := range list {
		if names[i] = s.Queue + ":" + s.Property; strings.Contains(names[i], " ") {
			return Knob{}, Value{}, fmt.Errorf("%q: a name with blanks cannot be changed together with others", s.Name())
		}
		if s.Set {
			texts[i] = &list[i].Text
		}
	}
	text, err := json.Marshal(texts)
	k, v := Knob{Kind: steer.SetQueue, Queue: "root", Property: together + strings.Join(names, " ")}, Value{Text: string(text), Set: true}
	if len(k.Property) > LongestText || len(v.Text) > LongestText {
		err = fmt.Errorf("%d settings are too many for one change: make it in several", len(list))
	}
	return k, v, err
}

// Unset are the settings of a knob made by Together, without values; nil: it is another knob.
func (k Knob) Unset() (list []Setting) {
	names, ok := strings.CutPrefix(k.Property, together)
	if !ok || k.Kind != steer.SetQueue {
		return nil
	}
	for name := range strings.SplitSeq(names, " ") {
		at := strings.LastIndexByte(name, ':')
		if at < 0 {
			return nil
		}
		list = append(list, Setting{Queue: name[:at], Property: name[at+1:]})
	}
	return list
}

// IsTogether reports whether a knob was made by Together.
func (k Knob) IsTogether() bool { return k.Unset() != nil }

// Settings are the settings of a knob made by Together, with the texts of a value.
func (k Knob) Settings(v Value) ([]Setting, error) {
	list := k.Unset()
	var texts []*string
	if err := json.Unmarshal([]byte(v.Text), &texts); err != nil || len(texts) != len(list) {
		return nil, fmt.Errorf("%.60q is not the value of %d settings", v.Text, len(list))
	}
	for i, t := range texts {
		if t != nil {
			list[i].Text, list[i].Set = *t, true
		}
	}
	return list, nil
}

// Differing is the first setting of a value that is not as in a list; false: there is none, or the value is not one of this knob's settings.
func (k Knob) Differing(v Value, list []Setting) (Setting, bool) {
	found, err := k.Settings(v)
	for i, s := range found {
		if s.Text = strings.TrimSpace(s.Text); err == nil && i < len(list) && s != list[i] {
			return s, true
		}
	}
	return Setting{}, false
}

// sameSettings reports whether two values of a knob made by Together are equal: a number may be written in several ways.
func sameSettings(k Knob, a, b Value) bool {
	x, err1 := k.Settings(a)
	y, err2 := k.Settings(b)
	return err1 == nil && err2 == nil && slices.EqualFunc(x, y, func(s, t Setting) bool {
		p, err1 := strconv.ParseFloat(s.Text, 64)
		q, err2 := strconv.ParseFloat(t.Text, 64)
		return s == t || s.Set && t.Set && err1 == nil && err2 == nil && near(p, q)
	})
}

// NewSet makes a machine that makes one change and does not restore it: read, journal, write, and wait until it is in force. The change is refused if the knob is
// not found as expected. It stays open in the journal, for a recovery to restore.
func NewSet(scheme Scheme, j *Journal, k Knob, expected, v Value, why string) *Machine {
	return machine(func(p *port) error { return newSetter(p, scheme, j, k).set(expected, v, why) })
}

// newSetter makes a driver without a policy, for one change of one knob.
func newSetter(p *port, scheme Scheme, j *Journal, k Knob) *driver {
	j.rebase(p.now())
	n := &knob{k: k, since: p.now()}
	r := Rules{Scheme: scheme, Journal: j, Act: true}.withDefaults()
	return &driver{port: p, Rules: r, start: p.now(), mode: "act", knobs: map[Knob]*knob{k: n}, order: []*knob{n}, missing: map[Knob]absence{}}
}

func (d *driver) set(expected, v Value, why string) error {
	n := d.order[0]
	present, err := d.read(n.k)
	switch {
	case err != nil:
		return fmt.Errorf("what is configured cannot be read: %w", err)
	case present.Mark != "":
		return MarkedError(present.Mark)
	case !Same(n.k, present, expected):
		return fmt.Errorf("somebody else has changed it meanwhile: %v is configured, it was %v", present, expected)
	}
	v.Mark = d.Journal.Mark
	d.put(n, steer.Action{Kind: n.k.Kind, Queue: n.k.Queue, Property: n.k.Property, Why: why}, present, present, v, "")
	for n.check != nil && !d.isLost() {
		d.verify(d.now())
		if n.check != nil && d.ask(Request{Op: Wait, Until: n.check.next}).Stop {
			return errors.New("told to stop before it was in force")
		}
	}
	if d.isLost() {
		return ErrLost
	}
	return n.failed
}

// release leaves a changed knob as it is: it removes the mark, and closes the knob in the journal. Until then a recovery restores it.
func (r *recovery) release(k Knob, why string) error {
	h := r.journal.open.Find(r.id, k)
	if h == nil {
		return fmt.Errorf("%v is not open in the journal %s", k, r.journal.Name)
	}
	var err error
	for try := range confirms {
		if try > 0 && r.wait(r.now().Add(backOff(try))) != nil {
			break
		}
		var present Value
		if present, err = r.read(k); err != nil {
			continue
		}
		if !h.Wrote(present) || h.MarkedByOther(present) {
			return fmt.Errorf("%v is configured: somebody else has changed it", present)
		}
		v := *h.New
		v.Mark = ""
		if err = r.put(h, v); err == nil {
			return r.close(Released, h, v, why)
		}
	}
	return err
}
