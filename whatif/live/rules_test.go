package live

import (
	"slices"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/conf"
	"github.com/yardmaster/yardmaster/yarn/edit"
)

// Of n outcomes, all but a tenth lie inside the interval on each side: an outcome of its own is as likely to lie beyond each of them.
func TestIntervalOfOutcomes(t *testing.T) {
	for n, want := range map[int]Interval{1: {1, 1, 1}, 3: {1, 2, 3}, 9: {1, 5, 9}, 18: {1, 10, 18}, 19: {2, 10, 18}, 20: {2, 11, 19}, 29: {3, 15, 27}, 99: {10, 50, 90}} {
		var x []unit.Time
		for i := range n {
			x = append(x, unit.Time(n-i)) // n to 1
		}
		if got := intervalOf(x); got != want {
			t.Errorf("of %d: %v, want %v", n, got, want)
		}
	}
}

// A start's interval grows by 18 % on each side of its median, but does not begin before now. One without any width has 2 % of the time to go on each side.
func TestStartsAreWidened(t *testing.T) {
	s := unit.Second
	for _, x := range []struct {
		now      unit.Time
		in, want Interval
	}{
		{0, Interval{1000 * s, 2000 * s, 4000 * s}, Interval{820 * s, 2000 * s, 4360 * s}},
		{900 * s, Interval{1000 * s, 2000 * s, 4000 * s}, Interval{900 * s, 2000 * s, 4360 * s}},
		{1000 * s, Interval{1000 * s, 2000 * s, 4000 * s}, Interval{1000 * s, 2000 * s, 4360 * s}},
		{1500 * s, Interval{1000 * s, 2000 * s, 4000 * s}, Interval{1000 * s, 2000 * s, 4360 * s}},
		{0, Interval{2000 * s, 2000 * s, 2000 * s}, Interval{2000*s - 472*s/10, 2000 * s, 2000*s + 472*s/10}},
		{0, Interval{1000 * s, 2000 * s, unit.Never}, Interval{1000 * s, 2000 * s, unit.Never}},
	} {
		if got := x.in.scaled(widened, x.now); got != x.want {
			t.Errorf("%v at %v: %v, want %v", x.in, x.now, got, x.want)
		}
	}
}

func settingsFile(settings ...string) []byte {
	out := "<configuration>"
	for _, s := range settings {
		c, err := edit.Parse(s)
		if err != nil {
			panic(err)
		}
		if c.Queue != "" {
			c.Queue += "."
		}
		out += edit.PropertyElement(conf.Prefix+c.Queue+c.Property, c.Value)
	}
	return []byte(out + "</configuration>")
}

