package sim_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/all"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/am"
	"github.com/yardmaster/yardmaster/sim/hdfs"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// ledger is a sink that keeps everything, and a log of the events passed to a watched policy.
type ledger struct {
	records []sim.JobRecord
	samples []sim.Sample
}

func (l *ledger) Job(r *sim.JobRecord) { l.records = append(l.records, *r) }
func (l *ledger) Sample(s *sim.Sample) {
	c := *s
	c.Queues = append([]sim.QueueSample(nil), s.Queues...)
	l.samples = append(l.samples, c)
}

// watched stands between the engine and an order and checks what the engine may and may not do. It also writes down every
// call, so that the calls can be replayed to a fresh copy of the policy.
type watched struct {
	policy.Order
	t       *rapid.T
	total   unit.Resources
	used    unit.Resources
	starts  map[string]int64 // by job/stage
	ends    map[string]int64
	lost    int64
	present map[int32]*policy.Job
	wants   map[int32]bool // by what it was told
	log     []call
	answers answers
}

type call struct {
	what  string
	now   unit.Time
	job   policy.Job // as it was at the time of the call
	event policy.Event
	total policy.Cluster
	offer policy.Offer
	tries []verdict
	views []policy.Job // of all jobs present, when Ranked is called
	near  policy.Near  // of a task that was placed
}

type verdict struct {
	seq int64
	v   policy.Verdict
}

func (w *watched) Resized(now unit.Time, c policy.Cluster) {
	w.total = c.Total
	w.log = append(w.log, call{what: "resized", now: now, total: c})
	w.Order.Resized(now, c)
}

// seen is a copy of a view that later events do not change.
func seen(j *policy.Job) policy.Job {
	c := *j
	c.Stages = slices.Clone(j.Stages)
	return c
}

func (w *watched) Arrived(now unit.Time, j *policy.Job) error {
	if j.Pending != 0 || j.Running != 0 {
		w.t.Fatalf("job %s arrives with %d pending, %d running", j.ID, j.Pending, j.Running)
	}
	if w.present[j.Index] != nil {
		w.t.Fatalf("index %d is taken twice", j.Index)
	}
	w.log = append(w.log, call{what: "arrived", now: now, job: seen(j)})
	err := w.Order.Arrived(now, j)
	if err == nil {
		w.present[j.Index], w.wants[j.Index] = j, false
	}
	return err
}

func (w *watched) Changed(now unit.Time, j *policy.Job) {
	w.wants[j.Index] = j.Pending > 0
	w.log = append(w.log, call{what: "changed", now: now, job: seen(j)})
	w.Order.Changed(now, j)
}

// stages checks what a job's stages say of themselves.
func (w *watched) stages(e *policy.Event) {
	var tasks, done int64
	for _, s := range e.Job.Stages {
		if s.Pending < 0 || s.Running < 0 || s.Pending+s.Running+s.Done > s.Tasks || s.Worked < 0 {
			w.t.Fatalf("a stage of job %s: %+v", e.Job.ID, s)
		}
		tasks += s.Tasks
		done += s.Done
	}
	if tasks != e.Job.Tasks || e.Job.Attained(e.Now) < 0 {
		w.t.Fatalf("job %s has %d tasks, its stages %d; %v attained", e.Job.ID, e.Job.Tasks, tasks, e.Job.Attained(e.Now))
	}
}

func (w *watched) Started(e *policy.Event) {
	j := e.Job
	w.stages(e)
	w.wants[j.Index] = j.Pending > 0
	w.starts[fmt.Sprint(j.ID, "/", e.Stage)]++
	w.used = w.used.Add(e.Size)
	if j.Pending < 0 {
		w.t.Fatalf("job %s has %d pending", j.ID, j.Pending)
	}
	w.log = append(w.log, call{what: "started", job: seen(j), event: *e})
	w.Order.Started(e)
}

