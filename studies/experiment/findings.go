package experiment

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
)

// Findings are the results of a plan: everything that console, page and report show. They can be written as JSON, read back and shown
// again, and depend on the plan alone, except for Elapsed.
type Findings struct {
	Version  string         `json:"version,omitempty"`
	Command  string         `json:"command,omitempty"` // that reproduces them
	Seeds    []uint64       `json:"seeds"`
	Planned  int            `json:"planned_runs"`
	Done     int            `json:"done_runs"`
	Partial  bool           `json:"partial"` // stopped before all runs were done
	Failures []Failure      `json:"failures,omitempty"`
	Studies  []StudyFinding `json:"studies"`
	Elapsed  time.Duration  `json:"-"`
}

// Failure is a failed run.
type Failure struct {
	Experiment string `json:"experiment"` // with its study: "capacity/E01"
	Seed       uint64 `json:"seed"`
	Error      string `json:"error"`
}

// StudyFinding is the result of a study.
type StudyFinding struct {
	Name        string              `json:"name"`
	Title       string              `json:"title"`
	Source      string              `json:"source"`
	About       string              `json:"about,omitempty"`
	Takes       string              `json:"takes,omitempty"`
	Headline    []string            `json:"headline,omitempty"` // the checks that a page begins with
	Assumptions []string            `json:"assumptions,omitempty"`
	Calibrated  []string            `json:"calibrated,omitempty"`
	Whole       bool                `json:"whole"` // all of its experiments were selected
	Fingerprint Fingerprint         `json:"fingerprint"`
	Experiments []ExperimentFinding `json:"experiments"`
	Checks      []CheckFinding      `json:"checks"`
	Sections    []Section           `json:"sections,omitempty"`
}

// ExperimentFinding is the result of an experiment.
type ExperimentFinding struct {
	ID       string            `json:"id"`
	Group    string            `json:"group"`
	Title    string            `json:"title"`
	Setup    []Pair            `json:"setup,omitempty"`
	Seeds    []uint64          `json:"seeds"`
	Reported []ReportedFinding `json:"reported,omitempty"`
	Metrics  []MetricFinding   `json:"metrics"`
}

// ReportedFinding is a figure of the source beside ours.
type ReportedFinding struct {
	Metric string `json:"metric"`
	What   string `json:"what"`
	Unit   string `json:"unit,omitempty"`
	Paper  Float  `json:"paper"`
	Ours   Point  `json:"ours"`
	Note   string `json:"note,omitempty"`
}

// MetricFinding is a figure of ours.
type MetricFinding struct {
	Name   string  `json:"name"`
	Ours   Point   `json:"ours"`
	Values []Float `json:"values"` // by the experiment's seeds
}

// Verdict is the verdict on a check.
type Verdict string

// The verdicts.
const (
	Pass    Verdict = "PASS"
	Miss    Verdict = "MISS"
	Record  Verdict = "RECORD"
	Vacuous Verdict = "SAYS NOTHING" // it could not have failed, or chance decides it: it does not count
	NotRun  Verdict = "NOT RUN"      // it needs experiments that were not run
)

// Unclear is the verdict on a check that does not hold over a few seeds, if it may over more.
const Unclear Verdict = "UNCLEAR"

// EnoughSeeds is how many seeds an experiment is run with unless told otherwise, and a miss needs at least, unless it is certain.
const EnoughSeeds = 10

// open reports whether more seeds may make a judgement hold that does not.
func (j *Judgement) open() bool {
	switch {
	case len(j.Parts) == 0:
		return j.Holds || j.Open
	case j.all:
		return !slices.ContainsFunc(j.Parts, func(p Judgement) bool { return !p.open() })
	}
	return slices.ContainsFunc(j.Parts, func(p Judgement) bool { return p.open() })
}

