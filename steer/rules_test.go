package steer

import (
	"math"
	"testing"

	"github.com/yardmaster/yardmaster/policy/amlimit"
	"github.com/yardmaster/yardmaster/unit"
)

// How many AMs of 1 GiB a share of a queue lets run: by memory and vcores, rounded up (Fair Scheduler), by memory, rounded down
// (of Hadoop 2), or by memory, rounded up to whole allocations, and at least one (Capacity Scheduler).
func TestSlots(t *testing.T) {
	gb := func(mem, cores int64) unit.Resources { return unit.Resources{Mem: mem, Cores: cores} }
	am := gb(1024, 1)
	for _, x := range []struct {
		q                      unit.Resources
		am                     unit.Resources
		share                  float64
		fair, fairV2, capacity int64
	}{
		{gb(20480, 20), am, 0.1, 2, 2, 2},
		{gb(20480, 20), am, 0.12, 2, 2, 3}, // 2458 MiB
		{gb(20480, 4), am, 0.5, 2, 10, 10}, // 2 vcores
		{gb(10239, 20), am, 0.1, 1, 0, 1},  // 1023.9 MiB
		{gb(20480, 20), am, 0, 0, 0, 1},
		{gb(20480, 20), am, -1, 0, 0, 1},
		{gb(20480, 20), am, 7, 20, 20, 20},
		{gb(20480, 20), gb(4096, 1), 0.5, 2, 2, 2},
		{gb(20480, 20), gb(0, 1), 0.5, 0, 0, 0},
		{gb(0, 20), am, 0.5, 0, 0, 0},
		{gb(20480, 20), am, math.NaN(), 0, 0, 0},
	} {
		for i, want := range []int64{x.fair, x.fairV2, x.capacity} {
			limit := []amlimit.Limit{amlimit.Fair, amlimit.FairV2, amlimit.Capacity}[i]
			if got := limit.Slots(x.q, x.am, gb(1024, 1), x.share); got != want {
				t.Errorf("%s: %v of %v: %d of %v, want %d", limit.Scheduler, x.share, x.q, got, x.am, want)
			}
		}
	}
}

// A policy may change what it has declared, and nothing else.
func TestAllow(t *testing.T) {
	all := []struct {
		kind     Kind
		property string
	}{{SetQueue, "maxAMShare"}, {SetQueue, "capacity"}, {SetPriority, ""}, {MoveJob, ""}, {SetQueue, "maximum-am-resource-percent"}}
	for _, x := range []struct {
		name  string
		needs Needs
		want  int // of all; -1: none
	}{
		{"nothing", Needs{Maps: true, Sizes: true, Pending: true}, -1}, {"the AM share", Needs{AMLimit: true}, 0}, {"a property",
			Needs{Properties: []string{"capacity"}}, 1},
		{"priorities", Needs{Priority: true}, 2}, {"queues", Needs{Queue: true}, 3},
	} {
		for i, a := range all {
			if err := x.needs.Allow(a.kind, a.property, amlimit.Fair); (err == nil) != (i == x.want) {
				t.Errorf("%s: %+v: %v", x.name, a, err)
			}
		}
	}
}

func TestNamesOfQueues(t *testing.T) {
	for queue, want := range map[string]string{"root.a.b": "root.a", "root.a": "root", "a": "root", ".a": ""} {
		if got := Parent(queue); got != want {
			t.Errorf("the parent of %s is %q, want %q", queue, got, want)
		}
	}
	for _, x := range []struct {
		a, b string
		want bool
	}{{"root.a", "a", true}, {"a", "root.a", true}, {"a", "b", false}, {"root.a.b", "b", false}} {
		if got := SamePath(x.a, x.b); got != x.want {
			t.Errorf("%s and %s: %v", x.a, x.b, got)
		}
	}
}

// A changed allocation file is loaded after 5 to 15 s: it is read every 10 s, once it is 5 s old.
func TestFairFile(t *testing.T) {
	if d := FairFile(); d.Age != 5*unit.Second || d.Age+d.Poll != 15*unit.Second {
		t.Errorf("%+v", d)
	}
}
