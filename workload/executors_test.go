package workload

import (
	"reflect"
	"testing"

	"github.com/yardmaster/yardmaster/unit"
)

func TestExecutors(t *testing.T) {
	static := &Keep{Ask: unit.Resources{Mem: 4096, Cores: 4}, Slots: 2, Max: 8}
	dynamic := &Keep{Ask: static.Ask, Slots: 2, Max: 50, Dynamic: &Dynamic{Min: 1, Initial: 4, Idle: unit.Minute}}
	defaults := Dynamic{Initial: 8, Backlog: unit.Second, Sustained: unit.Second, Idle: unit.Minute}
	with := func(d Dynamic, change func(*Dynamic)) *Dynamic { change(&d); return &d }
	for name, c := range map[string]struct {
		from     *Keep
		do       Executors
		max      int64
		slots    int64
		ask      unit.Resources
		dyn      *Dynamic
		ignoring bool
	}{
		"another number":           {from: static, do: Executors{Instances: new(int64(3))}, max: 3},
		"dynamic by default":       {from: static, do: Executors{Dynamic: new(true)}, max: 50, dyn: &defaults},
		"dynamic from one":         {from: static, do: Executors{Dynamic: new(true), Initial: new(int64(1))}, max: 50, dyn: with(defaults, func(d *Dynamic) { d.Initial = 1 })},
		"dynamic with a limit":     {from: static, do: Executors{Dynamic: new(true), Max: new(int64(5))}, max: 5, dyn: with(defaults, func(d *Dynamic) { d.Initial = 5 })},
		"static from dynamic":      {from: dynamic, do: Executors{Dynamic: new(false)}, max: 4},
		"a number for dynamic":     {from: dynamic, do: Executors{Instances: new(int64(6))}, max: 6},
		"dynamic stays":            {from: dynamic, do: Executors{Dynamic: new(true)}, max: 50, dyn: dynamic.Dynamic},
		"a number with dynamic":    {from: dynamic, do: Executors{Dynamic: new(true), Instances: new(int64(6))}, max: 50, dyn: with(*dynamic.Dynamic, func(d *Dynamic) { d.Initial = 6 })},
		"idle":                     {from: dynamic, do: Executors{Idle: new(10 * unit.Second)}, max: 50, dyn: with(*dynamic.Dynamic, func(d *Dynamic) { d.Idle = 10 * unit.Second })},
		"idle without dynamic":     {from: static, do: Executors{Idle: new(10 * unit.Second)}, max: 8, ignoring: true},
		"a limit below its bounds": {from: dynamic, do: Executors{Max: new(int64(2)), Min: new(int64(2))}, max: 2, dyn: with(*dynamic.Dynamic, func(d *Dynamic) { d.Min, d.Initial = 2, 2 })},
		"larger":                   {from: static, do: Executors{Cores: new(int64(8)), Memory: new(int64(9000))}, max: 8, slots: 4, ask: unit.Resources{Mem: 9000, Cores: 8}},
		"larger and unlimited":     {from: dynamic, do: Executors{Cores: new(int64(8))}, max: 25, slots: 4, ask: unit.Resources{Mem: 4096, Cores: 8}, dyn: dynamic.Dynamic},
	} {
		j := &Job{Stages: []Stage{{Tasks: 90}, {Tasks: 10}}, Keep: c.from}
		before, beforeDyn := *c.from, c.from.Dynamic
		if got := c.do.Apply(j); got == c.ignoring {
			t.Errorf("%s: concerns it: %v", name, got)
		}
		want := *c.from
		want.Max, want.Dynamic = c.max, c.dyn
		if c.slots > 0 {
			want.Slots, want.Ask = c.slots, c.ask
		}
		if !reflect.DeepEqual(&want, j.Keep) {
			t.Errorf("%s: %+v %+v, want %+v %+v", name, j.Keep, j.Keep.Dynamic, want, want.Dynamic)
		}
		if *c.from != before || c.from.Dynamic != beforeDyn || beforeDyn != nil && beforeDyn.Initial != 4 || j.Keep.validate() != nil {
			t.Errorf("%s: the shared job changed, or the job is invalid: %v", name, j.Keep.validate())
		}
	}
	if (&Executors{Instances: new(int64(3))}).Apply(&Job{}) {
		t.Error("it concerns a job without executors")
	}
}
