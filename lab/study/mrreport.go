package study

import (
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/lab/evidence"
	"github.com/yardmaster/yardmaster/lab/host"
	"github.com/yardmaster/yardmaster/result"
)

// mapreduceFacts are what one run of the study of MapReduce has shown. Where the cluster ran only once, the rest is nil.
type mapreduceFacts struct {
	run        evidence.Run
	phases     []Phase
	jobs       []string
	queues     []string
	a, b, back *times // measured
	simA       *times // a's import under a's settings
	simB       *times // a's import under b's: the prediction
	ownB       *times // b's import under b's
	ownBack    *times // the import of a's repetition under a's
}

// Report simulates, compares with what was measured, and writes report.md and pictures.
func (m *MapReduce) Report(ctx context.Context) (string, error) {
	all, err := m.facts(ctx)
	if err != nil {
		return "", err
	}
	return m.write(all)
}

func (m *MapReduce) write(all []*mapreduceFacts) (string, error) {
	changed := slices.DeleteFunc(slices.Clone(all), func(f *mapreduceFacts) bool { return f.b == nil })
	for _, f := range changed {
		if err := os.WriteFile(filepath.Join(m.Dir, f.PictureFile()), f.picture(), 0o644); err != nil {
			return "", fmt.Errorf("writing the picture: %w", err)
		}
	}
	f := all[0]
	return writePage("mapreduce", filepath.Join(m.Dir, "report.md"), map[string]any{
		"Jobs": len(f.jobs), "QueueCount": len(f.queues), "Hadoop": f.phases[0].Hadoop, "Nodes": mapreduceNodes, "Each": mapreduceMB / taskMB, "Seeds": seeds,
		"All": all, "Changed": changed, "A": mapreduceQueues(false), "B": mapreduceQueues(true),
	})
}

// PictureFile is the name of the run's picture.
func (f *mapreduceFacts) PictureFile() string { return fmt.Sprintf("predicted-%d.svg", f.run.Number()) }

// facts are those of every run that is kept.
func (m *MapReduce) facts(ctx context.Context) ([]*mapreduceFacts, error) {
	runs, err := evidence.Series(m.Dir, mapreduceSeries, "")
	if err != nil {
		return nil, err
	}
	if len(runs) == 0 {
		return nil, fmt.Errorf("no records in %s; run the study without --offline first", m.Dir)
	}
	bin, remove, err := host.Program(ctx, m.Binary)
	if err != nil {
		return nil, err
	}
	defer remove()
	var all []*mapreduceFacts
	for _, run := range runs {
		f, err := newMapreduceFacts(ctx, bin, filepath.Join(m.Dir, run.File))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", run.File, err)
		}
		f.run = run
		all = append(all, f)
	}
	return all, nil
}

func newMapreduceFacts(ctx context.Context, bin, dir string) (*mapreduceFacts, error) {
	f := &mapreduceFacts{}
	if err := evidence.Read(filepath.Join(dir, measuredFile), &f.phases); err != nil {
		return nil, err
	}
	for i := range f.phases {
		p := &f.phases[i]
		seen, err := measured(dir, p)
		if err != nil {
			return nil, err
		}
		own, err := predicted(ctx, bin, dir, p, "")
		if err != nil {
			return nil, err
		}
		switch p.Name {
		case "a":
			f.a, f.simA = seen, own
		case "b":
			f.b, f.ownB = seen, own
			if f.simB, err = predicted(ctx, bin, dir, &f.phases[0], filepath.Join(dir, queuesFile)); err != nil {
				return nil, err
			}
		default:
			f.back, f.ownBack = seen, own
		}
	}
	f.jobs, f.queues = slices.Collect(maps.Keys(f.a.job)), slices.Sorted(maps.Keys(f.a.queue))
	slices.SortFunc(f.jobs, func(x, y string) int { return strings.Compare(x[len(x)-2:], y[len(y)-2:]) }) // by their numbers
	return f, nil
}

// Number is that of the run.
func (f *mapreduceFacts) Number() int { return f.run.Number() }

