// Package conform compares the simulator with Hadoop's own scheduler, decision by decision.
//
// A Scenario is a trace, nodes and the XML files of a ResourceManager, made by seeded code. Record runs it under SLS, several times
// (the real ResourceManager and scheduler with simulated nodes, package studies/lab/hadoop/sls), and stores what happened. Compare
// feeds the same files to the simulator (sim/yarn) and reports the distance between the two, in two ways:
//
//   - with phases: the simulator gets the time of each node's first heartbeat and of each tick of the scheduler's own timer (preemption
//     monitor, update of fair shares). Everything else is periodic, as it would be on an idle computer;
//   - with instants: it also gets the logged instant of every scheduling pass, every AM call and every admission.
//     Delays caused by the computer are then in both, and only the logic is compared.
//
// SLS is not deterministic: heartbeat phases are random in each run, and the computer is never quite idle. The distance between
// two runs of SLS is therefore the yardstick.
package conform

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/yardmaster/yardmaster/studies/evidence"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop/sls"
	"github.com/yardmaster/yardmaster/studies/lab/host"
)

// Recording configures how scenarios are run under SLS.
type Recording struct {
	Runs     int           // of each scenario, besides those already stored; 0: 2
	Parallel int           // concurrent runs; 0: 3
	Stagger  time.Duration // between two starts; 0: 8 s, to keep JVM starts out of other runs' measurements as far as possible
	Dir      string        // folder of the records
	Work     string        // folder for the runs' own files; "": a temporary one
	Missing  bool          // only the runs missing to reach Runs
	Log      io.Writer     // nil: silent
}

// Record runs the scenarios under SLS and adds their records to the existing ones. After an error it continues with the others.
func Record(ctx context.Context, scenarios []Scenario, r Recording) error {
	r.Runs, r.Parallel, r.Stagger, r.Log = cmp.Or(r.Runs, 2), cmp.Or(r.Parallel, 3), cmp.Or(r.Stagger, 8*time.Second), cmp.Or(r.Log, io.Discard)
	work, clean, err := host.Folder(r.Work, "conform")
	if err != nil {
		return err
	}
	defer clean()
	var tasks []sls.Options
	for run := range r.Runs { // every scenario once before any a second time
		for i := range scenarios {
			o := scenarios[i].Options
			have, err := evidence.Series(r.Dir, o.Name, ".json.gz")
			if err != nil {
				return err
			}
			if o.Dir = filepath.Join(work, fmt.Sprintf("%s-%d", o.Name, run)); !r.Missing || run >= len(have) {
				tasks = append(tasks, o)
			}
		}
	}
	program, err := evidence.Program(r.Dir, "")
	if err != nil {
		return err
	}
	var turn, mu sync.Mutex
	var fails []error
	err = host.Each(ctx, len(tasks), r.Parallel, func(ctx context.Context, i int) error {
		if turn.Lock(); i > 0 {
			_ = host.Sleep(ctx, r.Stagger) // cut short: the run reports it
		}
		turn.Unlock()
		began := evidence.Begin(program)
		rec, err := sls.Run(ctx, tasks[i])
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			err = r.keep(began, rec)
		}
		if err != nil {
			fails = append(fails, err)
			fmt.Fprintf(r.Log, "%s: %v\n", tasks[i].Name, err)
			return nil
		}
		return os.RemoveAll(tasks[i].Dir)
	})
	return errors.Join(append(fails, err)...)
}

func (r *Recording) keep(began *evidence.Run, rec *sls.Record) error {
	run, err := began.KeepJSON(r.Dir, rec.Scenario, rec)
	m := &rec.Machine
	fmt.Fprintf(r.Log, "%s run %d: %d jobs, %d containers in %.0f s (start-up %.0f s, %.1f s of CPU), heartbeats late by %d ms (p95) and %d ms (max); lost: %v\n",
		rec.Scenario, run.Number(), len(rec.Jobs), len(rec.Containers), m.Wall, m.StartUp, m.CPU, m.SlipP95, m.SlipMax, rec.Lost)
	return err
}

