// Package executors answers, from one run of a Spark application, how it would have run with other executors, and where the time goes that none of them
// helps; and for queues, what executors hold, and which settings would free it.
package executors

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/fifo"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/yarn"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Plan is a question about one application. It is simulated alone, on a cluster that has room for all of its executors.
type Plan struct {
	Job     *workload.Job
	Cluster *cluster.Cluster // whose nodes it runs on, as many as it takes; nil: nodes of one executor each
	Timing  *yarn.Timing     // nil: ideal time
	Model   sim.Model        // of ideal time
	// Before is the time from the application's launch until its driver asks for executors, where neither the job nor the clock has it.
	Before  unit.Time
	Workers int // runs at once; 0: as many as there are processors
	// Progress, if set, is called with the share of the runs that is done, by several goroutines.
	Progress func(done float64)
}

// Row is the application with one number and size of executors.
type Row struct {
	Executors int64   `json:"executors"`
	Unlimited bool    `json:"unlimited,omitempty"` // dynamic allocation had no limit below what its tasks fill
	AsItRan   bool    `json:"as_it_ran,omitempty"`
	Cores     int64   `json:"cores"`      // of an executor
	Memory    int64   `json:"memory_mib"` // of its container
	Elapsed   float64 `json:"elapsed_seconds"`
	Hours     float64 `json:"executor_hours"`
	GiBHours  float64 `json:"memory_gib_hours"`
	CoreHours float64 `json:"vcore_hours"`
	Busy      float64 `json:"busy"` // share of the time of its slots
}

// Answer is the result of a plan. Times are in seconds, from the application's launch.
type Answer struct {
	ID       string   `json:"id"`
	Name     string   `json:"name"`
	Dynamic  bool     `json:"dynamic"`            // executors count to spark.dynamicAllocation.maxExecutors
	Observed float64  `json:"observed,omitempty"` // 0: not known
	Rows     []Row    `json:"rows"`
	Sizes    []Row    `json:"sizes,omitempty"` // of other sizes, with the slots of the row that is recommended
	AsItRan  int      `json:"as_it_ran"`       // index into Rows, like Enough and Cheapest
	Enough   int      `json:"enough"`
	Cheapest int      `json:"cheapest"`
	Bound    Bound    `json:"bound"`
	Skew     []Skew   `json:"skew,omitempty"`
	Sentence string   `json:"answer"`
	Why      []string `json:"why"`
	Setting  string   `json:"setting"`
	Assumed  []string `json:"assumptions"`
}

// Limits of a series.
const (
	maxExecutors = 10_000
	farBelow     = 256
	nearBest     = 1.1 // times the best time: near enough
	// leastMemory is what a container needs at least, in MiB: Spark refuses a heap below 450 MiB, and adds an overhead of at least 384 MiB.
	leastMemory = 450 + 384
)

// Run answers a plan.
func Run(ctx context.Context, p Plan) (*Answer, error) {
	j := p.Job
	if j.Keep == nil {
		return nil, fmt.Errorf("job %s keeps no executors: import Spark's event logs with the jobs", j.ID)
	}
	a := &Answer{ID: j.ID, Name: j.Name, Assumed: assumed(&p)}
	if o := j.Observed; o != nil && o.Finish > o.Launch {
		a.Observed = (o.Finish - o.Launch).Seconds()
	}
	if err := p.counts(ctx, a); err != nil {
		return nil, err
	}
	if err := p.sizes(ctx, a); err != nil {
		return nil, err
	}
	s := p.stages()
	a.Bound = p.bound(s)
	a.Skew = p.skew(s)
	a.phrase(p.Job)
	return a, nil
}

func assumed(p *Plan) []string {
	out := []string{
		"the application runs alone, with room for all of its executors",
		"each stage has the tasks that it had, as long as they took: with other executors Spark may choose other numbers of partitions, and tasks may contend for memory, disks and network",
	}
	if p.Job.Keep.Dynamic == nil {
		out = append(out, "the setting is that of YARN and Kubernetes: a standalone cluster takes spark.cores.max, the executors' cores in all")
	}
	if p.Timing == nil {
		out = append(out, "executors start as fast as the log says, and containers are given at once")
	}
	return out
}

