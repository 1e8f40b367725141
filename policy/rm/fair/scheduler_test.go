package fair

import (
	"fmt"
	"slices"
	"testing"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// Fair shares of queues, with the roundings of ComputeFairShares.
func TestShares(t *testing.T) {
	for name, c := range map[string]struct {
		total int64
		xml   string
		idle  string
		want  map[string]int64
	}{
		"weights": {102400, `<queue name="a"/><queue name="b"><weight>2</weight></queue><queue name="c"/>`, "",
			map[string]int64{"a": 25600, "b": 51200, "c": 25600}},
		"minimum and maximum": {102400, `<queue name="a"><minResources>40960 mb, 0 vcores</minResources></queue>
			<queue name="b"><weight>2</weight><maxResources>20480 mb, 1000 vcores</maxResources></queue><queue name="c"/>`, "",
			map[string]int64{"a": 40960, "b": 20480, "c": 40960}},
		"thirds": {102400, `<queue name="a"/><queue name="b"/><queue name="c"/>`, "",
			map[string]int64{"a": 34134, "b": 34134, "c": 34134}},
		"an idle queue": {100000, `<queue name="a"><weight>3</weight></queue><queue name="b"/><queue name="c"/>`, "b",
			map[string]int64{"a": 75000, "b": 0, "c": 25000}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.xml, site(nil))
			w.addNodes(1, 1, unit.Resources{Mem: c.total, Cores: 100})
			for q := range c.want {
				if q != c.idle {
					if err := w.add("app-"+q, "u", q, mb(1024)); err != nil {
						t.Fatal(err)
					}
				}
			}
			w.s.Round(0)
			for q, want := range c.want {
				i := slices.IndexFunc(w.s.Queues, func(k *queue) bool { return k.Name == "root."+q })
				if got := w.s.Queues[i].share; got != (unit.Resources{Mem: want}) {
					t.Errorf("share of %s is %v, want %d MiB and no vcores", q, got, want)
				}
			}
		})
	}
}

// One node, one job: what is asked is seen by the beats after the next update, and three requests take three beats.
func TestVisibleAfterUpdate(t *testing.T) {
	w := newWorld(t, "", site(nil))
	w.addNodes(1, 1, unit.Resources{Mem: 10240, Cores: 10})
	if err := w.add("job", "u", "", mb(1024)); err != nil {
		t.Fatal(err)
	}
	if got := w.beat(0); len(got) != 0 {
		t.Errorf("the AM was given before the update: %v", names(got))
	}
	w.now = 500 * ms
	w.s.Round(w.now)
	got := w.beat(0)
	if len(got) != 1 || !got[0].AM || got[0].Near != policy.NoPreference {
		t.Fatalf("after the update: %v", names(got))
	}
	w.s.Round(1000 * ms)
	w.want("job", 3, mb(1024))
	if got := w.beat(0); len(got) != 0 {
		t.Errorf("maps were given before the update: %v", names(got))
	}
	w.s.Round(1500 * ms)
	for i := range 3 {
		if got := w.beat(0); len(got) != 1 || got[0].AM {
			t.Errorf("beat %d gave %v", i, names(got))
		}
	}
	if got := w.beat(0); len(got) != 0 {
		t.Errorf("a fourth map: %v", names(got))
	}
	w.check(t)
}

// A request is seen earlier when something else of the application has changed since the last update.
func TestVisibleAfterAnEnd(t *testing.T) {
	w := newWorld(t, "", site(nil))
	w.addNodes(1, 1, unit.Resources{Mem: 10240, Cores: 10})
	if err := w.add("job", "u", "", unit.Resources{}); err != nil {
		t.Fatal(err)
	}
	w.want("job", 1, mb(1024))
	w.s.Round(0)
	c := w.beat(0)[0]
	w.s.Round(500 * ms)
	w.end(c)
	w.want("job", 1, mb(1024))
	if got := w.beat(0); len(got) != 1 {
		t.Errorf("demand %v, holds nothing: it should have been served", mb(1024))
	}
}

