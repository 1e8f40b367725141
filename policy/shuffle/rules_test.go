package shuffle

import (
	"slices"
	"testing"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/fifo"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Output of a map that ends after some reduces have started waits only for the others.
func TestUnfetchedByReducesToCome(t *testing.T) {
	for started, want := range []float64{40, 30, 20, 10, 0} {
		jobs := tracker(2, 3)
		jobs.Unfetched = true
		j := jobs.Arrived(mapReduce(0, 2, 4, 80, 80))
		n := &policy.Node{}
		start(jobs, j, 0, n)
		for range started {
			start(jobs, j, 1, &policy.Node{Index: 1})
		}
		end(jobs, j, 0, n, policy.Done)
		if got := jobs.Load(0); got != want {
			t.Errorf("%d of 4 reduces have started: %v, want %v", started, got, want)
		}
	}
}

// wires is a network of which every rack has the same load.
type wires struct{ now, carried [2]float64 } // in, out

func (w *wires) Uplink(int32) (in, out float64)  { return w.now[0], w.now[1] }
func (w *wires) Carried(int32) (in, out float64) { return w.carried[0], w.carried[1] }

// A rack is congested if the mean load of its busier direction since the last tick is at least the threshold; at its first query,
// the present load. A rack that nobody asked for is not sampled.
func TestCongestion(t *testing.T) {
	for _, x := range []struct {
		now  [2]float64
		want bool
	}{{[2]float64{0.75, 0}, true}, {[2]float64{0, 0.75}, true}, {[2]float64{0.74, 0.74}, false}} {
		l := Links{Threshold: 0.75, net: &wires{now: x.now}}
		if got := l.Congested(0); got != x.want {
			t.Errorf("load %v: congested %v", x.now, got)
		}
	}
	for _, direction := range []int{0, 1} {
		w := &wires{carried: [2]float64{100, 100}}
		l := Links{Period: 2 * unit.Second, Threshold: 0.75, sampled: 10 * unit.Second, net: w}
		l.Congested(1)
		for i, step := range []struct {
			at, carried        float64
			congested, changed bool
		}{
			{12, 1.5, true, false}, // 0.75 of two seconds
			{14, 1.5, true, false},
			{18, 2.75, false, true}, // 0.6875 of four
			{20, 1.25, false, false},
			{21, 0.75, true, false},
		} {
			at := unit.FromSeconds(step.at)
			w.carried[direction] += step.carried
			again, changed := l.Tick(at)
			if again != at+2*unit.Second || changed != step.changed || l.WasCongested(1) != step.congested || l.WasCongested(0) {
				t.Errorf("direction %d, step %d: again at %v, changed %v, congested %v", direction, i, again, changed, l.WasCongested(1))
			}
		}
		if again, changed := l.Tick(21 * unit.Second); again != 23*unit.Second || changed || !l.WasCongested(1) {
			t.Error("a tick at the same instant is a sample")
		}
	}
}

// every is a timer of a policy.
type every struct {
	period unit.Time
	ticks  []unit.Time
}

func (e *every) Tick(now unit.Time) (again unit.Time, changed bool) {
	e.ticks = append(e.ticks, now)
	return now + e.period, true
}

// The meter samples once a second, and the policy's own timer ticks when it asked to, whichever is more often.
func TestMeterSamplesEverySecond(t *testing.T) {
	const ms = unit.Millisecond
	for _, x := range []struct {
		period       unit.Time // 0: the policy has no timer
		asked, ticks []unit.Time
	}{
		{0, []unit.Time{0, 1000 * ms, 2000 * ms}, nil},
		{1500 * ms, []unit.Time{0, 1000 * ms, 1500 * ms, 2000 * ms}, []unit.Time{0, 1500 * ms}},
		{1000 * ms, []unit.Time{0, 1000 * ms, 2000 * ms}, []unit.Time{0, 1000 * ms, 2000 * ms}},
		{800 * ms, []unit.Time{0, 800 * ms, 1000 * ms, 1600 * ms, 2000 * ms}, []unit.Time{0, 800 * ms, 1600 * ms}},
	} {
		own := &every{period: x.period}
		made := policy.Policy{Order: fifo.New()}
		if x.period > 0 {
			made.Timer = own
		}
		p, m, err := Watch(made)
		if err != nil {
			t.Fatal(err)
		}
		m.Uplinks(&wires{}, 2, 0.8)
		var asked []unit.Time
		for at := unit.Time(0); at <= 2*unit.Second; {
			before := len(own.ticks)
			asked = append(asked, at)
			again, changed := p.Timer.Tick(at)
			if changed != (len(own.ticks) > before) {
				t.Errorf("timer of %v at %v: changed %v", x.period, at, changed)
			}
			if again <= at {
				t.Fatalf("timer of %v at %v: again at %v", x.period, at, again)
			}
			at = again
		}
		if !slices.Equal(asked, x.asked) || !slices.Equal(own.ticks, x.ticks) || m.linkTicks != 2*3 {
			t.Errorf("timer of %v: ticks at %v, of its own at %v, %d samples of two racks", x.period, asked, own.ticks, m.linkTicks)
		}
	}
}

// The meter counts nodes above the threshold while there are maps, racks that are congested, and how often one becomes so.
func TestMeterCounts(t *testing.T) {
	w := &wires{}
	p, m, err := Watch(policy.Policy{Order: fifo.New()})
	if err != nil {
		t.Fatal(err)
	}
	m.Uplinks(w, 2, 0.75)
	p.Order.Resized(0, policy.Cluster{Total: one.Times(4), Nodes: 2})
	for i, carried := range []float64{0, 0.75, 1, 0, 0.75} { // in each second
		w.carried[0] += carried
		p.Timer.Tick(unit.Time(i) * unit.Second)
	}
	if events, share := m.Congestion(); events != 2*2 || share != 3./5 || m.OverThreshold() != 0 {
		t.Errorf("two racks became congested %d times, for %v of the time; %v of nodes without maps are above the threshold", events,
			share, m.OverThreshold())
	}
	// Jobs of 10 and 30 MB a map: 20 MB on average, 40 MB on a node of two containers. Two maps of the second are 60 MB.
	for seq, input := range []unit.Bytes{20 * MB, 60 * MB} {
		j := mapReduce(int64(seq), 2, 1, input, 0)
		if err := p.Order.Arrived(0, j); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			p.Order.Started(&policy.Event{Job: j, Node: &policy.Node{Index: int32(seq)}, Size: one})
		}
	}
	p.Timer.Tick(5 * unit.Second)
	if got := m.OverThreshold(); got != 0.5 {
		t.Errorf("%v of the nodes are above the threshold, want one of two", got)
	}
}

