package nas

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/all"
	"github.com/yardmaster/yardmaster/policy/shuffle"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/am"
	"github.com/yardmaster/yardmaster/sim/transfer"
	x "github.com/yardmaster/yardmaster/studies/experiment"
	"github.com/yardmaster/yardmaster/studies/experiment/facebook"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/swim"
	"github.com/yardmaster/yardmaster/workload/synth"
)

// setting is a cluster with its jobs.
type setting struct {
	source   facebook.Source
	cluster  string // nodes x containers / racks
	network  string
	reduces  int64 // max of a job: the containers of the cluster
	users    int
	wait     string     // for locality: offers or a time
	capped   string     // how reduces that wait for maps leave room
	short    bool       // tasks as long as under the former reading
	am       string     // application model; "": am.Overlap
	strata   int        // one sample for all seeds: the middle job of so many classes by shuffled bytes; 0: none
	most     unit.Bytes // jobs that shuffle more are left out; 0: none
	resample synth.Resampling
	until    unit.Time // jobs submitted later are left out; 0: none
}

// The cap of reduces as it is read, and as it was.
const byJob, ofCluster = "capped=job", "cap=0.5"

// cloudLab is the source's cluster.
func cloudLab(jobs facebook.Source) setting {
	return setting{
		source: jobs, cluster: "40x16/8", network: "racks:node=1Gbit,uplink=1Gbit", reduces: 640, users: 200, wait: "5s", capped: byJob, strata: 200,
		resample: synth.Resampling{Arrivals: synth.Respread{How: "exponential", Time: 14 * unit.Second}},
	}
}

// fiveHours is the source's simulation, of its first hours.
func fiveHours(jobs facebook.Source) setting {
	return setting{
		source: jobs, cluster: "600x6/30", network: "racks:node=250Mbit,uplink=1Gbit", reduces: 3600, users: 200, wait: "135", capped: byJob, until: 5 * unit.Hour,
	}
}

// fifth is a fifth of the simulation, with its load per node.
func fifth(jobs facebook.Source) setting {
	return setting{
		source: jobs, cluster: "120x6/6", network: "racks:node=250Mbit,uplink=1Gbit", reduces: 720, users: 200, wait: "135", capped: byJob, most: 2e12,
		resample: synth.Resampling{Jobs: 1000, Arrivals: synth.Respread{How: "exponential", Time: unit.FromSeconds(17.7)}},
	}
}

// small needs no trace and takes little time.
func small() setting {
	s := cloudLab(facebook.StandIn(400, 4*unit.GiB))
	s.cluster, s.network, s.reduces, s.wait = "8x4/4", "racks:node=200Mbit,uplink=100Mbit", 32, "30"
	s.strata, s.short, s.resample.Jobs, s.resample.Arrivals.Time = 0, true, 80, 6*unit.Second
	return s
}

// congested is the load from which a rack's uplink is congested.
const congested = 0.8

// block is the input of one map.
const block = 128 * unit.MiB

// jobs are the jobs of a seed.
func (s *setting) jobs(seed uint64) (workload.Slice, error) {
	m := swim.Default()
	m.Block, m.ReduceCap, m.Users, m.Seed = block, s.reduces, s.users, seed
	if !s.short {
		facebook.Replayed(&m)
	}
	jobs, err := s.source(m)
	if err != nil {
		return nil, err
	}
	jobs = slices.DeleteFunc(slices.Clone(jobs), func(j *workload.Job) bool {
		return s.until > 0 && j.Submit >= s.until || s.most > 0 && shuffled(j) > s.most
	})
	if s.strata > 0 {
		jobs, seed = middles(jobs, s.strata), 1
	}
	if jobs, err = s.resample.Apply(jobs, seed); err != nil {
		return nil, err
	}
	for i, j := range jobs {
		jobs[i] = spread(j)
	}
	return jobs, nil
}

// middles is the middle job of each of n equal classes of jobs, by shuffled bytes.
func middles(jobs workload.Slice, n int) (picked workload.Slice) {
	slices.SortStableFunc(jobs, func(a, b *workload.Job) int { return cmp.Compare(shuffled(a), shuffled(b)) })
	for i := range n {
		picked = append(picked, jobs[(2*i+1)*len(jobs)/(2*n)])
	}
	return picked
}

// spread gives a job that reads nothing as many maps as its output needs: the five largest shuffle up to 1.8 TB, and a single map would send
// that from one node.
func spread(j *workload.Job) *workload.Job {
	bytes := shuffled(j)
	if j.Stages[0].Input > 0 || bytes <= block {
		return j
	}
	c := *j
	c.Stages = slices.Clone(j.Stages)
	first := &c.Stages[0]
	first.Tasks = int64((bytes + block - 1) / block)
	first.Length.Work = bytes / unit.Bytes(first.Tasks)
	return &c
}

// shuffled are the bytes that a job shuffles.
func shuffled(j *workload.Job) unit.Bytes {
	if len(j.Stages) < 2 {
		return 0
	}
	return j.Stages[1].After[0].Shuffle
}

// under runs the jobs under schedulers, by the prefix of their figures.
func (s setting) under(schedulers map[string]string) x.Runner {
	return together(func(run func(prefix string, s setting, spec string)) {
		for prefix, spec := range schedulers {
			run(prefix, s, spec)
		}
	})
}