// CheckFinding is the result of a check.
type CheckFinding struct {
	ID             string        `json:"id"`
	Text           string        `json:"text"`
	Paper          string        `json:"paper,omitempty"`
	Strength       Strength      `json:"strength"`
	ByConstruction bool          `json:"by_construction,omitempty"`
	Vacuous        string        `json:"vacuous,omitempty"` // why it says nothing
	Rule           string        `json:"rule"`
	Needs          []string      `json:"needs"`
	Lacks          []string      `json:"lacks,omitempty"` // needed experiments that were not run
	Verdict        Verdict       `json:"verdict"`
	Holds          bool          `json:"holds"`
	Ours           string        `json:"ours,omitempty"`
	Note           string        `json:"note,omitempty"`
	Value          Point         `json:"value"`
	Parts          []PartFinding `json:"parts,omitempty"`
	Seeds          int           `json:"seeds"` // it was judged on
	Why            string        `json:"why,omitempty"`
	Revised        string        `json:"revised,omitempty"` // why the rule was changed after results were seen
	First          *FirstFinding `json:"first,omitempty"`   // the result of the original rule
}

// FirstFinding is the result of a check's original rule.
type FirstFinding struct {
	Rule    string  `json:"rule"`
	Verdict Verdict `json:"verdict"` // whatever the check's strength
	Ours    string  `json:"ours,omitempty"`
}

// PartFinding is one part of a check that has several.
type PartFinding struct {
	Label string `json:"label,omitempty"`
	Holds bool   `json:"holds"`
	Ours  string `json:"ours"`
	Note  string `json:"note,omitempty"`
	Value Point  `json:"value"`
}

// Outcome is the verdict in words: a recorded check says which way it went.
func (c *CheckFinding) Outcome() string {
	switch {
	case c.Verdict != Record:
		return string(c.Verdict)
	case c.Holds:
		return string(Record) + " as reported"
	}
	return string(Record) + " differs"
}

// Bad reports whether source and reproduction disagree.
func (c *CheckFinding) Bad() bool { return c.Verdict == Miss || c.Verdict == Record && !c.Holds }

func found(sel Selection, runs *Runs) StudyFinding {
	s := sel.Study
	f := StudyFinding{
		Name: s.Name, Title: s.Title, Source: s.Source, About: s.About, Takes: s.Takes, Headline: s.Headline, Assumptions: s.Assumptions, Calibrated: s.Calibrated,
		Whole: len(sel.Experiments) == len(s.Experiments), Fingerprint: s.fingerprint(runs),
	}
	for i := range s.Experiments {
		if slices.Contains(sel.Experiments, s.Experiments[i].ID) {
			f.Experiments = append(f.Experiments, foundExperiment(&s.Experiments[i], runs))
		}
	}
	for i := range s.Checks {
		needs := s.Checks[i].needs()
		if slices.ContainsFunc(needs, func(id string) bool { return slices.Contains(sel.Experiments, id) }) {
			f.Checks = append(f.Checks, foundCheck(&s.Checks[i], needs, runs))
		}
	}
	if s.Sections != nil {
		f.Sections = s.Sections(runs)
	}
	return f
}

func foundExperiment(e *Experiment, runs *Runs) ExperimentFinding {
	part := runs.only([]string{e.ID})
	f := ExperimentFinding{ID: e.ID, Group: e.Group, Title: e.Title, Setup: e.Setup, Seeds: part.seeds}
	for _, r := range e.Reported {
		f.Reported = append(f.Reported, ReportedFinding{
			Metric: r.Metric, What: r.What, Unit: r.Unit, Paper: Float(r.Paper), Ours: part.Point(e.ID, r.Metric), Note: r.Note,
		})
	}
	for _, name := range part.Metrics(e.ID) {
		m := MetricFinding{Name: name, Ours: part.Point(e.ID, name)}
		for _, v := range part.Values(e.ID, name) {
			m.Values = append(m.Values, Float(v))
		}
		f.Metrics = append(f.Metrics, m)
	}
	return f
}

