package scenario

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/sim/mapreduce"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/jobfile"
	"github.com/yardmaster/yardmaster/workload/synth"
	"github.com/yardmaster/yardmaster/workload/trace"
)

// Setup is a scenario whose parts have been opened and validated.
type Setup struct {
	Scenario   Scenario
	run.Spec   // what all runs share
	Schedulers []run.Scheduler

	phases   *mapreduce.Model // of tasks; nil: they have lengths
	observed jobfile.Settings // under which the jobs were observed, if the file says
}

// Runs are the runs of the scenario: one per scheduler and steering policy, each for any seed.
func (s *Setup) Runs() []run.Spec {
	all := make([]run.Spec, len(s.Schedulers))
	for i, scheduler := range s.Schedulers {
		all[i] = s.Spec
		all[i].Scheduler, all[i].Name = scheduler, s.Scenario.Label
		all[i].About = func(seed uint64) result.Scenario { return s.echo(scheduler, seed) }
	}
	return all
}

// MisuseError says that options conflict or are invalid, as opposed to work that failed.
type MisuseError struct{ Err error }

func (e *MisuseError) Error() string { return e.Err.Error() }
func (e *MisuseError) Unwrap() error { return e.Err }

func isMisuse(err error) bool {
	_, ok := errors.AsType[*MisuseError](err)
	return ok
}

func misuse(format string, args ...any) error { return &MisuseError{fmt.Errorf(format, args...)} }

// Resolve opens the parts of a scenario.
func (s Scenario) Resolve() (*Setup, error) { return s.resolve(nil) }

// resolve shares the workload and the cluster with base, if there is one and they are the same.
func (s Scenario) resolve(base *Setup) (*Setup, error) {
	switch {
	case len(s.Workload) == 0:
		return nil, misuse("no workload: give --workload FILE, or --workload synth:demo to try without data")
	case s.Cluster == "":
		return nil, misuse("no cluster: give --cluster 600x6/30 (600 nodes of 6 containers in 30 racks) or a file")
	case len(s.Schedulers) == 0:
		return nil, misuse("no scheduler: give --scheduler fifo, or see \"yardmaster schedulers\"")
	}
	out := &Setup{Scenario: s, Spec: run.Spec{Model: s.Model, Deadlines: s.Deadlines}}
	var err error
	if base != nil && same(&s, &base.Scenario, ofCluster) {
		out.Cluster = base.Cluster
	} else if out.Cluster, err = s.openCluster(); err != nil {
		return nil, err
	}
	if err := s.resolveLosses(out); err != nil {
		return nil, err
	}
	if err := s.checkPlacement(out.Cluster); err != nil {
		return nil, err
	}
	if err := s.resolveData(out); err != nil {
		return nil, err
	}
	if err := s.checkDeadlines(out); err != nil {
		return nil, err
	}
	site, err := s.resolveClock(out)
	if err != nil {
		return nil, err
	}
	names, err := s.placed()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		p, err := load(s.Known.Policies, name, site, s.Edits)
		if err != nil {
			return nil, err
		}
		out.Schedulers = append(out.Schedulers, p)
	}
	if err := s.checkMoves(out); err != nil {
		return nil, err
	}
	if err := s.resolveSteering(out); err != nil {
		return nil, err
	}
	if base != nil && same(&s, &base.Scenario, ofWorkload) {
		out.Workload, out.observed = base.Workload, base.observed
	} else if err := s.work(out); err != nil {
		return nil, err
	}
	out.Assumptions = out.assumptions()
	return out, nil
}

