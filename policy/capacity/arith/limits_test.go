package arith

import (
	"slices"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

func percent(v float32) conf.QueueShare { return conf.QueueShare{Kind: conf.Percent, Value: v} }
func weight(v float32) conf.QueueShare  { return conf.QueueShare{Kind: conf.Weight, Value: v} }
func amount(v int64) conf.QueueShare    { return conf.QueueShare{Kind: conf.Absolute, Room: mb(v)} }

// A queue's bounds below one that has half of a cluster of 102400 MiB, and at most three quarters of it.
func TestBelow(t *testing.T) {
	cluster := mb(102400)
	parent := Bounds{AbsCap: 0.5, AbsMax: 0.75, EffMin: mb(51200), EffMax: mb(76800)}
	written := parent
	written.ownMax = mb(204800) // more than there is
	none := conf.QueueShare{}
	for _, c := range []struct {
		name           string
		parent         Bounds
		queue, sibling Share
		absCap, absMax float32
		min, max       int64
	}{
		{"percent", parent, Share{percent(50), percent(50)}, Share{percent(50), none}, 0.25, 0.375, 25600, 38400},
		{"percent, no maximum", parent, Share{percent(50), none}, Share{percent(50), none}, 0.25, 0.75, 25600, 76800},
		{"weight", parent, Share{weight(1), none}, Share{weight(3), none}, 0.125, 0.75, 12800, 76800},
		{"no weight at all", parent, Share{weight(0), none}, Share{weight(0), none}, 0, 0.75, 0, 76800},
		{"amount", parent, Share{amount(10240), none}, Share{amount(40960), none}, 0.1, 0.75, 10240, 76800},
		{"amounts above the parent's", parent, Share{amount(25600), none}, Share{amount(76800), none}, 0.125, 0.75, 12800, 76800},
		{"maximum as an amount", parent, Share{amount(10240), amount(38400)}, Share{amount(10240), none}, 0.1, 0.375, 10240, 38400},
		{"maximum above the parent's", parent, Share{amount(10240), amount(102400)}, Share{amount(10240), none}, 0.1, 0.75, 10240,
			76800},
		{"below a maximum as it is written", written, Share{amount(10240), amount(153600)}, Share{amount(10240), none}, 0.1, 1.5,
			10240, 153600},
		{"amount without maximum, below a maximum as it is written", written, Share{amount(10240), none}, Share{amount(10240), none},
			0.1, 2, 10240, 204800},
	} {
		var s Siblings
		s.Add(c.queue)
		s.Add(c.sibling)
		b := Default.Below(cluster, c.parent, c.queue, &s)
		if b.AbsCap != c.absCap || b.AbsMax != c.absMax || b.EffMin.Mem != c.min || b.EffMax.Mem != c.max {
			t.Errorf("%s: %+v, want %v, %v, %d and %d", c.name, b, c.absCap, c.absMax, c.min, c.max)
		}
	}
	if b := Whole(cluster); b.AbsCap != 1 || b.AbsMax != 1 || b.EffMin != cluster || b.EffMax != cluster {
		t.Errorf("the root: %+v", b)
	}
}

// Among equals: by amount if both have one, memory before vcores, else by absolute capacity, else as in the file.
func TestTieOrder(t *testing.T) {
	wide := amount(2048)
	wide.Room.Cores = 9
	shares := []Share{{Capacity: amount(1024)}, {Capacity: percent(1)}, {Capacity: percent(1)}, {Capacity: percent(2)},
		{Capacity: amount(2048)}, {Capacity: wide}}
	for _, c := range []struct {
		queues []int
		caps   []float32
		want   []int
	}{
		{[]int{0, 4, 5}, []float32{0.3, 0.2, 0.1}, []int{2, 1, 0}}, // by amount, then by vcores
		{[]int{1, 2, 3}, []float32{0.1, 0.1, 0.2}, []int{2, 0, 1}},
		{[]int{4, 1}, []float32{0.1, 0.2}, []int{1, 0}}, // only one has an amount
		{[]int{1, 4}, []float32{0.1, 0.2}, []int{1, 0}},
	} {
		var list []Share
		var bounds []Bounds
		for i, q := range c.queues {
			list, bounds = append(list, shares[q]), append(bounds, Bounds{AbsCap: c.caps[i]})
		}
		if got := TieOrder(list, bounds); !slices.Equal(got, c.want) {
			t.Errorf("queues %v, capacities %v: %v, want %v", c.queues, c.caps, got, c.want)
		}
	}
}

func TestProperty(t *testing.T) {
	for _, c := range []struct {
		share Share
		name  string
		value float32
		why   string // part of it
		known bool
	}{
		{Share{percent(30), percent(80)}, "capacity", 30, "", true},
		{Share{percent(30), percent(80)}, "maximum-capacity", 80, "", true},
		{Share{percent(30), conf.QueueShare{}}, "maximum-capacity", 100, "", true},
		{Share{percent(30), percent(80)}, "weight", 0, "capacity is", true},
		{Share{percent(30), percent(80)}, "state", 0, "", false},
		{Share{weight(3), conf.QueueShare{}}, "weight", 3, "", true},
		{Share{weight(3), conf.QueueShare{}}, "capacity", 3, "", true},
		{Share{amount(1024), conf.QueueShare{}}, "capacity", 0, "capacity is", true},
		{Share{amount(1024), conf.QueueShare{}}, "maximum-capacity", 0, "absolute amount", true},
		{Share{weight(3), amount(1024)}, "maximum-capacity", 0, "absolute amount", true},
	} {
		value, why, known := c.share.Property(c.name)
		if value != c.value || known != c.known || (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%s of %+v: %v, %q, %v", c.name, c.share, value, why, known)
		}
	}
}

// A capacity stays within its maximum and both within 0 to 100; weights have no upper limit.
func TestSetProperty(t *testing.T) {
	for _, c := range []struct {
		share Share
		name  string
		value float32
		why   string // part of it
	}{
		{Share{percent(30), percent(80)}, "capacity", 80, ""},
		{Share{percent(30), percent(80)}, "capacity", 0, ""},
		{Share{percent(30), percent(80)}, "capacity", 81, "above the queue's maximum-capacity 80"},
		{Share{percent(30), percent(80)}, "capacity", -1, "from 0 to 100"},
		{Share{percent(30), conf.QueueShare{}}, "capacity", 100, ""},
		{Share{percent(30), conf.QueueShare{}}, "capacity", 100.5, "from 0 to 100"},
		{Share{weight(3), percent(80)}, "weight", 101, ""},
		{Share{weight(3), percent(80)}, "weight", -1, "at least 0"},
		{Share{percent(30), percent(80)}, "maximum-capacity", 100, ""},
		{Share{percent(30), percent(80)}, "maximum-capacity", 30, ""},
		{Share{percent(30), percent(80)}, "maximum-capacity", 29, "below the queue's capacity 30"},
		{Share{weight(30), percent(80)}, "maximum-capacity", 0, ""},
		{Share{percent(30), percent(80)}, "maximum-capacity", 100.5, "from 0 to 100"},
		{Share{weight(30), percent(80)}, "maximum-capacity", -2, "from 0 to 100"},
	} {
		set := c.share
		why := set.SetProperty(c.name, c.value)
		if (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%s=%v of %+v: %q, want %q", c.name, c.value, c.share, why, c.why)
		}
		if why != "" {
			if set != c.share {
				t.Errorf("%s=%v is refused, and changes %+v", c.name, c.value, c.share)
			}
		} else if got, _, _ := set.Property(c.name); got != c.value {
			t.Errorf("%s=%v of %+v reads back as %v", c.name, c.value, c.share, got)
		}
	}
	s := Share{percent(30), percent(80)}
	if why := s.SetProperty("maximum-capacity", -1); why != "" || s != (Share{Capacity: percent(30)}) {
		t.Errorf("no maximum: %q, %+v", why, s)
	}
}

// How many applications a queue and each of its users may have.
func TestMaxApplications(t *testing.T) {
	for _, c := range []struct {
		own, every, scheduler int
		absCap                float32
		absolute              bool
		want                  int
	}{
		{7, 50, 100, 0.25, false, 7}, {0, 50, 100, 0.25, false, 0}, {-1, 50, 100, 0.25, false, 50}, {-1, 200, 100, 0.25, false, 100},
		{-1, 50, 100, 0.25, true, 25},
		{-1, 0, 100, 0.25, false, 25}, {-1, 0, 10, 0.25, false, 2}, {-1, 50, -1, 0.25, false, -1}, {-1, 50, 0, 0.25, false, 0},
	} {
		if got := MaxApplications(c.own, c.every, c.scheduler, c.absCap, c.absolute); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
	for _, c := range []struct {
		leaf            int
		percent, factor float32
		want            int
	}{{100, 100, 1, 100}, {100, 25, 1, 25}, {100, 25, 2, 50}, {100, 25, 8, 100}, {7, 50, 1, 3}, {100, 25, -1, 100}, {-1, 25, 1, -1},
		{0, 25, 1, 0}} {
		if got := MaxUserApplications(c.leaf, c.percent, c.factor); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
	for _, c := range []struct {
		apps, ofUser, total int
		most                int
		want                string // part of it
	}{
		{3, 1, 9, 10, ""}, {3, 1, 10, 10, "there are already 10"}, {4, 1, 9, 10, "queue root.a already has 4"},
		{3, 2, 9, 10, "user ann already has 2"}, {3, 1, 10, -1, ""},
	} {
		l := Leaf{OwnMaxApps: 4, UserPercent: 50, UserFactor: 1, Apps: c.apps}
		l.LimitCounts(0, 100, 1, false)
		err := l.Admit("root.a", "ann", c.ofUser, c.total, c.most)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
		unlimited := Leaf{Apps: c.apps, MaxApps: -1, MaxUserApps: -1}
		if err := unlimited.Admit("root.a", "ann", c.ofUser, 0, -1); err != nil {
			t.Errorf("without limits: %v", err)
		}
	}
}

// The AMs of a leaf hold a share of what it could reach, or of its guarantee if that is more; those of a user the user's share of
// the guarantee's, and never more than the leaf's.
func TestAMLimits(t *testing.T) {
	cluster := mb(102400)
	for _, c := range []struct{ current, effMin, want int64 }{{81920, 40960, 20480}, {40960, 81920, 20480}, {40960, 40960, 10240}} {
		if got := Default.AMLimit(mb(c.current), mb(c.effMin), 0.25, step); got.Mem != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	for _, c := range []struct {
		userPercent, factor float32
		users               int
		limit               int64 // of the leaf
		want                int64
	}{
		{50, 1, 4, 51200, 10240},  // half of a quarter of 81920
		{25, 1, 2, 51200, 10240},  // two users: half each
		{25, 1, 0, 51200, 20480},  // as with one
		{25, 1, 1, 51200, 20480},  // all of it
		{200, 1, 1, 51200, 20480}, // no more than all of it
		{25, 1, 9, 51200, 5120},
		{25, 2, 9, 51200, 10240},
		{25, 2, 9, 8192, 8192},
		{25, -1, 9, 51200, 20480},
	} {
		got := Default.UserAMLimit(cluster, mb(c.limit), mb(81920), 0.25, c.userPercent, c.factor, c.users, step)
		if got.Mem != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// What a leaf counts of its users.
func TestLeafCounts(t *testing.T) {
	cluster := mb(10240)
	var l Leaf
	var ann, bob User
	l.Hold(Default, cluster, &ann, mb(1024))
	l.Hold(Default, cluster, &bob, mb(2048))
	l.Stale = false
	check := func(what string, users int, used int64, ratio float32, stale bool) {
		t.Helper()
		if l.ActiveUsers != users || l.ActiveUsed.Mem != used || max(l.Ratio-ratio, ratio-l.Ratio) > 1e-6 || l.Stale != stale {
			t.Errorf("%s: %d active users hold %v, share %v, stale %v; want %d, %d, %v, %v", what, l.ActiveUsers, l.ActiveUsed, l.Ratio,
				l.Stale, users, used, ratio, stale)
		}
		l.Stale = false
	}
	check("nobody asks", 0, 0, 0.3, false)
	l.Ask(&ann, 1)
	check("ann asks", 1, 1024, 0.3, true)
	l.Ask(&ann, 1)
	check("ann asks twice", 1, 1024, 0.3, false)
	l.Ask(&bob, 1)
	check("bob asks", 2, 3072, 0.3, true)
	l.Hold(Default, cluster, &bob, mb(2048))
	check("bob holds more", 2, 5120, 0.5, true)
	l.Ask(&ann, -1)
	check("ann asks once", 2, 5120, 0.5, false)
	l.Ask(&ann, -1)
	check("ann asks no longer", 1, 4096, 0.5, true)
	l.Hold(Default, cluster, &ann, unit.Resources{}.Sub(mb(1024)))
	check("ann holds nothing", 1, 4096, 0.4, true)

	for i, c := range []struct {
		active, pending int
		want            int // users with only waiting applications
	}{{0, 1, 1}, {0, 1, 1}, {1, -1, 0}, {-1, 0, 1}, {0, -1, 0}} {
		if l.Count(&ann, c.active, c.pending); l.OnlyPending != c.want {
			t.Errorf("step %d: %d users have only waiting applications, want %d", i, l.OnlyPending, c.want)
		}
	}
	if l.ActiveApps != 0 || ann.Active != 0 || ann.Pending != 0 {
		t.Errorf("%+v, %+v", l, ann)
	}
}
