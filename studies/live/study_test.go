package live

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/sim/yarn"
	"github.com/yardmaster/yardmaster/studies/conform"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/unit"
)

func TestLine(t *testing.T) {
	want := []Line{{"pass", -5, 2}, {"call", 1000, 17}}
	b, err := json.Marshal(want)
	if err != nil || string(b) != `[["pass",-5,2],["call",1000,17]]` {
		t.Fatalf("%s %v", b, err)
	}
	var got []Line
	if err := json.Unmarshal(b, &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v %v", got, err)
	}
	for _, bad := range []string{`["pass",1]`, `["pass",1,2,3]`, `{}`, `["pass","x",1]`, `7`} {
		if json.Unmarshal([]byte(bad), new(Line)) == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

// A record of one application and one node: lines are announced in another order than things happened.
func TestScript(t *testing.T) {
	r := &Record{
		Workload: []hadoop.Application{{ID: "x"}}, Nodes: []NodeRecord{{}},
		Apps: []AppRecord{{Calls: []int64{100, 1102, 2104}, Took: []int64{2, 4, 3}}},
		Log: []Line{
			{"pass", -900, 0}, {"added", 90, 0},
			{"call", 101, 0},  // brought nothing
			{"pass", 1100, 0}, // gives at 1103, after the second call had begun
			{"gave", 1103, 0},
			{"moved", 1104, 0}, // the second call brings it
			{"call", 1107, 0},
			{"pass", 2106, 0},
			{"call", 2109, 0}, // had its answer at 2107: after the pass began
		},
	}
	var got []string
	last := unit.Time(-1)
	for _, in := range r.script().Instants {
		if in.At < last {
			t.Errorf("%v after %v", in.At, last)
		}
		last = in.At
		got = append(got, []string{yarn.Added: "added", yarn.Beat: "beat", yarn.Tick: "tick"}[in.Kind]+" "+strconv.FormatInt(int64(in.At/unit.Millisecond), 10))
	}
	want := "added 90, tick 101, beat 1103, tick 1104, beat 2106, tick 2107"
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("%s\nwant %s", s, want)
	}
}

func TestJudge(t *testing.T) {
	d := func(median, p95 float64) twoTimes {
		return twoTimes{End: conform.Distance{Median: median, P95: p95}}
	}
	for name, x := range map[string]struct {
		runs   []twoTimes
		spread []twoTimes
		met    bool
		last   string
	}{
		"every run":   {[]twoTimes{d(0.01, 0.02), d(0, 0)}, nil, true, "met"},
		"one not":     {[]twoTimes{d(0.03, 0.01), d(0, 0)}, nil, false, "met"},
		"its p95 not": {[]twoTimes{d(0, 0), d(0, 0.04)}, []twoTimes{d(0.05, 0.01)}, false, "missed: p95 4.0 %"},
		"spread":      {[]twoTimes{d(0.03, 0.01), d(0.04, 0)}, []twoTimes{d(0.05, 0), d(0.02, 0)}, true, "met within the daemons' own spread"},
		"missing":     {[]twoTimes{{End: conform.Distance{Missing: 2}}}, nil, false, "missed: 2 applications did not end in both"},
	} {
		t.Run(name, func(t *testing.T) {
			c := comparison{}
			c.ours[phases] = x.runs
			for i := range x.spread {
				c.spread = append(c.spread, pair{1, 2, x.spread[i]})
			}
			c.judge()
			if got := c.verdicts[len(c.verdicts)-1]; c.met != x.met || got != x.last {
				t.Errorf("%v: %s", c.met, got)
			}
		})
	}
}

func TestSettings(t *testing.T) {
	for _, xml := range []string{amsQueues(), mapreduceQueues(false), mapreduceQueues(true)} {
		fresh, err := conform.Scheduler(hadoop.Properties("", site(4096, 512)), xml, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fresh(); err != nil {
			t.Error(err)
		}
	}
}

func TestTimes(t *testing.T) {
	p := &Phase{Names: map[string]string{"1": "a", "2": "b", "3": "c"}}
	x, err := newTimes(p,
		[]ended{{"1", "root.q", 0, 10}, {"2", "root.q", 20, 40}, {"3", "root.p", 30, 35}},
		[]ended{{"1", "root.q", 5, 25}, {"2", "root.q", 35, 55}, {"3", "root.p", 30, 35}})
	if err != nil || x.job["a"] != 15 || x.mean("q") != 17.5 || x.mean("p") != 5 || x.mean("") != 40.0/3 || x.span != 45 {
		t.Errorf("%+v, %v", x, err)
	}
	for name, bad := range map[string]ended{"unknown": {"4", "root.q", 0, 10}, "not ended": {"1", "root.q", 0, -1}} {
		if _, err := newTimes(p, []ended{bad}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if short("root.prod.etl") != "etl" || short("x") != "x" {
		t.Error("short names of queues")
	}
}
