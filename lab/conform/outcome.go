package conform

import (
	"sort"
	"strings"

	"github.com/yardmaster/yardmaster/lab/hadoop/sls"
)

// placement is one container: the order of placements is the order of the scheduler's decisions.
type placement struct {
	job      string
	node     int32
	priority int32
	at       int64 // ms
	turn     int   // order among those of the same instant
}

// outcome is what a run did, in terms that SLS and the simulator share. Instants are ms since time 0.
type outcome struct {
	submit map[string]int64 // as the trace has it
	end    map[string]int64 // -1: never
	start  map[string]int64 // the master's container
	placed []placement      // in order of allocation
}

// ofRecord takes the outcome of a run of SLS. Jobs that it lost do not count, nor does the one that warms it up.
func ofRecord(s *Scenario, rec *sls.Record) *outcome {
	o := &outcome{submit: map[string]int64{}, end: map[string]int64{}, start: map[string]int64{}}
	lost := map[string]bool{warmUp: true}
	for _, l := range rec.Lost {
		id, _, _ := strings.Cut(l, " ")
		lost[id] = true
	}
	for i := range s.Jobs {
		if j := &s.Jobs[i]; !lost[j.ID] {
			o.submit[j.ID], o.end[j.ID], o.start[j.ID] = j.Start, -1, -1
		}
	}
	for i := range rec.Jobs {
		j := &rec.Jobs[i]
		if _, ok := o.submit[j.ID]; ok {
			o.end[j.ID], o.start[j.ID] = j.End, j.Master
		}
	}
	turn := served(rec)
	for i := range rec.Containers {
		if c := &rec.Containers[i]; c.Allocated >= 0 && rec.Jobs[c.Job].ID != warmUp {
			o.placed = append(o.placed, placement{rec.Jobs[c.Job].ID, c.Node, c.Priority, c.Allocated, turn(c)})
		}
	}
	o.settle()
	return o
}

// served says in which pass, by its place in the log, a container was allocated: the last one over its node before.
func served(rec *sls.Record) func(c *sls.ContainerRecord) int {
	type pass struct {
		at    int64
		place int
	}
	passes := make([][]pass, len(rec.Nodes))
	i := 0
	rec.Log.Each(func(kind byte, at int64, of int32) {
		if kind == sls.Pass {
			passes[of] = append(passes[of], pass{at, i})
		}
		i++
	})
	return func(c *sls.ContainerRecord) int {
		if c.Node < 0 {
			return 0
		}
		p := passes[c.Node]
		k := sort.Search(len(p), func(i int) bool { return p[i].at > c.Allocated })
		if k == 0 {
			return 0
		}
		return p[k-1].place
	}
}

// settle sorts placements by time, and those of one pass over a node by job: the order within a pass is not recorded on
// both sides.
func (o *outcome) settle() {
	sort.SliceStable(o.placed, func(a, b int) bool {
		if o.placed[a].at != o.placed[b].at {
			return o.placed[a].at < o.placed[b].at
		}
		return o.placed[a].turn < o.placed[b].turn
	})
	const pass = 500 // ms: a node is served about once a second
	for i := 0; i < len(o.placed); {
		k := i + 1
		for k < len(o.placed) && o.placed[k].node == o.placed[i].node && o.placed[k].at-o.placed[i].at < pass {
			k++
		}
		run := o.placed[i:k]
		sort.SliceStable(run, func(a, b int) bool {
			if run[a].job != run[b].job {
				return run[a].job < run[b].job
			}
			return run[a].priority < run[b].priority
		})
		i = k
	}
}

// times lists the elapsed times of the jobs that ended in both outcomes, in the same order, in seconds.
func times(truth, ours *outcome) (a, b []float64) {
	ids := make([]string, 0, len(truth.submit))
	for id := range truth.submit {
		if truth.end[id] >= 0 && ours.end[id] >= 0 && has(ours.submit, id) {
			ids = append(ids, id)
		}
	}
	sort.Strings(ids)
	for _, id := range ids {
		a = append(a, float64(truth.end[id]-truth.submit[id])/1000)
		b = append(b, float64(ours.end[id]-ours.submit[id])/1000)
	}
	return a, b
}

func has(m map[string]int64, id string) bool {
	_, ok := m[id]
	return ok
}
