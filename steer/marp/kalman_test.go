package marp

import (
	"math"
	"testing"

	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

func TestKalmanFilter(t *testing.T) {
	var k kalman
	if got := k.filter(0.7); got != 0 {
		t.Errorf("the first reading counts: %v", got)
	}
	if got := k.filter(1); math.Abs(got-0.9) > 1e-12 {
		t.Errorf("second: %v", got)
	}
	for range 20 {
		k.filter(0)
	}
	x := k.x
	if gain := (k.filter(1) - x) / (1 - x); math.Abs(gain-0.908) > 0.001 {
		t.Errorf("steady gain %v", gain)
	}
}

func TestKalmanSteps(t *testing.T) {
	for _, c := range []struct{ u, want float64 }{{0.50, 0.063}, {0.86, 0.02}, {0.8999, 0.01}} {
		if got := march(0.90 - c.u); math.Abs(got-c.want) > 0.0005 {
			t.Errorf("%v: %v, want %v", c.u, got, c.want)
		}
	}
	if got := march(0.99 - 0.95); math.Abs(got-0.02) > 1e-9 {
		t.Errorf("above the band: %v", got)
	}
}

func TestKalmanMem(t *testing.T) {
	const interval = 1001 * unit.Millisecond
	y := newYard(t, "kalman-mem", 3, nil)
	use := 0.99
	y.mend = func(s *steer.Snapshot) { s.Queues[1].Used.Mem = int64(use * float64(sourceTotal.Mem)) }
	y.in = 0.3
	y.expect(Raise, 0.394868, interval) // the first reading is ignored: memory seems empty
	use = 1
	for range 20 { // 0.90, 0.99, 0.999 ...: not low; it acts on each tenth reading
		y.step()
	}
	if math.Abs(y.in-(0.394868-2*math.Sqrt(5)/100)) > 1e-4 {
		t.Errorf("after twenty full readings: %v", y.in)
	}
	use = 0.2
	y.step()
	if y.in <= 0.36 {
		t.Errorf("low memory waits for nothing: %v", y.in)
	}
	in := y.in
	y.jobs = y.jobs[:1]
	for range 30 {
		y.expect(Wait, in, interval)
	}
	y = newYard(t, "kalman-mem", 3, nil)
	y.mend = func(s *steer.Snapshot) { s.Queues[1].Used.Mem = sourceTotal.Mem }
	for range 500 {
		y.step()
	}
	if y.in != 0.1 {
		t.Errorf("lower bound: %v", y.in)
	}
}

func TestStatic(t *testing.T) {
	y := newYard(t, "static", 3, nil)
	y.expect(Set, 0.25, 10*sec)
	y.expect(Wait, 0.25, 10*sec)
	y.in = 0.4 // somebody else's business
	y.expect(Wait, 0.4, 10*sec)
}
