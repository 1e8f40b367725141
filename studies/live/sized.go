package live

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/yarn"
	"github.com/yardmaster/yardmaster/steer"
	steerpolicy "github.com/yardmaster/yardmaster/steer/all"
	"github.com/yardmaster/yardmaster/studies/conform"
	"github.com/yardmaster/yardmaster/studies/evidence"
	"github.com/yardmaster/yardmaster/studies/experiment"
	"github.com/yardmaster/yardmaster/studies/harness"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/studies/lab/proc"
	"github.com/yardmaster/yardmaster/studies/lab/steerer"
	"github.com/yardmaster/yardmaster/unit"
)

// Sized is a study of the size-based policies, steered live: the same arrivals under FIFO and under each policy, on a real ResourceManager, beside
// what a rehearsal predicts. Queues are made and taken back with "yarn prepare", and steered with "yarn steer", as an operator would.
type Sized struct {
	Size  SizedSize
	Kills int // of the steerer in a run, at random moments; 0: it is left alone
}

// SizedSize is the size of the study: applications with sizes from Min to Max container-seconds, on containers of one size.
type SizedSize struct {
	Apps                 int
	Min, Max             float64 // container-seconds
	Load                 float64 // work that arrives, as a share of what the cluster can do
	Nodes, PerNode       int     // containers
	Limits, Shares, Pair string  // of the policies
}

// Sizes of the study and of its miniature.
var (
	SizedFull = SizedSize{Apps: 160, Min: 6, Max: 1000, Load: 0.8, Nodes: 2, PerNode: 15, Limits: "60", Pair: "100", Shares: "0.7"}
	SizedMini = SizedSize{Apps: 40, Min: 2, Max: 600, Load: 1.3, Nodes: 2, PerNode: 12, Limits: "5", Pair: "40", Shares: "0.7"}
)

// sizedArm is one way to schedule the applications.
type sizedArm struct {
	Name     string
	Settings []string // of the policy
	Queues   []string // arguments of yarn prepare
}

const (
	sizedQueue  = "root.batch"
	sizedSeries = "run"
	killSeries  = "kills" // runs whose steerer was killed
	// sizedSeeds is the number of rehearsals: heartbeats have other phases in each.
	sizedSeeds = 10
	// tolerance is the greatest difference of a predicted gain and the measured one.
	tolerance = 0.10
	// sizedInterval is the sampling interval of the policies.
	sizedInterval = 2 * time.Second
)

func (s SizedSize) arms() []sizedArm {
	limits, pair, shares := "limits="+s.Limits, "limits="+s.Pair, []string{"--shares", s.Shares}
	levels := []string{"--levels", "2"}
	return []sizedArm{
		{Name: "fifo"},
		{"fbq", []string{limits}, levels},
		{"tags", []string{limits}, shares},
		{"sita", []string{pair}, shares},
		{"comp", nil, levels},
	}
}

// made is the workload: sizes at equal steps of a bounded Pareto distribution, in random order, at the arrivals of a Poisson process. Larger
// applications have more and longer containers.
func (s SizedSize) made() []hadoop.Application {
	const alpha = 0.9
	random := rand.New(rand.NewPCG(1, uint64(s.Apps)))
	apps, work, at := make([]hadoop.Application, s.Apps), 0.0, 0.0
	order := random.Perm(s.Apps)
	arrivals := make([]float64, s.Apps)
	for i := range apps {
		u := (float64(order[i]) + 0.5) / float64(s.Apps)
		size := s.Min * math.Pow(1-u*(1-math.Pow(s.Min/s.Max, alpha)), -1/alpha)
		hold := hadoop.Millis(1000 * s.Min / 2 * math.Pow(size/s.Min, 0.25))
		n := max(1, int(math.Round(size*1000/float64(hold))))
		size = float64(n) * hold.Duration().Seconds()
		work += size
		at += random.ExpFloat64()
		arrivals[i] = at
		apps[i] = hadoop.Application{
			ID: fmt.Sprintf("app-%03d", i), User: []string{"ann", "ben", "eva"}[i%3], Queue: sizedQueue, Tags: []string{fmt.Sprintf("size:%.3f", size)},
			Containers: []hadoop.Group{{Count: n, MB: 1024, Priority: 1, Hold: hadoop.Holds{hold}}},
		}
	}
	span := work / (s.Load * float64(s.Nodes*s.PerNode)) // in which the work arrives
	for i := range apps {
		apps[i].Submit = hadoop.Millis(1000 * span * arrivals[i] / at)
	}
	return apps
}

