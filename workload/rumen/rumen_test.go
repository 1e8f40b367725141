package rumen

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

const sec = unit.Second

func read(t testing.TB, opt Options) ([]*workload.Job, *Reader) {
	t.Helper()
	f, err := os.Open("testdata/jobs.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := NewReader(f, "jobs.json", opt)
	jobs, err := workload.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return jobs, r
}

func TestJob(t *testing.T) {
	jobs, r := read(t, Options{})
	want := &workload.Job{
		ID: "job_1_0001", Name: "sort", User: "ana", Queue: "etl", Priority: 4,
		Observed: &workload.Observed{Launch: 1 * sec, Finish: 100 * sec, Outcome: "SUCCESS"},
		Stages: []workload.Stage{
			{
				Name: "map", Kind: workload.Map, Tasks: 3, Ask: unit.Resources{Mem: 2048, Cores: 1}, Input: 200,
				// The second has no successful attempt: the mean of the others.
				Length: workload.Lengths{Kind: workload.List, Values: []unit.Time{10 * sec, 15 * sec, 20 * sec}},
				Hosts: &workload.Hosts{
					Names: []string{"10.0.1.0/n1.example", "10.0.2.0/n2.example"},
					Of:    [][]int32{{1}, nil, {0, 1}},
				},
			},
			{
				Name: "reduce", Kind: workload.Reduce, Tasks: 2, Ask: unit.Resources{Mem: 4096, Cores: 1}, Output: 60,
				// The last map ended at 1040: the first reduce worked 20 of its 43 seconds, the second all of its 15.
				Length: workload.Lengths{Kind: workload.List, Values: []unit.Time{20 * sec, 15 * sec}},
				After:  []workload.Edge{{From: 0, Shuffle: 110, SlowStart: 0.05}},
			},
		},
	}
	if d := cmp.Diff(want, jobs[0]); d != "" {
		t.Error(d)
	}
	want = &workload.Job{
		ID: "job_1_0002", User: "bo", Queue: "default", Priority: 3,
		Observed: &workload.Observed{Launch: 1 * sec, Finish: 2 * sec, Outcome: "FAILED"},
		Stages: []workload.Stage{{
			Name: "map", Tasks: 2, Ask: cluster.Unit, Length: workload.Lengths{Kind: workload.List, Values: []unit.Time{5 * sec, 5 * sec}},
		}},
	}
	if d := cmp.Diff(want, jobs[1]); d != "" || len(jobs) != 2 {
		t.Error(len(jobs), d)
	}
	var notes []string
	for _, n := range r.Notes() {
		notes = append(notes, fmt.Sprint(n.Count, " ", strings.TrimPrefix(n.Text, "Rumen: ")))
	}
	wantNotes := []string{
		"0 read 4 jobs, kept 2 with 5 maps and 2 reduces",
		"1 jobs without a submit time dropped",
		"1 jobs without a task whose length is known dropped",
		"1 jobs that failed or were killed are kept, as if they had run to their end",
		"1 jobs submitted before the instant that counts as 0 are submitted at 0",
		"1 jobs without a queue go to queue default",
		"3 tasks without a successful attempt take the mean length of their stage",
		"2 set-up and clean-up tasks left out",
		"1 jobs without container sizes ask for 1024 MiB, 1 vcore",
		"0 reduces may start when 0.05 of the maps are done",
		"0 a reduce's length is what it did after its job's last map",
	}
	for _, w := range wantNotes {
		found := false
		for _, n := range notes {
			found = found || n == w
		}
		if !found {
			t.Errorf("no note %q", w)
		}
	}
	if len(notes) != len(wantNotes) {
		t.Errorf("notes %q", notes)
	}
}

// lengths writes a job's stages shortly: name:seconds,seconds.
func lengths(j *workload.Job) string {
	var parts []string
	for i := range j.Stages {
		s := &j.Stages[i]
		var v []string
		for k := range s.Tasks {
			v = append(v, fmt.Sprint(s.Length.Draw(k, 0).Seconds()))
		}
		parts = append(parts, s.Name+":"+strings.Join(v, ","))
	}
	return strings.Join(parts, " ")
}

func TestOptions(t *testing.T) {
	for name, c := range map[string]struct {
		opt  Options
		want string // of the first job
		jobs int
	}{
		"observed":      {Options{Missing: Observed}, "map:10,4,20 reduce:20,15", 2},
		"drop":          {Options{Missing: Drop}, "map:10,20 reduce:20,15", 1},
		"failed":        {Options{DropFailed: true}, "map:10,15,20 reduce:20,15", 1},
		"others":        {Options{Others: true}, "setup:1.5 map:10,15,20 reduce:20,15 cleanup:2", 2},
		"tracker clock": {Options{TrackerClock: true, Others: true}, "setup:2 map:11,24,37 reduce:20,17 cleanup:3", 2},
	} {
		t.Run(name, func(t *testing.T) {
			jobs, _ := read(t, c.opt)
			if got := lengths(jobs[0]); got != c.want || len(jobs) != c.jobs {
				t.Errorf("got %q and %d jobs, want %q and %d", got, len(jobs), c.want, c.jobs)
			}
		})
	}
	jobs, _ := read(t, Options{Base: 990000, Ask: unit.Resources{Mem: 512, Cores: 2}, AM: cluster.Unit, SlowStart: -1, Others: true})
	a, b := jobs[0], jobs[1]
	if a.Submit != 10*sec || b.Submit != 0 || a.AM != cluster.Unit || a.Stages[1].Ask != (unit.Resources{Mem: 2048, Cores: 2}) ||
		b.Stages[0].Ask.Mem != 512 || a.Stages[2].After[0].SlowStart != 0 || a.Stages[3].Kind != workload.Reduce || a.Stages[1].After[0].SlowStart != 1 {
		t.Errorf("got %+v and %+v", a, b)
	}
	if _, err := NewReader(strings.NewReader(""), "x", Options{SlowStart: 2}).Next(); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("slow-start 2: %v", err)
	}
	f, err := os.Open("testdata/jobs.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if first, err := Earliest(f, "jobs.json"); first != 990000 || err != nil {
		t.Errorf("Earliest: %d, %v", first, err)
	}
}

