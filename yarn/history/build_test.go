package history

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/yarn/conf"
	"github.com/yardmaster/yardmaster/yarn/jhist"
)

func TestReduceLength(t *testing.T) {
	for name, c := range map[string]struct {
		start, shuffled, end, lastMap jhist.Millis
		want                          unit.Time
	}{
		"started after the maps":         {start: 100, shuffled: 130, end: 200, lastMap: 90, want: 100},
		"started early":                  {start: 10, shuffled: 130, end: 200, lastMap: 90, want: 110},
		"shuffle ended before the map":   {start: 10, shuffled: 80, end: 200, lastMap: 90, want: 120}, // clocks differ
		"no shuffle time":                {start: 10, end: 200, lastMap: 90, want: 110},
		"ended before the last map":      {start: 10, shuffled: 60, end: 80, lastMap: 90, want: 20}, // that map was run again
		"no maps":                        {start: 10, shuffled: 20, end: 80, want: 70},
		"clocks the wrong way round":     {start: 100, end: 80, lastMap: 90, want: 0},
		"shuffle before its own start":   {start: 50, shuffled: 20, end: 80, lastMap: 10, want: 30},
		"everything at the same instant": {start: 50, shuffled: 50, end: 50, lastMap: 50, want: 0},
	} {
		a := &jhist.Attempt{Start: c.start, ShuffleFinished: c.shuffled, Finish: c.end}
		if got := reduceLength(a, c.end, c.lastMap); got != c.want*unit.Millisecond {
			t.Errorf("%s: %v, want %v", name, got, c.want*unit.Millisecond)
		}
	}
}

// Whatever a history says, the job that is made of it can be played, or there is none.
func TestMapReduceProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		when := rapid.Custom(func(t *rapid.T) jhist.Millis { return jhist.Millis(rapid.Int64Range(0, 5000).Draw(t, "at")) })
		attempt := rapid.Custom(func(t *rapid.T) jhist.Attempt {
			return jhist.Attempt{
				Start: when.Draw(t, "start"), Finish: when.Draw(t, "finish"), ShuffleFinished: when.Draw(t, "shuffled"),
				Outcome: jhist.Outcome(rapid.IntRange(0, 3).Draw(t, "outcome")),
			}
		})
		task := rapid.Custom(func(t *rapid.T) jhist.Task {
			return jhist.Task{Attempts: rapid.SliceOfN(attempt, 0, 3).Draw(t, "attempts"), Hosts: rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "localhost", ""}), 0, 3).Draw(t, "hosts")}
		})
		h := &jhist.Job{
			ID: "job_1_1", Submit: when.Draw(t, "submit"), Launch: when.Draw(t, "launch"), Finish: when.Draw(t, "finish"),
			Status: rapid.SampledFrom([]string{"SUCCEEDED", "FAILED", "KILLED", ""}).Draw(t, "status"), Uber: rapid.Bool().Draw(t, "uber"),
			Maps: rapid.SliceOfN(task, 0, 5).Draw(t, "maps"), Reduces: rapid.SliceOfN(task, 0, 5).Draw(t, "reduces"),
		}
		h.Totals.SlotMillisMaps, h.Totals.MemoryMillisMaps = rapid.Int64Range(0, 1000).Draw(t, "ms"), rapid.Int64Range(0, 1<<40).Draw(t, "mbms")
		var c tally
		j := (&builder{names: &names{}}).mapReduce(h, nil, nil, &c)
		if j == nil {
			if c.NoTasks != 1 || c.MapReduce != 0 {
				t.Fatalf("no job, and it is not counted: %+v", c)
			}
			return
		}
		if err := j.Validate(); err != nil {
			t.Fatal(err)
		}
		if c.MapReduce != 1 || !h.Uber && c.Maps+c.Reduces != j.Tasks() {
			t.Fatalf("%d tasks: %+v", j.Tasks(), c)
		}
	})
}