// A node has as many containers as its memory and its vcores allow, at least one, or its share of the map slots.
func TestContainersOfANode(t *testing.T) {
	for _, x := range []struct {
		ask   unit.Resources
		slots int64
		want  int64 // of two nodes of six units each
	}{
		{one, 0, 12}, {unit.Resources{Mem: 2048, Cores: 1}, 0, 6},
		{unit.Resources{Mem: 1024, Cores: 3}, 0, 4}, {unit.Resources{Mem: 1024}, 0, 12},
		{unit.Resources{Cores: 2}, 0, 6}, {one.Times(7), 0, 2}, {unit.Resources{}, 0, 2}, {one, 9, 8}, {one, 1, 2},
	} {
		jobs := &Jobs{Bounds: DefaultBounds()}
		jobs.Resized(policy.Cluster{Total: one.Times(12), Nodes: 2, Slots: [policy.Slots]int64{policy.MapSlot: x.slots}})
		v := mapReduce(0, 1, 0, 0, 0)
		v.Stages[0].Ask = x.ask
		jobs.Arrived(v)
		if got := jobs.Containers(); got != x.want {
			t.Errorf("containers of %v, %d slots: %d, want %d", x.ask, x.slots, got, x.want)
		}
	}
}

// The ratio of a class is learned only on request, from a job with a class of which a map with input has finished.
func TestWhatIsLearned(t *testing.T) {
	for _, x := range []struct {
		learn bool
		class string
		input unit.Bytes
		done  bool
		want  int
	}{{true, "sort", 100, true, 1}, {false, "sort", 100, true, 0}, {true, "", 100, true, 0},
		{true, "sort", 0, true, 0}, {true, "sort", 100, false, 0}} {
		jobs := tracker(1, 1)
		jobs.Learn = x.learn
		v := mapReduce(0, 1, 1, x.input, 50)
		v.Class = x.class
		j := jobs.Arrived(v)
		if x.done {
			start(jobs, j, 0, &policy.Node{})
			end(jobs, j, 0, &policy.Node{}, policy.Done)
		}
		jobs.Left(j)
		if len(jobs.Ratios) != x.want || x.want > 0 && jobs.Ratios["sort"] != 0.5 {
			t.Errorf("%+v: %v", x, jobs.Ratios)
		}
	}
}