// Row is one scenario's result.
type Row struct {
	Scenario *Scenario
	Runs     []RunResult
	Spread   Distance // distance of an SLS run from an earlier one, mean over all pairs
	Twice    bool     // there is a second run
	Met      bool
	Why      string // how the bar is met, or what is missed
}

// RunResult compares one run of SLS with the simulator.
type RunResult struct {
	evidence.Run
	Phases, Instants Distance
	SLS              sls.Machine
	Lost             []string
	Kills, Reserved  int
	cost             cost
}

// The bar: errors of the median and of the 95th percentile of job times, and share of jobs within 5 %.
const (
	maxError  = 0.01
	minWithin = 0.95
)

// Compare reads the records of the scenarios in a folder and compares the simulator with them. Scenarios without a record
// are left out.
func Compare(ctx context.Context, scenarios []Scenario, dir string) ([]Row, error) {
	var rows []Row
	for i := range scenarios {
		s := &scenarios[i]
		runs, recs, err := evidence.ReadSeries[sls.Record](dir, s.Name)
		if err != nil {
			return nil, err
		}
		if len(recs) == 0 {
			continue
		}
		for k, rec := range recs {
			if err := belongs(s, rec); err != nil {
				return nil, fmt.Errorf("%s: %w; give the changed scenario its own name", filepath.Join(dir, runs[k].File), err)
			}
		}
		row, err := compare(ctx, s, runs, recs)
		if err != nil {
			return nil, err
		}
		rows = append(rows, *row)
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("no records of SLS in %s; run the comparison without --offline first", dir)
	}
	return rows, nil
}

// belongs reports whether a record is of the current scenario.
func belongs(s *Scenario, rec *sls.Record) error {
	if l := &rec.Log; len(l.At) != len(l.Kinds) || len(l.Of) != len(l.Kinds) {
		return fmt.Errorf("its log has %d kinds, %d instants, %d objects", len(l.Kinds), len(l.At), len(l.Of))
	}
	if len(rec.Jobs) != len(s.Jobs) {
		return fmt.Errorf("it has %d jobs, the scenario %d", len(rec.Jobs), len(s.Jobs))
	}
	var i int
	for _, r := range s.Racks {
		for _, n := range r.Nodes {
			if i >= len(rec.Nodes) || rec.Nodes[i].Name != n.Name {
				return fmt.Errorf("its nodes are not those of the scenario")
			}
			i++
		}
	}
	if rec.Trace != s.Digest() {
		return fmt.Errorf("its trace or configuration is not that of the scenario")
	}
	return nil
}

func compare(ctx context.Context, s *Scenario, runs []evidence.Run, recs []*sls.Record) (*Row, error) {
	row := &Row{Scenario: s}
	truths := make([]*Outcome, len(recs))
	for i, rec := range recs {
		truths[i] = ofRecord(s, rec)
		phased, took, err := simulate(ctx, s, rec, false)
		if err != nil {
			return nil, err
		}
		exact, _, err := simulate(ctx, s, rec, true)
		if err != nil {
			return nil, err
		}
		r := RunResult{
			Run:    runs[i],
			Phases: Measure(truths[i], phased), Instants: Measure(truths[i], exact), SLS: rec.Machine, Lost: rec.Lost, cost: took,
		}
		for _, k := range rec.Kills {
			if k.Taken {
				r.Kills++
			}
		}
		for k := range rec.Containers {
			if rec.Containers[k].Reserved >= 0 {
				r.Reserved++
			}
		}
		row.Runs = append(row.Runs, r)
	}
	var pairs []Distance
	for i := range truths {
		for _, later := range truths[i+1:] {
			pairs = append(pairs, Measure(truths[i], later))
		}
	}
	if len(pairs) > 0 {
		row.Twice, row.Spread = true, mean(pairs)
	}
	row.judge()
	return row, nil
}

