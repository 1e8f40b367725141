package steering

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/yardmaster/yardmaster/policy/amlimit"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// About is what does not change while a steerer runs.
type About struct {
	Version   string    `json:"version"`
	Cluster   string    `json:"cluster"`
	Scheduler string    `json:"scheduler"`
	Queue     string    `json:"queue"`
	Policy    string    `json:"policy"`
	Actuator  string    `json:"actuator"`
	CPU       string    `json:"cpu"`
	Act       bool      `json:"act"`
	AMShare   bool      `json:"am_share"` // the policy changes the AM share
	Journal   string    `json:"journal,omitempty"`
	Started   time.Time `json:"started"`
	Facts     []Fact    `json:"facts,omitempty"` // further details for a person
}

// Fact is a line of the page.
type Fact struct {
	Label string `json:"label"`
	Value string `json:"value"`
}

// Number is a reading; NaN, encoded as null, means unknown.
type Number float64

// MarshalJSON encodes unknown values as null.
func (n Number) MarshalJSON() ([]byte, error) {
	if !n.known() {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

func (n Number) known() bool { return !math.IsNaN(float64(n)) && !math.IsInf(float64(n), 0) }

// Now is the current state.
type Now struct {
	At       time.Time `json:"at"`
	Mode     string    `json:"mode"`
	Sees     bool      `json:"sees"` // the last sample was good
	LastGood time.Time `json:"last_good"`
	Decision string    `json:"decision"`
	Why      string    `json:"why"`
	InForce  Number    `json:"share_in_force"`
	Wanted   Number    `json:"share_wanted"`
	Original Number    `json:"share_original"`
	Idle     Number    `json:"cpu_idle"`
	Pending  int       `json:"pending"`
	Running  int       `json:"running"`
	Open     int       `json:"open_knobs"`
	Requests int64     `json:"requests_last_cycle"`
	Took     Number    `json:"snapshot_seconds"`
	Trouble  string    `json:"trouble,omitempty"` // the current problem
	Queues   []Queue   `json:"queues"`
	Goals    []Goal    `json:"goals,omitempty"` // jobs with deadlines, in the order of serving
}

// Queue is a steered queue.
type Queue struct {
	Name       string `json:"name"`
	Running    int    `json:"running"` // jobs
	Waiting    int    `json:"waiting"`
	Containers int64  `json:"containers"`
}

// Goal is a job with a deadline.
type Goal struct {
	Job   string `json:"job"`
	State string `json:"state"`
	Left  Number `json:"seconds_left"` // negative: its deadline has passed
	Late  Number `json:"seconds_late"` // on what it holds; negative: early
	Has   Number `json:"containers"`
	Needs Number `json:"needs"`
	Gets  Number `json:"target"`
}

// Line is a decision, or several consecutive ones without actions.
type Line struct {
	At       time.Time `json:"at"`
	Decision string    `json:"decision"`
	Why      string    `json:"why"`
	Idle     Number    `json:"cpu_idle"`
	Pending  int       `json:"pending"`
	Running  int       `json:"running"`
	Share    Number    `json:"share"`
	Times    int       `json:"times"`
}

// Write is a change and its outcome.
type Write struct {
	At      time.Time `json:"at"`
	Knob    string    `json:"knob"`
	Old     Number    `json:"old"`
	New     Number    `json:"new"`
	From    string    `json:"from"` // the same in words: a move goes from queue to queue
	To      string    `json:"to"`
	Outcome string    `json:"outcome"`
	Seconds Number    `json:"seconds"`
	Note    string    `json:"note,omitempty"`
	key     drive.Knob
}

// Kept is a setting that would be restored.
type Kept struct {
	Knob     string `json:"knob"`
	Original string `json:"original"`
}

type point struct {
	at                  time.Time
	share, wanted, idle float64
	pending, running    int
}

// Limits of what is kept. A point is kept every pointGap, which makes an hour.
const (
	maxLines  = 50
	maxWrites = 50
	maxPoints = 720
	pointGap  = 5 * time.Second
)

// Board is the state of one steerer, for display. Its methods may be called from several goroutines.
type Board struct {
	about   About
	kept    func() []Kept
	metrics *metrics

	watchers atomic.Int64 // browsers that are notified of every change

	mu      sync.Mutex
	now     Now
	lines   []Line  // oldest first
	writes  []Write // oldest first
	would   []Kept
	points  []point
	changed chan struct{} // closed at the next event
}

// New makes a board. kept lists what would be restored; it is called when that may have changed, and may be nil.
func New(about About, kept func() []Kept) *Board {
	nan := Number(math.NaN())
	b := &Board{about: about, kept: kept, changed: make(chan struct{})}
	b.now = Now{At: about.Started, LastGood: about.Started, InForce: nan, Wanted: nan, Original: nan, Idle: nan, Took: nan}
	b.metrics = newMetrics(&about, func() float64 {
		b.mu.Lock()
		defer b.mu.Unlock()
		return time.Since(b.now.LastGood).Seconds()
	})
	return b
}

// Observe handles an event of the driver.
func (b *Board) Observe(e drive.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := &b.now
	n.At, n.Open = e.At, e.Open
	if e.Mode != "" {
		n.Mode = e.Mode
	}
	if e.Snapshot != nil {
		b.see(e.Snapshot)
	}
	share := e.Knob.Kind == steer.SetQueue && amlimit.IsShare(e.Knob.Property) && conf.QueueNamesMatch(e.Knob.Queue, strings.Split(b.about.Queue, ", ")[0])
	switch e.Kind {
	case drive.Decided:
		n.Sees, n.LastGood, n.Trouble = true, e.At, ""
		b.decided(&e)
	case drive.Asked:
		if share {
			n.Wanted = Number(e.New)
		}
		if share && n.Open <= 1 && !b.changing(e.Knob) {
			n.Original = Number(e.Old)
		}
		b.add(&e, Write{At: e.At, Outcome: "asked", Old: Number(e.Old), New: Number(e.New), key: e.Knob, Note: textOf(e.Attrs, "why")})
	case drive.Taken:
		if b.outcome(&e, taken); share {
			n.InForce = Number(e.New)
		}
	case drive.Refused: // a new entry: the write in progress was not the one refused
		old := Number(e.Old)
		if old == 0 { // unknown
			old = Number(math.NaN())
		}
		b.add(&e, Write{At: e.At, Outcome: refused, Old: old, New: Number(e.New), key: e.Knob, Note: said(e.Err)})
	case drive.Unverified:
		b.outcome(&e, unverified)
	case drive.Restored:
		b.add(&e, Write{At: e.At, Outcome: restored, Old: Number(e.Old), New: Number(e.New), Seconds: Number(e.Latency.Seconds()), key: e.Knob})
		if share {
			n.InForce, n.Wanted = Number(e.New), Number(e.New)
		}
	case drive.RestoreFailed:
		b.add(&e, Write{At: e.At, Outcome: "not restored", Old: Number(e.Old), New: Number(e.New), key: e.Knob, Note: said(e.Err)})
		n.Trouble = "Not restored: " + said(e.Err)
	case drive.Foreign:
		if share && n.Open > 0 {
			n.Original = Number(e.New)
		}
		b.add(&e, Write{At: e.At, Outcome: foreign, Old: Number(e.Old), New: Number(e.New), key: e.Knob, Note: textOf(e.Attrs, "why")})
	case drive.Blind:
		n.Sees, n.Trouble = false, "No good sample of the scheduler: "+said(e.Err)
	case drive.DeadMan:
		n.Sees, n.Trouble = false, textOf(e.Attrs, "why")
	}
	if n.Open == 0 && e.Kind != drive.Asked {
		n.Original = n.InForce
	}
	if b.kept != nil && e.Kind != drive.Decided && e.Kind != drive.Blind {
		b.would = b.kept()
	}
	b.metrics.take(&e, n)
	if e.Snapshot != nil || len(b.points) > 0 {
		b.draw()
	}
	close(b.changed)
	b.changed = make(chan struct{})
}

func said(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// see takes the steered queues from a snapshot: how many jobs run and wait in them, and the share of the first.
func (b *Board) see(s *steer.Snapshot) {
	n := &b.now
	n.Idle = -1
	if s.CPUIdle >= 0 {
		n.Idle = Number(s.CPUIdle)
	}
	n.Pending, n.Running, n.Queues = 0, 0, []Queue{}
	names := strings.Split(b.about.Queue, ", ")
	for i := range s.Queues {
		q := &s.Queues[i]
		if slices.ContainsFunc(names, func(name string) bool { return conf.QueueNamesMatch(q.Name, name) }) {
			n.Pending, n.Running = n.Pending+q.Waiting, n.Running+q.Running
			n.Queues = append(n.Queues, Queue{q.Name, q.Running, q.Waiting, q.Containers})
			if q.AMShare != 0 && conf.QueueNamesMatch(q.Name, names[0]) {
				n.InForce = Number(q.AMShare)
			}
		}
	}
}

func (b *Board) decided(e *drive.Event) {
	n := &b.now
	n.Decision, n.Why = textOf(e.Attrs, "decision"), textOf(e.Attrs, "why")
	n.Decision = cmp.Or(n.Decision, "wait")
	n.Goals = nil
	for _, a := range e.Attrs {
		if a.Value.Kind() == slog.KindGroup {
			n.Goals = append(n.Goals, goalOf(a.Key, a.Value.Group()))
		}
	}
	l := Line{At: e.At, Decision: n.Decision, Why: n.Why, Idle: n.Idle, Pending: n.Pending, Running: n.Running, Share: n.InForce, Times: 1}
	if v, ok := numberOf(e.Attrs, "new"); ok {
		n.Wanted, l.Share = Number(v), Number(v)
	} else if !n.Wanted.known() {
		n.Wanted = n.InForce
	}
	if last := len(b.lines) - 1; last >= 0 && l.Decision == "wait" && b.lines[last].Decision == "wait" {
		l.Times = b.lines[last].Times + 1
		b.lines[last] = l
		return
	}
	if b.lines = append(b.lines, l); len(b.lines) > maxLines {
		b.lines = b.lines[len(b.lines)-maxLines:]
	}
}

// goalOf reads what a policy of deadlines says about a job.
func goalOf(job string, facts []slog.Attr) Goal {
	number := func(key string) Number {
		if v, ok := numberOf(facts, key); ok {
			return Number(v)
		}
		return Number(math.NaN())
	}
	return Goal{job, textOf(facts, "state"), number("goal"), number("late"), number("runs"), number("needs"), number("target")}
}

func (b *Board) add(e *drive.Event, w Write) {
	w.Knob = w.key.String()
	w.From, w.To = cmp.Or(textOf(e.Attrs, "old"), shareText(w.Old)), cmp.Or(textOf(e.Attrs, "new"), shareText(w.New))
	if w.key.Kind == steer.MoveJob { // a number says nothing
		w.Old, w.New = Number(math.NaN()), Number(math.NaN())
	}
	w.Seconds = cmp.Or(w.Seconds, Number(math.NaN()))
	if b.writes = append(b.writes, w); len(b.writes) > maxWrites {
		b.writes = b.writes[len(b.writes)-maxWrites:]
	}
}

// changing reports whether a knob was written and not restored yet.
func (b *Board) changing(k drive.Knob) bool {
	for i := len(b.writes) - 1; i >= 0; i-- {
		if w := &b.writes[i]; w.key == k && w.Outcome != refused {
			return w.Outcome != restored
		}
	}
	return false
}

// outcome completes the write in progress.
func (b *Board) outcome(e *drive.Event, how string) {
	for i := len(b.writes) - 1; i >= 0; i-- {
		w := &b.writes[i]
		if w.key == e.Knob && w.Outcome == "asked" {
			if w.Outcome = how; e.Latency > 0 {
				w.Seconds = Number(e.Latency.Seconds())
			}
			if e.Err != nil {
				w.Note = e.Err.Error()
			}
			return
		}
	}
	note := cmp.Or(said(e.Err), textOf(e.Attrs, "why"))
	b.add(e, Write{At: e.At, Outcome: how, Old: Number(e.Old), New: Number(e.New), Seconds: Number(e.Latency.Seconds()), key: e.Knob, Note: note})
}

// draw keeps a point for the charts.
func (b *Board) draw() {
	n := &b.now
	p := point{at: n.At, share: float64(n.InForce), wanted: float64(n.Wanted), idle: float64(n.Idle), pending: n.Pending, running: n.Running}
	if last := len(b.points) - 1; last > 0 && p.at.Truncate(pointGap).Equal(b.points[last].at.Truncate(pointGap)) {
		b.points[last] = p
		return
	}
	if b.points = append(b.points, p); len(b.points) > maxPoints {
		b.points = b.points[len(b.points)-maxPoints:]
	}
}

func textOf(attrs []slog.Attr, key string) string {
	for _, a := range attrs {
		if a.Key == key {
			return a.Value.String()
		}
	}
	return ""
}

func numberOf(attrs []slog.Attr, key string) (float64, bool) {
	s := textOf(attrs, key)
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil
}

// Measure times the samples of an engine and counts their requests; sent returns how many were sent so far.
func (b *Board) Measure(e drive.Engine, sent func() int64) drive.Engine {
	return &measured{Engine: e, board: b, sent: sent, before: sent()}
}

type measured struct {
	drive.Engine
	board  *Board
	sent   func() int64
	before int64 // sent when the last sample ended; samples do not overlap
}

func (m *measured) Snapshot(ctx context.Context) (steer.Snapshot, error) {
	begin, sent := time.Now(), m.sent()
	s, err := m.Engine.Snapshot(ctx)
	took, after := time.Since(begin).Seconds(), m.sent()
	b := m.board
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now.Took, b.now.Requests = Number(took), after-sent
	if n := &b.now; err == nil && (n.Mode == "act" || n.Mode == "observe") { // also while the policy sleeps and does not see the sample
		n.Sees, n.LastGood, n.Trouble = true, time.Now(), ""
		b.metrics.up.Set(1)
	}
	b.metrics.snapshot.Observe(took)
	b.metrics.cycle.Set(float64(after - sent))
	b.metrics.requests.Add(float64(after - m.before))
	m.before = after
	return s, err
}