// counts plays the application with a series of numbers of executors, and as it ran.
func (p *Plan) counts(ctx context.Context, a *Answer) error {
	alone := *p.Job
	alone.Submit, alone.Deadline, alone.Queue = 0, 0, ""
	p.Job = &alone
	k := p.Job.Keep
	own := k.Max
	a.Dynamic = k.Dynamic != nil
	unlimited := a.Dynamic && own >= p.Job.Fill()
	numbers := Series(min((p.widest()+k.Slots-1)/k.Slots, maxExecutors))
	if !unlimited && !slices.Contains(numbers, own) {
		numbers = append(numbers, own)
		slices.Sort(numbers)
	}
	var jobs []*workload.Job
	for _, n := range numbers {
		jobs = append(jobs, p.with(n, workload.Executors{}))
		a.Rows = append(a.Rows, Row{Executors: n, AsItRan: n == own && !unlimited})
	}
	if unlimited {
		jobs = append(jobs, p.Job)
		a.Rows = append(a.Rows, Row{Executors: own, Unlimited: true, AsItRan: true})
	}
	if err := p.play(ctx, jobs, a.Rows); err != nil {
		return err
	}
	for a.choose(); a.Enough == 0 && a.Rows[0].Executors > 1; a.choose() { // fewer than were tried may do
		n := a.Rows[0].Executors / 2
		fewer := []Row{{Executors: n}}
		if err := p.play(ctx, []*workload.Job{p.with(n, workload.Executors{})}, fewer); err != nil {
			return err
		}
		a.Rows = append(fewer, a.Rows...)
	}
	a.AsItRan = slices.IndexFunc(a.Rows, func(r Row) bool { return r.AsItRan })
	return nil
}

// with is the application with so many executors, and other changes of them.
func (p *Plan) with(n int64, e workload.Executors) *workload.Job {
	if p.Job.Keep.Dynamic != nil {
		e.Max = &n
	} else {
		e.Instances = &n
	}
	j := *p.Job
	e.Apply(&j)
	return &j
}

// Series are the numbers of executors to try, up to top: 1, 2, 3, 4, 6, 8, 12, 16, ... Those that are far below top are left out.
func Series(top int64) (list []int64) {
	n := int64(1)
	for n < top/farBelow {
		n *= 2
	}
	for ; n*6/5 < top; n *= 2 {
		list = append(list, n)
		if half := n * 3 / 2; n > 1 && half*6/5 < top {
			list = append(list, half)
		}
	}
	return append(list, top)
}

// choose finds the smallest number that is near the best time, and the cheapest one.
func (a *Answer) choose() {
	a.Cheapest = 0
	best := slices.MinFunc(a.Rows, func(x, y Row) int { return cmp.Compare(x.Elapsed, y.Elapsed) }).Elapsed
	a.Enough = slices.IndexFunc(a.Rows, func(r Row) bool { return r.Elapsed <= nearBest*best })
	for i := range a.Rows {
		r, c := &a.Rows[i], &a.Rows[a.Cheapest]
		if r.GiBHours < c.GiBHours || r.GiBHours == c.GiBHours && r.Elapsed < c.Elapsed {
			a.Cheapest = i
		}
	}
}

// sizes plays the number that was chosen as more, smaller executors and as fewer, larger ones.
func (p *Plan) sizes(ctx context.Context, a *Answer) error {
	k, enough := p.Job.Keep, &a.Rows[a.Enough]
	if enough.Unlimited {
		return nil
	}
	slots := enough.Executors * k.Slots
	each := max(k.Ask.Cores/k.Slots, 1) // cores of a slot
	var jobs []*workload.Job
	list := []int64{each, 2 * each, 4 * each, 8 * each}
	if !slices.Contains(list, k.Ask.Cores) {
		list = append(list, k.Ask.Cores)
		slices.Sort(list)
	}
	var rows []Row
	for _, cores := range list {
		per, memory := k.SlotsWith(cores), k.Ask.Mem*cores/max(k.Ask.Cores, 1)
		n := (slots + per - 1) / per
		j := p.with(n, workload.Executors{Cores: &cores, Memory: &memory})
		tooLarge := per > slots || p.Cluster != nil && p.Cluster.Containers(j.Keep.Ask) == 0
		tooSmall := memory < min(leastMemory, k.Ask.Mem)
		if cores != k.Ask.Cores && (tooLarge || tooSmall || n > maxExecutors) {
			continue
		}
		jobs = append(jobs, j)
		rows = append(rows, Row{Executors: n, AsItRan: cores == k.Ask.Cores && enough.AsItRan})
	}
	if len(jobs) < 2 {
		return nil
	}
	a.Sizes = rows
	return p.play(ctx, jobs, rows)
}

