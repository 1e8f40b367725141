package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/internal/term"
	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/result/verdict"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/whatif"
)

// showRun prints one run: the scenario, the figures, then what they rest on.
func showRun(w io.Writer, r *result.Run, headline string, bySize bool) {
	ink := term.InkFor(os.Stdout)
	if r.Partial {
		fmt.Fprintln(w, ink.Warn("PARTIAL: stopped before the end; the figures cover only a part of the workload"))
	}
	say(w, fmt.Sprintf("%s on %s under %s, seed %d", r.Scenario.Workload, r.Scenario.ClusterTitle, r.Scenario.Scheduler, r.Scenario.Seed))
	fmt.Fprintln(w)
	showHeadline(w, headline, ink)
	showCounts(w, r)
	t := term.Table{Head: []string{"", "mean", "median", "p95", "p99", "max"}, Ink: ink}
	of := func(s result.Stats) []float64 { return []float64{s.Mean, s.Median, s.P95, s.P99, s.Max} }
	times := func(s result.Stats) func(float64) string { return unit.ColumnOf(of(s)).Format }
	for _, m := range []struct {
		name  string
		s     result.Stats
		write func(float64) string
	}{
		{"wait", r.Metrics.Wait, times(r.Metrics.Wait)},
		{"gang wait", r.Metrics.GangWait, times(r.Metrics.GangWait)},
		{"run", r.Metrics.Run, times(r.Metrics.Run)},
		{"elapsed", r.Metrics.Elapsed, times(r.Metrics.Elapsed)},
		{"slowdown", r.Metrics.Slowdown, func(v float64) string { return verdict.Format(v, verdict.Ratio) }},
		{"response ratio", r.Metrics.ResponseRatio, func(v float64) string { return verdict.Format(v, verdict.Ratio) }},
	} {
		if unknown := r.Metrics.Slowdown.Count == 0; m.name == "slowdown" && unknown || m.name == "response ratio" && !unknown {
			continue // times alone are unknown: the response ratio stands in
		}
		if m.name == "gang wait" && m.s.Count == 0 {
			continue
		}
		cells := []string{m.name}
		for _, v := range of(m.s) {
			cells = append(cells, m.write(v))
		}
		t.Add(cells...)
	}
	fmt.Fprintf(w, "\n%s\n", draw(t))
	showChanges(w, r.Steering, ink)
	if len(r.ByQueue) > 1 && len(r.ByQueue) <= 12 {
		showQueues(w, r.ByQueue, ink)
	}
	if r.Spread != nil && bySize {
		showSizes(w, r.Spread, ink)
	}
	if r.Observed != nil && r.Observed.Jobs >= fewObserved {
		showObserved(w, r.Observed, ink)
	}
	showGround(w, r.Assumptions, r.NotModelled, ink)
}

// showHeadline prints the headline.
func showHeadline(w io.Writer, headline string, ink term.Ink) {
	for _, line := range strings.Split(strings.TrimSpace(term.Wrap(headline, "", min(term.Width(os.Stdout), 110))), "\n") {
		fmt.Fprintln(w, ink.Bold(line))
	}
	fmt.Fprintln(w)
}

func showCounts(w io.Writer, r *result.Run) {
	t := term.Table{Left: 2}
	jobs := count(r.Jobs.Finished) + " of " + count(r.Jobs.Submitted) + " finished"
	for _, x := range []struct {
		n    int64
		what string
	}{{r.Jobs.Refused, "refused"}, {r.Jobs.Failed, "failed"}, {r.Jobs.Unfinished, "unfinished"}} {
		if x.n > 0 {
			jobs += ", " + count(x.n) + " " + x.what
		}
	}
	tasks := count(r.Tasks.Finished)
	if r.Tasks.Lost > 0 {
		tasks += ", and " + count(r.Tasks.Lost) + " lost attempts"
	}
	t.Add("jobs", jobs)
	t.Add("tasks", tasks)
	t.Add("makespan", unit.FormatSeconds(r.Makespan))
	used := verdict.Format(r.Utilisation, verdict.Share)
	for i, n := range r.Named {
		used += []string{" of memory", ""}[min(i, 1)] + ", " + verdict.Format(n.Utilisation, verdict.Share) + " of " + n.Name
	}
	t.Add("utilisation", used)
	for i, p := range r.Partitions {
		t.Add([]string{"partitions", ""}[min(i, 1)], fmt.Sprintf("%s: utilisation %s, %s of the work", unit.Count(int64(p.Nodes), "node"),
			verdict.Format(p.Utilisation, verdict.Share), verdict.Format(p.Work, verdict.Share)))
	}
	for i, line := range deadlineLines(r) {
		t.Add([]string{"deadlines", ""}[min(i, 1)], line)
	}
	if l := r.Locality; l.Node+l.Rack+l.Off > 0 {
		all := float64(l.Node + l.Rack + l.Off)
		t.Add("locality", fmt.Sprintf("%.0f %% on the node, %.0f %% in the rack, %.0f %% elsewhere",
			100*float64(l.Node)/all, 100*float64(l.Rack)/all, 100*float64(l.Off)/all))
	}
	if n := r.Traffic; n != nil {
		for i, line := range trafficLines(n) {
			t.Add([]string{"network", ""}[min(i, 1)], line)
		}
	}
	if r.Steering != nil {
		for i, line := range steeringLines(r.Steering) {
			t.Add([]string{"steering", "", "", ""}[i], line)
		}
	}
	fmt.Fprint(w, draw(t))
	for _, x := range r.Refusals {
		fmt.Fprintf(w, "  not finished, %s: %s\n", count(x.Jobs), term.Line(x.Reason))
	}
	if r.Jobs.Finished == 0 && r.Jobs.Refused > 0 {
		say(w, dealHint)
	}
}

