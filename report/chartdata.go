package report

import (
	"cmp"
	"encoding/json"
	"html/template"
	"maps"
	"math"
	"slices"
	"sort"
	"strconv"

	"github.com/yardmaster/yardmaster/result"
)

// Limits that bound the file size. With 24,000 jobs and three schedulers nothing is cut.
const (
	maxChartRuns   = 12      // schedulers in the charts
	maxQueues      = 8       // queues with a colour of their own; beyond it the smallest become "others"
	maxCurvePoints = 2000    // of one curve
	maxTimeValues  = 100_000 // containers by queue and interval, all runs together
	waitingPoints  = 600     // intervals of the jobs that wait
)

// chartData is the charts' data as JSON. Numbers are rounded to screen resolution.
func chartData(d Data, names []string) template.JS {
	runs := d.Runs[:min(len(d.Runs), maxChartRuns)]
	queues, index := rankQueues(runs)
	data := struct {
		Runs   []chartRun `json:"runs"`
		Queues []string   `json:"queues"`
		Jobs   jobColumns `json:"jobs"`
		// Waiting are jobs that wait, by run, over equal intervals between From and To.
		From    rounded     `json:"from"`
		To      rounded     `json:"to"`
		Waiting [][]rounded `json:"waiting"`
	}{Runs: []chartRun{}, Queues: append([]string{}, queues...), Jobs: newJobColumns(runs, index)}
	from, to := span(runs)
	data.From, data.To, data.Waiting = rounded{from, 9}, rounded{to, 9}, [][]rounded{}
	for i, r := range runs {
		as := func(of func(Run) result.Curve) string {
			if k := alikeCurve(runs[:i], of, of(r)); k >= 0 {
				return names[k]
			}
			return ""
		}
		data.Runs = append(data.Runs, chartRun{
			names[i], levels(r.Ceiling), newCurveData(r.Curves.Wait), as(waitOf), newCurveData(r.Curves.Elapsed), as(elapsedOf), newCurveData(r.Curves.Slowdown), as(slowdownOf),
			newTimelineData(r.Timeline, index, len(queues), maxTimeValues/(len(runs)*max(1, len(queues)))),
		})
		data.Waiting = append(data.Waiting, resample(r.Timeline, from, to, waitingPoints))
	}
	return script(data)
}

func levels(of []Level) [][2]rounded {
	out := [][2]rounded{}
	for _, l := range of {
		out = append(out, [2]rounded{{l.From, 9}, {l.Containers, 9}})
	}
	return out
}

// span is the time of all runs that know how many jobs wait; nothing: 0 to 0.
func span(runs []Run) (from, to float64) {
	from, to = math.Inf(1), math.Inf(-1)
	for _, r := range runs {
		if n := len(r.Timeline.Edges); len(r.Timeline.Waiting) > 0 {
			from, to = min(from, r.Timeline.Edges[0]), max(to, r.Timeline.Edges[n-1])
		}
	}
	if !(to > from) {
		return 0, 0
	}
	return from, to
}

// resample averages the jobs that wait over n equal intervals, the same for all runs, so that runs can be subtracted. After its end nobody waits.
func resample(t result.Timeline, from, to float64, n int) []rounded {
	out := []rounded{}
	if !(to > from) || len(t.Waiting) == 0 {
		return out
	}
	width := (to - from) / float64(n)
	for i, k := 0, 0; i < n; i++ {
		begin, end := from+float64(i)*width, from+float64(i+1)*width
		for k < len(t.Waiting) && t.Edges[k+1] <= begin {
			k++
		}
		area := 0.0
		for m := k; m < len(t.Waiting) && t.Edges[m] < end; m++ {
			if v := t.Waiting[m]; finite(v) {
				area += v * max(0, min(end, t.Edges[m+1])-max(begin, t.Edges[m]))
			}
		}
		out = append(out, rounded{area / width, 4})
	}
	return out
}

// chartRun is the chart data of a run. The As fields name an earlier run with the same curve.
type chartRun struct {
	Name       string       `json:"name"`
	Ceiling    [][2]rounded `json:"ceiling"` // from when on, how many
	Wait       curveData    `json:"wait"`
	WaitAs     string       `json:"waitAs,omitempty"`
	Elapsed    curveData    `json:"elapsed"`
	ElapsedAs  string       `json:"elapsedAs,omitempty"`
	Slowdown   curveData    `json:"slowdown"`
	SlowdownAs string       `json:"slowdownAs,omitempty"`
	Timeline   timelineData `json:"timeline"`
}

// script is a value as JSON inside a page. encoding/json escapes it for HTML.
func script(v any) template.JS {
	text, err := json.Marshal(v)
	if err != nil {
		panic("report: " + err.Error()) // numbers and texts only
	}
	return template.JS(text) //nolint:gosec // see above
}

func waitOf(r Run) result.Curve     { return r.Curves.Wait }
func elapsedOf(r Run) result.Curve  { return r.Curves.Elapsed }
func slowdownOf(r Run) result.Curve { return r.Curves.Slowdown }

