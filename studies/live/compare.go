package live

import (
	"context"
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strings"
	"text/template"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/sim/yarn"
	"github.com/yardmaster/yardmaster/studies/conform"
	"github.com/yardmaster/yardmaster/unit"
)

// The bar: the median and the 95th percentile of application times within two percent, or within the daemons' own spread.
const maxError = 0.02

// comparison is the result of a study of AMs.
type comparison struct {
	records []*Record
	truths  []*conform.Outcome
	ours    [3][]twoTimes // by knowledge and run
	mean    [3]twoTimes   // the mean over the runs of each application's time, against that of the simulations
	spread  []pair
	nudged  []cloud // by run

	met      bool     // every run
	verdicts []string // by run
	overall  string   // of the mean of the runs
}

// twoTimes are the distances in the times of applications until their ends and until their first containers.
type twoTimes struct{ End, First conform.Distance }

type pair struct {
	a, b int
	twoTimes
}

func distance(truth, ours *conform.Outcome) twoTimes {
	return twoTimes{conform.Measure(truth, ours), conform.Measure(begun(truth), begun(ours))}
}

// begun is an outcome in which applications end with their first container.
func begun(o *conform.Outcome) *conform.Outcome {
	return &conform.Outcome{Submit: o.Submit, Start: o.Start, End: o.Start, Placed: o.Placed}
}

func compare(ctx context.Context, records []*Record) (*comparison, error) {
	c := &comparison{records: records}
	for _, r := range records {
		c.truths = append(c.truths, r.outcome())
	}
	for k := nothing; k <= instants; k++ {
		var all []*conform.Outcome
		for i, r := range c.records {
			o, err := simulate(ctx, r, k)
			if err != nil {
				return nil, fmt.Errorf("simulating run %d: %w", i+1, err)
			}
			all = append(all, o)
			c.ours[k] = append(c.ours[k], distance(c.truths[i], o))
		}
		c.mean[k] = distance(middle(c.truths), middle(all))
	}
	for i := range c.truths {
		for k := i + 1; k < len(c.truths); k++ {
			c.spread = append(c.spread, pair{i + 1, k + 1, distance(c.truths[i], c.truths[k])})
		}
	}
	c.judge()
	return c, c.clouds(ctx)
}

// middle averages the instants of each application; containers are the first run's.
func middle(all []*conform.Outcome) *conform.Outcome {
	o := conform.NewOutcome()
	o.Placed = all[0].Placed
	n := int64(len(all))
	for id, submit := range all[0].Submit {
		o.Submit[id] = submit
		for _, x := range all {
			if x.End[id] < 0 || x.Start[id] < 0 {
				o.Start[id], o.End[id] = -n, -n
				break
			}
			o.Start[id], o.End[id] = o.Start[id]+x.Start[id], o.End[id]+x.End[id]
		}
		o.Start[id], o.End[id] = o.Start[id]/n, o.End[id]/n
	}
	return o
}

// judge compares the simulations that know the phases with the bar, run by run: each measure must be within the bar, or within the distance
// of the two daemon runs that differ most.
func (c *comparison) judge() {
	var own conform.Distance
	for i := range c.spread {
		d := &c.spread[i].End
		own.Median, own.P95 = max(own.Median, d.Median), max(own.P95, d.P95)
	}
	c.met = true
	for i := range c.ours[phases] {
		v := verdict(&c.ours[phases][i].End, &own)
		c.verdicts = append(c.verdicts, v)
		c.met = c.met && strings.HasPrefix(v, "met")
	}
	c.overall = verdict(&c.mean[phases].End, &own)
}

func verdict(d, own *conform.Distance) string {
	switch {
	case d.Missing > 0:
		return fmt.Sprintf("missed: %d applications did not end in both", d.Missing)
	case d.Median > max(maxError, own.Median):
		return fmt.Sprintf("missed: median %.1f %%", 100*d.Median)
	case d.P95 > max(maxError, own.P95):
		return fmt.Sprintf("missed: p95 %.1f %%", 100*d.P95)
	case d.Median > maxError || d.P95 > maxError:
		return "met within the daemons' own spread"
	}
	return "met"
}

