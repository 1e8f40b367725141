package hybrid

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/all"
	"github.com/yardmaster/yardmaster/policy/hybrid"
	"github.com/yardmaster/yardmaster/policy/hybrid/classify"
	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/hdfs"
	"github.com/yardmaster/yardmaster/sim/transfer"
	x "github.com/yardmaster/yardmaster/studies/experiment"
	"github.com/yardmaster/yardmaster/studies/experiment/facebook"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/whatif/sizing"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/swim"
	"github.com/yardmaster/yardmaster/workload/synth"
)

// outContainers is the number of containers of a scale-out machine.
const outContainers = 8

// upContainers is that of a scale-up machine.
const upContainers = 24

// world is one of the source's two set-ups.
type world struct {
	racks, machines, ups int // racks of the traditional cluster and machines in each; the hybrid one has scale-up machines in place of one rack
	jobs                 int // drawn for each seed; 0: all
	examples             int // of the classifier
	replay               swim.Replay
	online               synth.Respread
	day, train           facebook.Source

	load func() (*traces, error)
	runs x.Cache[*drawn, playing]
}

// drawn are the jobs of a seed and its classifiers, by their training sets.
type drawn struct {
	batch, online workload.Slice
	classifiers   map[string]func() (trained, error)
}

// playing is a run of a variant; net is "" (uplinks of 30 Gbit/s) or "5:1".
type playing struct {
	variant string
	batch   bool
	net     string
}

// traces are the jobs of a world, labelled by the machines that run each of them faster.
type traces struct {
	day, train     workload.Slice
	dayUp, trainUp []bool
}

func newWorld(w *world) *world {
	w.load = sync.OnceValues(func() (*traces, error) {
		m := swim.Default()
		m.ReduceCap, m.Replay = int64(w.racks*w.machines*outContainers), w.replay
		day, err := w.day(m)
		if err != nil {
			return nil, err
		}
		train, err := w.train(m)
		if err != nil {
			return nil, err
		}
		t := &traces{}
		label := sizing.Reference()
		if t.day, t.dayUp, err = label.Label(context.Background(), day); err == nil {
			t.train, t.trainUp, err = label.Label(context.Background(), train)
		}
		return t, err
	})
	w.runs.Make, w.runs.Run = w.draw, w.play
	return w
}

// draw draws the jobs of a seed.
func (w *world) draw(seed uint64) (*drawn, error) {
	t, err := w.load()
	if err != nil {
		return nil, err
	}
	d := &drawn{classifiers: map[string]func() (trained, error){}}
	if d.batch, err = (synth.Resampling{Jobs: w.jobs, Arrivals: synth.Respread{How: "batch"}}).Apply(t.day, seed); err != nil {
		return nil, err
	}
	for _, how := range []string{even, plain, both} {
		d.classifiers[how] = sync.OnceValues(func() (trained, error) { return w.learn(t, seed, how) })
	}
	d.online, err = synth.Resampling{Jobs: w.jobs, Arrivals: w.online}.Apply(t.day, seed)
	return d, err
}

// halves divides the jobs of the training trace at random: one half trains, the other judges.
func (t *traces) halves(seed uint64) (train, judge []int) {
	order := rand.New(rand.NewPCG(seed, 0x68616c76)).Perm(len(t.train))
	return order[:len(order)/2], order[len(order)/2:]
}

// learn trains a classifier.
func (w *world) learn(t *traces, seed uint64, how string) (trained, error) {
	pick, _ := t.halves(seed)
	if how == plain {
		pick = pick[:min(w.examples, len(pick))]
	}
	jobs, up := t.some(pick)
	var bare []bool
	if how == both {
		var err error
		if bare, err = sizing.Reference().Unshuffled(context.Background(), jobs); err != nil {
			return trained{}, err
		}
	}
	c, best, err := classify.Train(sizing.Examples(jobs, up, bare), classify.Training{Grid: sizing.Coarse(), Examples: w.examples, Seed: seed})
	return trained{c, best.Accuracy}, err
}

