package driver

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

const s = unit.Second

// site plays a driver against a cluster that gives every container a while after it was wanted.
type site struct {
	t       fatal
	d       *Driver
	j       *workload.Job
	now     unit.Time
	give    unit.Time // from a request to the container's being up
	coming  []unit.Time
	held    int64
	running []attempt
	loses   map[unit.Time]int32
	log     []string
	ends    map[string]int
	used    map[int32]int64
	most    int64 // containers held at once
	last    unit.Time
}

type fatal interface{ Fatalf(string, ...any) }

type attempt struct {
	Task
	end unit.Time
}

func (c *site) note(format string, args ...any) {
	c.log = append(c.log, fmt.Sprintf("%.4g ", c.now.Seconds())+fmt.Sprintf(format, args...))
}

func (c *site) run() *site {
	c.d = New(c.j)
	c.ends, c.used = map[string]int{}, map[int32]int64{}
	c.d.Begin(0)
	for range 100_000 {
		c.act()
		if c.d.Over(c.now) {
			c.last = c.now
			return c
		}
		next := c.d.Wake()
		for _, at := range c.coming {
			next = min(next, at)
		}
		for _, a := range c.running {
			next = min(next, a.end)
		}
		for at := range c.loses {
			if at > c.now {
				next = min(next, at)
			}
		}
		if next == unit.Never {
			c.t.Fatalf("nothing happens after %v; %d tasks left, %d containers of %d\n%s", c.now, c.d.left, c.held, c.d.Target(), strings.Join(c.log, "\n"))
		}
		if next < c.now {
			c.t.Fatalf("it waits for %v at %v", next, c.now)
		}
		c.now = next
		if x, now := c.loses[next]; now && int(x) < len(c.d.conts) && !c.d.conts[x].gone {
			delete(c.loses, next)
			c.lose(x)
		} else if now {
			delete(c.loses, next)
		}
		c.coming = slices.DeleteFunc(c.coming, func(at unit.Time) bool {
			if at <= c.now {
				c.d.Up(c.now)
				return true
			}
			return false
		})
		for i := 0; i < len(c.running); {
			if a := c.running[i]; a.end <= c.now {
				c.running = slices.Delete(c.running, i, i+1)
				c.used[a.In]--
				c.ends[fmt.Sprint(a.Stage, ".", a.Number)]++
				c.d.Ended(c.now, &a.Task, false)
				continue
			}
			i++
		}
	}
	c.t.Fatalf("it does not end")
	return c
}

func (c *site) lose(x int32) {
	for i := 0; i < len(c.running); {
		if a := c.running[i]; a.In == x {
			c.running = slices.Delete(c.running, i, i+1)
			c.d.Killed(c.now, &a.Task)
			continue
		}
		i++
	}
	c.used[x] = 0
	c.held--
	n := 0
	c.d.Lost(c.now, x, func(int) { n++ })
	c.note("lost %d, %d tasks run again", x, n)
}

func (c *site) act() {
	c.d.Step(c.now)
	for t, ok := c.d.Next(c.now); ok; t, ok = c.d.Next(c.now) {
		length := c.j.Stages[t.Stage].Length.Draw(t.Number, 1)
		if t.Cold {
			length += c.j.Keep.Warm
		}
		c.running = append(c.running, attempt{t, c.now + length})
		if c.used[t.In]++; c.used[t.In] > c.j.Keep.Slots || c.d.conts[t.In].gone {
			c.t.Fatalf("container %d runs %d tasks", t.In, c.used[t.In])
		}
		for _, e := range c.j.Stages[t.Stage].After {
			if from := &c.d.stages[e.From]; !from.complete {
				c.t.Fatalf("stage %d runs, and needs stage %d", t.Stage, e.From)
			}
		}
		c.d.Step(c.now)
	}
	for _, i := range c.d.Submitted() {
		c.note("stage %d", i)
	}
	for x, ok := c.d.Release(c.now); ok; x, ok = c.d.Release(c.now) {
		c.held--
		c.note("release %d", x)
	}
	for want := c.d.Target(); c.held < want; c.held++ {
		c.coming = append(c.coming, c.now+c.give)
	}
	for want := c.d.Target(); c.held > want && len(c.coming) > 0; c.held-- {
		c.coming = c.coming[1:]
	}
	if c.held > c.most {
		c.most = c.held
		c.note("wants %d", c.held)
	}
}

