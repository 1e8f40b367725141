package node

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
)

type finish struct {
	data uint64
	at   float64
}

// drain advances to an instant and collects what finished.
func drain(d *Device, to float64) (out []finish) {
	d.Advance(to, func(_ ID, data uint64) { out = append(out, finish{data, d.Now()}) })
	return out
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b)) }

// TestSameReduceNode has the vectors of the same-reduce-node effect: two tasks of 100 s share one server.
func TestSameReduceNode(t *testing.T) {
	d := NewDevice(Spec{Rate: 1})
	d.Start(100, 1)
	d.Start(100, 2)
	got := drain(d, 1000)
	if want := []finish{{1, 200}, {2, 200}}; !slices.Equal(got, want) {
		t.Errorf("together: %v, want %v", got, want)
	}
	d = NewDevice(Spec{Rate: 1})
	d.Start(100, 1)
	if got := drain(d, 80); len(got) > 0 {
		t.Fatal(got)
	}
	d.Start(100, 2)
	got = drain(d, 1000)
	if want := []finish{{1, 120}, {2, 200}}; !slices.Equal(got, want) {
		t.Errorf("second at 80 s: %v, want %v", got, want)
	}
}

func TestServersAndEfficiency(t *testing.T) {
	for name, c := range map[string]struct {
		spec Spec
		n    int
		want float64 // when n tasks of 100 units, started together, finish
	}{
		"one":                  {Spec{Rate: 10}, 1, 10},
		"cores to spare":       {Spec{Rate: 10, Servers: 4}, 4, 10},
		"more tasks":           {Spec{Rate: 10, Servers: 4}, 6, 15},
		"falling alone":        {Spec{Rate: 10, Efficiency: Falling(0.5)}, 1, 10},
		"falling":              {Spec{Rate: 10, Efficiency: Falling(0.5)}, 3, 60},
		"table":                {Spec{Rate: 10, Efficiency: Table(1, 0.5)}, 2, 40},
		"past the table's end": {Spec{Rate: 10, Efficiency: Table(1, 0.5)}, 4, 80},
	} {
		d := NewDevice(c.spec)
		for i := range c.n {
			d.Start(100, uint64(i))
		}
		if at, ok := d.Next(); !ok || !near(at, c.want) {
			t.Errorf("%s: next at %v, want %v", name, at, c.want)
		}
		got := drain(d, 1000)
		if len(got) != c.n {
			t.Fatalf("%s: %d finished", name, len(got))
		}
		for i, f := range got {
			if f.data != uint64(i) || f.at != got[0].at {
				t.Errorf("%s: finish %d is %v", name, i, f)
			}
		}
	}
}

func TestStop(t *testing.T) {
	d := NewDevice(Spec{Rate: 1})
	a, b := d.Start(100, 1), d.Start(50, 2)
	drain(d, 20)
	if left := d.Stop(b); left != 40 {
		t.Errorf("%v left", left)
	}
	if !near(d.Share(a, 20), 0.1) || !near(d.Share(a, 30), 0.2) || d.Share(a, 1e9) != 1 {
		t.Errorf("share %v", d.Share(a, 20))
	}
	if got := drain(d, 1000); !slices.Equal(got, []finish{{1, 110}}) {
		t.Error(got)
	}
	if d.Worked() != 110 || d.Busy() != 110 || d.Len() != 0 {
		t.Errorf("worked %v, busy %v, %d left", d.Worked(), d.Busy(), d.Len())
	}
}

// TestShareNeverFalls: not by the least bit, whether the device is advanced between two readings or not, and however small a task is
// beside the work that the virtual clock has counted.
func TestShareNeverFalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := NewDevice(Spec{Rate: rapid.Float64Range(0.5, 1e6).Draw(t, "rate"), Servers: rapid.IntRange(1, 3).Draw(t, "servers")})
		last := map[ID]float64{d.Start(1e9, 0): 0} // the clock does not start anew
		now := 0.0
		read := func() {
			for id, was := range last {
				if share := d.Share(id, now); share < was {
					t.Fatalf("task %d is at %v after %v", id, share, was)
				} else {
					last[id] = share
				}
			}
		}
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			now += rapid.SampledFrom([]float64{0, 1e-7, 1e-6, 1e-3, 1, 100}).Draw(t, "pause") * rapid.Float64Range(0.5, 1).Draw(t, "of it")
			read()
			if rapid.Bool().Draw(t, "advance") {
				d.Advance(now, func(id ID, _ uint64) { delete(last, id) })
				read()
			}
			if d.Now() == now && rapid.Bool().Draw(t, "start") {
				last[d.Start(rapid.SampledFrom([]float64{0.1, 10, 1e4, 1e7}).Draw(t, "units"), 0)] = 0
			}
		}
	})
}

