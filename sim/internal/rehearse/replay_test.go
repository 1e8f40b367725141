package rehearse

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/unit"
)

// testdata/lab.jsonl is a run of the live driver on a real ResourceManager (Hadoop 3.4.2, Capacity Scheduler, REST), as yarn/yard's TestLabYard keeps it: two
// queues of three are steered, by a script; somebody else changes a setting meanwhile.

// head is what there is to know of the run beforehand.
type head struct {
	Identity string
	Queues   []string
	Do       map[int][]steer.Action
}

// step is a request of the driver and its answer.
type step struct {
	Op           drive.Op
	Knob         drive.Knob
	Value        drive.Value
	Entry        drive.Entry
	Event        string
	Until, Next  time.Time
	Quiet, Final bool
	Since        time.Time

	Now               time.Time
	Stop              bool
	Snapshot          steer.Snapshot
	Read              drive.Value
	InForce           bool
	Error             string
	Fate, Ended, Gone bool
}

func load(t *testing.T) (h head, steps []step) {
	t.Helper()
	f, err := os.Open("testdata/lab.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for n := 0; in.Scan(); n++ {
		var s step
		into := any(&s)
		if n == 0 {
			into = &h
		}
		if err := json.Unmarshal(in.Bytes(), into); err != nil {
			t.Fatal(n, err)
		}
		if n > 0 {
			steps = append(steps, s)
		}
	}
	if in.Err() != nil || len(steps) < 100 {
		t.Fatal(len(steps), in.Err())
	}
	return h, steps
}

// kept is an error as it was kept.
type kept struct{ s *step }

func (e kept) Error() string { return e.s.Error }
func (e kept) Is(target error) bool {
	return target == drive.ErrOutcomeUnknown && e.s.Fate || target == drive.ErrEnded && e.s.Ended || target == drive.ErrGone && e.s.Gone
}

func (s *step) answer() drive.Answer {
	a := drive.Answer{Now: s.Now, Stop: s.Stop, Snapshot: s.Snapshot, Value: s.Read, InForce: s.InForce}
	if s.Error != "" {
		a.Err = kept{s}
	}
	return a
}

// asked is the request as text.
func (s *step) asked() string {
	line, _ := s.Entry.Line()
	return fmt.Sprint(s.Op, s.Knob, s.Value, string(line), s.Event, s.Until.UnixNano(), s.Next.UnixNano(), s.Quiet, s.Final, s.Since.UnixNano())
}

func asked(r *drive.Request) string {
	s := step{Op: r.Op, Knob: r.Knob, Value: r.Value, Entry: r.Entry, Event: r.Event.String(), Until: r.Until, Next: r.Next, Quiet: r.Quiet, Final: r.Final, Since: r.Since}
	return s.asked()
}

// script is the policy of the run.
type script struct {
	do map[int][]steer.Action
	n  int
	id string
}

func (p *script) Step(seen *steer.Snapshot) (do []steer.Action, again unit.Time) {
	p.n++
	for _, a := range p.do[p.n] {
		if p.id == "" && len(seen.Jobs) > 0 {
			p.id = seen.Jobs[0].ID
		}
		if a.Job == "*" {
			a.Job = p.id
		}
		do = append(do, a)
	}
	return do, unit.Second / 2
}

// scheme spells values as a Capacity Scheduler with a maximum priority of 10 does.
type scheme string

func (s scheme) Identity() string               { return string(s) }
func (scheme) Spacing(drive.Knob) time.Duration { return 0 }

func (scheme) Value(k drive.Knob, x float64) drive.Value {
	if k.Kind == steer.SetPriority {
		x = min(x, 10)
	}
	v := drive.Value{Text: strconv.FormatFloat(x, 'f', -1, 64), Set: true, Number: x}
	if k.Property == "state" {
		v.Text = []string{"STOPPED", "RUNNING"}[int(x)]
	}
	return v
}

func rules(h *head, j *drive.Journal) drive.Rules {
	return drive.Rules{Scheme: scheme(h.Identity), Act: true, Journal: j, Queues: h.Queues, Bound: drive.Within(0.1, 0.8), New: func() (steer.Steerer, error) { return &script{do: h.Do}, nil }}
}

func markOf(steps []step) string {
	i := slices.IndexFunc(steps, func(s step) bool { return s.Entry.What == drive.Before })
	return steps[i].Entry.New.Mark
}

// world is what is configured, by knob.
type world map[drive.Knob]drive.Value