// users is an order of users with one job of a map and a reduce, both of which can start.
func users(t *testing.T, edit func(*Users, *policy.Job)) (*Users, *policy.Job) {
	t.Helper()
	o := &Users{Jobs: Jobs{Bounds: DefaultBounds()}}
	o.Resized(0, policy.Cluster{Total: one.Times(4), Nodes: 2})
	j := mapReduce(0, 1, 1, 2*MB, 2*MB)
	j.Stages[1].Later = 0
	j.Want(policy.MapSlot, 2)
	edit(o, j)
	if err := o.Arrived(0, j); err != nil {
		t.Fatal(err)
	}
	return o, j
}

// A start ends its user's wait for that kind of task, and one that was undone does not.
func TestWaitsAfterAStart(t *testing.T) {
	for stage, kind := range []int{ForMap, ForReduce} {
		o, j := users(t, func(*Users, *policy.Job) {})
		wait := &o.UserOf(o.Of(0)).Wait
		for range 2 {
			wait[ForMap].Skip(unit.Second)
			wait[ForReduce].Skip(unit.Second)
		}
		waited := func(k int, since unit.Time) bool {
			return (Bound{Skips: 2}).Over(&wait[k], 0) && (Bound{Timed: true, Time: since - unit.Second}).Over(&wait[k], since)
		}
		e := &policy.Event{Job: j, Stage: stage, Node: &policy.Node{}, Size: one}
		o.Started(e)
		if waited(kind, 9*unit.Second) || !waited(1-kind, 9*unit.Second) {
			t.Errorf("after the start of stage %d: %+v", stage, *wait)
		}
		e.Why = policy.Undone
		o.Ended(e)
		if !waited(kind, 9*unit.Second) || !waited(1-kind, 9*unit.Second) {
			t.Errorf("after that of stage %d was undone: %+v", stage, *wait)
		}
	}
}

// The stage that would start: the first with tasks to start, of the kind and for the slot offered.
func TestOpenStage(t *testing.T) {
	after := []workload.Edge{{}}
	j := &Job{Job: &policy.Job{Stages: []policy.Stage{
		{Pending: 1, Later: 1}, {Pending: 1}, {Pending: 1},
		{Pending: 1, After: after, Slot: policy.ReduceSlot}, {Pending: 2, After: after},
	}}}
	for _, x := range []struct {
		reduce bool
		slot   uint8
		want   int
	}{{false, policy.MapSlot, 1}, {false, policy.ReduceSlot, -1}, {true, policy.ReduceSlot, 3}, {true, policy.MapSlot, 4}} {
		if got := j.Open(x.reduce, x.slot); got != x.want {
			t.Errorf("%+v: %d", x, got)
		}
	}
}

// Maps of light jobs, and on request those of unpredicted ones, may start where the others may not.
func TestLightMaps(t *testing.T) {
	for _, x := range []struct {
		light       float64 // the job shuffles 2 MB
		unpredicted bool
		ratio       float64 // known from its class; 0: it is not predicted
		want        bool
	}{{3 * MB, false, 0, true}, {3 * MB, false, 1, true}, {MB, false, 0, false}, {MB, true, 0, true}, {MB, true, 1, false}} {
		o, _ := users(t, func(o *Users, j *policy.Job) {
			o.Bounds.Light, o.Unpredicted = x.light, x.unpredicted
			if x.ratio > 0 {
				o.Ratios = map[string]float64{"": x.ratio}
			}
		})
		if got := o.Waits(LightMaps); got != x.want || !o.Waits(Maps) {
			t.Errorf("%+v: %v", x, got)
		}
	}
}
