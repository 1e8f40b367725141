package whatif

import (
	"fmt"
	"math"
	"strings"

	"github.com/yardmaster/yardmaster/result"
)

// Groups are considered if they have enough jobs for a 95th percentile, and only the largest: of many groups some look worse by
// chance.
const (
	groupJobs = 20
	groupMost = 8
)

// price says what scheduler s worsens for its gain in a metric, besides the harm already mentioned (nil: none), and how the
// makespan changes.
func (out *Comparison) price(s int, gained, said *Row) string {
	var parts []string
	makespan, nothing := out.row("makespan"), "nothing shown gets noticeably worse"
	grows := said != makespan && makespan.differs(s) < 0
	if said != nil || grows {
		nothing = "nothing else shown gets noticeably worse"
	}
	worst := out.worst(s, said)
	switch {
	case worst != nil:
		parts = append(parts, worst.said())
	case !grows:
		parts = append(parts, nothing)
	}
	if gained != makespan && said != makespan {
		parts = append(parts, out.makespan(s))
	}
	if worst == nil && grows {
		parts = append(parts, nothing)
	}
	text := strings.Join(parts, "; ")
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// loss is a figure that gets worse.
type loss struct {
	row  *Row
	who  int    // the scheduler
	kind string // "queue", "class"; "": of all jobs
	name string
	size float64
}

// worst finds what gets worse most, relatively: of all jobs, and of the jobs of one queue or class. The makespan is
// handled separately, and what was already mentioned is skipped.
func (out *Comparison) worst(s int, said *Row) *loss {
	var worst *loss
	offer := func(l loss) {
		if l.size = -l.row.differs(s); l.size > 0 && (worst == nil || l.size > worst.size) {
			worst = &l
		}
	}
	for i := range out.Rows {
		if row := &out.Rows[i]; row.Metric != "makespan" && row != said {
			offer(loss{row: row, who: s})
		}
	}
	constant := out.constant()
	for _, kind := range []struct {
		name string
		of   func(*result.Run) []result.Group
	}{
		{"queue", func(r *result.Run) []result.Group { return r.ByQueue }},
		{"class", func(r *result.Run) []result.Group { return r.ByClass }},
	} {
		groups := kind.of(out.Runs[0][0])
		if len(groups) < 2 {
			continue
		}
		for _, g := range groups[:min(len(groups), groupMost)] {
			if row := out.group(s, g.Name, kind.of, constant); row != nil {
				offer(loss{row: row, who: s, kind: kind.name, name: g.Name})
			}
		}
	}
	return worst
}

// group compares the elapsed time of one queue's or class's jobs; nil when a run of the first scheduler or of s has too few of them.
func (out *Comparison) group(s int, name string, of func(*result.Run) []result.Group, constant bool) *Row {
	p95 := func(r *result.Run) float64 {
		for _, g := range of(r) {
			if g.Name == name && g.Elapsed.Count >= groupJobs {
				return g.Elapsed.P95
			}
		}
		return math.NaN()
	}
	for _, runs := range [][]*result.Run{out.Runs[0], out.Runs[s]} {
		for _, r := range runs {
			if math.IsNaN(p95(r)) {
				return nil
			}
		}
	}
	row := rowOf(metric{"p95 elapsed", Seconds, false, p95}, out.Runs)
	if constant {
		row.unjudge()
	}
	return &row
}

// said describes a loss: "jobs of queue etl pay, with a 95th-percentile elapsed time of 2.4 h instead of 2 h".
func (l *loss) said() string {
	was, is := Format(l.row.Cells[0].Mean, l.row.Unit), Format(l.row.Cells[l.who].Mean, l.row.Unit)
	if l.kind == "" {
		return fmt.Sprintf("the %s goes from %s to %s", plain(l.row.Metric), was, is)
	}
	return fmt.Sprintf("jobs of %s %s pay, with a %s of %s instead of %s", l.kind, l.name, plain(l.row.Metric), is, was)
}