// together are the runs that a function asks for.
func together(all func(run func(prefix string, s setting, spec string))) x.Runner {
	return func(ctx context.Context, seed uint64) (m x.Metrics, err error) {
		m = x.Metrics{}
		all(func(prefix string, s setting, spec string) {
			if err == nil {
				err = s.play(ctx, seed, spec, prefix, m)
			}
		})
		return m, err
	}
}

// play runs the jobs under a scheduler and adds its figures.
func (s *setting) play(ctx context.Context, seed uint64, scheduler, prefix string, m x.Metrics) error {
	jobs, err := s.jobs(seed)
	if err != nil {
		return err
	}
	c, err := cluster.Parse(s.cluster)
	if err != nil {
		return err
	}
	if c.Network, err = cluster.ParseNetwork(s.network); err != nil {
		return err
	}
	fresh, _, err := all.Load(all.Policies, strings.NewReplacer("WAIT", s.wait, "CAP", s.capped).Replace(scheduler))
	if err != nil {
		return err
	}
	w, t := transfer.New(transfer.Options{Congested: congested}), &times{arrival: jobs[len(jobs)-1].Submit, of: map[string]*class{"": {}}}
	var meter *shuffle.Meter
	sum, err := run.Play(ctx, &run.Spec{
		Cluster: c, Workload: run.Jobs(jobs), Seed: seed, NoAlone: true, Sink: t, Model: sim.Model{Replicas: 3, Heartbeat: unit.Second, Application: cmp.Or(s.am, am.Overlap), Sample: unit.Hour},
		NewWorker: func() (sim.Worker, error) { return w, nil },
		Scheduler: run.Scheduler{New: func() (policy.Policy, error) {
			p, err := fresh()
			if err == nil {
				p, meter, err = shuffle.Watch(p)
			}
			if err == nil {
				meter.Uplinks(w, len(c.Racks), congested)
			}
			return p, err
		}},
	})
	if err != nil || sum.Finished != int64(len(jobs)) {
		return fmt.Errorf("%s: %d of %d jobs finished: %w", scheduler, sum.Finished, len(jobs), err)
	}
	t.figures(m, prefix)
	hours := sum.LastFinish.Seconds() / 3600
	events, share := meter.Congestion()
	for name, v := range map[string]float64{
		"idle": sum.Traffic.Waited.Seconds() / sum.Busy.Seconds(), "uplinks": sum.Traffic.Uplinks, "lost": float64(sum.Lost), "hours": hours, "cross": sum.Traffic.CrossRack / 1e12, "read": sum.Traffic.Read / 1e12, "crossings": float64(sum.Traffic.Congested),
		"events": float64(events), "congested": share * hours * float64(len(c.Racks)), "progress": sum.Traffic.Ready / max(1, sum.Traffic.Readers), "over": meter.OverThreshold(),
	} {
		m[prefix+name] = v
	}
	s.bound(jobs, float64(len(c.Racks)), m, prefix)
	return nil
}

// bound adds what a run needs at least if maps and reduces are spread evenly over the racks, each of which sends and receives one gigabit a
// second: bytes between racks, and hours, for all shuffles, for all work in all containers and for the job that can end last.
func (s *setting) bound(jobs workload.Slice, racks float64, m x.Metrics, prefix string) {
	var network, work, last, bytes float64
	for _, j := range jobs {
		work += j.Work()
		b := float64(shuffled(j))
		needs := b * 8 / 1e9 * (racks - 1) / racks / racks
		network += needs
		bytes += b
		if b > 0 {
			last = max(last, j.Submit.Seconds()+needs+j.Stages[0].Length.Draw(0, 0).Seconds()+j.Stages[1].Length.Draw(0, 0).Seconds())
		}
	}
	last = max(last, jobs[len(jobs)-1].Submit.Seconds())
	work /= float64(s.reduces) // the containers
	m[prefix+"shuffle"], m[prefix+"network"], m[prefix+"containers"] = bytes/1e12, network/3600, work/3600
	m[prefix+"bound"] = max(network, work, last) / 3600
	m[prefix+"room"] = m[prefix+"hours"] / m[prefix+"bound"]
}

// times collects the completion times of jobs.
type times struct {
	arrival unit.Time // of the last job
	done    int       // by then
	of      map[string]*class
}

// class are the jobs of a class; "": all.
type class struct {
	jobs     int
	sum      float64
	finished float64 // the last one
}

// Job implements sim.Sink.
func (t *times) Job(r *sim.JobRecord) {
	if r.Finish <= t.arrival {
		t.done++
	}
	for _, name := range []string{"", r.Job.Class} {
		c := t.of[name]
		if c == nil {
			c = &class{}
			t.of[name] = c
		}
		c.jobs++
		c.sum += (r.Finish - r.Job.Submit).Seconds()
		c.finished = max(c.finished, r.Finish.Seconds())
	}
}

// Sample implements sim.Sink.
func (*times) Sample(*sim.Sample) {}

// figures are mean completion time and throughput, of all jobs and by class, and the share of jobs done when the last one arrives.
func (t *times) figures(m x.Metrics, prefix string) {
	for name, c := range t.of {
		if name != "" {
			name = "/" + name
		}
		m[prefix+"jct"+name], m[prefix+"throughput"+name] = c.sum/float64(c.jobs), float64(c.jobs)/c.finished*3600
	}
	m[prefix+"done"] = float64(t.done) / float64(t.of[""].jobs)
}
