package yarn

import (
	"context"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// recorder records the calls to a scheduler, as the log of a ResourceManager does.
type recorder struct {
	rm.Scheduler
	script Script
	fresh  bool // the next request is that for an AM
}

func (r *recorder) note(kind InstantKind, at unit.Time, node int32, job int64) {
	r.script.Instants = append(r.script.Instants, Instant{At: at, Kind: kind, Node: node, Job: job})
}

func (r *recorder) Added(a *rm.App, now unit.Time) error {
	r.note(Added, now, 0, a.Seq)
	r.fresh = !a.AM.IsZero()
	return r.Scheduler.Added(a, now)
}

func (r *recorder) Asked(a *rm.App, asks []rm.Ask, release []*rm.Container, now unit.Time) error {
	if !r.fresh {
		r.note(Tick, now, 0, a.Seq)
	}
	r.fresh = false
	return r.Scheduler.Asked(a, asks, release, now)
}

func (r *recorder) Beat(n *rm.Node, now unit.Time) []*rm.Container {
	r.note(Beat, now, n.Index, 0)
	return r.Scheduler.Beat(n, now)
}

func (r *recorder) Round(now unit.Time) rm.Notice {
	r.note(Round, now, 0, 0)
	return r.Scheduler.Round(now)
}

// A run whose instants were logged is the same run again when they are replayed, whatever the phases and intervals are then.
func TestReplay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := cluster.Uniform(3, 2, gb.Times(8))
		jobs := drawJobs(t, 3, true)
		fresh := func() *fifo {
			f := newFIFO()
			f.every = 7 * s
			f.check = t.Fatalf
			return f
		}
		first := &recorder{Scheduler: fresh()}
		out, _ := play(t, Config{Cluster: c, Timing: SLS(), Seed: 7}, first, jobs...)
		other := SLS()
		other.SubmitToAdded = 400 * ms
		again, _ := play(t, Config{Cluster: c, Timing: other, Seed: 7, Phases: []unit.Time{0, 0, 0}, Script: &first.script}, fresh(), jobs...)
		if a, b := out.tell(), again.tell(); a != b {
			t.Fatalf("first\n%sagain\n%s", a, b)
		}
		if !reflect.DeepEqual(out.jobs, again.jobs) {
			t.Fatalf("first\n%+v\nagain\n%+v", out.jobs, again.jobs)
		}
	})
}

// When nobody is there, reports are left out: that changes nothing.
func TestIdleTimesAreLeftOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs := drawJobs(t, 3, true)
		timing := rapid.SampledFrom([]Timing{SLS(), Hadoop()}).Draw(t, "timing")
		run := func(restless bool) (*seen, sim.Summary) {
			out := &seen{}
			f := newFIFO()
			f.every = 7 * s
			e, err := newEngine(Config{
				Cluster: cluster.Uniform(3, 2, gb.Times(8)), Timing: timing, Seed: 7, NoAlone: true, Sink: out, Source: workload.Slice(jobs).Source(),
				NewScheduler: func() (rm.Scheduler, error) { return f, nil }, Containers: func(r *ContainerRecord) { out.conts = append(out.conts, *r) },
			})
			if err != nil {
				t.Fatal(err)
			}
			e.restless = restless
			if restless {
				e.wake()
			}
			sum, err := e.loop(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			return out, sum
		}
		a, sumA := run(false)
		b, sumB := run(true)
		if !reflect.DeepEqual(a.jobs, b.jobs) || !reflect.DeepEqual(a.conts, b.conts) {
			t.Fatalf("%+v\n%+v", a.jobs, b.jobs)
		}
		if sumA.Events > sumB.Events || sumA.Busy != sumB.Busy {
			t.Fatalf("%+v\n%+v", sumA, sumB)
		}
	})
}

func TestScriptIsChecked(t *testing.T) {
	for _, in := range [][]Instant{
		{{At: 5, Kind: Beat}, {At: 4, Kind: Beat}},
		{{At: -1, Kind: Beat}},
		{{At: 1, Kind: Beat, Node: 7}},
		{{At: 1, Kind: 9}},
	} {
		_, err := Run(context.Background(), Config{
			Cluster: cluster.Uniform(1, 1, gb), Timing: SLS(), Sink: nowhere{}, Source: workload.Slice(nil).Source(), Script: &Script{Instants: in},
			NewScheduler: func() (rm.Scheduler, error) { return newFIFO(), nil },
		})
		if err == nil {
			t.Errorf("%+v is taken", in)
		}
	}
}

// An unmanaged AM holds what it was given from the answer to its call on, and decides what to give back when it sends the next
// one: a log may tell both instants beside that at which the ResourceManager handled the call.
func TestReplayOfUnmanaged(t *testing.T) {
	for _, c := range []struct {
		cause, answer unit.Time
		end           unit.Time
	}{
		{0, 0, 2060 * ms},
		{2040 * ms, 1050 * ms, 3000 * ms}, // held until 2.05 s, looked at 2.04 s
		{2050 * ms, 1050 * ms, 2060 * ms},
	} {
		j := mr("j", 0, 1, s, 0, 0)
		j.AM = unit.Resources{}
		cfg := oneNode(4)
		cfg.Script = &Script{Instants: []Instant{
			{At: 50 * ms, Kind: Added}, {At: 100 * ms, Kind: Tick}, {At: 200 * ms, Kind: Beat}, {At: 1000 * ms, Kind: Tick, Answer: c.answer},
			{At: 2060 * ms, Kind: Tick, Cause: c.cause}, {At: 3000 * ms, Kind: Tick},
		}}
		out, _ := play(t, cfg, newFIFO(), j)
		if r := out.jobs[0]; r.Finish != c.end {
			t.Errorf("cause %v, answer %v: it ended at %v, want %v", c.cause, c.answer, r.Finish, c.end)
		}
	}
}
