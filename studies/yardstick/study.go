// Package yardstick validates the flow network (sim/flow) against two established simulators.
//
// SimGrid is the validated fluid network: with the settings in Settings it is plain max-min sharing, so that a list of flows
// must end at the same instants in both. The same lists give the speed of both, in the same run. ns-3 has packets, queues and
// TCP: a shuffle in both shows what a fluid network leaves out.
//
// All sides read a List from the same file. The programs for SimGrid and ns-3 are C++, embedded here and compiled into the
// lab's folder; their output is stored under docs/studies, so that the study's page can be recomputed and checked by the
// ordinary tests without either.
package yardstick

import (
	"context"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/yardmaster/yardmaster/studies/evidence"
	"github.com/yardmaster/yardmaster/studies/lab/host"
)

// The bars for the flow network.
const (
	maxDifference = 1e-6 // relative, of the end of any flow
	minRatio      = 20.0 // times SimGrid's speed, with fastAlive flows alive
	fastAlive     = 5000
)

// Names of the records.
const (
	flowsSeries   = "flows"
	answersSeries = "simgrid"
	packetsSeries = "packets"
)

// Size is the size of a comparison.
type Size struct {
	Small  int   // networks drawn from seeds
	Alive  []int // flows kept alive in each of the largest lists
	Ends   []int // flows that end in a list kept alive, in the comparison
	Timed  []int // and in each round of the speed's measurement
	Rounds int
}

// Full takes some minutes; Mini is for tests.
var (
	Full = Size{Small: 1000, Alive: []int{100, 1000, 5000}, Ends: []int{5000, 5000, 2000}, Timed: []int{20000, 4000, 1000}, Rounds: 3}
	Mini = Size{Small: 200, Alive: []int{100, 1000, 5000}, Ends: []int{1000, 500, 100}, Timed: []int{2000, 500, 200}, Rounds: 3}
)

// FlowRecord is the record of a comparison with SimGrid.
type FlowRecord struct {
	SimGrid string // its version
	At      time.Time
	Load    float64 // of the computer, one-minute mean
	Cases   []CaseRecord
	Precise []PreciseRecord
	Speeds  []SpeedRecord
}

// CaseRecord is one list, or all the small ones together.
type CaseRecord struct {
	Name               string
	Lists              int
	Links, Paths       int
	Difference         Difference // between SimGrid and us
	Judged             bool       // by Reference
	TheirsOff, OursOff float64    // max relative differences of ends from Reference's
}

// PreciseRecord is the effect of one of SimGrid's precisions: the distance of its ends of the small lists from the exact ones.
type PreciseRecord struct {
	Setting string
	Off     Difference
}

// precisions are the precisions to test, defaults first.
var precisions = []string{
	"--cfg=surf/precision:1e-9", "--cfg=surf/precision:1e-6", "--cfg=surf/precision:1e-12", "--cfg=maxmin/precision:1e-5", "--cfg=maxmin/precision:1e-12",
}

// SpeedRecord is the speed of both with the same number of flows alive, in CPU seconds per round.
type SpeedRecord struct {
	Alive, Ends  int
	Theirs, Ours []float64
}

// Ratio is our speed relative to SimGrid's: the median of the rounds.
func (s SpeedRecord) Ratio() float64 { return median(s.Ratios()) }

func (s SpeedRecord) Ratios() []float64 {
	ratios := make([]float64, len(s.Ours))
	for i := range s.Ours {
		ratios[i] = s.Theirs[i] / s.Ours[i]
	}
	return ratios
}

// keptLists are the lists whose SimGrid results are stored, so that the ordinary tests can compare. They do not depend on our own
// network.
func keptLists() []List { return append(namedLists(), smallLists(200)...) }

func namedLists() []List { return []List{Star(), LeafSpine(), Ties(), Shuffle(), Bundles()} }

func smallLists(n int) (lists []List) {
	for seed := range uint64(n) {
		lists = append(lists, Small(seed))
	}
	return lists
}

// judgedFlows is the maximum length of a list that Reference plays by default.
const judgedFlows = 1000

// CompareFlows compares our network with SimGrid.
func CompareFlows(ctx context.Context, size Size, log io.Writer) (FlowRecord, error) {
	r := FlowRecord{At: time.Now().UTC().Truncate(time.Second), Load: host.LoadAverage(host.OneMinute)}
	var err error
	if r.SimGrid, err = simgridVersion(ctx); err != nil {
		return r, err
	}
	small := smallLists(size.Small)
	if err := r.add(ctx, log, "small", small...); err != nil {
		return r, err
	}
	if err := r.tryPrecisions(ctx, small); err != nil {
		return r, err
	}
	lists := namedLists()
	for i, alive := range size.Alive {
		closed := Random(alive, alive+size.Ends[i], 1)
		lists = append(lists, Opened(closed, Ours(closed).Ends))
	}
	for _, l := range lists {
		if err := r.add(ctx, log, l.Name, l); err != nil {
			return r, err
		}
	}
	for i, alive := range size.Alive {
		s, err := measure(ctx, Random(alive, alive+size.Timed[i], 2), size.Rounds)
		if err != nil {
			return r, err
		}
		fmt.Fprintf(log, "%-12s %s\n", fmt.Sprintf("%d alive", alive), s)
		r.Speeds = append(r.Speeds, s)
	}
	return r, nil
}

