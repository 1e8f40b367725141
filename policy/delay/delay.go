// Package delay is delay scheduling: a job whose turn it is, but whose input is not on the offered node, skips a few
// scheduling opportunities before it accepts a less local node. Nodes free up often, so a short wait buys much locality.
//
// Each job has a level (node, rack or anywhere) and a count of opportunities skipped since its last start; or, if the waits are given
// as times, the time since the first of them. With D1 (node) and D2 (rack) the lengths of the waits:
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
// racks. What differs: the latter adds up only the time between skipped offers.
//
// An opportunity is skipped when it is the job's turn and the offer is refused: the engine calls Skipped once per
// offer, however many nodes it scored.
package delay

import (
	"cmp"
	"fmt"
	"maps"

	"github.com/yardmaster/yardmaster/internal/dense"
	"github.com/yardmaster/yardmaster/internal/undo"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/fair"
	"github.com/yardmaster/yardmaster/unit"
)

// Entry registers fair order with delay placement, and the placement for other orders.
var Entry = policy.Entry{
	Name:   "delay",
	Title:  "fair shares; a job waits for a node near its input",
	Params: params(),
	Place: func(p policy.Params) (policy.Place, error) {
		d, err := Read(p)
		return d, err
	},
	PlaceParams: placeParams,
	New: func(p policy.Params) (policy.Policy, error) {
		place, err := Read(p)
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

// Default waits: about a rack's worth of nodes, as YARN's node-locality-delay.
const (
	DefaultNode = 40
	DefaultRack = 40
)

var placeParams = map[string]string{
	"node": "scheduling opportunities a job may skip for a node that holds its input (default 40), or how long it waits for one (3s)",
	"rack": "further opportunities it may skip for a rack that holds its input (default 40), or how long it waits for one (default: as for a node)",
}

func params() map[string]string {
	p := maps.Clone(fair.Entry.Params)
	maps.Copy(p, placeParams)
	return p
}

// Read builds the placement from the parameters node and rack: both waits are counts, or both are times.
func Read(p policy.Params) (*Delay, error) {
	node, notNode := p.Int("node", DefaultNode)
	rack, notRack := p.Int("rack", DefaultRack)
	if notNode == nil && notRack == nil {
		return New(node, rack)
	}
	mixed := p["node"] != "" && p["rack"] != "" && (notNode == nil || notRack == nil) // a number and a time
	first, second := cmp.Or(p["node"], p["rack"]), cmp.Or(p["rack"], p["node"])
	nodeTime, err := unit.ParseTime(first)
	rackTime, err2 := unit.ParseTime(second)
	if err != nil || err2 != nil || mixed {
		return nil, fmt.Errorf("node=%s, rack=%s: want two counts of scheduling opportunities, or two times such as 3s", first, second)
	}
	return Timed(nodeTime, rackTime)
}

type level uint8

const (
	nodeLevel level = iota
	rackLevel
	anywhere
)

type state struct {
	level level
	waits bool      // it has skipped an opportunity since its last start
	since unit.Time // time of the first skip; or the number of skips
}

// Delay is the placement. It serves one run.
type Delay struct {
	node, rack unit.Time // or counts of opportunities
	timed      bool
	jobs       []state           // by Index
	ended      []undo.Log[state] // by Index: the waits that starts ended
}

var (
	_ policy.Place   = (*Delay)(nil)
	_ policy.Counter = (*Delay)(nil)
	_ policy.Refuser = (*Delay)(nil)
)

// New makes a placement that skips node opportunities, then rack more.
func New(node, rack int) (*Delay, error) {
	const maxWait = 1 << 29
	if node < 0 || rack < 0 || node > maxWait || rack > maxWait {
		return nil, fmt.Errorf("node=%d, rack=%d: want 0 to %d scheduling opportunities", node, rack, maxWait)
	}
	return &Delay{node: unit.Time(node), rack: unit.Time(rack)}, nil
}

// Timed makes a placement that waits for a node for some time, then for a rack.
func Timed(node, rack unit.Time) (*Delay, error) {
	const maxWait = 365 * unit.Day
	if node < 0 || rack < 0 || node > maxWait || rack > maxWait {
		return nil, fmt.Errorf("node=%v, rack=%v: waits must be between 0 and %v", node, rack, maxWait)
	}
	return &Delay{node: node, rack: rack, timed: true}, nil
}

// Counts says that nodes have to be offered repeatedly, unless the waits are times.
func (d *Delay) Counts(uint8) bool { return !d.timed }

func (d *Delay) of(j *policy.Job) *state { return dense.At(&d.jobs, j.Index) }

// Score accepts a node that is near enough for how long the job has waited; nearer ones are better.
func (d *Delay) Score(now unit.Time, j *policy.Job, _ int, _ *policy.Node, near policy.Near) policy.Score {
	var s state
	if int(j.Index) < len(d.jobs) {
		s = d.jobs[j.Index]
	}
	waited := d.waited(now, s)
	switch near {
	case policy.NoPreference:
		return policy.Any
	case policy.NodeLocal:
		return policy.Best
	case policy.RackLocal:
		if s.level >= rackLevel || waited >= d.node {
			return policy.Score(near)
		}
	default:
		if s.level == anywhere || s.level == rackLevel && waited >= d.rack || waited >= d.node+d.rack {
			return policy.Score(near)
		}
	}
	return policy.Wait
}

// Refusal says how long the job waits before it accepts a node that far from its input.
func (d *Delay) Refusal(now unit.Time, j *policy.Job, s int, n *policy.Node, near policy.Near) (r policy.Reason) {
	if d.Score(now, j, s, n, near) >= 0 {
		return r
	}
	var at state
	if int(j.Index) < len(d.jobs) {
		at = d.jobs[j.Index]
	}
	waited, limit := d.waited(now, at), d.node
	switch r.Limit = "rack"; {
	case near == policy.RackLocal:
		r.Limit = "node"
	case at.level == rackLevel:
		limit = d.rack
	default:
		limit += d.rack
	}
	if d.timed {
		r.Waited, r.MaxWait = waited, limit
	} else {
		r.Count, r.MaxCount = int64(waited), int64(limit)
	}
	return r
}

// waited is how long, or for how many opportunities, a job has waited.
func (d *Delay) waited(now unit.Time, s state) unit.Time {
	if d.timed && s.waits {
		return now - s.since
	}
	return s.since
}

// Skipped counts a skipped opportunity, or returns the time at which the job will accept a less local node.
func (d *Delay) Skipped(now unit.Time, j *policy.Job, _ int) unit.Time {
	s := d.of(j)
	if !d.timed {
		s.since++
		return unit.Never
	}
	if !s.waits {
		s.waits, s.since = true, now
	}
	switch {
	case s.level == rackLevel:
		return s.since + d.rack
	case now-s.since < d.node:
		return s.since + d.node
	}
	return s.since + d.node + d.rack
}

// Placed starts the next wait at the level the job has reached.
func (d *Delay) Placed(j *policy.Job, _ int, _ *policy.Node, near policy.Near) {
	s := d.of(j)
	ended := *s
	switch near {
	case policy.NodeLocal:
		*s = state{}
	case policy.RackLocal:
		*s = state{level: rackLevel}
	case policy.OffRack:
		*s = state{level: anywhere}
	default:
		ended = state{level: s.level} // no wait ends
	}
	dense.At(&d.ended, j.Index).Keep(ended)
}

// Unplaced goes on with the wait that the start ended, and adds what the job has skipped since.
func (d *Delay) Unplaced(j *policy.Job, _ int, _ *policy.Node, _ policy.Near) {
	s := d.of(j)
	ended, ok := dense.At(&d.ended, j.Index).Take()
	switch {
	case !ok:
		return
	case !d.timed:
		ended.since += s.since
	case !ended.waits:
		ended.waits, ended.since = s.waits, s.since
	}
	*s = ended
}

// Left drops the job.
func (d *Delay) Left(_ unit.Time, j *policy.Job) { *d.of(j) = state{} }
