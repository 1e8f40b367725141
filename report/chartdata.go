package report

import (
	"encoding/json"
	"html/template"
	"math"
	"slices"
	"sort"
	"strconv"
)

// Limits that keep a file small whatever was run. With 24,000 jobs and three schedulers none of them cuts anything.
const (
	maxChartRuns   = 12        // schedulers in the charts
	maxQueues      = 8         // queues with a colour of their own; beyond it the smallest become "others"
	maxCurvePoints = 2000      // of one curve
	maxTimeValues  = 100_000   // containers by queue and interval, all runs together
	maxJobBytes    = 1_600_000 // of the jobs, as thinJobs reckons them
)

// chartData writes what the charts draw as JSON. Numbers are rounded to what a screen can show.
func chartData(d Data, names []string) template.JS {
	runs := d.Runs[:min(len(d.Runs), maxChartRuns)]
	queues, index := rankQueues(runs)
	b := []byte(`{"runs":[`)
	for i, r := range runs {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"name":`...)
		b = appendString(b, names[i])
		b = append(b, `,"ceiling":`...)
		b = appendNumber(b, r.Timeline.Ceiling, 9)
		for _, c := range []struct {
			name string
			of   func(Run) Curve
		}{{"wait", waitOf}, {"elapsed", elapsedOf}, {"slowdown", slowdownOf}} {
			b = append(b, ',', '"')
			b = append(b, c.name...)
			b = append(b, `":`...)
			b = appendCurve(b, c.of(r))
			if as := alikeCurve(runs[:i], c.of, c.of(r)); as >= 0 {
				b = append(b, `,"`+c.name+`As":`...)
				b = appendString(b, names[as])
			}
		}
		b = append(b, `,"timeline":`...)
		b = appendTimeline(b, r.Timeline, index, len(queues), maxTimeValues/(len(runs)*max(1, len(queues))))
		b = append(b, '}')
	}
	b = append(b, `],"queues":`...)
	b = appendStrings(b, queues)
	b = append(b, `,"jobs":`...)
	b = appendJobs(b, runs, index)
	b = append(b, '}')
	return template.JS(b) //nolint:gosec // only numbers and strings that encoding/json escaped for HTML
}

func waitOf(r Run) Curve     { return r.Wait }
func elapsedOf(r Run) Curve  { return r.Elapsed }
func slowdownOf(r Run) Curve { return r.Slowdown }

// alikeCurve is the first run whose curve is the same, point by point: it lies under the other one and cannot be seen. -1: none.
func alikeCurve(runs []Run, of func(Run) Curve, c Curve) int {
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
	for name := range jobs {
		shown = append(shown, name)
	}
	sort.Slice(shown, func(i, j int) bool {
		a, b := shown[i], shown[j]
		switch {
		case held[a] != held[b]:
			return held[a] > held[b]
		case jobs[a] != jobs[b]:
			return jobs[a] > jobs[b]
		}
		return a < b
	})
	index = make(map[string]int, len(shown))
	rest := len(shown)
	if len(shown) > maxQueues {
		rest = maxQueues - 1
	}
	for i, name := range shown {
		index[name] = min(i, rest)
	}
	for i, name := range shown {
		if name == "" {
			shown[i] = "(none)"
		}
	}
	if rest < len(shown) {
		left := len(shown) - rest
		shown = append(shown[:rest:rest], "others ("+strconv.Itoa(left)+" queues)")
	}
	return shown, index
}

// appendCurve thins a curve evenly, keeping its ends and the point of its 95th percentile. Of points above each other it keeps the
// lowest and the highest.
func appendCurve(b []byte, c Curve) []byte {
	p95 := sort.Search(len(c.Y), func(i int) bool { return c.Y[i] >= 0.95 })
	n := len(c.X)
	stride := max(1, (n+maxCurvePoints-1)/maxCurvePoints)
	var x, y []byte
	for i := range n {
		if i > 0 && i < n-1 && c.X[i-1] == c.X[i] && c.X[i] == c.X[i+1] {
			continue
		}
		if (i%stride != 0 && i != n-1 && i != p95) || !finite(c.X[i]) || !finite(c.Y[i]) {
			continue
		}
		if len(x) > 0 {
			x, y = append(x, ','), append(y, ',')
		}
		x, y = appendNumber(x, c.X[i], 4), appendNumber(y, c.Y[i], 5)
	}
	b = append(b, `{"x":[`...)
	b = append(b, x...)
	b = append(b, `],"y":[`...)
	b = append(b, y...)
	b = append(b, `],"p95":`...)
	if p95 < n {
		b = appendNumber(b, c.X[p95], 4)
	} else {
		b = append(b, "null"...)
	}
	return append(b, '}')
}

// appendTimeline adds queues up to those shown and merges neighbouring intervals until there are at most limit.
func appendTimeline(b []byte, t Timeline, index map[string]int, shown, limit int) []byte {
	n := max(0, len(t.Edges)-1)
	merge := max(1, (n+max(1, limit)-1)/max(1, limit))
	b = append(b, `{"edges":[`...)
	for i := 0; i < n; i += merge {
		b = append(appendNumber(b, math.Round(t.Edges[i]*100)/100, 12), ',')
	}
	if n > 0 {
		b = appendNumber(b, math.Round(t.Edges[n]*100)/100, 12)
	}
	b = append(b, `],"held":[`...)
	for q := range shown {
		if q > 0 {
			b = append(b, ',')
		}
		b = append(b, '[')
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
			if i > 0 {
				b = append(b, ',')
			}
			width := t.Edges[end] - t.Edges[i]
			if width <= 0 {
				width = 1
			}
			b = appendNumber(b, area/width, 4)
		}
		b = append(b, ']')
	}
	return append(b, `]}`...)
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// appendNumber writes v with at most digits significant digits; what is not a number is null.
func appendNumber(b []byte, v float64, digits int) []byte {
	if !finite(v) {
		return append(b, "null"...)
	}
	if v == math.Trunc(v) && math.Abs(v) < math.Pow10(min(digits, 15)) {
		return strconv.AppendInt(b, int64(v), 10)
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64)
	if err != nil {
		return append(b, "null"...)
	}
	return strconv.AppendFloat(b, rounded, 'g', -1, 64)
}

func appendString(b []byte, s string) []byte {
	text, err := json.Marshal(s)
	if err != nil {
		return append(b, `""`...)
	}
	return append(b, text...)
}

func appendStrings(b []byte, all []string) []byte {
	b = append(b, '[')
	for i, s := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, s)
	}
	return append(b, ']')
}
