package experiment

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/yardmaster/yardmaster/run"
)

// Plan is what to run.
type Plan struct {
	Selected []Selection
	Seeds    []uint64
	Workers  int    // concurrent runs; 0: GOMAXPROCS
	Version  string // of the program, shown with the findings
	Command  string // that runs this plan, shown with the findings
	// Progress, if not nil, is called after each run, from several goroutines but never concurrently.
	Progress func(done, total int)
}

// Selection is a study and its experiments to run, in the study's order.
type Selection struct {
	Study       *Study
	Experiments []string
}

// Run runs every selected experiment with every seed (or the first ones, see Experiment.Seeds) and judges the checks. When ctx is done it returns the results so far, marked
// partial: each seed goes through all experiments before the next, so that there is something to compare. A failed run is listed
// in Failures; the others continue.
func Run(ctx context.Context, plan Plan) (*Findings, error) {
	begin := time.Now()
	var first []job // of the first seed; the other seeds repeat it
	runs := make([]*Runs, len(plan.Selected))
	for i, sel := range plan.Selected {
		if err := sel.Study.Validate(); err != nil {
			return nil, err
		}
		runs[i] = &Runs{seeds: plan.Seeds, metrics: map[string][]Metrics{}}
		for _, id := range sel.Experiments {
			at := sel.Study.at(id)
			if at < 0 {
				return nil, fmt.Errorf("study %s has no experiment %s", sel.Study.Name, id)
			}
			runs[i].metrics[id] = make([]Metrics, len(plan.Seeds))
			first = append(first, job{study: sel.Study.Name, of: &sel.Study.Experiments[at], to: runs[i].metrics[id]})
		}
	}
	jobs := make([]job, 0, len(first)*len(plan.Seeds))
	for s, seed := range plan.Seeds {
		for _, j := range first {
			if j.seed, j.at = seed, s; j.of.Seeds == 0 || s < j.of.Seeds {
				jobs = append(jobs, j)
			}
		}
	}
	var mu sync.Mutex
	done := 0
	run.Each(ctx, len(jobs), plan.Workers, func(i int) { // each job writes to its own element
		jobs[i].play(ctx)
		mu.Lock()
		defer mu.Unlock()
		if done++; plan.Progress != nil {
			plan.Progress(done, len(jobs))
		}
	})

	f := &Findings{Version: plan.Version, Command: plan.Command, Seeds: plan.Seeds, Planned: len(jobs)}
	for i := range jobs {
		j := &jobs[i]
		switch {
		case j.err != nil:
			f.Failures = append(f.Failures, Failure{Experiment: j.study + "/" + j.of.ID, Seed: j.seed, Error: j.err.Error()})
		case j.to[j.at] != nil:
			f.Done++
		default:
			f.Partial = true
		}
	}
	for i, sel := range plan.Selected {
		f.Studies = append(f.Studies, found(sel, runs[i]))
	}
	f.Elapsed = time.Since(begin)
	return f, nil
}

type job struct {
	study string
	of    *Experiment
	seed  uint64
	to    []Metrics // by seed
	at    int       // the seed's index
	err   error
}

