package capacity

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/yardmaster/yardmaster/internal/yamlfile"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/capacity1"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/mapreduce"
	"github.com/yardmaster/yardmaster/studies/experiment"
	"github.com/yardmaster/yardmaster/workload"
)

//go:embed study.yaml
var studyFile []byte

// texts are the texts of the study.
var texts = sync.OnceValue(func() *experiment.Texts {
	t := yamlfile.Decode[experiment.Texts](studyFile)
	for i, m := range []machines{studyCluster, sensitivityCluster} {
		t.Calibrated[i] = fmt.Sprintf(t.Calibrated[i], m.slowDisk)
	}
	return t
})

// Study is the study as data.
func Study() *experiment.Study {
	s := texts().Study
	s.Experiments, s.Probes, s.Checks, s.Sections = experiments(), probes, texts().Judged(ownJudges()), sections
	return &s
}

// probes cover every cluster, every submission pattern, every setting where it has an effect, and every queue order.
var probes = []string{
	"S02", "S05", "S08", "S11", "S12", "S13", "S15", "V1-MULP", "V1-MSJ", "E01", "E12", "E14", "E22", "E30", "V2-Q2a", "E09e", "E25m", "V1-Q2s",
}

// setup is one experiment: machines, settings and work.
type setup struct {
	on       machines
	settings settings
	jobs     workload.Slice
	then     map[string]*workload.Job                      // follow-up jobs by the ID of their predecessor
	policy   func(capacity1.Config) (policy.Policy, error) // nil: the scheduler as written
}

// config converts the settings for the scheduler.
func (s settings) config() capacity1.Config {
	c := capacity1.Config{MaxSystemJobs: s.systemJobs, PollInterval: poll}
	for i, share := range s.capacity {
		q := capacity1.Queue{
			Name: "q" + strconv.Itoa(i+1), Capacity: share,
			MinimumUserLimitPercent: s.userLimitPercent(), UserLimitFactor: s.userLimitFactor(), SupportsPriority: s.priority,
			MaxActiveTasks: s.activeTasks, MaxActiveTasksPerUser: s.activeOfOne,
		}
		if s.capped {
			q.MaxCapacity = share
		}
		c.Queues = append(c.Queues, q)
	}
	return c
}

// model is the phase model on the machines.
func (m machines) model() mapreduce.Model {
	p := mapreduce.MRPERF2010()
	p.Machine.Hertz, p.Machine.Cores = m.hertz, m.cores
	p.Machine.Disk.Read /= m.slowDisk
	p.Machine.Disk.Write /= m.slowDisk
	return p
}

func (s setup) play(ctx context.Context, seed uint64) (*trace, error) {
	newPolicy := s.policy
	if newPolicy == nil {
		newPolicy = capacity1.New
	}
	rec := newRecorder()
	_, err := run.Play(ctx, &run.Spec{
		Cluster:   s.on.cluster(),
		Workload:  run.Jobs(s.jobs),
		Scheduler: run.Scheduler{New: func() (policy.Policy, error) { return newPolicy(s.settings.config()) }},
		Model:     sim.Model{Heartbeat: heartbeat, Replicas: replication},
		Seed:      seed,
		Sink:      rec,
		NoAlone:   true,
		NewWorker: func() (sim.Worker, error) { return mapreduce.New(s.on.model()) },
		Follow: func(r *sim.JobRecord) []*workload.Job {
			if j := s.then[r.Job.ID]; j != nil {
				return []*workload.Job{j}
			}
			return nil
		},
	})
	if err != nil {
		return nil, err
	}
	t := rec.trace()
	if len(t.refused) > 0 {
		return nil, errors.New("not all jobs finished: " + strings.Join(t.refused, "; "))
	}
	return t, nil
}

func (s setup) run(ctx context.Context, seed uint64) (experiment.Metrics, error) {
	t, err := s.play(ctx, seed)
	if err != nil {
		return nil, err
	}
	return t.metrics(), nil
}