// A reduce's own work is what it did after its job's last map, but not less than what it did after its shuffle and not more than all of it.
func TestReduceLength(t *testing.T) {
	const lastMap = 1000
	for name, c := range map[string]struct {
		task    task
		lastMap int64
		want    int32
	}{
		"after the last map":                     {task{finish: 1020, full: 43, shuffled: 13}, lastMap, 20},
		"shuffled before the last map had ended": {task{finish: 1005, full: 43, shuffled: 13}, lastMap, 13},
		"ended before the last map had":          {task{finish: 990, full: 43, shuffled: 13}, lastMap, 13},
		"the same, shuffle unknown":              {task{finish: 990, full: 43, shuffled: none}, lastMap, 0},
		"began after the last map":               {task{finish: 1100, full: 43, shuffled: 13}, lastMap, 43},
		"last map unknown":                       {task{finish: 1020, full: 43, shuffled: 13}, none, 13},
		"end unknown":                            {task{finish: none, full: 43, shuffled: none}, lastMap, 43},
		"no attempt succeeded":                   {task{finish: 1020, full: none, shuffled: 13}, lastMap, none},
	} {
		if got := (&Reader{}).reduceLength(&c.task, c.lastMap); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestChoices(t *testing.T) {
	for _, m := range []Missing{Mean, Observed, Drop} {
		if got, err := ParseMissing(m.String()); got != m || err != nil {
			t.Error(m, got, err)
		}
	}
	if _, err := ParseMissing("x"); err == nil {
		t.Error("x was taken")
	}
}

func TestErrors(t *testing.T) {
	whole, err := os.ReadFile("testdata/jobs.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ in, want string }{
		"cut off":         {string(whole[:len(whole)-20]), "f.json:58: record 4: the data ends inside a value; the file is cut off"},
		"wrong type":      {"{\"jobID\":\"a\"}\n{\"submitTime\":\"soon\"}", `f.json:2: record 2: "submitTime": "soon" is not a number`},
		"tasks as number": {`{"mapTasks":7}`, `f.json:1: record 1: "mapTasks": should be an array, not a number`},
		"negative":        {`{"submitTime":-7}`, `"submitTime": -7 is not between -1 and`},
		"far future":      {`{"finishTime":9000000000000000}`, `"finishTime": 9000000000000000 is not between`},
		"absurd memory":   {`{"jobMapMB":90000000000000}`, `"jobMapMB": 90000000000000 is not between`},
		"no id":           {`{"submitTime":5,"mapTasks":[]}`, `the job has no jobID`},
		"not JSON":        {"job1\t1\t2", `f.json:1: record 1: "j" where a value should begin`},
		"an array":        {"[[1]]", "should be an object, not an array"},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewReader(strings.NewReader(c.in), "f.json", Options{})
			_, err := workload.ReadAll(r)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if _, again := r.Next(); !errors.Is(again, err) {
				t.Errorf("then %v", again)
			}
		})
	}
}

