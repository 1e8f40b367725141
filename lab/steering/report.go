package steering

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/yardmaster/yardmaster/experiment"
	"github.com/yardmaster/yardmaster/lab/evidence"
	"github.com/yardmaster/yardmaster/result"
)

// Report writes the page and its pictures from the records that are there.
func (s *Study) Report(ctx context.Context) error {
	var all []*told
	for _, scheduler := range []string{"fair", "capacity"} {
		list, err := kept(s.file(scheduler))
		if err != nil {
			return err
		}
		if len(list) == 0 {
			continue
		}
		t := &told{facts: newFacts(s.Size, scheduler, list), predicted: map[string]result.Estimate{}, against: map[string]result.Estimate{}}
		if t.Model, err = t.calibrate(ctx); err == nil {
			err = t.predict(ctx)
		}
		if err != nil {
			t.Unsaid = err
		}
		all = append(all, t)
	}
	if len(all) == 0 {
		return errors.New("there are no records; run the study without --report first")
	}
	for _, t := range all {
		of := func(name string) string { return filepath.Join(s.Dir, name+"-"+t.scheduler+".svg") }
		if err := errors.Join(t.boxes(of("boxes")), t.gantt(t.Shown(), of("gantt"))); err != nil {
			return err
		}
	}
	return s.writePage(all)
}

// told is what the report says of a scheduler.
type told struct {
	*facts
	Model     *model
	predicted map[string]result.Estimate // times, by arm
	against   map[string]result.Estimate // relative to prj, seed by seed
	Unsaid    error                      // why there is no prediction
}

func (t *told) predict(ctx context.Context) error {
	times := map[string][]float64{}
	for _, a := range t.arms {
		var err error
		if times[a.Name], err = t.facts.predicted(ctx, t.Model, a); err != nil {
			return err
		}
		t.predicted[a.Name] = result.Mean(times[a.Name])
	}
	for name, list := range times {
		if base := times["prj"]; len(base) == len(list) {
			r := make([]float64, len(list))
			for i := range list {
				r[i] = list[i]/base[i] - 1
			}
			t.against[name] = result.Mean(r)
		}
	}
	return nil
}

// Shown is the repetition that pictures show: the first that has every arm, else the first.
func (t *told) Shown() int {
	for r := 1; r <= 100; r++ {
		if !slices.ContainsFunc(t.arms, func(a Arm) bool {
			return !slices.ContainsFunc(t.of[a.Name], func(b *Batch) bool { return b.Repetition == r })
		}) {
			return r
		}
	}
	return 1
}

var titles = map[string]string{"fair": "Fair Scheduler", "capacity": "Capacity Scheduler"}

//go:embed marp-live.md.tmpl
var pageText string

func (s *Study) writePage(all []*told) error {
	z := s.Size
	type wait struct{ Policy, Scheduler, Waits string }
	var waits []wait
	for _, a := range z.arms(false) {
		for _, scheduler := range []string{"fair", "capacity"} {
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
	_, err := evidence.Page(pageText, s.Page, map[string]any{
		"All": all, "Hadoop": all[0].all()[0].Hadoop, "Size": z, "Seed": Seed, "Seeds": seeds, "Queue": queue, "Fit": z.QueueMB() / z.ContainerMB, "MasterShare": z.master(),
		"PerCore": (z.QueueMB()/z.ContainerMB - z.Jobs) / cores, "Alone": z.QueueMB()/z.ContainerMB - 1, "KiB": z.Bytes >> 10, "Archive": archiveText, "Fraction": fmt.Sprintf("1/%.0f", 1/z.Scale), "Waits": waits,
	}, template.FuncMap{"spread": spread, "cell": experiment.Cell})
	return err
}

// Title is the scheduler's name, Scheduler how files are named after it.
func (t *told) Title() string     { return titles[t.scheduler] }
func (t *told) Scheduler() string { return t.scheduler }

// Behind is the time that passes from a job's end to the launch of the next master, in a batch of one job at a time.
func (t *told) Behind() float64 { return behind(t.of["fifo"]) }

// Short is the answer in a few words, from the numbers.
func (t *told) Short() string {
	var faster, slower, even []string
	for _, a := range t.arms {
		if a.Policy == "" {
			continue
		}
		d, r := t.facts.against(a.Name, "prj", (*Batch).span)
		text := fmt.Sprintf("%s (%s)", a.Name, percent(r))
		switch {
		case d.Known && d.High < 0:
			faster = append(faster, text)
		case d.Known && d.Low > 0:
			slower = append(slower, text)
		default:
			even = append(even, text)
		}
	}
	var parts []string
	for _, l := range []struct {
		what string
		arms []string
	}{{"faster than all jobs at once", faster}, {"slower", slower}, {"not told apart from it", even}} {
		if len(l.arms) > 0 {
			parts = append(parts, l.what+": "+strings.Join(l.arms, ", "))
		}
	}
	return strings.Join(parts, "; ")
}

// line is an arm's line of the page. Columns that compare with prj or the simulator are empty where there is nothing to compare.
type line struct {
	Arm
	Times                       []float64
	Mean, Against, Idle, Writes string
	AtOnce                      int
	Simulated, SimulatedAgainst string
}

// Lines are the lines of the arms.
func (t *told) Lines() (lines []line) {
	for _, a := range t.arms {
		v := t.each(a.Name, (*Batch).span)
		l := line{Arm: a, Times: v, Mean: interval(result.Mean(v), 1), Against: "-", Simulated: "-", SimulatedAgainst: "-", Idle: fmt.Sprintf("%.0f", result.Mean(t.each(a.Name, (*Batch).idle)).Mean)}
		if d, r := t.facts.against(a.Name, "prj", (*Batch).span); a.Name != "prj" && d.N > 0 {
			l.Against = fmt.Sprintf("%s s, %s", interval(d, 1), percent(r))
		}
		writes := 0.0
		for _, b := range t.of[a.Name] {
			l.AtOnce, writes = max(l.AtOnce, b.mostAtOnce(t.size.ContainerMB)), writes+float64(len(b.Writes))/float64(len(v))
		}
		l.Writes = fmt.Sprintf("%.1f", writes)
		if e, ok := t.predicted[a.Name]; ok {
			l.Simulated = interval(e, 1) + " s"
			if r, ok := t.against[a.Name]; ok && a.Name != "prj" {
				l.SimulatedAgainst = percent(r)
			}
		}
		lines = append(lines, l)
	}
	return lines
}

// Delays are those of all changes.
func (t *told) Delays() delays { return t.changed(0) }

// version is the batches that one version of the program ran.
type version struct {
	Program      string
	Batches      []*Batch
	Load, Others []float64 // of the computer before a batch; share of the processors that other work took
}

// Programs are the versions that the batches ran with, in the order in which they ran.
func (t *told) Programs() (list []*version) {
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

func interval(e result.Estimate, digits int) string {
	if !e.Known {
		return fmt.Sprintf("%.*f", digits, e.Mean)
	}
	return fmt.Sprintf("%.*f ± %.*f", digits, e.Mean, digits, e.Half())
}

func percent(e result.Estimate) string {
	if !e.Known {
		return fmt.Sprintf("%+.1f %%", 100*e.Mean)
	}
	return fmt.Sprintf("%+.1f ± %.1f %%", 100*e.Mean, 100*e.Half())
}