// deadlineLines summarise how jobs with a deadline fared, what stayed idle, and what the scheduler predicted.
func deadlineLines(r *result.Run) []string {
	d := r.Deadlines
	if d == nil {
		return nil
	}
	lines := []string{fmt.Sprintf("%s of %s met (%s); mean lateness %s, max %s", count(d.Met), count(d.Jobs), verdict.Format(d.MetShare, verdict.Share),
		unit.FormatSeconds(d.MeanLateness), unit.FormatSeconds(d.MaxLateness))}
	if i := r.Idle; i != nil {
		line := fmt.Sprintf("idle while jobs were present: %s of the cluster", verdict.Format(i.Share, verdict.Share))
		if i.ContainerSeconds > 0 {
			line += fmt.Sprintf(", %s container-seconds", count(int64(i.ContainerSeconds)))
		}
		lines = append(lines, line)
	}
	if e := r.Estimates; e != nil {
		sum, n := 0.0, 0.0
		for _, by := range e.ByLife {
			if by.Jobs > 0 {
				sum, n = sum+by.Absolute, n+1
			}
		}
		line := fmt.Sprintf("predicted ends of %s: off by %s of the elapsed time on average", unit.Count(e.Jobs, "job"), verdict.Format(sum/max(1, n), verdict.Share))
		if last := e.ByLife[len(e.ByLife)-1]; last.Jobs > 0 {
			line += ", by " + verdict.Format(last.Absolute, verdict.Share) + " in its last tenth"
		}
		lines = append(lines, line)
	}
	return lines
}

// showSizes prints slowdowns by the size of jobs.
func showSizes(w io.Writer, s *result.Spread, ink term.Ink) {
	t := term.Table{Head: []string{"slowdown of jobs of", "jobs", "mean", "median", "p95", "max"}, Ink: ink}
	for _, g := range s.BySize {
		cells := []string{whatif.SizeName(&g), count(g.Jobs)}
		for _, v := range []float64{g.Slowdown.Mean, g.Slowdown.Median, g.Slowdown.P95, g.Slowdown.Max} {
			cells = append(cells, verdict.Format(v, verdict.Ratio))
		}
		t.Add(cells...)
	}
	fmt.Fprint(w, draw(t))
	say(w, fmt.Sprintf("A size is the total time of a job's tasks. Quantiles of slowdowns over their median: V(75) %s, V(90) %s, V(95) %s, V(99) %s; squared coefficient of variation %s",
		verdict.Format(s.V75, verdict.Ratio), verdict.Format(s.V90, verdict.Ratio), verdict.Format(s.V95, verdict.Ratio), verdict.Format(s.V99, verdict.Ratio), verdict.Format(s.SCV, verdict.Ratio)))
	fmt.Fprintln(w)
}

// trafficLines summarise the network traffic: the total, the busiest link, and how shuffles begin.
func trafficLines(n *result.Traffic) []string {
	lines := []string{fmt.Sprintf("%s: %s of blocks, %s shuffled; %s left their rack", unit.Count(n.Flows, "flow"),
		unit.Bytes(n.ReadBytes), unit.Bytes(n.ShuffledBytes), unit.Bytes(n.CrossRackBytes))}
	if n.Reconfigured > 0 {
		lines[0] += fmt.Sprintf(", %s of it over circuits, reconfigured %s", verdict.Format(n.OpticalShare(), verdict.Share), times(n.Reconfigured))
	}
	if len(n.Busiest) > 0 {
		l := n.Busiest[0]
		lines = append(lines, fmt.Sprintf("busiest link %s: %s of its capacity, congested %s", l.Name, verdict.Format(l.Utilisation, verdict.Share), times(l.Crossings)))
	}
	line := fmt.Sprintf("links between racks %s loaded, congested %s", verdict.Format(n.UplinkLoad, verdict.Share), times(n.Congested))
	if n.MapProgress > 0 {
		line += fmt.Sprintf("; %s of a job's maps done when its first reduce starts", verdict.Format(n.MapProgress, verdict.Share))
	}
	lines = append(lines, line)
	if n.ReduceIdle > 0 {
		lines = append(lines, fmt.Sprintf("%s of the container-time was held by reduces that waited for maps or data", verdict.Format(n.ReduceIdle, verdict.Share)))
	}
	return lines
}

