package nas

import (
	"math"

	"github.com/yardmaster/yardmaster/internal/dense"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/shuffle"
	"github.com/yardmaster/yardmaster/unit"
)

// Order is the policy. It serves one run.
type Order struct {
	shuffle.Users
	set     settings
	links   *shuffle.Links // nil: congestion is ignored
	delayed []bool         // by Index: cr held back its reduces
}

var (
	_ policy.Order     = (*Order)(nil)
	_ policy.Explainer = (*Order)(nil)
	_ policy.Refuser   = (*Order)(nil)
	_ policy.Refuser   = place{}
)

// Arrived admits a job.
func (o *Order) Arrived(now unit.Time, v *policy.Job) error {
	*dense.At(&o.delayed, v.Index) = false
	return o.Users.Arrived(now, v)
}

// Started notes a start: reduces of the job are no longer delayed.
func (o *Order) Started(e *policy.Event) {
	if e.Stage >= 0 && !o.Of(e.Job.Index).IsMap(e.Stage) {
		o.delayed[e.Job.Index] = false
	}
	o.Users.Started(e)
}

// Ranked proposes at most a few jobs, each for one stage.
func (o *Order) Ranked(of *policy.Offer, try func(*policy.Job) policy.Verdict) bool {
	d := decision{Decision: o.Decision(of, try), o: o, rack: -1}
	if of.Node != nil {
		d.rack = of.Node.Rack
		d.congested = o.links.Congested(d.rack)
	}
	if o.Others(&d.Decision) {
		return d.Took
	}
	waits := !o.Capped(of.Slot) && o.Waits(shuffle.Reduces)
	if waits && o.set.fair && o.Before(shuffle.Maps, shuffle.Reduces) {
		if !d.maps() {
			d.reduce()
		}
	} else if !waits || !d.reduce() {
		d.maps()
	}
	return d.Took
}

// decision is the choice for one free container.
type decision struct {
	shuffle.Decision
	o         *Order
	rack      int32 // -1: the engine picks the node later
	congested bool
}

// mapFits reports whether a map of a job fits.
func (d *decision) mapFits(j *shuffle.Job) bool { return d.Fits(j, d.mapOf(j)) }

// mapOf is the stage whose map would start.
func (d *decision) mapOf(j *shuffle.Job) int { return j.Open(false, d.Slot) }

// reduce starts a reduce: ca or cr, or in fair order.
func (d *decision) reduce() (over bool) {
	o, now := d.o, d.Now
	o.Each(shuffle.Reduces, func(u *shuffle.User, jobs []int32) bool {
		var best, light candidate
		for _, i := range jobs {
			j := o.Of(i)
			stage := j.Open(true, d.Slot)
			if j.Progress() < o.slowStart(j)-rounding || !d.Fits(j, stage) || !o.Spare(j, j.Stages[stage].Ask, d.Node) {
				continue
			}
			c := candidate{job: j, stage: stage}
			if o.set.ca {
				c.category, c.delayed, c.done = category(j.Class, j.UnderQuota(d.rack)), o.delayed[i], j.Progress() >= 1
			}
			best.keep(&c, o.set.ca)
			if j.Class == shuffle.Light {
				light.keep(&c, o.set.ca)
			}
		}
		if best.job == nil {
			return true
		}
		if d.congested && !o.set.forReduce.Over(&u.Wait[shuffle.ForReduce], now) {
			if light.job == nil {
				for _, i := range jobs {
					if o.Of(i).Class != shuffle.Light {
						o.delayed[i] = true
					}
				}
				u.Wait[shuffle.ForReduce].Skip(now)
				return true
			}
			best = light
		}
		over = d.Propose(best.job, best.stage)
		return !over
	})
	return over
}

// slowStart is the share of a job's maps that must be done before its reduces start.
func (o *Order) slowStart(j *shuffle.Job) float64 {
	if !o.set.adaptive {
		return o.set.tmin
	}
	smallest, largest := o.Range()
	return shuffle.SlowStart(o.set.tmin, o.set.tmax, smallest, largest, j.Size)
}

// Why says what holds a job's next container back on any node, and who comes first.
func (o *Order) Why(_ unit.Time, v *policy.Job, to []policy.Reason) []policy.Reason {
	return o.Explain(v, "slowstart", o.slowStart(o.Of(v.Index)), to)
}

