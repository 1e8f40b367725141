package steering

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/studies/evidence"
	"github.com/yardmaster/yardmaster/studies/experiment"
)

// report are the figures of the page. It draws the pictures, too.
func (s *Study) report(ctx context.Context, dir string, list []*Batch) (map[string]any, template.FuncMap, error) {
	var all []*facts
	for _, scheduler := range schedulers {
		own := slices.DeleteFunc(slices.Clone(list), func(b *Batch) bool { return b.Scheduler != scheduler })
		if len(own) == 0 {
			continue
		}
		t := newFacts(s.Size, scheduler, own)
		t.Measured = figures{t.runs()}
		if t.Model, t.Unsaid = t.calibrate(ctx); t.Unsaid == nil {
			t.Unsaid = t.predict(ctx)
		}
		picture := func(name string) string { return filepath.Join(dir, name+"-"+scheduler+".svg") }
		if err := errors.Join(t.boxes(picture("boxes")), t.gantt(t.Shown(), picture("gantt"))); err != nil {
			return nil, nil, err
		}
		all = append(all, t)
	}
	return s.data(all), template.FuncMap{"spread": spread, "cell": experiment.Cell}, nil
}

func (t *facts) predict(ctx context.Context) error {
	metrics := map[string][]experiment.Metrics{}
	for _, a := range t.Arms {
		times, err := t.predicted(ctx, t.Model, a)
		if err != nil {
			return err
		}
		for _, v := range times {
			metrics[a.Name] = append(metrics[a.Name], experiment.Metrics{"span": v})
		}
	}
	t.Simulated = figures{experiment.NewRuns(experiment.Seeds(1, seeds), metrics)}
	return nil
}

// figures are the figures of the arms.
type figures struct{ *experiment.Runs }

// Of are the known values of a figure.
func (f figures) Of(arm, metric string) []float64 {
	if f.Runs == nil {
		return nil
	}
	return slices.DeleteFunc(f.Values(arm, metric), math.IsNaN)
}

// Interval is the mean of a figure with its interval.
func (f figures) Interval(arm, metric string) string {
	if f.Runs == nil {
		return "-"
	}
	return experiment.Interval(f.Estimate(arm, metric))
}

// Against is the change from all jobs at once to an arm, and its significance: above 0, the arm is slower.
func (f figures) Against(arm string) experiment.Judgement {
	if f.Runs == nil || arm == "prj" || !f.Has(arm, "prj") {
		return experiment.Judgement{Ours: "-"}
	}
	return experiment.Changes(experiment.Of("prj", "span"), experiment.Of(arm, "span"), -1, 1).Of(f.Runs)
}

// Shown is the repetition that pictures show: the first that has every arm, else the first.
func (t *facts) Shown() int {
	for r := 1; r <= 100; r++ {
		if !slices.ContainsFunc(t.Arms, func(a Arm) bool {
			return !slices.ContainsFunc(t.batches[a.Name], func(b *Batch) bool { return b.Repetition == r })
		}) {
			return r
		}
	}
	return 1
}

var titles = map[string]string{"fair": "Fair Scheduler", "capacity": "Capacity Scheduler"}

//go:embed marp-live.md.tmpl
var pageText string

func (s *Study) data(all []*facts) map[string]any {
	z := s.Size
	type wait struct{ Policy, Scheduler, Waits string }
	var waits []wait
	for _, a := range z.arms(false) {
		for _, scheduler := range schedulers {
			var list []string
			w := z.waits(a.Policy, scheduler)
			for _, name := range slices.Sorted(maps.Keys(w)) {
				list = append(list, fmt.Sprintf("%s %v", name, w[name]))
			}
			if a.Policy != "" {
				waits = append(waits, wait{a.Policy, titles[scheduler], cmp.Or(strings.Join(list, ", "), "none: it has no such number")})
			}
		}
	}
	return map[string]any{
		"All": all, "Hadoop": all[0].all()[0].Hadoop, "Size": z, "Seed": Seed, "Seeds": seeds, "Queue": queue, "Fit": z.QueueMB() / z.ContainerMB, "AMShare": z.am(),
		"PerCore": (z.QueueMB()/z.ContainerMB - z.Jobs) / cores, "Alone": z.QueueMB()/z.ContainerMB - 1, "KiB": z.Bytes >> 10, "Fraction": fmt.Sprintf("1/%.0f", 1/z.Scale), "Waits": waits,
	}
}

// Title is the scheduler's name.
func (t *facts) Title() string { return titles[t.Scheduler] }

// Behind is the time from a job's end to the launch of the next AM, in a sequential batch.
func (t *facts) Behind() float64 { return behind(t.batches["fifo"]) }

// Short is the result in a few words, from the numbers.
func (t *facts) Short() string {
	arms := map[string][]string{}
	for _, a := range t.Arms {
		j := t.Measured.Against(a.Name)
		_, change, _ := strings.Cut(j.Ours, ", ")
		which := "not told apart from it"
		switch {
		case a.Policy == "":
			continue
		case j.Hi < 0:
			which = "faster than all jobs at once"
		case j.Lo > 0:
			which = "slower"
		}
		arms[which] = append(arms[which], a.Name+" "+change)
	}
	var parts []string
	for _, which := range []string{"faster than all jobs at once", "slower", "not told apart from it"} {
		if len(arms[which]) > 0 {
			parts = append(parts, which+": "+strings.Join(arms[which], ", "))
		}
	}
	return strings.Join(parts, "; ")
}

// Delays are the delays of all changes.
func (t *facts) Delays() delays { return t.changed(0) }