func (w *watched) Ended(e *policy.Event) {
	j := e.Job
	w.stages(e)
	w.used = w.used.Sub(e.Size)
	if e.Why != policy.Done {
		w.lost++
	} else {
		w.ends[fmt.Sprint(j.ID, "/", e.Stage)]++
	}
	if e.Held < 0 || e.Worked < 0 || e.Worked > e.Held {
		w.t.Fatalf("job %s, stage %d: held for %v, worked for %v", j.ID, e.Stage, e.Held, e.Worked)
	}
	if j.Running < 0 || j.Used.Mem < 0 {
		w.t.Fatalf("job %s has %d running, %v used", j.ID, j.Running, j.Used)
	}
	w.log = append(w.log, call{what: "ended", job: seen(j), event: *e})
	w.Order.Ended(e)
}

func (w *watched) Left(now unit.Time, j *policy.Job) {
	if j.Pending != 0 || j.Running != 0 || !j.Used.IsZero() {
		w.t.Fatalf("job %s leaves with %d pending, %d running, %v used", j.ID, j.Pending, j.Running, j.Used)
	}
	delete(w.present, j.Index)
	w.log = append(w.log, call{what: "left", now: now, job: seen(j)})
	w.Order.Left(now, j)
}

func (w *watched) Ranked(o *policy.Offer, try func(*policy.Job) policy.Verdict) bool {
	at := len(w.log)
	var c call
	c.what, c.offer = "ranked", *o
	if o.Node != nil {
		n := *o.Node
		c.offer.Node = &n // as it is now
	}
	for _, j := range w.present {
		if w.wants[j.Index] != (j.Pending > 0) {
			w.t.Fatalf("job %s has %d pending, and no event said so", j.ID, j.Pending)
		}
		c.views = append(c.views, seen(j))
	}
	w.log = append(w.log, c) // before what try brings about
	var tries []verdict
	took := w.Order.Ranked(o, func(j *policy.Job) policy.Verdict {
		if j.Pending <= 0 {
			w.t.Fatalf("job %s is proposed with %d pending", j.ID, j.Pending)
		}
		seq := j.Seq
		v := try(j)
		tries = append(tries, verdict{seq, v})
		if v == policy.Took && !w.used.Fits(w.total) {
			w.t.Fatalf("%v in use of %v", w.used, w.total)
		}
		return v
	})
	w.log[at].tries = tries
	return took
}

// watch makes policies that are watched, and adds each one's books to a list.
func watch(t *rapid.T, spec policy.Spec, books *[]*watched) func() (policy.Policy, error) {
	return func() (policy.Policy, error) {
		p, err := all.Policies.New(spec)
		w := &watched{
			Order: p.Order, t: t, starts: map[string]int64{}, ends: map[string]int64{}, present: map[int32]*policy.Job{}, wants: map[int32]bool{},
		}
		*books = append(*books, w)
		p.Order = w
		if choose := p.Choose; choose != nil {
			p.Choose = func(s policy.Storage) { choose(&asking{s, &w.answers}) }
			if p.Place != nil {
				p.Place = &told{p.Place, w}
			}
		}
		return p, err
	}
}

// told records what a place shared with an order is told.
type told struct {
	policy.Place
	w *watched
}

func (r *told) Counts(slot uint8) bool {
	c, ok := r.Place.(policy.Counter)
	return ok && c.Counts(slot)
}

func (r *told) Placed(j *policy.Job, s int, n *policy.Node, near policy.Near) {
	r.w.log = append(r.w.log, call{what: "placed", job: *j, event: policy.Event{Stage: s, Node: n}, near: near})
	r.Place.Placed(j, s, n, near)
}

func (r *told) Skipped(now unit.Time, j *policy.Job, s int) unit.Time {
	r.w.log = append(r.w.log, call{what: "skipped", now: now, job: *j, event: policy.Event{Stage: s}})
	return r.Place.Skipped(now, j, s)
}

// answers are what an order was told of the locations of input, in the order of its questions.
type answers struct {
	near  []policy.Near
	local []bool
	racks [][]int32
}

type asking struct {
	policy.Storage
	to *answers
}

func (r *asking) Near(j *policy.Job, s int, n *policy.Node) policy.Near {
	r.to.near = append(r.to.near, r.Storage.Near(j, s, n))
	return r.to.near[len(r.to.near)-1]
}

func (r *asking) Local(j *policy.Job, s int, n *policy.Node) bool {
	local := r.Storage.Local(j, s, n)
	if near := r.Storage.Near(j, s, n); local != (near == policy.NodeLocal) && near != policy.NoPreference {
		panic(fmt.Sprintf("local: %v, and it is %v", local, near))
	}
	r.to.local = append(r.to.local, local)
	return local
}