// Phased and Exact are the means over the runs.
func (r *Row) Phased() Distance { return r.mean(func(x *RunResult) Distance { return x.Phases }) }
func (r *Row) Exact() Distance  { return r.mean(func(x *RunResult) Distance { return x.Instants }) }

func (r *Row) mean(of func(*RunResult) Distance) Distance {
	ds := make([]Distance, len(r.Runs))
	for i := range r.Runs {
		ds[i] = of(&r.Runs[i])
	}
	return mean(ds)
}

// Passes reports whether the bar is met.
func (d Distance) Passes() bool {
	return d.Missing == 0 && d.Median <= maxError && d.P95 <= maxError && d.Within5 >= minWithin
}

// meetsBar is how a scenario meets the bar itself.
const meetsBar = "meets the bar"

// judge decides: every run meets the bar itself, or no measure that misses it is worse than SLS's own spread.
func (r *Row) judge() {
	r.Met, r.Why = true, meetsBar
	for i := range r.Runs {
		if !r.Runs[i].Phases.Passes() {
			r.Met = false
		}
	}
	if r.Met {
		return
	}
	d, s := r.Phased(), &r.Spread
	switch {
	case d.Missing > 0:
		r.Why = fmt.Sprintf("%d jobs did not end in both", d.Missing)
	case !r.Twice:
		r.Why = "no second run to compare with"
	case d.Median > max(maxError, s.Median):
		r.Why = "median"
	case d.P95 > max(maxError, s.P95):
		r.Why = "p95"
	case d.Within5 < min(minWithin, s.Within5):
		r.Why = "jobs within 5 %"
	case d.MeanAbs > s.MeanAbs:
		r.Why = "mean error"
	default:
		r.Met, r.Why = true, "within SLS's own spread"
	}
}

//go:embed conformance.md.tmpl
var pageText string

// Page is docs/conformance.md: what was compared and how, the table, what limits the scenarios that miss, and the speed, which differs each
// time. It is written to file unless that is "".
func Page(rows []Row, file string) (string, error) {
	var x struct {
		Min, Max, Runs      int // runs of a scenario, and of all
		Bar, Spread, Missed int // scenarios by verdict
		Rows                []*Row
		Wall, StartUp, CPU  float64 // of SLS, in seconds
		AfterStart          float64 // of Wall
		Ours                cost
	}
	x.Min = len(rows[0].Runs)
	for i := range rows {
		row := &rows[i]
		x.Rows = append(x.Rows, row)
		switch {
		case !row.Met:
			x.Missed++
		case row.Why == meetsBar:
			x.Bar++
		default:
			x.Spread++
		}
		x.Min, x.Max, x.Runs = min(x.Min, len(row.Runs)), max(x.Max, len(row.Runs)), x.Runs+len(row.Runs)
		for k := range row.Runs {
			r := &row.Runs[k]
			x.Wall, x.StartUp, x.CPU, x.Ours = x.Wall+r.SLS.Wall, x.StartUp+r.SLS.StartUp, x.CPU+r.SLS.CPU, x.Ours.plus(r.cost)
		}
	}
	x.AfterStart = x.Wall - x.StartUp
	return evidence.Page(pageText, file, x, nil)
}

// String is median, p95 and mean error, and how many are within 5 %.
func (d Distance) String() string {
	s := fmt.Sprintf("%.1f %% / %.1f %% / %.1f %%, %.0f %%", 100*d.Median, 100*d.P95, 100*d.MeanAbs, 100*d.Within5)
	if d.Missing > 0 {
		s += fmt.Sprintf(" (%d jobs missing)", d.Missing)
	}
	return s
}

// Orders are the number of jobs with the same rank in the order of starts, and Kendall's τ.
func (d Distance) Orders() string { return fmt.Sprintf("%d/%d %.2f", d.Order, d.Jobs, d.Tau) }

// Differs is the first decision that differs.
func (d Distance) Differs() string {
	if d.First < 0 {
		return fmt.Sprintf("none of %d", d.Total)
	}
	return fmt.Sprintf("after %d of %d, %.1f s", d.First, d.Total, d.FirstAt)
}
