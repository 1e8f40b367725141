package steering

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/steer/drive/live"
)

// Start is what is known of a steerer when it starts.
type Start struct {
	About
	Title    string          // of the policy
	Steerer  steer.Steerer   // may describe what it sees
	Queues   []string        // that it steers
	Snapshot *steer.Snapshot // the first; nil: there is none yet
	Err      error           // then
	Notes    []string        // of the engine
	Min, Max float64         // bounds of shares
	PerHour  int             // changes; 0: it moves jobs instead
}

// Found lists the facts for the operator, and what the page says about the steerer.
func (s *Start) Found() ([]Fact, About) {
	facts := []Fact{{Label: "cluster", Value: s.Cluster + " (" + s.Scheduler + ")"}, {Label: "queue", Value: s.Queue}}
	add := func(label, format string, args ...any) {
		facts = append(facts, Fact{Label: label, Value: fmt.Sprintf(format, args...)})
	}
	describer, _ := s.Steerer.(steer.Describer)
	if s.Snapshot == nil {
		add("seen", "no good sample yet: %v", s.Err)
	} else {
		s.describe(add, describer)
	}
	for _, n := range s.Notes {
		add("note", "%s", n)
	}
	add("policy", "%s: %s", s.Policy, s.Title)
	bounds := fmt.Sprintf("%.4g to %.4g", s.Min, s.Max)
	if describer != nil {
		bounds = cmp.Or(describer.Bounds(), bounds)
	}
	if s.PerHour == 0 {
		bounds += fmt.Sprintf(", at most %d jobs after a sample", steer.MovesPerSample)
	} else {
		bounds += fmt.Sprintf(", at most %d changes an hour", s.PerHour)
	}
	add("bounds", "%s", bounds)
	if s.Act {
		add("journal", "%s", s.Journal)
	}
	about := s.About
	about.Facts = facts[2:]
	return facts, about
}

// Run drives with a page: it prints what there is to know, and drives for a while or, with 0, until it is told to stop. requests counts those to the scheduler.
func (s *Start) Run(ctx context.Context, o live.Options, lasts time.Duration, listen string, requests func() int64, notice func(format string, args ...any)) error {
	found, about := s.Found()
	board := New(about, wouldRestore(o.Journal))
	o.Engine = board.Measure(o.Engine, requests)
	observe := o.Observe
	o.Observe = func(e drive.Event) {
		board.Observe(e) // first: the page is up to date when the line is printed
		observe(e)
	}
	end, page := board.listen(ctx, listen, notice)
	defer end()
	for _, fact := range found {
		notice("%-12s %s", fact.Label+":", fact.Value)
	}
	if page != "" {
		notice("%-12s http://%s/, metrics at http://%s/metrics", "page:", page, page)
	}
	if s.Act {
		notice("%-12s act. Original values are restored on exit; Ctrl-C exits.", "mode:")
	} else {
		notice("%-12s observe. Nothing is changed: the lines say what would be done. To let it act, add --act.", "mode:")
	}
	if lasts > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, lasts)
		defer stop()
	}
	return live.Run(ctx, o)
}

// describe describes the queues in the first snapshot.
func (s *Start) describe(add func(label, format string, args ...any), describer steer.Describer) {
	for i := range s.Snapshot.Queues {
		q := &s.Snapshot.Queues[i]
		if !slices.Contains(s.Queues, q.Name) {
			continue
		}
		name := ""
		if len(s.Queues) > 1 {
			name = q.Name + ": "
		}
		if describer != nil && describer.Found(q) != "" {
			add("share", "%s%s", name, describer.Found(q))
		}
		add("jobs", "%s%d run, %d wait", name, q.Running, q.Waiting)
	}
	if s.Snapshot.CPUIdle >= 0 {
		add("idle", "%.0f %% of the processors", s.Snapshot.CPUIdle*100)
	}
}

// wouldRestore lists what a journal would restore; nil: there is no journal. The driver, which alone writes the journal, calls it.
func wouldRestore(j *drive.Journal) func() []Kept {
	if j == nil {
		return nil
	}
	return func() (list []Kept) {
		for _, e := range j.Open() {
			list = append(list, Kept{Knob: e.Knob.String(), Original: e.Original.String()})
		}
		return list
	}
}

// SourceName is a source of idle processors without its address, which may contain a password: the page and the metrics show it.
func SourceName(cpu string) string {
	if name, _, is := strings.Cut(cpu, "="); is && name == "prometheus" {
		return name
	}
	return cmp.Or(cpu, "allocation")
}

// DefaultAddress is the page's default address.
const DefaultAddress = "127.0.0.1:9099"

// listen serves the page in the background, also while the context's end makes the steerer restore; off: not at all. A busy port is no error.
func (b *Board) listen(ctx context.Context, requested string, notice func(format string, args ...any)) (end func(), address string) {
	if requested == "" || requested == "off" {
		return func() {}, ""
	}
	l, err := net.Listen("tcp", requested)
	if err != nil {
		if op, ok := errors.AsType[*net.OpError](err); ok && op.Addr != nil {
			err = fmt.Errorf("cannot listen on %s: %w", op.Addr, op.Err)
		}
		notice("There is no status page: %v. Give another address with --listen.", err)
		return func() {}, ""
	}
	if a, ok := l.Addr().(*net.TCPAddr); ok && !a.IP.IsLoopback() {
		notice("Warning: --listen %s shows the status page, which has no login, to everyone who can reach this machine. For this machine only: --listen %s", requested, DefaultAddress)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := b.Serve(ctx, l); err != nil {
			notice("The status page ended: %v", err)
		}
	}()
	return func() { stop(); <-done }, l.Addr().String()
}
