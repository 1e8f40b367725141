package sim_test

import (
	"slices"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/fifo"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/am"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// choosing starts reduces before maps, and maps only near their input.
type choosing struct {
	policy.Order
	store  policy.Storage
	opened bool // a change said that reduces are open while maps wait
	starts []int
	racks  [][]int32
}

func (c *choosing) Arrived(now unit.Time, j *policy.Job) error {
	for t := range j.Stages[0].Tasks {
		c.racks = append(c.racks, slices.Clone(c.store.Racks(j, 0, t, nil)))
	}
	return c.Order.Arrived(now, j)
}

func (c *choosing) Changed(now unit.Time, j *policy.Job) {
	c.opened = c.opened || j.Stages[0].Open() > 0 && j.Stages[1].Open() > 0
	c.Order.Changed(now, j)
}

func (c *choosing) Started(e *policy.Event) {
	c.starts = append(c.starts, e.Stage)
	c.Order.Started(e)
}

func (c *choosing) Ranked(o *policy.Offer, try func(*policy.Job) policy.Verdict) bool {
	return c.Order.Ranked(o, func(j *policy.Job) policy.Verdict {
		if o.Stage = 1; j.Stages[1].Open() > 0 {
			return try(j)
		}
		if o.Stage = 0; j.Stages[0].Open() == 0 || !c.store.Local(j, 0, o.Node) {
			return policy.Pass
		}
		if near := c.store.Near(j, 0, o.Node); near != policy.NodeLocal {
			panic("local, and " + near.String())
		}
		return try(j)
	})
}

// Under the application model overlap, reduces are open from slow-start on. An order that chooses starts them before maps; another starts the
// job's maps first.
func TestOverlap(t *testing.T) {
	job := &workload.Job{ID: "a", Stages: []workload.Stage{
		{Kind: workload.Map, Tasks: 6, Ask: cluster.Unit, Input: 600, Length: workload.Fixed(10 * unit.Second)},
		{Kind: workload.Reduce, Tasks: 2, Ask: cluster.Unit, Length: workload.Fixed(5 * unit.Second), After: []workload.Edge{{SlowStart: 0.3}}},
	}}
	for _, chooses := range []bool{true, false} {
		c := &choosing{Order: fifo.New()}
		p := policy.Policy{Order: c, ByNode: true, Choose: func(s policy.Storage) { c.store = s }}
		starts := &c.starts
		if !chooses {
			log := &eventsOf{Order: fifo.New()}
			p, starts = policy.Policy{Order: log}, &log.starts
		}
		nodes := cluster.Uniform(2, 2, cluster.Unit.Times(2))
		sum, err := sim.Run(t.Context(), sim.Config{
			Cluster: nodes, Source: workload.Slice{job}.Source(), Model: sim.Model{Application: am.Overlap, Replicas: 2, Heartbeat: unit.Second, PerBeat: 1},
			NewPolicy: func() (policy.Policy, error) { return p, nil },
		})
		if err != nil || sum.Finished != 1 {
			t.Fatal(sum, err)
		}
		if chooses {
			if !c.opened || len(c.racks) != 6 || len(c.racks[0]) != 2 {
				t.Errorf("opened: %v, racks of the blocks: %v", c.opened, c.racks)
			}
			first, last := slices.Index(*starts, 1), len(*starts)-1-slices.Index(reversed(*starts), 1)
			if first < 2 || last == len(*starts)-1 {
				t.Errorf("starts %v: want reduces between maps", *starts)
			}
			continue
		}
		if want := []int{0, 0, 0, 0, 0, 0, 1, 1}; !slices.Equal(*starts, want) {
			t.Errorf("starts %v, want %v", *starts, want)
		}
	}
}

func reversed(s []int) []int {
	s = slices.Clone(s)
	slices.Reverse(s)
	return s
}

type eventsOf struct {
	policy.Order
	starts []int
}

func (e *eventsOf) Started(ev *policy.Event) {
	e.starts = append(e.starts, ev.Stage)
	e.Order.Started(ev)
}
