// Package delay is delay scheduling: a job whose turn it is, but whose input is not on the node at hand, lets a few
// chances go by before it takes a worse place. Nodes come free often, so a short wait buys much locality.
//
// Each job has a level (node, rack or anywhere) and a count of chances let go since its last start. With D1 (node) and
// D2 (rack) the lengths of the waits:
//
//	node-local   always taken;                                                    then level = node, count = 0
//	rack-local   taken at level rack or above, or when count >= D1;               then level = rack, count = 0
//	off-rack     taken at level anywhere, or when count >= D2 (at level rack)
//	             or count >= D1 + D2 (at level node);                             then level = anywhere, count = 0
//
// A task without preference never waits and changes nothing.
//
// Source: M. Zaharia et al., Delay Scheduling: A Simple Technique for Achieving Locality and Fairness in Cluster
// Scheduling, EuroSys 2010: the skip counts of its simple algorithm, with the two levels that its Hadoop Fair Scheduler adds for
// racks. What differs: the latter measures its waits in time; a policy here has no clock, so both waits are counts of chances.
//
// A chance is let go when it is the job's turn and what is at hand is refused: the engine says so with Skipped, once an
// offer, however many nodes it asked about.
package delay

import (
	"fmt"
	"maps"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/fair"
	"github.com/yardmaster/yardmaster/unit"
)

// Entry is the registry's line: fair order with delay placement.
var Entry = policy.Entry{
	Name:   "delay",
	Title:  "fair shares; a job waits for a node near its input",
	Params: params(),
	New: func(p policy.Params) (policy.Policy, error) {
		node, err := p.Int("node", DefaultNode)
		if err != nil {
			return policy.Policy{}, err
		}
		rack, err := p.Int("rack", DefaultRack)
		if err != nil {
			return policy.Policy{}, err
		}
		place, err := New(node, rack)
		if err != nil {
			return policy.Policy{}, err
		}
		order, err := fair.New(p)
		if err != nil {
			return policy.Policy{}, err
		}
		return policy.Policy{Order: order, Place: place}, nil
	},
}

// Lengths of the waits where nothing is said: about a rack's worth of nodes, as YARN's node-locality-delay has it.
const (
	DefaultNode = 40
	DefaultRack = 40
)

func params() map[string]string {
	p := maps.Clone(fair.Entry.Params)
	p["node"] = "chances a job lets go for a node that holds its input (default 40)"
	p["rack"] = "further chances it lets go for a rack that holds its input (default 40)"
	return p
}

type level uint8

const (
	nodeLevel level = iota
	rackLevel
	anywhere
)

type state struct {
	level level
	count int32
}

// Delay is the place part. It serves one run.
type Delay struct {
	node, rack int32
	jobs       []state // by Index
}

var _ policy.Place = (*Delay)(nil)

// New makes a place part that waits for node chances, then for rack more.
func New(node, rack int) (*Delay, error) {
	const most = 1 << 29
	if node < 0 || rack < 0 || node > most || rack > most {
		return nil, fmt.Errorf("node=%d, rack=%d: waits must be between 0 and %d chances", node, rack, most)
	}
	return &Delay{node: int32(node), rack: int32(rack)}, nil
}

func (d *Delay) of(j *policy.Job) *state {
	if int(j.Index) >= len(d.jobs) {
		d.jobs = append(d.jobs, make([]state, int(j.Index)+1-len(d.jobs))...)
	}
	return &d.jobs[j.Index]
}

// Score takes a place that is near enough for how long the job has waited; nearer ones are better.
func (d *Delay) Score(j *policy.Job, _ int, _ *policy.Node, near policy.Near) policy.Score {
	var s state
	if int(j.Index) < len(d.jobs) {
		s = d.jobs[j.Index]
	}
	switch near {
	case policy.NoPreference:
		return policy.Any
	case policy.NodeLocal:
		return policy.Score(near)
	case policy.RackLocal:
		if s.level >= rackLevel || s.count >= d.node {
			return policy.Score(near)
		}
	default:
		if s.level == anywhere || s.level == rackLevel && s.count >= d.rack || s.count >= d.node+d.rack {
			return policy.Score(near)
		}
	}
	return policy.Wait
}

// Skipped counts a chance let go.
func (d *Delay) Skipped(j *policy.Job, _ int) { d.of(j).count++ }

// Placed starts the next wait at the level the job has come to.
func (d *Delay) Placed(j *policy.Job, _ int, _ *policy.Node, near policy.Near) {
	switch near {
	case policy.NodeLocal:
		*d.of(j) = state{}
	case policy.RackLocal:
		*d.of(j) = state{level: rackLevel}
	case policy.OffRack:
		*d.of(j) = state{level: anywhere}
	}
}

// Left forgets the job.
func (d *Delay) Left(_ unit.Time, j *policy.Job) { *d.of(j) = state{} }
