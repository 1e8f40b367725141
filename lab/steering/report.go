package steering

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

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
		for name, picture := range map[string][]byte{"boxes": t.boxes(t.predicted), "gantt": t.gantt(t.Shown())} {
			if err := os.WriteFile(filepath.Join(s.Dir, name+"-"+t.scheduler+".svg"), picture, 0o644); err != nil {
				return err
			}
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

var pageTemplate = template.Must(template.New("marp-live").Parse(pageText))

func (s *Study) writePage(all []*told) error {
	z := s.Size
	var waits []string
	for _, a := range z.arms(false) {
		if a.Policy == "" {
			continue
		}
		for _, scheduler := range []string{"fair", "capacity"} {
			w := z.waits(a.Policy, scheduler)
			var list []string
			for _, name := range slices.Sorted(maps.Keys(w)) {
				list = append(list, fmt.Sprintf("%s %v", name, w[name]))
			}
			if len(list) == 0 {
				list = []string{"none: it has no such number"}
			}
			waits = append(waits, fmt.Sprintf("| %s | %s | %s |\n", a.Policy, titles[scheduler], strings.Join(list, ", ")))
		}
	}
	var b bytes.Buffer
	err := pageTemplate.Execute(&b, map[string]any{
		"All": all, "Hadoop": all[0].all()[0].Hadoop, "Size": z, "Seed": Seed, "Seeds": seeds, "Queue": queue, "Fit": z.QueueMB() / z.ContainerMB, "MasterShare": z.master(),
		"PerCore": (z.QueueMB()/z.ContainerMB - z.Jobs) / cores, "Alone": z.QueueMB()/z.ContainerMB - 1, "KiB": z.Bytes >> 10, "Archive": archiveText, "Fraction": fmt.Sprintf("1/%.0f", 1/z.Scale), "Waits": waits,
	})
	if err != nil {
		return err
	}
	return os.WriteFile(s.Page, b.Bytes(), 0o644)
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

// VerdictLines are the lines of the verdicts.
func (t *told) VerdictLines() (lines string) {
	for _, v := range t.verdicts() {
		lines += fmt.Sprintf("| %s | %s | %s | %s | %s |\n", v.name, titles[v.where], v.asks, v.shows, v.says)
	}
	return lines
}

// ArmLines are the lines of the arms.
func (t *told) ArmLines() (lines string) {
	for _, a := range t.arms {
		v := t.each(a.Name, (*Batch).span)
		against := "-"
		if d, r := t.facts.against(a.Name, "prj", (*Batch).span); a.Name != "prj" && d.N > 0 {
			against = fmt.Sprintf("%s s, %s", interval(d, 1), percent(r))
		}
		most, writes := 0, 0.0
		for _, b := range t.of[a.Name] {
			most = max(most, b.mostAtOnce(t.size.ContainerMB))
			writes += float64(len(b.Writes)) / float64(len(v))
		}
		sim, simAgainst := "-", "-"
		if e, ok := t.predicted[a.Name]; ok {
			sim = interval(e, 1) + " s"
			if r, ok := t.against[a.Name]; ok && a.Name != "prj" {
				simAgainst = percent(r)
			}
		}
		lines += fmt.Sprintf("| %s | %s | %d | %s s | %.1f s | %.1f to %.1f s | %s | %.0f | %d | %.1f | %s | %s |\n", a.Name, text(a.Share), len(v), interval(result.Mean(v), 1), median(v), result.Quantile(v, 0), result.Quantile(v, 1), against,
			result.Mean(t.each(a.Name, (*Batch).idle)).Mean, most, writes, sim, simAgainst)
	}
	return lines
}

// Programs are the lines of the versions that the batches ran with.
func (t *told) Programs() (lines string) {
	of := map[string][]*Batch{} // in the order in which they ran
	var programs []string
	for _, b := range t.all() {
		if of[b.Program] == nil {
			programs = append(programs, b.Program)
		}
		of[b.Program] = append(of[b.Program], b)
	}
	for _, program := range programs {
		list := of[program]
		var load, others []float64
		for _, b := range list {
			load, others = append(load, b.Load), append(others, b.others())
		}
		if program == "" {
			program = "unknown"
		}
		lines += fmt.Sprintf("| %s | %s | %d | %s | %s | %.1f to %.1f | %.1f %% (at most %.1f %%) |\n", t.Title(), program, len(list), list[0].At.Format("2006-01-02 15:04"), list[len(list)-1].At.Format("15:04"),
			result.Quantile(load, 0), result.Quantile(load, 1), 100*result.Mean(others).Mean, 100*result.Quantile(others, 1))
	}
	return lines
}