// How many containers one beat gives: a node of 16 containers, 40 wanted.
func TestContainersABeat(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(*conf.Site)
		want int
	}{
		"one":                 {func(*conf.Site) {}, 1},
		"half and one":        {func(s *conf.Site) { s.Fair.AssignMultiple = true }, 9},
		"any number":          {func(s *conf.Site) { s.Fair.AssignMultiple, s.Fair.DynamicMaxAssign = true, false }, 16},
		"max.assign":          {func(s *conf.Site) { s.Fair.AssignMultiple, s.Fair.DynamicMaxAssign, s.Fair.MaxAssign = true, false, 5 }, 5},
		"max.assign, one":     {func(s *conf.Site) { s.Fair.MaxAssign = 5 }, 1},
		"dynamic before max.": {func(s *conf.Site) { s.Fair.AssignMultiple, s.Fair.MaxAssign = true, 5 }, 9},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "", site(c.set))
			w.addNodes(1, 1, unit.Resources{Mem: 16 << 10, Cores: 16})
			if err := w.add("job", "u", "", unit.Resources{}); err != nil {
				t.Fatal(err)
			}
			w.want("job", 40, mb(1024))
			w.s.Round(0)
			if got := w.beat(0); len(got) != c.want {
				t.Errorf("%d containers, want %d", len(got), c.want)
			}
			w.check(t)
		})
	}
}

// Sizes are rounded to the increments, and memory and vcores must both fit.
func TestSizes(t *testing.T) {
	w := newWorld(t, "", site(func(s *conf.Site) {
		s.MinAllocation, s.Increment = r(1024, 1), r(512, 2)
		s.MaxAllocation = r(8192, 5)
	}))
	w.addNodes(1, 1, r(6000, 16))
	if w.s.maximum() != r(6000, 5) {
		t.Errorf("maximum %v", w.s.maximum())
	}
	for _, c := range []struct{ ask, want unit.Resources }{
		{r(1, 1), r(1024, 2)}, {r(1025, 3), r(1536, 4)}, {r(5900, 5), r(6000, 5)},
	} {
		if got := w.s.normal(c.ask, w.s.maximum()); got != c.want {
			t.Errorf("%v becomes %v, want %v", c.ask, got, c.want)
		}
	}
	if err := w.add("big", "u", "", r(6001, 1)); err == nil {
		t.Error("an AM that no node can hold was taken")
	}
}

// The AMs of a leaf hold at most ceil(maxAMShare x fair share).
func TestAMShare(t *testing.T) {
	for _, c := range []struct {
		share string
		want  int
	}{{"0.1", 1}, {"0.5", 5}, {"0.19", 1}, {"0.11", 1}, {"0.2", 2}, {"-1.0", 10}, {"1.0", 10}} {
		w := newWorld(t, `<queue name="a"><maxAMShare>`+c.share+`</maxAMShare></queue>`, site(nil))
		w.addNodes(1, 1, r(10240, 100))
		for i := range 12 {
			if err := w.add(fmt.Sprint("j", i), "u", "a", mb(1024)); err != nil {
				t.Fatal(err)
			}
		}
		w.s.Round(0)
		n := 0
		for range 20 {
			n += len(w.beat(0))
		}
		if n != c.want {
			t.Errorf("maxAMShare %s: %d AMs run, want %d", c.share, n, c.want)
		}
		w.check(t)
	}
}

// Under policy fair a leaf's share has no vcores: half of what is free on the cluster stands in, as of the last beat.
func TestAMShareOfVcores(t *testing.T) {
	w := newWorld(t, `<queue name="a"/>`, site(nil))
	w.addNodes(1, 1, r(102400, 8))
	for i := range 8 {
		if err := w.add(fmt.Sprint("j", i), "u", "a", mb(1024)); err != nil {
			t.Fatal(err)
		}
	}
	w.s.Round(0)
	n := 0
	for range 20 {
		n += len(w.beat(0))
	}
	if n != 3 { // 1 <= 4, 2 <= ceil(3.5), 3 <= 3, 4 > ceil(2.5)
		t.Errorf("%d AMs run, want 3", n)
	}
}

