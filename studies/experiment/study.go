package experiment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Study is a published study as data.
type Study struct {
	Name   string // its name on the command line: "capacity"
	Title  string
	Source string // author, title, where and when
	About  string // a paragraph for readers: what the study did, and what is rerun here
	Takes  string // how long its page takes to make, if minutes: "six minutes on two cores"

	// Headline are the checks that a page begins with: what the source is cited for. It is not part of the fingerprint, since it changes no figure.
	Headline []string

	// Assumptions are what the source leaves open and how we settled it; one sentence each.
	Assumptions []string
	// Calibrated are the numbers of the source on which the model was calibrated. Checks that follow from them are ByConstruction.
	Calibrated []string

	Experiments []Experiment
	// Probes are the experiments that a page's fingerprint covers, where all of them would take too long. Every effect of a setting of the
	// study must show in one of them: a test of the study changes each setting and verifies that. nil: all.
	Probes []string
	// ProbeSeeds is their number of seeds: more than one where the effect of some setting shows in few runs. 0: 1.
	ProbeSeeds int
	Checks     []Check
	// Sections are the study's own tables and charts (a factorial plot, a comparison with an oracle), made from the runs; nil: none.
	// Runs may hold only some of the experiments: omit what is missing.
	Sections func(*Runs) []Section
}

// Experiment is one configuration of a study.
type Experiment struct {
	ID    string // without the study: "E01"
	Group string // experiments that differ in settings only: "long-first 50/50"
	Title string
	Setup []Pair // for display
	Seeds int    // max number of seeds that it is run with, where a run takes long; 0: all of a plan
	// Reported are the figures that the source prints for this experiment; they are shown beside ours, and judged by checks only.
	Reported []Reported
	// Run runs one seed. Equal seeds give equal figures, and the same workload in every experiment that is compared with this one. It
	// may be called concurrently and returns soon after ctx is done.
	Run Runner
}

// Runner runs one seed of an experiment.
type Runner = func(ctx context.Context, seed uint64) (Metrics, error)

