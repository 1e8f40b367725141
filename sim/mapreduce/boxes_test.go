package mapreduce

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/fifo"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/node"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// TestNodesShareAMachine: of four nodes with a map each, two and two share a machine of one core and one disk.
//
//	a map: start 2 (cpu), read 4 (disk), map 8 (cpu); two at once: each step takes twice as long
func TestNodesShareAMachine(t *testing.T) {
	for per, end := range map[int]float64{0: 14, 1: 14, 2: 28, 3: 42, 4: 56, 100: 56} {
		m := round()
		m.Machine.Cores, m.PerMachine = 1, per
		for _, h := range []unit.Time{0, unit.Microsecond * 100} { // heartbeats give the nodes another order
			x := bench{cluster: slots(t, "4x1"), model: m, jobs: []*workload.Job{mr("a", 4, 0, 16, 0, 0)}, engine: sim.Model{Heartbeat: h}, seed: 5}
			_, sum, w := x.run(t)
			if got := sum.LastFinish.Seconds(); math.Abs(got-end) > 0.01 {
				t.Errorf("%d nodes a machine, heartbeat %v: %v s, want %v", per, h, got, end)
			}
			if want := (4 + max(per, 1) - 1) / max(per, 1); len(w.boxes) != want || len(w.stores) != 4 {
				t.Errorf("%d nodes a machine: %d machines, %d disks of nodes", per, len(w.boxes), len(w.stores))
			}
		}
	}
}

// timedReading is the worker's state at an instant.
type timedReading struct {
	at     float64
	lately Times
	read   Reading
}

// readingSink reads the worker once in every period, as a sink that receives samples does.
type readingSink struct {
	book
	w        *Worker
	readings []timedReading
}

func (l *readingSink) Sample(s *sim.Sample) {
	l.readings = append(l.readings, timedReading{at: s.To.Seconds(), read: l.w.Read(s.To)})
}

