package marp

import (
	"math"
	"testing"

	"github.com/yardmaster/yardmaster/policy/amlimit"
	"github.com/yardmaster/yardmaster/unit"
)

func TestSlotTable(t *testing.T) {
	shares := []float64{0.02, 0.03, 0.05, 0.06, 0.07, 0.08, 0.09, 0.10, 0.13, 0.17, 0.20, 0.21, 0.25, 0.30, 0.50, 0.90}
	want := []int64{0, 0, 1, 1, 1, 2, 2, 2, 3, 4, 5, 5, 6, 7, 12, 22}
	for i, s := range shares {
		if got := amlimit.FairV2.Slots(sourceTotal, sourceAM, unit.Resources{}, s); got != want[i] {
			t.Errorf("share %v: %d slots, want %d", s, got, want[i])
		}
	}
	for i, s := range []float64{0.05, 0.09, 0.13, 0.17, 0.21, 0.25} { // the design points hold with decimal gigabytes too
		if got := amlimit.FairV2.Slots(unit.Resources{Mem: 51000, Cores: 51}, sourceAM, unit.Resources{}, s); got != int64(i+1) {
			t.Errorf("share %v of 51000 MB: %d slots, want %d", s, got, i+1)
		}
	}
}

func TestSlotRules(t *testing.T) {
	gib := unit.Resources{Mem: 1024, Cores: 1}
	cases := []struct {
		name  string
		rule  amlimit.Limit
		q, a  unit.Resources
		share float64
		want  int64
	}{
		{"fair 3 counts vcores", amlimit.Fair, unit.Resources{Mem: 102400, Cores: 20}, unit.Resources{Mem: 1024, Cores: 2}, 0.2, 2},
		{"fair 3 rounds up", amlimit.Fair, unit.Resources{Mem: 10001, Cores: 100}, unit.Resources{Mem: 1001, Cores: 1}, 0.1, 1},
		{"fair 2 rounds down", amlimit.FairV2, unit.Resources{Mem: 10001, Cores: 100}, unit.Resources{Mem: 1001, Cores: 1}, 0.1, 0},
		{"fair has no exemption", amlimit.Fair, sourceTotal, sourceAM, 0.02, 0},
		{"capacity lets one start", amlimit.Capacity, sourceTotal, sourceAM, 0.001, 1},
		{"capacity rounds up to the allocation", amlimit.Capacity, unit.Resources{Mem: 10240, Cores: 10}, gib, 0.11, 2},
		{"no limit", amlimit.Fair, sourceTotal, sourceAM, 1, 25},
		{"not a number", amlimit.Fair, sourceTotal, sourceAM, math.NaN(), 0},
		{"no queue", amlimit.Fair, unit.Resources{}, sourceAM, 0.5, 0},
		{"no AM", amlimit.Capacity, sourceTotal, unit.Resources{}, 0.5, 0},
	}
	for _, c := range cases {
		if got := c.rule.Slots(c.q, c.a, gib, c.share); got != c.want {
			t.Errorf("%s: %d slots, want %d", c.name, got, c.want)
		}
	}
	if amlimit.Fair.Property != "maxAMShare" || amlimit.FairV2.Property != "maxAMShare" || amlimit.Capacity.Property != "maximum-am-resource-percent" {
		t.Error("a knob has the wrong name")
	}
}

func TestDerive(t *testing.T) {
	if got := Derive(sourceShare); got != SourceSteps() {
		t.Errorf("steps of the source's cluster: %+v", got)
	}
	if got := SlotShare(sourceShare, 1); got != 0.049 {
		t.Errorf("one slot: %v", got)
	}
	for n, want := range map[int]float64{6: 0.236, 1: 0.040, 100: 1} {
		if got := PRJ(sourceShare, n); got != want {
			t.Errorf("prj of %d: %v, want %v", n, got, want)
		}
	}
	// On every size of cluster the start lets exactly one in and a step exactly one more; slots are exact throughout.
	for _, mem := range []int64{4096, 5000, 16384, 52224, 102400, 999_999, 8_000_000, 500_000_000} {
		q := unit.Resources{Mem: mem, Cores: mem / 1024}
		s := amlimit.FairV2.Of(q, sourceAM)
		d := Derive(s)
		slots := func(x float64) int64 { return amlimit.FairV2.Slots(q, sourceAM, unit.Resources{}, x) }
		if slots(d.Start) != 1 {
			t.Errorf("%d MB: start %v lets %d in", mem, d.Start, slots(d.Start))
		}
		if d.Start+d.Inc <= 1 && slots(d.Start+d.Inc) != 2 {
			t.Errorf("%d MB: %v + %v lets %d in", mem, d.Start, d.Inc, slots(d.Start+d.Inc))
		}
		if d.Dec > d.Inc || d.Dec < 0.7*d.Inc {
			t.Errorf("%d MB: gives back %v of %v", mem, d.Dec, d.Inc)
		}
		for k := int64(1); k <= min(20, mem/2048); k++ {
			if got := slots(SlotShare(s, k)); got != k {
				t.Errorf("%d MB: the share for %d AMs (%v) lets %d in", mem, k, SlotShare(s, k), got)
			}
		}
	}
}

func TestBaselines(t *testing.T) {
	for want, value := range map[int64]float64{1: Derive(sourceShare).Start, 2: SlotShare(sourceShare, 2), 5: SlotShare(sourceShare, 5), 6: PRJ(sourceShare, 6)} {
		if got := amlimit.FairV2.Slots(sourceTotal, sourceAM, unit.Resources{}, value); got != want {
			t.Errorf("%v lets %d in, want %d", value, got, want)
		}
	}
	if s := Sweep(); len(s) != 9 || s[0] != (Baseline{"static-0.1", 0.1}) || s[8].Value != 0.9 {
		t.Errorf("%v", s)
	}
}