func job(keep workload.Keep, stages ...workload.Stage) *workload.Job {
	if keep.Ask.IsZero() {
		keep.Ask = unit.Resources{Mem: 1024, Cores: 1}
	}
	return &workload.Job{ID: "j", Stages: stages, Keep: &keep}
}

func stageOf(tasks int64, length unit.Time, after ...workload.Edge) workload.Stage {
	return workload.Stage{Kind: workload.Other, Tasks: tasks, Length: workload.Fixed(length), After: after}
}

func reads(from int) workload.Edge { return workload.Edge{From: from, Shuffle: unit.MiB, SlowStart: 1} }
func waits(from int) workload.Edge { return workload.Edge{From: from, SlowStart: 1} }

// What a driver does, worked out by hand.
func TestDriver(t *testing.T) {
	late := stageOf(2, 5*s, waits(0))
	late.Delay = 3 * s
	a, b := stageOf(4, 10*s), stageOf(4, 10*s)
	a.Pool, b.Pool = "a", "b"
	again := stageOf(2, 10*s, waits(0))
	again.Cached = 1
	readsBoth := stageOf(6, 10*s, reads(1))
	readsBoth.Cached = 1
	alone := stageOf(2, 10*s)
	alone.Delay = 20 * s
	cached := stageOf(1, 10*s, waits(0))
	cached.Delay, cached.Cached = 20*s, 1
	cachedLater := cached
	cachedLater.After = []workload.Edge{waits(1)}
	dynamic := func(d workload.Dynamic) workload.Keep {
		return workload.Keep{Slots: 1, Max: 100, Dynamic: &d}
	}
	for _, c := range []struct {
		name  string
		job   *workload.Job
		give  unit.Time
		loses map[unit.Time]int32
		last  unit.Time
		log   string
	}{
		// Two waves in two slots of two containers each.
		{name: "static", job: job(workload.Keep{Slots: 2, Max: 2}, stageOf(8, 10*s)), give: s, last: 21 * s, log: "0 stage 0\n0 wants 2"},
		// The first task in each of four slots takes 2 s longer.
		{name: "cold slots", job: job(workload.Keep{Slots: 2, Max: 2, Warm: 2 * s, Tail: s}, stageOf(8, 10*s)), last: 23 * s, log: "0 stage 0\n0 wants 2"},
		// Four fifths of three containers are three.
		{name: "ready", job: job(workload.Keep{Slots: 1, Max: 3, Ready: 0.8, ReadyWait: 30 * s}, stageOf(3, 10*s)), give: 4 * s, last: 14 * s, log: "0 wants 3\n4 stage 0"},
		{name: "not ready", job: job(workload.Keep{Slots: 1, Max: 3, Ready: 0.8, ReadyWait: 30 * s}, stageOf(3, 10*s)), give: 40 * s, last: 50 * s, log: "0 wants 3\n30 stage 0"},
		{name: "no patience", job: job(workload.Keep{Slots: 1, Max: 2, Ready: 1}, stageOf(2, 10*s)), give: 40 * s, last: 50 * s, log: "0 stage 0\n0 wants 2"},
		{name: "the driver thinks", job: job(workload.Keep{Slots: 2, Max: 1}, stageOf(2, 10*s), late), last: 18 * s, log: "0 stage 0\n0 wants 1\n13 stage 1"},
		// Spark's ramp: after the backlog timeout 1 more, then 2, 4, ... more; they are idle 60 s after the last task.
		{
			name: "dynamic", job: job(dynamic(workload.Dynamic{Backlog: s, Sustained: s, Idle: 60 * s}), stageOf(20, 100*s)), last: 105 * s,
			log: "0 stage 0\n1 wants 1\n2 wants 3\n3 wants 7\n4 wants 15\n5 wants 20",
		},
		// Two at once, and two more each second; the one that is lost is requested with the next batch.
		{
			name: "batches", job: job(workload.Keep{Slots: 1, Max: 5, Batch: 2, Every: s}, stageOf(5, 10*s)), give: s / 2, loses: map[unit.Time]int32{5 * s / 2: 0},
			last: 27 * s / 2, log: "0 stage 0\n0 wants 2\n1 wants 4\n2 wants 5\n2.5 lost 0, 0 tasks run again",
		},
		// At 3 s two are up, and one is pending.
		{
			name: "pending", job: job(workload.Keep{Slots: 1, Max: 5, Batch: 2, Pending: 3, Every: s}, stageOf(5, 10*s)), give: 3 * s, last: 16 * s,
			log: "0 stage 0\n0 wants 2\n1 wants 3\n3 wants 5",
		},
		// The target is 1, 3 and 7 at 1 s, 2 s and 3 s.
		{
			name: "dynamic in batches", job: job(workload.Keep{Slots: 1, Max: 7, Batch: 2, Every: s, Dynamic: &workload.Dynamic{Backlog: s, Sustained: s, Idle: 60 * s}}, stageOf(7, 100*s)),
			last: 104 * s, log: "0 stage 0\n1 wants 1\n2 wants 3\n3 wants 5\n4 wants 7",
		},
		{
			name: "idle", job: job(dynamic(workload.Dynamic{Min: 1, Initial: 2, Backlog: s, Sustained: s, Idle: 5 * s}), stageOf(2, 10*s), workload.Stage{Tasks: 1, Length: workload.Fixed(10 * s), After: []workload.Edge{waits(0)}, Delay: 20 * s}),
			last: 40 * s, log: "0 stage 0\n0 wants 2\n15 release 0\n30 stage 1",
		},
		// As long as no stage was submitted, the target is the initial one, until those containers were idle too long.
		{
			name: "idle from the start", job: job(dynamic(workload.Dynamic{Min: 1, Initial: 3, Backlog: s, Sustained: s, Idle: 5 * s}), alone), last: 31 * s,
			log: "0 wants 3\n5 release 0\n5 release 1\n20 stage 0",
		},
		// What a container's last task left there counts, and of several times the longest.
		{
			name: "cache", job: job(dynamic(workload.Dynamic{Initial: 1, Backlog: s, Sustained: s, Idle: 5 * s}), stageOf(1, 10*s), cached),
			last: 40 * s, log: "0 stage 0\n0 wants 1\n30 stage 1",
		},
		{
			name: "cache and shuffle", last: 50 * s, log: "0 stage 0\n0 wants 1\n10 stage 1\n40 stage 2",
			job: job(dynamic(workload.Dynamic{Initial: 1, Backlog: s, Sustained: s, Idle: 5 * s, CachedIdle: 8 * s}), stageOf(1, 10*s), stageOf(1, 10*s, reads(0)), cachedLater),
		},
		// A container that a stage reads from is held until that stage ends, and afterwards if ShuffleIdle says so.
		{
			name: "shuffle", job: job(dynamic(workload.Dynamic{Initial: 2, Backlog: s, Sustained: s, Idle: 5 * s}), stageOf(2, 10*s), stageOf(1, 60*s, reads(0))),
			last: 70 * s, log: "0 stage 0\n0 wants 2\n10 stage 1",
		},
		{
			name: "shuffle service", job: job(workload.Keep{Slots: 1, Max: 9, External: true, Dynamic: &workload.Dynamic{Initial: 2, Backlog: s, Sustained: s, Idle: 5 * s}}, stageOf(2, 10*s), stageOf(1, 60*s, reads(0))),
			last: 70 * s, log: "0 stage 0\n0 wants 2\n10 stage 1\n15 release 1",
		},
		// Two pools share four slots, where first come, first served would end stage 0 first.
		{name: "pools", job: job(workload.Keep{Slots: 4, Max: 1, Fair: true}, a, b), last: 20 * s, log: "0 stage 0\n0 stage 1\n0 wants 1"},
		// Stage 1 keeps one container busy until 30 s. The task of stage 2 whose input is there waits 3 s for it, then takes the next slot, at 20 s.
		{
			name: "locality", job: job(workload.Keep{Slots: 1, Max: 2, LocalityWait: 3 * s}, stageOf(2, 10*s), stageOf(1, 20*s, waits(0)), again), last: 30 * s,
			log: "0 stage 0\n0 wants 2\n10 stage 1\n10 stage 2",
		},
		// The tasks in a lost container run again, and those whose results stage 1 needs.
		{
			name: "lost", job: job(workload.Keep{Slots: 1, Max: 2}, stageOf(4, 10*s), stageOf(2, 10*s, reads(0))), loses: map[unit.Time]int32{25 * s: 0}, last: 50 * s,
			log: "0 stage 0\n0 wants 2\n20 stage 1\n25 lost 0, 2 tasks run again",
		},
		{
			name: "lost with a shuffle service", job: job(workload.Keep{Slots: 1, Max: 2, External: true}, stageOf(4, 10*s), stageOf(2, 10*s, reads(0))),
			loses: map[unit.Time]int32{25 * s: 0}, last: 35 * s, log: "0 stage 0\n0 wants 2\n20 stage 1\n25 lost 0, 0 tasks run again",
		},
		// Stage 2 waits for lost output of stage 1 when it loses cached input, too: it does not wait for a container that is gone.
		{
			name: "cache lost while a stage waits", job: job(workload.Keep{Slots: 1, Max: 3, LocalityWait: 30 * s}, stageOf(6, 10*s), stageOf(3, 10*s, waits(0)), readsBoth),
			loses: map[unit.Time]int32{35 * s: 0, 37 * s: 1}, last: 67 * s,
			log: "0 stage 0\n0 wants 3\n20 stage 1\n30 stage 2\n35 lost 0, 1 tasks run again\n37 lost 1, 1 tasks run again",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := (&site{t: t, j: c.job, give: c.give, loses: c.loses}).run()
			if got := strings.Join(w.log, "\n"); got != c.log || w.last != c.last {
				t.Errorf("over at %v, want %v; got\n%s\nwant\n%s", w.last, c.last, got, c.log)
			}
		})
	}
}

