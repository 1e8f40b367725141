package scenario

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/cluster/clusterfile"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/mapreduce"
	"github.com/yardmaster/yardmaster/sim/yarn"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/jobfile"
	"github.com/yardmaster/yardmaster/workload/synth"
	"github.com/yardmaster/yardmaster/workload/trace"
)

// Setup is a scenario whose parts have been opened and found good.
type Setup struct {
	Scenario Scenario
	Cluster  *cluster.Cluster
	Policies []NamedPolicy
	Timing   *yarn.Timing // of a YARN clock; nil: ideal time
	Work     Work

	Phases    *mapreduce.Model  // of the phases of tasks; nil: they have lengths
	NewWorker func() sim.Worker // what plays the tasks of a run; nil: the lengths of their stages
}

// NamedPolicy is a scheduler as typed and how to make it afresh.
type NamedPolicy struct {
	Name string
	New  func() (policy.Policy, error)
	RM   func() (rm.Scheduler, error) // with a YARN clock; New is then nil for a scheduler that is no policy

	Steer *steer.Rehearsal // who moves its settings while jobs run; nil: nobody
}

// Title names the scheduler with who steers it.
func (p *NamedPolicy) Title() string {
	if p.Steer == nil {
		return p.Name
	}
	return p.Name + " + " + p.Steer.Name
}

// Work is where the jobs come from.
type Work struct {
	Title       string // as typed
	SHA256      string // of the file, when it is one
	Jobs        int64  // 0 when nobody knows yet
	Drawn       bool   // the jobs themselves depend on the seed
	Once        bool   // they can be read only once: standard input, a pipe
	Assumptions []string
	Settings    jobfile.Settings // under which the jobs were observed, where the file says
	// Open starts the workload afresh.
	Open func(seed uint64) (workload.Source, error)
}

// MisuseError says that what was asked for cannot be meant, as opposed to work that failed.
type MisuseError struct{ Err error }

func (e *MisuseError) Error() string { return e.Err.Error() }
func (e *MisuseError) Unwrap() error { return e.Err }

func misuse(format string, args ...any) error { return &MisuseError{fmt.Errorf(format, args...)} }

// Resolve opens the parts of a scenario.
func (s Scenario) Resolve() (*Setup, error) {
	switch {
	case len(s.Workload) == 0:
		return nil, misuse("no workload: give --workload FILE, or --workload synth:demo to try without data")
	case s.Cluster == "":
		return nil, misuse("no cluster: give --cluster 600x6/30 (600 nodes of 6 containers in 30 racks) or a file")
	case len(s.Schedulers) == 0:
		return nil, misuse("no scheduler: give --scheduler fifo, or see \"yardmaster schedulers\"")
	}
	out := &Setup{Scenario: s}
	var err error
	if out.Cluster, err = clusterfile.Open(s.Cluster); errors.Is(err, clusterfile.ErrFile) {
		return nil, err
	} else if err != nil {
		return nil, &MisuseError{err}
	}
	if err := s.checkLosses(out.Cluster); err != nil {
		return nil, err
	}
	if err := s.resolveData(out); err != nil {
		return nil, err
	}
	if err := s.resolveYarn(out); err != nil {
		return nil, err
	}
	for _, name := range s.Schedulers {
		if out.Timing != nil {
			break
		}
		p, err := loadPolicy(name)
		if err != nil {
			return nil, err
		}
		out.Policies = append(out.Policies, p)
	}
	if err := s.resolveSteering(out); err != nil {
		return nil, err
	}
	if out.Work, err = s.work(); err != nil {
		return nil, err
	}
	return out, nil
}

// checkLosses refuses to lose nodes that are not there.
func (s *Scenario) checkLosses(c *cluster.Cluster) error {
	if len(s.Model.Losses) == 0 {
		return nil
	}
	names := make(map[string]bool, len(c.Nodes))
	for i := range c.Nodes {
		names[c.Nodes[i].Name] = true
	}
	for _, l := range s.Model.Losses {
		if !names[l.Node] {
			return misuse("lose-node: the cluster has no node %q; its first is %q", l.Node, c.Nodes[0].Name)
		}
	}
	return nil
}