// Five of four gigabytes would have to fit: a limit is raised to 5/4, then to twice and four times that, rounded up to its step, up to its top.
func TestRaise(t *testing.T) {
	const am = "maximum-am-resource-percent"
	gb := func(n int64) unit.Resources { return unit.Resources{Mem: n * 1024, Cores: n} }
	none := settingsFile()
	fair := func(inside string) []byte {
		return []byte(`<allocations>` + inside + `<queue name="a"/></allocations>`)
	}
	for _, x := range []struct {
		name string
		file []byte
		r    policy.Reason
		want string
	}{
		{"the default", none, policy.Reason{Limit: am}, "root.a.maximum-am-resource-percent=0.13 root.a.maximum-am-resource-percent=0.25 root.a.maximum-am-resource-percent=0.5"},
		{"of all queues", settingsFile(am + "=0.2"), policy.Reason{Limit: am}, "root.a.maximum-am-resource-percent=0.25 root.a.maximum-am-resource-percent=0.5 root.a.maximum-am-resource-percent=1"},
		{"its own", settingsFile(am+"=0.2", "root.a."+am+"=0.9"), policy.Reason{Limit: am}, "root.a.maximum-am-resource-percent=1"},
		{"at its top", settingsFile("root.a." + am + "=1"), policy.Reason{Limit: am}, ""},
		{"not a number", settingsFile("root.a." + am + "=x"), policy.Reason{Limit: am}, ""},
		{"of a user", settingsFile("root.a." + am + "=0.8"), policy.Reason{Limit: am, User: "ann"},
			"root.a.user-limit-factor=1.3 root.a.user-limit-factor=2.5 root.a.user-limit-factor=5 root.a.maximum-am-resource-percent=1"},
		{"user limit", none, policy.Reason{Limit: "user-limit-factor", User: "ann"}, "root.a.user-limit-factor=1.3 root.a.user-limit-factor=2.5 root.a.user-limit-factor=5"},
		{"users' guarantee", settingsFile("root.a.minimum-user-limit-percent=20"), policy.Reason{Limit: "minimum-user-limit-percent"},
			"root.a.minimum-user-limit-percent=25 root.a.minimum-user-limit-percent=50 root.a.minimum-user-limit-percent=100"},
		{"all of the cluster", none, policy.Reason{Limit: "maximum-capacity"}, ""},
		{"half of the cluster", settingsFile("root.a.maximum-capacity=50"), policy.Reason{Limit: "maximum-capacity"}, "root.a.maximum-capacity=63 root.a.maximum-capacity=100"},
		{"no amounts", settingsFile("root.a.maximum-capacity=50"), policy.Reason{Limit: "maximum-capacity", Max: unit.Resources{Mem: -1}}, "root.a.maximum-capacity=100"},
		{"AM share", fair(""), policy.Reason{Limit: "maxAMShare"}, "root.a.maxAMShare=0.63 root.a.maxAMShare=1"},
		{"AM share of all queues", fair("<queueMaxAMShareDefault>0.2</queueMaxAMShareDefault>"), policy.Reason{Limit: "maxAMShare"}, "root.a.maxAMShare=0.25 root.a.maxAMShare=0.5 root.a.maxAMShare=1"},
		{"resources", fair(""), policy.Reason{Limit: "maxResources", Max: unit.Resources{Mem: 4096, Cores: 9}}, "root.a.maxResources=5120 mb, 9 vcores"},
		{"applications", none, policy.Reason{Limit: "maximum-applications", MaxCount: 5}, "root.a.maximum-applications=6"},
		{"running applications", fair(""), policy.Reason{Limit: "maxRunningApps", MaxCount: 3}, "root.a.maxRunningApps=4"},
		{"a delay", none, policy.Reason{Limit: "node-locality-delay"}, "node-locality-delay=0"},
		{"a rack's delay", none, policy.Reason{Limit: "rack-locality-additional-delay"}, "rack-locality-additional-delay=0"},
		{"no setting", none, policy.Reason{Limit: policy.NodeRoom}, ""},
	} {
		x.r.Queue, x.r.Held, x.r.Size = "root.a", gb(4), gb(1)
		if x.r.Max.IsZero() {
			x.r.Max = gb(4)
		}
		if got := edit.Words(raise(x.file, &x.r)); got != x.want {
			t.Errorf("%s: %s, want %s", x.name, got, x.want)
		}
	}
	if got := edit.Words(raise(fair(""), &policy.Reason{Limit: "maxRunningApps", User: "ann", MaxCount: 3})); got != "userMaxAppsDefault=4" {
		t.Errorf("of a user: %s", got)
	}
}

