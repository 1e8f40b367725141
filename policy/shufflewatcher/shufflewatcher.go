// Package shufflewatcher is ShuffleWatcher on top of delay scheduling: a job's maps gather on few racks so that its shuffle crosses few
// uplinks, and reduces wait while uplinks are congested. Users that hold fewer containers come first, then jobs that do.
//
//	plan      when a job arrives, racks are added to a set, each time the one that holds most input not yet covered. The set with the least
//	          traffic is kept, of those with a container for each map: input that is not in the set, plus shuffle size x (1 - 1/racks)
//	maps      as under delay scheduling, where the set is the rack: a node of the set that holds input, then any of the set, then any
//	reduces   in a rack with fewer than its share, by map output, of the job's reduces; after the same waits anywhere
//	congested uplinks: no reduce starts in the rack, and maps of any job do, those in their own rack first
//
// While a map waits, reduces hold at most a share of the cluster (see package nas).
//
// Source: F. Ahmad et al., ShuffleWatcher: Shuffle-aware Scheduling in Multi-tenant MapReduce Clusters, USENIX ATC 2014. This is its core, with
// the waits of delay scheduling.
package shufflewatcher

import (
	"errors"
	"slices"

	"github.com/yardmaster/yardmaster/internal/dense"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/delay"
	"github.com/yardmaster/yardmaster/policy/shuffle"
	"github.com/yardmaster/yardmaster/unit"
)

// Entry registers the policy.
var Entry = policy.Entry{
	Name:  "shufflewatcher",
	Title: "maps of a job gather on few racks, reduces follow them and wait while uplinks are congested",
	Params: map[string]string{
		"congested": "load of a rack's uplink from which it is congested (default 0.8)",
		"slowstart": "share of a job's maps that must be done before its reduces start (default 0.2)",
		"capped":    "job (default): a job has no more reduces than running maps until its last map has started; all: reduces hold at most a share (cap) of the cluster while maps wait",
		"cap":       "the share of capped=all (default 0.5); given alone it is that of capped=all",
		"heartbeat": "interval over which the load of uplinks is averaged (default 1s)",
		"node":      delay.Entry.Params["node"],
		"rack":      delay.Entry.Params["rack"],
	},
	New: New,
}

// Order is the policy. It serves one run.
type Order struct {
	shuffle.Users
	links     *shuffle.Links
	slowStart float64
	waits     [2]*delay.Delay // of maps, of reduces
	plans     []Plan          // by Index
	planner   planner
	racks     int // of the cluster
}

var (
	_ policy.Order     = (*Order)(nil)
	_ policy.Place     = place{}
	_ policy.Counter   = place{}
	_ policy.Networked = place{}
	_ policy.Explainer = (*Order)(nil)
	_ policy.Refuser   = (*Order)(nil)
	_ policy.Refuser   = place{}
)

// New builds the policy.
func New(p policy.Params) (policy.Policy, error) {
	o := &Order{Users: shuffle.Users{Jobs: shuffle.Jobs{Bounds: shuffle.DefaultBounds()}}, links: &shuffle.Links{}}
	r := policy.Reader{Params: p}
	o.links.Threshold, o.slowStart = r.Share("congested", 0.8), r.Share("slowstart", 0.2)
	o.Caps(&r)
	o.links.Period = r.Time("heartbeat", unit.Second)
	if o.links.Threshold == 0 {
		r.Keep(errors.New("congested=0: no reduce would ever start"))
	}
	if r.Err != nil {
		return policy.Policy{}, r.Err
	}
	for i := range o.waits {
		var err error
		if o.waits[i], err = delay.Read(p); err != nil {
			return policy.Policy{}, err
		}
	}
	return policy.Policy{Order: o, Place: place{o}, Timer: o.links, ByNode: true, Choose: o.Choose, Needs: policy.Racks}, nil
}

// Resized gives the size of the cluster.
func (o *Order) Resized(now unit.Time, c policy.Cluster) {
	o.Users.Resized(now, c)
	o.racks = len(c.Working)
}

// Arrived admits a job and plans its racks.
func (o *Order) Arrived(now unit.Time, v *policy.Job) error {
	if err := o.Users.Arrived(now, v); err != nil {
		return err
	}
	plan := dense.At(&o.plans, v.Index)
	plan.racks, plan.made = plan.racks[:0], false
	o.plan(o.Of(v.Index))
	return nil
}

// Changed plans a job's racks if its maps were not known when it arrived.
func (o *Order) Changed(now unit.Time, v *policy.Job) {
	o.Users.Changed(now, v)
	o.plan(o.Of(v.Index))
}

func (o *Order) plan(j *shuffle.Job) {
	if plan := &o.plans[j.Index]; !plan.made && j.Maps > 0 && o.Store != nil {
		plan.made = true
		o.planner.plan(o.Store, j, o.Containers(), o.racks, plan)
	}
}

