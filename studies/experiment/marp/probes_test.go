package marp

import (
	"context"
	"fmt"
	"maps"
	"testing"

	"github.com/yardmaster/yardmaster/policy/amlimit"
	"github.com/yardmaster/yardmaster/steer"
	control "github.com/yardmaster/yardmaster/steer/marp"
	x "github.com/yardmaster/yardmaster/studies/experiment"
	"github.com/yardmaster/yardmaster/unit"
)

// For every setting of the study, of a controller, of the scheduler or of the host: if its effect changed, one of E7 to E9 would have other figures.
// All experiments are probes, so a printed page would be detected as stale.
func TestProbesFeelEverySetting(t *testing.T) {
	if testing.Short() {
		t.Skip("plays some batches")
	}
	if Study().Probes != nil {
		t.Fatal("not all experiments are probes: this test looks at batches of E7 to E9 only")
	}
	ctx := context.Background()
	figures := func(b Batch, name string, seed uint64) x.Metrics {
		o, err := b.Play(ctx, seed)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		m := x.Metrics{}
		o.figures(m, name)
		return m
	}
	as := map[string]x.Metrics{}
	felt := func(what string, names []string, changes ...func(*Batch)) {
		t.Helper()
		for seed := range uint64(Study().ProbeSeeds) {
			seed++
			for _, bench := range benches() {
				for _, name := range names {
					key := fmt.Sprint(bench.Experiment, name, seed)
					if as[key] == nil {
						as[key] = figures(bench.batch(six, seed).under(name, Fair), name, seed)
					}
					for _, change := range changes {
						b := bench.batch(six, seed).under(name, Fair)
						change(&b)
						if !maps.Equal(figures(b, name, seed), as[key]) {
							return
						}
					}
				}
			}
		}
		t.Errorf("%s: E7 to E9 would have the same figures if it did something else", what)
	}
	for _, p := range parameters() {
		switch p.Name {
		case "start share": // it is in effect when the controller starts
			felt(p.Name, p.of, func(b *Batch) { p.double(&b.Settings); b.Share = b.Settings.Steps.Start })
		case "epsilon": // twice as many random choices may all turn out the same
			felt(p.Name, p.of, func(b *Batch) { b.Settings.Epsilon = 100 })
		default:
			felt(p.Name, p.of, func(b *Batch) { p.half(&b.Settings) }, func(b *Batch) { p.double(&b.Settings) })
		}
	}
	for what, c := range map[string]struct {
		of     []string
		change func(*Batch)
	}{
		"share":              {[]string{"prj"}, func(b *Batch) { b.Share = control.SlotShare(amShare(), 3) }},
		"scheduler":          {steered, func(b *Batch) { b.Scheduler, b.Settings.Limit = Capacity, amlimit.Capacity }},
		"delay of changes":   {steered, func(b *Batch) { b.Delays = &steer.Delays{} }},
		"nodes":              {compared, func(b *Batch) { b.Nodes-- }},
		"memory of a node":   {compared, func(b *Batch) { b.Node.Mem /= 2 }},
		"size of an AM":      {steered, func(b *Batch) { b.Settings.AM.Mem *= 2 }},
		"cores":              {compared, func(b *Batch) { b.Model.Machine.Cores-- }},
		"clock rate":         {compared, func(b *Batch) { b.Model.Machine.Hertz *= 1.01 }},
		"disk":               {compared, func(b *Batch) { b.Model.Machine.Disk.Read *= 1.01 }},
		"disk, several":      {compared, func(b *Batch) { b.Model.Machine.Disk.Efficiency = nil }},
		"start of a process": {compared, func(b *Batch) { b.Model.JVMCycles *= 1.01 }},
		"noise":              {compared, func(b *Batch) { b.Model.Noise *= 1.01 }},
		"start of an AM":     {compared, func(b *Batch) { b.Jobs[0].AMStart += unit.Second }},
		"ahead":              {[]string{"ahead"}, func(b *Batch) { b.Settings.IdleTarget += 0.2 }},
		"kalman-mem":         {[]string{"kalman-mem"}, func(b *Batch) { b.Settings.BandLow, b.Settings.High = 0.3, 0.4 }},
	} {
		felt(what, c.of, c.change)
	}
}
