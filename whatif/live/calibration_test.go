package live

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	rmall "github.com/yardmaster/yardmaster/policy/rm/all"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/yarn"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

const capacityFile = `<configuration>
<property><name>yarn.scheduler.capacity.root.queues</name><value>prod,adhoc</value></property>
<property><name>yarn.scheduler.capacity.root.prod.capacity</name><value>60</value></property>
<property><name>yarn.scheduler.capacity.root.prod.maximum-capacity</name><value>90</value></property>
<property><name>yarn.scheduler.capacity.root.adhoc.capacity</name><value>40</value></property>
<property><name>yarn.scheduler.capacity.root.adhoc.user-limit-factor</name><value>2</value></property>
<property><name>yarn.scheduler.capacity.maximum-am-resource-percent</name><value>0.2</value></property>
<property><name>yarn.scheduler.capacity.root.prod.user-limit-factor</name><value>3</value></property>
</configuration>`

const fairFile = `<allocations><queue name="prod"><weight>2</weight></queue><queue name="adhoc"><maxAMShare>0.3</maxAMShare></queue></allocations>`

func schedulerOf(t testing.TB, file string) run.Scheduler {
	t.Helper()
	fresh, err := rmall.Read("scheduler.xml", []byte(file), conf.DefaultSite())
	if err != nil {
		t.Fatal(err)
	}
	return run.Scheduler{Name: "scheduler.xml", RM: fresh}
}

// generated is a day of jobs: families that come again with other sizes and lengths, MapReduce, plain and unmanaged, in two queues.
func generated(seed uint64, hours, load float64, containers int) workload.Slice {
	r := rand.New(rand.NewPCG(seed, 1))
	normal := func(sigma float64) float64 { return math.Exp(sigma*r.NormFloat64() - sigma*sigma/2) }
	type kind struct {
		name, user, queue string
		tasks, length     float64
		reduces           bool
		managed           bool
	}
	var kinds []kind
	for i := range 24 {
		k := kind{name: fmt.Sprintf("job-%c", 'a'+i), user: fmt.Sprintf("u%d", i%7), queue: "adhoc", tasks: 4 * math.Pow(1-r.Float64(), -1/1.1), length: 15 + 60*r.ExpFloat64(), managed: i%5 != 0}
		if i%3 == 0 {
			k.queue = "prod"
		}
		k.reduces = k.managed && i%2 == 0
		kinds = append(kinds, k)
	}
	var jobs workload.Slice
	gb := unit.Resources{Mem: 1024, Cores: 1}
	for at, i := 0.0, 0; at < 3600*hours; i++ {
		k := &kinds[r.IntN(len(kinds))]
		tasks := int64(min(max(1, k.tasks*normal(0.5)), 400))
		length := k.length * normal(0.4) // of this job
		j := &workload.Job{ID: fmt.Sprintf("application_1_%04d", i+1), Name: fmt.Sprintf("%s-%d", k.name, i), User: k.user, Queue: k.queue, Submit: unit.FromSeconds(at)}
		if k.managed {
			j.AM = gb
		}
		stage := func(n int64, length float64, kind workload.Kind) workload.Stage {
			s := workload.Stage{Kind: kind, Tasks: n, Ask: gb, Length: workload.Lengths{Kind: workload.List}}
			for range n {
				s.Length.Values = append(s.Length.Values, unit.FromSeconds(max(1, length*normal(0.5))))
			}
			return s
		}
		j.Stages = []workload.Stage{stage(tasks, length, workload.Map)}
		work := float64(tasks) * length
		if k.reduces {
			n := 1 + tasks/8
			j.Stages = append(j.Stages, stage(n, 2*length, workload.Reduce))
			j.Stages[1].After = []workload.Edge{{From: 0, SlowStart: 0.8}}
			work += 2 * float64(n) * length
		}
		jobs = append(jobs, j)
		at += r.ExpFloat64() * work / load / float64(containers)
	}
	return jobs
}

// volume is a job as it is imported if only the ResourceManager knows it.
func volume(r *sim.JobRecord, conts []yarn.ContainerRecord) *workload.Job {
	j := *r.Job
	j.Class = "other"
	work := 0.0
	for _, c := range conts {
		if c.Stage >= 0 {
			work += (c.Freed - c.Allocated).Seconds()
		}
	}
	n := math.Ceil(work / (r.Finish - r.Start).Seconds())
	j.Observed = &workload.Observed{Launch: j.Submit, Finish: r.Finish, Outcome: "SUCCESS"}
	j.Stages = []workload.Stage{{Kind: workload.Other, Tasks: int64(n), Ask: j.Stages[0].Ask, Length: workload.Fixed(unit.FromSeconds(work / n))}}
	return &j
}

