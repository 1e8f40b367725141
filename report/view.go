package report

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/result/verdict"
	"github.com/yardmaster/yardmaster/unit"
)

// view is the data of the page's template: Data formatted, and what is derived from it.
type view struct {
	Data
	shell

	Answers [][]piece

	Runs    []head
	Several bool
	Forest  *forest
	Who     *groupTable // of the kind that a variant is about, or of queues
	Compare *comparison
	Levels  *comparison
	Others  *comparison
	Figures *figures
	OneSeed string // which seed the charts and what follows them are of
	Curves  []curveView
	Missing string // schedulers without a curve
	Cluster clusterView
	Groups  []groupTable
	BySize  *plot
	ByJob   []plot

	Steering []steeringView
	Locality *SheetTable
	Observed *observedView
}

// shell is the common part of all pages: see page/shell.html.
type shell struct {
	Again    [][]string // commands split into words, so that lines break between words only
	SeedList string

	Style  template.CSS
	Charts template.JS // that draws
	Script template.JS
	Chart  template.JS // what is drawn
}

// newShell loads styles and scripts from our own files.
func newShell(commands []string, seeds []uint64, styles, scripts []string, chart template.JS) shell {
	s := shell{
		SeedList: unit.Ranges(seeds, "–", ", "), Chart: chart,
		Style:  template.CSS(read(styles...)), //nolint:gosec // our own files
		Script: template.JS(read(scripts...)), //nolint:gosec // our own files
		Charts: template.JS(chartBundle),      //nolint:gosec // our own file, checked by its hash
	}
	for _, c := range commands {
		if c != "" {
			s.Again = append(s.Again, again(c))
		}
	}
	return s
}

// read joins files of the page. They are compiled in, so a missing one is a broken build.
func read(names ...string) string {
	var all []byte
	for _, name := range names {
		text, err := pageFiles.ReadFile("page/" + name)
		if err != nil {
			panic(err)
		}
		all = append(all, text...)
	}
	return string(all)
}

// head is a scheduler at the head of a column.
type head struct {
	Name, Full string
	Hue        int // of its colour, from 1
}

// cell names the scheduler in a table.
func (h head) cell() SheetCell { return SheetCell{Text: h.Name, Full: h.Full, Hue: h.Hue} }

type curveView struct{ ID, Title, Caption, Aria string }

type clusterView struct {
	Timeline, Jobs bool
	Waiting        bool
	Names          []string
	Left           int // schedulers without charts
	Ceiling        string
}

func newView(d Data) *view {
	full := make([]string, len(d.Runs))
	for i, r := range d.Runs {
		full[i] = r.Name
	}
	names := Labels(full)
	for i, r := range d.Runs {
		names[i] = cmp.Or(r.Label, names[i])
	}
	v := &view{
		Data: d, shell: newShell(d.Commands, d.Seeds, []string{"page.css"}, scripts, chartData(d, names)),
		Several: len(d.Runs) > 1, OneSeed: oneSeed(d.Seeds),
	}
	v.Subtitle = unit.NoBreak(groupDigits(d.Subtitle))
	v.Facts, v.Notices = slices.Clone(d.Facts), nil
	v.Assumptions, v.Notes = each(d.Assumptions, unit.NoBreak), each(d.Notes, unit.NoBreak)
	v.Read = each(d.Read, func(s string) string { return unit.NoBreak(groupDigits(s)) })
	for i, n := range names {
		v.Runs = append(v.Runs, head{Name: n, Full: full[i], Hue: i%8 + 1})
		if v.Several && n != full[i] {
			v.Facts = append(v.Facts, Fact{"scheduler " + n, full[i]})
		}
	}
	for _, s := range d.Answers {
		v.Answers = append(v.Answers, emphasise(s, names))
	}
	for i, n := range d.Notices {
		if i == maxNotices {
			v.Notices = append(v.Notices, "Other schedulers left jobs out too: see their results.")
			break
		}
		v.Notices = append(v.Notices, unit.NoBreak(strings.TrimSuffix(strings.ToUpper(n[:min(1, len(n))])+n[min(1, len(n)):], ".")+"."))
	}
	if len(v.Notices) == 0 {
		v.Notices = notices(d, names)
	}
	if len(d.Comparison) > 0 {
		v.Compare = newComparison(d.Comparison, v.Runs, d.Ground)
		if v.Groups = changeTables(d.Groups, v.Runs); len(v.Groups) > 0 {
			at := max(0, slices.IndexFunc(v.Groups, groupTable.Marked))
			who := v.Groups[at]
			of := slices.IndexFunc(d.Groups, func(g verdict.Group) bool { return g.Kind == who.Of })
			v.Forest = newForest(d.Comparison, d.Groups[of:], v.Runs)
			v.Who, v.Groups = &who, slices.Delete(v.Groups, at, at+1)
		}
		if v.Forest == nil {
			v.Forest = newForest(d.Comparison, nil, v.Runs)
		}
		if len(d.Levels) > 0 {
			v.Levels = newComparison(d.Levels, v.Runs, "")
		}
		if len(d.Others) > 0 {
			v.Others = newComparison(d.Others, v.Runs, "")
		}
	} else if r := d.Runs[0].Result; r != nil && !v.Several {
		v.Figures, v.Groups = newFigures(r), groupTables(r)
	}
	v.Curves = curveViews(d.Runs, names)
	v.Missing = withoutCurves(d.Runs, names)
	if v.Several {
		v.Locality = newLocality(d.Runs, v.Runs)
	}
	v.Observed = newObserved(d.Runs, v.Runs)
	v.Cluster = newClusterView(d.Runs, names)
	v.BySize, v.ByJob = sizePlot(d.Runs, v.Runs), jobPlots(d.Runs, v.Runs)
	v.Steering = steeringViews(d.Runs, v.Runs)
	return v
}

