package main

import (
	"context"
	_ "embed"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/yardmaster/yardmaster/kube/lab"
	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/studies/evidence"
	"github.com/yardmaster/yardmaster/studies/experiment"
	"github.com/yardmaster/yardmaster/studies/harness"
	"github.com/yardmaster/yardmaster/unit"
)

func init() {
	verbs = append(verbs, verb{"gain", "the same jobs under every policy, as Kubernetes comes, and under other systems; what had the simulator said?", newGain().study().Verb})
}

// gain is the study: the same jobs in every run.
type gain struct {
	site
	jobs    []job
	probes  []job // that the cluster's timing is measured with
	systems []*system
}

// The studies' cluster and workload. They were chosen with the simulator, before the first run: so many jobs as end within two and a half minutes, and a load at which they queue.
var (
	fullSite = site{Nodes: 8, CPU: 4, StartUp: 100}
	fullSize = size{Jobs: 200, Min: 3, Max: 600, Most: 24, Load: 1}
	miniSite = site{Nodes: 2, CPU: 2, StartUp: 100}
	miniSize = size{Jobs: 8, Min: 0.5, Max: 4, Most: 3, Load: 1}
)

func newGain() *gain {
	return &gain{
		site: fullSite, jobs: fullSize.made(fullSite), probes: probes(6, 6, 8),
		systems: slices.Concat([]*system{kubernetes}, ours(controller, ""), ours(scheduler, byScheduler, "fair", "fbq"), peers()),
	}
}

func (g *gain) small() {
	g.site, g.jobs, g.probes = miniSite, miniSize.made(miniSite), probes(2, 1, 4)
}

// gainRecord is one run.
type gainRecord struct {
	Way        string
	Repetition int
	Site       site
	Jobs       []job
	Settings   map[string]string `json:",omitempty"`
	Prediction string            `json:",omitempty"` // the record of what was said before the run
	Runs       []jobRun
}

// prediction is what was said before the runs that name it.
type prediction struct {
	Site     site
	Jobs     []job
	Timing   map[string]timing            // by driver, measured before
	Settings map[string]map[string]string // by way
	Said     map[string]experiment.Metrics
}

const (
	predictions = "prediction"
	byScheduler = "-scheduler"
)

func (g *gain) study() *harness.Study[gainRecord] {
	h := &harness.Study[gainRecord]{
		Options: harness.Options{Repetitions: 5}, Folder: folder("gain"), Small: g.small, Series: "run", Template: gainPage,
		Key:    func(r *gainRecord) (string, int) { return r.Way, r.Repetition },
		Resume: true,
	}
	for _, s := range g.systems {
		h.Ways = append(h.Ways, s.name)
	}
	var said string
	h.Ready = func(ctx context.Context, b *harness.Bench) (err error) {
		said, err = g.predicted(ctx, b, h.Selected())
		return err
	}
	h.Run = func(ctx context.Context, now *harness.Run) (*gainRecord, string, error) {
		rec, summary, err := g.run(ctx, now)
		if err == nil && rec.Settings != nil {
			rec.Prediction = said
		}
		return rec, summary, err
	}
	h.Facts = func(_ context.Context, runs []evidence.Run, records []*gainRecord) (map[string]any, template.FuncMap, error) {
		return g.facts(h.Dir, runs, records)
	}
	return h
}

func (g *gain) system(way string) *system {
	return g.systems[slices.IndexFunc(g.systems, func(s *system) bool { return s.name == way })]
}

func (g *gain) run(ctx context.Context, now *harness.Run) (*gainRecord, string, error) {
	s := g.system(now.Way)
	rec := &gainRecord{Way: now.Way, Repetition: now.Repetition, Site: g.site, Jobs: g.jobs, Settings: s.settings}
	if err := within(ctx, now.Log, func(t testing.TB) { rec.Runs = s.play(t, rec.Site, rec.Jobs, nil) }); err != nil {
		return nil, "", err
	}
	m, err := rec.figures()
	return rec, fmt.Sprintf("slowdown: median %.2f, p95 %.1f", m["median"], m["p95"]), err
}

func (r *gainRecord) figures() (experiment.Metrics, error) {
	created, ends := make([]millis, len(r.Runs)), make([]millis, len(r.Runs))
	for i, run := range r.Runs {
		created[i] = run.Created
		for _, p := range run.Pods {
			ends[i] = max(ends[i], p.End)
		}
	}
	return figures(r.Site, r.Jobs, created, ends)
}