func (r *asking) Racks(j *policy.Job, s int, task int64, to []int32) []int32 {
	to = r.Storage.Racks(j, s, task, to)
	r.to.racks = append(r.to.racks, slices.Clone(to))
	return to
}

// player gives the recorded answers again.
type player struct{ answers }

func pop[T any](list *[]T) T {
	first := (*list)[0]
	*list = (*list)[1:]
	return first
}

func (p *player) Near(*policy.Job, int, *policy.Node) policy.Near        { return pop(&p.near) }
func (p *player) Local(*policy.Job, int, *policy.Node) bool              { return pop(&p.local) }
func (p *player) Racks(_ *policy.Job, _ int, _ int64, _ []int32) []int32 { return pop(&p.racks) }

func genCluster(t *rapid.T) *cluster.Cluster {
	racks := rapid.IntRange(1, 3).Draw(t, "racks")
	n := rapid.IntRange(racks, 8).Draw(t, "nodes")
	c := cluster.Uniform(n, racks, unit.Resources{Mem: 4096, Cores: 4})
	if rapid.IntRange(0, 4).Draw(t, "slots") == 0 {
		c.Slots = true
		for i := range c.Nodes {
			c.Nodes[i].MapSlots = rapid.Int64Range(1, 3).Draw(t, "maps")
			c.Nodes[i].ReduceSlots = rapid.Int64Range(0, 2).Draw(t, "reduces")
		}
		return c
	}
	for i := range c.Nodes {
		// A little more than the tasks can use, for AMs: they must not crowd out all tasks, which is a true deadlock.
		c.Nodes[i].Room = unit.Resources{Mem: 1024*rapid.Int64Range(1, 6).Draw(t, "mem") + 64, Cores: rapid.Int64Range(1, 6).Draw(t, "cores")}
	}
	return c
}

func genLengths(t *rapid.T, tasks int64) workload.Lengths {
	a := unit.Time(rapid.Int64Range(0, 20).Draw(t, "length")) * unit.Second
	switch rapid.IntRange(0, 4).Draw(t, "lengths") {
	case 0:
		return workload.Lengths{Kind: workload.Exponential, A: a}
	case 1:
		l := workload.Lengths{Kind: workload.List, Values: make([]unit.Time, tasks)}
		for i := range l.Values {
			l.Values[i] = unit.Time(rapid.Int64Range(0, 30).Draw(t, "value")) * unit.Second
		}
		return l
	case 2:
		return workload.Lengths{Kind: workload.Uniform, A: a, B: a + unit.Minute}
	}
	return workload.Fixed(a)
}

func genJobs(t *rapid.T, c *cluster.Cluster) workload.Slice {
	var jobs workload.Slice
	at := unit.Time(0)
	for i := range rapid.IntRange(1, 12).Draw(t, "jobs") {
		at += unit.Time(rapid.Int64Range(0, 15).Draw(t, "gap")) * unit.Second
		j := &workload.Job{
			ID: fmt.Sprint("j", i), Submit: at, Priority: rapid.IntRange(0, 2).Draw(t, "priority"),
			User: rapid.SampledFrom([]string{"ann", "bob", "eve"}).Draw(t, "user"), Queue: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "queue"),
		}
		if rapid.IntRange(0, 2).Draw(t, "master") == 0 {
			j.AM = unit.Resources{Mem: 1}
		}
		for s := range rapid.IntRange(1, 5).Draw(t, "stages") {
			n := rapid.Int64Range(0, 12).Draw(t, "tasks")
			st := workload.Stage{
				Tasks: n, Ask: unit.Resources{Mem: 512 * rapid.Int64Range(1, 6).Draw(t, "ask"), Cores: rapid.Int64Range(1, 2).Draw(t, "askcores")},
				Length: genLengths(t, n), Kind: workload.Map, Input: unit.Bytes(rapid.Int64Range(0, 1).Draw(t, "input")),
			}
			if s > 0 {
				st.Kind = workload.Kind(rapid.IntRange(0, 1).Draw(t, "kind"))
				for up := range s {
					if up == s-1 || rapid.IntRange(0, 3).Draw(t, "edge") == 0 {
						st.After = append(st.After, workload.Edge{From: up, SlowStart: rapid.SampledFrom([]float64{0, 0.05, 0.5, 1}).Draw(t, "slow")})
					}
				}
			}
			j.Stages = append(j.Stages, st)
		}
		if rapid.IntRange(0, 4).Draw(t, "keep") == 0 {
			j.Keep = &workload.Keep{Ask: unit.Resources{Mem: 1024, Cores: 1}, Slots: rapid.Int64Range(1, 3).Draw(t, "kslots"), Max: rapid.Int64Range(1, 4).Draw(t, "kmax")}
		}
		jobs = append(jobs, j)
	}
	return jobs
}

