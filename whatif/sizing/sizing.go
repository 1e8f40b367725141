package sizing

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/internal/svm"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/hybrid"
	"github.com/yardmaster/yardmaster/policy/hybrid/classify"
	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/hdfs"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Rack is a rack of like machines.
type Rack struct {
	Machine  cluster.Node
	Machines int
}

// Cost is the price of the rack.
func (r *Rack) Cost() float64 { return float64(r.Machines) * r.Machine.Cost }

// Racks finds the racks to buy in a description of a cluster: the first rack of scale-up machines, and the first rack of others.
func Racks(c *cluster.Cluster) (up, out Rack, err error) {
	if c.Slots {
		return up, out, errors.New("machines with fixed slots are not supported")
	}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		r := &out
		if n.Kind == cluster.ScaleUp {
			r = &up
		}
		if r.Machines == 0 {
			r.Machine = *n
		}
		if n.Rack == r.Machine.Rack {
			if n.Room != r.Machine.Room || n.Cost != r.Machine.Cost || n.Kind != r.Machine.Kind || n.NIC != r.Machine.NIC ||
				n.Storage != r.Machine.Storage || !reflect.DeepEqual(n.Speed, r.Machine.Speed) {
				return up, out, fmt.Errorf("rack %s has several kinds of machines: describe racks of one kind", c.Racks[n.Rack])
			}
			r.Machines++
		}
	}
	if up.Machines == 0 || out.Machines == 0 {
		return up, out, fmt.Errorf("the cluster file describes no %s: it needs a group of kind: %s and one of another kind, each with its cost", [...]string{"scale-up machines", "other machines"}[min(1, up.Machines)], cluster.ScaleUp)
	}
	if !(up.Machine.Cost > 0 && out.Machine.Cost > 0) {
		return up, out, errors.New("the cluster file has no cost: of its machines: give one to each group, in any currency")
	}
	return up, out, nil
}

// Build makes a cluster of racks.
func Build(up, out Rack, upRacks, outRacks int, network *cluster.Network) *cluster.Cluster {
	c := &cluster.Cluster{Network: network}
	add := func(r Rack, racks int, name string) {
		for k := range racks {
			for i := range r.Machines {
				n := r.Machine
				n.Rack, n.Name = len(c.Racks), name+strconv.Itoa(k*r.Machines+i+1)
				c.Nodes = append(c.Nodes, n)
			}
			c.Racks = append(c.Racks, name+"-rack"+strconv.Itoa(k+1))
		}
	}
	add(out, outRacks, "out")
	add(up, upRacks, "up")
	return c
}

// Metric is a figure of a run, in seconds; NaN: the run has none.
type Metric struct {
	Name, Title string
	of          func(*result.Run) float64
}

// Metrics are those that can be minimised.
var Metrics = []Metric{
	{"mean", "mean elapsed time", func(r *result.Run) float64 { return r.Metrics.Elapsed.Mean }},
	{"median", "median elapsed time", func(r *result.Run) float64 { return r.Metrics.Elapsed.Median }},
	{"p95", "95th-percentile elapsed time", func(r *result.Run) float64 { return r.Metrics.Elapsed.P95 }},
	{"makespan", "makespan", func(r *result.Run) float64 { return r.Makespan }},
	{"small", "mean elapsed time of small jobs", func(r *result.Run) float64 { return meanOf(r, hybrid.Up) }},
	{"large", "mean elapsed time of large jobs", func(r *result.Run) float64 { return meanOf(r, hybrid.Out) }},
}

// meanOf is the mean elapsed time of the jobs that run faster on one side.
func meanOf(r *result.Run, side hybrid.Side) float64 {
	for _, g := range r.ByClass {
		if g.Name == side.String() {
			return g.Elapsed.Mean
		}
	}
	return math.NaN()
}

// Names are the names of the metrics.
func Names() (names []string) {
	for _, m := range Metrics {
		names = append(names, m.Name)
	}
	return names
}

// FindMetric finds a metric by name.
func FindMetric(name string) (Metric, error) {
	if k := slices.Index(Names(), name); k >= 0 {
		return Metrics[k], nil
	}
	return Metric{}, fmt.Errorf("%q is none of %s", name, strings.Join(Names(), ", "))
}

// Plan is a question.
type Plan struct {
	Spec    run.Spec // without a cluster and a scheduler
	Up, Out Rack
	Network *cluster.Network
	Budget  float64
	Max     int // scale-up racks to try; 0: as many as a third of the budget buys
	Options hybrid.Options
	Train   bool // train a classifier on the workload, unless Options has one; otherwise small is what fits the scale-up machines
	// Placed keeps the placement of the model's blocks; otherwise clusters with scale-up machines have that of hdfs.Hybrid.
	Placed  bool
	By      Metric
	Seeds   []uint64
	Workers int // 0: as many as there are processors
	// Progress, if set, is called with the share of the runs that is done.
	Progress func(done float64)
}