// TestAgainstSteps compares with the definition played in small steps of equal sharing, and checks what must always hold.
func TestAgainstSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := Spec{Rate: rapid.Float64Range(0.5, 50).Draw(t, "rate"), Servers: rapid.IntRange(1, 5).Draw(t, "servers")}
		if rapid.Bool().Draw(t, "falls") {
			spec.Efficiency = Falling(0.3)
		}
		d := NewDevice(spec)
		type job struct{ start, units, left, end float64 }
		var jobs []job
		ids := map[int]ID{}
		now, stoppedUnits, given := 0.0, 0.0, 0.0
		// advance plays the definition exactly: from finish to finish, every task at the same rate.
		advance := func(to float64) {
			for {
				n, least := 0, math.Inf(1)
				for i := range ids {
					n++
					least = min(least, jobs[i].left)
				}
				if n == 0 {
					break
				}
				rate := spec.Rate * min(1, float64(spec.Servers)/float64(n))
				if spec.Efficiency != nil {
					rate *= spec.Efficiency(n)
				}
				dt, last := least/rate, false
				if dt >= to-now {
					dt, last = to-now, true
				}
				for i := range ids {
					jobs[i].left -= rate * dt
				}
				now += dt
				for i := range ids {
					if jobs[i].left <= 1e-9*jobs[i].units {
						jobs[i].end = now
						given += jobs[i].units
						delete(ids, i)
					}
				}
				if last {
					break
				}
			}
			now = to
		}
		ends := map[uint64]float64{}
		var order []uint64
		done := func(_ ID, data uint64) {
			ends[data] = d.Now()
			order = append(order, data)
		}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			to := now + rapid.Float64Range(0, 20).Draw(t, "dt")
			advance(to)
			d.Advance(to, done)
			if d.Len() != len(ids) {
				return // a finish within rounding of this instant: the two sides need not agree on which side it fell
			}
			switch {
			case rapid.IntRange(0, 4).Draw(t, "what") > 0 || len(ids) == 0:
				u := rapid.SampledFrom([]float64{0, 1, 10, 33.3, 250}).Draw(t, "units")
				jobs = append(jobs, job{start: now, units: u, left: u, end: -1})
				ids[len(jobs)-1] = d.Start(u, uint64(len(jobs)-1))
			default:
				var present []int
				for i := range ids {
					present = append(present, i)
				}
				slices.Sort(present)
				i := rapid.SampledFrom(present).Draw(t, "stopped")
				left := d.Stop(ids[i])
				if math.Abs(left-jobs[i].left) > 1e-6 {
					t.Fatalf("task %d has %v left, want %v", i, left, jobs[i].left)
				}
				stoppedUnits += jobs[i].units - left
				delete(ids, i)
			}
		}
		advance(now + 1e6)
		d.Advance(now, done)
		if len(ids) != 0 || d.Len() != 0 {
			t.Fatalf("%d and %d tasks left", len(ids), d.Len())
		}
		for i, end := range ends {
			j := jobs[i]
			if math.Abs(end-j.end) > 1e-6*max(1, j.end) {
				t.Fatalf("task %d ends at %v, want %v", i, end, j.end)
			}
			if (end-j.start)*spec.Rate < j.units*(1-1e-9) {
				t.Fatalf("task %d ran faster than the device", i)
			}
		}
		if want := given + stoppedUnits; math.Abs(d.Worked()-want) > 1e-6*max(1, want) {
			t.Fatalf("worked %v, handed out %v", d.Worked(), want)
		}
		for k := 1; k < len(order); k++ {
			a, b := order[k-1], order[k]
			if ends[a] > ends[b] {
				t.Fatalf("told of %d at %v after %d at %v", b, ends[b], a, ends[a])
			}
			if jobs[a].start == jobs[b].start && jobs[a].units == jobs[b].units && a > b && ends[a] == ends[b] {
				t.Fatalf("equal finishes %d and %d out of the order of their starts", a, b)
			}
		}
	})
}

func TestNothingIsAllocated(t *testing.T) {
	d := NewDevice(Spec{Rate: 1, Servers: 2})
	var again func(ID, uint64)
	n := 0
	again = func(_ ID, data uint64) {
		if n++; n%100 != 0 {
			d.Start(float64(data%7)+1, data+1)
		}
	}
	to := 0.0
	run := func() {
		for i := range 50 {
			d.Start(float64(i%5)+1, uint64(i))
		}
		to += 100
		d.Advance(to, again)
		for d.Len() > 0 {
			to++
			d.Advance(to, nil)
		}
	}
	run()
	if a := testing.AllocsPerRun(20, run); a > 0 {
		t.Errorf("%v allocations a run", a)
	}
}