// SizedRecord is one run on the daemons.
type SizedRecord struct {
	Arm        string
	Repetition int
	Hadoop     string
	Settings   []string `json:",omitempty"`
	Queues     []string `json:",omitempty"` // the intake and the levels; none: FIFO
	Changes    []string `json:",omitempty"` // of the scheduler's settings
	Nodes      []NodeRecord
	Site       string // yarn-site.xml
	Conf       string // the scheduler's configuration during the run
	Workload   []hadoop.Application
	Zero       hadoop.Millis   `json:",omitempty"` // the instant from which submissions and ends count; 0: not recorded
	End        []hadoop.Millis // when each application ended, in the workload's order
	Jobs       []JobRecord     `json:",omitempty"` // of MapReduce
	Prediction string          `json:",omitempty"` // the record of what was predicted before the run; "": nothing was
	Moves      int
	Kills      []Kill `json:",omitempty"`
}

// Kill is a kill of the steerer with SIGKILL.
type Kill struct {
	After hadoop.Millis // since it said that it had started
	Guard bool          // its guard was killed, too: the next start finds the journal
	Down  hadoop.Millis // until the next one had started
}

// Study declares it.
func (s *Sized) Study() *harness.Study[SizedRecord] {
	h := &harness.Study[SizedRecord]{
		Options: harness.Options{Repetitions: 3}, Folder: "sizes-live", Small: func() { s.Size = SizedMini }, Template: sizedPage, Ways: []string{"fifo", "fbq", "tags", "sita", "comp"},
		Lab: func() hadoop.Options { return lab(queues("sized"), s.Size.Nodes, s.Size.PerNode) }, Nice: -10, Command: true, Ready: warmUp(sizedQueue), Run: s.run,
		Series: sizedSeries, Flags: func(f *flag.FlagSet) {
			f.IntVar(&s.Kills, "kills", s.Kills, "kill -9 the steerer so many times in each run; such runs have records of their own")
		},
	}
	h.Keep = func(began *evidence.Run, rec *SizedRecord) (evidence.Run, error) {
		series := sizedSeries
		if len(rec.Kills) > 0 {
			series = killSeries
		}
		return began.KeepJSON(h.Dir, series, rec)
	}
	h.Facts = func(ctx context.Context, runs []evidence.Run, records []*SizedRecord) (map[string]any, template.FuncMap, error) {
		return sizedData(ctx, h.Dir, runs, records)
	}
	return h
}

func (s *Sized) run(ctx context.Context, now *harness.Run) (*SizedRecord, string, error) {
	arms := s.Size.arms()
	rec, err := s.one(ctx, now, &arms[slices.IndexFunc(arms, func(a sizedArm) bool { return a.Name == now.Way })])
	if err != nil {
		return nil, "", err
	}
	f, err := rec.Figures()
	return rec, fmt.Sprintf("slowdown: median %.2f, p95 %.1f; %d moves", f["median"], f["p95"], rec.Moves), err
}