func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return count(n) + " times"
}

// dealHint is what to try when every job is refused.
const dealHint = "No job ran. If their queues are not in the scheduler's file, reassign them: --queues NAME,NAME"

func showQueues(w io.Writer, groups []result.Group, ink term.Ink) {
	t := term.Table{Head: []string{"queue", "jobs", "median wait", "p95 wait", "median elapsed", "p95 elapsed"}, Ink: ink}
	slowdowns := slices.ContainsFunc(groups, func(g result.Group) bool { return g.Slowdown.Count > 0 })
	if slowdowns {
		t.Head = []string{"queue", "jobs", "median wait", "p95 wait", "median slowdown", "p95 slowdown"}
	}
	var waits, elapsed []float64
	for _, g := range groups {
		waits, elapsed = append(waits, g.Wait.Median, g.Wait.P95), append(elapsed, g.Elapsed.Median, g.Elapsed.P95)
	}
	wait, took := unit.ColumnOf(waits).Format, unit.ColumnOf(elapsed).Format
	for _, g := range groups {
		last := [2]string{took(g.Elapsed.Median), took(g.Elapsed.P95)}
		switch {
		case slowdowns && g.Slowdown.Count == 0: // none of its jobs finished
			last = [2]string{"-", "-"}
		case slowdowns:
			last = [2]string{verdict.Format(g.Slowdown.Median, verdict.Ratio), verdict.Format(g.Slowdown.P95, verdict.Ratio)}
		}
		t.Add(term.Name(g.Name), count(g.Jobs), wait(g.Wait.Median), wait(g.Wait.P95), last[0], last[1])
	}
	fmt.Fprintln(w, draw(t))
}

// fewObserved is the number of jobs below which a median error is meaningless; result.json has it all the same.
const fewObserved = 3

// showObserved prints how far the run is from what really happened: that is an error only if the settings are the same.
func showObserved(w io.Writer, o *result.Observed, ink term.Ink) {
	what, note := "error", ""
	if other := o.OtherSettings; other != "" {
		what, note = "difference", " ("+other+": so this is not the simulator's error)"
	}
	t := term.Table{Head: []string{"against what was observed", "observed", "simulated", what}, Ink: ink}
	worst := o.Worst[:min(len(o.Worst), 5)]
	var times []float64
	for _, j := range worst {
		times = append(times, j.Observed, j.Simulated)
	}
	column := unit.ColumnOf(times)
	for _, j := range worst {
		t.Add(j.ID, column.Format(j.Observed), column.Format(j.Simulated), fmt.Sprintf("%+.1f %%", 100*j.Error))
	}
	fmt.Fprint(w, draw(t))
	say(w, fmt.Sprintf("%s jobs, from submission to finish (observed: from launch, where the trace tells that instead): median %s %.1f %%, 95 %% of jobs within %.1f %%; above, the largest%s",
		count(o.Jobs), what, 100*o.MedianError, 100*o.P95Error, note))
	fmt.Fprintln(w)
}

// showGround prints what figures rest on.
func showGround(w io.Writer, assumptions, notModelled []string, ink term.Ink) {
	showList(w, "Assumed", assumptions, ink)
	showList(w, "Read, but not modelled", notModelled, ink)
}

// showList prints sentences under a heading, if there are any.
func showList(w io.Writer, head string, lines []string, ink term.Ink) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintln(w, ink.Bold(head))
	for _, l := range lines {
		fmt.Fprint(w, "  - "+term.Wrap(l, "    ", min(term.Width(os.Stdout), 110))[4:])
	}
}

// say prints a sentence. On a terminal it is wrapped; a script finds it on one line.
func say(w io.Writer, sentence string) {
	columns, _ := term.Columns(os.Stdout)
	fmt.Fprint(w, term.Sentence(sentence, columns))
}

// draw draws a table for standard output.
func draw(t term.Table) string {
	t.Width, _ = term.Columns(os.Stdout)
	return t.String()
}

// groupLines is the number of queues, users and classes that are shown of each kind, unless all are asked for.
const groupLines = 8

