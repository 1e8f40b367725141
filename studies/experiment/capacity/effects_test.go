package capacity

import (
	"testing"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// maker makes traces by hand; times are in seconds.
type maker struct{ t trace }

func (m *maker) job(id, queue string, submit, finish float64) *played {
	p := &played{
		job: &workload.Job{ID: id, Queue: queue, Class: id, Submit: unit.FromSeconds(submit)},
		seq: int64(len(m.t.jobs)), finish: unit.FromSeconds(finish),
	}
	m.t.jobs = append(m.t.jobs, p)
	return p
}

func span(node string, start, end float64) task {
	return task{node: node, start: unit.FromSeconds(start), end: unit.FromSeconds(end)}
}

// maps starts maps of ten seconds at the given instants.
func (p *played) at(starts ...float64) *played {
	for _, s := range starts {
		p.maps = append(p.maps, span("n", s, s+10))
	}
	return p
}

func TestDelayed(t *testing.T) {
	cases := map[string]struct {
		make func(m *maker)
		want map[string]bool
	}{
		"a few maps at once, then nothing until the job ahead has started all": {func(m *maker) {
			m.job("1", "q", 0, 100).at(1, 1, 11, 11, 21, 21, 31, 31, 41, 41)
			m.job("2", "q", 1, 100).at(2, 51, 51, 61)
		}, map[string]bool{"2": true}},
		"plain first in, first out": {func(m *maker) {
			m.job("1", "q", 0, 100).at(1, 1, 11, 11, 21)
			m.job("2", "q", 1, 100).at(21, 31, 31, 41)
		}, nil},
		"both share the queue by the user limit": {func(m *maker) {
			m.job("1", "q", 0, 100).at(1, 11, 21, 31, 41, 51)
			m.job("2", "q", 1, 100).at(1.1, 11, 21, 31, 41, 51)
		}, nil},
		"a slot of its own that turns over": {func(m *maker) {
			m.job("1", "q", 0, 100).at(1, 1, 1, 11, 11, 11, 21, 21, 21)
			m.job("2", "q", 1, 100).at(2, 12, 22, 32)
		}, nil},
		"in another queue": {func(m *maker) {
			m.job("1", "q", 0, 100).at(1, 1, 11, 11, 21, 21, 31, 31, 41, 41)
			m.job("2", "p", 1, 100).at(2, 51, 51, 61)
		}, nil},
		"a single map cannot be": {func(m *maker) {
			m.job("1", "q", 0, 100).at(1, 1, 11, 11, 21, 21, 31, 31, 41, 41)
			m.job("2", "q", 1, 100).at(2)
		}, nil},
		"all its maps at once": {func(m *maker) {
			m.job("1", "q", 0, 100).at(1, 1, 11, 11, 21, 21, 31, 31, 41, 41)
			m.job("2", "q", 1, 100).at(2, 2)
		}, nil},
		"the one with priority is ahead": {func(m *maker) {
			m.job("1", "q", 0, 100).at(2, 51, 51, 61)
			m.job("2", "q", 1, 100).at(1, 1, 11, 11, 21, 21, 31, 31, 41, 41).job.Priority = 5
		}, map[string]bool{"1": true}},
	}
	for name, c := range cases {
		var m maker
		c.make(&m)
		for p, got := range m.t.delayed() {
			if got != c.want[p.job.ID] {
				t.Errorf("%s: job %s delayed: %v", name, p.job.ID, got)
			}
		}
	}
}

func TestPaired(t *testing.T) {
	var m maker
	a, b, c, d := m.job("a", "q", 0, 0), m.job("b", "q", 0, 0), m.job("c", "q", 0, 0), m.job("d", "q", 0, 0)
	a.reduces = []task{span("n1", 0, 10), span("n2", 0, 10), span("n1", 5, 12)} // two of its own on one node are no pair
	b.reduces = []task{span("n1", 12, 20)}                                      // touches only
	c.reduces = []task{span("n3", 0, 10)}
	d.reduces = []task{span("n3", 9, 20)}
	got := m.t.paired()
	for p, want := range map[*played]bool{a: false, b: false, c: true, d: true} {
		if got[p] != want {
			t.Errorf("%s paired: %v", p.job.ID, got[p])
		}
	}
}

func TestTimes(t *testing.T) {
	var m maker
	p := m.job("a", "q", 10, 110).at(30, 40)
	p.maps[0].near, p.maps[1].near = policy.NodeLocal, policy.RackLocal
	p.reduces = []task{span("n", 45, 110)}
	other := m.job("b", "q", 10, 200).at(110)
	other.reduces = []task{span("n", 120, 200)}
	if p.waiting() != 20*unit.Second || p.elapsed() != 100*unit.Second || p.execution() != 80*unit.Second ||
		p.mapTime() != 20*unit.Second || p.reduceTime() != 65*unit.Second || p.responseRatio() != 1.25 || p.rackLocal() != 0.5 {
		t.Error(p.waiting(), p.elapsed(), p.execution(), p.mapTime(), p.reduceTime(), p.responseRatio(), p.rackLocal())
	}
	if n := m.t.atOnce("q"); n != 1 { // one ends as the other starts
		t.Errorf("%d at once", n)
	}
	got := m.t.metrics()
	for name, want := range map[string]float64{
		"makespan/q": 200, "ratio/a": 1.25, "wait/a/q": 20, "rack-local/a": 50, "paired": 0, "delayed": 0, "at-once/q": 1, "occupancy": 10,
	} {
		if got[name] != want {
			t.Errorf("%s = %v, want %v", name, got[name], want)
		}
	}
}