// one runs the workload under one arm.
func (s *Sized) one(ctx context.Context, now *harness.Run, a *sizedArm) (_ *SizedRecord, err error) {
	c, bin := now.Cluster, now.Bin
	rec, err := newRecord(now, s.Size.made(), s.Size.PerNode)
	if err != nil {
		return nil, err
	}
	var supervisor *supervised
	before, err := inForce(ctx, c)
	if err != nil {
		return nil, err
	}
	defer unchanged(ctx, c, before, &err) // after everything was taken back
	if a.Queues != nil {
		rec.Queues = []string{sizedQueue, sizedQueue + "-levels.batch-l1", sizedQueue + "-levels.batch-l2"} // those that yarn prepare makes
		rec.Settings = append(slices.Clone(a.Settings), fmt.Sprintf("interval=%v", sizedInterval))
		prepare := func(more ...string) error {
			args := slices.Concat([]string{"yarn", "prepare", "--rm", c.RM(), "--user", admin, "--queue", sizedQueue, "--journal", filepath.Join(c.Dir, "prepare")}, more)
			_, err := steerer.Run(ctx, bin, c.Dir, args...)
			return err
		}
		if err := prepare(append([]string{"--act", "--policy", a.Name}, a.Queues...)...); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, prepare("--undo")) }()
		args := []string{"yarn", "steer", "--rm", c.RM(), "--user", admin, "--policy", a.Name, "--act", "--queue", strings.Join(rec.Queues, ","), "--journal", filepath.Join(c.Dir, "journal"), "--log-format", "json", "--listen", "off"}
		for _, v := range rec.Settings {
			args = append(args, "--set", v)
		}
		supervisor = &supervised{start: func() (*steerer.Process, error) { return steerer.Start(bin, c.Dir, nil, args...) }, log: filepath.Join(c.LogDir(), "steer-"+a.Name)}
	}
	if rec.Conf, err = inForce(ctx, c); err == nil {
		rec.Prediction, err = rec.rehearsed(ctx, now)
	}
	if err != nil {
		return nil, err
	}
	if supervisor != nil {
		if err := supervisor.run(ctx); err != nil {
			return nil, err
		}
		killing, stop := context.WithCancel(ctx)
		killed := make(chan error, 1)
		go func() { killed <- supervisor.killAtRandom(killing, s.Kills, rec) }()
		defer func() {
			stop()
			err = errors.Join(err, <-killed, supervisor.end())
			rec.Moves = supervisor.moves
		}()
	}
	return rec, rec.play(ctx, c, nil)
}

// supervised is a steerer that is restarted when it was killed.
type supervised struct {
	*steerer.Process
	start func() (*steerer.Process, error)
	log   string // its output goes to log-N.log
	runs  int
	moves int
}

// run starts the command. A guard of the last one may still be restoring: then it tries again.
func (p *supervised) run(ctx context.Context) (err error) {
	return hadoop.Poll(ctx, 2*time.Minute, "starting the steerer", func() (bool, error) {
		if p.Process, err = p.start(); err != nil {
			return true, err
		}
		proc.Await(ctx, time.Minute, 20*time.Millisecond, func() bool { return p.Count("started") > 0 || !p.Alive() })
		if p.Count("started") > 0 && p.Alive() {
			return false, nil
		}
		p.keep()
		p.Process.End()
		return false, fmt.Errorf("it said last: %s", p.Last())
	})
}

func (p *supervised) keep() {
	p.runs++
	p.moves += p.Count("taken")
	p.Keep(fmt.Sprintf("%s-%d.log", p.log, p.runs))
}

// killAtRandom kills the command up to n times, every second time with its guard, and starts it again.
func (p *supervised) killAtRandom(ctx context.Context, n int, rec *SizedRecord) error {
	random := rand.New(rand.NewPCG(uint64(n), 6))
	for i := range n {
		k := Kill{After: hadoop.Millis(500 + random.IntN(3000)), Guard: i%2 == 1}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(k.After.Duration()):
		}
		var guards []int
		if k.Guard {
			guards = p.Guards()
		}
		p.Process.End(guards...)
		p.keep()
		began := time.Now()
		if err := p.run(context.WithoutCancel(ctx)); err != nil {
			return fmt.Errorf("after kill %d: %w", i+1, err)
		}
		k.Down = hadoop.Millis(time.Since(began).Milliseconds())
		rec.Kills = append(rec.Kills, k)
	}
	return nil
}

// end stops the command.
func (p *supervised) end() error {
	alive := p.Alive()
	_, ok := p.Stop(time.Minute)
	p.keep()
	if !alive || !ok {
		return fmt.Errorf("the steerer did not end when it was told to; it said last: %s", p.Last())
	}
	return nil
}

// Figures are those of the slowdown: elapsed time over that on the empty cluster, which is ideal, without heartbeats.
func (r *SizedRecord) Figures() (experiment.Metrics, error) {
	return r.slowdown(r.ends())
}

func (r *SizedRecord) slowdown(end map[string]int64) (experiment.Metrics, error) {
	list, err := jobs(r.Workload)
	if err != nil {
		return nil, err
	}
	all, alone := make([]float64, len(list)), sim.NewAlone(clusterOf(r.Nodes), sim.Model{}, 1)
	for i, j := range list {
		if end[j.ID] < 0 {
			return nil, fmt.Errorf("%s has not ended", j.ID)
		}
		all[i] = float64(end[j.ID]-int64(r.Workload[i].Submit)) / 1000 / alone.Of(j, int64(i)).Seconds()
	}
	return experiment.Metrics{"median": result.Quantile(all, 0.5), "p95": result.Quantile(all, 0.95), "mean": result.Mean(all).Mean}, nil
}