// Refusal says why a job starts nothing on a node: congestion, locality, the node's traffic threshold or the cap of reduces.
func (o *Order) Refusal(now unit.Time, v *policy.Job, s int, n *policy.Node, near policy.Near) (r policy.Reason) {
	if s < 0 {
		return r
	}
	j, congested := o.Of(v.Index), o.links.WasCongested(n.Rack)
	w := &o.UserOf(j).Wait
	waited := o.set.skip.Over(&w[shuffle.ForMap], now)
	switch {
	case !j.IsMap(s) && !o.Spare(j, v.Ask, n):
		r.Limit = "capped"
	case !j.IsMap(s):
		if congested && j.Class != shuffle.Light && !o.set.forReduce.Over(&w[shuffle.ForReduce], now) {
			r = o.set.forReduce.Reason("reduce-skip", &w[shuffle.ForReduce], now)
		}
	case congested && o.set.gate && !o.IsLight(j):
		r.Limit = "gate"
	case waited:
	case congested && o.set.soft && !o.IsLight(j):
		r = o.set.skip.Reason("gate", &w[shuffle.ForMap], now)
	case o.set.delays && (near == policy.RackLocal || near == policy.OffRack):
		r = o.set.skip.Reason("skip", &w[shuffle.ForMap], now)
	case o.set.mts && j.MapOutput() > o.available(n.Index):
		r = o.set.skip.Reason("threshold", &w[shuffle.ForMap], now)
	}
	return r
}

// available is the predicted output of further maps that fits into a node's traffic threshold.
func (o *Order) available(node int32) float64 {
	limit := o.Threshold()
	return limit - o.Load(node) + limit*rounding
}

// rounding forgives rounding errors of shares.
const rounding = 1e-9

// candidate is a job whose reduce may start.
type candidate struct {
	job           *shuffle.Job
	stage         int
	category      uint8
	delayed, done bool
}

// category is the rank of a job's reduces in a rack.
func category(c shuffle.Class, below bool) uint8 {
	if below {
		return 3 - uint8(c)
	}
	return 4 + uint8(c)
}

// keep replaces a candidate by one that comes first.
func (c *candidate) keep(x *candidate, ca bool) {
	if c.job == nil || x.before(c, ca) {
		*c = *x
	}
}

func (c *candidate) before(b *candidate, ca bool) bool {
	switch {
	case !ca:
		return shuffle.Fairer(c.job, b.job)
	case c.category != b.category:
		return c.category < b.category
	case c.delayed != b.delayed:
		return c.delayed
	case c.done != b.done:
		return c.done
	case c.job.Size != b.job.Size:
		return (c.job.Size > b.job.Size) == (c.category <= 3)
	}
	return c.job.Seq < b.job.Seq
}

// maps starts a map: mts.
func (d *decision) maps() (over bool) {
	o, now, kind := d.o, d.Now, shuffle.Maps
	if d.congested && o.set.gate {
		kind = shuffle.LightMaps
	}
	if !o.Waits(kind) {
		return false
	}
	gated := d.congested && o.set.soft
	avail := math.Inf(1)
	if o.set.mts && d.Node != nil {
		avail = o.available(d.Node.Index)
	}
	o.Each(kind, func(u *shuffle.User, jobs []int32) bool {
		var best, fairest *shuffle.Job // fairest: of all that fit
		w, held := &u.Wait[shuffle.ForMap], false
		waited := o.set.skip.Over(w, now)
		for _, i := range jobs {
			j := o.Of(i)
			stage := d.mapOf(j)
			if !d.Fits(j, stage) {
				continue
			}
			if gated && !waited && !o.IsLight(j) {
				held = true
				continue
			}
			if fairest == nil || shuffle.Fairer(j, fairest) {
				fairest = j
			}
			if j.MapOutput() <= avail && (best == nil || d.closer(j, best)) && (!o.set.delays || d.local(j, stage)) {
				best = j
			}
		}
		if fairest == nil {
			if held {
				w.Skip(now)
			}
			return true
		}
		if best == nil {
			if !waited {
				w.Skip(now)
				return true
			}
			if !o.set.mts {
				best = fairest
			} else if best = d.cheapest(jobs, avail); best == nil {
				best = d.lightest(jobs)
			}
		}
		over = d.Propose(best, d.mapOf(best))
		return !over
	})
	return over
}

