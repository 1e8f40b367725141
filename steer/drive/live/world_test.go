package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/steer"
	. "github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/unit"
)

var (
	share = Knob{Kind: steer.SetQueue, Queue: "root.default", Property: "maxAMShare"}
	found = Value{Text: "0.050", Set: true, Number: 0.05}
)

// world is a scheduler in virtual time that does what a test tells it to. It counts every call that reaches outside, and can end
// the driver at any of them, as kill -9 would.
type world struct {
	t      tb
	now    time.Time
	id     string
	dir    string
	conf   map[Knob]Value // configured
	old    map[Knob]Value // in force before the last change
	since  map[Knob]time.Time
	delay  time.Duration // between configured and in force
	space  time.Duration
	events []event // to come, by time
	log    []string
	told   []Event

	steps, killAt int
	killed        bool
	tear          int           // bytes of a line that reach the disk when a write to it is cut short
	flight        time.Duration // a write to the scheduler during which the driver is ended arrives so much later; 0: never
	flying        int           // writes that are still to arrive
	j             *DiskJournal

	snapErr, readErr, writeErr, forceErr func() error
	judge                                func(since time.Duration) (string, error)    // nil: no bound is broken
	fate                                 func() (made, told bool, late time.Duration) // nil: made and told
	snap                                 func(*steer.Snapshot)
	writes                               []Value
	synced                               int64 // bytes of the journal that are on disk for certain
}

type event struct {
	at time.Time
	do func()
}

type kill struct{}

// tb is what testing.T and rapid.T have in common.
type tb interface {
	Helper()
	Error(...any)
	Errorf(string, ...any)
	Fatal(...any)
	Fatalf(string, ...any)
}

func newWorld(t *testing.T) *world { return newWorldIn(t, t.TempDir()) }

func newWorldIn(t tb, dir string) *world {
	w := &world{t: t, now: time.Date(2026, 11, 15, 2, 0, 0, 0, time.UTC), id: "cluster-a", dir: dir}
	w.conf = map[Knob]Value{share: found}
	w.old, w.since = map[Knob]Value{}, map[Knob]time.Time{}
	return w
}

func (w *world) Now() time.Time { return w.now }