// Row is one way to spend the budget.
type Row struct {
	UpRacks     int     `json:"scale_up_racks"`
	OutRacks    int     `json:"scale_out_racks"`
	UpMachines  int     `json:"scale_up_machines"`
	OutMachines int     `json:"scale_out_machines"`
	Cost        float64 `json:"cost"`
	Cores       int64   `json:"cores"`
	// Values are by name of metric, then by seed; Changes are relative to the first row.
	Values  map[string][]float64         `json:"values"`
	Changes map[string]result.Difference `json:"changes"`
	// Jobs by the side they were classified for, and stolen: means over the seeds.
	UpJobs  float64 `json:"scale_up_jobs"`
	OutJobs float64 `json:"scale_out_jobs"`
	Stolen  float64 `json:"stolen_jobs"`
	// Stored is the max of what a scale-up machine stores if every job has its own input; Fits is false if that is more than it has room for.
	Stored   unit.Bytes `json:"stored_bytes_per_scale_up_machine"`
	Fits     bool       `json:"storage_fits"`
	Finished bool       `json:"finished"` // all jobs, with all seeds
}

// Answer is the result of a plan.
type Answer struct {
	Metric string  `json:"metric"`
	Budget float64 `json:"budget"`
	Rows   []Row   `json:"rows"`
	Best   int     `json:"best"` // index into Rows
	// Base are the changes, by metric, from the base scheduler on all machines of the best row to hybrid there; nil: the best row has no scale-up machines.
	Base       map[string]result.Difference `json:"hybrid_against_base,omitempty"`
	Sentence   string                       `json:"answer"`
	Jobs       int64                        `json:"jobs"`
	SmallJobs  int64                        `json:"small_jobs"` // of those: faster on scale-up machines
	LargeWork  float64                      `json:"large_work"` // share of all work that is of other jobs
	Input      unit.Bytes                   `json:"input_bytes"`
	Classifier *Learned                     `json:"classifier,omitempty"` // nil: none was trained
	Seeds      []uint64                     `json:"seeds"`
	Assumed    []string                     `json:"assumptions"`
	Partial    bool                         `json:"partial,omitempty"`
}

// maxRows bounds the mixes that are tried.
const maxRows = 1000

// mixes are the affordable numbers of racks.
func (p *Plan) mixes() (rows []Row, err error) {
	if n := max(p.Budget/p.Up.Machine.Cost, p.Budget/p.Out.Machine.Cost); !(n <= cluster.MaxNodes) {
		return nil, fmt.Errorf("a budget of %.4g buys %.4g machines; the limit is %d", p.Budget, n, cluster.MaxNodes)
	}
	most := p.Max
	if most <= 0 {
		most = max(1, int(p.Budget/3/p.Up.Cost()))
	}
	for up := 0; up <= min(most, maxRows); up++ {
		out := int((p.Budget - float64(up)*p.Up.Cost()) / p.Out.Cost())
		if out < 1 {
			break
		}
		rows = append(rows, Row{
			UpRacks: up, OutRacks: out, UpMachines: up * p.Up.Machines, OutMachines: out * p.Out.Machines,
			Cost:  float64(up)*p.Up.Cost() + float64(out)*p.Out.Cost(),
			Cores: int64(up*p.Up.Machines)*p.Up.Machine.Room.Cores + int64(out*p.Out.Machines)*p.Out.Machine.Room.Cores,
		})
	}
	if len(rows) < 2 {
		return nil, fmt.Errorf("a budget of %.0f does not buy a rack of each kind: they cost %.0f (scale-up) and %.0f", p.Budget, p.Up.Cost(), p.Out.Cost())
	}
	return rows, nil
}

// Coarse is the grid of the search: every 16th of the whole one.
func Coarse() []svm.Params { return svm.Grid([2]int{-5, 15}, [2]int{-15, 3}, 4) }

// set is the jobs of a seed.
type set struct {
	jobs workload.Slice // labelled
	up   []bool
}

