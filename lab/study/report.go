package study

import (
	"context"
	_ "embed"
	"fmt"
	"path/filepath"
	"slices"
	"text/template"

	"github.com/yardmaster/yardmaster/lab/evidence"
	"github.com/yardmaster/yardmaster/sim/yarn"
	"github.com/yardmaster/yardmaster/unit"
)

//go:embed masters.md.tmpl
var mastersPage string

// Report compares the records with the simulator, writes report.md beside them and returns its text and its file.
func (m *Masters) Report(ctx context.Context) (text, file string, err error) {
	c, err := m.compare(ctx)
	if err == nil {
		file = filepath.Join(m.Dir, "report.md")
		text, err = c.write(file)
	}
	return text, file, err
}

func (c *comparison) write(file string) (string, error) {
	r := c.records[0]
	sizes, queues, users := map[int]bool{}, map[string]bool{}, map[string]bool{}
	var last float64
	for _, a := range r.Workload {
		queues[a.Queue], users[a.User] = true, true
		last = max(last, a.Submit.Duration().Seconds())
		for _, g := range a.Containers {
			sizes[g.MB] = true
		}
	}
	if len(c.records) == 1 {
		c.overall = ""
	}
	type line struct {
		Name, Differs string
		twoTimes
		Mean bool
	}
	var lines []line
	for _, of := range []struct {
		name string
		k    knowledge
	}{{"phases", phases}, {"nothing", nothing}, {"instants", instants}} {
		for i, d := range c.ours[of.k] {
			l := line{Name: fmt.Sprintf("%s, run %d", of.name, i+1), twoTimes: d}
			if of.k == instants {
				l.Differs = d.End.Differs() + c.records[i].why(&d.End)
			}
			lines = append(lines, l)
		}
		if len(c.records) > 1 {
			lines = append(lines, line{Name: of.name + ", mean of runs", twoTimes: c.mean[of.k], Mean: true})
		}
	}
	for _, p := range c.spread {
		lines = append(lines, line{Name: fmt.Sprintf("daemons: run %d against run %d", p.a, p.b), twoTimes: p.twoTimes})
	}
	return evidence.Page(mastersPage, file, map[string]any{
		"First": r, "Sizes": len(sizes), "Queues": len(queues), "Users": len(users), "Last": last, "Pressure": c.pressure(), "Met": c.met, "Verdicts": c.verdicts, "Overall": c.overall, "Lines": lines,
		"Nudges": nudges, "Chance": c.nudged, "Times": elapsed(c.truths[0]), "Kept": c.kept, "Runs": c.runs(),
	}, template.FuncMap{"spread": func(v []float64) string {
		return fmt.Sprintf("%+.1f %% (%+.1f to %+.1f %%)", 100*average(v), 100*slices.Min(v), 100*slices.Max(v))
	}, "s": func(ms float64) float64 { return ms / 1000 }, "ms": func(t unit.Time) float64 { return 1000 * t.Seconds() }})
}

// pressure says how much the limits bound.
func (c *comparison) pressure() string {
	var waited, reserved int
	for _, r := range c.records {
		for _, a := range r.Apps {
			if a.Activated-a.Added > 500 {
				waited++
			}
		}
		for _, k := range r.Containers {
			if k.Reserved >= 0 {
				reserved++
			}
		}
	}
	n := len(c.records)
	return fmt.Sprintf("on average, %d applications waited for the limit of masters, %d containers were reserved first, and at most %.0f %% of the memory was held",
		waited/n, reserved/n, 100*c.records[0].fullest())
}

// fullest is the largest share of the memory that was held at a time.
func (r *Record) fullest() float64 {
	held := map[int64]int64{}
	var most, total int64
	for _, n := range r.Nodes {
		total += int64(n.MB)
	}
	for _, k := range r.Containers {
		for s := k.Allocated / 1000; s < k.Released/1000; s++ {
			held[s] += k.MB
			most = max(most, held[s])
		}
	}
	return float64(most) / float64(total)
}

// mastersRun is a run's line of the page: times in s, intervals in ms.
type mastersRun struct {
	*Record
	Timing            yarn.Timing
	End               float64
	Times, Late, Took []float64
}

func (c *comparison) runs() (list []mastersRun) {
	for _, r := range c.records {
		x := mastersRun{Record: r}
		x.Timing, _ = r.timing()
		for k, a := range r.Apps {
			x.Times = append(x.Times, float64(a.Unregister-int64(r.Workload[k].Submit))/1000)
			x.End = max(x.End, float64(a.End)/1000)
			for _, ms := range a.Took {
				x.Took = append(x.Took, float64(ms))
			}
		}
		last := map[int32]int64{}
		for _, l := range r.Log {
			if l.Kind == "pass" {
				if at, ok := last[l.Of]; ok {
					x.Late = append(x.Late, float64(l.At-at-1000))
				}
				last[l.Of] = l.At
			}
		}
		list = append(list, x)
	}
	return list
}
