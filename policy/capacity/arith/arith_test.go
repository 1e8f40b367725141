package arith

import (
	"testing"

	"github.com/yardmaster/yardmaster/unit"
)

func mb(v int64) unit.Resources { return unit.Resources{Mem: v, Cores: v / 1024} }

var step = unit.Resources{Mem: 1024, Cores: 1}

func TestArithmetic(t *testing.T) {
	r := func(m, c int64) unit.Resources { return unit.Resources{Mem: m, Cores: c} }
	third := float64(float32(33.3) / 100)
	for _, c := range []struct {
		name      string
		got, want unit.Resources
	}{
		{"default mulUp rounds half up, then to steps", Default.MulUp(r(25600, 25), float64(float32(0.1)), step), r(3072, 1)},
		{"default mulUp exact", Default.MulUp(r(102400, 100), float64(float32(0.1)), step), r(10240, 1)},
		{"default mulUp nothing", Default.MulUp(r(100, 1), 0, step), r(0, 0)},
		{"dominant mulUp", Dominant.MulUp(r(25600, 25), float64(float32(0.1)), step), r(3072, 3)},
		{"default mulDown", Default.MulDown(r(51200, 50), third, step), r(16384, 1)},
		{"dominant mulDown", Dominant.MulDown(r(51200, 50), third, step), r(16384, 16)},
		{"mulFloor cuts off", MulFloor(r(102400, 100), third), r(34099, 33)},
		{"70 % of 70 %", MulFloor(r(102400, 1000), float64(float32(0.7)*float32(0.7))), r(50175, 489)},
		{"default divCeil", Default.DivCeil(r(41984, 41), 3), r(13995, 1)},
		{"dominant divCeil", Dominant.DivCeil(r(41984, 41), 3), r(13995, 14)},
		{"divCeil by nothing", Default.DivCeil(r(41984, 41), 0), r(0, 0)},
		{"default normalise", Default.Normalise(r(1536, 3), step, r(8192, 4)), r(2048, 1)},
		{"dominant normalise", Dominant.Normalise(r(1536, 3), step, r(8192, 4)), r(2048, 3)},
		{"normalise nothing", Default.Normalise(r(0, 0), step, r(8192, 4)), r(1024, 1)},
		{"normalise above the maximum", Dominant.Normalise(r(9000, 9), step, r(8192, 4)), r(8192, 4)},
		{"default max by memory", Default.Max(mb(102400), r(2048, 1), r(1024, 50)), r(2048, 1)},
		{"dominant max by share", Dominant.Max(mb(102400), r(2048, 1), r(1024, 50)), r(1024, 50)},
		{"down of negative", Dominant.Down(r(-5, 3), step), r(0, 3)},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, c.got, c.want)
		}
	}
	cluster := r(102400, 100)
	if got := Default.Divide(cluster, r(20480, 99), r(51200, 1)); got != 0.4 {
		t.Errorf("default divide: %v", got)
	}
	if got := Dominant.Divide(cluster, r(10240, 40), r(51200, 50)); got != 0.8 {
		t.Errorf("dominant divide: %v", got)
	}
	if got := Dominant.Ratio(r(10240, 40), r(51200, 50)); got != 0.8 {
		t.Errorf("dominant ratio: %v", got)
	}
	if got := Dominant.Compare(cluster, r(10240, 5), r(5120, 10)); got != 0 {
		t.Errorf("dominant compare, shares swapped: %v", got)
	}
	if got := Dominant.Compare(cluster, r(10240, 5), r(10240, 6)); got != -1 {
		t.Errorf("dominant compare, tie on the larger share: %v", got)
	}
	if Default.Fits(r(1024, 9), r(1024, 1)) != true || Dominant.Fits(r(1024, 9), r(1024, 1)) != false {
		t.Error("fits: only the dominant calculator looks at vcores")
	}
}

func TestNamedShares(t *testing.T) {
	gpus := func(m, c, n int64) unit.Resources {
		return unit.Resources{Mem: m, Cores: c, Extra: unit.Named("gpu", n)}
	}
	total := gpus(102400, 100, 8)
	for _, c := range []struct {
		a, b unit.Resources
		want int
	}{
		{gpus(1024, 1, 4), gpus(20480, 1, 1), 1}, // half of the GPUs, and a fifth of the memory
		{gpus(1024, 1, 2), gpus(51200, 1, 1), -1},
		{gpus(1024, 1, 2), gpus(1024, 1, 2), 0},
		{gpus(1024, 1, 1), mb(1024), 1},
	} {
		if got := Dominant.Compare(total, c.a, c.b); got != c.want {
			t.Errorf("%v to %v: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestUserLimit(t *testing.T) {
	cluster := unit.Resources{Mem: 102400, Cores: 100}
	for _, c := range []struct {
		percent, factor float32
		effMin          int64
		used            []int64
		active          []bool
		want            int64
	}{
		{100, 1, 51200, []int64{0}, []bool{true}, 51200},
		{100, 1, 51200, []int64{51200}, []bool{true}, 51200},
		{50, 1, 51200, []int64{20480, 0}, []bool{true, true}, 25600},
		{25, 2, 51200, []int64{30720, 10240, 0}, []bool{true, true, true}, 14336},
		{25, 2, 51200, []int64{40960, 30720, 0}, []bool{true, true, true}, 24576},
		{25, 2, 51200, []int64{40960, 10240}, []bool{false, true}, 13312},
		{100, 1, 34099, []int64{0}, []bool{true}, 34816},
		{100, -1, 51200, []int64{92160}, []bool{true}, 93184}, // no factor: grows with use, up to the maximum
		{100, -1, 0, []int64{0}, []bool{true}, 1024},
	} {
		in := UserLimitInput{
			Cluster: cluster, EffMin: mb(c.effMin), EffMax: cluster, MinA: step, Percent: c.percent, Factor: c.factor,
		}
		for i, u := range c.used {
			in.Ratio += Default.Ratio(mb(u), cluster)
			if c.active[i] {
				in.Active++
				in.ActiveUsed = in.ActiveUsed.Add(mb(u))
			}
		}
		if got := Default.UserLimit(&in); got.Mem != c.want {
			t.Errorf("percent %v, factor %v, used %v: limit %d, want %d", c.percent, c.factor, c.used, got.Mem, c.want)
		}
	}
}
