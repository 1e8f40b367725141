package sls

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/internal/input"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

const ms = unit.Millisecond

func file(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func hasNotes(t *testing.T, notes []workload.Note, want ...string) {
	t.Helper()
	for _, w := range want {
		found := false
		for _, n := range notes {
			found = found || strings.HasPrefix(fmt.Sprint(n.Count, " ", n.Text), w)
		}
		if !found {
			t.Errorf("no note %q in %v", w, notes)
		}
	}
}

func TestJobs(t *testing.T) {
	r := NewReader(bytes.NewReader(file(t, "testdata/jobs.json")), "jobs.json", Options{})
	jobs, err := workload.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	want := workload.Slice{
		{
			ID: "job_1", User: "ana", Queue: "etl", Submit: 1000 * ms, AM: unit.Resources{Mem: 2048, Cores: 1},
			Observed: &workload.Observed{Launch: 1000 * ms, Finish: 95000 * ms},
			Stages: []workload.Stage{
				{
					Name: "map", Tasks: 3, Ask: cluster.Unit,
					Length: workload.Lengths{Kind: workload.List, Values: []unit.Time{17000 * ms, 1000 * ms, 1000 * ms}},
					Hosts:  &workload.Hosts{Names: []string{"rack1/node1", "rack2/node5"}, Of: [][]int32{{0}, {1}, {1}}},
				},
				{Name: "map-2", Tasks: 1, Ask: unit.Resources{Mem: 512, Cores: 1}, Length: workload.Fixed(500 * ms)},
				{
					Name: "reduce", Kind: workload.Reduce, Tasks: 3, Ask: unit.Resources{Mem: 4096, Cores: 2}, Length: workload.Fixed(7000 * ms),
					After: []workload.Edge{{From: 0, SlowStart: 1}, {From: 1, SlowStart: 1}},
				},
			},
		},
	}
	dag := []workload.Stage{
		{Name: "map", Tasks: 1, Ask: cluster.Unit, Length: workload.Fixed(10 * ms)},
		{Name: "shell", Kind: workload.Other, Tasks: 1, Ask: cluster.Unit, Length: workload.Fixed(10 * ms)},
		{Name: "reduce", Kind: workload.Reduce, Tasks: 1000000, Ask: cluster.Unit, Length: workload.Fixed(10 * ms)},
	}
	for _, id := range []string{"7_1", "7_2"} {
		want = append(want, &workload.Job{ID: id, User: "default", Queue: "default", Submit: 500 * ms, AM: cluster.Unit, Stages: dag})
	}
	if d := cmp.Diff(want, jobs); d != "" {
		t.Error(d)
	}
	if r.nodes != 6 || r.racks != 2 {
		t.Errorf("%d nodes in %d racks", r.nodes, r.racks)
	}
	hasNotes(t, r.Notes(), "0 SLS: read 3 jobs, made 3 with 2000011 tasks", "1 SLS: jobs without tasks dropped", "1 SLS: jobs stand out of the order",
		"1 SLS: jobs without a queue", "1 SLS: tasks with a request delay", "1 SLS: tasks of opportunistic", "1 SLS: jobs with a node label",
		"0 SLS: the trace speaks of 6 nodes in 2 racks")

	r = NewReader(strings.NewReader(`{"job.start.ms":1371222054499,"am.type":"stream","job.tasks":[{"duration.ms":1,"container.type":"x"}]}
		{"job.start.ms":1371222054000,"job.tasks":[{"duration.ms":1,"container.type":"x"}]}`), "f", Options{NoAM: true})
	jobs, err = workload.ReadAll(r)
	if err != nil || jobs[0].Submit != 0 || jobs[1].Submit != 0 || jobs[0].ID != "job_1" || !jobs[0].AM.IsZero() {
		t.Errorf("%+v, %v", jobs, err)
	}
	hasNotes(t, r.Notes(), "0 SLS: submit times count from 1970", "1 SLS: jobs submitted before", "1 SLS: stream jobs", "1 SLS: jobs name their kind", "1 SLS: tasks of a mapreduce")
}

func TestJobErrors(t *testing.T) {
	task := func(s string) string { return `{"job.id":"a","job.tasks":[{` + s + `}]}` }
	for name, c := range map[string]struct{ in, want string }{
		"cut off":         {"{\"job.id\":\"a\",\n\"job.tasks\":[{", "f.json:2: record 1: the data ends inside a value; the file is cut off"},
		"second record":   {task(`"duration.ms":5`) + "\n" + task(`"duration.ms":true`), `f.json:2: record 2: "duration.ms": should be a number, not true`},
		"no length":       {task(`"count":5`), "f.json:1: record 1: a task has no length: give container.duration.ms"},
		"zero length":     {task(`"duration.ms":0`), "a task takes 0 ms"},
		"ends first":      {task(`"container.start.ms":5,"container.end.ms":4`), "a task takes -1 ms"},
		"negative length": {task(`"duration.ms":-5`), `"duration.ms": -5 is not between -1 and`},
		"negative count":  {task(`"duration.ms":5,"count":-1`), `"count": -1 is not between 0 and 1000000000`},
		"absurd count":    {task(`"duration.ms":5,"count":1000000000000`), `"count": 1000000000000 is not between`},
		"absurd copies":   {`{"job.count":1e9}`, `"job.count": 1000000000 is not between`},
		"absurd memory":   {task(`"container.memory-mb":1e15`), `"container.memory-mb": 1000000000000000 is not between`},
		"no container":    {task(`"container.memory-mb":0,"container.vcores":0,"duration.ms":1`), "asks for a container of 0 MiB, 0 vcores"},
		"negative start":  {`{"job.start.ms":-1}`, `"job.start.ms": -1 is not between 0 and`},
		"many with hosts": {task(`"duration.ms":5,"count":1000001,"container.host":"/r/n"`), "job a has more than 500000 tasks that differ or name hosts"},
		"tasks as object": {`{"job.tasks":{}}`, `"job.tasks": should be an array, not an object`},
		"something else":  {`{"x":1}`, "neither a job (job.tasks) nor a header (num.nodes)"},
		"long name":       {`{"job.id":"` + strings.Repeat("a", 300) + `"}`, "a name of 300 bytes; at most 255"},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewReader(strings.NewReader(c.in), "f.json", Options{})
			_, err := workload.ReadAll(r)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "f.json:") {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if _, again := r.Next(); !errors.Is(again, err) {
				t.Errorf("then %v", again)
			}
		})
	}
}