// add compares lists and records them as one case.
func (r *FlowRecord) add(ctx context.Context, log io.Writer, name string, lists ...List) error {
	plays, err := SimGrid(ctx, lists...)
	if err != nil {
		return err
	}
	c := CaseRecord{Name: name, Lists: len(lists), Judged: true}
	for i, l := range lists {
		ours := Ours(l).Ends
		d := Compare(l, plays[i].Ends, ours)
		if name == "bundles" { // one weighted flow in place of several: the larger difference counts
			if b := Compare(l, plays[i].Ends, Bundled(l).Ends); b.End > d.End || b.Missing > 0 {
				d = b
			}
		}
		c.Links, c.Paths = c.Links+len(l.Links), c.Paths+len(l.Paths)
		c.Difference = c.Difference.and(d)
		if len(l.Flows) > judgedFlows && d.met() {
			c.Judged = false
			continue
		}
		truth := Reference(l)
		c.TheirsOff = max(c.TheirsOff, Compare(l, plays[i].Ends, truth).End)
		c.OursOff = max(c.OursOff, Compare(l, ours, truth).End)
	}
	fmt.Fprintf(log, "%-12s %s\n", name, c.Difference)
	r.Cases = append(r.Cases, c)
	return nil
}

// tryPrecisions records the effect of SimGrid's precisions on its ends.
func (r *FlowRecord) tryPrecisions(ctx context.Context, lists []List) error {
	truths := make([][]float64, len(lists))
	for i, l := range lists {
		truths[i] = Reference(l)
	}
	for _, setting := range precisions {
		plays, err := simgridWith(ctx, setting, lists...)
		if err != nil {
			return err
		}
		p := PreciseRecord{Setting: setting}
		for i, l := range lists {
			p.Off = p.Off.and(Compare(l, plays[i].Ends, truths[i]))
		}
		r.Precise = append(r.Precise, p)
	}
	return nil
}

// measure times both on a list, alternately.
func measure(ctx context.Context, l List, rounds int) (SpeedRecord, error) {
	s := SpeedRecord{Alive: l.Alive, Ends: len(l.Flows) - l.Alive}
	for range rounds {
		theirs, err := SimGrid(ctx, l)
		if err != nil {
			return s, err
		}
		s.Theirs = append(s.Theirs, theirs[0].CPU)
		s.Ours = append(s.Ours, Ours(l).CPU)
	}
	return s, nil
}

func (s SpeedRecord) String() string {
	return fmt.Sprintf("SimGrid %.0f flows/s, ours %.0f: %.1f times", s.PerSecond(s.Theirs), s.PerSecond(s.Ours), s.Ratio())
}

func (s SpeedRecord) PerSecond(took []float64) float64 { return float64(s.Ends) / median(took) }

// sum is the verdict on comparisons with SimGrid.
type sum struct {
	Ends, Fast bool // every end is close enough, and each comparison was fast enough
	Worst      Difference
	Lists      int
	Ratio      float64 // the smallest with fastAlive flows alive
}

func summarise(flows ...*FlowRecord) sum {
	x := sum{Ends: true, Fast: true, Ratio: math.Inf(1)}
	for _, r := range flows {
		x.Ends = x.Ends && len(r.Cases) > 0
		for _, c := range r.Cases {
			x.Worst, x.Lists = x.Worst.and(c.Difference), x.Lists+c.Lists
		}
		fast := false
		for _, s := range r.Speeds {
			if s.Alive == fastAlive {
				fast, x.Ratio = fast || s.Ratio() >= minRatio, min(x.Ratio, s.Ratio())
			}
		}
		x.Fast = x.Fast && fast
	}
	x.Ends = x.Ends && x.Worst.met()
	return x
}

// RecordFlows compares and stores, in dir, the result and SimGrid's output for some of the lists.
func RecordFlows(ctx context.Context, dir string, size Size, log io.Writer) error {
	program, err := evidence.Program(dir, "")
	if err != nil {
		return err
	}
	began := evidence.Begin(program)
	r, err := CompareFlows(ctx, size, log)
	if err != nil {
		return err
	}
	lists := keptLists()
	plays, err := SimGrid(ctx, lists...)
	if err != nil {
		return err
	}
	answers := make([][]float64, len(lists))
	for i := range plays {
		for _, e := range plays[i].Ends { // eleven digits are enough for the bar
			answers[i] = append(answers[i], rounded(e))
		}
	}
	if _, err := began.KeepJSON(dir, answersSeries, answers); err != nil {
		return err
	}
	_, err = began.KeepJSON(dir, flowsSeries, r)
	return err
}

// rounded keeps eleven digits of a number.
func rounded(v float64) float64 {
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'e', 10, 64), 64) // it is a number
	return v
}
