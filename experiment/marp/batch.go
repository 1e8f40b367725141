package marp

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/capacity"
	"github.com/yardmaster/yardmaster/policy/fair"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/am"
	"github.com/yardmaster/yardmaster/sim/mapreduce"
	"github.com/yardmaster/yardmaster/steer"
	control "github.com/yardmaster/yardmaster/steer/marp"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// Scheduler is what lets masters start.
type Scheduler uint8

// The schedulers.
const (
	// Fair is the Fair Scheduler of Hadoop 2, whose file is polled.
	Fair Scheduler = iota
	// Capacity is the Capacity Scheduler, which takes a new share at once.
	Capacity
	// Fair3 is Fair by the rule of Hadoop 3.
	Fair3
)

func (s Scheduler) String() string {
	return [...]string{"Fair Scheduler", "Capacity Scheduler", "Fair Scheduler of Hadoop 3"}[s]
}

// Rule is the arithmetic by which it lets masters start.
func (s Scheduler) Rule() steer.AMLimit {
	return [...]steer.AMLimit{steer.FairV2AM, steer.CapacityAM, steer.FairAM}[s]
}

// Delays are the times until a changed share is in force.
func (s Scheduler) Delays() steer.Delays {
	if s == Capacity {
		return steer.AtOnce()
	}
	return steer.FairFile()
}

// perBeat is how many containers a node gets in one heartbeat by default: the Fair Scheduler gives one (assignmultiple is off), the
// Capacity Scheduler of Hadoop 3 as many as there is room for.
func (s Scheduler) perBeat() int {
	if s == Capacity {
		return 0
	}
	return 1
}

// Queue is the one queue of a batch.
const Queue = "root.default"

// Batch is a set of jobs that are submitted together, and the cluster, the scheduler and the controller that they meet.
type Batch struct {
	Nodes     int
	Node      unit.Resources // that each node offers to containers
	Model     mapreduce.Model
	Jobs      workload.Slice
	Scheduler Scheduler
	Delays    *steer.Delays // nil: those of the scheduler
	// Share is the share for masters that the scheduler is configured with.
	Share float64
	Least unit.Resources // the Capacity Scheduler's minimum allocation; zero: 1024 MB and a core
	// Controller is one of steer/marp's by its name; "": the share stays. Settings are its settings; Settings.Seed is set for each run.
	Controller string
	Settings   control.Settings
	// Steerer, if set, makes the steering policy instead.
	Steerer func() steer.Steerer
}

// Play runs the batch once. Equal seeds give equal outcomes, and meet jobs with the same noise.
func (b *Batch) Play(ctx context.Context, seed uint64) (*Outcome, error) {
	worker, err := mapreduce.New(b.Model)
	if err != nil {
		return nil, err
	}
	inner, err := b.steerer(seed)
	if err != nil {
		return nil, err
	}
	delays := b.Scheduler.Delays()
	if b.Delays != nil {
		delays = *b.Delays
	}
	rec := newRecorder(b, worker, inner)
	sum, err := sim.Run(ctx, sim.Config{
		Cluster: b.cluster(), Source: b.Jobs.Source(), NewPolicy: b.policy, Seed: seed, Sink: rec, NoAlone: true, Worker: worker,
		// The study was calibrated with reduces that are asked for once every map has a container.
		Model:   sim.Model{Heartbeat: unit.Second, PerBeat: b.Scheduler.perBeat(), Application: am.MapsFirst},
		Steerer: rec, Delays: delays,
	})
	if err != nil {
		return nil, err
	}
	if sum.Partial {
		return nil, context.Cause(ctx)
	}
	return rec.outcome(&sum)
}

func (b *Batch) steerer(seed uint64) (steer.Steerer, error) {
	if b.Steerer != nil {
		return b.Steerer(), nil
	}
	if b.Controller == "" {
		return nil, nil //nolint:nilnil // nobody steers
	}
	s := b.Settings
	s.Seed = seed
	return control.New(b.Controller, s)
}

func (b *Batch) cluster() *cluster.Cluster {
	return cluster.Uniform(b.Nodes, 1, b.Node)
}

func (b *Batch) policy() (policy.Policy, error) {
	share := strconv.FormatFloat(b.Share, 'f', -1, 64)
	if b.Scheduler != Capacity {
		file, err := conf.ReadFair(strings.NewReader(
			`<allocations><queue name="default"><maxAMShare>`+share+`</maxAMShare></queue>`+
				`<queuePlacementPolicy><rule name="default" queue="default"/></queuePlacementPolicy></allocations>`), "fair-scheduler.xml")
		if err != nil {
			return policy.Policy{}, err
		}
		if b.Scheduler == Fair3 {
			return fair.FromConf(file)
		}
		return fair.FromConfV2(file)
	}
	var xml strings.Builder
	xml.WriteString("<configuration>")
	for _, p := range [][2]string{
		{"root.queues", "default"}, {"root.default.capacity", "100"}, {"root.default.maximum-am-resource-percent", share},
	} {
		fmt.Fprintf(&xml, "<property><name>%s%s</name><value>%s</value></property>", conf.Prefix, p[0], p[1])
	}
	xml.WriteString("</configuration>")
	file, err := conf.ReadCapacity(strings.NewReader(xml.String()), "capacity-scheduler.xml")
	if err != nil {
		return policy.Policy{}, err
	}
	least := b.Least
	if least.IsZero() {
		least = unit.Resources{Mem: 1024, Cores: 1}
	}
	return capacity.New(file, capacity.MinAllocation(least))
}

// Check says what is wrong with a batch, without playing it.
func (b *Batch) Check() error {
	switch {
	case b.Nodes < 1 || b.Node.Mem < 1 || b.Node.Cores < 1:
		return errors.New("a batch needs nodes with memory and cores")
	case len(b.Jobs) == 0:
		return errors.New("a batch needs jobs")
	case !(b.Share > 0 && b.Share <= 1):
		return fmt.Errorf("a share of %v for masters: it lies between 0 and 1", b.Share)
	}
	return b.Model.Validate()
}
