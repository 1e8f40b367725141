package study

import (
	"bytes"
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

// picture is a plot of measured against simulated times of the jobs: on the diagonal they are equal.
func (f *mapreduceFacts) picture() []byte {
	const side, margin = 420.0, 60.0
	most := 0.0
	for _, j := range f.jobs {
		most = max(most, f.a.of(j), f.b.of(j), f.simA.of(j), f.simB.of(j))
	}
	step := 20.0
	for most/step > 8 {
		step *= 2
	}
	most = math.Ceil(most/step) * step
	x := func(v float64) float64 { return margin + v/most*side }
	y := func(v float64) float64 { return margin/2 + side - v/most*side }
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" font-family="sans-serif" font-size="12">`+"\n",
		side+margin+150, side+margin+20, side+margin+150)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="#fff"/>`+"\n")
	for v := 0.0; v <= most; v += step {
		fmt.Fprintf(&b, `<path d="M%.1f %.1fV%.1fM%.1f %.1fH%.1f" stroke="#ddd"/>`, x(v), y(0), y(most), x(0), y(v), x(most))
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="middle">%.0f</text><text x="%.1f" y="%.1f" text-anchor="end">%.0f</text>`+"\n",
			x(v), y(0)+16, v, x(0)-6, y(v)+4, v)
	}
	fmt.Fprintf(&b, `<polygon points="%.1f,%.1f %.1f,%.1f %.1f,%.1f" fill="#888" opacity="0.18"/>`+"\n", x(0), y(0), x(most), y(most*0.95), x(most/1.05), y(most))
	fmt.Fprintf(&b, `<path d="M%.1f %.1fL%.1f %.1f" stroke="#888"/>`+"\n", x(0), y(0), x(most), y(most))
	for _, j := range f.jobs {
		fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="5" fill="none" stroke="#1f6fb2" stroke-width="2"><title>%s under A</title></circle>`+"\n", x(f.a.of(j)), y(f.simA.of(j)), j)
		fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="5" fill="#d1540f"><title>%s under B</title></circle>`+"\n", x(f.b.of(j)), y(f.simB.of(j)), j)
	}
	fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="middle">measured time of a job, s</text>`, x(most/2), y(0)+38)
	fmt.Fprintf(&b, `<text transform="translate(16 %.1f) rotate(-90)" text-anchor="middle">simulated, s</text>`+"\n", y(most/2))
	right := x(most) + 16
	fmt.Fprintf(&b, `<circle cx="%.1f" cy="40" r="5" fill="none" stroke="#1f6fb2" stroke-width="2"/><text x="%.1f" y="44">A: as it was</text>`, right, right+12)
	fmt.Fprintf(&b, `<circle cx="%.1f" cy="62" r="5" fill="#d1540f"/><text x="%.1f" y="66">B: predicted</text>`, right, right+12)
	fmt.Fprintf(&b, `<text x="%.1f" y="88">grey: within 5 %%</text>`+"\n</svg>\n", right-5)
	return b.Bytes()
}