// predicted stores what is said of the ways that have settings of ours, unless it has been stored: the record's name. The timing of a cluster is measured once, before.
func (g *gain) predicted(ctx context.Context, b *harness.Bench, ways []string) (file string, err error) {
	runs, stored, err := evidence.ReadSeries[prediction](b.Dir, predictions)
	if err != nil {
		return "", err
	}
	p := &prediction{Site: g.site, Jobs: g.jobs, Timing: map[string]timing{}, Settings: map[string]map[string]string{}, Said: map[string]experiment.Metrics{}}
	for i, was := range stored {
		if reflect.DeepEqual(was.Site, g.site) && reflect.DeepEqual(was.Jobs, g.jobs) {
			file, p = runs[i].File, was
		}
	}
	created := make([]millis, len(g.jobs))
	for i := range g.jobs {
		created[i] = g.jobs[i].Submit
	}
	for _, way := range ways {
		s := g.system(way)
		if s.settings == nil || reflect.DeepEqual(p.Settings[way], s.settings) {
			continue
		}
		if _, known := p.Timing[s.driver()]; !known {
			if p.Timing[s.driver()], err = g.measured(ctx, b, s); err != nil {
				return "", fmt.Errorf("measuring the timing: %w", err)
			}
		}
		ends, err := s.rehearse(ctx, g.site, g.jobs, p.Timing[s.driver()])
		if err != nil {
			return "", fmt.Errorf("rehearsing %s: %w", way, err)
		}
		if p.Said[way], err = figures(g.site, g.jobs, created, ends); err != nil {
			return "", err
		}
		p.Settings[way], file = s.settings, ""
	}
	if file == "" && len(p.Said) > 0 {
		kept, err := evidence.Begin(b.Program).KeepJSON(b.Dir, predictions, p)
		return kept.File, err
	}
	return file, nil
}

// probes are jobs for a cluster that has nothing else to do: some of one pod, and some of several.
func probes(single, several, pods int) (jobs []job) {
	at := millis(0)
	for i := range single + several {
		n := 1
		if i >= single {
			n = pods
		}
		jobs = append(jobs, job{Name: fmt.Sprint("probe-", i), Team: teams[0], Submit: at, Lengths: slices.Repeat([]millis{500}, n)})
		at += 1500
	}
	return jobs
}

// measured is the timing of the cluster under a driver, from probes.
func (g *gain) measured(ctx context.Context, b *harness.Bench, s *system) (m timing, err error) {
	var runs []jobRun
	var events []event
	if err := within(ctx, b.Log, func(t testing.TB) {
		runs = s.play(t, g.site, g.probes, func(l *lab.Lab, begin time.Time) { events = logged(t, l, begin, g.probes) })
	}); err != nil {
		return m, err
	}
	var service, bind, start, watch []float64
	var created, next, left []float64
	over := map[int]unit.Time{}
	known, released, last := map[int][2]unit.Time{}, map[[2]int]unit.Time{}, map[int]unit.Time{} // first and last pod known
	for _, e := range events {
		pod := [2]int{e.Job, e.Pod}
		switch e.What {
		case "see":
			if k, again := known[e.Job]; again {
				known[e.Job] = [2]unit.Time{k[0], e.At}
			} else {
				known[e.Job] = [2]unit.Time{e.At, e.At}
			}
		case "release":
			released[pod] = e.At
		case "bind":
			if len(g.probes[e.Job].Lengths) == 1 {
				bind = append(bind, float64(e.At-released[pod]))
			} else if was, known := last[e.Job]; known && released[pod] < was { // it has waited for that one
				service = append(service, float64(e.At-was))
			}
			last[e.Job] = e.At
			start = append(start, float64(runs[e.Job].Pods[e.Pod].Start.unit()-e.At))
		case "end":
			over[e.Job] = e.At
			watch = append(watch, float64(e.At-runs[e.Job].Pods[e.Pod].End.unit()))
		case "leave":
			left = append(left, float64(e.At-over[e.Job]))
		}
	}
	median := func(v []float64) unit.Time {
		if len(v) == 0 {
			return 0
		}
		return max(0, unit.Time(math.Round(result.Quantile(v, 0.5))))
	}
	for i, k := range known {
		created = append(created, float64(k[0]-runs[i].Created.unit()))
		if n := len(g.probes[i].Lengths); n > 1 {
			next = append(next, float64(k[1]-k[0])/float64(n-1))
		}
	}
	m.Created, m.Next, m.Left, m.Service, m.StartUp, m.Watch = median(created), median(next), median(left), median(service), median(start), median(watch)
	m.Bind = max(0, median(bind)-m.Service)
	return m, nil
}

//go:embed gain.md.tmpl
var gainPage string

// tolerance is the greatest difference of a predicted gain and the measured one.
const tolerance = 0.10

// gains are the figures of the page.
type gains struct {
	experiment.Gains
	Foretold []string // ways with a prediction
}

// Sized reports whether a predicted gain is right: within the tolerance, or within the cluster's own spread.
func (g *gains) Sized(way, metric string) bool {
	off, half := math.Abs(g.Off(way, metric)), g.Half(way, metric)
	return off <= tolerance || off <= half && !math.IsInf(half, 1)
}

// policies are the ways of the default installation.
func (g *gains) policies() []string {
	return slices.DeleteFunc(slices.Clone(g.Foretold), func(way string) bool { return strings.HasSuffix(way, byScheduler) })
}