func TestParking(t *testing.T) {
	w := newWorld(t, `<queue name="a"><maxRunningApps>2</maxRunningApps></queue><queue name="b"/>
		<user name="ann"><maxRunningApps>1</maxRunningApps></user>`, site(nil))
	w.addNodes(1, 1, r(102400, 100))
	running := func() string {
		list := ""
		for _, id := range []string{"1", "2", "3", "4", "5", "6"} {
			if a := w.apps[id]; a != nil && w.s.apps[a.Index].runnable {
				list += id
			}
		}
		return list
	}
	for i, c := range []struct{ user, queue string }{{"bob", "a"}, {"ann", "b"}, {"bob", "a"}, {"ann", "a"}, {"bob", "a"}, {"ann", "b"}} {
		w.now += ms
		if err := w.add(fmt.Sprint(i+1), c.user, c.queue, mb(1024)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ remove, want string }{{"", "123"}, {"5", "123"}, {"1", "23"}, {"2", "34"}, {"4", "36"}, {"3", "6"}} {
		if c.remove != "" {
			w.remove(c.remove)
		}
		if got := running(); got != c.want {
			t.Errorf("after %q left, %s run, want %s", c.remove, got, c.want)
		}
		w.check(t)
	}
}

// Locality: without thresholds any node is accepted at once; with them the wait is counted in skipped opportunities.
func TestLocality(t *testing.T) {
	for name, c := range map[string]struct {
		node, rack float64
		beats      []int
		want       string
	}{
		"off":                   {-1, -1, []int{1}, "1:off-rack"},
		"off, in the rack":      {-1, -1, []int{2}, "1:rack-local"},
		"node at once":          {0.5, 0.5, []int{0}, "1:node-local"},
		"rack after 2 of 4":     {0.5, 0.5, []int{2, 2, 2, 2}, "3:rack-local"},
		"elsewhere after twice": {0.5, 0.5, []int{1, 1, 1, 1, 1, 1, 1, 1}, "6:off-rack"},
		"0 means the second":    {0, 0, []int{1, 1, 1, 1}, "3:off-rack"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "", site(func(s *conf.Site) { s.Fair.NodeThreshold, s.Fair.RackThreshold = c.node, c.rack }))
			w.addNodes(4, 2, r(4096, 4))
			if err := w.add("job", "u", "", unit.Resources{}); err != nil {
				t.Fatal(err)
			}
			var asks []rm.Ask
			for _, p := range []rm.Place{rm.OnNode(0), rm.OnRack(0), rm.Anywhere} {
				asks = append(asks, rm.Ask{Priority: 20, Place: p, Count: 1, Size: mb(1024)})
			}
			if err := w.ask("job", asks...); err != nil {
				t.Fatal(err)
			}
			w.s.Round(0)
			for i, n := range c.beats {
				if got := w.beat(n); len(got) > 0 {
					if is := fmt.Sprintf("%d:%v", i+1, got[0].Near); is != c.want {
						t.Errorf("%s, want %s", is, c.want)
					}
					return
				}
			}
			t.Error("never given")
		})
	}
}

// A placement nearer than it had to be makes the priority strict again.
func TestLocalityTightens(t *testing.T) {
	w := newWorld(t, "", site(func(s *conf.Site) { s.Fair.NodeThreshold, s.Fair.RackThreshold = 0, 0 }))
	w.addNodes(2, 2, r(8192, 8))
	if err := w.add("job", "u", "", unit.Resources{}); err != nil {
		t.Fatal(err)
	}
	for _, p := range []rm.Place{rm.OnNode(0), rm.OnRack(0), rm.Anywhere} {
		if err := w.ask("job", rm.Ask{Priority: 20, Place: p, Count: 3, Size: mb(1024)}); err != nil {
			t.Fatal(err)
		}
	}
	w.s.Round(0)
	row := w.s.apps[0].table.Row(20)
	w.beat(1)
	w.beat(1)
	if got := w.beat(1); len(got) != 1 || row.Level != policy.OffRack {
		t.Fatalf("%d given at level %v", len(got), row.Level)
	}
	if got := w.beat(0); len(got) != 1 || row.Level != policy.NodeLocal {
		t.Fatalf("%d given at level %v", len(got), row.Level)
	}
}

func TestNotModelledLeavesPreemptionOut(t *testing.T) {
	w := newWorld(t, `<defaultFairSharePreemptionTimeout>5</defaultFairSharePreemptionTimeout>
		<queue name="a"><aclSubmitApps>u</aclSubmitApps><allowPreemptionFrom>false</allowPreemptionFrom></queue>`, site(nil))
	if got := w.s.NotModelled(); len(got) != 1 {
		t.Errorf("%q", got)
	}
}