// tally counts how often outcomes lie in their intervals.
type tally struct {
	n, in, below int
	at           map[string][2]float64 // by moment
	width        []float64             // relative to the median time to go
}

func (c *tally) add(i Interval, truth, now unit.Time, moment string) {
	c.n++
	if c.at == nil {
		c.at = map[string][2]float64{}
	}
	x := c.at[moment]
	if x[1]++; truth >= i.Low && truth <= i.High {
		x[0]++
	}
	c.at[moment] = x
	if truth < i.Low {
		c.below++
	} else if truth <= i.High {
		c.in++
	}
	c.width = append(c.width, (i.High-i.Low).Seconds()/max(1, (i.Median-now).Seconds()))
}

// mean is the share inside, as the mean over moments.
func (c *tally) mean() (share float64) {
	for _, at := range slices.Sorted(maps.Keys(c.at)) {
		share += c.at[at][0] / c.at[at][1] / float64(len(c.at))
	}
	return share
}

// share is the share inside.
func (c *tally) share() float64 { return float64(c.in) / float64(max(c.n, 1)) }

func (c *tally) String() string {
	if c.n == 0 {
		return "none"
	}
	slices.Sort(c.width)
	return fmt.Sprintf("mean of %d moments %5.1f %%; %4d outcomes, %5.1f %% inside, %4.1f %% earlier, %4.1f %% later, median width %3.0f %% of the time to go", len(c.at), 100*c.mean(), c.n, 100*float64(c.in)/float64(c.n),
		100*float64(c.below)/float64(c.n), 100*float64(c.n-c.in-c.below)/float64(c.n), 100*c.width[len(c.width)/2])
}

// families are applications of six kinds that come again with other sizes and lengths, unmanaged, in three queues of a cluster of 24 containers.
func families(n int, load float64, seed uint64) (jobs workload.Slice) {
	r := rand.New(rand.NewPCG(seed, 17))
	at := 0.0
	for i := range n {
		k := r.IntN(6)
		tasks := max(1, int(float64(2+5*k)*math.Exp(0.4*r.NormFloat64())))
		length := float64(9-k) * math.Exp(0.3*r.NormFloat64())
		s := workload.Stage{Kind: workload.Other, Tasks: int64(tasks), Ask: unit.Resources{Mem: 1024, Cores: 1}, Length: workload.Lengths{Kind: workload.List}}
		work := 0.0
		for range tasks {
			l := length * math.Exp(0.3*r.NormFloat64())
			work += l
			s.Length.Values = append(s.Length.Values, unit.FromSeconds(l))
		}
		jobs = append(jobs, &workload.Job{ID: fmt.Sprint("a", i), Name: fmt.Sprintf("job-%c-%d", 'a'+k, i), User: []string{"ann", "ben"}[k%2],
			Queue: []string{"root.prod", "root.batch", "root.adhoc"}[k%3], Submit: unit.FromSeconds(at), Stages: []workload.Stage{s}})
		at += r.ExpFloat64() * work / 24 / load
	}
	return jobs
}

// coverages are the shares of what happens inside intervals.
type coverages struct{ ends, running, waiting, starts tally }

// ask predicts at moments of a replay of jobs, from those that have ended before, and counts. The intervals are calibrated at the first of them.
func (c *coverages) ask(t *testing.T, v View, jobs workload.Slice, moments []unit.Time, volumes bool, seed uint64) {
	t.Helper()
	played, err := replayed(t.Context(), &v, jobs, len(jobs), seed)
	if err != nil {
		t.Fatal(err)
	}
	var calibration *Calibration
	for _, now := range moments {
		view, seqs := played.viewAt(now, v)
		var before workload.Slice
		for i, j := range jobs {
			if r := played.jobs[int64(i)]; r.Finish >= 0 && r.Finish <= now {
				if volumes {
					j = volume(&r, played.containers[int64(i)])
				}
				before = append(before, j)
			}
		}
		past := Learn(before)
		if calibration == nil {
			if calibration, err = Calibrate(t.Context(), view, past, Options{Seed: seed}); err != nil {
				t.Fatal(err)
			}
			if testing.Verbose() {
				t.Logf("%d earlier jobs: %+v", len(before), *calibration)
			}
		}
		list, err := Predict(t.Context(), view, past, Options{Seed: seed, Calibration: calibration})
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range list {
			r, moment := played.jobs[seqs[i]], fmt.Sprint(seed, now)
			c.ends.add(f.End, r.Finish, now, moment)
			if f.Started {
				c.running.add(f.End, r.Finish, now, moment)
			} else {
				c.waiting.add(f.End, r.Finish, now, moment)
				c.starts.add(f.Start, r.Start, now, moment)
			}
		}
	}
}

