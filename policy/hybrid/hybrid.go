// Package hybrid runs jobs on a cluster of scale-up machines (few, fast, expensive) and scale-out machines (many, slow, cheap): small jobs on the
// former, large ones on the latter.
//
//	arrival               puts the job into the queue of one side; each queue has the order of a base scheduler
//	a scale-up node       takes the next task of its queue
//	a scale-out node      takes the next task of its queue; if no job waits there, it steals one
//	stealing              moves the job of the other queue that is nearest to the boundary between small and large here, for good; never one that has
//	                      started, and never from scale-out to scale-up
//	spill                 a small job that has waited for a while and finds no room on scale-up machines goes to scale-out, although large jobs wait there
//	help                  when large jobs have waited for a while and no small one waits, scale-up machines run their tasks, on three quarters of
//	                      their containers
//
// Small is what the scale-up machines can run at once, maps and reduces: the boundary follows the hardware. With model=FILE a support vector machine
// decides in its place, as in the source (see package classify). A job recurs with a given probability, decided by a hash of its ID; the
// classifier knows the shuffle of recurring jobs only.
//
// Scale-up machines are the nodes of kind cluster.ScaleUp. Without any, this is the base scheduler. Jobs whose containers fit only one kind of machines
// run there. Jobs with gangs, which may need nodes of both sides at once, and fixed slots are refused.
//
// Source: the hybrid scale-up/scale-out cluster of a dissertation on job schedulers for diverse workloads, which is model=FILE,help=no,spill=no. It calls the
// scale-out side under-utilised if one of its containers is offered and no job waits there; taken literally (steal=idle), an idle cluster runs most small jobs
// on the slow machines, since there are more of them to offer containers. So the default, steal=full, steals only what finds no room on scale-up
// machines. classify=no is the base scheduler on all machines. The data placement that belongs to it is hdfs.Hybrid.
//
// A decision is that of the base scheduler, plus O(log n) in waiting jobs for a job that moves; stealing also looks at scale-up nodes until one has room.
package hybrid