// some are some jobs of the training trace, with their labels.
func (t *traces) some(pick []int) (jobs workload.Slice, up []bool) {
	for _, k := range pick {
		jobs, up = append(jobs, t.train[k]), append(up, t.trainUp[k])
	}
	return jobs, up
}

// trained is a classifier with its cross-validated accuracy.
type trained struct {
	*classify.SVM
	folds float64
}

// Training sets: as many jobs of every magnitude; a plain sample; and, as "yardmaster size" has it, the first with each job also without its shuffle. Fit
// is no classifier at all.
const even, plain, both, fit = "even", "plain", "both", "fit"

// variant is a cluster with a scheduler.
type variant struct {
	spec   string // of the scheduler
	hybrid bool   // the cluster has scale-up machines
	placed bool   // blocks are placed for them
	how    string // training set of the classifier; "": even
}

// variants by name: the source's six, those of the ablations, and the policy as it is shipped.
var variants = map[string]variant{
	"fs": {spec: "fair"}, "ds": {spec: "delay"},
	"fs-with": full("base=fair"), "ds-with": full("base=delay"),
	"fs-without": {spec: "fair", hybrid: true}, "ds-without": {spec: "delay", hybrid: true},
	"no-p": full("classify=no"), "no-js": full("steal=no"), "no-dps": {spec: printed("steal=full"), hybrid: true},
	"idle": full("steal=idle"), "idle-no-dps": {spec: printed("steal=idle"), hybrid: true},
	"default": {"hybrid", true, true, fit},
}

// printed is the scheduler as the source prints it.
func printed(settings string) string { return "hybrid:help=no,spill=no," + settings }

// full is Hybrid with both strategies.
func full(settings string) variant {
	return variant{spec: printed(settings), hybrid: true, placed: true}
}

func init() {
	for _, e := range errorsOfShuffle {
		variants["error/"+e] = full("error=" + e)
	}
}

// errorsOfShuffle are the signed errors of HY-T.
var errorsOfShuffle = []string{"-1", "-0.6", "-0.3", "-0.1", "0", "0.1", "0.3", "0.6", "1"}

// recurring is the share of jobs whose shuffle is known.
const recurring = 0.5

// Networks: the machines have 10 Gbit/s.
func network(name string) *cluster.Network {
	n := &cluster.Network{Topology: cluster.Racks, Node: 10e9 / 8, Uplink: 30e9 / 8}
	if name != "" {
		n.Uplink, n.Oversubscription = 0, 5
	}
	return n
}

// cluster builds the cluster of a variant.
func (w *world) cluster(v variant, net string) *cluster.Cluster {
	scaleUp, scaleOut := sizing.Machines()
	up, out := sizing.Rack{Machine: scaleUp, Machines: w.ups}, sizing.Rack{Machine: scaleOut, Machines: w.machines}
	if v.hybrid {
		return sizing.Build(up, out, 1, w.racks-1, network(net))
	}
	return sizing.Build(up, out, 0, w.racks, network(net))
}

// scheduler makes the scheduler of a variant.
func (d *drawn) scheduler(v variant, seed uint64) (func() (policy.Policy, error), error) {
	spec, err := policy.ParseSpec(v.spec)
	if err != nil || spec.Name != hybrid.Entry.Name {
		return func() (policy.Policy, error) { return all.Policies.New(spec) }, err
	}
	o, err := hybrid.Read(spec.Params)
	if err != nil {
		return nil, err
	}
	if v.how != fit {
		o.Classifier, err = d.classifiers[cmp.Or(v.how, even)]()
	}
	o.Recurring, o.Seed = recurring, seed
	return func() (policy.Policy, error) { return hybrid.New(o) }, err
}