func readAtIntervals(t *testing.T, x *bench, every unit.Time) *readingSink {
	t.Helper()
	w, err := New(x.model)
	if err != nil {
		t.Fatal(err)
	}
	l := &readingSink{book: book{jobs: map[string]sim.JobRecord{}}, w: w}
	x.engine.Sample = every
	_, err = sim.Run(context.Background(), sim.Config{
		Cluster: x.cluster, Source: workload.Slice(x.jobs).Source(), Model: x.engine, Seed: x.seed, Sink: l, NoAlone: true, Worker: w,
		NewPolicy: func() (policy.Policy, error) { return policy.Policy{Order: fifo.New()}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	idle(t, w)
	return l
}

// TestProcessorsAndDiskOfOneJob follows one job through its phases (see TestOneMapOneReduce), on two cores:
//
//	cpu     0-2 both start | 6-16, 24-34 map and sort | 54-57 merge | 65-70 sort | 74-86 reduce
//	disk    all of the time between
//	space   2 MiB from 16, 4 from 34; merged 4 more from 42 and 4 less at 50; the reduce's run 4 from 57, its output 6 from 86; at
//	        the end the output only
func TestProcessorsAndDiskOfOneJob(t *testing.T) {
	m := round()
	m.Machine.Space = node.Space{Capacity: 1e9, Filled: 100 * mib, Healthy: 0.9}
	l := readAtIntervals(t, &bench{cluster: slots(t, "1x1+1"), model: m, jobs: []*workload.Job{mr("a", 1, 1, 8, 4, 6)}}, unit.Second)
	at := func(s float64) *Reading {
		for i := range l.readings {
			if l.readings[i].at == s {
				return &l.readings[i].read
			}
		}
		t.Fatalf("nobody readAtIntervals at %v s", s)
		return nil
	}
	for _, c := range []struct{ at, busy, wait, idle, disk float64 }{
		{1, 2, 0, 0, 0},
		{2, 4, 0, 0, 0},
		{6, 4, 4, 4, 0},
		{16, 14, 4, 14, 0},
		{17, 14, 5, 15, 2},
		{34, 24, 12, 32, 2},
		{38, 24, 16, 36, 4},
		{43, 24, 21, 41, 8},
		{50, 24, 28, 48, 8},
		{51, 24, 29, 49, 4},
		{58, 27, 33, 56, 8},
		{86, 44, 44, 84, 8},
		{98, 44, 56, 96, 14},
	} {
		r := at(c.at)
		got := [4]float64{r.CPU.Busy, r.CPU.Wait, r.CPU.Idle, (r.Disk - 100*mib) / mib}
		for i, want := range [4]float64{c.busy, c.wait, c.idle, c.disk} {
			if math.Abs(got[i]-want) > 1e-3 {
				t.Errorf("at %v s: busy, wait, idle, disk %.3f, want %v %v %v %v", c.at, got, c.busy, c.wait, c.idle, c.disk)
				break
			}
		}
	}
	if used, peak := (l.w.used-100*mib)/mib, (l.w.peak-100*mib)/mib; math.Abs(used-6) > 1e-9 || math.Abs(peak-14) > 1e-9 {
		t.Errorf("at the end %v MiB, at most %v", used, peak)
	}
}

// TestLatelyIsTheLastSecond: the reading of a tool that reads the counters twice, a second apart.
func TestLatelyIsTheLastSecond(t *testing.T) {
	x := bench{cluster: slots(t, "1x1+1"), model: round(), jobs: []*workload.Job{mr("a", 1, 1, 8, 4, 6)}}
	var seen []timedReading
	x.wrap = func(w *Worker) sim.Worker { return &sampler{Worker: w, seen: &seen} }
	_, _, w := x.run(t)
	if len(seen) < 10 {
		t.Fatal(seen)
	}
	for _, s := range seen {
		if sum := s.lately.Busy + s.lately.Wait + s.lately.Idle; math.Abs(sum-1) > 1e-9 {
			t.Errorf("at %v s %+v: the shares' sum is %v", s.at, s.lately, sum)
		}
		if s.at == 2 && math.Abs(s.lately.Busy-1) > 1e-9 || s.at == 6 && math.Abs(s.lately.Wait-0.5) > 1e-9 || s.at == 16 && math.Abs(s.lately.Idle-0.5) > 1e-9 {
			t.Errorf("at %v s %+v", s.at, s.lately)
		}
	}
	if v := w.CPUIdle(); v < 0 || v > 1 {
		t.Error(v)
	}
}

// sampler reads before every wake-up.
type sampler struct {
	*Worker
	seen *[]timedReading
}

func (s *sampler) Wake(what uint64) {
	*s.seen = append(*s.seen, timedReading{at: s.host.Now().Seconds(), lately: s.Lately()})
	s.Worker.Wake(what)
}

// TestFullDisksGetNoContainers: two jobs leave 8 MiB each for good. A third that comes later starts if the disk may hold that much.
func TestFullDisksGetNoContainers(t *testing.T) {
	run := func(limit float64) (*book, sim.Summary) {
		m := round()
		m.Machine.Space = node.Space{Capacity: limit * mib}
		x := bench{cluster: slots(t, "1x2"), model: m, jobs: []*workload.Job{mr("a", 2, 0, 0, 0, 8), mr("b", 1, 0, 0, 0, 8), mr("c", 1, 0, 0, 0, 1)}}
		x.jobs[2].Submit = unit.Minute
		w, err := New(x.model)
		if err != nil {
			t.Fatal(err)
		}
		b := &book{jobs: map[string]sim.JobRecord{}}
		sum, err := sim.Run(context.Background(), sim.Config{
			Cluster: x.cluster, Source: workload.Slice(x.jobs).Source(), Sink: b, NoAlone: true, Worker: w,
			NewPolicy: func() (policy.Policy, error) { return policy.Policy{Order: fifo.New()}, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		return b, sum
	}
	if _, sum := run(17); sum.Finished != 3 {
		t.Errorf("with room for all output: %+v", sum)
	}
	b, sum := run(15)
	if sum.Finished != 2 || sum.Stuck != 1 {
		t.Errorf("%+v", sum)
	}
	if start, _ := b.task("c", 0, 0); start >= 0 || !strings.Contains(b.jobs["c"].Reason, "disks hold more") {
		t.Errorf("c started at %v: %s", start, b.jobs["c"].Reason)
	}
}

// TestOutputsGoWithTheirJob: what a job leaves for its own reduces is gone with it, so that a job that comes later finds room.
func TestOutputsGoWithTheirJob(t *testing.T) {
	m := round()
	m.Machine.Space = node.Space{Capacity: 10 * mib}
	x := bench{cluster: slots(t, "1x2"), model: m, jobs: []*workload.Job{mr("a", 2, 1, 4, 8, 1), mr("b", 2, 1, 4, 8, 1)}, engine: sim.Model{Heartbeat: unit.Second}}
	_, sum, w := x.run(t)
	if sum.Finished != 2 || math.Abs(w.used-2*mib) > 1 {
		t.Errorf("%+v, %v MiB at the end", sum, w.used/mib)
	}
	if w.peak < 16*mib {
		t.Errorf("at most %v MiB", w.peak/mib)
	}
}

// TestMemoryTakesTheDisksWork: the share that is cached takes no time; without any of it only processors are left.
func TestMemoryTakesTheDisksWork(t *testing.T) {
	for _, c := range []struct {
		change    func(*Model)
		maps, end float64
	}{
		{func(*Model) {}, 50, 98},
		{func(m *Model) { m.Cached.Map = 0.5 }, 50 - 14, 98 - 14},
		{func(m *Model) { m.Cached.Reduce = 0.5 }, 50, 98 - 14},
		{func(m *Model) { *m = m.AllCached() }, 22, 22 + 3 + 5 + 12},
	} {
		x := bench{cluster: slots(t, "1x1+1"), model: round(), jobs: []*workload.Job{mr("a", 1, 1, 8, 4, 6)}}
		c.change(&x.model)
		b, _, w := x.run(t)
		b.want(t, "a", 0, 0, 0, c.maps)
		b.want(t, "a", 1, 0, 0, c.end)
		if w.used != 6*mib {
			t.Errorf("%v bytes on the disk at the end", w.used)
		}
	}
}

// TestPiecesOfAReduce: a reduce that is alone takes as long in pieces as at once, and its output grows piece by piece.
func TestPiecesOfAReduce(t *testing.T) {
	for _, p := range []unit.Bytes{0, mib, mib / 4, 3 * mib} {
		x := bench{cluster: slots(t, "1x1+1"), model: round(), jobs: []*workload.Job{mr("a", 1, 1, 8, 4, 6)}}
		x.model.ReducePiece = p
		l := readAtIntervals(t, &x, unit.Second)
		l.want(t, "a", 1, 0, 0, 98)
		between := 0
		for _, k := range l.readings {
			if k.read.Disk > 8.01*mib && k.read.Disk < 13.99*mib {
				between++
			}
		}
		if (between > 0) != (p > 0) {
			t.Errorf("pieces of %v: the output was seen between nothing and all %d times", p, between)
		}
	}
}

// TestRunNoiseIsOneFactor: all that disks do in a run takes so many times as long, another factor for every seed.
func TestRunNoiseIsOneFactor(t *testing.T) {
	seen := map[float64]bool{}
	for seed := range uint64(5) {
		x := bench{cluster: slots(t, "1x1+1"), model: round(), jobs: []*workload.Job{mr("a", 1, 1, 8, 4, 6)}, seed: seed}
		x.model.RunNoise = 0.1
		b, _, w := x.run(t)
		b.want(t, "a", 0, 0, 0, 22+28*w.pace)
		seen[w.pace] = true
	}
	if len(seen) != 5 {
		t.Error(seen)
	}
}

// TestMasterStart: a job's own time until its AM is up holds where a worker plays its tasks.
func TestAMStart(t *testing.T) {
	j := mr("a", 1, 0, 4, 0, 0)
	j.AM, j.AMStart = j.Stages[0].Ask, 13*unit.Second
	x := bench{cluster: slots(t, "1x2"), model: round(), jobs: []*workload.Job{j}, engine: sim.Model{StartUp: unit.Second}}
	b, _, _ := x.run(t)
	b.want(t, "a", 0, 0, 13, 13+1+2+4+8)
}
