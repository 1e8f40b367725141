// Package goal is the language in which an operator says what to improve and what must not get worse: "p95 elapsed of root.adhoc" is a
// goal, "p95 elapsed of root.prod <= +2 %" a bound. Less is better in all of them.
package goal

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/internal/suggest"
	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// All stands for the jobs of every queue.
const All = "all"

// MinJobs is the number of finished jobs that a 95th percentile needs: below it the mean is used, see Goal.For.
const MinJobs = 40

// Statistics and figures of a goal. Elapsed time and wait are in seconds.
const (
	Mean, Median, P95       = "mean", "median", "p95"
	Elapsed, Wait, Slowdown = "elapsed", "wait", "slowdown"
)

var (
	statistics = []string{Mean, Median, P95}
	figures    = []string{Elapsed, Wait, Slowdown}
)

// Goal is a figure of the jobs of a queue.
type Goal struct {
	Statistic string // Mean, Median or P95
	Figure    string // Elapsed, Wait or Slowdown
	Queue     string // as typed; All: of all jobs
}

func (g Goal) String() string { return g.Statistic + " " + g.Figure + " of " + g.Queue }

// Unit is that of the figure; "": it has none.
func (g Goal) Unit() string {
	if g.Figure == Slowdown {
		return ""
	}
	return "s"
}

// Parse parses a goal. A queue's name may contain blanks.
func Parse(text string) (Goal, error) {
	words := strings.Fields(text)
	if len(words) < 4 || words[2] != "of" {
		return Goal{}, fmt.Errorf("%q is not a goal: want (mean|median|p95) (elapsed|wait|slowdown) of (QUEUE|all), such as \"p95 elapsed of root.adhoc\"", text)
	}
	g := Goal{words[0], words[1], strings.Join(words[3:], " ")}
	for i, known := range [][]string{statistics, figures} {
		if !slices.Contains(known, words[i]) {
			return g, fmt.Errorf("%q: %q is none of %s%s", text, words[i], strings.Join(known, ", "), suggest.Hint(words[i], known))
		}
	}
	return g, nil
}

// For is the goal to use with this many jobs: the 95th percentile of a few jobs is one of them, so the mean replaces it.
func (g Goal) For(jobs int64) Goal {
	if g.Statistic == P95 && jobs < MinJobs {
		g.Statistic = Mean
	}
	return g
}

// Of computes the goal's statistic of the jobs' figures; NaN: there are none.
func (g Goal) Of(values []float64) float64 {
	switch {
	case len(values) == 0:
		return math.NaN()
	case g.Statistic == Median:
		return result.Quantile(values, 0.5)
	case g.Statistic == P95:
		return result.Quantile(values, 0.95)
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values)) // without the interval of result.Mean, which takes far longer
}

// Measure is the goal's value in a run, with the number of finished jobs that it is taken over; NaN: there are none.
func (g Goal) Measure(r *result.Run) (value float64, jobs int64) {
	of := result.Group{Wait: r.Metrics.Wait, Elapsed: r.Metrics.Elapsed, Slowdown: r.Metrics.Slowdown}
	if g.Queue != All {
		k := slices.IndexFunc(r.ByQueue, func(o result.Group) bool { return o.Name == g.Queue })
		if k < 0 {
			k = slices.IndexFunc(r.ByQueue, func(o result.Group) bool { return conf.QueueNamesMatch(o.Name, g.Queue) })
		}
		if k < 0 {
			return math.NaN(), 0
		}
		of = r.ByQueue[k]
	}
	s := map[string]result.Stats{Wait: of.Wait, Elapsed: of.Elapsed, Slowdown: of.Slowdown}[g.Figure]
	if s.Count == 0 {
		return math.NaN(), 0
	}
	return map[string]float64{Mean: s.Mean, Median: s.Median, P95: s.P95}[g.Statistic], s.Count
}

// Bound limits how much worse a figure may get.
type Bound struct {
	Goal
	Limit float64 // relative: 0.02 for <= +2 %
}

func (b Bound) String() string { return fmt.Sprintf("%s <= %+.9g %%", b.Goal, 100*b.Limit) }

// ParseBound parses a bound: a goal, then <= and a change in percent.
func ParseBound(text string) (Bound, error) {
	left, right, ok := strings.Cut(text, "<=")
	if !ok {
		return Bound{}, fmt.Errorf("%q is not a bound: want a goal and its limit, such as \"p95 elapsed of root.prod <= +2 %%\"", text)
	}
	g, err := Parse(left)
	if err != nil {
		return Bound{}, err
	}
	limit, err := ParseLimit(right)
	return Bound{g, limit}, err
}

// ParseLimit parses a change in percent: "+2 %". Its sign keeps it apart from a limit in seconds.
func ParseLimit(text string) (float64, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	number = strings.TrimSpace(number)
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !percent || !strings.ContainsAny(number[:1], "+-") || !(v > -100 && v <= 1e6) {
		return 0, fmt.Errorf("%q is not a limit: want a change in percent with its sign, such as \"+2 %%\"", strings.TrimSpace(text))
	}
	return v / 100, nil
}

// Kept says whether the bound holds for a figure before and after a change.
func (b Bound) Kept(before, after float64) bool { return !(b.Excess(before, after) > 0) }

// Excess is by how much the bound is broken, relative to the figure before; 0 or less: it is kept. Where there was none before there is nothing
// to keep; where there is none after, no job finished, and the bound is broken.
func (b Bound) Excess(before, after float64) float64 {
	switch {
	case math.IsNaN(before):
		return math.Inf(-1)
	case math.IsNaN(after):
		return math.Inf(1)
	case before == 0 && after == 0:
		return -b.Limit
	}
	const rounding = 1e-9
	return after/before - 1 - b.Limit - rounding
}