// Ranked proposes jobs, each for one stage.
func (o *Order) Ranked(of *policy.Offer, try func(*policy.Job) policy.Verdict) bool {
	d := decision{Decision: o.Decision(of, try), o: o}
	congested := of.Node != nil && o.links.Congested(of.Node.Rack)
	if o.Others(&d.Decision) {
		return d.Took
	}
	if !congested && !o.Capped(of.Slot) && d.each(shuffle.Reduces, waits) {
		return d.Took
	}
	if d.each(shuffle.Maps, waits) {
		return d.Took
	}
	if congested && !d.each(shuffle.Maps, policy.RackLocal) { // within the rack, or if need be from another
		d.each(shuffle.Maps, policy.OffRack)
	}
	return d.Took
}

// decision is the choice for one free container.
type decision struct {
	shuffle.Decision
	o *Order
}

// waits: a job decides by how long it has waited.
const waits = policy.NoPreference

// each proposes a task of a kind, user by user, and reports whether the decision is over. Maps as near as accept do not wait.
func (d *decision) each(kind int, accept policy.Near) (over bool) {
	o := d.o
	o.Each(kind, func(_ *shuffle.User, jobs []int32) bool {
		var best *shuffle.Job
		for _, i := range jobs {
			if j := o.Of(i); (best == nil || shuffle.Fairer(j, best)) && d.takes(kind, j, accept) {
				best = j
			}
		}
		for _, i := range jobs {
			if j := o.Of(i); accept == waits && (best == nil || shuffle.Fairer(j, best)) && d.ready(kind, j) {
				o.waitFor(kind == shuffle.Maps).Skipped(d.Now, j.Job, 0) // it was its turn
			}
		}
		if best == nil {
			return true
		}
		over = d.Propose(best, d.stage(kind, best))
		return !over
	})
	return over
}

// stage is the stage of a job whose task would start.
func (d *decision) stage(kind int, j *shuffle.Job) int {
	return j.Open(kind != shuffle.Maps, d.Slot)
}

// ready reports whether a job may start a task of a kind on the offered node at all.
func (d *decision) ready(kind int, j *shuffle.Job) bool {
	stage := d.stage(kind, j)
	return d.Fits(j, stage) && (kind == shuffle.Maps || j.Progress() >= d.o.slowStart-1e-9 && d.o.Spare(j, j.Stages[stage].Ask, d.Node))
}

// takes reports whether a job takes the offered node for a task of a kind.
func (d *decision) takes(kind int, j *shuffle.Job, accept policy.Near) bool {
	if !d.ready(kind, j) {
		return false
	}
	if d.Node == nil {
		return true
	}
	near := policy.NoPreference
	if kind == shuffle.Maps && d.Store != nil {
		near = d.Store.Near(j.Job, d.stage(kind, j), d.Node)
	}
	if accept != waits {
		return near >= accept || near == policy.NoPreference
	}
	return d.o.score(d.Now, j, kind != shuffle.Maps, d.Node, near) >= 0
}

// score is that of delay scheduling, with the plan as the rack.
func (o *Order) score(now unit.Time, j *shuffle.Job, reduce bool, n *policy.Node, near policy.Near) policy.Score {
	if reduce {
		return o.waits[shuffle.ForReduce].Score(now, j.Job, 0, n, o.toOutput(j, n.Rack))
	}
	return o.waits[shuffle.ForMap].Score(now, j.Job, 0, n, o.toPlan(j, n.Rack, near))
}

// Why says what holds a job's next container back on any node, and who comes first.
func (o *Order) Why(_ unit.Time, v *policy.Job, to []policy.Reason) []policy.Reason {
	return o.Explain(v, "slowstart", o.slowStart, to)
}

// Refusal says why a job starts nothing on a node: congestion, the cap of reduces, or a wait for another rack or node.
func (o *Order) Refusal(now unit.Time, v *policy.Job, s int, n *policy.Node, near policy.Near) (r policy.Reason) {
	if s < 0 {
		return r
	}
	j, congested := o.Of(v.Index), o.links.WasCongested(n.Rack)
	switch maps := j.IsMap(s); {
	case maps && !congested:
		r = o.waits[shuffle.ForMap].Refusal(now, v, s, n, o.toPlan(j, n.Rack, near))
	case maps:
	case congested:
		r.Limit = "congested"
	case !o.Spare(j, v.Ask, n):
		r.Limit = "capped"
	default:
		r = o.waits[shuffle.ForReduce].Refusal(now, v, s, n, o.toOutput(j, n.Rack))
	}
	return r
}

// toPlan is how near a node is to a job's planned racks and its input there.
func (o *Order) toPlan(j *shuffle.Job, rack int32, near policy.Near) policy.Near {
	switch plan := &o.plans[j.Index]; {
	case !plan.Has(rack):
		return policy.OffRack
	case near == policy.OffRack:
		return policy.RackLocal
	}
	return near
}

// toOutput is how near a rack is to a job's map output: it is due more reduces, or not.
func (o *Order) toOutput(j *shuffle.Job, rack int32) policy.Near {
	switch {
	case j.UnderQuota(rack):
		return policy.NodeLocal
	case j.Maps == 0:
		return policy.NoPreference
	}
	return policy.OffRack
}

// place is the policy as a placement.
type place struct{ o *Order }