// play runs a variant.
func (w *world) play(ctx context.Context, seed uint64, d *drawn, of playing) (x.Metrics, error) {
	v, jobs := variants[of.variant], d.online
	if of.batch {
		jobs = d.batch
	}
	fresh, err := d.scheduler(v, seed)
	if err != nil {
		return nil, err
	}
	o, order := outcome{}, (*hybrid.Order)(nil)
	model := sim.Model{Heartbeat: unit.Second, Replicas: 3, Placement: hdfs.Default, Sample: unit.Hour}
	if v.placed {
		model.Placement = hdfs.Hybrid
	}
	sum, err := run.Play(ctx, &run.Spec{
		Cluster: w.cluster(v, of.net), Workload: run.Jobs(jobs), Seed: seed, Model: model, NoAlone: true, Sink: &o,
		NewWorker: func() (sim.Worker, error) { return transfer.New(transfer.Options{}), nil },
		Scheduler: run.Scheduler{Name: v.spec, New: func() (policy.Policy, error) {
			p, err := fresh()
			order, _ = p.Order.(*hybrid.Order)
			return p, err
		}},
	})
	if err == nil && sum.Finished != int64(len(jobs)) {
		err = fmt.Errorf("%s: %d of %d jobs finished", of.variant, sum.Finished, len(jobs))
	}
	if err != nil {
		return nil, err
	}
	m := o.figures()
	m["makespan"], m["cross-rack"] = (sum.LastFinish - sum.FirstSubmit).Seconds(), sum.Traffic.CrossRack/1e12
	if order != nil {
		c := order.Counts()
		m["stolen"], m["jobs-up"] = float64(c.Stolen), float64(c.Up)
	}
	return m, nil
}

// plays are runs of variants, whose figures are named variant/figure.
func (w *world) plays(batch bool, net string, names ...string) x.Runner {
	of := map[string]playing{}
	for _, name := range names {
		of[name+"/"] = playing{name, batch, net}
	}
	return func(ctx context.Context, seed uint64) (x.Metrics, error) {
		d, err := w.runs.Workload(seed)
		if err != nil {
			return nil, err
		}
		m, err := w.runs.Get(ctx, seed, of)
		if err != nil {
			return nil, err
		}
		m.Add("jobs/", w.about(d.batch))
		return m, nil
	}
}

// fastest is how many times as fast the source's scale-up machines run a task, at best.
const fastest = 1 / 0.3

// about are figures of a seed's jobs: the work of those that run faster on scale-out machines, and what it takes there at best; and what all work takes on
// all containers of a traditional cluster, and of a hybrid one all of whose scale-up machines are always busy at full speed.
func (w *world) about(jobs workload.Slice) x.Metrics {
	var work [2]float64
	n := 0.0
	for _, j := range jobs {
		side := 0
		if j.Class == hybrid.Up.String() {
			side, n = 1, n+1
		}
		work[side] += j.Work()
	}
	out, rack, up := float64((w.racks-1)*w.machines*outContainers), float64(w.machines*outContainers), float64(w.ups*upContainers)
	all := work[0] + work[1]
	return x.Metrics{
		"small": n / float64(len(jobs)), "large-work": work[0] / all, "bound": work[0] / out,
		"traditional": all / (out + rack), "capacity": all / (out + up*fastest),
	}
}

// outcome collects the jobs of a run.
type outcome struct{ jobs []ended }

type ended struct {
	finish, elapsed float64
	input           unit.Bytes
	small           bool
	near            [4]int64
}

// Job implements sim.Sink.
func (o *outcome) Job(r *sim.JobRecord) {
	o.jobs = append(o.jobs, ended{r.Finish.Seconds(), (r.Finish - r.Job.Submit).Seconds(), r.Job.Stages[0].Input, r.Job.Class == hybrid.Up.String(), r.Near})
}

// Sample implements sim.Sink.
func (*outcome) Sample(*sim.Sample) {}

// percentiles are the points of a distribution.
var percentiles = []int{5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99}

// marks are the elapsed times, in seconds, for which the share of jobs that take no longer is counted.
var marks = []float64{10, 100, 1000}

