package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/result/verdict"
	"github.com/yardmaster/yardmaster/unit"
)

// sample makes up a day of a cluster under several schedulers. The numbers are invented but hang together: curves, tables and
// timeline come from the same jobs.
func sample(jobs int, queues []string, schedulers ...string) Data {
	random := rand.New(rand.NewPCG(7, 11))
	const day, ceiling = 86400.0, 3600.0
	type made struct {
		id, user, queue, class string
		tasks                  int64
		submit, length         float64
	}
	all := make([]made, jobs)
	for i := range all {
		q := int(math.Pow(random.Float64(), 2) * float64(len(queues)))
		length := 8 * math.Exp(random.NormFloat64()*1.3+1.5)
		class := "small"
		if length > 120 {
			class = "large"
		} else if length > 30 {
			class = "medium"
		}
		all[i] = made{
			id: fmt.Sprintf("job_%05d", i), user: fmt.Sprintf("user%02d", int(math.Abs(random.NormFloat64())*14)), queue: queues[q], class: class,
			tasks: int64(1 + math.Pow(length, 1.1)*random.Float64()), submit: day * random.Float64(), length: length,
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].submit < all[j].submit })
	d := Data{
		Title:    "fifo, fair and capacity on one busy day",
		Subtitle: fmt.Sprintf("%s jobs of %d queues, 600 nodes × 6 containers in 30 racks, 5 seeds", unit.Number(int64(jobs)), len(queues)),
		Answers: []string{
			"fair: better for the cluster as a whole: p95 elapsed 21 min -> 2 min (-90 %, -95 to -87). Queue etl loses: p95 elapsed 2 min -> 3 min (+50 %, +45 to +54).",
			"capacity: the cluster as a whole: no noticeable difference.",
		},
		Facts: []Fact{
			{"workload", fmt.Sprintf("busy-day.parquet, %s jobs, 812,406 tasks, sha256 1f0c…e2", unit.Number(int64(jobs)))},
			{"cluster", "600x6/30: 600 nodes of 6 containers in 30 racks"},
		},
		Assumptions: []string{"task lengths from the trace", "no network model", "container start 0.4 s", "no failures"},
		NotModelled: []string{"user-limit-factor above 1 in root.ml"},
		Commands:    []string{"yardmaster compare --workload busy-day.parquet --cluster 600x6/30 --scheduler fifo --scheduler fair --scheduler capacity --seeds 5 --report report.html"},
		Version:     "0.1.0",
		Seeds:       []uint64{1, 2, 3, 4, 5},
	}
	for s, name := range schedulers {
		rows := make([]result.JobRow, 0, jobs)
		for _, m := range all {
			load := math.Max(0, math.Sin(m.submit/day*4*math.Pi-1)+0.1*math.Sin(m.submit/700))
			wait := [...]float64{900, 12, 420}[s%3] * load * (0.5 + random.Float64())
			stretch := [...]float64{1.1, 1.6, 1.3}[s%3] + load*[...]float64{0.1, 2, 0.6}[s%3]*random.Float64()
			if random.Float64() < 0.3 {
				wait = 0
			}
			run := m.length * stretch
			rows = append(rows, result.JobRow{
				ID: m.id, User: m.user, Queue: m.queue, Class: m.class, Outcome: "finished", Tasks: m.tasks, Submit: m.submit, Start: m.submit + wait,
				Finish: m.submit + wait + run, Wait: wait, Run: run, Elapsed: wait + run, Alone: m.length, Slowdown: (wait + run) / m.length,
				ContainerTime: m.length * float64(m.tasks),
			})
		}
		d.Runs = append(d.Runs, madeRun(name, rows, queues, day, ceiling))
	}
	if len(d.Runs) > 1 {
		d.Comparison = compareResults(d.Runs)
		for i := range d.Comparison {
			for k := range d.Comparison[i].Cells {
				c, half := &d.Comparison[i].Cells[k], 1.5+float64((i*7+k*3)%5)
				c.ChangeLow, c.ChangeHigh = c.Change-half, c.Change+half
			}
		}
		d.Levels, d.Others = []verdict.Row{d.Comparison[0]}, []verdict.Row{d.Comparison[1]}
		d.Levels[0].Metric, d.Others[0].Metric = "jobs over 30 min", "fairness between users"
		d.Groups = append(changesOf(d, "queue", func(r *result.Run) []result.Group { return r.ByQueue }), changesOf(d, "user", func(r *result.Run) []result.Group { return r.ByUser })...)
		d.Groups[0].Touched = []bool{true}
	}
	return d
}

