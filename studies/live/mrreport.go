package live

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/yardmaster/yardmaster/studies/evidence"
)

//go:embed mapreduce.md.tmpl
var mapreducePage string

//go:embed predicted.svg.tmpl
var mapreducePicture string

// mapreduceFacts are the results of one run of the study of MapReduce. Where the cluster ran only once, the rest is nil.
type mapreduceFacts struct {
	evidence.Run
	Phases     []Phase
	Jobs       []string
	Queues     []string
	A, B, Back *times // measured
	SimA       *times // A's import under A's settings
	SimB       *times // A's import under B's: the prediction
	OwnB       *times // B's import under B's
	OwnBack    *times // the import of A's repetition under A's
}

// mapreduceData are the figures of the page. It draws the pictures, too.
func mapreduceData(dir string, all []*mapreduceFacts) (map[string]any, template.FuncMap, error) {
	funcs := template.FuncMap{
		"off": func(ours, truth float64) float64 { return 100 * off(ours, truth) }, "minus": func(a, b float64) float64 { return a - b },
		"of": func(t *times, job string) float64 { return t.job[job] },
		"against": func(ours, truth *times, job string) string {
			if ours == nil || truth == nil {
				return "-"
			}
			return fmt.Sprintf("%.1f s (%+.1f %%)", ours.job[job], 100*off(ours.job[job], truth.job[job]))
		},
	}
	changed := slices.DeleteFunc(slices.Clone(all), func(f *mapreduceFacts) bool { return f.B == nil })
	for _, f := range changed {
		p := newPlot(f)
		if _, err := evidence.Page(mapreducePicture, filepath.Join(dir, f.Picture()), p, template.FuncMap{"x": p.x, "y": p.y, "of": funcs["of"]}); err != nil {
			return nil, nil, err
		}
	}
	return map[string]any{
		"First": all[0], "Nodes": mapreduceNodes, "Each": mapreduceMB / taskMB, "Seeds": seeds, "All": all, "Changed": changed, "A": mapreduceQueues(false), "B": mapreduceQueues(true),
	}, funcs, nil
}

// Picture is the name of the run's picture.
func (f *mapreduceFacts) Picture() string { return fmt.Sprintf("predicted-%d.svg", f.Number()) }

// mapreduceFactsOf simulates every stored run.
func mapreduceFactsOf(ctx context.Context, runs []evidence.Run, records []*mapreduceRecord) (all []*mapreduceFacts, err error) {
	for i, run := range runs {
		f, err := newMapreduceFacts(ctx, records[i].dir, records[i].phases)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", run.File, err)
		}
		f.Run = run
		all = append(all, f)
	}
	return all, nil
}

func newMapreduceFacts(ctx context.Context, dir string, phases []Phase) (*mapreduceFacts, error) {
	f := &mapreduceFacts{Phases: phases}
	for i := range f.Phases {
		p := &f.Phases[i]
		seen, err := measured(dir, p)
		if err != nil {
			return nil, err
		}
		own, err := predicted(ctx, dir, p, "")
		if err != nil {
			return nil, err
		}
		switch p.Name {
		case "a":
			f.A, f.SimA = seen, own
		case "b":
			f.B, f.OwnB = seen, own
			if f.SimB, err = predicted(ctx, dir, &f.Phases[0], filepath.Join(dir, queuesFile)); err != nil {
				return nil, err
			}
		default:
			f.Back, f.OwnBack = seen, own
		}
	}
	f.Jobs, f.Queues = slices.Collect(maps.Keys(f.A.job)), slices.Compact(slices.Sorted(maps.Values(f.A.queueOf)))
	slices.SortFunc(f.Jobs, func(x, y string) int { return strings.Compare(x[len(x)-2:], y[len(y)-2:]) }) // by their numbers
	return f, nil
}

// summary is the error of simulated times against measured ones, as shares.
type summary struct {
	Name                 string
	Errors               []float64 // by job
	Mean, Together, Span float64   // mean of the errors; error of all jobs together, and of the makespan
	Within               int       // jobs within 5 %
}

// Summaries are the run's lines of the result.
func (f *mapreduceFacts) Summaries() (list []summary) {
	for _, c := range []struct {
		name        string
		ours, truth *times
	}{
		{"A: simulated from A's import, against measured", f.SimA, f.A}, {"**B: predicted from A's import, against measured**", f.SimB, f.B}, {"B: simulated from B's own import, against measured", f.OwnB, f.B},
		{"A again: simulated from its own import, against measured", f.OwnBack, f.Back}, {"the cluster itself: A again, against A", f.Back, f.A},
	} {
		if c.ours == nil {
			continue
		}
		s := summary{Name: c.name, Span: off(c.ours.span, c.truth.span), Together: off(c.ours.mean(""), c.truth.mean(""))}
		for _, j := range f.Jobs {
			e := math.Abs(off(c.ours.job[j], c.truth.job[j]))
			s.Errors = append(s.Errors, e)
			s.Mean += e / float64(len(f.Jobs))
			if e <= 0.05 {
				s.Within++
			}
		}
		list = append(list, s)
	}
	return list
}

func off(ours, truth float64) float64 { return (ours - truth) / truth }

// change is a time in s under A, under A again and under B, as measured, and under both as simulated from A's import.
type change struct {
	Name                   string
	A, Back, B, SimA, SimB float64
}

// Turned reports whether the simulated change has the wrong sign.
func (c change) Turned() bool { return (c.SimB-c.SimA)*(c.B-c.A) < 0 }

// Changes are the effects of going from A to B, as predicted and as measured.
func (f *mapreduceFacts) Changes() (list []change) {
	row := func(name string, of func(*times) float64) {
		c := change{name, of(f.A), math.NaN(), of(f.B), of(f.SimA), of(f.SimB)}
		if f.Back != nil {
			c.Back = of(f.Back)
		}
		list = append(list, c)
	}
	for _, q := range f.Queues {
		row(q+", mean of jobs", func(t *times) float64 { return t.mean(q) })
	}
	row("all jobs, mean", func(t *times) float64 { return t.mean("") })
	row("makespan", func(t *times) float64 { return t.span })
	return list
}

// plot is a plot of measured against simulated times of the jobs: on the diagonal they are equal.
type plot struct {
	*mapreduceFacts
	Most  float64
	Ticks []float64
}

func newPlot(f *mapreduceFacts) *plot {
	p := &plot{mapreduceFacts: f}
	for _, j := range f.Jobs {
		p.Most = max(p.Most, f.A.job[j], f.B.job[j], f.SimA.job[j], f.SimB.job[j])
	}
	p.scale()
	return p
}

// scale rounds the largest value up and sets the ticks.
func (p *plot) scale() {
	step := 20.0
	for p.Most/step > 8 {
		step *= 2
	}
	p.Most = math.Ceil(p.Most/step) * step
	for v := 0.0; v <= p.Most; v += step {
		p.Ticks = append(p.Ticks, v)
	}
}

// x and y are coordinates of a value, plus an offset.
func (p *plot) x(v, by float64) string { return fmt.Sprintf("%.1f", 60+v/p.Most*420+by) }
func (p *plot) y(v, by float64) string { return fmt.Sprintf("%.1f", 450-v/p.Most*420+by) }