// showComparison prints the answers, the tables of a comparison and what they rest on: all of it, or what there is room for and where to find the
// rest.
func showComparison(w io.Writer, c *whatif.Comparison, verbose bool, elsewhere string) {
	ink := term.InkFor(os.Stdout)
	if c.Partial {
		fmt.Fprintln(w, ink.Warn("PARTIAL: stopped before the end; the figures cover only a part of the work"))
	}
	for _, text := range c.Warnings {
		say(w, ink.Warn("WARNING: "+text))
		fmt.Fprintln(w)
	}
	for _, a := range c.Answers {
		showHeadline(w, a.Text, ink)
	}
	names := c.Labels()
	main, levels, rest := c.Tables()
	if verbose {
		main = append(main, rest...)
	}
	showRows(w, "", main, names, ink)
	for groups := c.Groups; len(groups) > 0; {
		n := 1
		for n < len(groups) && groups[n].Kind == groups[0].Kind {
			n++
		}
		showGroups(w, groups[:n], names, verbose, elsewhere, ink)
		groups = groups[n:]
	}
	if len(levels) > 0 {
		showRows(w, "share of jobs", levels, names, ink)
	}
	for i, name := range names {
		if name != c.Schedulers[i] {
			say(w, name+" is "+c.Schedulers[i])
		}
	}
	for _, n := range c.Notes {
		say(w, ink.Warn("note:")+" "+n)
	}
	for _, runs := range c.Runs {
		if len(runs) > 0 && runs[0].Jobs.Finished == 0 && runs[0].Jobs.Refused > 0 {
			say(w, dealHint)
			break
		}
	}
	if len(c.Runs) == 0 || len(c.Runs[0]) == 0 {
		return
	}
	var not []string
	for s, runs := range c.Runs {
		for _, m := range runs[0].NotModelled {
			not = append(not, names[s]+": "+m)
		}
	}
	if verbose {
		fmt.Fprintln(w)
		showGround(w, c.Assumptions(), not, ink)
		return
	}
	rests := unit.Count(int64(len(c.Assumptions())), "assumption")
	if len(not) > 0 {
		rests += ", and " + unit.Count(int64(len(not)), "setting") + " not modelled"
	}
	say(w, fmt.Sprintf("This rests on %s: %s shows them", rests, elsewhere))
}

// showRows prints metrics under every scheduler.
func showRows(w io.Writer, title string, rows []verdict.Row, names []string, ink term.Ink) {
	t := term.Table{Head: comparedHead(names, title), Ink: ink}
	for _, row := range rows {
		t.Add(append([]string{row.Metric}, compared(&row)...)...)
	}
	fmt.Fprintln(w, draw(t))
}

func comparedHead(names []string, first ...string) []string {
	head := append(first, names[0])
	for _, n := range names[1:] {
		head = append(head, n, "")
	}
	return head
}

// compared are the cells of a row: before, after and change.
func compared(row *verdict.Row) []string {
	write := row.Format()
	cells := []string{write(row.Cells[0].Mean)}
	for _, cell := range row.Cells[1:] {
		diff := cell.Difference(row.Unit)
		if cell.Judgement == verdict.Same {
			diff = "same"
		}
		cells = append(cells, write(cell.Mean), diff)
	}
	return cells
}

// showGroups prints the p95 elapsed time of queues, users or classes: what a variant touches, then who loses, then who gains. Of groups with too
// few jobs to be judged it prints only what a variant touches, unless all are asked for.
func showGroups(w io.Writer, groups []verdict.Group, names []string, all bool, elsewhere string, ink term.Ink) {
	t := term.Table{Head: comparedHead(names, "p95 elapsed by "+groups[0].Kind, "jobs"), Ink: ink}
	shown := 0
	for _, g := range groups {
		touched := slices.Contains(g.Touched, true)
		if !all && (shown == groupLines || g.Few && !touched) {
			continue
		}
		shown++
		name, jobs := term.Name(g.Name), count(g.Jobs[0])
		if touched {
			name += " (changed)"
		}
		if g.Few {
			jobs += " (few)"
		}
		t.Add(append([]string{name, jobs}, compared(&g.Rows[0])...)...)
	}
	if shown == 0 {
		return
	}
	fmt.Fprint(w, draw(t))
	if n := len(groups) - shown; n > 0 {
		fmt.Fprintf(w, "  and %d more: %s shows them\n", n, elsewhere)
	}
	fmt.Fprintln(w)
}

// showFiles prints where the output files are.
func showFiles(w io.Writer, dir, report string) {
	if dir != "" {
		fmt.Fprintf(w, "\nTables and result: %s\n", filepath.Clean(dir)+string(filepath.Separator))
	}
	if report != "" {
		fmt.Fprintf(w, "\nReport: %s\n", report)
	}
}

// writeJSON writes JSON for programs.
func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// count formats a whole number with separators.
func count(n int64) string { return unit.Number(n) }