// What the ResourceManager counted of an application is what its containers and its AM hold: memory-seconds and vcore-seconds, to one unit and
// what a microsecond of each container holds.
func TestOtherProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ran := rapid.Int64Range(1, 100_000).Draw(t, "s")
		cores := rapid.Int64Range(1, 50*ran).Draw(t, "core-s")
		mem := rapid.Int64Range(1, 8192*cores).Draw(t, "MiB-s")
		a := &app{
			ID: "application_1_1", Type: "SPARK", Status: "SUCCEEDED", Started: 5000, Launch: 6000, Finished: 6000 + ran*1000,
			MemorySeconds: mem, CoreSeconds: cores, Unmanaged: rapid.Bool().Draw(t, "unmanaged"),
		}
		site := conf.DefaultSite()
		site.MinAllocation.Mem = rapid.SampledFrom([]int64{1, 128, 512, 1000, 1024, 2048}).Draw(t, "step")
		j := (&builder{names: &names{}, site: site}).other(a)
		if j == nil {
			t.Fatal("left out")
		}
		if err := j.Validate(); err != nil {
			t.Fatal(err)
		}
		var grain unit.Resources // of all containers
		for _, s := range j.Stages {
			for i := range s.Tasks {
				if got := s.Length.Draw(i, 0).Seconds(); got > float64(ran)+1e-6 {
					t.Fatalf("a container of %v s in %d s", got, ran)
				}
			}
			grain = grain.Add(s.Ask.Times(s.Tasks))
		}
		gotMem, gotCores := holds(j, float64(ran))
		if diff := math.Abs(gotMem - float64(mem)); diff > 1+1e-6*float64(grain.Mem) {
			t.Fatalf("%v MiB-seconds of %d, in %d s: %+v", gotMem, mem, ran, j.Stages)
		}
		if diff := math.Abs(gotCores - float64(cores)); diff > 1+1e-6*float64(grain.Cores) {
			t.Fatalf("%v core-seconds of %d, in %d s: %+v", gotCores, cores, ran, j.Stages)
		}
	})
}

// Two imports with a gap between them do not pass for one that covers it.
func TestCover(t *testing.T) {
	at := func(s int64) time.Time { return time.UnixMilli(s) }
	for _, c := range []struct {
		have        state
		since, till time.Time
		from, until int64
	}{
		{state{}, at(5), at(9), 5, 9},
		{state{From: 5, Until: 9}, at(7), at(12), 5, 12},
		{state{From: 5, Until: 9}, at(2), at(6), 2, 9},
		{state{From: 5, Until: 9}, at(11), at(12), 11, 12},
		{state{From: 5, Until: 9}, at(1), at(3), 1, 3},
		{state{From: 5, Until: 9}, time.Time{}, at(12), 0, 12},
	} {
		s := c.have
		if s.cover(c.since, c.till); s.From != c.from || s.Until != c.until {
			t.Errorf("%+v and %v to %v: %d to %d", c.have, c.since, c.till, s.From, s.Until)
		}
	}
}

func TestManyTasks(t *testing.T) {
	h := &jhist.Job{ID: "job_1_1", Submit: 1, Finish: 1e9, Status: "SUCCEEDED"}
	for i := range listTasks + 5 {
		h.Maps = append(h.Maps, jhist.Task{Number: i, Hosts: []string{"a"}, Attempts: []jhist.Attempt{{Start: 10, Finish: jhist.Millis(10 + i), Outcome: jhist.Succeeded}}})
	}
	var c tally
	j := (&builder{names: &names{}}).mapReduce(h, nil, nil, &c)
	l := j.Stages[0].Length
	if l.Kind != workload.Quantiles || len(l.Values) != tableSteps+1 || l.Values[0] != 0 || l.Values[tableSteps] != (listTasks+4)*unit.Millisecond || c.Quantiles != 1 {
		t.Errorf("%v with %d values", l.Kind, len(l.Values))
	}
}