func TestNodes(t *testing.T) {
	c, notes, err := ReadNodesWith(bytes.NewReader(file(t, "testdata/nodes.json")), "n.json", unit.Resources{Mem: 100, Cores: 10})
	want := &cluster.Cluster{Racks: []string{"rack1", "rack2"}, Nodes: []cluster.Node{
		{Name: "node1", Room: unit.Resources{Mem: 2048, Cores: 6}},
		{Name: "node2", Room: unit.Resources{Mem: 100, Cores: 10}},
		{Name: "node3", Rack: 1, Room: unit.Resources{Mem: 100, Cores: 10}},
	}}
	if d := cmp.Diff(want, c); d != "" || err != nil {
		t.Error(d, err)
	}
	hasNotes(t, notes, "1 SLS nodes: nodes with labels", "1 SLS nodes: nodes with their own size", "1 SLS nodes: nodes without a name left out")

	c, err = ReadNodes(bytes.NewReader(file(t, "testdata/jobs.json")), "jobs.json")
	if err != nil || c.String() != "6 nodes in 2 racks, 60 GiB and 60 vcores" || c.Nodes[3].Name != "node3" || c.Racks[c.Nodes[3].Rack] != "rack1" {
		t.Errorf("header: %v, %v", c, err)
	}
	c, err = ReadNodes(bytes.NewReader(file(t, "testdata/synth.json")), "synth.json")
	if err != nil || c.String() != "20 nodes in 5 racks, 200 GiB and 200 vcores" {
		t.Errorf("SYNTH: %v, %v", c, err)
	}
	for in, want := range map[string]string{
		"":                          "n.json: no nodes",
		`{"rack":"a"}`:              "n.json: no nodes",
		`{"rack":"a","nodes":[{}]}`: "n.json: no nodes",
		`{"rack":"a","nodes":7}`:    `"nodes": should be an array, not a number`,
		`{"num.nodes":1e9}`:         `"num.nodes": 1000000000 is not between`,
		`{"nodes":[{"node":"a","memory-mb":-1}]}`:           `"memory-mb": -1 is not between 1 and`,
		`{"nodes":[{"node":"a"}]} {"nodes":[{"node":"a"}]}`: `two nodes are named "a"`,
		`{"nodes":[{"node":"a"}`:                            "cut off",
	} {
		if _, err := ReadNodes(strings.NewReader(in), "n.json"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", in, err, want)
		}
	}
}