func genModel(t *rapid.T, c *cluster.Cluster) sim.Model {
	m := sim.Model{Sample: unit.Time(rapid.Int64Range(1, 20).Draw(t, "sample")) * unit.Second}
	if rapid.Bool().Draw(t, "beats") {
		m.Heartbeat = unit.Second * unit.Time(rapid.Int64Range(1, 3).Draw(t, "heartbeat"))
		m.PerBeat = rapid.IntRange(0, 2).Draw(t, "perbeat")
		m.EndOnBeat = rapid.Bool().Draw(t, "endonbeat")
	}
	m.StartUp = unit.Time(rapid.Int64Range(0, 3).Draw(t, "startup")) * unit.Second
	m.Application = rapid.SampledFrom(am.Names()).Draw(t, "application")
	m.Replicas = rapid.IntRange(0, 3).Draw(t, "replicas")
	m.Placement = rapid.SampledFrom(hdfs.Names()).Draw(t, "placement")
	if rapid.IntRange(0, 3).Draw(t, "stragglers") == 0 {
		m.Stragglers = sim.Stragglers{Share: 0.2, Factor: 10}
	}
	if rapid.IntRange(0, 3).Draw(t, "speculates") == 0 {
		m.Speculate = rapid.SampledFrom(sim.Speculations()).Draw(t, "speculate")
	}
	if rapid.IntRange(0, 3).Draw(t, "fails") == 0 {
		m.FailTask = 0.1
	}
	if rapid.IntRange(0, 3).Draw(t, "losses") == 0 {
		for range rapid.IntRange(1, 3).Draw(t, "nlosses") {
			m.Losses = append(m.Losses, sim.Loss{
				Node: c.Nodes[rapid.IntRange(0, len(c.Nodes)-1).Draw(t, "lost")].Name,
				At:   unit.Time(rapid.Int64Range(0, 100).Draw(t, "lossat")) * unit.Second, For: unit.Time(rapid.Int64Range(0, 60).Draw(t, "lossfor")) * unit.Second,
			})
		}
	}
	return m
}

// specs are all policies there are, and some with parameters. (Those that need a network have a test of their own in policy/nas.)
var specs = append(slices.DeleteFunc(all.Policies.Names(), func(name string) bool { return name == "nas" || name == "shufflewatcher" }),
	"nas:parts=mts", "nas:parts=mts+ca,skip=3", "nas:parts=mts+ca,skip=2s,unfetched=yes", "fair:by=user", "fair:by=pool", "fair:resource=drf", "capacity:ordering=fair", "delay:node=4s",
	"fbq:limits=5,20,60", "fbq:limits=15,count=completed", "tags:limits=5,20,shares=0.3,0.3", "tags:limits=10,borrow=yes", "sita:limits=10,40,shares=0.3,0.3", "comp:queues=4")