// play plays jobs and fills in their rows.
func (p *Plan) play(ctx context.Context, jobs []*workload.Job, rows []Row) error {
	errs := make([]error, len(jobs))
	var done atomic.Int64
	run.Each(ctx, len(jobs), p.Workers, func(i int) {
		errs[i] = p.one(ctx, jobs[i], &rows[i])
		if n := done.Add(1); p.Progress != nil {
			p.Progress(float64(n) / float64(len(jobs)))
		}
	})
	return cmp.Or(cmp.Or(errs...), ctx.Err())
}

// one plays a job.
func (p *Plan) one(ctx context.Context, j *workload.Job, r *Row) error {
	var got last
	if err := p.Alone(ctx, j, &got); err != nil {
		return err
	}
	if got.Outcome != sim.Finished {
		return fmt.Errorf("with %d executors the application does not finish: %s", j.Keep.Max, cmp.Or(got.Reason, got.Outcome.String()))
	}
	r.Cores, r.Memory = j.Keep.Ask.Cores, j.Keep.Ask.Mem
	r.Elapsed = (p.Before + got.Finish).Seconds()
	var u Use
	u.add(&got.JobRecord)
	r.Hours, r.GiBHours, r.CoreHours, r.Busy = u.Hours, u.GiBHours, u.CoreHours, u.Busy()
	return nil
}

// Alone plays a job alone, in a cluster that has room for all of its executors and loses no node.
func (p *Plan) Alone(ctx context.Context, j *workload.Job, sink sim.Sink) error {
	c, err := p.room(j)
	if err != nil {
		return err
	}
	model := p.Model
	model.Losses = nil
	spec := run.Spec{
		Cluster: c, Workload: run.Jobs(workload.Slice{j}), Scheduler: run.Scheduler{Name: fifo.Entry.Name, New: func() (policy.Policy, error) { return policy.Policy{Order: fifo.New()}, nil }},
		Seed: 1, Timing: p.Timing, Model: model, NoAlone: true, Sink: sink,
	}
	_, err = run.Play(ctx, &spec)
	return err
}

// room is a cluster that has room for all executors of a job, and for its AM.
func (p *Plan) room(j *workload.Job) (*cluster.Cluster, error) {
	n := min(j.Keep.Max, maxExecutors) + 1
	if p.Cluster != nil {
		fit := p.Cluster.Containers(j.Keep.Ask.Max(j.AM))
		if fit >= n {
			return p.Cluster, nil
		}
		if nodes := (n*int64(len(p.Cluster.Nodes)) + max(fit, 1) - 1) / max(fit, 1); fit > 0 && nodes <= cluster.MaxNodes {
			return p.Cluster.Resize(strconv.FormatInt(nodes, 10))
		}
	}
	return cluster.Uniform(int(n), 1, j.Keep.Ask.Max(j.AM)), nil
}

// last is a sink that keeps the last job.
type last struct{ sim.JobRecord }

func (l *last) Job(r *sim.JobRecord) { l.JobRecord = *r }
func (*last) Sample(*sim.Sample)     {}

// Use is what executors held, and what of that their tasks used.
type Use struct {
	Jobs      int64   `json:"jobs"`
	Hours     float64 `json:"executor_hours"`
	GiBHours  float64 `json:"memory_gib_hours"`
	CoreHours float64 `json:"vcore_hours"`
	SlotHours float64 `json:"slot_hours"`
	BusyHours float64 `json:"busy_slot_hours"`
}

// add counts a job that keeps executors.
func (u *Use) add(r *sim.JobRecord) {
	k := r.Job.Keep
	hours := r.Kept.Seconds() / unit.Hour.Seconds()
	u.Jobs++
	u.Hours += hours
	u.GiBHours += hours * float64(k.Ask.Mem) / 1024
	u.CoreHours += hours * float64(k.Ask.Cores)
	u.SlotHours += hours * float64(k.Slots)
	u.BusyHours += r.Size.Seconds() / unit.Hour.Seconds()
}

// plus adds what others hold.
func (u *Use) plus(o *Use) {
	u.Jobs += o.Jobs
	u.Hours += o.Hours
	u.GiBHours += o.GiBHours
	u.CoreHours += o.CoreHours
	u.SlotHours += o.SlotHours
	u.BusyHours += o.BusyHours
}

// over divides a sum by its number of replays.
func (u *Use) over(n float64) {
	u.Jobs = int64(math.Round(float64(u.Jobs) / n))
	u.Hours /= n
	u.GiBHours /= n
	u.CoreHours /= n
	u.SlotHours /= n
	u.BusyHours /= n
}

// Busy is the share of the time of slots in which they ran a task.
func (u *Use) Busy() float64 {
	if u.SlotHours == 0 {
		return 0
	}
	return min(u.BusyHours/u.SlotHours, 1)
}
