package deadline

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

var queues = []string{"root.q", "root.q-deadlines.q-d1", "root.q-deadlines.q-d2", "root.q-deadlines.q-d3"}

func made(t testing.TB, queues []string, set ...string) *steerer {
	t.Helper()
	d, err := newSteerer(&steer.Setup{Queue: queues[0], Queues: queues, Set: set})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// snapshot shows jobs of containers of 1 GiB, in slots that may hold 20 of them.
func snapshot(now unit.Time, jobs ...steer.Job) *steer.Snapshot {
	s := &steer.Snapshot{Now: now, Total: unit.Resources{Mem: 20 << 10, Cores: 20}, Jobs: jobs}
	held, total := map[string]unit.Resources{}, unit.Resources{}
	for i := range jobs {
		jobs[i].Held = unit.Resources{Mem: jobs[i].Running << 10, Cores: jobs[i].Running}
		held[jobs[i].Queue] = held[jobs[i].Queue].Add(jobs[i].Held)
		total = total.Add(jobs[i].Held)
	}
	for _, q := range queues {
		s.Queues = append(s.Queues, steer.Queue{Name: q, Used: held[q], Ceiling: unit.Resources{Mem: max(20<<10-total.Mem+held[q].Mem, 1)}})
	}
	return s
}

// counted is a job whose tasks of 10 s the engine counts.
func counted(id, queue string, goal string, done, running, left int64) steer.Job {
	return steer.Job{
		ID: id, Queue: queue, Started: true, Tags: goal, Tasks: done + running + left, Done: done, Running: running, Service: steer.Service{CoreSeconds: 10*done + 5*running},
	}
}

// waiting is a job without a goal that waits.
func waiting(id, user string) steer.Job {
	return steer.Job{ID: id, User: user, Queue: "root.q", Pending: 5}
}

func of(user string, j steer.Job) steer.Job {
	j.User = user
	return j
}

func list(do []steer.Action) string {
	var out []string
	for _, a := range do {
		switch {
		case a.Kind == steer.MoveJob:
			out = append(out, a.Job+">"+a.Queue[strings.LastIndexByte(a.Queue, '.')+1:])
		case a.Kind == steer.SetPriority:
			out = append(out, fmt.Sprintf("%s=%g", a.Job, a.Value))
		case a.Property == maximum:
			out = append(out, fmt.Sprintf("%s<=%g", a.Queue[strings.LastIndexByte(a.Queue, '.')+1:], a.Value))
		default:
			for _, s := range a.Shares {
				out = append(out, fmt.Sprintf("%s:%g", s.Queue[strings.LastIndexByte(s.Queue, '.')+1:], s.Value))
			}
		}
		if a.Why == "" {
			out = append(out, "without a reason")
		}
	}
	return strings.Join(out, " ")
}

const at = 100 * unit.Second

func TestStep(t *testing.T) {
	full := "root.q-deadlines."
	for _, c := range []struct {
		name string
		set  []string
		jobs []steer.Job
		want string
		why  string
	}{
		{name: "nothing", want: ""},
		{name: "no goal stays in the intake", jobs: []steer.Job{{ID: "a", Queue: "root.q"}}},
		{name: "other queues are not touched", jobs: []steer.Job{{ID: "a", Queue: "root.other", Tags: "goal:200s"}}},
		{name: "a new one takes everything", jobs: []steer.Job{{ID: "a", Queue: "root.q", Tags: "goal:200s", Pending: 30}}, want: "q-d1:99.8 q-d2:0.1 q-d3:0.1 a>q-d1", why: "no task has finished"},
		{name: "the short name of the queue", jobs: []steer.Job{{ID: "a", Queue: "q", Tags: "goal:200s", Pending: 30}}, want: "q-d1:99.8 q-d2:0.1 q-d3:0.1 a>q-d1"},
		{name: "by need, with the surplus", jobs: []steer.Job{counted("a", full+"q-d1", "goal:200s", 5, 4, 96), counted("b", full+"q-d2", "goal:200s", 5, 2, 48)},
			set: []string{"tail-guard=no"}, want: "q-d1:59.92 q-d2:39.98 q-d3:0.1"}, // of 9.8 and 4.9: 12 and 8
		{name: "no more than needed", set: []string{"mode=min", "tail-guard=no"}, jobs: []steer.Job{counted("a", full+"q-d1", "goal:200s", 5, 4, 96), counted("b", full+"q-d2", "goal:200s", 5, 2, 48)},
			want: "q-d1:0.1 q-d2:0.1 q-d3:99.8 q-d1<=52.5 q-d2<=27.5"}, // 10 and 5, and half a container
		{name: "the last slot stays empty", set: []string{"mode=min"}, jobs: []steer.Job{
			{ID: "a", Queue: "root.q", Tags: "goal:200s", Pending: 3}, {ID: "b", Queue: "root.q", Tags: "goal:300s", Pending: 3}, {ID: "c", Queue: "root.q", Tags: "goal:400s", Pending: 3},
		}, want: "q-d1:0.1 q-d2:0.1 q-d3:99.8 q-d1<=17.5 q-d2<=17.5 a>q-d1 b>q-d2", why: "c waits for a free slot"},
		{name: "out of the slot that stays empty", set: []string{"mode=min"}, jobs: []steer.Job{{ID: "a", Queue: full + "q-d3", Tags: "goal:200s", Pending: 3}},
			want: "q-d1:0.1 q-d2:0.1 q-d3:99.8 q-d1<=17.5 a>q-d1"},
		{name: "a job without a goal leaves its slot", jobs: []steer.Job{{ID: "a", Queue: full + "q-d1"}, {ID: "b", Queue: "root.q", Tags: "goal:200s", Pending: 3}},
			want: "q-d1:0.1 q-d2:99.8 q-d3:0.1 b>q-d2 a>q"},
		{name: "a missed one first, then those without data, by age", jobs: []steer.Job{
			counted("a", "root.q", "goal:200s", 5, 4, 96), {ID: "b", Queue: "root.q", Tags: "goal:150s", Pending: 3, Submitted: 2 * unit.Second},
			{ID: "c", Queue: "root.q", Tags: "goal:300s", Pending: 3, Submitted: unit.Second}, counted("d", "root.q", "goal:50s", 5, 1, 3),
		}, want: "q-d1:57.08 q-d2:42.82 q-d3:0.1 d>q-d1 c>q-d2", why: "b waits for a free slot"},
		{name: "half for those with nothing to show, while another user waits", jobs: []steer.Job{{ID: "a", Queue: "root.q", Tags: "goal:200s", Pending: 30}, waiting("w", "bob")},
			want: "q-d1:0.1 q-d2:0.1 q-d3:99.8 q-d1<=52.5 a>q-d1"}, // 10 and a half
		{name: "half for late ones, too", jobs: []steer.Job{counted("a", full+"q-d1", "goal:90s", 5, 4, 40), waiting("w", "bob")},
			want: "q-d1:0.1 q-d2:0.1 q-d3:99.8 q-d1<=52.5"},
		{name: "all while only the same user waits", jobs: []steer.Job{counted("a", full+"q-d1", "goal:90s", 5, 4, 40), waiting("w", "")}, want: "q-d1:99.8 q-d2:0.1 q-d3:0.1"},
		{name: "all with missed-share=1", set: []string{"missed-share=1"}, jobs: []steer.Job{counted("a", full+"q-d1", "goal:90s", 5, 4, 40), waiting("w", "bob")}, want: "q-d1:99.8 q-d2:0.1 q-d3:0.1"},
		{name: "late ones leave a slot to others", jobs: []steer.Job{counted("a", "root.q", "goal:90s", 5, 4, 40), counted("b", "root.q", "goal:95s", 5, 4, 40)},
			want: "q-d1:99.8 q-d2:0.1 q-d3:0.1 a>q-d1", why: "b has missed its goal: the last slot is for jobs that can still meet theirs"},
		{name: "a goal that could not be met at submission is none", jobs: []steer.Job{counted("a", full+"q-d1", "goal:10s", 5, 4, 40), counted("b", full+"q-d2", "goal:40s", 5, 4, 96)},
			want: "a>q b>q", why: "a: its goal is 10 s after its submission, and it takes at least"},
		{name: "nor is one that comes before the second sample", jobs: []steer.Job{{ID: "a", Queue: "root.q", Tags: "goal:9s", Pending: 3, Submitted: at - unit.Second}}, why: "samples are 5 s apart"},
		{name: "slots are shared among users", jobs: []steer.Job{
			of("eve", counted("a", full+"q-d1", "goal:300s", 5, 4, 40)), of("eve", counted("b", full+"q-d2", "goal:300s", 5, 2, 20)), of("ann", counted("c", "root.q", "goal:300s", 5, 1, 10)),
		}, want: "q-d1:49.95 q-d2:49.95 q-d3:0.1 c>q-d1 a>q", why: "a back to the intake: it leaves its slot to another user's job"},
		{name: "so are containers, by need and up to an equal share", set: []string{"tail-guard=no"}, jobs: []steer.Job{
			of("eve", counted("a", full+"q-d1", "goal:110s", 5, 8, 96)), of("ann", counted("b", full+"q-d2", "goal:200s", 5, 8, 96)),
		}, want: "q-d1:49.95 q-d2:49.95 q-d3:0.1"},
		{name: "bad tags", jobs: []steer.Job{{ID: "a", Queue: "root.q", Tags: "deadline:soon"}}, why: `a: its tag deadline:"soon" is not an instant`},
	} {
		d := made(t, queues, c.set...)
		do, again := d.Step(snapshot(at, c.jobs...))
		if got := list(do); got != c.want || again != 5*unit.Second {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		decision, why := steer.Decided(d.Explain())
		if !strings.Contains(why, c.why) || (decision == "set") != (len(do) > 0) {
			t.Errorf("%s: %s %s", c.name, decision, why)
		}
	}
}

func TestPriorities(t *testing.T) {
	d := made(t, queues[:1], "tail-guard=no")
	a, b := counted("a", "root.q", "goal:200s", 5, 4, 96), counted("b", "root.q", "goal:200s", 5, 2, 148)
	step := func(now unit.Time, want string) {
		t.Helper()
		do, _ := d.Step(snapshot(now, a, b))
		if got := list(do); got != want {
			t.Errorf("at %v: %s, want %s", now, got, want)
		}
	}
	step(at, "b=10 a=9") // needs 12.9 and 5.8
	a.Priority, b.Priority = 9, 10
	b.Running, b.Tasks = 10, 165
	step(at+unit.Second, "") // 5.5 and 5.9: less than a container apart
	b.Running = 14
	step(at+2*unit.Second, "a=10 b=9")
	a.Priority, b.Priority = 3, 9 // somebody else's
	step(at+3*unit.Second, "")
	if _, why := steer.Decided(d.Explain()); !strings.Contains(why, "a has a priority that somebody else has set") {
		t.Error(why)
	}
}

// A job gets its own priority back when its goal counts as none, and while too much is held by what it is among.
func TestOwnPriority(t *testing.T) {
	d := made(t, queues[:1], "tail-guard=no")
	forged, ann := of("eve", counted("e", "root.q", "goal:200s", 0, 4, 96)), of("ann", counted("a", "root.q", "goal:300s", 5, 2, 40))
	step := func(now unit.Time, want, why string, jobs ...steer.Job) {
		t.Helper()
		do, _ := d.Step(snapshot(now, jobs...))
		_, said := steer.Decided(d.Explain())
		if got := list(do); got != want || !strings.Contains(said, why) {
			t.Errorf("at %v: %s, want %s: %s", now, got, want, said)
		}
	}
	forged.Priority = 2
	step(at, "e=10 a=9", "e is number 1 of 2", forged, ann) // no estimate: first
	forged.Priority, ann.Priority, forged.Running = 10, 9, 12
	step(at+5*unit.Second, "e=2 a=10", "jobs that have missed their goals or have no estimate hold 60 %", forged, ann)
	forged.Priority, ann.Priority, forged.Running = 2, 10, 9
	step(at+10*unit.Second, "", "nothing to change", forged, ann) // not yet a fifth less
	forged.Running = 8
	step(at+15*unit.Second, "e=10 a=9", "", forged, ann)
	forged.Priority, ann.Priority, forged.Done, forged.Service.CoreSeconds = 10, 9, 1, 900
	step(at+16*unit.Second, "e=2 a=10", "e gets its own priority back: its goal is 3.3 min after its submission", forged, ann)
	hog := of("eve", counted("h", "root.q", "goal:150s", 5, 11, 96))
	d, ann.Running, ann.Priority = made(t, queues[:1], "tail-guard=no"), 2, 0
	step(at, "a=10", "", hog, ann) // eve holds more than half
}

// A cluster that allows fewer priorities shows it in the first one that is set.
func TestLowPriorities(t *testing.T) {
	d := made(t, queues[:1])
	a, b := counted("a", "root.q", "goal:200s", 5, 1, 96), counted("b", "root.q", "goal:200s", 5, 2, 48)
	d.Step(snapshot(at, a, b))
	a.Priority, b.Priority = 4, 4
	if do, _ := d.Step(snapshot(at+unit.Second, a, b)); list(do) != "b=3" {
		t.Errorf("%s", list(do))
	}
}

// Changes of one container are not written.
func TestHysteresis(t *testing.T) {
	d := made(t, queues, "mode=min", "tail-guard=no")
	step := func(now unit.Time, left int64, want string) {
		t.Helper()
		do, _ := d.Step(snapshot(now, counted("a", queues[1], "goal:200s", 5, 4, left)))
		if got := list(do); got != want {
			t.Errorf("%d left: %s, want %s", left, got, want)
		}
	}
	step(at, 76, "q-d1:0.1 q-d2:0.1 q-d3:99.8 q-d1<=42.5") // 8
	step(at, 86, "")                                       // 9
	step(at, 66, "")                                       // 7
	step(at, 99, "q-d1<=57.5")                             // 11
	step(at, 86, "q-d1<=47.5")                             // 9
}

// A fresh policy goes on from what it finds.
func TestRestart(t *testing.T) {
	jobs := []steer.Job{counted("a", queues[2], "goal:200s", 5, 4, 96), counted("b", queues[1], "goal:300s", 5, 4, 48), counted("c", queues[0], "goal:300s", 5, 4, 48)}
	for range 2 {
		d := made(t, append(slices.Clone(queues), "root.q-deadlines.q-d4"))
		for n := range 3 {
			do, _ := d.Step(snapshot(at+unit.Time(n)*unit.Second, jobs...))
			do = slices.DeleteFunc(do, func(a steer.Action) bool { return a.Kind != steer.MoveJob })
			if got := list(do); n == 0 && got != "c>q-d3" || n > 0 && got != "" {
				t.Errorf("sample %d: %s", n, got)
			}
		}
	}
}

// A job that somebody takes out of its slot stays outside.
func TestTakenOut(t *testing.T) {
	d := made(t, queues)
	d.Step(snapshot(at, counted("a", queues[1], "goal:200s", 5, 4, 96)))
	do, _ := d.Step(snapshot(at+5*unit.Second, counted("a", queues[0], "goal:200s", 5, 4, 96)))
	if _, why := steer.Decided(d.Explain()); list(do) != "" || !strings.Contains(why, "was moved out of its slot by somebody else") {
		t.Errorf("%s: %s", list(do), why)
	}
}

// What is refused is tried again ever more rarely. If it was refused from the start, priorities are used, and jobs return to the intake.
func TestRefusals(t *testing.T) {
	d := made(t, queues)
	job, waiting := counted("a", queues[1], "goal:200s", 5, 4, 96), counted("b", queues[0], "goal:200s", 5, 0, 4)
	var asked []unit.Time
	back := false
	for now := at; now < at+150*unit.Second; now += 5 * unit.Second {
		do, _ := d.Step(snapshot(now, job, waiting))
		_, why := steer.Decided(d.Explain())
		for _, a := range do {
			switch got := list([]steer.Action{a}); {
			case got == "b>q-d2":
				asked = append(asked, now)
				d.NotMade(a)
			case strings.Contains(why, "priorities instead"):
				if back = back || got == "a>q"; got != "a>q" && got != "a=10" && got != "b=9" {
					t.Errorf("%s: %s", got, why)
				}
				job.Priority, waiting.Priority = 10, 9
			case a.Kind != steer.SetQueue:
				t.Errorf("%s: %s", got, why)
			}
		}
	}
	if !back {
		t.Error("a is still in its slot")
	}
	if want := []unit.Time{at, at + 10*unit.Second, at + 30*unit.Second}; !slices.Equal(asked, want) {
		t.Errorf("asked at %v", asked)
	}
	d = made(t, queues)
	do, _ := d.Step(snapshot(at, job))
	d.NotMade(do[0])
	d.Step(snapshot(at+5*unit.Second, job))
	if _, why := steer.Decided(d.Explain()); !strings.Contains(why, "properties of queues were refused: next attempt in 5 s") {
		t.Error(why)
	}
	if do, _ := d.Step(snapshot(at+10*unit.Second, job)); list(do) == "" {
		t.Error("not tried again")
	}
}

func TestSettings(t *testing.T) {
	for _, c := range []struct {
		queues []string
		set    string
	}{
		{queues, "mode=middle"}, {queues, "refresh=1s"}, {queues, "interval=1ms"}, {queues, "priority=0"}, {queues, "missed-share=2"}, {queues, "min-samples=x"},
		{queues[:1], "mode=min"}, {queues[:2], "mode=min"}, {[]string{"root.a", "root.b.c", "root.d.e"}, "mode=max"}, {[]string{"root.a.b", "root.a.c", "root.a.b"}, "mode=max"},
	} {
		if _, err := newSteerer(&steer.Setup{Queues: c.queues, Set: []string{c.set}}); err == nil {
			t.Errorf("%v %s is accepted", c.queues, c.set)
		}
	}
	made(t, queues, "mode=min", "round=nearest", "clamp=no", "nodata-cap=5", "missed-share=0.5", "min-samples=3", "interval=10s", "priority=5")
}

// The mean length of tasks is found from the counts of an engine that knows them, and from containers alone; also from the middle of a job on.
func TestPropertyMeter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		length := unit.Time(rapid.IntRange(6, 60).Draw(t, "length")) * unit.Second
		room := rapid.Int64Range(2, 30).Draw(t, "room")
		known, am := rapid.Bool().Draw(t, "known"), rapid.Bool().Draw(t, "am")
		interval := unit.Time(rapid.IntRange(1, 5).Draw(t, "interval")) * unit.Second
		first := unit.Time(rapid.IntRange(0, 300).Draw(t, "first")) * unit.Second
		tasks, lag := 100*room, unit.Time(rapid.IntRange(0, 3).Draw(t, "lag"))*unit.Second
		begins := make([]unit.Time, room)
		for i := range begins {
			begins[i] = unit.Time(rapid.IntRange(0, int(length/unit.Second)).Draw(t, "begin")) * unit.Second
		}
		late := rapid.Bool().Draw(t, "learned late")
		var m meter
		for now := first + interval; now < first+6*length+20*unit.Second; now += interval {
			j := steer.Job{Started: true}
			var served unit.Time
			for _, b := range begins {
				if now >= b {
					j.Running++
					j.Done += int64((now - b) / length)
					served += max(now-lag-b, 0)
				}
			}
			started := j.Done + j.Running
			j.Pending = tasks - started
			if j.Held = (unit.Resources{Mem: 2048, Cores: 2}).Times(j.Running); am {
				j.AM = unit.Resources{Mem: 1024, Cores: 1}
				j.Held, j.Running = j.Held.Add(j.AM), j.Running+1
				served += (now - lag) / 2
			}
			if j.Service.CoreSeconds = int64(2 * served / unit.Second); known && (!late || m.seen) {
				j.Tasks, j.Pending = tasks, 0
			} else {
				j.Done = 0
			}
			m.sample(&j, now, now <= 3*interval)
		}
		mean, ok := m.mean(m.last, 1)
		if off := math.Abs(mean - float64(length)); !ok || off > 0.2*float64(length)+float64(interval)/2 {
			t.Fatalf("%v s, want %v (%v)", mean/1e6, length, ok)
		}
	})
}