// Each file is recognised as what it is and as nothing else.
func TestResourceTypes(t *testing.T) {
	r := NewReader(strings.NewReader(`{"job.start.ms": 0, "am.yarn.io/gpu": 1, "job.tasks": [
		{"container.yarn.io/gpu": 2, "container.priority": 20, "duration.ms": 5}, {"duration.ms": 5}]}`), "t.json", Options{})
	j, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	if j.AM.Extra != unit.Named("yarn.io/gpu", 1) || len(j.Stages) != 2 || j.Stages[0].Ask.Extra != unit.Named("yarn.io/gpu", 2) || j.Stages[1].Ask.Extra != (unit.Extra{}) {
		t.Errorf("%+v", j)
	}
	c, err := ReadNodes(strings.NewReader(`{"rack": "a", "nodes": [{"node": "n1", "yarn.io/gpu": 8}, {"node": "n2"}]}`), "n.json")
	if err != nil || c.Nodes[0].Room.Extra.Of("yarn.io/gpu") != 8 || c.Nodes[1].Room.Extra != (unit.Extra{}) {
		t.Errorf("%v, %v", c, err)
	}
	if _, err := ReadNodes(strings.NewReader(`{"rack": "a", "nodes": [{"node": "n1", "yarn.io/GPU": 8}]}`), "n.json"); err == nil || !strings.Contains(err.Error(), "cannot name a resource") {
		t.Errorf("%v", err)
	}
}

func TestSniff(t *testing.T) {
	files := map[string]string{"testdata/jobs.json": "jobs", "testdata/nodes.json": "nodes", "testdata/synth.json": "synth", "testdata/synth-old.json": "synth"}
	if dir := os.Getenv("YARDMASTER_TRACES"); dir != "" {
		for f, is := range map[string]string{
			"hadoop-sls/inputsls.json": "jobs", "hadoop-sls/sls_dag.json": "jobs", "hadoop-sls/nodes.json": "nodes", "hadoop-sls/nodes-with-resources.json": "nodes",
			"hadoop-sls/syn.json": "synth", "hadoop-sls/syn_generic.json": "synth", "hadoop-sls/syn_stream.json": "synth",
			"hadoop-sls/2jobs2min-rumen-jh.json": "", "mumak/19-jobs.trace.json.gz": "", "mumak/19-jobs.topology.json.gz": "", "hadoop-sls/fair-scheduler.xml": "",
		} {
			files[filepath.Join(dir, f)] = is
		}
	}
	for path, want := range files {
		f, err := input.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		prefix, err := f.Peek(input.PeekSize)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{"jobs": Sniff(prefix), "synth": SniffSynth(prefix), "nodes": SniffNodes(prefix)}
		for is, yes := range got {
			if yes != (is == want) {
				t.Errorf("%s: recognised as %v, want %q", path, got, want)
				break
			}
		}
		f.Close()
	}
}

func TestRealTraces(t *testing.T) {
	dir := os.Getenv("YARDMASTER_TRACES")
	if dir == "" {
		t.Skip("YARDMASTER_TRACES is not set")
	}
	type source interface {
		workload.Source
		Notes() []workload.Note
	}
	for name, c := range map[string]struct {
		open        func(io.Reader) source
		jobs, tasks int64
	}{
		"inputsls.json":    {func(r io.Reader) source { return NewReader(r, "f", Options{}) }, 2, 5},
		"sls_dag.json":     {func(r io.Reader) source { return NewReader(r, "f", Options{}) }, 2, 5},
		"syn.json":         {func(r io.Reader) source { return NewSynthReader(r, "f", SynthOptions{}) }, 10, 0},
		"syn_generic.json": {func(r io.Reader) source { return NewSynthReader(r, "f", SynthOptions{}) }, 10, 0},
		"syn_stream.json":  {func(r io.Reader) source { return NewSynthReader(r, "f", SynthOptions{}) }, 5, 10},
	} {
		src := c.open(bytes.NewReader(file(t, filepath.Join(dir, "hadoop-sls", name))))
		jobs, err := workload.ReadAll(src)
		if err != nil {
			t.Fatal(name, err)
		}
		var tasks int64
		for _, j := range jobs {
			tasks += j.Tasks()
		}
		if int64(len(jobs)) != c.jobs || c.tasks > 0 && tasks != c.tasks {
			t.Errorf("%s: %d jobs, %d tasks", name, len(jobs), tasks)
		}
		for _, n := range src.Notes() {
			t.Log(name, n.Count, n.Text)
		}
	}
	for name, want := range map[string]string{"nodes.json": "19 nodes in 5 racks", "nodes-with-resources.json": "4 nodes in 1 rack, 28 GiB and 38 vcores"} {
		c, err := ReadNodes(bytes.NewReader(file(t, filepath.Join(dir, "hadoop-sls", name))), name)
		if err != nil || !strings.Contains(c.String(), want) {
			t.Errorf("%s: %v, %v", name, c, err)
		}
	}
}
