package whatif

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/report"
	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/result/verdict"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload/synth"
)

// batchShare is the part of a makespan within which all jobs of a batch arrive.
const batchShare = 0.1

// compare makes the comparison from the runs so far. Only seeds that completed under every scheduler count: half
// a run compared with a whole one says nothing. A single run is shown as far as it got.
func (c *pool) compare() *Comparison {
	out := &Comparison{Seeds: []uint64{}, read: c.read, Schedulers: c.names, labels: c.plan.labels(), touched: c.plan.Touched, doubts: c.plan.Doubts, bySize: c.plan.BySize}
	first := c.plan.Variants[0].Workload
	if first.Drawn {
		out.drawn = cmp.Or(first.Draws, "jobs")
	}
	for i := range c.plan.Variants {
		out.other = append(out.other, c.plan.Variants[i].Workload != first)
	}
	if c.plan.Pictures {
		out.Pictures = c.pictures
	}
	if c.cache != nil {
		if r := c.runs[0][0]; r != nil {
			out.batch = c.cache.span.Seconds() < batchShare*r.Makespan
		}
		if c.plan.perturbs() {
			out.within = synth.Jitter(c.cache.span)
		}
	}
	if out.Runs = make([][]*result.Run, len(c.runs)); c.stay != nil {
		out.stay = make([][][]result.Group, len(c.runs))
	}
	for seed, number := range c.plan.Seeds {
		whole := true
		for s := range c.runs {
			whole = whole && c.runs[s][seed] != nil && (len(c.runs) == 1 || !c.runs[s][seed].Partial)
		}
		if !whole {
			out.Partial = true
			continue
		}
		out.Seeds = append(out.Seeds, number)
		for s := range c.runs {
			if out.Runs[s] = append(out.Runs[s], c.runs[s][seed]); c.stay != nil {
				out.stay[s] = append(out.stay[s], c.stay[s][seed])
			}
			out.Partial = out.Partial || c.runs[s][seed].Partial
		}
	}
	if len(out.Seeds) > 0 {
		out.judge()
	}
	return out
}

// judge derives everything that follows from the runs.
func (out *Comparison) judge() {
	first := out.Runs[0][0]
	for i, m := range slices.Concat(metrics, out.moreMetrics(), levelMetrics()) {
		// Where tasks have no length of their own, times alone are unknown: the response ratio stands in.
		if unknown := first.Jobs.Finished > 0 && first.Metrics.Slowdown.Count == 0; unknown && m.ofAlone() || !unknown && m.ofWaits() {
			continue
		}
		if out.Rows = append(out.Rows, m.rowOf(out.Runs)); i < len(metrics) || m.name == deadlinesMet {
			out.common++
		}
	}
	for s, name := range out.Schedulers {
		if out.empty(s) && out.tally(s).jobs.Submitted > 0 {
			out.Unfinished = append(out.Unfinished, name)
		}
	}
	out.settle()
	if warning := ReplayError(first); warning != "" {
		out.Warnings = append(out.Warnings, warning)
	}
	out.setApart()
	if len(out.Schedulers) > 1 {
		out.Groups = out.groups()
	}
	if out.doubts.Drifts {
		for i := range out.Rows {
			out.Rows[i].Vague = true
		}
		for i := range out.Groups {
			for k := range out.Groups[i].Rows {
				out.Groups[i].Rows[k].Vague = true
			}
		}
	}
	out.Answers = out.answers()
}

// settle considers all rows together: whether the intervals mean anything, and what a reader must know.
func (out *Comparison) settle() {
	if out.Partial {
		out.Notes = append(out.Notes, "partial: the work was stopped before the end, so the figures cover only a part of it")
	}
	out.Notes = append(out.Notes, out.coverage()...)
	switch {
	case len(out.Schedulers) < 2 || out.empty(0):
	default:
		if out.alike = len(out.Seeds) > 1 && out.constant(); out.alike {
			// A zero-width interval would claim certainty although nothing was random.
			for r := range out.Rows {
				out.Rows[r].Unjudge()
			}
		}
		out.Notes = append(out.Notes, out.ground())
	}
	if text := out.uplinks(); text != "" {
		out.Notes = append(out.Notes, text)
	}
	out.Notes = append(out.Notes, out.doubts.Texts...)
}

// shortOfLinks is the load of uplinks from which a scheduler that spares them has something to gain: the study of the defaults has gains at 0.41 and above, and losses
// at 0.35.
const shortOfLinks = 0.38

// noticedIdle is the share of the container-time that is worth a word.
const noticedIdle = 0.05

// uplinks warns of schedulers that look at the network where its links are not what jobs wait for.
func (out *Comparison) uplinks() string {
	aware := slices.IndexFunc(out.Schedulers, func(s string) bool { return strings.HasPrefix(s, "nas") || strings.HasPrefix(s, "shufflewatcher") })
	if aware < 0 || out.empty(0) || out.Runs[0][0].Traffic == nil {
		return ""
	}
	var load, idle float64
	for _, r := range out.Runs[0] {
		load, idle = load+r.Traffic.UplinkLoad/float64(len(out.Runs[0])), idle+r.Traffic.ReduceIdle/float64(len(out.Runs[0]))
	}
	if load >= shortOfLinks {
		return ""
	}
	text := fmt.Sprintf("under %s the uplinks are %s loaded: jobs wait for containers, not for the network, and %s is not recommended", out.Labels()[0], verdict.Format(load, verdict.Share), out.Labels()[aware])
	if idle >= noticedIdle {
		text += fmt.Sprintf("; reduces that wait for maps or data hold %s of the container-time, which a later slow-start frees", verdict.Format(idle, verdict.Share))
	}
	return text
}

// ground says what the intervals of differences cover, or why there are none.
func (out *Comparison) ground() string {
	switch {
	case len(out.Schedulers) < 2:
		return ""
	case out.alike:
		return fmt.Sprintf("all %d replays gave the same figures: differences have no interval", len(out.Seeds))
	case len(out.Seeds) == 1:
		return "one replay: nothing tells a difference from chance; leave out --seeds, or ask for 5 or more"
	case out.drawn != "":
		return fmt.Sprintf("intervals are 95 %% over %d seeds, each of which draws its own %s", len(out.Seeds), out.drawn)
	}
	return fmt.Sprintf("intervals are 95 %% over %d replays that move each submission by up to %s: they cover chance, not another week (--arrivals resampled does)",
		len(out.Seeds), unit.FormatSeconds(out.within.Seconds()))
}

// constant reports whether every seed gave the same figures under every scheduler.
func (out *Comparison) constant() bool {
	for _, row := range out.Rows {
		for _, cell := range row.Cells {
			for _, v := range cell.Values {
				if v != cell.Values[0] && !(math.IsNaN(v) && math.IsNaN(cell.Values[0])) {
					return false
				}
			}
		}
	}
	return true
}

// Labels are the short names of the schedulers, as sentences and tables have them.
func (out *Comparison) Labels() []string {
	if len(out.labels) == 0 {
		return report.Labels(out.Schedulers)
	}
	return out.labels
}

// orList lists names: "queue, user or class".
func orList(names []string) string {
	n := len(names) - 1
	if n == 0 {
		return names[0]
	}
	return strings.Join(names[:n], ", ") + " or " + names[n]
}