func foundCheck(c *Check, needs []string, runs *Runs) CheckFinding {
	f := CheckFinding{
		ID: c.ID, Text: c.Text, Paper: c.Paper, Strength: c.Strength, ByConstruction: c.ByConstruction, Rule: c.Judge.Rule,
		Needs: needs, Value: Point{math.NaN(), math.NaN(), math.NaN()},
	}
	if c.Revised != nil {
		f.Revised, f.First = c.Revised.Why, c.Revised.found(runs)
	}
	for _, id := range f.Needs {
		if !runs.Has(id) {
			f.Lacks = append(f.Lacks, id)
		}
	}
	part := runs.only(f.Needs)
	if f.Seeds = len(part.seeds); f.Seeds == 0 {
		f.Verdict = NotRun
		return f
	}
	j := c.Judge.Of(part)
	f.Holds, f.Ours, f.Note, f.Value = j.Holds, j.Ours, j.Note, Point{j.Value, j.Lo, j.Hi}
	for _, p := range j.Parts {
		f.Parts = append(f.Parts, PartFinding{Label: p.Label, Holds: p.Holds, Ours: p.Ours, Note: p.Note, Value: Point{p.Value, p.Lo, p.Hi}})
	}
	if missing := part.asked.missing; len(missing) > 0 {
		f.Note = "no run has the figure " + strings.Join(missing, ", ")
	}
	switch {
	case j.Vacuous != "":
		f.Vacuous = j.Vacuous
	case c.ByConstruction && j.Holds:
		f.Vacuous = "it follows from numbers that the model was set by"
	case j.Holds:
		f.Vacuous = c.Vacuous
	}
	switch {
	case f.Vacuous != "":
		f.Verdict = Vacuous
	case c.Strength == R:
		f.Verdict = Record
	case j.Holds:
		f.Verdict = Pass
	default:
		f.Verdict = Miss
	}
	if f.Verdict == Miss && f.Seeds < EnoughSeeds && j.open() {
		f.Verdict = Unclear
	}
	if f.Bad() {
		f.Why = c.Why
	}
	return f
}

func (r *Revision) found(runs *Runs) *FirstFinding {
	f := &FirstFinding{Rule: r.First.Rule, Verdict: NotRun}
	j := r.Gave
	if j == nil {
		part := runs.only(r.First.needs())
		if len(part.seeds) == 0 {
			return f
		}
		now := r.First.Of(part)
		j = &now
	}
	f.Ours = j.Ours
	if j.Note != "" {
		f.Ours += "; " + j.Note
	}
	if f.Verdict = Miss; j.Holds {
		f.Verdict = Pass
	}
	return f
}

// OK reports whether every check that must hold and was judged holds, and every run completed.
func (f *Findings) OK() bool {
	for _, s := range f.Studies {
		for i := range s.Checks {
			if c := &s.Checks[i]; c.Strength == A && c.Verdict == Miss {
				return false
			}
		}
	}
	return !f.Partial && len(f.Failures) == 0
}

// WriteJSON writes the findings, without line breaks: there are many figures, and programs read them.
func (f *Findings) WriteJSON(w io.Writer) error {
	if err := json.NewEncoder(w).Encode(f); err != nil {
		return fmt.Errorf("writing the findings of a reproduction: %w", err)
	}
	return nil
}

// ReadJSON reads findings written by WriteJSON, compressed by gzip or not.
func ReadJSON(r io.Reader) (*Findings, error) {
	text := bufio.NewReader(r)
	r = text
	if magic, _ := text.Peek(2); string(magic) == "\x1f\x8b" {
		unzipped, err := gzip.NewReader(text)
		if err != nil {
			return nil, fmt.Errorf("reading the findings of a reproduction: %w", err)
		}
		r = unzipped
	}
	f := &Findings{}
	if err := json.NewDecoder(r).Decode(f); err != nil {
		return nil, fmt.Errorf("reading the findings of a reproduction: %w", err)
	}
	if len(f.Studies) == 0 {
		return nil, fmt.Errorf("this JSON holds no findings of a reproduction: write it with \"yardmaster reproduce ... --json FILE\"")
	}
	return f, nil
}

// Float is a number that may be missing: NaN here, null in JSON, which has no NaN.
type Float float64

// MarshalJSON writes NaN and infinities as null.
func (v Float) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(v))
}

// UnmarshalJSON reads null as NaN.
func (v *Float) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*v = Float(math.NaN())
		return nil
	}
	return json.Unmarshal(text, (*float64)(v))
}

// MarshalJSON writes a point as [mean, low, high].
func (p Point) MarshalJSON() ([]byte, error) {
	return json.Marshal([3]Float{Float(p.Mean), Float(p.Lo), Float(p.Hi)})
}

// UnmarshalJSON reads a point.
func (p *Point) UnmarshalJSON(text []byte) error {
	var v [3]Float
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	p.Mean, p.Lo, p.Hi = float64(v[0]), float64(v[1]), float64(v[2])
	return nil
}