// Run answers a plan. When ctx ends, it returns what there is, with Partial set.
func Run(ctx context.Context, p Plan) (*Answer, error) {
	rows, err := p.mixes()
	if err != nil {
		return nil, err
	}
	if len(p.Seeds) == 0 {
		return nil, errors.New("size: needs at least one seed")
	}
	machines := max(1, int(math.Round(p.Up.Machine.Cost/p.Out.Machine.Cost)))
	label, err := NewLabeller(p.Up.Machine, p.Out.Machine, machines, p.Spec.Model, p.Seeds[0])
	if err != nil {
		return nil, err
	}
	a := &Answer{Metric: p.By.Title, Budget: p.Budget, Rows: rows, Seeds: p.Seeds, Assumed: []string{
		"small jobs: those that take less time alone on " + label.About,
	}}
	sets := make([]set, len(p.Seeds))
	for i, seed := range p.Seeds {
		if i > 0 && !p.Spec.Workload.Drawn {
			sets[i] = sets[0]
		} else if sets[i], err = p.read(ctx, seed, label); err != nil {
			return nil, err
		}
	}
	if err := p.learn(ctx, a, label, sets[0]); err != nil {
		return nil, err
	}
	if err := p.simulate(ctx, a, sets); err != nil {
		return nil, err
	}
	a.choose(&p)
	if err := p.against(ctx, a, sets); err != nil {
		return nil, err
	}
	a.phrase(&p)
	return a, nil
}

// read reads and labels the jobs of a seed.
func (p *Plan) read(ctx context.Context, seed uint64, label *Labeller) (s set, err error) {
	jobs, err := p.Spec.Workload.Read(seed)
	if err == nil && len(jobs) == 0 {
		err = fmt.Errorf("workload %s holds no jobs", p.Spec.Workload.Title)
	}
	if err != nil {
		return s, err
	}
	s.jobs, s.up, err = label.Label(ctx, jobs)
	return s, err
}

// learn sums up the jobs, and trains the classifier if there is to be one.
func (p *Plan) learn(ctx context.Context, a *Answer, label *Labeller, s set) error {
	a.Jobs = int64(len(s.jobs))
	all := 0.0
	for i, j := range s.jobs {
		work := j.Work()
		if all += work; s.up[i] {
			a.SmallJobs++
		} else {
			a.LargeWork += work
		}
		for k := range j.Stages {
			a.Input += j.Stages[k].Input
		}
	}
	a.LargeWork /= max(all, 1)
	if p.Options.Classifier != nil || !p.Train {
		return nil
	}
	bare, err := label.Unshuffled(ctx, s.jobs)
	if err != nil {
		return err
	}
	l, err := Learn(s.jobs, s.up, bare, classify.Training{Grid: Coarse(), Examples: 600, Seed: p.Seeds[0], About: p.Spec.Workload.Title + ", " + label.About})
	if err != nil {
		return err
	}
	a.Classifier, p.Options.Classifier = l, l
	a.Assumed = append(a.Assumed, fmt.Sprintf("classifier: a support vector machine, trained on up to 600 of these jobs; C %.4g, gamma %.4g", l.C, l.Gamma))
	return nil
}

// simulate runs every mix with every seed.
func (p *Plan) simulate(ctx context.Context, a *Answer, sets []set) error {
	n := len(p.Seeds)
	for i := range a.Rows {
		r := &a.Rows[i]
		spec := p.spec(r)
		c := Build(p.Up, p.Out, r.UpRacks, r.OutRacks, p.Network) // built again for its runs: all mixes at once may be large
		if err := c.Validate(); err != nil {
			return err
		}
		if spec.Model.Placement != p.Spec.Model.Placement && r.UpRacks == 1 {
			a.Assumed = append(a.Assumed, "with scale-up machines, two replicas of each block are on two machines of a scale-out rack and one on a scale-up machine")
		}
		if err := p.store(a, r, c, &spec.Model); err != nil {
			return err
		}
	}
	runs, counts, err := p.playAll(ctx, a.Rows, p.Options, sets, p.Progress)
	if err != nil {
		return err
	}
	for i := range a.Rows {
		if slices.Contains(runs[i*n:(i+1)*n], nil) {
			a.Rows, a.Partial = a.Rows[:i], true
			break
		}
		a.Rows[i].fill(runs[i*n:(i+1)*n], counts[i*n:(i+1)*n], a.Rows[0].Values)
	}
	if len(a.Rows) == 0 {
		return errors.New("stopped before one mix of racks was simulated")
	}
	return nil
}

