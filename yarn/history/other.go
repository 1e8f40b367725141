package history

import (
	"fmt"
	"math"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// other makes a job of what the ResourceManager knows of an application of any kind: how long it ran, and how many memory-seconds and
// vcore-seconds it held. They become containers that hold exactly these totals, see containers; one of them, held from launch to end, is its
// ApplicationMaster (AM), unless the application is unmanaged or held less than that. It returns nil for one that held nothing.
func (b *builder) other(a *app) *workload.Job {
	begin := a.Launch
	if !a.launched() {
		begin = a.Started
	}
	ran := float64(a.Finished-begin) / 1000
	if a.Started <= 0 || ran <= 0 || a.MemorySeconds <= 0 || a.CoreSeconds <= 0 {
		return nil
	}
	j := &workload.Job{
		ID: a.ID, Name: b.names.job(a.Name), User: b.names.user(a.User), Queue: b.names.queue(a.Queue), Class: "other",
		Submit: unit.Time(a.Started) * unit.Millisecond, Priority: int(a.Priority),
	}
	if !a.Running {
		j.Observed = observed(j.Submit, unit.Time(a.Finished)*unit.Millisecond, a.Status)
	}
	all := held{mem: float64(a.MemorySeconds), cores: float64(a.CoreSeconds), ran: ran}
	step := float64(b.step())
	if !a.Unmanaged {
		am := unit.Resources{Mem: int64(step * max(math.Round(all.mem/all.cores/step), 1)), Cores: 1}
		rest := all
		rest.mem, rest.cores = all.mem-float64(am.Mem)*ran, all.cores-ran
		if j.Stages = b.containers(a.Type, rest, step); j.Stages != nil {
			j.AM = am
		}
	}
	if j.Stages == nil {
		j.Stages = b.containers(a.Type, all, step)
	}
	if j.Stages == nil { // the cluster's settings do not allow such sizes: it had other settings then
		j.Stages = b.containers(a.Type, all, 1)
	}
	if j.Stages == nil || j.Validate() != nil {
		return nil
	}
	return j
}

// launched says whether it is known when the application got its first container. The ResourceManager tells it of AMs that it has started itself; of unmanaged ones,
// and of containers that have ended, it keeps nothing.
func (a *app) launched() bool { return a.Launch > 0 && a.Launch <= a.Finished }

// step is the unit to which the scheduler rounds the memory of containers.
func (b *builder) step() int64 {
	if b.fair {
		return max(b.site.Increment.Mem, 1)
	}
	return max(b.site.MinAllocation.Mem, 1)
}

// held is what an application held, in MiB-seconds and vcore-seconds, and how long it ran.
type held struct{ mem, cores, ran float64 }

// containers makes stages that hold h. Containers of one size cannot hold arbitrary memory-seconds and vcore-seconds: memory comes in
// steps. So there are up to two sizes, neighbours: of one vcore and k or k+1 steps or, if there is less than a step per vcore, of
// one step and k or k+1 vcores. It returns nil if that needs containers
// larger than the cluster allows.
func (b *builder) containers(kind string, h held, step float64) []workload.Stage {
	if h.mem <= 0 || h.cores <= 0 {
		return nil
	}
	var sizes [2]unit.Resources
	var seconds [2]float64
	if steps := h.mem / step; steps >= h.cores {
		k := math.Floor(steps / h.cores)
		seconds[1] = steps - k*h.cores
		seconds[0] = h.cores - seconds[1]
		sizes = [2]unit.Resources{{Mem: int64(k * step), Cores: 1}, {Mem: int64((k + 1) * step), Cores: 1}}
	} else {
		k := math.Floor(h.cores / steps)
		seconds[1] = h.cores - k*steps
		seconds[0] = steps - seconds[1]
		sizes = [2]unit.Resources{{Mem: int64(step), Cores: int64(k)}, {Mem: int64(step), Cores: int64(k + 1)}}
	}
	var stages []workload.Stage
	for i, s := range seconds {
		if s < 1e-6 { // rounding
			continue
		}
		if limit := b.site.MaxAllocation; step > 1 && (sizes[i].Mem > limit.Mem || sizes[i].Cores > limit.Cores) {
			return nil
		}
		tasks, length := spread(s, h.ran)
		name := fmt.Sprintf("%s containers", kind)
		if len(stages) > 0 {
			name = fmt.Sprintf("%s larger containers", kind)
		}
		stages = append(stages, workload.Stage{Name: name, Kind: workload.Other, Tasks: tasks, Ask: sizes[i], Length: length})
	}
	return stages
}

// fewContainers have each a length of its own.
const fewContainers = 1000

// spread computes how many containers hold some seconds within a run, and for how long: all of the run, except one that
// holds the remainder. If there are many, each holds a little less.
func spread(seconds, ran float64) (int64, workload.Lengths) {
	ran = min(ran, workload.MaxLength.Seconds())
	n := math.Ceil(seconds / ran)
	if n == 1 || n > fewContainers {
		return int64(n), workload.Fixed(unit.FromSeconds(seconds / n))
	}
	values := make([]unit.Time, int(n))
	for i := range values {
		values[i] = unit.FromSeconds(ran)
	}
	values[len(values)-1] = unit.FromSeconds(seconds - (n-1)*ran)
	return int64(n), workload.Lengths{Kind: workload.List, Values: values}
}

// siteOf takes the cluster's limits from its settings; Hadoop's defaults where they cannot be read.
func siteOf(p *conf.Properties) conf.Site {
	if p != nil {
		if s, err := conf.SiteOf(p); err == nil {
			return s
		}
	}
	return conf.DefaultSite()
}