func genSpec(t *rapid.T) policy.Spec {
	spec, err := policy.ParseSpec(rapid.SampledFrom(specs).Draw(t, "scheduler"))
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// Work is conserved: on any cluster, workload, model and policy every task of every admitted job runs to completion exactly
// once (lost attempts are counted and run again), no container is over-committed, nothing hangs, and what the timeline
// says was held is what the jobs say they held.
func TestPropertyWorkIsConserved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := genCluster(t)
		jobs := genJobs(t, c)
		m := genModel(t, c)
		spec := genSpec(t)
		var books []*watched
		sink := &ledger{}
		sum, err := sim.Run(context.Background(), sim.Config{
			Cluster: c, Source: jobs.Source(), Model: m, Seed: rapid.Uint64().Draw(t, "seed"), Sink: sink,
			NewPolicy: watch(t, spec, &books),
		})
		if err != nil {
			t.Fatal(err)
		}
		if int64(len(sink.records)) != sum.Submitted || sum.Submitted != int64(len(jobs)) {
			t.Fatalf("%d jobs, %d submitted, %d records", len(jobs), sum.Submitted, len(sink.records))
		}
		if sum.Finished+sum.Refused+sum.Failed+sum.Stuck != sum.Submitted {
			t.Fatalf("finished %d + refused %d + failed %d + stuck %d != %d", sum.Finished, sum.Refused, sum.Failed, sum.Stuck, sum.Submitted)
		}
		forGood := false
		for _, l := range m.Losses {
			forGood = forGood || l.For == 0
		}
		if sum.Stuck > 0 && !forGood {
			for _, r := range sink.records {
				t.Logf("%s: %v %s", r.Job.ID, r.Outcome, r.Reason)
			}
			t.Fatalf("%d jobs are stuck and no node is lost for good", sum.Stuck)
		}
		if m.FailTask == 0 && sum.Failed > 0 {
			t.Fatalf("%d jobs failed and nothing fails", sum.Failed)
		}
		var tasks int64
		var service unit.Time
		for _, r := range sink.records {
			service += r.Service
			if r.Outcome != sim.Finished {
				continue
			}
			tasks += r.Job.Tasks()
			if r.Start < r.Job.Submit || r.Finish < r.Start {
				t.Fatalf("job %s: submitted %v, started %v, finished %v", r.Job.ID, r.Job.Submit, r.Start, r.Finish)
			}
			if m.Replicas >= 0 && r.Near[0]+r.Near[1]+r.Near[2]+r.Near[3] < r.Job.Tasks() {
				t.Fatalf("job %s: %v starts for %d tasks", r.Job.ID, r.Near, r.Job.Tasks())
			}
			if r.Job.Keep != nil {
				continue // its tasks are not the policy's business
			}
			for i := range r.Job.Stages {
				var ends int64
				for _, w := range books {
					ends += w.ends[fmt.Sprint(r.Job.ID, "/", i)]
				}
				if ends != r.Job.Stages[i].Tasks {
					t.Fatalf("job %s stage %d: %d tasks ended of %d", r.Job.ID, i, ends, r.Job.Stages[i].Tasks)
				}
			}
		}
		if sum.Failed == 0 && sum.Stuck == 0 && tasks != sum.Tasks {
			t.Fatalf("%d tasks in finished jobs, %d counted", tasks, sum.Tasks)
		}
		var lost int64
		for _, w := range books {
			if sum.Stuck == 0 && (!w.used.IsZero() || len(w.present) > 0) {
				t.Fatalf("at the end %v is in use by %d jobs", w.used, len(w.present))
			}
			lost += w.lost
		}
		if sum.Stuck == 0 && sum.Busy != service {
			t.Fatalf("timeline holds %v, jobs %v", sum.Busy, service)
		}
		from := unit.Time(0)
		for _, s := range sink.samples {
			if s.From != from || s.To <= s.From {
				t.Fatalf("samples: %v to %v after %v", s.From, s.To, from)
			}
			from = s.To
			for _, q := range s.Queues {
				if q.Containers < 0 || q.Running < 0 || q.Waiting < 0 || q.Pending < 0 {
					t.Fatalf("sample %+v", q)
				}
			}
		}
	})
}

// Same input, same seed: the same output, byte for byte. And a job alone on the cluster has slowdown one.
func TestPropertyDeterminism(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := genCluster(t)
		jobs := genJobs(t, c)
		m := genModel(t, c)
		spec := genSpec(t)
		seed := rapid.Uint64().Draw(t, "seed")
		play := func() string {
			sink := &ledger{}
			sum, err := sim.Run(context.Background(), sim.Config{
				Cluster: c, Source: jobs.Source(), Model: m, Seed: seed, Sink: sink,
				NewPolicy: func() (policy.Policy, error) { return all.Policies.New(spec) },
			})
			if err != nil {
				t.Fatal(err)
			}
			b, err := json.Marshal([]any{sum, sink.records, sink.samples})
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		}
		if a, b := play(), play(); a != b {
			t.Fatalf("two runs differ:\n%s\n%s", a, b)
		}
	})
}

