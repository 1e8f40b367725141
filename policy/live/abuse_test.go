package live

import (
	"errors"
	"fmt"
	"testing"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

// few is an order that takes so many jobs at a time.
type few struct {
	policy.Order
	most, have int
}

func (f *few) Arrived(now unit.Time, j *policy.Job) error {
	if f.have == f.most {
		return errors.New("full")
	}
	f.have++
	return f.Order.Arrived(now, j)
}

func (f *few) Left(now unit.Time, j *policy.Job) {
	f.have--
	f.Order.Left(now, j)
}

// bare is a core under fifo, with nodes of these sizes.
func bare(t *testing.T, now *unit.Time, change func(p *policy.Policy), nodes ...unit.Resources) *Core {
	t.Helper()
	c, err := New(func() (policy.Policy, error) {
		p, err := fresh(t, "fifo")()
		if change != nil {
			change(&p)
		}
		return p, err
	}, Config{Now: func() unit.Time { return *now }})
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range nodes {
		c.SetNode(fmt.Sprint("n", i), n, "")
	}
	if err := c.Start(nil); err != nil {
		t.Fatal(err)
	}
	return c
}

var small = unit.Resources{Mem: 1024, Cores: 1000}

func (c *Core) hold(id, job string, size unit.Resources, owned bool) {
	c.See(Task{ID: id, Name: id, Shape: size.String(), Size: size}, Job{Key: job, Owned: owned}, Held, "", 0)
}

func released(c *Core) (ids []string) {
	for _, t := range c.Release() {
		ids = append(ids, t.ID)
	}
	return ids
}

// A queue that was full takes waiting jobs once others have left, in order.
func TestRefusedIsAskedAgain(t *testing.T) {
	now := unit.Time(0)
	c := bare(t, &now, func(p *policy.Policy) { p.Order = &few{Order: p.Order, most: 1} }, small.Times(8))
	for _, job := range []string{"a", "b", "c"} {
		c.hold(job, job, small, true)
	}
	for _, job := range []string{"a", "b", "c"} {
		if got := released(c); len(got) != 1 || got[0] != job {
			t.Fatalf("released %v, not %s", got, job)
		}
		if job != "c" && c.Refused("c") == nil {
			t.Fatal("c is not refused")
		}
		c.Bind(job, "n0")
		c.JobEnded(job)
		c.End(job, policy.Done, 0)
		c.Gone(job)
	}
	if s := c.Stats(); s.Jobs != 0 || len(c.refused) > 0 {
		t.Errorf("%+v is left", s)
	}
}

// picky is an order that refuses jobs of a queue.
type picky struct{ policy.Order }

func (p picky) Arrived(now unit.Time, j *policy.Job) error {
	if j.Queue == "nowhere" {
		return errors.New("no such queue")
	}
	return p.Order.Arrived(now, j)
}

// However many jobs are refused for good, those behind them are asked again too, without anything else happening.
func TestAllThatWereRefusedAreAskedAgain(t *testing.T) {
	now := unit.Time(0)
	c := bare(t, &now, func(p *policy.Policy) { p.Order = picky{&few{Order: p.Order, most: 1}} }, small.Times(8))
	c.hold("first", "first", small, true)
	for i := range 3 * again {
		id := fmt.Sprint("bad", i)
		c.See(Task{ID: id, Size: small}, Job{Key: id, Queue: "nowhere", Owned: true}, Held, "", 0)
	}
	c.hold("good", "good", small, true)
	if got := released(c); len(got) != 1 || got[0] != "first" || c.Refused("good") == nil {
		t.Fatalf("released %v", got)
	}
	c.Bind("first", "n0")
	c.JobEnded("first")
	c.End("first", policy.Done, 0)
	var got []string
	for n := 0; len(got) == 0; n++ {
		if n > 5 {
			t.Fatal("it waits for ever")
		}
		if n > 0 && c.Due() > now {
			t.Fatal("nobody is told to ask again")
		}
		got = released(c)
	}
	if got[0] != "good" {
		t.Errorf("released %v", got)
	}
}

// Jobs of one user that would fit the empty cluster, but not what is free, do not stop those of others.
func TestOneUserStopsNobody(t *testing.T) {
	now := unit.Time(0)
	c := bare(t, &now, nil, small.Times(4), small.Times(4))
	c.Other("service", "n0", small)
	for i := range lookahead {
		for k := range 2 {
			id := fmt.Sprint("large", i, "-", k)
			c.See(Task{ID: id, Size: small.Times(4), Gang: 2}, Job{Key: fmt.Sprint("large", i), User: "mallory", Owned: true}, Held, "", 0)
		}
	}
	c.See(Task{ID: "a", Size: small}, Job{Key: "a", User: "ann", Owned: true}, Held, "", 0)
	if got := released(c); len(got) != 1 || got[0] != "a" {
		t.Errorf("released %v", got)
	}
}

// A restart knows of the members of a gang that are over: the next gang starts whole, and a member that is made again starts alone.
func TestGangsAfterARestart(t *testing.T) {
	for _, c := range []struct{ done, running, held, want int }{
		{1, 3, 4, 4}, {4, 0, 4, 4}, {1, 2, 1, 1}, {3, 0, 1, 1}, {0, 0, 4, 4}, {0, 4, 3, 0}, {0, 0, 3, 0},
	} {
		core, err := New(fresh(t, "fifo"), Config{Now: func() unit.Time { return 1 }})
		if err != nil {
			t.Fatal(err)
		}
		core.SetNode("n", small.Times(16), "")
		n := 0
		see := func(s State, times int, on string) {
			for range times {
				n++
				core.See(Task{ID: fmt.Sprint(n), Size: small, Gang: 4, Done: s == Over}, Job{Key: "job", Owned: true}, s, on, 1)
			}
		}
		see(Over, c.done, "n")
		see(Bound, c.running, "n")
		see(Held, c.held, "")
		if err := core.Start(nil); err != nil {
			t.Fatal(err)
		}
		if got := released(core); len(got) != c.want {
			t.Errorf("%+v: released %v", c, got)
		}
		if err := core.Check(); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// A task that fits the largest memory and the most processors of the cluster, but no node, is not waited for.
func TestNoNodeIsLargeEnough(t *testing.T) {
	now := unit.Time(0)
	c := bare(t, &now, nil, unit.Resources{Mem: 1024, Cores: 8000}, unit.Resources{Mem: 8192, Cores: 1000})
	c.hold("odd", "first", unit.Resources{Mem: 4096, Cores: 4000}, true)
	for i := range 2 * lookahead {
		c.hold(fmt.Sprint("odd", i), fmt.Sprint("more", i), unit.Resources{Mem: 4096, Cores: 4000}, true)
	}
	c.hold("a", "second", small, true)
	if got := released(c); len(got) != 1 || got[0] != "a" {
		t.Fatalf("released %v", got)
	}
	if v, _ := c.Why("first"); len(v.Reasons) != 1 || v.Reasons[0].Limit != policy.NodeSize || v.Reasons[0].Max.Mem != 1024 {
		t.Errorf("%+v", v.Reasons)
	}
	c.SetNode("n2", unit.Resources{Mem: 4096, Cores: 4000}, "")
	if got := released(c); len(got) == 0 || got[0] != "odd" {
		t.Errorf("released %v on the new node", got)
	}
}

// What is free on one node is not what the cluster has free: not even when released tasks that have no node yet will take the rest.
func TestFreeOnOneNode(t *testing.T) {
	now := unit.Time(0)
	c := bare(t, &now, nil, unit.Resources{Mem: 8192, Cores: 1000}, unit.Resources{Mem: 8192, Cores: 1000})
	for i := range 4 {
		c.hold(fmt.Sprint("t", i), "job", unit.Resources{Mem: 1024, Cores: 1000}, true)
	}
	if got := released(c); len(got) != 2 {
		t.Fatalf("released %v", got)
	}
	for i := range 2 {
		v, _ := c.Why("job")
		if want := (unit.Resources{Mem: 8192}); len(v.Reasons) != 1 || v.Reasons[0].Limit != policy.NodeRoom || v.Reasons[0].Max != want {
			t.Errorf("with %d bound: %+v, want %+v free on one", i, v.Reasons, want)
		}
		c.Bind("t0", "n0")
	}
}

// What comes and goes leaves nothing behind.
func TestNothingGrows(t *testing.T) {
	now := unit.Time(0)
	c := bare(t, &now, nil, small)
	c.hold("stays", "job", small.Times(2), true)
	for i := range 10_000 {
		now += unit.Millisecond
		c.hold(fmt.Sprint(i), "job", small.Times(2), true)
		c.Gone(fmt.Sprint(i))
		name := fmt.Sprint("made-up-", i)
		c.Other("other", name, small)
		c.Gone("other")
		c.SetNode(name, small, "")
		c.Release()
		c.SetNode(name, unit.Resources{}, "")
	}
	if n := len(c.jobs["job"].stages[0].waiting.first); n > 100 || len(c.nodes) != 1 || len(c.list) > 3 {
		t.Errorf("%d entries for one task, %d nodes in a list of %d", n, len(c.nodes), len(c.list))
	}
	if err := c.Check(); err != nil {
		t.Error(err)
	}
}

// A job without an owner leaves after it has had no tasks for a while, not for many short whiles.
func TestShortGaps(t *testing.T) {
	now := unit.Second
	c := bare(t, &now, nil, small)
	for i := range 4 {
		id := fmt.Sprint(i)
		c.hold(id, "job", small, false)
		now += linger / 3
		c.Gone(id)
		now += linger * 2 / 3
		if c.Release(); c.jobs["job"] == nil {
			t.Fatalf("it left in gap %d", i)
		}
	}
	now += linger
	if c.Release(); c.jobs["job"] != nil {
		t.Error("it stays")
	}
}

// What was released is the engine's to keep, whatever becomes of the task.
func TestReleasedIsACopy(t *testing.T) {
	now := unit.Time(0)
	c := bare(t, &now, nil, small)
	c.See(Task{ID: "a", Name: "a", Size: small, Ref: "ref"}, Job{Key: "job"}, Held, "", 0)
	held, let := c.Held("job", 1), c.Release()
	c.Gone("a")
	if held[0].Ref != "ref" || let[0].Ref != "ref" {
		t.Errorf("%v, %v", held, let)
	}
}
