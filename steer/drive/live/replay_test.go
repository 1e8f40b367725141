package live_test

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/amlimit"
	"github.com/yardmaster/yardmaster/policy/fair"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/steer/drive/live"
	"github.com/yardmaster/yardmaster/steer/marp"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// look is what a policy saw and answered.
type look struct {
	seen  steer.Snapshot
	do    []steer.Action
	again unit.Time
	said  string
}

// recorder keeps all looks of a controller.
type recorder struct {
	marp.Controller
	looks []look
}

func (r *recorder) Step(seen *steer.Snapshot) ([]steer.Action, unit.Time) {
	copied := *seen
	copied.Queues, copied.Jobs = slices.Clone(seen.Queues), slices.Clone(seen.Jobs)
	do, again := r.Controller.Step(seen)
	r.looks = append(r.looks, look{copied, do, again, r.Last().String()})
	return do, again
}

// replay is an engine that shows what was recorded and takes every write.
type replay struct {
	t     *testing.T
	looks []look
	at    int
	spoil func(*steer.Snapshot)
	conf  drive.Value
	wrote []float64
}

func (r *replay) Identity() string                 { return "replay" }
func (r *replay) Spacing(drive.Knob) time.Duration { return 0 }

func (r *replay) Snapshot(context.Context) (steer.Snapshot, error) {
	s := r.looks[min(r.at, len(r.looks)-1)].seen
	r.at++
	s.Queues, s.Jobs = slices.Clone(s.Queues), slices.Clone(s.Jobs)
	if r.spoil != nil {
		r.spoil(&s)
	}
	return s, nil
}

func (r *replay) Value(_ drive.Knob, x float64) drive.Value {
	return drive.Value{Text: fmt.Sprint(x), Set: true, Number: x}
}

func (r *replay) Read(context.Context, drive.Knob) (drive.Value, error) { return r.conf, nil }

func (r *replay) Write(_ context.Context, _ drive.Knob, v drive.Value) error {
	r.conf = v
	r.wrote = append(r.wrote, v.Number)
	return nil
}

func (r *replay) InForce(_ context.Context, _ drive.Knob, v drive.Value) (bool, error) {
	return r.conf == v, nil
}

func controller(t *testing.T, name string) *recorder {
	t.Helper()
	s := marp.Defaults(name, "root.default")
	s.Limit, s.Preset, s.Seed, s.Value = amlimit.Fair, true, 3, 0.25
	c, err := marp.New(name, s)
	if err != nil {
		t.Fatal(err)
	}
	return &recorder{Controller: c}
}

