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
		t := &told{facts: newFacts(s.Size, scheduler, list)}
		t.Measured = figures{t.runs()}
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
		of := func(name string) string { return filepath.Join(s.Dir, name+"-"+t.Scheduler+".svg") }
		if err := errors.Join(t.boxes(of("boxes")), t.gantt(t.Shown(), of("gantt"))); err != nil {
			return err
		}
	}
	return s.writePage(all)
}

// told is what the report says of a scheduler.
type told struct {
	*facts
	Model               *model
	Measured, Simulated figures // by arm and repetition, or seed
	Unsaid              error   // why there is no prediction
}

func (t *told) predict(ctx context.Context) error {
	metrics := map[string][]experiment.Metrics{}
	for _, a := range t.Arms {
		times, err := t.facts.predicted(ctx, t.Model, a)
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

// figures are those of the arms.
type figures struct{ *experiment.Runs }

// Of are the values of a figure that there are.
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

// Against is what changes from all jobs at once to an arm, and how sure that is: above 0, it is slower.
func (f figures) Against(arm string) experiment.Judgement {
	if f.Runs == nil || arm == "prj" || !f.Has(arm, "prj") {
		return experiment.Judgement{Ours: "-"}
	}
	return experiment.Changes(experiment.Of("prj", "span"), experiment.Of(arm, "span"), -1, 1).Of(f.Runs)
}

// Shown is the repetition that pictures show: the first that has every arm, else the first.
func (t *told) Shown() int {
	for r := 1; r <= 100; r++ {
		if !slices.ContainsFunc(t.Arms, func(a Arm) bool {
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

// Title is the scheduler's name.
func (t *told) Title() string { return titles[t.Scheduler] }

// Behind is the time that passes from a job's end to the launch of the next master, in a batch of one job at a time.
func (t *told) Behind() float64 { return behind(t.of["fifo"]) }

// Short is the answer in a few words, from the numbers.
func (t *told) Short() string {
	of := map[string][]string{}
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
		of[which] = append(of[which], a.Name+" "+change)
	}
	var parts []string
	for _, which := range []string{"faster than all jobs at once", "slower", "not told apart from it"} {
		if len(of[which]) > 0 {
			parts = append(parts, which+": "+strings.Join(of[which], ", "))
		}
	}
	return strings.Join(parts, "; ")
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
