package whatif

import (
	"encoding/json"
	"fmt"
	"io"
	"math"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/result/verdict"
)

// The JSON of a comparison: fields in a fixed order, the same bytes for the same comparison. A figure that does not exist
// (an interval of one seed, a percentage of 0) is null.
type jsonComparison struct {
	Tool        string          `json:"tool"`
	Version     string          `json:"version"`
	Partial     bool            `json:"partial"`
	Schedulers  []string        `json:"schedulers"`
	Labels      []string        `json:"labels"` // short names of the schedulers, as the sentences have them
	Seeds       []uint64        `json:"seeds"`
	Unfinished  []string        `json:"unfinished"` // schedulers under which no job finished
	Warnings    []string        `json:"warnings"`
	Answers     []jsonAnswer    `json:"answers"`
	Notes       []string        `json:"notes"`
	Assumptions []string        `json:"assumptions"`
	Metrics     []jsonRow       `json:"metrics"`
	Groups      []jsonGroup     `json:"groups"`
	Runs        [][]*result.Run `json:"runs"` // by scheduler, then seed
}

type jsonAnswer struct {
	Scheduler string            `json:"scheduler"`
	Text      string            `json:"text"`
	Verdict   Verdict           `json:"verdict"` // on the cluster as a whole
	Touched   []verdict.Subject `json:"touched"`
	Claims    []Claim           `json:"claims"` // what the text says gets better or worse
}

// jsonGroup is a queue, user or class; of each kind, who loses comes first.
type jsonGroup struct {
	verdict.Subject
	Jobs    []int64   `json:"jobs"`    // finished in the first seed, by scheduler
	Touched []string  `json:"touched"` // schedulers that change it
	Few     bool      `json:"few"`     // too few jobs to be judged
	Metrics []jsonRow `json:"metrics"`
}

type jsonRow struct {
	Metric       string     `json:"metric"`
	Unit         string     `json:"unit"`
	MoreIsBetter bool       `json:"more_is_better"`
	Schedulers   []jsonCell `json:"schedulers"`
}

type jsonCell struct {
	Scheduler     string     `json:"scheduler"`
	Values        []*float64 `json:"values"` // by seed; null where no job finished
	Mean          *float64   `json:"mean"`
	Difference    *float64   `json:"difference"`
	DifferenceCI  []*float64 `json:"difference_ci95"` // from, to
	ChangePercent *float64   `json:"change_percent"`
	ChangeCI      []*float64 `json:"change_percent_ci95"` // from, to
	Judgement     string     `json:"judgement"`
}

// WriteJSON writes the comparison.
func (out *Comparison) WriteJSON(w io.Writer) error {
	j := jsonComparison{
		Tool: "yardmaster", Partial: out.Partial, Schedulers: out.Schedulers, Labels: out.Labels(), Seeds: out.Seeds, Runs: out.Runs,
		Unfinished: append([]string{}, out.Unfinished...),
		Warnings:   append([]string{}, out.Warnings...),
		Answers:    []jsonAnswer{}, Notes: append([]string{}, out.Notes...), Assumptions: []string{}, Metrics: out.jsonRows(out.Rows), Groups: []jsonGroup{},
	}
	if len(out.Runs) > 0 && len(out.Runs[0]) > 0 {
		j.Version, j.Assumptions = out.Runs[0][0].Version, out.Assumptions()
	}
	for _, a := range out.Answers {
		j.Answers = append(j.Answers, jsonAnswer{out.Schedulers[a.Scheduler], a.Text, a.Verdict, append([]verdict.Subject{}, a.Touched...), append([]Claim{}, a.Claims...)})
	}
	for _, g := range out.Groups {
		group := jsonGroup{Subject: g.Subject, Jobs: g.Jobs, Touched: []string{}, Few: g.Few, Metrics: out.jsonRows(g.Rows)}
		for s, touched := range g.Touched {
			if touched {
				group.Touched = append(group.Touched, out.Schedulers[s])
			}
		}
		j.Groups = append(j.Groups, group)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(j); err != nil {
		return fmt.Errorf("writing the comparison as JSON: %w", err)
	}
	return nil
}

func (out *Comparison) jsonRows(rows []verdict.Row) []jsonRow {
	list := []jsonRow{}
	for _, row := range rows {
		r := jsonRow{Metric: row.Metric, Unit: row.Unit.String(), MoreIsBetter: row.More}
		for i, c := range row.Cells {
			cell := jsonCell{Scheduler: out.Schedulers[i], Values: present(c.Values), Mean: number(c.Mean), Judgement: c.Judgement.String()}
			if i > 0 {
				cell.Difference, cell.DifferenceCI = number(c.Diff), interval(c.DiffLow, c.DiffHigh)
				cell.ChangePercent, cell.ChangeCI = number(c.Change), interval(c.ChangeLow, c.ChangeHigh)
			}
			r.Schedulers = append(r.Schedulers, cell)
		}
		list = append(list, r)
	}
	return list
}

// present keeps values; null where there is none.
func present(values []float64) []*float64 {
	out := make([]*float64, len(values))
	for i := range values {
		if !math.IsNaN(values[i]) {
			out[i] = &values[i]
		}
	}
	return out
}

func interval(low, high float64) []*float64 {
	if math.IsNaN(low) {
		return nil
	}
	return []*float64{number(low), number(high)}
}

// number rounds to nine decimals, below which digits are noise; null where there is no number.
func number(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	if math.Abs(v) < 1e6 {
		v = math.Round(v*1e9) / 1e9
	}
	return &v
}
