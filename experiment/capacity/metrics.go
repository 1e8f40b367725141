package capacity

import (
	"math"

	"github.com/yardmaster/yardmaster/experiment"
)

// metrics are the figures of one run. Times are in seconds, shares in percent.
//
//	makespan/q1             when all jobs of the queue have finished, from instant 0
//	wait, exec, elapsed, map, reduce, ratio
//	  wait/5, wait/5/q1     means over the jobs of a class (a type, or a program), in all queues or in one
//	  wait/short            of all short jobs of the mix, or all long ones
//	  wait/q1/Sort          of one job, by its ID; of the mix exec only
//	rack-local/5, .../q1    share of maps without a copy of their block on the node, mean over jobs

// delayed, delayed/5, ... jobs that met delayed map execution: their number; by class, their share of the jobs
// paired/ID, paired       whether a reduce of the job shared its node with another job's; their share of all jobs
// at-once/q1              most jobs of the queue that executed at one time
// occupancy               mean time that a map holds its slot
// stragglers              maps that took more than twice the median of their job's
func (tr *trace) metrics() experiment.Metrics {
	m := means{}
	out := experiment.Metrics{}
	paired, delayed := tr.paired(), tr.delayed()
	var pairs, delays float64
	for _, p := range tr.jobs {
		queue := p.job.Queue
		groups := []string{p.job.Class}
		t, ofMix := typeOf(p.job)
		if ofMix {
			groups = append(groups, map[bool]string{true: "long", false: "short"}[long(t)])
		}
		for name, v := range map[string]float64{
			"wait":       p.waiting().Seconds(),
			"exec":       p.execution().Seconds(),
			"elapsed":    p.elapsed().Seconds(),
			"map":        p.mapTime().Seconds(),
			"reduce":     p.reduceTime().Seconds(),
			"ratio":      p.responseRatio(),
			"rack-local": 100 * p.rackLocal(),
			"delayed":    100 * one(delayed[p]),
		} {
			for _, group := range groups {
				m.add(name+"/"+group, v)
				m.add(name+"/"+group+"/"+queue, v)
			}
			if name == "exec" || !ofMix { // a hundred jobs, eight figures each, are more than anybody asks for
				out[name+"/"+p.job.ID] = v
			}
		}
		if !ofMix {
			out["paired/"+p.job.ID] = 100 * one(paired[p])
		}
		pairs += one(paired[p])
		delays += one(delayed[p])
		out["makespan/"+queue] = math.Max(out["makespan/"+queue], p.finish.Seconds())
		out["makespan"] = math.Max(out["makespan"], p.finish.Seconds())
		if name := "at-once/" + queue; out[name] == 0 {
			out[name] = float64(tr.atOnce(queue))
		}
		for _, task := range p.maps {
			m.add("occupancy", (task.end - task.start).Seconds())
			m.add("occupancy/"+p.job.Class, (task.end - task.start).Seconds())
		}
		for _, task := range p.reduces {
			name := "reduce-alone"
			if paired[p] {
				name = "reduce-paired"
			}
			m.add(name, (task.end - task.start).Seconds())
		}
	}
	out["delayed"] = delays
	out["paired"] = 100 * pairs / float64(len(tr.jobs))
	out["stragglers"] = float64(tr.stragglers())
	for name, s := range m {
		out[name] = s.sum / float64(s.n)
	}
	return out
}

// means gathers values by name. The jobs come in order, so a sum does not depend on how a map is walked.
type means map[string]*struct {
	sum float64
	n   int
}

func (m means) add(name string, v float64) {
	s := m[name]
	if s == nil {
		s = &struct {
			sum float64
			n   int
		}{}
		m[name] = s
	}
	s.sum += v
	s.n++
}

func one(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
