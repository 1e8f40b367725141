package defaults

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"strings"
	"sync"
	"text/template"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/internal/yamlfile"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/plan"
	"github.com/yardmaster/yardmaster/policy/planned"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/scenario"
	"github.com/yardmaster/yardmaster/sim/hdfs"
	x "github.com/yardmaster/yardmaster/studies/experiment"
	"github.com/yardmaster/yardmaster/studies/experiment/facebook"
	"github.com/yardmaster/yardmaster/whatif/sizing"
)

//go:embed study.yaml
var studyFile []byte

//go:embed scenarios.yaml
var scenarioFile []byte

//go:embed sections.tmpl
var story string

// texts are the texts of the study.
var texts = sync.OnceValue(func() *x.Texts { return yamlfile.Decode[x.Texts](studyFile) })

// trial is an experiment: a scenario, and the schedulers that run it.
type trial struct {
	Scenario   string            `yaml:"scenario"`   // FB-2010 is the trace's file
	Schedulers map[string]string `yaml:"schedulers"` // by the name of their figures; plan is one of the seed's jobs
	// Machines of a cluster of scale-out machines that hybrid schedulers replace by scale-up machines of the same price: racks, machines in each, scale-up machines.
	Machines []int `yaml:"machines"`
}

var trials = sync.OnceValue(func() map[string]trial { return *yamlfile.Decode[map[string]trial](scenarioFile) })

// Study is the study as data. Experiments of FB-2010 need the trace.
func Study() *x.Study {
	runs := map[string]x.Runner{}
	for id, t := range trials() {
		runs[id] = t.run
	}
	return texts().With(runs, nil, sections)
}

// run runs a seed under every scheduler.
func (t trial) run(ctx context.Context, seed uint64) (x.Metrics, error) {
	text := t.Scenario
	if strings.Contains(text, facebook.FB2010) {
		path, err := facebook.Path(facebook.FB2010)
		if err != nil {
			return nil, err
		}
		text = strings.ReplaceAll(text, facebook.FB2010, path)
	}
	m := x.Metrics{}
	for name, spec := range t.Schedulers {
		s, err := scenario.Parse("scenario", []byte(text))
		if err != nil {
			return nil, err
		}
		if s.Seed, s.Schedulers = seed, []string{spec}; spec == byPlan {
			s.Schedulers = []string{"fifo"} // a scenario has one
		}
		setup, err := s.Resolve()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", spec, err)
		}
		if err := t.play(ctx, setup, name, spec, m); err != nil {
			return nil, fmt.Errorf("%s: %w", spec, err)
		}
	}
	return m, nil
}

// byPlan is the scheduler that runs a plan.
const byPlan = "plan"

// play runs a seed under a scheduler and adds its figures.
func (t *trial) play(ctx context.Context, setup *scenario.Setup, name, spec string, m x.Metrics) error {
	one := setup.Spec
	one.Seed, one.Scheduler, one.NoAlone = setup.Scenario.Seed, setup.Schedulers[0], true
	if len(t.Machines) > 0 {
		hybrid := strings.HasPrefix(spec, "hybrid")
		if one.Cluster, one.Model.Placement = t.machines(hybrid), hdfs.Default; hybrid {
			one.Model.Placement = hdfs.Hybrid
		}
	}
	if spec == byPlan {
		jobs, err := one.Workload.Read(one.Seed)
		if err != nil {
			return err
		}
		p, err := plan.New(ctx, plan.Of(one.Cluster, cluster.Unit), plan.Forecast(jobs, one.Model.StartUp, plan.Errors{}), plan.Settings{Planner: plan.JobPacker, Online: true, Seed: one.Seed})
		if err != nil {
			return err
		}
		one.Scheduler = run.Scheduler{Name: byPlan, New: func() (policy.Policy, error) { return planned.New(p), nil }}
		m["load"], _ = p.UplinkLoad()
	}
	r, err := run.Result(ctx, one)
	if err != nil {
		return err
	}
	if r.Jobs.Finished < r.Jobs.Submitted {
		return fmt.Errorf("%d of %d jobs finished", r.Jobs.Finished, r.Jobs.Submitted)
	}
	e := r.Metrics.Elapsed
	maps.Copy(m, x.Metrics{name + "/throughput": r.Throughput(), name + "/mean": e.Mean, name + "/median": e.Median, name + "/p95": e.P95, name + "/lost": float64(r.Tasks.Lost)})
	if n := r.Traffic; n != nil {
		m[name+"/uplinks"], m[name+"/idle"] = n.UplinkLoad, n.ReduceIdle
	}
	return nil
}

// machines is the cluster of a scheduler: plain racks, or a rack of scale-up machines in place of one.
func (t *trial) machines(hybrid bool) *cluster.Cluster {
	one, other := sizing.Machines()
	up, out, racks := sizing.Rack{Machine: one, Machines: t.Machines[2]}, sizing.Rack{Machine: other, Machines: t.Machines[1]}, t.Machines[0]
	if hybrid {
		return sizing.Build(up, out, 1, racks-1, nil)
	}
	return sizing.Build(up, out, 0, racks, nil)
}

// order is how schedulers are listed.
var order = []string{"fair", "delay", "capacity", "former", "shipped", "whole"}

// sections are the study's own tables.
func sections(r *x.Runs) []x.Section {
	return x.Story(story, r, template.FuncMap{
		"schedulers": func(id string) (names []string) {
			for _, name := range order {
				if trials()[id].Schedulers[name] != "" {
					names = append(names, name)
				}
			}
			return names
		},
		"spec": func(id, name string) string { return trials()[id].Schedulers[name] },
		"ids": func(prefix string) (ids []string) {
			for _, e := range texts().Experiments {
				if strings.HasPrefix(e.ID, prefix) {
					ids = append(ids, e.ID)
				}
			}
			return ids
		},
		"heading": texts().Heading,
		"percent": func(v float64) string { return x.Number(100*v) + " %" },
	})
}