// play executes one run. A panic in it becomes an error of the run, so that the run is identified.
func (j *job) play(ctx context.Context) {
	defer func() {
		if v := recover(); v != nil {
			j.err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	metrics, err := j.of.Run(ctx, j.seed)
	switch {
	case err != nil && ctx.Err() != nil: // cancelled
	case err != nil:
		j.err = err
	case metrics == nil:
		j.to[j.at] = Metrics{}
	default:
		j.to[j.at] = metrics
	}
}

// Seeds are n seeds from the first.
func Seeds(first uint64, n int) []uint64 {
	seeds := make([]uint64, n)
	for i := range seeds {
		seeds[i] = first + uint64(i)
	}
	return seeds
}

// Rejudge applies today's checks to stored figures: texts, rules and sections may have changed since, figures are used as they
// are. Experiments that a study no longer has are left out.
func Rejudge(kept *Findings, studies []*Study) (*Findings, error) {
	f := *kept
	f.Studies = nil
	for i := range kept.Studies {
		old := &kept.Studies[i]
		at := slices.IndexFunc(studies, func(s *Study) bool { return s.Name == old.Name })
		if at < 0 {
			return nil, fmt.Errorf("study %s no longer exists: its findings can be shown, not judged again", old.Name)
		}
		s := studies[at]
		if err := s.Validate(); err != nil {
			return nil, err
		}
		runs := &Runs{seeds: kept.Seeds, metrics: map[string][]Metrics{}}
		for k := range old.Experiments {
			if e := &old.Experiments[k]; s.at(e.ID) >= 0 {
				if len(e.Metrics) == 0 {
					return nil, fmt.Errorf("%s/%s was recovered from a page and has no figures by seed: it can be shown, not judged again", s.Name, e.ID)
				}
				runs.metrics[e.ID] = e.runs(kept.Seeds)
			}
		}
		sel := Selection{Study: s}
		for _, id := range ids(s) {
			if runs.metrics[id] != nil {
				sel.Experiments = append(sel.Experiments, id)
			}
		}
		f.Studies = append(f.Studies, found(sel, runs))
	}
	return &f, nil
}

// Found judges figures that were measured elsewhere; the study needs no experiments of its own.
func (s *Study) Found(runs *Runs) StudyFinding {
	all := Selection{Study: s}
	for id := range runs.metrics {
		all.Experiments = append(all.Experiments, id)
	}
	return found(all, runs)
}

// runs are the figures of an experiment by seed index; nil where it was not run.
func (e *ExperimentFinding) runs(seeds []uint64) []Metrics {
	out := make([]Metrics, len(seeds))
	for k, seed := range e.Seeds {
		at := slices.Index(seeds, seed)
		if at < 0 {
			continue
		}
		out[at] = Metrics{}
		for i := range e.Metrics {
			if m := &e.Metrics[i]; k < len(m.Values) && !math.IsNaN(float64(m.Values[k])) {
				out[at][m.Name] = float64(m.Values[k])
			}
		}
	}
	return out
}

// Fingerprint tells whether a printed page is what today's code would print, at the cost of a few runs: it covers the study's data (texts,
// set-ups, rules with their thresholds) and every figure of its probes, run with few seeds. A change in a setting's effect changes some
// figure of some probe.
type Fingerprint struct {
	Data  string `json:"data"`
	Probe string `json:"probe,omitempty"` // "" where not all probes were run with these seeds
	Seed  uint64 `json:"seed"`            // the first
}

// probes are the experiments that are run for a fingerprint, in the study's order.
func (s *Study) probes() []string {
	if s.Probes == nil {
		return ids(s)
	}
	return s.Probes
}

// probeSeeds are the seeds of a fingerprint.
func (s *Study) probeSeeds(first uint64) []uint64 { return Seeds(first, max(s.ProbeSeeds, 1)) }

// fingerprint is computed from the runs of the first seeds.
func (s *Study) fingerprint(runs *Runs) Fingerprint {
	f := Fingerprint{Data: s.dataHash()}
	if len(runs.seeds) > 0 {
		f.Seed = runs.seeds[0]
	}
	probes, seeds := s.probes(), s.probeSeeds(f.Seed)
	if len(runs.seeds) < len(seeds) || !slices.Equal(runs.seeds[:len(seeds)], seeds) {
		return f
	}
	if common := runs.common(probes); len(common) < len(seeds) || common[len(seeds)-1] != len(seeds)-1 {
		return f
	}
	h := sha256.New()
	for _, id := range probes {
		for i := range seeds {
			for _, name := range runs.Metrics(id) {
				if v, ok := runs.metrics[id][i][name]; ok && !math.IsNaN(v) {
					_, _ = fmt.Fprintf(h, "%s %d %s %.6g\n", id, i, name, v) // six digits: further ones differ between processors
				}
			}
		}
	}
	f.Probe = short(h.Sum(nil))
	return f
}

// dataHash is a hash of the study's description, checks and set-ups.
func (s *Study) dataHash() string {
	h := sha256.New()
	add := func(v any) {
		text, err := json.Marshal(v)
		if err != nil {
			panic("experiment: " + err.Error()) // texts and numbers only
		}
		_, _ = h.Write(append(text, '\n'))
	}
	add([]any{s.Name, s.Title, s.Source, s.About, s.Assumptions, s.Calibrated})
	for _, e := range s.Experiments {
		add([]any{e.ID, e.Group, e.Title, e.Setup})
		for _, r := range e.Reported {
			add([]any{r.Metric, r.What, r.Unit, Float(r.Paper), r.Note})
		}
	}
	for i := range s.Checks {
		c := &s.Checks[i]
		add([]any{c.ID, c.Text, c.Paper, c.Strength, c.needs(), c.ByConstruction, c.Judge.Rule, c.Why})
		if r := c.Revised; r != nil {
			add([]any{r.First.Rule, r.Gave != nil, r.Why})
		}
	}
	return short(h.Sum(nil))
}

func short(sum []byte) string { return hex.EncodeToString(sum[:8]) }

// String is the form printed on a page.
func (f Fingerprint) String() string {
	return fmt.Sprintf("data %s, probe %s, seed %d", f.Data, f.Probe, f.Seed)
}