// Whatever is seen, the policy changes only what it may, to values that a scheduler accepts.
func TestPropertyActions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mode := rapid.SampledFrom([]string{"mode=max", "mode=min"}).Draw(t, "mode")
		d, err := newSteerer(&steer.Setup{Queues: queues, Set: []string{mode}})
		if err != nil {
			t.Fatal(err)
		}
		number := func(name string) int64 {
			return rapid.SampledFrom([]int64{0, 0, 1, 5, 20, 100, -1, math.MaxInt64, math.MinInt64}).Draw(t, name)
		}
		now := at
		for range rapid.IntRange(1, 8).Draw(t, "samples") {
			now += unit.Time(rapid.IntRange(0, 20).Draw(t, "time")) * unit.Second
			s := &steer.Snapshot{Now: now, Total: unit.Resources{Mem: number("total")}}
			where := map[string]string{}
			for _, id := range []string{"a", "b", "c", "d", "e"}[:rapid.IntRange(0, 5).Draw(t, "jobs")] {
				where[id] = rapid.SampledFrom(append(queues, "root.other")).Draw(t, "queue")
				s.Jobs = append(s.Jobs, steer.Job{
					ID: id, Queue: where[id], Started: rapid.Bool().Draw(t, "started"), Priority: int(number("priority")),
					Tags:    rapid.SampledFrom([]string{"", "goal:50s", "goal:200s", "goal:300s", "deadline:x"}).Draw(t, "tags"),
					Running: number("running"), Pending: number("pending"), Tasks: number("tasks"), Done: number("done"),
					Held: unit.Resources{Mem: number("mem"), Cores: number("cores")}, Service: steer.Service{CoreSeconds: number("service")},
				})
			}
			for _, q := range queues {
				s.Queues = append(s.Queues, steer.Queue{Name: q, Used: unit.Resources{Mem: number("used")}, Ceiling: unit.Resources{Mem: number("ceiling"), Cores: number("cores")}})
			}
			do, again := d.Step(s)
			knobs, to := map[string]bool{}, map[string]bool{}
			for _, a := range do {
				knob := fmt.Sprint(a.Kind, a.Job, a.Property)
				if a.Kind == steer.SetQueue {
					knob += a.Queue
				}
				sum := 0.0
				for _, x := range a.Shares {
					if sum += x.Value; !(x.Value >= steer.MinCapacity && x.Value <= 100) {
						t.Fatalf("%+v", a)
					}
				}
				switch {
				case knobs[knob] || a.Why == "",
					a.Job != "" && !slices.Contains(queues, where[a.Job]),
					a.Kind == steer.MoveJob && !slices.Contains(queues, a.Queue), a.Kind == steer.MoveJob && a.Queue != queues[0] && to[a.Queue],
					a.Property == steer.Capacities && math.Abs(sum-100) > 1e-6, a.Property == maximum && !(a.Value >= steer.MinCapacity && a.Value <= 100),
					mode == "mode=min" && a.Queue == queues[3]:
					t.Fatalf("%+v in %v", a, do)
				}
				knobs[knob], to[a.Queue] = true, to[a.Queue] || a.Kind == steer.MoveJob
				if rapid.IntRange(0, 3).Draw(t, "refused") == 0 {
					d.NotMade(a)
				}
			}
			if again != d.interval || len(d.Explain()) == 0 {
				t.Fatal(again)
			}
		}
	})
}