// Wait lets time pass, and what is to happen meanwhile happen.
func (w *world) Wait(ctx context.Context, d time.Duration) error {
	end := w.now.Add(max(d, 0))
	for len(w.events) > 0 && !w.events[0].at.After(end) {
		e := w.events[0]
		w.events = w.events[1:]
		w.now = later(w.now, e.at)
		e.do()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	w.now = end
	return ctx.Err()
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// at arranges for something to happen.
func (w *world) at(d time.Duration, do func()) {
	w.events = append(w.events, event{w.now.Add(d), do})
	slices.SortStableFunc(w.events, func(a, b event) int { return a.at.Compare(b.at) })
}

// step is a point at which the driver may end.
func (w *world) step() {
	if w.killed {
		panic(kill{}) // the dead do nothing
	}
	if w.steps++; w.steps == w.killAt {
		w.killed = true
		panic(kill{})
	}
}

func (w *world) set(k Knob, v Value) {
	if w.conf[k] == v {
		return // nothing new to take over
	}
	w.old[k], w.since[k] = w.conf[k], w.now
	w.conf[k] = v
}

func (w *world) Identity() string           { return w.id }
func (w *world) Spacing(Knob) time.Duration { return w.space }
func (w *world) Value(_ Knob, x float64) Value {
	return Value{Text: fmt.Sprintf("%.3f", x), Set: true, Number: x}
}
func call(f func() error) error {
	if f == nil {
		return nil
	}
	return f()
}

func (w *world) Snapshot(context.Context) (steer.Snapshot, error) {
	w.step()
	if err := call(w.snapErr); err != nil {
		return steer.Snapshot{}, err
	}
	s := steer.Snapshot{Now: unit.Time(w.now.UnixMicro()), Nodes: 3, CPUIdle: 0.5, Total: unit.Resources{Mem: 52224, Cores: 51}}
	s.Queues = []steer.Queue{{Name: "root.default", AMShare: w.conf[share].Number}}
	if w.snap != nil {
		w.snap(&s)
	}
	return s, nil
}

func (w *world) Read(_ context.Context, k Knob) (Value, error) {
	w.step()
	if err := call(w.readErr); err != nil {
		return Value{}, err
	}
	v, ok := w.conf[k]
	if !ok {
		return v, fmt.Errorf("%v: %w", k, ErrGone)
	}
	return v, nil
}

func (w *world) Write(_ context.Context, k Knob, v Value) error {
	w.mustBeWrittenDown(k, v)
	if w.steps+1 == w.killAt && w.flight > 0 {
		w.arrives(w.flight, k, v)
	}
	w.step()
	if err := call(w.writeErr); err != nil {
		return err
	}
	made, told, late := true, true, time.Duration(0)
	if w.fate != nil {
		made, told, late = w.fate()
	}
	switch {
	case made && late > 0:
		w.arrives(late, k, v)
	case made:
		w.writes = append(w.writes, v)
		w.set(k, v)
	}
	w.step()
	if !told || late > 0 {
		return fmt.Errorf("timeout: %w", ErrOutcomeUnknown)
	}
	return nil
}

// arrives makes a change later.
func (w *world) arrives(late time.Duration, k Knob, v Value) {
	w.flying++
	w.at(late, func() {
		w.flying--
		w.writes = append(w.writes, v)
		w.set(k, v)
	})
}

func (w *world) InForce(_ context.Context, k Knob, v Value) (bool, error) {
	w.step()
	if err := call(w.forceErr); err != nil {
		return false, err
	}
	in := w.conf[k]
	if since, ok := w.since[k]; ok && w.now.Before(since.Add(w.delay)) {
		in = w.old[k]
	}
	return Same(k, in, v), nil
}

func (w *world) measure(_ context.Context, since time.Duration) (string, error) {
	w.step()
	if w.judge == nil {
		return "", nil
	}
	return w.judge(since)
}

// mustBeWrittenDown checks that what is on disk for certain would put this write back.
func (w *world) mustBeWrittenDown(k Knob, v Value) {
	data, err := os.ReadFile(filepath.Join(w.dir, journalFile))
	if err != nil {
		w.t.Fatal(err)
	}
	var l Ledger
	p := parsePages("", data[:min(w.synced, int64(len(data)))])
	for i := range p.entries {
		l.Add(&p.entries[i])
	}
	h := l.Find(w.id, k)
	if h != nil && v.Mark == "" && Same(k, w.conf[k], v) {
		return // the mark goes from a value that is there
	}
	if h == nil || !h.Wrote(v) && !Same(k, *h.Original, v) {
		w.t.Fatalf("%v is written to %v, but the journal on disk does not know: %+v", v, k, h)
	}
}

// watched is a journal's file whose driver may end at any moment.
type watched struct {
	*os.File
	w *world
}

func (f watched) size() int64 {
	info, err := f.Stat()
	if err != nil {
		f.w.t.Fatal(err)
	}
	return info.Size()
}

func (f watched) Write(b []byte) (int, error) {
	f.w.step()
	if f.w.steps+1 == f.w.killAt {
		f.File.Write(b[:min(f.w.tear, len(b))])
	}
	f.w.step()
	return f.File.Write(b)
}

func (f watched) Sync() error {
	f.w.step()
	f.w.synced = f.size()
	f.w.step()
	return nil
}

func (f watched) Truncate(n int64) error {
	f.w.step()
	f.w.synced = min(f.w.synced, n)
	return f.File.Truncate(n)
}

func (w *world) journal() *DiskJournal {
	w.t.Helper()
	if err := os.MkdirAll(w.dir, 0o755); err != nil {
		w.t.Fatal(err)
	}
	lock, err := takeLock(w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	w.j = newJournal(w.dir, nil)
	w.j.lock = lock
	w.j.wrap = func(d disk) disk {
		f := watched{d.(*os.File), w}
		w.synced = f.size()
		return f
	}
	if err := w.j.load(); err != nil {
		w.t.Fatal(err)
	}
	return w.j
}

// survive does something that may be killed, and leaves of it what the system leaves. With lose, what was not seen to the disk is gone too.
func (w *world) survive(killAt int, lose bool, do func()) (killed bool) {
	w.steps, w.killAt = 0, killAt
	defer func() {
		w.killAt, w.killed = 0, false
		if w.j != nil {
			w.j.lock.Close()
			if w.j.file != nil {
				w.j.file.Close()
			}
			w.j = nil
		}
		if p := recover(); p != nil {
			if p != (kill{}) {
				panic(p)
			}
			killed = true
			if lose {
				if err := os.Truncate(filepath.Join(w.dir, journalFile), w.synced); err != nil {
					w.t.Fatal(err)
				}
			}
		}
	}()
	do()
	return false
}

func (w *world) recover() {
	if _, err := (Recovery{Engine: w, Journal: w.journal().Journal, Observe: w.observe, Clock: w}).Run(context.Background()); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) observe(e Event) {
	w.told = append(w.told, e)
	w.log = append(w.log, fmt.Sprintf("%s %s", e.At.Format("15:04:05"), e))
	if n := strings.Count(w.log[len(w.log)-1], "\n"); n > 0 {
		w.t.Errorf("an event of several lines: %s", e)
	}
}

// kinds lists the events that are not decisions.
func (w *world) kinds() string {
	var out []string
	for _, e := range w.told {
		if e.Kind != Decided {
			out = append(out, e.Kind.String())
		}
	}
	return strings.Join(out, " ")
}

func (w *world) event(k EventKind) *Event {
	for i := range w.told {
		if w.told[i].Kind == k {
			return &w.told[i]
		}
	}
	w.t.Helper()
	w.t.Fatalf("no event %v in\n%s", k, strings.Join(w.log, "\n"))
	return nil
}

// drive runs a policy until the context ends, with a journal of its own.
func (w *world) drive(ctx context.Context, p steer.Steerer, change func(*Options)) error {
	w.t.Helper()
	j := w.journal()
	defer j.Close()
	o := Options{Engine: w, Rules: Rules{New: func() (steer.Steerer, error) { return p, nil }, Act: true, Journal: j.Journal}, Observe: w.observe, Clock: w}
	if change != nil {
		change(&o)
	}
	return Run(ctx, o)
}

// until ends the context after a while.
func (w *world) until(d time.Duration) context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	w.at(d, cancel)
	return ctx
}

func (w *world) mustBe(v Value) {
	w.t.Helper()
	if w.conf[share] != v {
		w.t.Errorf("%v is configured, not %v\n%s", w.conf[share], v, strings.Join(w.log, "\n"))
	}
	if _, open, err := ReadJournal(w.dir); err != nil || len(open) > 0 {
		w.t.Errorf("journal: %v open, %v", open, err)
	}
}

// script is a policy that asks for one value a look, one look every few seconds. Zero: nothing; negative: the end.
type script struct {
	each   unit.Time
	values []float64
	at     int
	refuse bool
}

func (s *script) Step(*steer.Snapshot) ([]steer.Action, unit.Time) {
	if s.at >= len(s.values) {
		return nil, s.each
	}
	x := s.values[s.at]
	s.at++
	switch {
	case x < 0:
		return nil, 0
	case x == 0:
		return nil, s.each
	}
	return []steer.Action{{Kind: steer.SetQueue, Queue: share.Queue, Property: share.Property, Value: x, Why: fmt.Sprint("look ", s.at)}}, s.each
}

func (s *script) Refused() bool { return s.refuse }

func asks(each unit.Time, values ...float64) *script { return &script{each: each, values: values} }

var errAway = errors.New("connection refused")