func TestJobConf(t *testing.T) {
	c := jobConf{
		"yarn.app.mapreduce.am.resource.mb": "1024", "yarn.app.mapreduce.am.resource.memory-mb": "2Gi", "mapreduce.map.memory.mb": "x", "mapreduce.reduce.resource.vcores": "3",
		"mapreduce.job.reduce.slowstart.completedmaps": " 0.75 ",
	}
	if got := c.am(); got != (unit.Resources{Mem: 2048}) {
		t.Error(got)
	}
	if c.task("map") != (unit.Resources{}) || c.task("reduce") != (unit.Resources{Cores: 3}) || c.slowStart() != 0.75 || jobConf(nil).slowStart() != defaultSlowStart {
		t.Errorf("%v %v %v", c.task("map"), c.task("reduce"), c.slowStart())
	}
	for text, want := range map[string]int{"VERY_HIGH": 5, "low": 2, "DEFAULT": 0, "7": 7, "": 0, "NORMAL": 3} {
		if got := priority(text); got != want {
			t.Errorf("priority %q is %d, want %d", text, got, want)
		}
	}
}

func TestCalibrate(t *testing.T) {
	c := calibrate(&samples{AMStart: []int64{3000, 5000, 4000}, QuietStart: []int64{1}, Commit: []int64{100}, Overhead: []int64{1500, 900, 2500}})
	want := Calibration{
		AMStart: 4 * unit.Second, AMSamples: 3, AMFrom: c.AMFrom, ContainerStart: 500 * unit.Millisecond, ContainerExit: 500 * unit.Millisecond,
		ExitSamples: 3, Commit: 100 * unit.Millisecond, CommitSamples: 1,
	}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Error(diff)
	}
	if c := calibrate(&samples{QuietStart: []int64{9000, 2000, 3000, 8000, 7000}}); c.AMStart != 2*unit.Second || !strings.Contains(c.AMFrom, "decile") {
		t.Errorf("%+v", c)
	}
}

func TestDays(t *testing.T) {
	day := func(s string) time.Time {
		d, err := time.Parse("2006-01-02 15:04", s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	from := day("2026-03-10 12:00")
	for path, want := range map[string]bool{
		"2025": false, "2026": true, "2027": true, "2026/02": false, "2026/03": true, "2026/04": true,
		"2026/03/07": false, "2026/03/09": true, "2026/03/15": true, "2026/03/22": true, "2026/03/15/000001": true, "logs": true, "job": true, "2026/xx": true,
	} {
		if got := visit(path, from); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	if !visit("1999/01/01", time.Time{}) {
		t.Error("without bounds every day counts")
	}
}

func TestNames(t *testing.T) {
	n, plain := &names{salt: []byte("s")}, &names{}
	if plain.queue("root.a") != "root.a" || plain.user("x") != "x" {
		t.Error("names without a salt are changed")
	}
	if n.queue("root.a.b") != "root."+n.queue("a")+"."+n.queue("b") || n.queue("default") != "default" || n.user("a") == n.host("a") || n.user("") != "" {
		t.Errorf("%s %s %s", n.queue("root.a.b"), n.user("a"), n.host("a"))
	}
	if n.rack("/default-rack") != "/default-rack" || !strings.HasPrefix(n.rack("/east/r1"), "/r") {
		t.Error(n.rack("/east/r1"))
	}
	const p = conf.Prefix
	kept, dropped := n.capacity([]conf.Property{
		{Name: p + "root.queues", Value: "a"}, {Name: p + "root.a.capacity", Value: "100"}, {Name: p + "root.a.acl_submit_applications", Value: "ann"},
		{Name: p + "queue-mappings", Value: "u:ann:a"}, {Name: p + "root.a.leaf-queue-template.acl_administer_queue", Value: "ann"},
		{Name: p + "root.a.accessible-node-labels", Value: "ann"},
	})
	if len(kept) != 2 || strings.Contains(fmt.Sprint(kept, dropped), "ann") || len(dropped) != 4 {
		t.Errorf("kept %v, left out %v", kept, dropped)
	}
}

func TestKey(t *testing.T) {
	if a, ok := parseKey("job_12_0034"); !ok || a != (key{12, 34}) {
		t.Error(a, ok)
	}
	if a, ok := parseKey("application_12_34567"); !ok || a != (key{12, 34567}) {
		t.Error(a, ok)
	}
	for _, bad := range []string{"", "job_", "job_1", "task_1_2", "job_x_1", "job_1_y"} {
		if _, ok := parseKey(bad); ok {
			t.Errorf("%q was taken", bad)
		}
	}
}