// The tightest limit is raised alone, then as far as it goes together with the next one. What is no setting ends the list.
func TestCandidates(t *testing.T) {
	gb := func(n int64) unit.Resources { return unit.Resources{Mem: n * 1024, Cores: n} }
	limit := func(name string) policy.Reason {
		return policy.Reason{Limit: name, Queue: "root.a", Held: gb(4), Size: gb(1), Max: gb(4)}
	}
	file := settingsFile("root.a.maximum-am-resource-percent=0.9", "root.a.maximum-capacity=50")
	var got []string
	for _, set := range candidates(file, []policy.Reason{limit("maximum-capacity"), limit("maximum-am-resource-percent"), limit(policy.NodeRoom), limit("node-locality-delay")}) {
		got = append(got, edit.Words(set))
	}
	want := []string{"root.a.maximum-capacity=63", "root.a.maximum-capacity=100", "root.a.maximum-capacity=100 root.a.maximum-am-resource-percent=1"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Sixteen containers are in use. Four AMs are all that the share allows: without it, an application of a fair queue gets the next container that is free. No
// setting helps at once, and the best one counts if it more than halves the wait.
func TestBestTrialHalvesTheWait(t *testing.T) {
	v := waiting(t, `<allocations><queue name="a"><maxAMShare>0.25</maxAMShare></queue></allocations>`, 2, 4, 3, 1, "a")
	x := &Explanation{App: v.Find("w0")}
	q := question{index: 4, until: unit.Never}
	v.locate()
	if err := q.expect(t.Context(), x, v, Guess(v), Options{Seed: 1, Draws: 1}); err != nil {
		t.Fatal(err)
	}
	share := func(value string) []edit.Change {
		return []edit.Change{{Queue: "root.a", Property: "maxAMShare", Value: value}}
	}
	sets := [][]edit.Change{share("0.26"), share("0.5"), share("x")}
	try := func(sets [][]edit.Change, otherwise unit.Time) []Trial {
		t.Helper()
		out, err := q.try(t.Context(), sets, otherwise)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	got := try(sets, unit.Never)
	if len(got) != 1 || edit.Words(got[0].Changes) != "root.a.maxAMShare=0.5" || v.Soon(got[0].Next) || got[0].Next >= x.Next.Median {
		t.Fatalf("%+v; otherwise %v, now %v", got, x.Next, v.Now)
	}
	wait := got[0].Next - v.Now
	for _, c := range []struct {
		otherwise, until unit.Time
		want             int
	}{{v.Now + 2*wait, unit.Never, 0}, {v.Now + 2*wait + 2, unit.Never, 1}, {unit.Never, v.Now + wait, 0}, {unit.Never, v.Now + wait + 1, 1}, {unit.Never, v.Now, 0}, {v.Now, unit.Never, 0}} {
		if q.until = c.until; len(try(sets, c.otherwise)) != c.want {
			t.Errorf("a wait of %v, %v without it, simulated until %v: want %d", wait, c.otherwise-v.Now, c.until, c.want)
		}
	}
	if q.until = unit.Never; len(try(nil, unit.Never)) != 0 {
		t.Error("there is nothing to try")
	}
}

// A container whose node is not known lies where most is used that no known container explains; the largest ones are placed first.
func TestLocate(t *testing.T) {
	gb := func(n int64) unit.Resources { return unit.Resources{Mem: n * 1024, Cores: 1} }
	held := func(node int32, size int64) Container { return Container{Node: node, Size: gb(size)} }
	for _, x := range []struct {
		name string
		used []unit.Resources
		held []Container
		want []int32
	}{
		{"most is used", []unit.Resources{gb(3), gb(5), gb(4)}, []Container{held(-1, 1)}, []int32{1}},
		{"the first of two", []unit.Resources{gb(4), gb(5), gb(5)}, []Container{held(-1, 1)}, []int32{1}},
		{"explained by a known one", []unit.Resources{gb(3), gb(5), gb(4)}, []Container{held(1, 3), held(-1, 1)}, []int32{1, 2}},
		{"on the first node too", []unit.Resources{gb(5), gb(3), gb(4)}, []Container{held(0, 3), held(-1, 1)}, []int32{0, 2}},
		{"one after the other", []unit.Resources{gb(3), gb(5), gb(4)}, []Container{held(-1, 2), held(-1, 2), held(-1, 2), held(-1, 2)}, []int32{1, 2, 0, 1}},
		{"the largest first", []unit.Resources{gb(1), gb(5), gb(4)}, []Container{held(-1, 1), held(-1, 5)}, []int32{2, 1}},
		{"a node that has left", []unit.Resources{gb(3), gb(5), gb(4)}, []Container{held(3, 1)}, []int32{1}},
		{"use is not known: by room", nil, []Container{held(1, 2), held(0, 1), held(-1, 1)}, []int32{1, 0, 2}},
	} {
		v := &View{Cluster: cluster.Uniform(3, 1, gb(8)), Used: x.used, Apps: []App{{Held: x.held}}}
		v.locate()
		var got []int32
		for _, c := range v.Apps[0].Held {
			got = append(got, c.Node)
		}
		if !slices.Equal(got, x.want) {
			t.Errorf("%s: %v, want %v", x.name, got, x.want)
		}
	}
}

func TestStarted(t *testing.T) {
	for _, x := range []struct {
		name  string
		held  []Container
		since unit.Time
		ok    bool
	}{
		{"nothing", nil, -1, false},
		{"an AM", []Container{{AM: true, Since: 7}}, 7, true},
		{"an AM after others", []Container{{Since: 3}, {AM: true, Since: 7}}, 7, true},
		{"an AM is not known", []Container{{Since: 3}}, -1, true},
	} {
		a := App{Held: x.held}
		if since, ok := a.Started(); since != x.since || ok != x.ok {
			t.Errorf("%s: %v, %v", x.name, since, ok)
		}
	}
	v := View{Apps: []App{{ID: "a"}, {ID: "b"}}}
	if v.Find("a") != &v.Apps[0] || v.Find("b") != &v.Apps[1] || v.Find("c") != nil {
		t.Error("an application is not found by its id")
	}
}

// An application that shows no request waits for its AM, unless it has one or needs none.
func TestRequests(t *testing.T) {
	gb := unit.Resources{Mem: 1024, Cores: 1}
	am := rm.Ask{Priority: rm.AMPriority, Place: rm.Anywhere, Count: 1, Size: gb.Times(3)}
	task, local := rm.Ask{Priority: 20, Place: rm.Anywhere, Count: 5, Size: gb}, rm.Ask{Priority: 20, Place: rm.OnNode(0), Count: 1, Size: gb}
	for _, x := range []struct {
		name string
		app  App
		want []rm.Ask
	}{
		{"it waits for its AM", App{AM: gb.Times(3)}, []rm.Ask{am}},
		{"its AM is up", App{AM: gb.Times(3), Up: true}, nil},
		{"its AM starts", App{AM: gb.Times(3), Held: []Container{{AM: true}}}, nil},
		{"unmanaged", App{Unmanaged: true}, nil},
		{"it shows them", App{AM: gb.Times(3), Asks: []rm.Ask{task}, Local: []rm.Ask{local}}, []rm.Ask{local, task}},
	} {
		if got := x.app.requests(); !slices.Equal(got, x.want) {
			t.Errorf("%s: %+v, want %+v", x.name, got, x.want)
		}
	}
	for _, x := range []struct {
		app  App
		want unit.Resources
	}{{App{AM: gb.Times(3)}, gb.Times(3)}, {App{}, gb}, {App{AM: gb, Unmanaged: true}, unit.Resources{}}} {
		if got := x.app.master(); got != x.want {
			t.Errorf("%+v: an AM of %v, want %v", x.app, got, x.want)
		}
	}
}

// A request is too large if it fits on no node, empty or not.
func TestTooLarge(t *testing.T) {
	gb := func(mem, cores int64) unit.Resources { return unit.Resources{Mem: mem * 1024, Cores: cores} }
	v := &View{Cluster: cluster.Uniform(3, 1, gb(8, 8))}
	v.Cluster.Nodes[0].Room, v.Cluster.Nodes[2].Room = gb(16, 2), gb(4, 4)
	for _, x := range []struct {
		asks []unit.Resources
		want bool
	}{
		{[]unit.Resources{gb(16, 2)}, false}, {[]unit.Resources{gb(8, 8)}, false}, {[]unit.Resources{gb(9, 3)}, true}, {[]unit.Resources{gb(1, 1), gb(17, 1)}, true},
	} {
		a := &App{Up: true}
		for _, size := range x.asks {
			a.Asks = append(a.Asks, rm.Ask{Place: rm.Anywhere, Count: 1, Size: size})
		}
		last := x.asks[len(x.asks)-1]
		if got := v.tooLarge(a); (len(got) == 1) != x.want || x.want && (got[0].Limit != policy.NodeSize || got[0].Max != gb(16, 8) || got[0].Size != last) {
			t.Errorf("%v: %+v", x.asks, got)
		}
	}
}

// Of the values of a setting that give a container now, the smallest is named; of two settings, each.
func TestSmallestThatHelpsNow(t *testing.T) {
	v := waiting(t, `<allocations><queue name="a"><maxAMShare>0.25</maxAMShare></queue></allocations>`, 2, 4, 1, 1, "a")
	q := question{index: 4, until: unit.Never, study: newStudy(v, Guess(v), Options{Seed: 1, Draws: 1}, maxCalls)}
	set := func(property, value string) edit.Change {
		return edit.Change{Queue: "root.a", Property: property, Value: value}
	}
	share, most := func(value string) edit.Change { return set("maxAMShare", value) }, set("maxRunningApps", "9")
	out, err := q.try(t.Context(), [][]edit.Change{{share("0.26")}, {share("0.7")}, {share("1")}, {share("1"), most}, {share("0.1")}}, unit.Never)
	var got []string
	for _, x := range out {
		if got = append(got, edit.Words(x.Changes)); !v.Soon(x.Next) {
			t.Errorf("%v: not before %v", x.Changes, x.Next)
		}
	}
	if want := []string{"root.a.maxAMShare=0.7", "root.a.maxAMShare=1 root.a.maxRunningApps=9"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, want %q; %v", got, want, err)
	}
	many := slices.Repeat([][]edit.Change{{share("0.1")}}, maxTrials)
	if out, err := q.try(t.Context(), append(many, []edit.Change{share("0.7")}), v.Now); err != nil || len(out) != 0 {
		t.Errorf("more than %d are tried: %+v, %v", maxTrials, out, err)
	}
}

// The scale is the quantile of the scores that holds 80 %, a little more of few periods, and is measured on each period with that of the others.
func TestFit(t *testing.T) {
	var list []scored
	for period := range 10 {
		for k := range 10 {
			list = append(list, scored{period: period, score: float64(k + 1), width: 0.5})
		}
	}
	if f := fit(list); f.Scale != 9 || f.Outcomes != 100 || f.Periods != 10 || f.Inside != 0.9 || f.Width != 4.5 { // 80 % x 31/30 of 100 scores
		t.Errorf("ten periods: %+v", f)
	}
	for name, short := range map[string][]scored{"few outcomes": list[:14], "few periods": list[:20]} {
		if f := fit(short); f.Enough() || f.Scale != 0 {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// What is measured is said with the answer, and what is not is not claimed. A replay that is off by more than 20 % is a warning.
func TestCalibrationInWords(t *testing.T) {
	c := &Calibration{Ends: Fit{Scale: 1.3, Outcomes: 40, Periods: 9, Inside: 0.78, Width: 0.9}, Moments: 20, Observed: 30, Error: 0.19}
	if text := (&History{}).Covers(&Options{Calibration: c}); !strings.Contains(text, "of 40 ends, predicted at 20 moments from what had ended before, 78 % were inside such intervals, whose width is 90 % of the time to go") ||
		!strings.Contains(text, "too few waited there to measure starts") || c.Warning() != "" {
		t.Errorf("%s %s", text, c.Warning())
	}
	if c.Error = 0.21; !strings.Contains(c.Warning(), "a replay of the history is off by 21 % (median of 30 applications)") {
		t.Error(c.Warning())
	}
	if text := (&History{}).Covers(&Options{Calibration: &Calibration{}}); !strings.Contains(text, "do not take them for 80 %") {
		t.Error(text)
	}
}