// Pair is a name and its value, both for display.
type Pair struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Metrics are the figures of one run, by name: "makespan/q1", "ratio/5", "rack-local/7/q1". A figure that a run does not have (the mean
// of nothing) is left out, or NaN.
type Metrics map[string]float64

// Add adds the figures of more, with a prefix.
func (m Metrics) Add(prefix string, more Metrics) {
	for name, v := range more {
		m[prefix+name] = v
	}
}

// Reported is a figure that the source prints.
type Reported struct {
	Metric string  // the name of ours
	What   string  // for display: "Makespan, queue 1"
	Unit   string  // "s", "%", or nothing
	Paper  float64 // NaN: the source has no figure here, ours is shown alone
	Note   string  // for instance that the source's figure is a misprint
}

// Strength says how far a check has to hold.
type Strength string

// The strengths.
const (
	A Strength = "A" // follows from the algorithm: must hold
	B Strength = "B" // a reported trend
	R Strength = "R" // reported only: recorded
)

// Check is a statement of the source and how to judge whether it holds.
type Check struct {
	ID    string // unique in the study: "S03-slower"
	Text  string // what the source says, as a sentence without its full stop
	Paper string // the source's value: "+61 % to +72 %"
	// Strength is how far it has to hold.
	Strength Strength
	// Needs are the experiments that Judge reads; the check is judged only if all of them were run, on the seeds that all of them have. nil:
	// found by a trial call of Judge, which suffices for a judge that reads the same values whatever they are, as those of this package do.
	Needs []string
	// ByConstruction: it follows from calibrated numbers, so it is no evidence.
	ByConstruction bool
	// Vacuous is why the check says nothing if it holds: nothing happens in these experiments that it could be about; "": it says something. A page shows it
	// when it is next printed: it is not part of the fingerprint, since it changes no figure.
	Vacuous string
	Judge   Judge
	Written any    `yaml:"rule"` // Judge in the notation of a study's file: see Rules
	Why     string // the known reason for a miss (or, of an R check, for a difference); shown only then
	// Revised is set where the rule was changed after results were seen; nil: never.
	Revised *Revision
}

// Revision is a rule before results were seen. It is judged beside the current one, so that readers may use either.
type Revision struct {
	First   Judge      // without Of where it can no longer be judged
	Written any        `yaml:"rule"` // First in the notation of a study's file
	Gave    *Judgement // its last judgement, where it can no longer be judged
	Why     string     // reason for the change
}

// Judge decides whether a check holds: the rule in words and the function that applies it. The judges of this package write their own
// rules; a study that needs another makes one with its rule in words, thresholds included, since readers see it and a changed rule makes a
// printed page stale: Judge{Rule: "...", Of: func(r *Runs) Judgement {...}}.
type Judge struct {
	Rule string
	Of   func(*Runs) Judgement // r has the experiments that the check needs, with equal seeds
}

// Judgement is the result of a Judge.
type Judgement struct {
	Holds bool
	Ours  string // our value with its interval, beside Check.Paper
	Note  string // "not significant", "one seed: no interval"
	// Value with its interval is what was judged, for charts and programs; NaN where there is no single figure.
	Value, Lo, Hi float64
	Vacuous       string      // why it says nothing, whether it holds or not; "": it says something
	Open          bool        // it does not hold, and its interval does not exclude that it does: more seeds may settle it
	Parts         []Judgement // of All and Any
	Label         string      // of a part: "type 5"
	all           bool        // made by All: its parts may be inlined in another's
}

// Section is one of the study's own sections, made from the runs.
type Section struct {
	Title  string   `json:"title"`
	Text   []string `json:"text,omitempty"` // paragraphs
	Tables []Table  `json:"tables,omitempty"`
	Charts []Chart  `json:"charts,omitempty"`
}

// Table is a table of texts. Columns whose cells begin with a digit or a sign are right-aligned.
type Table struct {
	Caption string     `json:"caption"`
	Columns []string   `json:"columns"`
	Rows    [][]string `json:"rows"`
}

// Chart is a chart of estimates over categories. Each series has one point for each category.
type Chart struct {
	Title      string    `json:"title"`
	Unit       string    `json:"unit,omitempty"` // of the values
	Kind       ChartKind `json:"kind"`
	Categories []string  `json:"categories"`
	Series     []Series  `json:"series"`
	Log        bool      `json:"log,omitempty"` // logarithmic axis
}

// ChartKind is how a chart's values are drawn, each with its interval.
type ChartKind string

// The kinds of charts.
const (
	Bars    ChartKind = "bars"    // vertical, from zero
	Points  ChartKind = "points"  // vertical, without a base
	Effects ChartKind = "effects" // horizontal, one row per category, with a line at zero: effects of a factorial
	Lines   ChartKind = "lines"   // curves over many categories, without intervals
	Boxes   ChartKind = "boxes"   // vertical box plots: the median as Mean, the quartiles as Lo and Hi, and Reach
	Spans   ChartKind = "spans"   // horizontal bars from Lo to Hi, one row per category, darker up to Mean: when jobs run
)

// Series is one series of a chart.
type Series struct {
	Name   string  `json:"name"`
	Paper  bool    `json:"paper,omitempty"` // the source's own values: drawn as marks without an interval
	Points []Point `json:"points"`
	Reach  []Point `json:"reach,omitempty"` // of boxes: from the end of the lower whisker, Lo, to that of the upper one, Hi
}

// Point is a value with its interval. Lo and Hi equal Mean where there is no interval; a Mean of NaN is left out.
type Point struct{ Mean, Lo, Hi float64 }

// Validate reports every error in a study's data.
func (s *Study) Validate() error {
	var errs []error
	wrong := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("study %s: "+format, append([]any{s.Name}, args...)...))
	}
	if s.Name == "" || strings.ContainsAny(s.Name, " /*?.") {
		wrong("%q is not a name", s.Name)
	}
	if len(s.Experiments) == 0 {
		wrong("it has no experiments")
	}
	seen := map[string]bool{} // ids are typed case-insensitively
	for _, e := range s.Experiments {
		switch {
		case e.ID == "" || strings.ContainsAny(e.ID, " /*?[]") || strings.Contains(e.ID, ".."):
			wrong("%q is not an id of an experiment", e.ID)
		case seen[strings.ToLower(e.ID)]:
			wrong("experiment %s is there twice", e.ID)
		case e.Run == nil:
			wrong("experiment %s has no Run", e.ID)
		case e.Group == "":
			wrong("experiment %s has no group", e.ID)
		}
		seen[strings.ToLower(e.ID)] = true
	}
	checks := map[string]bool{}
	for i := range s.Checks {
		c := &s.Checks[i]
		switch {
		case c.ID == "":
			wrong("a check has no id: %q", c.Text)
		case checks[strings.ToLower(c.ID)] || seen[strings.ToLower(c.ID)]:
			wrong("the id %s is taken twice", c.ID)
		case c.Strength != A && c.Strength != B && c.Strength != R:
			wrong("check %s: %q is not a strength", c.ID, c.Strength)
		case c.Judge.Of == nil || c.Judge.Rule == "":
			wrong("check %s has no judge with a rule", c.ID)
		default:
			needs := c.needs()
			if len(needs) == 0 {
				wrong("check %s needs no experiment", c.ID)
			}
			if r := c.Revised; r != nil && (r.First.Rule == "" || r.Why == "" || (r.First.Of == nil) == (r.Gave == nil)) {
				wrong("check %s was revised: it needs its first rule, what that gives or gave, and why it was changed", c.ID)
			}
			for _, id := range needs {
				if s.at(id) < 0 {
					wrong("check %s needs the experiment %s, which is not there", c.ID, id)
				}
			}
		}
		checks[strings.ToLower(c.ID)] = true
	}
	for _, id := range s.Headline {
		if !checks[strings.ToLower(id)] {
			wrong("the headline check %s is not there", id)
		}
	}
	for _, id := range s.Probes {
		if s.at(id) < 0 {
			wrong("the probe %s is not there", id)
		}
	}
	return errors.Join(errs...)
}

// needs are the experiments that a check reads: Needs or, if nil, those that its judge reads.
func (c *Check) needs() []string {
	if c.Needs != nil {
		return c.Needs
	}
	return c.Judge.needs()
}

// needs are the experiments that a judge reads.
func (j Judge) needs() []string {
	trace := &Runs{seeds: []uint64{0}, metrics: map[string][]Metrics{}, asked: &asked{}}
	j.Of(trace)
	return trace.asked.experiments
}

// Groups are the groups of a study's experiments, in order of appearance.
func (s *Study) Groups() []string {
	var groups []string
	for _, e := range s.Experiments {
		if !slices.Contains(groups, e.Group) {
			groups = append(groups, e.Group)
		}
	}
	return groups
}

// Strengths counts, for each experiment, the checks of each strength that use it.
func (s *Study) Strengths() map[string]map[Strength]int {
	n := map[string]map[Strength]int{}
	for i := range s.Checks {
		for _, id := range s.Checks[i].needs() {
			if n[id] == nil {
				n[id] = map[Strength]int{}
			}
			n[id][s.Checks[i].Strength]++
		}
	}
	return n
}