// Whoever fills the slots with jobs that do not belong there does not make the policy give the slots up, and a sample moves no more than a driver does.
func TestCrowdInSlots(t *testing.T) {
	const crowd = 4 * steer.MovesPerSample
	d := made(t, queues)
	where := map[string]string{}
	for i := range crowd {
		where[fmt.Sprint("stray", i)] = queues[1+i%3]
	}
	for now := at; now < at+10*unit.Minute; now += d.interval {
		var jobs []steer.Job
		for i := range crowd {
			id := fmt.Sprint("stray", i)
			jobs = append(jobs, steer.Job{ID: id, Queue: where[id]})
		}
		do, _ := d.Step(snapshot(now, jobs...))
		if len(do) > steer.MovesPerSample {
			t.Fatalf("%d actions", len(do))
		}
		for _, a := range do {
			where[a.Job] = a.Queue
		}
	}
	for id, q := range where {
		if q != queues[0] {
			t.Fatalf("%s is in %s", id, q)
		}
	}
	if d.fallen {
		t.Error("the slots are given up")
	}
}

// A job that cannot be moved is tried ever more rarely; the others are moved as they come.
func TestOneCannotBeMoved(t *testing.T) {
	d := made(t, queues)
	stuck := steer.Job{ID: "stuck", Queue: queues[0], Tags: "goal:1h", Pending: 3}
	tries := 0
	for i := range 100 {
		now := at + unit.Time(i)*d.interval
		jobs := []steer.Job{stuck, {ID: fmt.Sprint("job", i), Queue: queues[0], Tags: "goal:1h", Pending: 3, Submitted: unit.Second}} // a new one each time
		do, _ := d.Step(snapshot(now, jobs...))
		if d.fallen || !strings.Contains(list(do), jobs[1].ID+">") {
			t.Fatalf("sample %d: %s, fallen %v", i, list(do), d.fallen)
		}
		for _, a := range do {
			if a.Job == "stuck" {
				tries++
				d.NotMade(a)
			}
		}
	}
	if tries > 8 {
		t.Errorf("it was tried %d times", tries)
	}
}

// Many jobs with goals cost neither much time nor long lines.
func TestManyGoals(t *testing.T) {
	const many = 10000
	for _, c := range []struct {
		queues []string
		at     string // where they were submitted to
	}{{queues, queues[0]}, {queues, queues[1]}, {queues[:1], queues[0]}} {
		var jobs []steer.Job
		for i := range int64(many) {
			jobs = append(jobs, counted(fmt.Sprint("job", i), c.at, fmt.Sprintf("goal:%ds", 200+i%977), 1+i%7, 1, 5+i%31))
		}
		d := made(t, c.queues)
		began := time.Now()
		do, _ := d.Step(snapshot(at, jobs...))
		if took := time.Since(began); took > 10*time.Second { // 0.1 s on an idle machine
			t.Errorf("a step took %v", took)
		}
		if n := len(do); n == 0 || n > steer.MovesPerSample+1 {
			t.Errorf("%d actions", n)
		}
		if n := len(fmt.Sprint(d.Explain())); n > 30000 {
			t.Errorf("a line of %d characters", n)
		}
	}
}