import (
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/internal/dense"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/delay"
	"github.com/yardmaster/yardmaster/policy/fair"
	"github.com/yardmaster/yardmaster/policy/fifo"
	"github.com/yardmaster/yardmaster/policy/hybrid/classify"
	"github.com/yardmaster/yardmaster/policy/rank"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// bases are the schedulers of the queues.
var bases = policy.Registry{fair.Entry, delay.Entry, fifo.Entry}

// Entry registers the policy.
var Entry = policy.Entry{
	Name:   "hybrid",
	Title:  "small jobs on scale-up machines, large jobs on scale-out machines, and each side helps the other",
	Params: params(),
	New: func(p policy.Params) (policy.Policy, error) {
		o, err := Read(p)
		if err != nil {
			return policy.Policy{}, err
		}
		return New(o)
	},
}

func own() map[string]string {
	return map[string]string{
		"base":      "scheduler of each side's queue: fair (default), delay or fifo; its parameters follow",
		"model":     "file of a classifier that tells small jobs from large ones, as written by \"yardmaster size --model\" (default: small is what fits the scale-up machines at once, maps and reduces)",
		"classify":  "yes (default), or no: all jobs on all machines, as under the base scheduler",
		"steal":     "when an idle scale-out machine takes a job from scale-up: full (default), when it finds no room there; idle, at once; or no",
		"spill":     "how long a small job waits for a full scale-up side before scale-out machines take it although large jobs wait, or no (default 5s)",
		"help":      "how long large jobs wait before scale-up machines for which no small job waits run their tasks, on 75 % of their containers, or no (default 30s)",
		"recurring": "share of jobs whose shuffle is known in advance (default 1); the others are classified as if they shuffled nothing",
		"error":     "signed error of the known shuffle, (predicted - real) / real, from -1 (default 0)",
		"seed":      "of the choice of recurring jobs (default 1)",
	}
}

func params() map[string]string {
	all := map[string]string{}
	for _, b := range bases {
		for k, help := range b.Params {
			all[k] = "see the base scheduler: " + help
		}
	}
	maps.Copy(all, own())
	return all
}

// Stealing says when idle scale-out machines take jobs.
type Stealing uint8

// When idle scale-out machines take jobs.
const (
	WhenFull Stealing = iota // if the job finds no room on scale-up machines
	WhenIdle                 // if no scale-out job waits
	NoStealing
)

// Options are the settings of the policy.
type Options struct {
	Base       policy.Spec         // "": fair
	Classifier classify.Classifier // nil: jobs whose tasks fit the scale-up machines at once are small
	Mixed      bool                // do not classify: all jobs on all machines
	Stealing   Stealing
	Spill      unit.Time // how long a small job waits before it may go to scale-out machines; 0: it does not
	Help       unit.Time // how long large jobs wait before scale-up machines help; 0: they do not
	Recurring  float64   // share of jobs whose shuffle is known
	Error      float64   // of the known shuffle
	Seed       uint64
}

// Read reads the settings as typed.
func Read(p policy.Params) (o Options, err error) {
	r := policy.Reader{Params: p}
	o.Base = policy.Spec{Name: r.Choice("base", bases.Names()...), Params: maps.Clone(p)}
	for k := range own() {
		delete(o.Base.Params, k)
	}
	how := []string{"full", "idle", "no"}
	o.Mixed, o.Stealing = r.Second("classify", "yes", "no"), Stealing(slices.Index(how, r.Choice("steal", how...)))
	wait := func(key string, otherwise unit.Time) unit.Time {
		if p[key] == "no" {
			return 0
		}
		return r.Time(key, otherwise)
	}
	o.Spill, o.Help = wait("spill", 5*unit.Second), wait("help", 30*unit.Second)
	o.Recurring = r.Share("recurring", 1)
	if o.Error, err = p.Float("error", 0); err != nil || !(o.Error >= -1 && o.Error <= 1000) {
		r.Keep(fmt.Errorf("error=%s: want a number from -1", p["error"]))
	}
	o.Seed = uint64(r.Int("seed", 1))
	if path := p["model"]; path != "" {
		o.Classifier, err = classify.Open(path)
		r.Keep(err)
	}
	return o, r.Err
}

// New builds the policy.
func New(o Options) (policy.Policy, error) {
	if o.Base.Name == "" {
		o.Base.Name = "fair"
	}
	p, err := bases.New(o.Base)
	if err != nil || o.Mixed {
		return p, err
	}
	second, err := bases.New(o.Base)
	if err != nil {
		return p, err
	}
	order := &Order{Options: o, sides: [2]policy.Order{p.Order, second.Order}, place: p.Place, since: unit.Never}
	order.guest = func(j *policy.Job) policy.Verdict {
		if n := order.host; !n.guests.Add(j.Ask).Fits(n.share) {
			return policy.Pass
		}
		return order.try(j)
	}
	p.Order, p.ByNode, p.Shifted = order, true, order.Shifted
	if o.Spill > 0 || o.Help > 0 {
		p.Timer = order
	}
	return p, nil
}

// Side is one of the two sides of the cluster.
type Side uint8

// Sides.
const (
	Out Side = iota
	Up
)

func (s Side) String() string { return [...]string{"scale-out", cluster.ScaleUp}[s] }

// Order is the order. It serves one run.
type Order struct {
	Options
	sides  [2]policy.Order
	place  policy.Place // of the base; nil: none
	jobs   []entry      // by Index
	stolen rank.Heap    // what may be stolen, by nearness to the boundary: jobs of the scale-up queue that wait and have not started, or all that wait if its machines are lost
	oldest rank.Heap    // the same by arrival

	now     unit.Time // of the last call
	waiting [2]int64  // jobs, by side
	since   unit.Time // large jobs wait since then; Never: none waits
	counts  Counts

	cluster policy.Cluster
	nodes   []node // by Index
	ups     []int32
	rooms   [2][]unit.Resources // sizes of machines, by side
	free    int                 // index into ups of the last machine with room
	could   [3]bool             // a job could be stolen, could spill, could be helped when Shifted was last called
	shifted bool
	gone    bool // all scale-up machines are lost

	host  *node // that large jobs are proposed to as guests, with try
	try   func(*policy.Job) policy.Verdict
	guest func(*policy.Job) policy.Verdict
}

// entry is a present job.
type entry struct {
	job      *policy.Job
	decision float64
	side     Side
	movable  bool // it fits scale-out machines
	waits    bool
	starts   int64 // containers, without those undone
}

type node struct {
	side Side
	next int32 // the first node after it that is of the other side
	used unit.Resources
	seen *policy.Node // nil: not seen yet

	guests, share unit.Resources // of a scale-up machine: what large jobs hold, and what they may
}

// Counts are what the policy did.
type Counts struct {
	Up, Out int64 // jobs, by the side they arrived at
	Stolen  int64
	Spilled int64 // of the stolen ones: although large jobs waited
	Helped  int64 // tasks of large jobs on scale-up machines
}

var (
	_ policy.Order     = (*Order)(nil)
	_ policy.Explainer = (*Order)(nil)
	_ policy.Refuser   = (*Order)(nil)
	_ policy.Timer     = (*Order)(nil)
)

// Counts are what the policy did so far.
func (o *Order) Counts() Counts { return o.counts }

// Resized learns the kinds of the nodes.
func (o *Order) Resized(now unit.Time, c policy.Cluster) {
	o.cluster = c
	o.learn(c.Nodes)
	for side, s := range o.sides {
		part := c // as large as its machines
		if o.divided() {
			part.Total = unit.Resources{}
			for i := range o.nodes {
				if o.nodes[i].side == Side(side) {
					part.Total = part.Total.Add(c.Room(int32(i), policy.MapSlot))
				}
			}
		}
		s.Resized(now, part)
	}
	// Without scale-up machines, their jobs move: those that have started, too.
	if gone := len(o.ups) > 0 && !slices.ContainsFunc(o.ups, o.alive); gone != o.gone {
		o.gone = gone
		for i := range o.jobs {
			if j := o.jobs[i].job; j != nil {
				o.update(now, j)
			}
		}
	}
}

// alive reports whether a machine is not known to be lost.
func (o *Order) alive(node int32) bool {
	n := o.nodes[node].seen
	return n == nil || !n.Total.IsZero()
}

// learn learns the kinds of the nodes before an index.
func (o *Order) learn(end int) {
	c := &o.cluster
	for i := len(o.nodes); i < end && c.Kind != nil && c.Room != nil; i++ {
		n := node{}
		if c.Kind(int32(i)) == cluster.ScaleUp {
			n.side, o.ups = Up, append(o.ups, int32(i))
		}
		r := c.Room(int32(i), policy.MapSlot)
		n.share = unit.Resources{Mem: r.Mem * 3 / 4, Cores: r.Cores * 3 / 4}
		if !slices.Contains(o.rooms[n.side], r) {
			o.rooms[n.side] = append(o.rooms[n.side], r)
		}
		o.nodes = append(o.nodes, n)
	}
	for i := len(o.nodes) - 1; i >= 0; i-- {
		n := &o.nodes[i]
		n.next = int32(i) + 1
		if i+1 < len(o.nodes) && o.nodes[i+1].side == n.side {
			n.next = o.nodes[i+1].next
		}
	}
}

// divided reports whether there are machines of both kinds.
func (o *Order) divided() bool { return len(o.ups) > 0 && len(o.ups) < len(o.nodes) }

// Arrived classifies a job.
func (o *Order) Arrived(now unit.Time, j *policy.Job) error {
	e := entry{job: j}
	if o.divided() {
		if o.cluster.Slots != [policy.Slots]int64{} {
			return errors.New("the hybrid scheduler does not support fixed slots")
		}
		for i := range j.Stages {
			if n := j.Stages[i].Gang; n > 1 {
				return fmt.Errorf("%d tasks of a stage start together, which the hybrid scheduler does not support", n)
			}
		}
		e.decision, e.movable = o.decide(j), o.fits(j, Out)
		if e.decision > 0 && !o.gone && o.fits(j, Up) || !e.movable {
			e.side = Up
		}
	}
	*dense.At(&o.jobs, j.Index) = e
	if err := o.sides[e.side].Arrived(now, j); err != nil {
		return err
	}
	if e.side == Up {
		o.counts.Up++
	} else {
		o.counts.Out++
	}
	o.update(now, j)
	return nil
}

// decide is above 0 for small jobs.
func (o *Order) decide(j *policy.Job) float64 {
	f := classify.Of(j)
	if o.Classifier == nil {
		ask, room := j.Ask, 0.5 // a job that just fits is small
		for i := range j.Stages {
			ask = ask.Max(j.Stages[i].Ask)
		}
		for _, n := range o.ups {
			room += float64(o.cluster.Room(n, policy.MapSlot).Count(ask))
		}
		return room - float64(f.Maps+f.Reduces)
	}
	if o.Recurs(j.ID) {
		f = f.Mispredicted(o.Error)
	} else {
		f = f.Unpredicted()
	}
	return o.Classifier.Decision(f)
}

// Recurs reports whether the shuffle of a job is known in advance.
func (o *Options) Recurs(id string) bool {
	if o.Recurring >= 1 {
		return true
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(id))
	return workload.Uniform01(workload.Seed(o.Seed, 0x687962726964), h.Sum64()) < o.Recurring
}

// fits reports whether each container of the job fits some machine of a side.
func (o *Order) fits(j *policy.Job, side Side) bool {
	fits := func(ask unit.Resources) bool { return slices.ContainsFunc(o.rooms[side], ask.Fits) }
	if !j.AM.IsZero() && !fits(j.AM) {
		return false
	}
	for i := range j.Stages {
		if !fits(j.Stages[i].Ask) {
			return false
		}
	}
	return true
}

// update records whether a job waits, and whether it may be stolen.
func (o *Order) update(now unit.Time, j *policy.Job) {
	e := &o.jobs[j.Index]
	if waits := j.Pending > 0; waits != e.waits {
		e.waits = waits
		if waits {
			o.waiting[e.side]++
		} else {
			o.waiting[e.side]--
		}
	}
	if e.side == Up && e.waits && e.movable && (o.gone || o.Stealing != NoStealing && e.starts == 0) {
		o.stolen.Set(j.Index, math.Abs(e.decision), j.Seq)
		o.oldest.Set(j.Index, j.Submitted.Seconds(), j.Seq)
	} else {
		o.secure(j)
	}
	o.noted(now)
}

// secure takes a job off the list of those that may be stolen.
func (o *Order) secure(j *policy.Job) {
	o.stolen.Remove(j.Index)
	o.oldest.Remove(j.Index)
}

// noted notes the time, and since when large jobs wait.
func (o *Order) noted(now unit.Time) {
	if o.now = now; o.waiting[Out] == 0 {
		o.since = unit.Never
	} else {
		o.since = min(o.since, now)
	}
}

// Changed passes the change on.
func (o *Order) Changed(now unit.Time, j *policy.Job) {
	o.sides[o.jobs[j.Index].side].Changed(now, j)
	o.update(now, j)
}

// Started books the container.
func (o *Order) Started(ev *policy.Event) {
	e := &o.jobs[ev.Job.Index]
	e.starts++
	o.use(ev, ev.Size)
	o.sides[e.side].Started(ev)
	o.update(ev.Now, ev.Job)
}

// Ended books that the container is free.
func (o *Order) Ended(ev *policy.Event) {
	e := &o.jobs[ev.Job.Index]
	if ev.Why == policy.Undone {
		e.starts--
	}
	o.use(ev, unit.Resources{}.Sub(ev.Size))
	o.sides[e.side].Ended(ev)
	o.update(ev.Now, ev.Job)
}

func (o *Order) use(ev *policy.Event, size unit.Resources) {
	if ev.Node != nil && int(ev.Node.Index) < len(o.nodes) {
		n := &o.nodes[ev.Node.Index]
		if n.used, n.seen = n.used.Add(size), ev.Node; n.side == Up && o.jobs[ev.Job.Index].side == Out {
			n.guests = n.guests.Add(size)
		}
	}
}

// Left drops the job.
func (o *Order) Left(now unit.Time, j *policy.Job) {
	e := &o.jobs[j.Index]
	o.sides[e.side].Left(now, j)
	if e.waits {
		o.waiting[e.side]--
	}
	o.secure(j)
	*e = entry{}
	o.noted(now)
}

// Ranked proposes the jobs of the node's side, after one has moved there or in place of them those that a scale-up machine helps.
func (o *Order) Ranked(of *policy.Offer, try func(*policy.Job) policy.Verdict) bool {
	if !o.divided() {
		return o.sides[Out].Ranked(of, try)
	}
	if of.Node == nil {
		return o.sides[Out].Ranked(of, try) || o.sides[Up].Ranked(of, try)
	}
	if int(of.Node.Index) >= len(o.nodes) {
		o.learn(int(of.Node.Index) + 1) // a node that replaces a lost one
	}
	n := &o.nodes[of.Node.Index]
	n.seen = of.Node
	o.noted(of.Now)
	switch {
	case n.side == Out:
		next, waited := o.victim, o.waiting[Out] > 0
		if waited {
			next = o.late
		}
		j := next()
		if j != nil && j.Ask.Fits(of.Node.Free) {
			if o.steal(of, j); waited {
				o.counts.Spilled++
			}
		} else if !waited {
			if j == nil {
				of.Next = n.next
			}
			return false
		}
	case o.waiting[Up] == 0 && o.helps():
		o.host, o.try = n, try
		took := o.sides[Out].Ranked(of, o.guest)
		if o.try = nil; took {
			o.counts.Helped++
		}
		return took
	case o.waiting[Up] == 0:
		of.Next = n.next
		return false
	}
	return o.sides[n.side].Ranked(of, try)
}

// steal moves a job to the scale-out queue.
func (o *Order) steal(of *policy.Offer, j *policy.Job) {
	e := &o.jobs[j.Index]
	o.sides[Up].Left(of.Now, j)
	if o.place != nil {
		o.place.Left(of.Now, j) // how long it waited for other nodes does not count
	}
	if err := o.sides[Out].Arrived(of.Now, j); err != nil {
		panic("hybrid: a job that one queue admitted is refused by the other: " + err.Error())
	}
	o.waiting[Up]--
	o.waiting[Out]++
	e.side = Out
	o.secure(j)
	o.counts.Stolen++
	o.shifted = true // its other tasks may start on nodes that had nothing to start
	o.noted(of.Now)
}

// victim is the job to steal now; nil: none.
func (o *Order) victim() *policy.Job {
	id, ok := o.stolen.Min()
	if !ok {
		return nil
	}
	j := o.jobs[id].job
	if o.Stealing == WhenFull && !o.gone && o.room(j.Ask) {
		return nil
	}
	return j
}

// room reports whether a scale-up machine has room.
func (o *Order) room(ask unit.Resources) bool {
	for k := range o.ups {
		at := (o.free + k) % len(o.ups)
		n := &o.nodes[o.ups[at]]
		if n.seen != nil && n.seen.Total.IsZero() {
			continue // lost
		}
		if ask.Fits(o.cluster.Room(o.ups[at], policy.MapSlot).Sub(n.used)) {
			o.free = at
			return true
		}
	}
	return false
}

// late is the small job to take although large jobs wait; nil: none.
func (o *Order) late() *policy.Job {
	id, ok := o.oldest.Min()
	if !ok || o.Spill == 0 {
		return nil
	}
	if j := o.jobs[id].job; j.Submitted+o.Spill <= o.now && (o.gone || !o.room(j.Ask)) {
		return j
	}
	return nil
}

// helps says whether scale-up machines run tasks of large jobs.
func (o *Order) helps() bool { return o.Help > 0 && o.since != unit.Never && o.since+o.Help <= o.now }

// Shifted reports whether a job has moved, or whether nodes that were offered before may now take one.
func (o *Order) Shifted() bool {
	idle := o.waiting[Out] == 0
	could := [...]bool{idle && o.victim() != nil, !idle && o.late() != nil, o.waiting[Up] == 0 && o.helps()}
	shifted := o.shifted
	for i, c := range could {
		shifted = shifted || c && !o.could[i]
	}
	o.could, o.shifted = could, false
	return shifted
}

// Tick asks to be called when the next job has waited long enough: to spill, or to be helped.
func (o *Order) Tick(now unit.Time) (again unit.Time, changed bool) {
	o.noted(now)
	changed = o.Shifted()
	again = now + min(unit.Positive(o.Spill, unit.Day), unit.Positive(o.Help, unit.Day)) // what begins to wait later is not due before
	if id, ok := o.oldest.Min(); ok && o.Spill > 0 {
		again = sooner(now, again, o.jobs[id].job.Submitted+o.Spill)
	}
	if o.since != unit.Never && o.Help > 0 {
		again = sooner(now, again, o.since+o.Help)
	}
	return again, changed
}

// sooner is the earlier of two instants, of those after now.
func sooner(now, a, b unit.Time) unit.Time {
	if b > now {
		return min(a, b)
	}
	return a
}

// Why explains with the order of the job's side.
func (o *Order) Why(now unit.Time, j *policy.Job, to []policy.Reason) []policy.Reason {
	side := o.jobs[j.Index].side
	from := len(to)
	if why, ok := o.sides[side].(policy.Explainer); ok {
		to = why.Why(now, j, to)
	}
	for i := range to[from:] {
		if r := &to[from+i]; r.Queue == "" && o.divided() {
			r.Queue = side.String()
		}
	}
	return to
}

// Refusal says that a node is of the other side, and does not take the job yet.
func (o *Order) Refusal(_ unit.Time, j *policy.Job, _ int, n *policy.Node, _ policy.Near) (r policy.Reason) {
	if side := o.jobs[j.Index].side; o.divided() && int(n.Index) < len(o.nodes) && o.nodes[n.Index].side != side {
		r = policy.Reason{Limit: "machine kind", Queue: side.String()}
	}
	return r
}