// Summaries are the run's lines of the result.
func (f *mapreduceFacts) Summaries() string {
	text := f.summary("A: simulated from A's import, against measured", f.simA, f.a)
	if f.b != nil {
		text += f.summary("**B: predicted from A's import, against measured**", f.simB, f.b) + f.summary("B: simulated from B's own import, against measured", f.ownB, f.b)
	}
	if f.back != nil {
		text += f.summary("A again: simulated from its own import, against measured", f.ownBack, f.back) + f.summary("the cluster itself: A again, against A", f.back, f.a)
	}
	return text
}

func off(ours, truth float64) float64 { return (ours - truth) / truth }

func (f *mapreduceFacts) summary(name string, ours, truth *times) string {
	var errs []float64
	var sum, of, mean float64
	within := 0
	for _, j := range f.jobs {
		e := math.Abs(off(ours.of(j), truth.of(j)))
		errs = append(errs, e)
		mean += e / float64(len(f.jobs))
		if e <= 0.05 {
			within++
		}
		sum, of = sum+ours.of(j), of+truth.of(j)
	}
	return fmt.Sprintf("| %d | %s | %.1f %% | %.1f %% | %d of %d | %+.1f %% | %+.1f %% |\n", f.run.Number(), name, 100*result.Quantile(errs, 0.5), 100*mean, within, len(errs),
		100*off(sum, of), 100*off(ours.span(), truth.span()))
}

// Changes tells what going from A to B does, as predicted and as it was.
func (f *mapreduceFacts) Changes() string {
	text := ""
	row := func(name string, of func(*times) float64) {
		a, back, m, sa, p := of(f.a), math.NaN(), of(f.b), of(f.simA), of(f.simB)
		if f.back != nil {
			back = of(f.back)
		}
		sign := "same"
		if (p-sa)*(m-a) < 0 {
			sign = "other"
		}
		text += fmt.Sprintf("| %d | %s | %.1f, %.1f s | %.1f s | %.1f s (%+.1f %%) | %+.1f s, %+.1f %% | %+.1f s, %+.1f %% | %+.1f s, %+.1f %% | %s |\n", f.run.Number(), name, a, back, m, p, 100*off(p, m),
			p-sa, 100*off(p, sa), m-a, 100*off(m, a), m-back, 100*off(m, back), sign)
	}
	for _, q := range f.queues {
		row(q+", mean of jobs", func(t *times) float64 { return t.mean(q) })
	}
	row("all jobs, mean", func(t *times) float64 {
		s := 0.0
		for _, j := range f.jobs {
			s += t.of(j) / float64(len(f.jobs))
		}
		return s
	})
	row("makespan", (*times).span)
	return text
}

// PerJob are the run's lines of the jobs.
func (f *mapreduceFacts) PerJob() string {
	cell := func(ours, truth *times, j string) string {
		if ours == nil || truth == nil {
			return "-"
		}
		return fmt.Sprintf("%.1f s (%+.1f %%)", ours.of(j), 100*off(ours.of(j), truth.of(j)))
	}
	text := ""
	for _, j := range f.jobs {
		measured := "-"
		if f.b != nil {
			measured = fmt.Sprintf("%.1f s", f.b.of(j))
		}
		text += fmt.Sprintf("| %d | %s | %s | %.1f s | %s | %s | %s | %s | %s |\n", f.run.Number(), j, f.a.queueOf[j], f.a.of(j), cell(f.simA, f.a, j), cell(f.back, f.a, j),
			measured, cell(f.simB, f.b, j), cell(f.ownB, f.b, j))
	}
	return text
}

// Runs are the lines of the times that the cluster ran.
func (f *mapreduceFacts) Runs() string {
	text := ""
	for i := range f.phases {
		p := &f.phases[i]
		text += fmt.Sprintf("| %d | %s | %s | %s | %.1f, %.1f | %.0f %% |\n", f.run.Number(), p.Name, p.At.Format("2006-01-02 15:04"), f.run.ProgramText(), p.Load[0], p.Load[1], 100*p.Busy)
	}
	return text
}