// maxNotices is the maximum number of notices before the figures.
const maxNotices = 6

// notices are what a reader must know before any figure: jobs excluded from it.
func notices(d Data, names []string) []string {
	var out []string
	for i, r := range d.Runs {
		if r.Result == nil {
			continue
		}
		c := r.Result.Jobs
		var parts []string
		for _, p := range []struct {
			n    int64
			what string
		}{{c.Refused, "refused"}, {c.Failed, "failed"}, {c.Unfinished, "not finished"}} {
			if p.n > 0 {
				parts = append(parts, unit.Number(p.n)+" "+p.what)
			}
		}
		if len(parts) == 0 {
			continue
		}
		text := fmt.Sprintf("Of %s: %s", unit.Count(c.Submitted, "job"), strings.Join(parts, ", "))
		if len(d.Runs) > 1 {
			text = names[i] + ": of " + strings.TrimPrefix(text, "Of ")
		}
		if len(r.Result.Refusals) > 0 {
			text += " (most often: " + clip(r.Result.Refusals[0].Reason, 160) + ")"
		}
		if c.Finished == 0 {
			text += ". None finished, so there are no figures to show."
		} else {
			text += ". Figures are over the finished ones."
		}
		out = append(out, text)
		if len(out) == maxNotices && len(d.Runs) > maxNotices+1 {
			return append(out, "Other schedulers left jobs out too: see their results.")
		}
	}
	return out
}

// withoutCurves names the schedulers that have no curve because nothing finished under them.
func withoutCurves(runs []Run, names []string) string {
	var without []string
	for i, r := range runs[:min(len(runs), maxChartRuns)] {
		if len(r.Curves.Wait.X)+len(r.Curves.Elapsed.X)+len(r.Curves.Slowdown.X) == 0 && r.Result != nil && r.Result.Jobs.Finished == 0 {
			without = append(without, names[i])
		}
	}
	return strings.Join(without, ", ")
}

func curveViews(runs []Run, names []string) []curveView {
	var out []curveView
	for _, c := range []struct {
		id, title, caption string
		unit               verdict.Unit
		of                 func(Run) result.Curve
	}{
		{"wait", "Wait", "submission to first container", verdict.Seconds, waitOf},
		{"elapsed", "Elapsed", "submission to finish", verdict.Seconds, elapsedOf},
		{"slowdown", "Slowdown", "elapsed against an empty cluster", verdict.Ratio, slowdownOf},
	} {
		var said []string
		some := false
		for i, r := range runs[:min(len(runs), maxChartRuns)] {
			curve := c.of(r)
			some = some || len(curve.X) > 0
			for k, y := range curve.Y {
				if y >= 0.95 {
					said = append(said, names[i]+" "+figure(curve.X[k], c.unit))
					break
				}
			}
		}
		if some {
			out = append(out, curveView{c.id, c.title, c.caption,
				fmt.Sprintf("Cumulative curves of %s. 95th percentile: %s.", strings.ToLower(c.title), strings.Join(said, ", "))})
		}
	}
	return out
}

