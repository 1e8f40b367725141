package study

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"text/template"

	"github.com/yardmaster/yardmaster/result"
)

//go:embed *.md.tmpl
var pageTexts embed.FS

var pages = template.Must(template.New("").Funcs(template.FuncMap{"inc": func(i int) int { return i + 1 }}).ParseFS(pageTexts, "*"))

// writePage writes the page of a study to a file and returns its text.
func writePage(name, file string, data any) (string, error) {
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, name+".md.tmpl", data); err != nil {
		return "", err
	}
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		return "", fmt.Errorf("writing the report: %w", err)
	}
	return b.String(), nil
}

// Report compares the records with the simulator, writes report.md beside them and returns its text.
func (m *Masters) Report(ctx context.Context) (string, error) {
	c, err := m.compare(ctx)
	if err != nil {
		return "", err
	}
	return c.write(filepath.Join(m.Dir, "report.md"))
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
	rows := slices.Concat(c.rows("phases", phases), c.rows("nothing", nothing), c.rows("instants", instants))
	for i := range c.spread {
		p := &c.spread[i]
		rows = append(rows, row(fmt.Sprintf("daemons: run %d against run %d", p.a, p.b), &p.twoTimes, ""))
	}
	cell := func(v []float64) string {
		return fmt.Sprintf("%+.1f %% (%+.1f to %+.1f %%)", 100*average(v), 100*slices.Min(v), 100*slices.Max(v))
	}
	var chance []string
	for i, x := range c.nudged {
		chance = append(chance, fmt.Sprintf("| %d | %s | %s | %s |\n", i+1, cell(x.mean), cell(x.median), cell(x.p95)))
	}
	times := elapsed(c.truths[0])
	return writePage("masters", file, map[string]any{
		"Hadoop": r.Hadoop, "Nodes": len(r.Nodes), "Apps": len(r.Workload), "Containers": len(r.Containers), "Sizes": len(sizes), "Queues": len(queues), "Users": len(users),
		"Last": last, "Pressure": c.pressure(), "Met": c.met, "Verdicts": c.verdicts, "Overall": c.overall, "Rows": rows, "Nudges": nudges, "Chance": chance,
		"Below": result.Quantile(times, 0.45) / 1000, "Above": result.Quantile(times, 0.55) / 1000, "Runs": c.runs(), "XML": r.Queues,
	})
}

// rows are those of all runs with some knowledge, and of their mean.
func (c *comparison) rows(name string, k knowledge) (list []string) {
	for i := range c.ours[k] {
		differs := ""
		if d := &c.ours[k][i].end; k == instants && d.First < 0 {
			differs = fmt.Sprintf("none of %d", d.Total)
		} else if k == instants {
			differs = fmt.Sprintf("after %d of %d, %.1f s: %s", d.First, d.Total, d.FirstAt, c.records[i].why(d))
		}
		list = append(list, row(fmt.Sprintf("%s, run %d", name, i+1), &c.ours[k][i], differs))
	}
	if len(c.records) > 1 {
		d := &c.mean[k]
		list = append(list, fmt.Sprintf("| %s, mean of runs | %s | %s | | | |\n", name, d.end, d.first))
	}
	return list
}

func row(name string, d *twoTimes, differs string) string {
	return fmt.Sprintf("| %s | %s | %s | %d/%d %.2f | %.1f %% | %s |\n", name, d.end, d.first, d.end.Order, d.end.Jobs, d.end.Tau, 100*d.end.Placed, differs)
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

func (c *comparison) runs() (list []string) {
	for i, r := range c.records {
		t, _ := r.timing()
		var times, took, late []float64
		end := 0.0
		for k, a := range r.Apps {
			times = append(times, float64(a.Unregister-int64(r.Workload[k].Submit))/1000)
			end = max(end, float64(a.End)/1000)
			for _, x := range a.Took {
				took = append(took, float64(x))
			}
		}
		last := map[int32]int64{}
		for _, l := range r.Log {
			if l.Kind == "pass" {
				if at, ok := last[l.Of]; ok {
					late = append(late, float64(l.At-at-1000))
				}
				last[l.Of] = l.At
			}
		}
		q := result.Quantile
		list = append(list, fmt.Sprintf("| %d | %s | %s | %.1f, %.1f | %.0f s | %.1f s, %.1f s | %.1f ms | %.1f ms | %.0f, %.0f ms | %.0f, %.0f ms |\n", i+1, r.At.Format("2006-01-02 15:04"), c.kept[i].ProgramText(),
			r.Load[0], r.Load[1], end, q(times, 0.5), q(times, 0.95), 1000*t.NodeHeartbeat.Seconds(), 1000*t.MasterHeartbeat.Seconds(),
			q(late, 0.95), q(late, 1), q(took, 0.5), q(took, 0.95)))
	}
	return list
}