// check reports the coverages, and fails if they are not 75 to 85 %, as the mean over moments. Replayed volumes hardly wait, so they teach nothing about starts.
func (c *coverages) check(t *testing.T, name string, volumes bool) {
	t.Helper()
	var b bytes.Buffer
	for _, l := range []struct {
		name string
		*tally
	}{{"end", &c.ends}, {"end, running", &c.running}, {"end, waiting", &c.waiting}, {"start", &c.starts}} {
		fmt.Fprintf(&b, "\n%-9s %-13s %v", name, l.name, l.tally)
	}
	t.Log(b.String())
	if share := c.ends.mean(); share < 0.75 || share > 0.85 {
		t.Errorf("%s: %.1f %% of the ends are inside their intervals of 80 %%", name, 100*share)
	}
	if share := c.starts.share(); !volumes && c.starts.n > 100 && (share < 0.7 || share > 0.9) {
		t.Errorf("%s: %.1f %% of the starts are inside their intervals of 80 %%", name, 100*share)
	}
}

// On generated histories, short ones too, 75 to 85 % of what happens is inside the intervals of 80 %: a history is played, and predictions are made at random
// moments from what a ResourceManager would show then and the jobs that have ended before.
func TestCalibration(t *testing.T) {
	histories := 40 // fewer vary by more than the bar
	if n, err := strconv.Atoi(os.Getenv("YARDMASTER_HISTORIES")); err == nil {
		histories = 40 * n
	}
	for _, s := range []struct {
		name    string
		jobs    int // that have come when it is asked
		volumes bool
	}{{"50 jobs", 50, false}, {"50 volumes", 50, true}, {"150 jobs", 150, false}} {
		var c coverages
		for seed := range uint64(histories) {
			v := View{Cluster: cluster.Uniform(2, 1, unit.Resources{Mem: 12288, Cores: 64}), Scheduler: schedulerOf(t, labFile), Timing: yarn.Hadoop()}
			jobs := families(s.jobs+80, 0.5, seed+2000) // others than those that the rules were chosen on
			var moments []unit.Time
			for k := range 3 {
				moments = append(moments, jobs[s.jobs+10*k].Submit)
			}
			c.ask(t, v, jobs, moments, s.volumes, seed)
		}
		c.check(t, s.name, s.volumes)
	}
}

// The same on days of MapReduce and other jobs, which takes longer. YARDMASTER_HISTORIES=10 measures.
func TestCalibrationOfDays(t *testing.T) {
	histories, err := strconv.Atoi(os.Getenv("YARDMASTER_HISTORIES"))
	if err != nil {
		t.Skip("a measurement: set YARDMASTER_HISTORIES")
	}
	for _, s := range []struct {
		name, file string
		volumes    bool // only that is known of earlier jobs, as of Spark's and Tez's
	}{{"capacity", capacityFile, false}, {"fair", fairFile, false}, {"volumes", capacityFile, true}} {
		var c coverages
		for seed := range uint64(histories) {
			seed += 2000 // others taught how much to widen
			v := View{Cluster: cluster.Uniform(12, 2, unit.Resources{Mem: 8192, Cores: 8}), Scheduler: schedulerOf(t, s.file), Timing: yarn.Hadoop()}
			random := rand.New(rand.NewPCG(seed, 2))
			var moments []unit.Time
			for range 10 {
				moments = append(moments, unit.FromSeconds(3600*(3+3*random.Float64())))
			}
			slices.Sort(moments)
			c.ask(t, v, generated(seed, 9, 0.6, 96), moments, s.volumes, seed)
		}
		c.check(t, s.name, s.volumes)
	}
}