// figures are those of the jobs: elapsed times and, by side, the end of the last.
func (o *outcome) figures() x.Metrics {
	m := x.Metrics{}
	of := func(at string, jobs []ended) {
		if len(jobs) == 0 {
			return
		}
		sum, last := 0.0, 0.0
		for _, j := range jobs {
			sum, last = sum+j.elapsed, max(last, j.finish)
		}
		m["mean"+at], m["last"+at] = sum/float64(len(jobs)), last
	}
	slices.SortStableFunc(o.jobs, func(a, b ended) int { return cmp.Compare(b.input, a.input) })
	huge := max(1, len(o.jobs)/100)
	var bySide [2][]ended
	var times []float64
	var near [2][4]int64
	for _, j := range o.jobs {
		side := 0
		if j.small {
			side = 1
		}
		bySide[side], times = append(bySide[side], j), append(times, j.elapsed)
		for k, n := range j.near {
			near[side][k] += n
		}
	}
	of("", o.jobs)
	of("/large", bySide[0])
	of("/small", bySide[1])
	of("/huge", o.jobs[:huge])
	for _, p := range percentiles {
		m["p"+strconv.Itoa(p)] = result.Quantile(times, float64(p)/100)
	}
	for _, mark := range marks {
		n := 0.0
		for _, t := range times {
			if t <= mark {
				n++
			}
		}
		m[fmt.Sprint("within/", mark)] = n / float64(len(times))
	}
	m["median"] = m["p50"]
	for side, name := range []string{"local/large", "local/small"} {
		if all := near[side][policy.NodeLocal] + near[side][policy.RackLocal] + near[side][policy.OffRack]; all > 0 {
			m[name] = float64(near[side][policy.NodeLocal]) / float64(all)
		}
	}
	return m
}

// judge are the figures of a classifier on jobs.
func judge(m x.Metrics, at string, c classify.Classifier, seed uint64, jobs workload.Slice, up []bool) {
	var known, unknown, half, strange classify.Confusion
	o := hybrid.Options{Recurring: recurring, Seed: seed}
	for i, e := range sizing.Examples(jobs, up, nil) {
		one, other := c.Decision(e.Features) > 0, c.Decision(e.Unpredicted()) > 0
		known.Add(e, one)
		unknown.Add(e, other)
		if o.Recurs(jobs[i].ID) {
			half.Add(e, one)
		} else {
			half.Add(e, other)
			strange.Add(e, other)
		}
	}
	for name, c := range map[string]*classify.Confusion{"known": &known, "unknown": &unknown, "half": &half, "new": &strange} {
		m[at+name+"/accuracy"] = c.Accuracy()
		m[at+name+"/large-as-small"], m[at+name+"/small-as-large"] = float64(c.OutAsUp), float64(c.UpAsOut)
		m[at+name+"/large"], m[at+name+"/misplaced"] = float64(c.OutAsUp+c.OutAsOut), c.MisplacedWork()
	}
	m[at+"majority"] = math.Max(float64(known.UpAsUp+known.UpAsOut), float64(known.OutAsUp+known.OutAsOut)) / float64(len(jobs))
}

// classifies judges the classifier of a seed on jobs that it was not trained on: the other half of its trace, and the other trace.
func (w *world) classifies(seed uint64, hows ...string) (x.Metrics, error) {
	t, err := w.load()
	if err != nil {
		return nil, err
	}
	d, err := w.runs.Workload(seed)
	if err != nil {
		return nil, err
	}
	m := x.Metrics{}
	_, rest := t.halves(seed)
	jobs, up := t.some(rest)
	for _, how := range hows {
		c, err := d.classifiers[how]()
		if err != nil {
			return nil, err
		}
		m[how+"/folds"] = c.folds
		judge(m, how+"/held-out/", c, seed, jobs, up)
		judge(m, how+"/other/", c, seed, t.day, t.dayUp)
	}
	return m, nil
}