// playAll runs rows with every seed, several runs at once. The runs of the i-th row are those from i times the number of seeds on; one that was
// stopped is nil.
func (p *Plan) playAll(ctx context.Context, rows []Row, options hybrid.Options, sets []set, progress func(done float64)) (runs []*result.Run, counts []hybrid.Counts, failed error) {
	n := len(p.Seeds)
	runs, counts = make([]*result.Run, len(rows)*n), make([]hybrid.Counts, len(rows)*n)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var mu sync.Mutex
	done := 0
	run.Each(ctx, len(runs), p.Workers, func(i int) {
		got, count, err := p.play(ctx, &rows[i/n], options, p.Seeds[i%n], sets[i%n])
		mu.Lock()
		defer mu.Unlock()
		if done++; err != nil {
			failed = errors.Join(failed, err)
			stop()
		} else if !got.Partial {
			runs[i], counts[i] = got.Run, count
		}
		if progress != nil {
			progress(float64(done) / float64(len(runs)))
		}
	})
	return runs, counts, failed
}

// spec is what the runs of a row share.
func (p *Plan) spec(r *Row) run.Spec {
	s := p.Spec
	s.NoAlone = true
	if r.UpRacks > 0 && s.Model.Replicas > 0 && !p.Placed {
		s.Model.Placement = hdfs.Hybrid
	}
	return s
}

// play is one run of a row.
func (p *Plan) play(ctx context.Context, r *Row, options hybrid.Options, seed uint64, jobs set) (*run.Record, hybrid.Counts, error) {
	s := p.spec(r)
	s.Cluster = Build(p.Up, p.Out, r.UpRacks, r.OutRacks, p.Network)
	s.Seed, s.Workload = seed, run.Jobs(jobs.jobs)
	var order *hybrid.Order
	s.Scheduler = run.Scheduler{Name: hybrid.Entry.Name, New: func() (policy.Policy, error) {
		made, err := hybrid.New(options)
		order, _ = made.Order.(*hybrid.Order)
		return made, err
	}}
	got, err := run.Result(ctx, s)
	if err != nil {
		return nil, hybrid.Counts{}, fmt.Errorf("%d scale-up racks, seed %d: %w", r.UpRacks, s.Seed, err)
	}
	if order == nil {
		return got, hybrid.Counts{}, nil
	}
	return got, order.Counts(), nil
}

// fill computes the figures of a row. base has those of the first row; nil: this is the first.
func (r *Row) fill(runs []*result.Run, counts []hybrid.Counts, base map[string][]float64) {
	r.Values, r.Changes, r.Finished = map[string][]float64{}, map[string]result.Difference{}, true
	for _, m := range Metrics {
		for _, run := range runs {
			if v := m.of(run); !math.IsNaN(v) {
				r.Values[m.Name] = append(r.Values[m.Name], v)
			}
		}
		if base != nil && len(base[m.Name]) == len(r.Values[m.Name]) {
			r.Changes[m.Name] = result.Paired(base[m.Name], r.Values[m.Name])
		}
	}
	for i, run := range runs {
		r.Finished = r.Finished && run.Jobs.Finished == run.Jobs.Submitted
		n := float64(len(runs))
		r.UpJobs, r.OutJobs, r.Stolen = r.UpJobs+float64(counts[i].Up)/n, r.OutJobs+float64(counts[i].Out)/n, r.Stolen+float64(counts[i].Stolen)/n
	}
}

// Value is the mean over the seeds of a metric; NaN: there is none.
func (r *Row) Value(metric string) float64 {
	if v := r.Values[metric]; len(v) > 0 {
		return result.Mean(v).Mean
	}
	return math.NaN()
}

// blocks is the number of blocks placed to estimate where bytes are.
const blocks = 4096

// store computes what a scale-up machine stores.
func (p *Plan) store(a *Answer, r *Row, c *cluster.Cluster, m *sim.Model) error {
	r.Fits = true
	if r.UpRacks == 0 || m.Replicas == 0 {
		return nil
	}
	share, err := ScaleUpShare(c, m)
	if err != nil {
		return err
	}
	r.Stored = unit.Bytes(float64(a.Input) * share * float64(m.Replicas) / float64(r.UpMachines))
	r.Fits = p.Up.Machine.Storage == 0 || r.Stored <= p.Up.Machine.Storage
	return nil
}

// ScaleUpShare is the share of stored bytes that is on scale-up machines.
func ScaleUpShare(c *cluster.Cluster, m *sim.Model) (float64, error) {
	files, err := hdfs.NewFiles(c, nil, m.Replicas, m.Placement, 1)
	if err != nil {
		return 0, err
	}
	up, all := 0, 0
	var buf []int32
	for b := range int64(blocks) {
		buf = files.Place(hdfs.Blocks{Count: blocks, Replicas: m.Replicas}, b, buf)
		all += len(buf)
		for _, n := range buf {
			if c.Nodes[n].Kind == cluster.ScaleUp {
				up++
			}
		}
	}
	return float64(up) / float64(all), nil
}