// work finds the source of the jobs.
func (s *Scenario) work(out *Setup) error {
	if err := s.Trace.SWIM.Validate(); err != nil {
		return &MisuseError{err}
	}
	w := &run.Workload{Title: strings.Join(s.Workload, " ")}
	if out.Workload = w; w.Title == "-" {
		w.Title = "standard input"
	}
	for _, path := range s.Workload {
		if len(s.Workload) > 1 && strings.HasPrefix(path, "synth:") {
			return misuse("workload: %s cannot be combined with files", path)
		}
	}
	if name, ok := strings.CutPrefix(s.Workload[0], "synth:"); ok {
		config, err := synth.Preset(name)
		if err != nil {
			return &MisuseError{fmt.Errorf("workload: %w", err)}
		}
		if err := s.CheckTrace("", w.Title); err != nil {
			return err
		}
		w.Drawn = true
		w.Open = func(seed uint64) (workload.Source, error) {
			config := config
			config.Seed = seed
			src, err := synth.New(config)
			if err != nil {
				return nil, err
			}
			return s.Trace.Deal().Source(src), nil
		}
	} else {
		var err error
		if w.SHA256, err = hash(s.Workload); err != nil {
			return err
		}
		w.Open = func(uint64) (workload.Source, error) { return trace.Open(s.Workload, s.TraceOptions()) }
	}
	// Open it once, to fail before any work is done if it cannot be opened.
	src, err := w.Open(s.Seed)
	if err != nil {
		return err
	}
	if t, ok := src.(*trace.Workload); ok {
		if err := s.CheckTrace(t.Format, w.Title); err != nil {
			closeSource(src)
			return err
		}
		out.observed = t.Settings()
	}
	if s.pipe() {
		w.Open, w.Once, w.InMemory = once(src), true, math.MaxInt // all runs share what was read
	} else {
		defer closeSource(src)
	}
	w.Jobs = run.Describe(src).Count
	if len(s.Moves)+len(s.Gangs)+len(s.Executors) > 0 || !s.Resampling.IsZero() || s.ScaleLoad != 1 || s.ScaleLength != 1 {
		s.reshape(w)
	}
	return nil
}

// pipe reports whether a file of the workload cannot be opened a second time.
func (s *Scenario) pipe() bool {
	for _, path := range s.Workload {
		if st, err := os.Stat(path); path == "-" || err == nil && !st.Mode().IsRegular() {
			return true
		}
	}
	return false
}

// once hands out a source that is already open.
func once(src workload.Source) func(uint64) (workload.Source, error) {
	var mu sync.Mutex
	return func(uint64) (workload.Source, error) {
		mu.Lock()
		defer mu.Unlock()
		if src == nil {
			return nil, errors.New("the workload comes through a pipe and can be read only once: import it into a file first")
		}
		s := src
		src = nil
		return s, nil
	}
}

// reshape moves jobs to other queues, makes gangs, changes executors, samples a workload, changes its arrivals, and makes it heavier or longer. The original is kept in memory; copies are cheaper to
// regenerate than to keep.
func (s *Scenario) reshape(w *run.Workload) {
	open := w.Open
	scaled := s.ScaleLoad != 1 || s.ScaleLength != 1
	if scaled || !s.Resampling.IsZero() {
		w.Drawn, w.InMemory = true, -1 // samples, arrivals and shifts of copies are random
		if s.Resampling.Arrivals.How == synth.Resampled {
			w.Draws = "days of the history"
		}
	}
	count := func(jobs int64) int64 {
		if n := int64(s.Resampling.Jobs); n > 0 {
			jobs = n
		}
		return int64(float64(jobs) * s.ScaleLoad * s.ScaleLength)
	}
	w.Jobs = count(w.Jobs)
	w.Open = func(seed uint64) (workload.Source, error) {
		src, err := open(seed)
		if err != nil {
			return nil, err
		}
		defer closeSource(src)
		base, err := workload.ReadAll(src)
		if err != nil {
			return nil, err
		}
		out := run.Describe(src)
		out.Count = count(int64(len(base)))
		if base, err = s.edit(base); err != nil {
			return nil, err
		}
		for _, m := range s.Moves {
			out.Assumed = append(out.Assumed, fmt.Sprintf("workload: jobs of %s %s are submitted to queue %s", m.Kind, m.Name, m.To))
		}
		for _, m := range s.Gangs {
			out.Assumed = append(out.Assumed, fmt.Sprintf("workload: all tasks of a stage of the jobs of %s %s start together", m.Kind, m.Name))
		}
		for i := range s.Executors {
			e := &s.Executors[i]
			out.Assumed = append(out.Assumed, fmt.Sprintf("workload: executors of %s %s: %s; the number of tasks stays as it was", e.Who.Kind, e.Who.Name, e.Text))
		}
		if !s.Resampling.IsZero() {
			out.Assumed = append(out.Assumed, fmt.Sprintf("workload: %v (seed %d)", s.Resampling, seed))
		}
		if s.Resampling.Arrivals.How == synth.Resampled {
			out.Assumed = append(out.Assumed, "workload: "+synth.Covers(base))
		}
		if base, err = s.Resampling.Apply(base, seed); err != nil {
			return nil, misuse("%v", err)
		}
		out.Source = base.Source()
		if scaled {
			out.Source, err = synth.Scale(base, synth.ScaleOptions{Load: s.ScaleLoad, Length: s.ScaleLength, Seed: seed})
			out.Assumed = append(out.Assumed, fmt.Sprintf("workload: scaled to %v times the load and %v times the length, alike in shape", s.ScaleLoad, s.ScaleLength))
		}
		return out, err
	}
}