// swapped lists the pairs of policies that came in another order than predicted; beyond has those whose difference is beyond the spread of what was measured.
func (g *gains) swapped(metric string) (within, beyond []string) {
	all := g.policies()
	for i, a := range all {
		for _, b := range all[i+1:] {
			is, said := g.Measured.Relative(a, b, metric), g.Predicted.Relative(a, b, metric)
			text := fmt.Sprintf("%s after %s is %+.1f %%, predicted %+.1f %%", b, a, 100*is.Mean, 100*said.Mean)
			switch {
			case is.Mean*said.Mean >= 0:
			case is.Known && is.Low <= 0 && is.High >= 0:
				within = append(within, text)
			default:
				beyond = append(beyond, text)
			}
		}
	}
	return within, beyond
}

// Orders are the orders of policies, best first: as measured and as predicted.
func (g *gains) Orders(metric string) [2]string {
	of := g.Gains
	of.Ways = g.policies()
	return [2]string{of.Order(of.Measured, metric), of.Order(of.Predicted, metric)}
}

// Within lists the pairs that came in another order, with a difference that is within the spread.
func (g *gains) Within(metric string) []string {
	within, _ := g.swapped(metric)
	return within
}

// Verdict says whether the prediction holds.
func (g *gains) Verdict(metric string) string {
	if len(g.Foretold) == 0 {
		return "nothing was predicted"
	}
	_, misses := g.swapped(metric)
	for _, way := range g.Foretold {
		if way != g.Base && !g.Sized(way, metric) {
			misses = append(misses, fmt.Sprintf("%s is off by %+.0f points", way, 100*g.Off(way, metric)))
		}
	}
	if misses != nil {
		return "**missed**: " + strings.Join(misses, "; ")
	}
	return "met"
}

func (g *gain) facts(dir string, runs []evidence.Run, records []*gainRecord) (map[string]any, template.FuncMap, error) {
	kept, stored, err := evidence.ReadSeries[prediction](dir, predictions)
	if err != nil {
		return nil, nil, err
	}
	f, most := &gains{Gains: experiment.Gains{Base: "fifo"}}, 0
	is, said, figures := map[string][]experiment.Metrics{}, map[string][]experiment.Metrics{}, make([]experiment.Metrics, len(records))
	for _, r := range records {
		most = max(most, r.Repetition)
	}
	for i, r := range records {
		m, err := r.figures()
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", runs[i].File, err)
		}
		if figures[i] = m; is[r.Way] == nil {
			is[r.Way], said[r.Way] = make([]experiment.Metrics, most), make([]experiment.Metrics, most)
		}
		is[r.Way][r.Repetition-1] = m
		if k := slices.IndexFunc(kept, func(p evidence.Run) bool { return p.File == r.Prediction }); k >= 0 {
			said[r.Way][r.Repetition-1] = stored[k].Said[r.Way]
		}
	}
	if is[f.Base] == nil {
		return nil, nil, fmt.Errorf("there is no run of %s, which gains are against: the page waits for one", f.Base)
	}
	for _, s := range g.systems {
		if is[s.name] != nil {
			f.Ways = append(f.Ways, s.name)
		}
	}
	for _, r := range records { // systems that are not here
		if !slices.Contains(f.Ways, r.Way) {
			f.Ways = append(f.Ways, r.Way)
		}
	}
	f.Measured, f.Predicted = experiment.NewRuns(experiment.Seeds(1, most), is), experiment.NewRuns(experiment.Seeds(1, most), said)
	for _, way := range f.Ways {
		if f.Predicted.Estimate(way, "median").N > 0 {
			f.Foretold = append(f.Foretold, way)
		}
	}
	r, pods, work := records[0], 0, millis(0)
	sizes := make([]float64, len(r.Jobs))
	for i := range r.Jobs {
		pods, work, sizes[i] = pods+len(r.Jobs[i].Lengths), work+r.Jobs[i].work(), r.Jobs[i].work().duration().Seconds()
	}
	last := r.Jobs[len(r.Jobs)-1].Submit.duration().Seconds()
	metrics, titles := []string{"median", "p95"}, map[string]string{"median": "Median slowdown", "p95": "95th percentile of the slowdown"}
	data := map[string]any{
		"F": f, "First": r, "Figures": figures, "Pods": pods, "Sizes": sizes, "Last": last, "Load": work.duration().Seconds() / last / float64(r.Site.Nodes*r.Site.CPU), "Metrics": metrics, "Titles": titles,
		"Predictions": stored, "Said": kept, "Tolerance": 100 * tolerance, "Repetitions": most,
	}
	funcs := template.FuncMap{
		"interval": func(of *experiment.Runs, way, metric string) string {
			return experiment.Interval(of.Estimate(way, metric))
		},
		"ms": func(t unit.Time) string { return fmt.Sprintf("%.1f ms", t.Seconds()*1000) },
	}
	return data, funcs, f.Picture(filepath.Join(dir, "slowdown.svg"), "measured on the cluster", metrics, titles)
}