// version is the batches that one version of the program ran.
type version struct {
	Program      string
	Batches      []*Batch
	Load, Others []float64 // of the computer before a batch; share of the processors that other work took
}

// Programs are the versions that the batches ran with, in the order in which they ran.
func (t *facts) Programs() (list []*version) {
	for _, b := range t.all() {
		i := slices.IndexFunc(list, func(v *version) bool { return v.Program == cmp.Or(b.Program, "unknown") })
		if i < 0 {
			i, list = len(list), append(list, &version{Program: cmp.Or(b.Program, "unknown")})
		}
		v := list[i]
		v.Batches, v.Load, v.Others = append(v.Batches, b), append(v.Load, b.Load), append(v.Others, b.others())
	}
	return list
}

// Last is the last of the batches.
func (v *version) Last() *Batch { return v.Batches[len(v.Batches)-1] }

// MeanOthers is the mean share of other work.
func (v *version) MeanOthers() float64 { return result.Mean(v.Others).Mean }

func spread(list []float64) string {
	if len(list) == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f (%.1f to %.1f)", median(list), result.Quantile(list, 0), result.Quantile(list, 1))
}

var (
	//go:embed gantt.svg.tmpl
	ganttText string
	//go:embed boxes.svg.tmpl
	boxesText string
)

// ticks are about six ticks of an axis.
func ticks(most, to float64) (list []float64) {
	step := math.Pow(10, math.Floor(math.Log10(most/6)))
	for _, f := range []float64{1, 2, 5, 10} {
		if most/(step*f) <= 7 {
			step *= f
			break
		}
	}
	for v := 0.0; v <= to; v += step {
		list = append(list, v)
	}
	return list
}

// moved is a coordinate plus an offset, with the given number of digits.
func moved(at, by float64, digits int) string { return fmt.Sprintf("%.*f", digits, at+by) }

// panel is a batch of a picture: its jobs in launch order, and below them a strip with the AM limit.
type panel struct {
	*Batch
	Top, Foot, Span float64
	Jobs            []Job
	Marks           []mark
	Path            string
}

type mark struct {
	Y   float64
	AMs int
}

// gantt shows the batches of one repetition, one panel per arm: when each job waited, started, mapped and reduced, and the AM limit.
func (f *facts) gantt(repetition int, file string) error {
	const left, width, row, strip, gap, head = 96.0, 780.0, 13.0, 34.0, 32.0, 46.0
	height, most := row*float64(f.size.Jobs)+strip, 0.0
	var panels []*panel
	for _, a := range f.Arms {
		for _, b := range f.batches[a.Name] {
			if b.Repetition == repetition {
				top := head + float64(len(panels))*(height+gap)
				panels = append(panels, &panel{Batch: b, Top: top, Foot: top + height, Span: b.span(), Jobs: b.byLaunch()})
				most = max(most, b.span())
			}
		}
	}
	x := func(s float64) float64 { return left + s/most*width }
	for _, p := range panels {
		up := func(mb int64) float64 {
			return p.Foot - math.Min(float64(mb)/float64(f.size.ContainerMB), float64(f.size.Jobs)+1)/float64(f.size.Jobs+1)*(strip-6)
		}
		for _, n := range []int{0, f.size.Jobs} {
			p.Marks = append(p.Marks, mark{up(int64(n * f.size.ContainerMB)), n})
		}
		p.Path = fmt.Sprintf("M%.1f %.1f", x(0), up(int64(p.Preset*float64(f.size.QueueMB()))))
		for _, l := range p.Limits { // those before the first job are stale: the Fair Scheduler computes the limit only for a waiting job
			if s := float64(l.At) / 1000; s > 0 && s <= p.Span {
				p.Path += fmt.Sprintf("H%.1fV%.1f", x(s), up(l.MB))
			}
		}
	}
	_, err := evidence.Page(ganttText, file, map[string]any{"Panels": panels, "Ticks": ticks(most, most), "Panel": moved(height, 0, 1), "Height": head + float64(len(panels))*(height+gap) + 20}, template.FuncMap{
		"x": func(s float64) string { return moved(x(s), 0, 1) }, "y": moved, "row": func(top float64, k int) float64 { return top + row*float64(k) + 2 },
		"bar": func(y float64, from, to int64, ink string, height float64) string {
			if to <= from {
				return ""
			}
			a, b := x(float64(from)/1000), x(float64(to)/1000)
			return fmt.Sprintf(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`, a, y+(9-height)/2, b-a, height, ink)
		},
	})
	return err
}

// boxes is a box plot of the batch times, with every batch as a point and the simulator's mean as a cross.
func (t *facts) boxes(file string) error {
	type line struct {
		Name      string
		Y         float64
		Times     []float64
		Predicted float64
	}
	var rows []line
	most := 0.0
	for i, a := range t.Arms {
		rows = append(rows, line{Name: a.Name, Y: 20 + 34*(float64(i)+0.5), Times: t.Measured.Of(a.Name, "span")})
		if t.Simulated.Runs != nil {
			rows[i].Predicted = t.Simulated.Estimate(a.Name, "span").Mean
		}
		for _, v := range append(rows[i].Times, rows[i].Predicted) {
			most = max(most, v)
		}
	}
	x := func(s float64) float64 { return 96 + s/(most*1.04)*620 }
	_, err := evidence.Page(boxesText, file, map[string]any{"Rows": rows, "Ticks": ticks(most, most*1.04), "Height": 64 + 34*float64(len(t.Arms))}, template.FuncMap{
		"x": func(s, by float64) string { return moved(x(s), by, 1) }, "y": moved, "wide": func(from, to float64) string { return moved(max(1, x(to)-x(from)), 0, 1) },
	})
	return err
}