// cloud are the results of simulations of one run whose AMs begin a few milliseconds earlier or later.
type cloud struct{ Mean, Median, P95 []float64 } // relative errors, with their sign

const nudges = 20

func (c *comparison) clouds(ctx context.Context) error {
	for i, r := range c.records {
		var x cloud
		for n := uint64(1); n <= nudges; n++ {
			o, err := nudged(ctx, r, phases, n)
			if err != nil {
				return err
			}
			truth, ours := elapsed(c.truths[i]), elapsed(o)
			x.Mean = append(x.Mean, off(result.Mean(ours).Mean, result.Mean(truth).Mean))
			x.Median = append(x.Median, off(result.Quantile(ours, 0.5), result.Quantile(truth, 0.5)))
			x.P95 = append(x.P95, off(result.Quantile(ours, 0.95), result.Quantile(truth, 0.95)))
		}
		c.nudged = append(c.nudged, x)
	}
	return nil
}

// elapsed are the times of all applications, shortest first.
func elapsed(o *conform.Outcome) []float64 {
	list := make([]float64, 0, len(o.End))
	for id, end := range o.End {
		if end >= 0 {
			list = append(list, float64(end-o.Submit[id]))
		}
	}
	slices.Sort(list)
	return list
}

// why says what the log has at the first decision that differs with all instants given.
func (r *Record) why(d *conform.Distance) string {
	if d.First < 0 {
		return ""
	}
	at := int64(math.Round(d.FirstAt * 1000))
	pass := int32(-1)
	for i := range r.Containers {
		if r.Containers[i].Allocated == at {
			pass = r.Containers[i].Line
		}
	}
	last := int64(-1) // the pass's last container
	for i := range r.Containers {
		if r.Containers[i].Line == pass {
			last = max(last, r.Containers[i].Allocated)
		}
	}
	var n int32
	for _, l := range r.Log {
		switch {
		case l.Kind == "pass":
			n++
		case n == pass && l.Kind == "moved" && l.At <= last:
			return fmt.Sprintf(": a call of %s came in the middle of that pass", r.Workload[l.Of].ID)
		case n == pass && l.Kind == "added" && l.At <= last:
			return fmt.Sprintf(": %s was admitted in the middle of that pass", r.Workload[l.Of].ID)
		}
	}
	return ": the log does not tell why"
}

//go:embed masters.md.tmpl
var amsPage string

// data are the figures of the page.
func (c *comparison) data() map[string]any {
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
	return map[string]any{
		"First": r, "Sizes": len(sizes), "Queues": len(queues), "Users": len(users), "Last": last, "Pressure": c.pressure(), "Met": c.met, "Verdicts": c.verdicts, "Overall": c.overall, "Lines": lines,
		"Nudges": nudges, "Chance": c.nudged, "Times": elapsed(c.truths[0]), "Runs": c.runs(),
	}
}

var amsFuncs = template.FuncMap{
	"spread": func(v []float64) string {
		return fmt.Sprintf("%+.1f %% (%+.1f to %+.1f %%)", 100*result.Mean(v).Mean, 100*slices.Min(v), 100*slices.Max(v))
	},
	"s": func(ms float64) float64 { return ms / 1000 }, "ms": func(t unit.Time) float64 { return 1000 * t.Seconds() },
}

// pressure says how tight the limits were.
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
	return fmt.Sprintf("on average, %d applications waited for the limit of AMs, %d containers were reserved first, and at most %.0f %% of the memory was held",
		waited/n, reserved/n, 100*c.records[0].fullest())
}

// fullest is the peak share of memory in use.
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

// amsRun is a run's line of the page: times in s, intervals in ms.
type amsRun struct {
	*Record
	Timing            yarn.Timing
	End               float64
	Times, Late, Took []float64
}

func (c *comparison) runs() (list []amsRun) {
	for _, r := range c.records {
		x := amsRun{Record: r}
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