// rehearsed predicts a run before it starts, and stores that.
func (r *SizedRecord) rehearsed(ctx context.Context, now *harness.Run) (string, error) {
	var p Prediction
	for seed := range uint64(sizedSeeds) {
		m, err := r.rehearse(ctx, seed+1)
		if err != nil {
			return "", fmt.Errorf("rehearsing: %w", err)
		}
		p.Replays = append(p.Replays, m)
	}
	return p.keep(now)
}

// rehearse predicts the run: the same applications, configuration and steering policy, and the default timing of real daemons.
func (r *SizedRecord) rehearse(ctx context.Context, seed uint64) (experiment.Metrics, error) {
	out, err := r.predict(ctx, seed)
	if err != nil {
		return nil, err
	}
	return r.slowdown(out.End)
}

func (r *SizedRecord) predict(ctx context.Context, seed uint64) (*conform.Outcome, error) {
	list, err := jobs(r.Workload)
	if err != nil {
		return nil, err
	}
	newScheduler, err := conform.Scheduler(r.Site, r.Conf, "")
	if err != nil {
		return nil, err
	}
	timing := yarn.Hadoop()
	spec := &run.Spec{Cluster: clusterOf(r.Nodes), Workload: run.Jobs(list), Scheduler: run.Scheduler{Name: r.Arm, RM: newScheduler}, Timing: &timing, Log: &run.Log{}, Seed: seed}
	if len(r.Queues) > 0 {
		setup := &steer.Setup{Queue: r.Queues[0], Queues: r.Queues, Set: r.Settings}
		spec.Scheduler.Steer = &steer.Rehearsal{
			Name: r.Arm, Queue: r.Queues[0], Delays: steer.Delays{Sense: unit.Second, PerHour: steer.PerHour}, Bounds: steer.Bounds{Queues: r.Queues}, Needs: steerpolicy.Policies.Find(r.Arm).Needs,
			New: func(uint64) (steer.Steerer, error) { return steerpolicy.Policies.New(r.Arm, setup) },
		}
	}
	return conform.Replay(ctx, spec, false)
}

// sizedFacts are the figures of all arms.
type sizedFacts struct {
	*armFigures
	Kept    []evidence.Run
	Records []*SizedRecord
	Killed  []*SizedRecord // runs whose steerer was killed
	Ledger  []evidence.Run // theirs
}

func newSizedFacts(ctx context.Context, dir string, runs []evidence.Run, records []*SizedRecord) (*sizedFacts, error) {
	f := &sizedFacts{Kept: runs, Records: records}
	var err error
	if f.Ledger, f.Killed, err = evidence.ReadSeries[SizedRecord](dir, killSeries); err == nil {
		f.armFigures, err = figures(ctx, dir, records, (*SizedRecord).Figures, (*SizedRecord).rehearse)
	}
	return f, err
}

// armFigures are those of all runs and of rehearsals, by arm.
type armFigures struct {
	experiment.Gains
	Recomputed []string // arms whose predictions were not recorded before their first runs
}

// figures collects them. A rehearsal that was recorded before the arm's first run is read; others are recomputed.
func figures(ctx context.Context, dir string, records []*SizedRecord, measured func(*SizedRecord) (experiment.Metrics, error),
	rehearsed func(r *SizedRecord, ctx context.Context, seed uint64) (experiment.Metrics, error),
) (*armFigures, error) {
	kept, predictions, err := evidence.ReadSeries[Prediction](dir, predictionSeries)
	if err != nil {
		return nil, err
	}
	f, found, ours := &armFigures{Gains: experiment.Gains{Base: "fifo"}}, map[string][]experiment.Metrics{}, map[string][]experiment.Metrics{}
	most := 0
	for _, r := range records {
		m, err := measured(r)
		if err != nil {
			return nil, err
		}
		if found[r.Arm] == nil {
			f.Ways = append(f.Ways, r.Arm)
			if i := slices.IndexFunc(kept, func(p evidence.Run) bool { return p.File == r.Prediction }); i >= 0 {
				ours[r.Arm] = predictions[i].Replays
			} else {
				f.Recomputed = append(f.Recomputed, r.Arm)
				for seed := range uint64(sizedSeeds) {
					m, err := rehearsed(r, ctx, seed+1)
					if err != nil {
						return nil, fmt.Errorf("rehearsing %s: %w", r.Arm, err)
					}
					ours[r.Arm] = append(ours[r.Arm], m)
				}
			}
		}
		found[r.Arm] = append(found[r.Arm], m)
		most = max(most, len(found[r.Arm]))
	}
	for arm, list := range found {
		found[arm] = append(list, make([]experiment.Metrics, most-len(list))...)
	}
	f.Measured, f.Predicted = experiment.NewRuns(experiment.Seeds(1, most), found), experiment.NewRuns(experiment.Seeds(1, sizedSeeds), ours)
	return f, nil
}