// alikeCurve is the first run with an identical curve, which would be hidden under the other one. -1: none.
func alikeCurve(runs []Run, of func(Run) result.Curve, c result.Curve) int {
	for i, r := range runs {
		if o := of(r); len(c.X) > 0 && slices.Equal(o.X, c.X) && slices.Equal(o.Y, c.Y) {
			return i
		}
	}
	return -1
}

// rankQueues orders queues by the container time they held over all runs (by jobs, where there is no timeline), largest first,
// and says for each by which of the returned names it is shown.
func rankQueues(runs []Run) (shown []string, index map[string]int) {
	held, jobs := map[string]float64{}, map[string]int{}
	for _, r := range runs {
		for q, row := range r.Timeline.Containers {
			name := r.Timeline.Queues[q]
			for i, v := range row {
				if v > 0 && !math.IsInf(v, 0) {
					held[name] += v * (r.Timeline.Edges[i+1] - r.Timeline.Edges[i])
				}
			}
			jobs[name] += 0
		}
		for _, j := range r.Jobs {
			jobs[j.Queue]++
		}
	}
	shown = slices.SortedFunc(maps.Keys(jobs), func(a, b string) int {
		return cmp.Or(cmp.Compare(held[b], held[a]), cmp.Compare(jobs[b], jobs[a]), cmp.Compare(a, b))
	})
	index = make(map[string]int, len(shown))
	rest := len(shown)
	if len(shown) > maxQueues {
		rest = maxQueues - 1
	}
	for i, name := range shown {
		index[name] = min(i, rest)
		shown[i] = cmp.Or(name, "(none)")
	}
	if rest < len(shown) {
		left := len(shown) - rest
		shown = append(shown[:rest:rest], "others ("+strconv.Itoa(left)+" queues)")
	}
	return shown, index
}

type curveData struct {
	X   []rounded `json:"x"`
	Y   []rounded `json:"y"`
	P95 rounded   `json:"p95"`
}

// newCurveData downsamples a curve evenly, keeping its ends and the point of its 95th percentile. Of points at the same x it keeps the
// lowest and the highest.
func newCurveData(c result.Curve) curveData {
	p95 := sort.Search(len(c.Y), func(i int) bool { return c.Y[i] >= 0.95 })
	n := len(c.X)
	stride := max(1, (n+maxCurvePoints-1)/maxCurvePoints)
	d := curveData{[]rounded{}, []rounded{}, rounded{nan, 4}}
	for i := range n {
		if i > 0 && i < n-1 && c.X[i-1] == c.X[i] && c.X[i] == c.X[i+1] {
			continue
		}
		if (i%stride != 0 && i != n-1 && i != p95) || !finite(c.X[i]) || !finite(c.Y[i]) {
			continue
		}
		d.X, d.Y = append(d.X, rounded{c.X[i], 4}), append(d.Y, rounded{c.Y[i], 5})
	}
	if p95 < n {
		d.P95.v = c.X[p95]
	}
	return d
}

type timelineData struct {
	Edges []rounded   `json:"edges"`
	Held  [][]rounded `json:"held"`
}

// newTimelineData merges queues into those shown and neighbouring intervals until there are at most limit.
func newTimelineData(t result.Timeline, index map[string]int, shown, limit int) timelineData {
	n := max(0, len(t.Edges)-1)
	merge := max(1, (n+max(1, limit)-1)/max(1, limit))
	d := timelineData{[]rounded{}, [][]rounded{}}
	edge := func(i int) { d.Edges = append(d.Edges, rounded{math.Round(t.Edges[i]*100) / 100, 12}) }
	for i := 0; i < n; i += merge {
		edge(i)
	}
	if n > 0 {
		edge(n)
	}
	for q := range shown {
		row := []rounded{}
		for i := 0; i < n; i += merge {
			end := min(n, i+merge)
			var area float64
			for k, name := range t.Queues {
				if index[name] != q {
					continue
				}
				for m := i; m < end; m++ {
					if v := t.Containers[k][m]; finite(v) {
						area += v * (t.Edges[m+1] - t.Edges[m])
					}
				}
			}
			width := t.Edges[end] - t.Edges[i]
			if width <= 0 {
				width = 1
			}
			row = append(row, rounded{area / width, 4})
		}
		d.Held = append(d.Held, row)
	}
	return d
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// rounded is a number with limited significant digits; NaN is null.
type rounded struct {
	v      float64
	digits int
}

// MarshalJSON implements json.Marshaler.
func (r rounded) MarshalJSON() ([]byte, error) {
	if !finite(r.v) {
		return []byte("null"), nil
	}
	if r.v == math.Trunc(r.v) && math.Abs(r.v) < math.Pow10(min(r.digits, 15)) {
		return strconv.AppendInt(nil, int64(r.v), 10), nil
	}
	short, err := strconv.ParseFloat(strconv.FormatFloat(r.v, 'g', r.digits, 64), 64)
	return strconv.AppendFloat(nil, short, 'g', -1, 64), err
}
