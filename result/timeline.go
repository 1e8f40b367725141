package result

import (
	"cmp"

	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
)

// Timeline is a run over time, downsampled for a chart. Interval i is from Edges[i] to Edges[i+1]; Containers holds, by queue, the average
// number of containers in each interval, and Waiting the average number of jobs without a container.
type Timeline struct {
	Edges      []float64 // seconds
	Queues     []string
	Containers [][]float64
	Waiting    []float64
}

// maxTimelineQueues bounds charts and memory; further queues are merged into Others.
const maxTimelineQueues = 100

// TimelineSink is a sim.Sink that keeps a Timeline of bounded length: whenever it exceeds twice the limit, the width
// of an interval doubles. Neighbours that fit into one width are merged, later ones too, so that the
// whole run has the same resolution; an interval without changes may be longer.
type TimelineSink struct {
	most  int
	width unit.Time // of an interval; 0: as the samples come
	ends  []unit.Time
	start unit.Time
	names []string
	index map[string]int
	cells [][]float64 // jobs that wait, then containers by queue; rows may be shorter than ends: zero from there on
}

var _ sim.Sink = (*TimelineSink)(nil)

// NewTimeline returns a sink that ends up with at most maxPoints intervals.
func NewTimeline(maxPoints int) *TimelineSink {
	return &TimelineSink{most: max(1, maxPoints), index: map[string]int{}, cells: make([][]float64, 1)}
}

// Job is a no-op: a timeline is about samples.
func (t *TimelineSink) Job(*sim.JobRecord) {}

// Sample adds one interval. Samples come in the order of time; a gap between two is an interval in which nothing ran.
func (t *TimelineSink) Sample(s *sim.Sample) {
	if s.To <= s.From {
		return
	}
	if len(t.ends) == 0 {
		t.start = s.From
	} else if last := t.ends[len(t.ends)-1]; s.From > last {
		t.ends = append(t.ends, s.From)
	} else if s.To <= last {
		return
	}
	t.ends = append(t.ends, s.To)
	n := len(t.ends)
	add := func(k int, v float64) {
		for len(t.cells[k]) < n {
			t.cells[k] = append(t.cells[k], 0)
		}
		t.cells[k][n-1] += v // several queues may share a cell
	}
	for i := range s.Queues {
		q := &s.Queues[i]
		add(t.queue(q.Name), q.Containers)
		add(0, float64(q.Waiting))
	}
	t.width = cmp.Or(t.width, s.To-s.From)
	t.join(max(0, n-2))
	for len(t.ends) > 2*t.most {
		t.widen()
	}
}

func (t *TimelineSink) queue(name string) int {
	name = cmp.Or(name, DefaultQueue)
	if k, ok := t.index[name]; ok {
		return k
	}
	if len(t.names) >= maxTimelineQueues {
		if k, ok := t.index[Others]; ok {
			return k
		}
		name = Others
	}
	k := len(t.cells)
	t.index[name] = k
	t.names = append(t.names, name)
	t.cells = append(t.cells, nil)
	return k
}

func (t *TimelineSink) begin(i int) unit.Time {
	if i == 0 {
		return t.start
	}
	return t.ends[i-1]
}

// widen doubles the width of an interval.
func (t *TimelineSink) widen() {
	t.width *= 2
	t.join(0)
}

// join merges neighbouring intervals, from interval i on, that fit into one width.
func (t *TimelineSink) join(i int) {
	n := len(t.ends)
	for k, row := range t.cells {
		for len(row) < n {
			row = append(row, 0)
		}
		t.cells[k] = row
	}
	at, begin := i, t.begin(i)
	for next := i + 1; next < n; next++ {
		if t.ends[next]-begin > t.width {
			begin = t.ends[at]
			at++
			t.ends[at] = t.ends[next]
			for k := range t.cells {
				t.cells[k][at] = t.cells[k][next]
			}
			continue
		}
		la, lb := (t.ends[at] - begin).Seconds(), (t.ends[next] - t.ends[at]).Seconds()
		for k := range t.cells {
			t.cells[k][at] = (t.cells[k][at]*la + t.cells[k][next]*lb) / (la + lb)
		}
		t.ends[at] = t.ends[next]
	}
	t.ends = t.ends[:at+1]
	for k := range t.cells {
		t.cells[k] = t.cells[k][:at+1]
	}
}

// Timeline returns what was kept. Call it once, at the end of the run.
func (t *TimelineSink) Timeline() *Timeline {
	for len(t.ends) > t.most {
		t.widen()
	}
	out := &Timeline{Edges: []float64{}, Queues: append([]string{}, t.names...), Containers: make([][]float64, len(t.names))}
	if len(t.ends) > 0 {
		out.Edges = append(out.Edges, t.start.Seconds())
	}
	for _, e := range t.ends {
		out.Edges = append(out.Edges, e.Seconds())
	}
	for k, row := range t.cells {
		cells := make([]float64, len(t.ends))
		for i, v := range row {
			cells[i] = round(v)
		}
		if k == 0 {
			out.Waiting = cells
		} else {
			out.Containers[k-1] = cells
		}
	}
	return out
}