// closer is the order of qualified local maps: unpredicted first, then the closest fit. Without mts it is fair order.
func (d *decision) closer(a, b *shuffle.Job) bool {
	switch x, y := a.Predictor.Known(), b.Predictor.Known(); {
	case !d.o.set.mts:
		return shuffle.Fairer(a, b)
	case x != y:
		return !x
	case a.MapOutput() != b.MapOutput():
		return a.MapOutput() > b.MapOutput()
	}
	return a.Seq < b.Seq
}

func (d *decision) local(j *shuffle.Job, stage int) bool {
	return d.Store == nil || d.Node == nil || d.Store.Local(j.Job, stage, d.Node)
}

func (d *decision) near(j *shuffle.Job) policy.Near {
	if d.Store == nil || d.Node == nil {
		return policy.NoPreference
	}
	return d.Store.Near(j.Job, d.mapOf(j), d.Node)
}

// cheapest is the job of the best qualified map, wherever its input lies; nil: none qualifies.
func (d *decision) cheapest(jobs []int32, avail float64) (best *shuffle.Job) {
	var group int
	var cost float64
	for _, i := range jobs {
		j := d.o.Of(i)
		if j.MapOutput() > avail || !d.mapFits(j) {
			continue
		}
		g := 0
		if float64(j.Input) >= d.o.Bounds.Small {
			g += 2
		}
		if j.Predictor.Known() {
			g++
		}
		if best != nil && g > group {
			continue
		}
		c := shuffle.MapCost(j.MapInput(), d.near(j))
		if best == nil || g < group || c < cost || c == cost && (j.MapOutput() > best.MapOutput() || j.MapOutput() == best.MapOutput() && j.Seq < best.Seq) {
			best, group, cost = j, g, c
		}
	}
	return best
}

// lightest is the job of the map with the least predicted output, with input on the node if possible.
func (d *decision) lightest(jobs []int32) (best *shuffle.Job) {
	local := false
	for _, i := range jobs {
		j := d.o.Of(i)
		if !d.mapFits(j) {
			continue
		}
		here := d.local(j, d.mapOf(j))
		less := best == nil || j.MapOutput() < best.MapOutput() || j.MapOutput() == best.MapOutput() && j.Seq < best.Seq
		if best == nil || here && !local || here == local && less {
			best, local = j, here
		}
	}
	return best
}

// place is the policy as a placement. Its order has chosen the task with the node in mind; an engine that asks about other nodes gets the same
// rule for locality.
type place struct{ o *Order }

// networked is a placement that uses the load of the network.
type networked struct{ place }

var (
	_ policy.Place     = place{}
	_ policy.Counter   = place{}
	_ policy.Networked = networked{}
)

func (n networked) Watch(net policy.Network) { n.o.links.Watch(net) }

// Counts says that nodes have to be offered repeatedly.
func (p place) Counts(uint8) bool { return true }

// Score accepts a node without the map's input once the user has waited.
func (p place) Score(now unit.Time, v *policy.Job, s int, _ *policy.Node, near policy.Near) policy.Score {
	j := p.o.Of(v.Index)
	switch {
	case !j.IsMap(s) || near == policy.NoPreference:
		return policy.Any
	case near == policy.NodeLocal || !p.o.set.delays:
		return policy.Best
	case p.o.set.skip.Over(&p.o.UserOf(j).Wait[shuffle.ForMap], now):
		return policy.Score(near)
	}
	return policy.Wait
}

// Refusal is the order's.
func (p place) Refusal(now unit.Time, v *policy.Job, s int, n *policy.Node, near policy.Near) policy.Reason {
	return p.o.Refusal(now, v, s, n, near)
}

// Skipped counts an offer that the engine let pass.
func (p place) Skipped(now unit.Time, v *policy.Job, s int) unit.Time {
	if j := p.o.Of(v.Index); j.IsMap(s) {
		p.o.UserOf(j).Wait[shuffle.ForMap].Skip(now)
	}
	return unit.Never
}

// Placed goes on with a user's wait after the start of a map without input on its node: as in delay scheduling, the next one need not wait.
func (p place) Placed(v *policy.Job, s int, _ *policy.Node, near policy.Near) {
	if j := p.o.Of(v.Index); !p.o.set.resets && j.IsMap(s) && (near == policy.RackLocal || near == policy.OffRack) {
		p.o.UserOf(j).Wait[shuffle.ForMap].Continue()
	}
}

// Unplaced is a no-op: the order is notified of the end, and takes the start back.
func (p place) Unplaced(*policy.Job, int, *policy.Node, policy.Near) {}

// Left is a no-op: the order is notified too.
func (p place) Left(unit.Time, *policy.Job) {}