func newClusterView(runs []Run, names []string) clusterView {
	shown := min(len(runs), maxChartRuns)
	v := clusterView{Names: names[:shown], Left: len(runs) - shown, Jobs: drawsJobs(runs[:shown])}
	for _, r := range runs[:shown] {
		v.Timeline = v.Timeline || (len(r.Timeline.Edges) > 1 && len(r.Timeline.Queues) > 0)
		v.Waiting = v.Waiting || slices.ContainsFunc(r.Timeline.Waiting, func(n float64) bool { return n > 0 })
		if c := r.Ceiling; v.Ceiling == "" && len(c) > 0 {
			v.Ceiling = figure(c[0].Containers, verdict.Count)
		}
	}
	return v
}

// figures is the table of a single run.
type figures struct {
	Table    SheetTable
	Facts    []Fact
	Fairness string
}

func newFigures(r *result.Run) *figures {
	f := &figures{Table: NewTable("Figures over finished jobs", []string{"", "mean", "median", "p95", "p99", "longest"})}
	f.Table.ID, f.Table.Class = "figures", "plain"
	of := func(s result.Stats) []float64 { return []float64{s.Mean, s.Median, s.P95, s.P99, s.Max} }
	for _, m := range []struct {
		name, note string
		unit       verdict.Unit
		stats      result.Stats
	}{
		{"wait", "submission to first container", verdict.Seconds, r.Metrics.Wait},
		{"gang wait", "submission to the start of all tasks of a gang", verdict.Seconds, r.Metrics.GangWait},
		{"run", "first container to finish", verdict.Seconds, r.Metrics.Run},
		{"elapsed", "submission to finish", verdict.Seconds, r.Metrics.Elapsed},
		{"slowdown", "elapsed against an empty cluster", verdict.Ratio, r.Metrics.Slowdown},
		{"response ratio", "elapsed over run", verdict.Ratio, r.Metrics.ResponseRatio},
	} {
		if m.name == "gang wait" && m.stats.Count == 0 {
			continue
		}
		var cells []string
		write := column(of(m.stats), m.unit)
		for _, value := range of(m.stats) {
			cells = append(cells, write(stat(m.stats, value)))
		}
		f.Table.add(SheetCell{Text: m.name, Small: m.note}, cells...)
	}
	f.Facts = []Fact{
		{"jobs finished", unit.Number(r.Jobs.Finished)},
		{"tasks finished", unit.Number(r.Tasks.Finished)},
		{"makespan", figure(r.Makespan, verdict.Seconds)},
		{"utilisation", figure(r.Utilisation, verdict.Share)},
		{"container hours", figure(r.ContainerHours, verdict.Ratio)},
	}
	if d := r.Deadlines; d != nil {
		f.Facts = append(f.Facts, Fact{"deadlines met", unit.Number(d.Met) + " of " + unit.Number(d.Jobs)}, Fact{"max lateness", figure(d.MaxLateness, verdict.Seconds)})
	}
	for _, n := range r.Named {
		f.Facts = append(f.Facts, Fact{n.Name, figure(n.Utilisation, verdict.Share) + " used"})
	}
	for i, p := range r.Partitions {
		f.Facts = append(f.Facts, Fact{"partition " + strconv.Itoa(i+1), figure(p.Utilisation, verdict.Share) + " used"})
	}
	if r.Fairness.JainSlowdownUsers > 0 {
		f.Facts = append(f.Facts, Fact{"fairness between users", figure(r.Fairness.JainSlowdownUsers, verdict.Ratio)})
		f.Fairness = fairnessNote
	}
	if text := localityText(r.Locality); text != "" {
		f.Facts = append(f.Facts, Fact{"task input", text})
	}
	return f
}