// Whatever happens, every task runs to its end, in slots that exist, after what it needs; and only losses make one run twice.
func TestEveryTaskRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		num := func(name string, low, high int64) int64 { return rapid.Int64Range(low, high).Draw(t, name) }
		keep := workload.Keep{
			Slots: num("slots", 1, 3), Max: num("max", 1, 6), Warm: unit.Time(num("warm", 0, 2)) * s, Tail: unit.Time(num("tail", 0, 2)) * s,
			Ready: float64(num("ready", 0, 10)) / 10, ReadyWait: unit.Time(num("patience", 0, 5)) * s, LocalityWait: unit.Time(num("locality", 0, 4)) * s,
			Fair: rapid.Bool().Draw(t, "fair"), External: rapid.Bool().Draw(t, "external"),
			Batch: num("batch", 0, 3), Pending: num("pending", 0, 3), Every: unit.Time(num("every", 0, 3)) * s,
		}
		if rapid.Bool().Draw(t, "dynamic") {
			d := workload.Dynamic{Backlog: unit.Time(num("backlog", 0, 3)) * s, Sustained: unit.Time(num("sustained", 0, 2)) * s, Idle: unit.Time(num("idle", 1, 20)) * s,
				CachedIdle: unit.Time(num("cached", 0, 20)) * s, ShuffleIdle: unit.Time(num("shuffle", 0, 20)) * s, Ratio: float64(num("ratio", 0, 2)) / 2}
			d.Min = num("min", 0, keep.Max)
			d.Initial = num("initial", d.Min, keep.Max)
			keep.Dynamic = &d
		}
		var stages []workload.Stage
		total := 0
		for i := range int(num("stages", 1, 6)) {
			x := workload.Stage{Tasks: num("tasks", 0, 8), Length: workload.Lengths{Kind: workload.Uniform, A: s, B: 9 * s}, Delay: unit.Time(num("delay", 0, 3)) * s,
				Pool: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "pool")}
			for from := range i {
				if rapid.IntRange(0, 2).Draw(t, "edge") == 0 {
					x.After = append(x.After, rapid.SampledFrom([]workload.Edge{reads(from), waits(from)}).Draw(t, "kind"))
				}
			}
			if i > 0 && rapid.Bool().Draw(t, "reads cached") {
				x.Tasks, x.Cached = stages[0].Tasks, 1
				x.After = append(slices.DeleteFunc(x.After, func(e workload.Edge) bool { return e.From == 0 }), waits(0))
			}
			stages = append(stages, x)
			total += int(x.Tasks)
		}
		c := &site{t: t, j: job(keep, stages...), give: unit.Time(num("give", 0, 5)) * s, loses: map[unit.Time]int32{}}
		for range num("losses", 0, 4) {
			c.loses[unit.Time(num("lost at", 1, 60))*s] = int32(num("lost", 0, 8))
		}
		losses := len(c.loses)
		c.run()
		if len(c.ends) != total {
			t.Fatalf("%d of %d tasks ended", len(c.ends), total)
		}
		for task, n := range c.ends {
			if n > 1 && (losses == 0 || keep.External) {
				t.Fatalf("task %s ended %d times", task, n)
			}
		}
		if c.most > keep.Max {
			t.Fatalf("it held %d containers, at most %d", c.most, keep.Max)
		}
	})
}