// after is the world as the first steps leave it, and as it was found; found has what somebody else has set since.
func after(steps []step) (now, found world) {
	now, found = world{}, world{}
	for i := range steps {
		s := &steps[i]
		switch {
		case s.Error != "":
		case s.Op == drive.Read:
			if was, known := now[s.Knob]; !known || !drive.Same(s.Knob, was, s.Read) {
				found[s.Knob] = s.Read
			}
			now[s.Knob] = s.Read
		case s.Op == drive.Write:
			now[s.Knob] = s.Value
		}
	}
	return now, found
}

// The driver that a rehearsal steps asks for the same as the live one did, given the same answers: the same writes, refusals, verifications and restores. Cut at
// any step, it leaves a journal by which the scheduler is put back as it was found.
func TestReplayOfALabRun(t *testing.T) {
	h, steps := load(t)
	count := map[string]int{}
	for i := range steps {
		word, _, _ := strings.Cut(steps[i].Event, " ")
		count[word]++
		if steps[i].Op == drive.Write {
			count["write"]++
		}
	}
	if count["asked"] < 10 || count["taken"] < 10 || count["refused"] < 5 || count["foreign"] != 1 || count["restored"] < 5 {
		t.Fatalf("the record shows little: %v", count)
	}
	for cut := range len(steps) + 1 {
		journal := drive.MemoryJournal(markOf(steps))
		m, err := drive.NewMachine(rules(&h, journal))
		if err != nil {
			t.Fatal(err)
		}
		var last drive.Request
		more := true
		for i := range steps[:cut] {
			s := &steps[i]
			if i > 0 && (!more || asked(&last) != s.asked()) {
				t.Fatalf("request %d: %v, %s\nlive: %s", i, more, asked(&last), s.asked())
			}
			if s.Op == drive.Log && s.Error == "" {
				if err := journal.Append(last.Entry); err != nil {
					t.Fatal(err)
				}
			}
			last, more = m.Next(s.answer())
		}
		if cut == len(steps) && (more || m.Err() != nil) {
			t.Errorf("it goes on after the end: %s, %v", asked(&last), m.Err())
		}
		m.Abandon()
		now, found := after(steps[:cut])
		putBack(t, &h, cut, journal, now, found)
		if more && last.Op == drive.Write { // it may have been carried out before the end
			now[last.Knob] = last.Value
			putBack(t, &h, cut, journal, now, found)
		}
	}
	t.Logf("%d requests, each followed by an end; %v", len(steps)-1, count)
}

// putBack lets a fresh driver recover by a journal.
func putBack(t *testing.T, h *head, cut int, left *drive.Journal, now, found world) {
	t.Helper()
	j, w := drive.MemoryJournal(left.Mark), maps.Clone(now)
	for _, e := range left.Open() {
		j.Load(&e)
	}
	m := drive.NewRecovery(scheme(h.Identity), j, false, 0)
	clock := time.Unix(2_000_000_000, 0)
	for a := (drive.Answer{Now: clock}); ; {
		r, more := m.Next(a)
		if !more {
			break
		}
		a = drive.Answer{}
		switch r.Op {
		case drive.Wait:
			clock = r.Until
		case drive.Read:
			a.Value = w[r.Knob]
		case drive.Write:
			w[r.Knob] = r.Value
		case drive.Check:
			a.InForce = drive.Same(r.Knob, w[r.Knob], r.Value)
		case drive.Log:
			a.Err = j.Append(r.Entry)
		}
		a.Now = clock
	}
	if m.Err() != nil || len(j.Open()) > 0 {
		t.Errorf("cut at %d: %v, open: %v", cut, m.Err(), j.Open())
	}
	for k, v := range w {
		if v.Mark != "" || !drive.Same(k, v, found[k]) {
			t.Errorf("cut at %d: %v is %v, found was %v", cut, k, v, found[k])
		}
	}
}

// labEngine is a simulated scheduler that shows what the live one showed, and goes by what is written.
type labEngine struct {
	seen  []steer.Snapshot
	world world
	now   unit.Time
	queue []event
	hook  func(sample int)
	n     int
}

type event struct {
	at   unit.Time
	call func()
}

func (e *labEngine) Now() unit.Time { return e.now }
func (e *labEngine) Over() bool     { return false }
func (e *labEngine) Ahead() bool    { return true }

func (e *labEngine) Snapshot() steer.Snapshot {
	s := e.seen[min(e.n, len(e.seen)-1)]
	e.n++
	e.hook(e.n)
	s.Now = e.now
	return s
}

