package conform

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/yardmaster/yardmaster/lab/hadoop/sls"
)

// Placement is one container that was given to an application: the order of placements is the order of the scheduler's decisions.
type Placement struct {
	Job      string
	Node     int32
	Priority int32
	At       int64 // ms
	Turn     int   // place of its pass over the node among all passes, for those at the same instant
}

// Outcome is what a run did, in terms that the daemons, SLS and the simulator share. Instants are ms since time 0; -1: it did not happen.
type Outcome struct {
	Submit, Start, End map[string]int64 // by application; Start is the first container's, of SLS the master's
	Placed             []Placement      // in order of allocation; see Settle
}

// NewOutcome is an empty one.
func NewOutcome() *Outcome {
	return &Outcome{Submit: map[string]int64{}, Start: map[string]int64{}, End: map[string]int64{}}
}

// ofRecord takes the outcome of a run of SLS. Jobs that it lost do not count, nor does the one that warms it up.
func ofRecord(s *Scenario, rec *sls.Record) *Outcome {
	o := NewOutcome()
	lost := map[string]bool{warmUp: true}
	for _, l := range rec.Lost {
		id, _, _ := strings.Cut(l, " ")
		lost[id] = true
	}
	for i := range s.Jobs {
		if j := &s.Jobs[i]; !lost[j.ID] {
			o.Submit[j.ID], o.End[j.ID], o.Start[j.ID] = j.Start, -1, -1
		}
	}
	for i := range rec.Jobs {
		j := &rec.Jobs[i]
		if _, ok := o.Submit[j.ID]; ok {
			o.End[j.ID], o.Start[j.ID] = j.End, j.Master
		}
	}
	turn := served(rec)
	for i := range rec.Containers {
		if c := &rec.Containers[i]; c.Allocated >= 0 && rec.Jobs[c.Job].ID != warmUp {
			o.Placed = append(o.Placed, Placement{rec.Jobs[c.Job].ID, c.Node, c.Priority, c.Allocated, turn(c)})
		}
	}
	o.Settle()
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

// Settle sorts placements by time, and those of one pass over a node by job: the order within a pass is not recorded on
// both sides. It is called once, when all are there.
func (o *Outcome) Settle() {
	slices.SortStableFunc(o.Placed, func(a, b Placement) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Turn, b.Turn)) })
	const pass = 500 // ms: a node is served about once a second
	for i := 0; i < len(o.Placed); {
		k := i + 1
		for k < len(o.Placed) && o.Placed[k].Node == o.Placed[i].Node && o.Placed[k].At-o.Placed[i].At < pass {
			k++
		}
		slices.SortStableFunc(o.Placed[i:k], func(a, b Placement) int {
			return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.Priority, b.Priority))
		})
		i = k
	}
}

// times lists the elapsed times of the jobs that ended in both outcomes, in the same order, in seconds.
func times(truth, ours *Outcome) (a, b []float64) {
	ids := make([]string, 0, len(truth.Submit))
	for id := range truth.Submit {
		if truth.End[id] >= 0 && ours.End[id] >= 0 && has(ours.Submit, id) {
			ids = append(ids, id)
		}
	}
	sort.Strings(ids)
	for _, id := range ids {
		a = append(a, float64(truth.End[id]-truth.Submit[id])/1000)
		b = append(b, float64(ours.End[id]-ours.Submit[id])/1000)
	}
	return a, b
}

func has(m map[string]int64, id string) bool {
	_, ok := m[id]
	return ok
}