// work finds out where the jobs come from.
func (s *Scenario) work() (Work, error) {
	if err := s.Trace.SWIM.Validate(); err != nil {
		return Work{}, &MisuseError{err}
	}
	w := Work{Title: strings.Join(s.Workload, " ")}
	if w.Title == "-" {
		w.Title = "standard input"
	}
	if name, ok := strings.CutPrefix(s.Workload[0], "synth:"); ok {
		if len(s.Workload) > 1 {
			return w, misuse("workload: %s stands alone; it cannot be joined with files", s.Workload[0])
		}
		config, err := synth.Preset(name)
		if err != nil {
			return w, &MisuseError{fmt.Errorf("workload: %w", err)}
		}
		if err := s.CheckTrace("", w.Title); err != nil {
			return w, err
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
		for _, path := range s.Workload {
			if strings.HasPrefix(path, "synth:") {
				return w, misuse("workload: %s stands alone; it cannot be joined with files", path)
			}
		}
		var err error
		if w.SHA256, err = hash(s.Workload); err != nil {
			return w, err
		}
		w.Open = s.trace
	}
	// Opening it once tells, before any work is done, that it can be opened, and what its reader assumes.
	src, err := w.Open(s.Seed)
	if err != nil {
		return w, err
	}
	if t, ok := src.(*trace.Workload); ok {
		if err := s.CheckTrace(t.Format, w.Title); err != nil {
			closeSource(src)
			return w, err
		}
		w.Settings = t.Settings()
	}
	if w.Once = s.pipe(); w.Once {
		w.Open = once(src)
	} else {
		defer closeSource(src)
	}
	if a, ok := src.(interface{ Assumptions() []string }); ok {
		w.Assumptions = a.Assumptions()
	}
	w.Jobs = s.count(src)
	if s.ScaleLoad != 1 || s.ScaleLength != 1 {
		s.scale(&w)
	}
	return w, nil
}

// pipe says whether a file of the workload cannot be opened a second time.
func (s *Scenario) pipe() bool {
	for _, path := range s.Workload {
		if st, err := os.Stat(path); path == "-" || err == nil && !st.Mode().IsRegular() {
			return true
		}
	}
	return false
}

// once hands out a source that is open already.
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

// scale makes a workload heavier or longer. The original is kept in memory, the copies are not.
func (s *Scenario) scale(w *Work) {
	open := w.Open
	w.Drawn = true // copies are shifted at random
	line := fmt.Sprintf("workload: scaled to %v times the load and %v times the length, alike in shape", s.ScaleLoad, s.ScaleLength)
	w.Assumptions = append(w.Assumptions, line)
	if w.Jobs > 0 {
		w.Jobs = int64(float64(w.Jobs) * s.ScaleLoad * s.ScaleLength)
	}
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
		larger, err := synth.Scale(base, synth.ScaleOptions{Load: s.ScaleLoad, Length: s.ScaleLength, Seed: seed})
		if err != nil {
			return nil, err
		}
		out := &scaled{Source: larger, jobs: int64(float64(len(base)) * s.ScaleLoad * s.ScaleLength)}
		if n, ok := src.(interface{ Notes() []workload.Note }); ok {
			out.notes = n.Notes()
		}
		if a, ok := src.(interface{ Assumptions() []string }); ok {
			out.assumptions = append(slices.Clone(a.Assumptions()), line)
		}
		return out, nil
	}
}

// scaled is a workload made larger that still says what its reader had to say, and about how many jobs it has.
type scaled struct {
	workload.Source
	jobs        int64
	notes       []workload.Note
	assumptions []string
}

func (s *scaled) Jobs() int64            { return s.jobs }
func (s *scaled) Notes() []workload.Note { return s.notes }
func (s *scaled) Assumptions() []string  { return s.assumptions }

func closeSource(src workload.Source) {
	if c, ok := src.(io.Closer); ok {
		_ = c.Close() // it was only read
	}
}

// hash is the SHA-256 of a workload that is one regular file.
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
		return "", nil // whoever opens it as a workload says what is wrong with it
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("workload: read %s: %w", paths[0], err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Echo is what the result of a run says that it is of.
func (s *Setup) Echo(p NamedPolicy, seed uint64) result.Scenario {
	one := s.Scenario
	one.Schedulers, one.Seed, one.Seeds = []string{p.Name}, seed, 1
	if one.Steering.Policies = nil; p.Steer != nil {
		one.Steering.Policies = []string{p.Steer.Name}
	} else {
		one.Steering = nobodySteers()
	}
	return result.Scenario{
		Workload: s.Work.Title, WorkloadSHA256: s.Work.SHA256,
		Cluster: s.Scenario.Cluster, ClusterTitle: s.Cluster.String(),
		Scheduler: p.Title(), OtherSettings: s.otherSettings(p), Model: one.Changed(), Seed: seed,
		Command: one.Command("simulate"),
	}
}

// Assumptions are those of the workload's reader and those of the model.
func (s *Setup) Assumptions() []string {
	of := append([]string{}, s.Work.Assumptions...)
	if s.Timing != nil {
		of = append(of, s.Scenario.Yarn.assumptions(s.Timing)...)
		if slices.ContainsFunc(s.Policies, func(p NamedPolicy) bool { return p.New != nil }) {
			of = append(of, "scheduler: given by name, it fills each node that reports; there are no reservations and no preemption, sizes are not rounded, and a yarn-site.xml sets the heartbeat alone")
		}
		return append(of, s.steeringAssumptions()...)
	}
	return slices.Concat(of, s.Scenario.Assumptions(), s.dataAssumptions(), s.steeringAssumptions())
}