func (e *labEngine) Get(k drive.Knob) (float64, string, error) {
	v, ok := e.world[k]
	if !ok {
		return 0, "", errors.New("there is no such knob")
	}
	return v.Number, v.Text, nil
}

func (e *labEngine) Set(k drive.Knob, x float64, text string) error {
	e.world[k] = drive.Value{Text: text, Set: true, Number: x}
	return nil
}

// The same run in the simulator's own time: the script, shown what it saw on the real ResourceManager, has the same changes made, refused and put back.
func TestRehearsalOfALabRun(t *testing.T) {
	h, steps := load(t)
	_, found := after(steps)
	e := &labEngine{world: world{}}
	type fact struct {
		knob  drive.Knob
		text  string
		ended string // "": written
	}
	var want []fact
	spell := func(k drive.Knob, v drive.Value) string {
		if k.Kind == steer.MoveJob || k.Property == steer.Capacities {
			return strings.ReplaceAll(v.Text, ".0", "")
		}
		return fmt.Sprint(v.Number)
	}
	var foreign drive.Knob
	for i := range steps {
		s := &steps[i]
		switch {
		case s.Op == drive.Sample && s.Error == "":
			e.seen = append(e.seen, s.Snapshot)
		case s.Op == drive.Read && s.Error == "":
			if _, known := e.world[s.Knob]; !known {
				e.world[s.Knob] = s.Read
			}
		case s.Op == drive.Write:
			want = append(want, fact{s.Knob, spell(s.Knob, s.Value), ""})
		case strings.HasPrefix(s.Event, "refused "):
			want = append(want, fact{ended: "refused"})
		case strings.HasPrefix(s.Event, "foreign "):
			foreign = steps[i-1].Knob
		}
	}
	e.hook = func(sample int) {
		if sample == 6 {
			e.world[foreign] = found[foreign]
		}
	}
	var d *Driver
	push := func(at unit.Time, call func()) { e.queue = append(e.queue, event{at, call}) }
	d, err := New(arranged{e, push, &d}, &script{do: h.Do}, steer.Delays{}, steer.Bounds{Min: 0.1, Max: 0.8, Queues: h.Queues}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for e.n < 12 && len(e.queue) > 0 {
		i := 0
		for k := range e.queue {
			if e.queue[k].at < e.queue[i].at {
				i = k
			}
		}
		next := e.queue[i]
		e.queue = slices.Delete(e.queue, i, i+1)
		e.now = max(e.now, next.at)
		next.call()
	}
	var got []fact
	for _, r := range d.Finish() {
		if r.Err != nil {
			got = append(got, fact{ended: "refused"})
			continue
		}
		k := drive.Knob{Kind: r.Action.Kind, Job: r.Action.Job, Queue: r.Action.Queue, Property: r.Action.Property}
		if k.Kind == steer.MoveJob {
			k.Queue = ""
		}
		v := drive.Value{Number: r.New, Text: r.Action.Queue}
		if k.Kind == steer.SetPriority {
			v.Number = math.Min(v.Number, 10) // the real one caps it
		}
		if k.Property == steer.Capacities {
			var parts []string
			for _, s := range r.Action.Shares {
				parts = append(parts, fmt.Sprintf("%s=%v", s.Queue, s.Value))
			}
			v.Text = strings.Join(parts, ",")
		}
		got = append(got, fact{k, spell(k, v), ""})
	}
	if len(want) < 20 {
		t.Errorf("the record shows little: %v", want)
	}
	for i := range max(len(got), len(want)) {
		g, w := fact{ended: "nothing"}, fact{ended: "nothing"}
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			t.Errorf("%d: %+v, live: %+v", i, g, w)
		}
	}
	for k, v := range e.world {
		if !drive.Same(k, drive.Value{Text: v.Text, Set: true, Number: v.Number}, drive.Value{Text: found[k].Text, Set: true, Number: found[k].Number}) {
			t.Errorf("%v is %v in the end, found was %v", k, v, found[k])
		}
	}
}

// arranged is the engine with its queue of events.
type arranged struct {
	*labEngine
	push func(unit.Time, func())
	d    **Driver
}

func (a arranged) SenseAt(at unit.Time)      { a.push(at, func() { (*a.d).Sense() }) }
func (a arranged) WakeAt(at unit.Time)       { a.push(at, func() { (*a.d).Wake() }) }
func (a arranged) ActAt(at unit.Time, i int) { a.push(at, func() { (*a.d).Act(i) }) }