// simulated plays a batch of six jobs under a controller in the simulator and returns its looks.
func simulated(t *testing.T, name string) []look {
	t.Helper()
	var jobs workload.Slice
	one := unit.Resources{Mem: 1024, Cores: 1}
	for i := range 6 {
		jobs = append(jobs, &workload.Job{ID: fmt.Sprint("j", i), Queue: "root.default", AM: unit.Resources{Mem: 2048, Cores: 1}, Stages: []workload.Stage{
			{Tasks: 24, Ask: one, Length: workload.Fixed(40 * unit.Second)},
			{Tasks: 1, Ask: one, Length: workload.Fixed(100 * unit.Second), After: []workload.Edge{{From: 0, SlowStart: 1}}},
		}})
	}
	file, err := conf.ReadFair(strings.NewReader(
		`<allocations><queue name="root"><queue name="default"><maxAMShare>0.05</maxAMShare></queue></queue></allocations>`), "fair-scheduler.xml")
	if err != nil {
		t.Fatal(err)
	}
	c := controller(t, name)
	_, err = sim.Run(context.Background(), sim.Config{
		Cluster: cluster.Uniform(3, 1, unit.Resources{Mem: 17 * 1024, Cores: 17}), Source: jobs.Source(), NoAlone: true, Sink: nothing{},
		Model: sim.Model{Heartbeat: unit.Second}, Steerer: c, Delays: steer.Delays{Sense: unit.Second, Queue: 10 * unit.Second},
		NewPolicy: func() (policy.Policy, error) { return fair.FromConf(file) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.looks) < 10 {
		t.Fatalf("%d looks", len(c.looks))
	}
	return c.looks
}

type nothing struct{}

func (nothing) Job(*sim.JobRecord) {}
func (nothing) Sample(*sim.Sample) {}

// drives lets the driver play a controller on what was recorded, in virtual time.
func drives(t *testing.T, e *replay, name string, act bool) (c *recorder, events []drive.Event) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		c = controller(t, name)
		j, err := live.OpenJournal(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer j.Close()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		err = live.Run(ctx, live.Options{
			Engine: e, Rules: drive.Rules{New: func() (steer.Steerer, error) { return c, nil }, Act: act, Journal: j.Journal, PerHour: 10_000},
			Observe: func(ev drive.Event) {
				if events = append(events, ev); ev.Kind == drive.Decided && e.at >= len(e.looks) {
					cancel()
				}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	return c, events
}

// The value that steers the simulated scheduler steers the live one: shown the same, it decides the same.
func TestTheSameDecisionsAsInTheSimulator(t *testing.T) {
	for _, name := range marp.Names() {
		t.Run(name, func(t *testing.T) {
			want := simulated(t, name)
			acts := 0
			for _, act := range []bool{true, false} {
				e := &replay{t: t, looks: want, conf: drive.Value{Text: "0.05", Set: true, Number: 0.05}}
				c, events := drives(t, e, name, act)
				if len(c.looks) != len(want) {
					t.Fatalf("%d looks, want %d", len(c.looks), len(want))
				}
				for i := range want {
					if !reflect.DeepEqual(c.looks[i], want[i]) {
						t.Fatalf("look %d: got  %v\nwant %v", i, c.looks[i].said, want[i].said)
					}
					acts += len(want[i].do)
				}
				if e.conf.Text != "0.05" || act != (len(e.wrote) > 0) {
					t.Errorf("%v at the end, written %v", e.conf, e.wrote)
				}
				// The line of a decision has the pairs that the controller gives.
				i := slices.IndexFunc(events, func(ev drive.Event) bool { return ev.Kind == drive.Decided })
				if got := events[i].String(); !strings.HasPrefix(got, "decided ") || !strings.Contains(got, "decision=") || events[i].Snapshot == nil {
					t.Error(got)
				}
			}
			t.Logf("%d looks, %d actions", len(want), acts/2)
		})
	}
}

// Whatever a sensor says that cannot be, nothing is written.
func TestSensorsThatLie(t *testing.T) {
	want := simulated(t, "ahead")
	lies := map[string]func(*steer.Snapshot){
		"waiting":  func(s *steer.Snapshot) { s.Queues[queue(s)].Waiting = 1_000_000_000 },
		"negative": func(s *steer.Snapshot) { s.Queues[queue(s)].Running = -1 },
		"idle":     func(s *steer.Snapshot) { s.CPUIdle = math.NaN() },
		"memory":   func(s *steer.Snapshot) { s.Total.Mem = -5 },
		"nodes":    func(s *steer.Snapshot) { s.Nodes = 0 },
		"stale":    func(s *steer.Snapshot) { s.Age = unit.Hour },
		"queue":    func(s *steer.Snapshot) { s.Queues = nil },
	}
	for name, lie := range lies {
		for _, who := range marp.Names() {
			t.Run(name+" "+who, func(t *testing.T) {
				e := &replay{t: t, looks: want, spoil: lie, conf: drive.Value{Text: "0.05", Set: true, Number: 0.05}}
				c, events := drives(t, e, who, true)
				if len(e.wrote) > 0 {
					t.Errorf("written: %v", e.wrote)
				}
				for _, ev := range events {
					if ev.Kind == drive.Decided && !strings.Contains(ev.String(), "decision=refuse why=") {
						t.Fatal(ev)
					}
				}
				if !c.Refused() {
					t.Error(c.Last())
				}
			})
		}
	}
}

func queue(s *steer.Snapshot) int {
	return slices.IndexFunc(s.Queues, func(q steer.Queue) bool { return q.Name == "root.default" })
}