func closeSource(src workload.Source) {
	if c, ok := src.(io.Closer); ok {
		_ = c.Close() // read-only
	}
}

// hash is the SHA-256 of a workload that is a single regular file.
func hash(paths []string) (string, error) {
	if len(paths) != 1 || paths[0] == "-" {
		return "", nil
	}
	f, err := os.Open(paths[0])
	if errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("workload %s: no such file%s", paths[0], beside(paths[0]))
	}
	if err != nil {
		return "", fmt.Errorf("workload: %w", err)
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return "", nil // opening it as a workload reports what is wrong
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("workload: read %s: %w", paths[0], err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// echo is the scenario as recorded in a run's result.
func (s *Setup) echo(p run.Scheduler, seed uint64) result.Scenario {
	one := s.Scenario
	one.Schedulers, one.Place, one.Seed, one.Seeds = []string{p.Name}, "", seed, 0
	if one.Steering.Policies = nil; p.Steer != nil {
		one.Steering.Policies = []string{p.Steer.Name}
	} else {
		one.Steering = nobodySteers()
	}
	return result.Scenario{
		Workload: s.Workload.Title, WorkloadSHA256: s.Workload.SHA256,
		Cluster: s.Scenario.Cluster, ClusterTitle: s.Cluster.String(),
		Scheduler: p.Title(), OtherSettings: s.otherSettings(p), Model: one.Changed(), Seed: seed,
		Command: one.Command("simulate"),
	}
}

// assumptions are those of the model.
func (s *Setup) assumptions() []string {
	if s.Kubernetes != nil {
		return append(s.Scenario.kubernetesAssumptions(), s.Scenario.deadlineAssumptions()...)
	}
	if s.Timing == nil {
		return slices.Concat(s.Scenario.Assumptions(), s.dataAssumptions(), s.steeringAssumptions(), s.Scenario.deadlineAssumptions())
	}
	assumed := append(s.Scenario.yarnAssumptions(s.Timing, s.Model.FailTask > 0), replicaAssumptions(&s.Model)...)
	if s.Model.FailTask > 0 {
		assumed = append(assumed, failureAssumption(&s.Model))
	}
	assumed = append(assumed, copyAssumptions(&s.Model)...)
	assumed = append(assumed, s.Scenario.lossAssumptions()...)
	if s.Cluster.Network != nil || s.Scenario.Clock == Hadoop {
		assumed = append(assumed, s.dataAssumptions()...)
	}
	if slices.ContainsFunc(s.Schedulers, func(p run.Scheduler) bool { return p.New != nil }) {
		assumed = append(assumed, "scheduler: given by name, it fills each node that reports; there are no reservations and no preemption but its own, sizes are not rounded, and a yarn-site.xml sets the heartbeat alone")
	}
	return slices.Concat(assumed, s.steeringAssumptions(), s.Scenario.deadlineAssumptions())
}