func (p place) Watch(n policy.Network) { p.o.links.Watch(n) }

// Counts says that nodes have to be offered repeatedly.
func (p place) Counts(uint8) bool { return true }

// Score is the score of a node that the order was not asked about; it has agreed to the offered one.
func (p place) Score(now unit.Time, v *policy.Job, s int, n *policy.Node, near policy.Near) policy.Score {
	j := p.o.Of(v.Index)
	congested := p.o.links.WasCongested(n.Rack)
	switch {
	case congested && j.IsMap(s):
		return policy.Any
	case congested:
		return policy.Never
	}
	return p.o.score(now, j, !j.IsMap(s), n, near)
}

// Refusal is the order's.
func (p place) Refusal(now unit.Time, v *policy.Job, s int, n *policy.Node, near policy.Near) policy.Reason {
	return p.o.Refusal(now, v, s, n, near)
}

func (p place) Skipped(now unit.Time, v *policy.Job, s int) unit.Time {
	p.o.waitFor(p.o.Of(v.Index).IsMap(s)).Skipped(now, v, s)
	return unit.Never
}

// Placed starts the next wait.
func (p place) Placed(v *policy.Job, s int, n *policy.Node, near policy.Near) {
	j := p.o.Of(v.Index)
	if j.IsMap(s) {
		p.o.waits[shuffle.ForMap].Placed(v, s, n, p.o.toPlan(j, n.Rack, near))
		return
	}
	p.o.waits[shuffle.ForReduce].Placed(v, s, n, policy.NodeLocal)
}

// Unplaced goes on with the wait as it was.
func (p place) Unplaced(v *policy.Job, s int, n *policy.Node, near policy.Near) {
	p.o.waitFor(p.o.Of(v.Index).IsMap(s)).Unplaced(v, s, n, near)
}

// Left drops the job.
func (p place) Left(now unit.Time, v *policy.Job) {
	for _, w := range p.o.waits {
		w.Left(now, v)
	}
}

// waitFor is the wait of jobs for maps, or for reduces.
func (o *Order) waitFor(maps bool) *delay.Delay {
	if maps {
		return o.waits[shuffle.ForMap]
	}
	return o.waits[shuffle.ForReduce]
}

// Plan is the set of racks for a job's maps; empty: all racks.
type Plan struct {
	racks []int32
	made  bool
}

// Has reports whether a rack is in the plan.
func (p *Plan) Has(rack int32) bool { return len(p.racks) == 0 || slices.Contains(p.racks, rack) }

// planner has the scratch of planning.
type planner struct {
	racks  []int32 // of the blocks, one after the other
	ends   []int32 // of each block's racks
	blocks []int64 // uncovered ones, by rack
	taken  []bool  // by block
	buf    []int32
	order  []int32
}

// maxBlocks is how many blocks of a stage are examined; more are sampled evenly.
const maxBlocks = 4096

// plan chooses the racks with the least traffic, for a cluster with so many containers. If those with input are too few for the job, any will do.
func (p *planner) plan(store policy.Storage, j *shuffle.Job, containers int64, racks int, to *Plan) {
	p.racks, p.ends, p.order = p.racks[:0], p.ends[:0], p.order[:0]
	clear(p.blocks)
	for s := range j.Stages {
		if !j.IsMap(s) {
			continue
		}
		tasks := j.Stages[s].Tasks
		for t := int64(0); t < tasks; t += (tasks + maxBlocks - 1) / maxBlocks {
			p.buf = store.Racks(j.Job, s, t, p.buf)
			for _, r := range p.buf {
				*dense.At(&p.blocks, r)++
			}
			if len(p.buf) > 0 {
				p.racks = append(p.racks, p.buf...)
				p.ends = append(p.ends, int32(len(p.racks)))
			}
		}
	}
	p.taken = append(p.taken[:0], make([]bool, len(p.ends))...)
	all := float64(len(p.ends))
	perRack := float64(containers) / float64(max(1, racks, len(p.blocks)))
	least, size := 0.0, 0
	for left := len(p.ends); left > 0; {
		r := p.richest()
		left -= p.cover(r)
		p.order = append(p.order, r)
		k := float64(len(p.order))
		if cost := float64(left)/all*float64(j.Input) + j.Size*(1-1/k); k*perRack >= float64(j.Maps) && (size == 0 || cost < least) {
			least, size = cost, len(p.order)
		}
	}
	to.racks = append(to.racks, p.order[:size]...)
}

// richest is the rack with the most uncovered blocks.
func (p *planner) richest() (best int32) {
	for r, n := range p.blocks {
		if n > p.blocks[best] {
			best = int32(r)
		}
	}
	return best
}

// cover marks the blocks of a rack, and returns how many were not covered before.
func (p *planner) cover(rack int32) (n int) {
	from := int32(0)
	for b, end := range p.ends {
		racks := p.racks[from:end]
		from = end
		if p.taken[b] || !slices.Contains(racks, rack) {
			continue
		}
		p.taken[b] = true
		n++
		for _, r := range racks {
			p.blocks[r]--
		}
	}
	return n
}
