package steering

import (
	"context"
	"fmt"

	predict "github.com/yardmaster/yardmaster/experiment/marp"
	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/steer/marp"
	"github.com/yardmaster/yardmaster/unit"
)

// seeds of the simulations.
const seeds = 20

// model is the cluster and the jobs for the simulator, as the batches of one job at a time show them; nothing of the other arms is looked at.
//
// The simulator's masters take time to start but no processor, and are gone when their job ends. On this cluster a master takes several
// seconds of a processor and stays some seconds after its job. So all processor time of a job is put on its tasks, in proportion to
// their lengths, and the rest of the time between two jobs is the master's start. What the daemons take all the time is no job's.
type model struct {
	Daemons     float64   // processors that they keep busy
	Map, Reduce float64   // core-seconds of one
	Start       unit.Time // of a master
	fifo        float64   // measured, which Start is set by
}

// calibrate makes the model.
func (f *facts) calibrate(ctx context.Context) (*model, error) {
	list := f.of["fifo"]
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: there is no batch of one job at a time to set the model by", f.scheduler)
	}
	var mapS, reduceS, busy, span float64
	var maps, reduces int
	for _, b := range list {
		for i := range b.Jobs {
			for _, t := range b.Jobs[i].Tasks {
				if d := float64(t.End-t.Start) / 1000; t.Reduce {
					reduceS, reduces = reduceS+d, reduces+1
				} else {
					mapS, maps = mapS+d, maps+1
				}
			}
		}
		busy += b.busy() / float64(len(list)*f.size.Jobs)
		span += b.span() / float64(len(list))
	}
	daemons := between(list)
	busy -= daemons * span / float64(f.size.Jobs)
	mapS, reduceS = mapS/float64(maps), reduceS/float64(reduces)
	scale := busy / (mapS*float64(f.size.Maps) + reduceS*float64(f.size.Reduces))
	m := &model{Daemons: daemons, Map: mapS * scale, Reduce: reduceS * scale, fifo: span}
	without, err := f.predicted(ctx, m, f.armOf("fifo"))
	if err != nil {
		return nil, err
	}
	m.Start = unit.Time(max(0, (span-result.Mean(without).Mean)/float64(f.size.Jobs)) * float64(unit.Second))
	return m, nil
}

func (f *facts) armOf(name string) Arm {
	for _, a := range f.size.arms(true) {
		if a.Name == name {
			return a
		}
	}
	return Arm{}
}

// predicted are the simulated times of a batch under an arm, in seconds.
func (f *facts) predicted(ctx context.Context, m *model, a Arm) ([]float64, error) {
	s := f.size
	p := predict.Prediction{
		Cores: cores, Nodes: s.Nodes, Node: unit.Resources{Mem: int64(s.NodeMB), Cores: int64(s.NodeVcores)}, Share: a.Share, Controller: a.Policy,
		Scheduler: predict.Fair3, Least: unit.Resources{Mem: int64(s.LeastMB), Cores: 1},
	}
	if f.scheduler == "capacity" {
		p.Scheduler = predict.Capacity
	}
	if f.scheduler == "fair" {
		d := steer.FairFile()
		d.Spacing = steer.FileSpacing
		p.Delays = &d
	}
	if a.Policy != "" {
		p.Settings = s.settings(a.Policy, f.scheduler, p.Scheduler.Rule())
	}
	one := unit.Resources{Mem: int64(s.ContainerMB), Cores: 1}
	for range s.Jobs {
		p.Jobs = append(p.Jobs, predict.Work{
			Master: one, Task: one, MasterStart: m.Start, Maps: int64(s.Maps), Reduces: int64(s.Reduces), Input: unit.Bytes(s.Bytes * int64(s.Maps)),
			Shuffle: unit.Bytes(s.Bytes), Output: unit.Bytes(s.Bytes), Map: m.Map, Reduce: m.Reduce,
		})
	}
	var list []uint64
	for i := range seeds {
		list = append(list, uint64(i+1))
	}
	all, err := predict.Predict(ctx, p, list)
	if err != nil {
		return nil, fmt.Errorf("simulating %s: %w", a.Name, err)
	}
	times := make([]float64, len(all))
	for i, o := range all {
		first, last := o.Jobs[0].Submitted, 0.0
		for _, j := range o.Jobs {
			first, last = min(first, j.Submitted), max(last, j.End)
		}
		times[i] = last - first
	}
	return times, nil
}

// settings are a controller's for the simulator: the same numbers that the command is given.
func (s Size) settings(policy, scheduler string, rule steer.AMLimit) marp.Settings {
	d := marp.Defaults(policy, queue).On(rule)
	d.Least = unit.Resources{Mem: int64(s.LeastMB), Cores: 1}
	d.Max = 0.9
	for name, w := range s.waits(policy, scheduler) {
		*map[string]*unit.Time{
			"settle": &d.Settle, "warm": &d.Warm, "lockout": &d.Lockout, "nothing-waits": &d.NothingWaits, "after-increase": &d.AfterIncrease,
		}[name] = unit.Time(w.Microseconds())
	}
	d = d.AsService()
	d.ForceAfter, d.Headroom = 0, false // as the source has it
	return d
}

// cores of the computer that the study was made on.
const cores = 2