// changesOf compares groups by the figures of the runs.
func changesOf(d Data, kind string, of func(*result.Run) []result.Group) (list []verdict.Group) {
	for i, first := range of(d.Runs[0].Result) {
		g := verdict.Group{Subject: verdict.Subject{Kind: kind, Name: first.Name}, Rows: []verdict.Row{{Metric: "p95 elapsed"}, {Metric: "p95 slowdown", Unit: verdict.Ratio}}}
		for _, r := range d.Runs {
			one := of(r.Result)[i]
			g.Jobs = append(g.Jobs, one.Jobs)
			for m, v := range []float64{one.Elapsed.P95, one.Slowdown.P95} {
				base := append(g.Rows[m].Cells, verdict.Cell{Mean: v})[0].Mean
				change := 100 * (v/base - 1)
				g.Rows[m].Cells = append(g.Rows[m].Cells, verdict.Cell{Mean: v, Change: change, ChangeLow: change - 3, ChangeHigh: change + 4, Judgement: judge(v-base, base, false)})
			}
		}
		list = append(list, g)
	}
	return list
}

func madeRun(name string, rows []result.JobRow, queues []string, day, ceiling float64) Run {
	const intervals = 2000
	of := func(f func(result.JobRow) float64) []float64 {
		out := make([]float64, len(rows))
		for i, r := range rows {
			out[i] = f(r)
		}
		slices.Sort(out)
		return out
	}
	wait := of(func(r result.JobRow) float64 { return r.Wait })
	elapsed := of(func(r result.JobRow) float64 { return r.Elapsed })
	slowdown := of(func(r result.JobRow) float64 { return r.Slowdown })
	run := of(func(r result.JobRow) float64 { return r.Run })
	res := &result.Run{Makespan: day * 1.01, Utilisation: 0.713, ContainerHours: 61234, Fairness: result.Fairness{JainSlowdownUsers: 0.93}}
	res.Jobs = result.JobCounts{Submitted: int64(len(rows)), Finished: int64(len(rows))}
	res.Tasks.Finished = 812406
	res.Metrics = result.Metrics{Wait: statsOf(wait), Run: statsOf(run), Elapsed: statsOf(elapsed), Slowdown: statsOf(slowdown)}
	res.ByQueue = groupsOf(rows, func(r result.JobRow) string { return r.Queue })
	res.ByUser = groupsOf(rows, func(r result.JobRow) string { return r.User })
	res.ByClass = groupsOf(rows, func(r result.JobRow) string { return r.Class })

	t := result.Timeline{Queues: queues, Containers: make([][]float64, len(queues))}
	for i := 0; i <= intervals; i++ {
		t.Edges = append(t.Edges, day*1.02/intervals*float64(i))
	}
	index := map[string]int{}
	for q, name := range queues {
		index[name] = q
		t.Containers[q] = make([]float64, intervals)
	}
	t.Waiting = make([]float64, intervals)
	for _, r := range rows {
		for i := int(r.Submit / t.Edges[1]); i < int(r.Start/t.Edges[1]) && i < intervals; i++ {
			t.Waiting[i]++
		}
		for i := int(r.Start / t.Edges[1]); i <= int(r.Finish/t.Edges[1]) && i < intervals; i++ {
			t.Containers[index[r.Queue]][i] += float64(min(r.Tasks, 300)) * 0.9
		}
	}
	for i := range intervals {
		sum := 0.0
		for q := range queues {
			sum += t.Containers[q][i]
		}
		if sum > ceiling {
			for q := range queues {
				t.Containers[q][i] *= ceiling / sum
			}
		}
	}
	return Run{Name: name, Result: res, Picture: Picture{
		Timeline: t, Ceiling: []Level{{0, ceiling}}, Jobs: rows, Curves: result.Curves{Wait: curveOf(wait), Elapsed: curveOf(elapsed), Slowdown: curveOf(slowdown)},
	}}
}

func statsOf(sorted []float64) result.Stats {
	n := len(sorted)
	if n == 0 {
		return result.Stats{}
	}
	sum := 0.0
	for _, v := range sorted {
		sum += v
	}
	at := func(p float64) float64 { return sorted[min(n-1, int(p*float64(n)))] }
	return result.Stats{Count: int64(n), Mean: sum / float64(n), Min: sorted[0], Median: at(0.5), P95: at(0.95), P99: at(0.99), Max: sorted[n-1]}
}

func curveOf(sorted []float64) (c result.Curve) {
	for i, v := range sorted {
		c.X = append(c.X, v)
		c.Y = append(c.Y, float64(i+1)/float64(len(sorted)))
	}
	return c
}

func groupsOf(rows []result.JobRow, name func(result.JobRow) string) []result.Group {
	by := map[string][]result.JobRow{}
	for _, r := range rows {
		by[name(r)] = append(by[name(r)], r)
	}
	var out []result.Group
	for n, members := range by {
		g := result.Group{Name: n, Jobs: int64(len(members))}
		var wait, elapsed, slowdown []float64
		for _, r := range members {
			g.Tasks += r.Tasks
			g.ContainerHours += r.ContainerTime / 3600
			wait, elapsed, slowdown = append(wait, r.Wait), append(elapsed, r.Elapsed), append(slowdown, r.Slowdown)
		}
		slices.Sort(wait)
		slices.Sort(elapsed)
		slices.Sort(slowdown)
		g.Wait, g.Elapsed, g.Slowdown = statsOf(wait), statsOf(elapsed), statsOf(slowdown)
		out = append(out, g)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

var eightQueues = []string{"etl", "adhoc", "ml", "reports", "ingest", "search", "ads", "default"}