func TestTopology(t *testing.T) {
	f, err := os.ReadFile("testdata/topology.json")
	if err != nil {
		t.Fatal(err)
	}
	room := unit.Resources{Mem: 4096, Cores: 4}
	c, err := ReadTopology(bytes.NewReader(f), "t.json", room)
	want := &cluster.Cluster{
		Racks: []string{"10.0.1.0", "10.0.2.0"},
		Nodes: []cluster.Node{{Name: "n1.example", Room: room}, {Name: "n2.example", Rack: 1, Room: room}, {Name: "n3.example", Rack: 1, Room: room}},
	}
	if d := cmp.Diff(want, c); d != "" || err != nil {
		t.Error(d, err)
	}
	for in, want := range map[string]string{
		"":            "t.json: empty",
		"{}":          "t.json:1: record 1: the tree has no children",
		string(f[1:]): "should be an object, not text",
		`{"children":[{"name":"a"},{"name":"a"}]}`:     `two nodes are named "a"`,
		`{"children":[{"children":[]}]}`:               "has no name",
		`{"children":[{"name":"a"}]} {}`:               "record 2: a second object",
		string(f[:100]):                                "cut off",
		strings.Repeat(`{"name":"a","children":[`, 40): "a tree more than 16 deep",
	} {
		if _, err := ReadTopology(strings.NewReader(in), "t.json", room); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.30q: got %v, want %s", in, err, want)
		}
	}
	if c, err := ReadTopology(strings.NewReader(`{"name":"r","children":[{"name":"a"}]}`), "t", room); err != nil || c.Racks[0] != "default-rack" {
		t.Errorf("flat: %+v, %v", c, err)
	}
}

func traces(t testing.TB) string {
	dir := os.Getenv("YARDMASTER_TRACES")
	if dir == "" {
		t.Skip("YARDMASTER_TRACES is not set")
	}
	return dir
}

func TestRealTraces(t *testing.T) {
	dir := traces(t)
	var files []string
	for _, p := range []string{"mumak/*.trace.json.gz", "hadoop-rumen/*trace*", "hadoop-gridmix/*", "hadoop-sls/*rumen*"} {
		m, err := filepath.Glob(filepath.Join(dir, p))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, m...)
	}
	if len(files) == 0 {
		t.Fatalf("no Rumen traces in %s", dir)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			f, err := input.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			prefix, err := f.Peek(input.PeekSize)
			if err != nil || !Sniff(prefix) || SniffTopology(prefix) {
				t.Errorf("not recognised: %v", err)
			}
			r := NewReader(f, path, Options{})
			jobs, err := workload.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range r.Notes() {
				t.Log(n.Count, n.Text)
			}
			if !strings.Contains(path, "19-jobs") {
				return
			}
			var maps, reduces, success int64
			for _, j := range jobs {
				maps += j.Stages[0].Tasks
				if len(j.Stages) > 1 {
					reduces += j.Stages[1].Tasks
				}
				if j.Observed.Outcome == "SUCCESS" {
					success++
				}
			}
			if len(jobs) != 19 || success != 14 || maps != 8573 || reduces != 2756+500 {
				t.Errorf("%d jobs, %d successful, %d maps, %d reduces", len(jobs), success, maps, reduces)
			}
			if h := jobs[0].Stages[0].Hosts; h == nil || h.Names[h.Of[10][0]] != "192.30.126.128/node1369.megatron.com" {
				t.Errorf("hosts of the first job's task 10: %+v", h)
			}
		})
	}
}

func TestRealTopologies(t *testing.T) {
	dir := traces(t)
	for path, want := range map[string]string{
		"mumak/19-jobs.topology.json.gz":   "1545 nodes in 41 racks",
		"hadoop-rumen/input-topology.json": "nodes in ",
	} {
		f, err := input.Open(filepath.Join(dir, path))
		if err != nil {
			t.Fatal(err)
		}
		prefix, err := f.Peek(input.PeekSize)
		if err != nil || Sniff(prefix) || !SniffTopology(prefix) {
			t.Errorf("%s is not recognised: %v", path, err)
		}
		c, err := ReadTopology(f, path, cluster.Unit)
		f.Close()
		if err != nil || !strings.Contains(c.String(), want) {
			t.Errorf("%s: %v, %v", path, c, err)
		}
		t.Log(path, c)
	}
}

func BenchmarkReader(b *testing.B) {
	one, err := os.ReadFile("testdata/jobs.json")
	if err != nil {
		b.Fatal(err)
	}
	data := bytes.Repeat(one, 100)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		r := NewReader(bytes.NewReader(data), "f", Options{})
		for {
			if _, err := r.Next(); err != nil {
				if !errors.Is(err, io.EOF) {
					b.Fatal(err)
				}
				break
			}
		}
	}
}

// The hosts that the Mumak trace names are nodes of its topology, by the same names.
func TestRealHosts(t *testing.T) {
	dir := traces(t)
	open := func(name string) *input.File {
		f, err := input.Open(filepath.Join(dir, "mumak", name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	c, err := ReadTopology(open("19-jobs.topology.json.gz"), "topology", cluster.Unit)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, n := range c.Nodes {
		known[c.Racks[n.Rack]+"/"+n.Name] = true
	}
	jobs, err := workload.ReadAll(NewReader(open("19-jobs.trace.json.gz"), "trace", Options{}))
	if err != nil {
		t.Fatal(err)
	}
	var found, lost int
	for _, j := range jobs {
		if h := j.Stages[0].Hosts; h != nil {
			for _, n := range h.Names {
				if known[n] {
					found++
				} else {
					lost++
				}
			}
		}
	}
	if lost > 0 || found == 0 {
		t.Errorf("%d hosts are nodes of the topology, %d are not", found, lost)
	}
}