// Kills are all kills of the steerer.
func (f *sizedFacts) Kills() (list []Kill) {
	for _, r := range f.Killed {
		list = append(list, r.Kills...)
	}
	return list
}

// Guards counts the kills that hit the guard, too.
func (f *sizedFacts) Guards() (n int) {
	for _, r := range f.Killed {
		n += r.Guards()
	}
	return n
}

// Guards counts the kills that hit the guard, too.
func (r *SizedRecord) Guards() (n int) {
	for _, k := range r.Kills {
		if k.Guard {
			n++
		}
	}
	return n
}

// Downs are the times from a kill until the next steerer had started, in seconds.
func (f *sizedFacts) Downs() (list []float64) {
	for _, k := range f.Kills() {
		list = append(list, k.Down.Duration().Seconds())
	}
	return list
}

// Judged is whether a predicted gain is within the tolerance of the measured one.
func (f *sizedFacts) Judged(arm, metric string) judged {
	return judge(-f.Gain(f.Predicted, arm, metric), f.Measured.Relative(f.Base, arm, metric))
}

// Verdict says whether the prediction holds: the same order, and each gain within the tolerance.
func (f *sizedFacts) Verdict(metric string) string {
	var misses, open []string
	if f.Order(f.Measured, metric) != f.Order(f.Predicted, metric) {
		misses = append(misses, "the order differs")
	}
	for _, a := range f.Ways {
		switch off := f.Off(a, metric); {
		case a == "fifo":
		case f.Judged(a, metric) == missed:
			misses = append(misses, fmt.Sprintf("%s is off by %+.0f points", a, 100*off))
		case f.Judged(a, metric) == undecided:
			open = append(open, a)
		}
	}
	switch {
	case misses != nil:
		return string(missed) + ": " + strings.Join(misses, "; ")
	case open != nil:
		return fmt.Sprintf("%s for %s", undecided, strings.Join(open, ", "))
	}
	return string(met)
}

//go:embed sized.md.tmpl
var sizedPage string

// sizedData are the figures of the page. It draws the picture, too.
func sizedData(ctx context.Context, dir string, runs []evidence.Run, records []*SizedRecord) (map[string]any, template.FuncMap, error) {
	f, err := newSizedFacts(ctx, dir, runs, records)
	if err != nil {
		return nil, nil, err
	}
	r, sizes := records[0], []float64(nil)
	work, last := 0.0, 0.0
	for _, a := range r.Workload {
		size := float64(a.Containers[0].Count) * a.Containers[0].Hold[0].Duration().Seconds()
		sizes, work, last = append(sizes, size), work+size, a.Submit.Duration().Seconds()
	}
	slots := 0
	for _, n := range r.Nodes {
		slots += n.MB / r.Workload[0].Containers[0].MB
	}
	metrics, titles := []string{"median", "p95"}, map[string]string{"median": "Median slowdown", "p95": "95th percentile of the slowdown"}
	data := map[string]any{
		"F": f, "First": r, "Sizes": sizes, "Slots": slots, "Last": last, "Load": work / last / float64(slots), "Seeds": sizedSeeds, "Interval": sizedInterval, "Tolerance": 100 * tolerance,
		"Metrics": metrics, "Titles": titles,
	}
	return data, intervals, f.Picture(filepath.Join(dir, "slowdown.svg"), "measured on the ResourceManager", metrics, titles)
}

// intervals formats the mean of an arm's figures.
var intervals = template.FuncMap{"interval": func(of *experiment.Runs, arm, metric string) string {
	return experiment.Interval(of.Estimate(arm, metric))
}}
