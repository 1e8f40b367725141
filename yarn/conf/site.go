package conf

import (
	"io"

	"github.com/yardmaster/yardmaster/unit"
)

// Site is what a yarn-site.xml tells the schedulers, and how often the parts of the cluster communicate.
type Site struct {
	MinAllocation, MaxAllocation unit.Resources
	Increment                    unit.Resources // FairScheduler: step that sizes are rounded to
	MaxApplicationPriority       int            // yarn.cluster.max-application-priority
	NodeHeartbeat                unit.Time      // yarn.resourcemanager.nodemanagers.heartbeat-interval-ms

	Monitor    bool // yarn.resourcemanager.scheduler.monitor.enable: preemption between queues of the CapacityScheduler
	Preemption Preemption
	Fair       FairSite
}

// Preemption holds yarn.resourcemanager.monitor.capacity.preemption.*: see ProportionalCapacityPreemptionPolicy.
type Preemption struct {
	ObserveOnly        bool
	Interval           unit.Time // monitoring_interval
	WaitBeforeKill     unit.Time // max_wait_before_kill
	PerRound           float32   // total_preemption_per_round
	IgnoredOver        float64   // max_ignored_over_capacity
	NaturalTermination float64   // natural_termination_factor
}

// FairSite holds yarn.scheduler.fair.*.
type FairSite struct {
	UpdateInterval      unit.Time
	AssignMultiple      bool
	DynamicMaxAssign    bool
	MaxAssign           int // -1: any number
	SizeBasedWeight     bool
	ReservableNodes     float64
	NodeThreshold       float64 // locality.threshold.node; -1: off
	RackThreshold       float64
	Preemption          bool
	PreemptionThreshold float64 // preemption.cluster-utilization-threshold
	WaitBeforeKill      unit.Time
	WaitBeforeNextCheck unit.Time
	ReservationMultiple float64 // yarn.scheduler.reservation-threshold.increment-multiple
}

// DefaultSite is an empty yarn-site.xml.
func DefaultSite() Site {
	return Site{
		MinAllocation: unit.Resources{Mem: 1024, Cores: 1}, MaxAllocation: unit.Resources{Mem: 8192, Cores: 4},
		Increment: unit.Resources{Mem: 1024, Cores: 1}, NodeHeartbeat: unit.Second,
		Preemption: Preemption{
			Interval: 3 * unit.Second, WaitBeforeKill: 15 * unit.Second, PerRound: 0.1, IgnoredOver: 0.1, NaturalTermination: 0.2,
		},
		Fair: FairSite{
			UpdateInterval: 500 * unit.Millisecond, DynamicMaxAssign: true, MaxAssign: -1, ReservableNodes: 0.05,
			NodeThreshold: -1, RackThreshold: -1, PreemptionThreshold: 0.8,
			WaitBeforeKill: 15 * unit.Second, WaitBeforeNextCheck: 10 * unit.Second, ReservationMultiple: 2,
		},
	}
}

// ReadSite parses a yarn-site.xml. The name is used in errors.
func ReadSite(r io.Reader, name string) (Site, error) {
	props, err := ReadProperties(r, name)
	if err != nil {
		return Site{}, err
	}
	return SiteOf(props)
}

// SiteOf takes a site's settings from properties: those of a yarn-site.xml, or of a scheduler's file in which an operator has put them too.
func SiteOf(props *Properties) (Site, error) {
	s := DefaultSite()
	v := values{props, nil}
	amount := func(name string, into *int64) {
		*into = int64(v.whole(name, int(*into), 1))
	}
	amount("yarn.scheduler.minimum-allocation-mb", &s.MinAllocation.Mem)
	amount("yarn.scheduler.minimum-allocation-vcores", &s.MinAllocation.Cores)
	amount("yarn.scheduler.maximum-allocation-mb", &s.MaxAllocation.Mem)
	amount("yarn.scheduler.maximum-allocation-vcores", &s.MaxAllocation.Cores)
	amount("yarn.scheduler.increment-allocation-mb", &s.Increment.Mem)
	amount("yarn.scheduler.increment-allocation-vcores", &s.Increment.Cores)
	s.MaxApplicationPriority = v.whole("yarn.cluster.max-application-priority", 0, 0)
	v.millis("yarn.resourcemanager.nodemanagers.heartbeat-interval-ms", &s.NodeHeartbeat)

	s.Monitor = v.truth("yarn.resourcemanager.scheduler.monitor.enable", false)
	const pre = "yarn.resourcemanager.monitor.capacity.preemption."
	p := &s.Preemption
	p.ObserveOnly = v.truth(pre+"observe_only", false)
	v.millis(pre+"monitoring_interval", &p.Interval)
	v.millis(pre+"max_wait_before_kill", &p.WaitBeforeKill)
	p.PerRound = v.number(pre+"total_preemption_per_round", p.PerRound, 0, 1)
	v.double(pre+"max_ignored_over_capacity", &p.IgnoredOver, 0, 1e6)
	v.double(pre+"natural_termination_factor", &p.NaturalTermination, 0, 1)

	const fair = "yarn.scheduler.fair."
	f := &s.Fair
	v.millis(fair+"update-interval-ms", &f.UpdateInterval)
	f.AssignMultiple = v.truth(fair+"assignmultiple", false)
	f.DynamicMaxAssign = v.truth(fair+"dynamic.max.assign", true)
	f.MaxAssign = v.whole(fair+"max.assign", -1, -1)
	f.SizeBasedWeight = v.truth(fair+"sizebasedweight", false)
	v.double(fair+"reservable-nodes", &f.ReservableNodes, 0, 1)
	v.double(fair+"locality.threshold.node", &f.NodeThreshold, -1, 1)
	v.double(fair+"locality.threshold.rack", &f.RackThreshold, -1, 1)
	f.Preemption = v.truth(fair+"preemption", false)
	v.double(fair+"preemption.cluster-utilization-threshold", &f.PreemptionThreshold, 0, 1)
	v.millis(fair+"waitTimeBeforeKill", &f.WaitBeforeKill)
	v.millis(fair+"waitTimeBeforeNextStarvationCheck", &f.WaitBeforeNextCheck)
	v.double("yarn.scheduler.reservation-threshold.increment-multiple", &f.ReservationMultiple, 0, 1e6)
	return s, v.err
}

func (v *values) millis(name string, into *unit.Time) {
	*into = unit.Time(v.whole(name, int(*into/unit.Millisecond), 0)) * unit.Millisecond
}