// A job that is by itself takes exactly as long as Alone says, whether that was computed or played.
func TestPropertyAloneIsARunOfOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := genCluster(t)
		job := genJobs(t, c)[:1]
		seed := rapid.Uint64().Draw(t, "seed")
		sink := &ledger{}
		_, err := sim.Run(context.Background(), sim.Config{
			Cluster: c, Source: job.Source(), Seed: seed, Sink: sink,
			Model:     sim.Model{StartUp: unit.Time(rapid.Int64Range(0, 3).Draw(t, "startup")) * unit.Second},
			NewPolicy: func() (policy.Policy, error) { return all.Policies.New(policy.Spec{Name: "fifo"}) },
		})
		if err != nil {
			t.Fatal(err)
		}
		if r := sink.records[0]; r.Outcome == sim.Finished && r.Finish-r.Job.Submit != r.Alone {
			t.Fatalf("took %v, alone %v", r.Finish-r.Job.Submit, r.Alone)
		}
	})
}

// A policy's decisions do not depend on the engine, and it never sees the future: the calls of a run, replayed to a fresh
// copy from the log alone (no engine, no workload), bring the same proposals in the same order.
func TestPropertyDecisionsCanBeReplayed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := genCluster(t)
		jobs := genJobs(t, c)
		m := genModel(t, c)
		spec := genSpec(t)
		if spec.Name == "capacity1" {
			t.Skip("its parts share what they know, with a timer: its own package replays them together")
		}
		var books []*watched
		_, err := sim.Run(context.Background(), sim.Config{
			Cluster: c, Source: jobs.Source(), Model: m, Seed: 1, Sink: &ledger{},
			NewPolicy: watch(t, spec, &books),
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range books {
			p, err := all.Policies.New(spec)
			if err != nil {
				t.Fatal(err)
			}
			if p.Choose != nil {
				p.Choose(&player{w.answers})
			}
			r := &replay{t: t, order: p.Order, place: p.Place, log: w.log, jobs: map[int64]*policy.Job{}}
			for r.at < len(r.log) {
				r.step()
			}
		}
	})
}

// replay passes the events of a log to an order and compares its proposals with those of the log.
type replay struct {
	t     *rapid.T
	order policy.Order
	place policy.Place
	log   []call
	at    int
	jobs  map[int64]*policy.Job
}

func (r *replay) step() {
	c := r.log[r.at]
	r.at++
	if c.what == "resized" {
		r.order.Resized(c.now, c.total)
		return
	}
	if c.what == "ranked" {
		i := 0
		for _, v := range c.views {
			*r.jobs[v.Seq] = v
		}
		r.order.Ranked(&c.offer, func(j *policy.Job) policy.Verdict {
			if i >= len(c.tries) || c.tries[i].seq != j.Seq {
				r.t.Fatalf("proposal %d is job %s; the log has %v", i, j.ID, c.tries)
			}
			v := c.tries[i].v
			i++
			if v == policy.Took { // what the engine told inside the call, up to and with the start
				for started := false; !started || r.at < len(r.log) && (r.log[r.at].what == "changed" || r.log[r.at].what == "placed"); {
					started = started || r.log[r.at].what == "started"
					r.step()
				}
			}
			return v
		})
		if i != len(c.tries) {
			r.t.Fatalf("%d proposals; the log has %v", i, c.tries)
		}
		return
	}
	j := r.jobs[c.job.Seq]
	if j == nil {
		j = &policy.Job{}
		r.jobs[c.job.Seq] = j
	}
	*j = c.job
	switch c.what {
	case "arrived":
		if err := r.order.Arrived(c.now, j); err != nil {
			delete(r.jobs, c.job.Seq)
		}
	case "changed":
		r.order.Changed(c.now, j)
	case "placed":
		r.place.Placed(j, c.event.Stage, c.event.Node, c.near)
	case "skipped":
		r.place.Skipped(c.now, j, c.event.Stage)
	case "started":
		c.event.Job = j
		r.order.Started(&c.event)
	case "ended":
		c.event.Job = j
		r.order.Ended(&c.event)
	case "left":
		r.order.Left(c.now, j)
		delete(r.jobs, c.job.Seq)
	}
}