func TestDisk(t *testing.T) {
	k := NewDisk(DiskSpec{Read: 100, Write: 50, ReadSeek: 0.1, WriteSeek: 0.2})
	if r, w := k.ReadUnits(1000), k.WriteUnits(1000); r != 1010 || w != 2020 {
		t.Errorf("read %v, write %v", r, w)
	}
	if k.ReadUnits(0) != 0 || k.WriteUnits(0) != 0 {
		t.Error("nothing costs something")
	}
	k.Start(k.WriteUnits(1000), 0)
	if at, _ := k.Next(); !near(at, 20.2) {
		t.Errorf("a write takes %v", at)
	}
}

func TestMemory(t *testing.T) {
	var free Memory
	if free.Take(1e12, 1) != 1e12 {
		t.Error("memory without a limit is limited")
	}
	m := Memory{Limit: 100}
	if a, b, c := m.Take(70, 10), m.Take(70, 10), m.Take(70, 10); a != 70 || b != 30 || c != 10 {
		t.Error(a, b, c)
	}
	m.Give(70)
	m.Give(30)
	m.Give(10)
	if m.Taken() != 0 {
		t.Error(m.Taken())
	}
}

func TestDiskFor(t *testing.T) {
	seen := make([]int, 3)
	for i := range uint64(3000) {
		seen[DiskFor(i*0x9e3779b97f4a7c15, 3)]++
	}
	for _, n := range seen {
		if n < 900 || n > 1100 {
			t.Error(seen)
		}
	}
	if DiskFor(math.MaxUint64, 3) != 2 || DiskFor(5, 1) != 0 {
		t.Error("out of range")
	}
}

func BenchmarkDevice(b *testing.B) {
	for _, n := range []int{4, 64, 1024} {
		b.Run(map[int]string{4: "4", 64: "64", 1024: "1024"}[n], func(b *testing.B) {
			d := NewDevice(Spec{Rate: 1, Servers: 4})
			i := uint64(0)
			again := func(_ ID, _ uint64) {
				i++
				d.Start(float64(i*2654435761%1000)+1, i)
			}
			for range n {
				again(0, 0)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i = 0; i < uint64(b.N); {
				at, _ := d.Next()
				d.Advance(at, again)
			}
		})
	}
}

// TestEfficiencies: what is left of a device with n tasks on it.
func TestEfficiencies(t *testing.T) {
	for _, c := range []struct {
		name string
		of   Efficiency
		n    int
		want float64
	}{
		{"falling", Falling(0.5), 1, 1}, {"falling", Falling(0.5), 3, 0.5},
		{"switching", Switching(1.5), 1, 1}, {"switching", Switching(1.5), 2, 1 / 1.75}, {"switching", Switching(1.5), 3, 0.5}, {"switching", Switching(1.5), 1e9, 0.4},
		{"threads", Threads(8, 1.3), 1, 1}, {"threads", Threads(8, 1.3), 8, 1}, {"threads", Threads(8, 1.3), 12, 9.2 / 12},
		{"threads", Threads(8, 1.3), 16, 0.65}, {"threads", Threads(8, 1.3), 1000, 0.65},
	} {
		if got := c.of(c.n); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%s with %d tasks: %v, want %v", c.name, c.n, got, c.want)
		}
	}
	if c := SwitchingCost(150e6, 0.0054, 540e3); math.Abs(c-1.5) > 1e-9 {
		t.Error(c)
	}
	// Sixteen tasks on eight cores with two threads each are given the work of 10.4 cores.
	cpu := New(MachineSpec{Hertz: 100, Cores: 16, Efficiency: Threads(8, 1.3), Disk: DiskSpec{Read: 1, Write: 1}}).CPU
	for range 16 {
		cpu.Start(65, 0)
	}
	if at, _ := cpu.Next(); math.Abs(at-1) > 1e-9 {
		t.Error(at)
	}
}

// TestSpace: which rooms on disks make sense.
func TestSpace(t *testing.T) {
	for _, c := range []struct {
		space Space
		limit float64
		ok    bool
	}{
		{Space{}, 0, true}, {Space{Filled: 5}, 0, true}, {Space{Capacity: 100, Filled: 5}, 100, true}, {Space{Capacity: 100, Filled: 5, Healthy: 0.9}, 90, true},
		{Space{Capacity: 100, Filled: 95, Healthy: 0.9}, 90, false}, {Space{Capacity: -1}, -1, false}, {Space{Healthy: 2}, 0, false}, {Space{Filled: math.NaN()}, 0, false},
	} {
		m := MachineSpec{Hertz: 1, Cores: 1, Disk: DiskSpec{Read: 1, Write: 1}, Space: c.space}
		if err := m.Validate(); (err == nil) != c.ok || c.space.Limit() != c.limit {
			t.Errorf("%+v: limit %v, %v", c.space, c.space.Limit(), err)
		}
	}
}
