package google

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/internal/input"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

func read(paths []string, opt Options) (workload.Slice, *Reader, error) {
	r, err := Open(paths, opt)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	jobs, err := workload.ReadAll(r)
	return jobs, r, err
}

// text is a job in a line.
func text(j *workload.Job) string {
	s := &j.Stages[0]
	return fmt.Sprintf("%s %s/%s %s %s prio %d at %v: %d x (%v) %v %v%v seen %v-%v %s", j.ID, j.User, j.Name, j.Queue, j.Class, j.Priority, j.Submit,
		s.Tasks, s.Ask, s.Length.Kind, s.Length.Values, s.Length.A, j.Observed.Launch, j.Observed.Finish, j.Observed.Outcome)
}

var fixture = []string{"testdata/job_events-b.csv", "testdata/task_events.csv", "testdata/job_events-a.csv"}

func TestJoin(t *testing.T) {
	for name, c := range map[string]struct {
		opt  Options
		want []string
	}{
		"default": {Options{}, []string{
			"2 bob/wordcount default class1 prio 2 at 0 s: 2 x (4096 MiB, 2 vcores) list [10 s 33 s]0 s seen 0 s-40 s SUCCESS",
			"3 carol/probe default class0 prio 0 at 10 s: 1 x (1024 MiB, 1 vcore) constant []50 s seen 12 s-62 s KILLED",
			"4 bob/wordcount default class1 prio 0 at 50 s: 1 x (1024 MiB, 1 vcore) constant []39 s seen 51 s-90 s FAILED",
		}},
		"finished": {Options{FinishedOnly: true}, []string{
			"2 bob/wordcount default class1 prio 2 at 0 s: 2 x (4096 MiB, 2 vcores) list [10 s 33 s]0 s seen 0 s-40 s SUCCESS",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			jobs, _, err := read(fixture, c.opt)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, j := range jobs {
				if err := j.Validate(); err != nil {
					t.Error(err)
				}
				got = append(got, text(j))
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

func TestNotes(t *testing.T) {
	_, r, err := read(fixture, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []workload.Note{
		{Text: "parts of job_events read", Count: 2},
		{Text: "parts of task_events read", Count: 1},
		{Text: "job events read", Count: 15},
		{Text: "task events read", Count: 13},
		{Text: "jobs kept", Count: 3},
		{Text: "jobs kept that were killed, failed or lost: replayed for the time they took", Count: 2},
		{Text: "jobs kept without task events in these parts: taken as one task each", Count: 1},
		{Text: "jobs dropped because they do not end in these parts", Count: 2},
		{Text: "jobs dropped because nothing of them ever ran", Count: 1},
		{Text: "tasks kept", Count: 4},
		{Text: "tasks kept without an end of their own: taken to end with their job", Count: 1},
		{Text: "attempts that were evicted, failed or lost before a task's last one: left out", Count: 1},
		{Text: "events with missing information, filled in by the trace's makers: kept", Count: 2},
	}
	if got := r.Notes(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
}

// Many tasks become a table that keeps the extremes.
func TestQuantileTable(t *testing.T) {
	var b bytes.Buffer
	const n = 20_000
	for i := range n {
		fmt.Fprintf(&b, "1000000,,7,%d,,1,u,0,0,0.5,0.5,0,0\n", i)
	}
	for i := range n {
		fmt.Fprintf(&b, "%d,,7,%d,,4,u,0,0,0.5,0.5,0,0\n", 2_000_000+i*1000, i)
	}
	path := filepath.Join(t.TempDir(), "tasks.csv")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	jobs, _, err := read([]string{path}, Options{})
	if err != nil || len(jobs) != 1 {
		t.Fatalf("%d jobs, %v", len(jobs), err)
	}
	l := jobs[0].Stages[0].Length
	if jobs[0].Stages[0].Tasks != n || l.Kind != workload.Quantiles || len(l.Values) != 64 {
		t.Fatalf("%d tasks, %v with %d values", jobs[0].Stages[0].Tasks, l.Kind, len(l.Values))
	}
	mid := l.Values[32].Seconds()
	if l.Values[0] != unit.Second || l.Values[63] != 20_999*unit.Millisecond || mid < 10.5 || mid > 11.8 {
		t.Errorf("from %v over %v to %v", l.Values[0], mid, l.Values[63])
	}
	if _, _, err := read([]string{path}, Options{MaxOpen: 100}); err == nil ||
		err.Error() != path+":100: more than 100 jobs and tasks are open at once: raise the limit or read fewer parts" {
		t.Errorf("limit: %v", err)
	}
}

func TestErrors(t *testing.T) {
	job, task := "5,,1,0,u,0,n,l\n", "5,,1,0,,0,u,0,0,0.1,0.1,0.1,0\n"
	for name, c := range map[string]struct{ text, want string }{
		"fields":    {job + "a,b\n", ":2: 2 fields; job_events have 8 and task_events 13"},
		"many":      {strings.Repeat(",", 20), ":1: more than 13 fields"},
		"mixed":     {job + task, ":2: a line of another table"},
		"time":      {"x,,1,0,u,0,n,l\n", `:1: time: "x" is not a whole number`},
		"backwards": {job + "4,,1,0,u,0,n,l\n", ":2: time goes back"},
		"event":     {job + "6,,1,9,u,0,n,l\n", ":2: event type: 9 is not between 0 and 8"},
		"job":       {"5,,,0,u,0,n,l\n", `:1: job ID: "" is not a whole number`},
		"name":      {"5,,1,0," + strings.Repeat("u", 256) + ",0,n,l\n", ":1: user or job name: longer than 255 bytes"},
		"cpu":       {task + "5,,1,0,,0,u,0,0,-1,0.1,0.1,0\n", `:2: CPU request: "-1" is not a share of a machine`},
		"memory":    {task + "5,,1,0,,0,u,0,0,1,NaN,0.1,0\n", `:2: memory request: "NaN" is not a share of a machine`},
		"one line":  {strings.Repeat("7", 3<<20), ":1: line longer than"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.csv")
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, _, err := read([]string{path}, Options{})
			if err == nil || !strings.HasPrefix(err.Error(), path+c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
	if _, err := Open([]string{"testdata/none.csv"}, Options{}); err == nil {
		t.Error("a missing part was taken")
	}
}

// Requests above one and tasks that were evicted for good.
func TestOddities(t *testing.T) {
	text := "1000000,,1,0,,1,u,0,0,2,0.5,0,0\n3000000,,1,0,,2,u,0,0,2,0.5,0,0\n3000001,,1,0,,5,u,0,0,2,0.5,0,0\n" +
		"4000000,,2,0,,0,u,0,0,,,,\n4000000,,2,0,,5,u,0,0,,,,\n"
	f, err := input.NewFile(strings.NewReader(text), "x", input.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := OpenParts([]Part{{File: f}}, Options{Machine: unit.Resources{Mem: 10_000, Cores: 8}})
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := workload.ReadAll(r)
	if err != nil || len(jobs) != 1 {
		t.Fatalf("%d jobs, %v", len(jobs), err)
	}
	s := jobs[0].Stages[0]
	if s.Ask != (unit.Resources{Mem: 5000, Cores: 8}) || s.Length.A != 2*unit.Second {
		t.Errorf("asks for %v, takes %v", s.Ask, s.Length.A)
	}
}

// The first parts of the published trace.
func TestPublishedParts(t *testing.T) {
	dir := os.Getenv("YARDMASTER_TRACES")
	if dir == "" {
		t.Skip("YARDMASTER_TRACES is not set")
	}
	paths, err := filepath.Glob(filepath.Join(dir, "google-2011", "*.csv.gz"))
	if err != nil || len(paths) != 7 {
		t.Fatalf("%d parts, %v", len(paths), err)
	}
	jobs, r, err := read(paths, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range r.Notes() {
		t.Logf("%7d %s", n.Count, n.Text)
	}
	last := unit.Time(0)
	for _, j := range jobs {
		if err := j.Validate(); err != nil {
			t.Fatal(err)
		}
		if j.Submit < last {
			t.Fatalf("job %s is out of order", j.ID)
		}
		last = j.Submit
	}
	if len(jobs) < 6000 {
		t.Errorf("%d jobs", len(jobs))
	}
	paths[0], paths[6] = paths[6], paths[0]
	again, _, err := read(paths, Options{})
	if err != nil || !reflect.DeepEqual(jobs, again) {
		t.Errorf("the order of the parts matters: %v", err)
	}
}

func FuzzGoogle(f *testing.F) {
	for _, p := range fixture {
		data, err := os.ReadFile(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, data, true)
	}
	data, _ := os.ReadFile(fixture[1])
	f.Add([]byte("0,,1,0,u,0,n,l\n9223372036854775807,,1,4,u,0,n,l\n"), data, true)
	f.Fuzz(func(t *testing.T, a, b []byte, finishedOnly bool) {
		var parts []Part
		for i, data := range [][]byte{a, b} {
			Sniff(data)
			file, err := input.NewFile(bytes.NewReader(data), fmt.Sprint("part", i), input.Limits{Bytes: 1 << 20})
			if err != nil {
				return
			}
			parts = append(parts, Part{File: file})
		}
		r, err := OpenParts(parts, Options{FinishedOnly: finishedOnly, MaxOpen: 1000})
		if err != nil {
			return
		}
		jobs, err := workload.ReadAll(r)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "part") {
				t.Fatalf("error without a place: %v", err)
			}
			return
		}
		last := unit.Time(0)
		for _, j := range jobs {
			if err := j.Validate(); err != nil {
				t.Fatal(err)
			}
			if j.Submit < last {
				t.Fatal("out of order")
			}
			last = j.Submit
		}
	})
}

// Open reads the parts at paths, in any order and of either table.
func Open(paths []string, opt Options) (*Reader, error) {
	parts := make([]Part, len(paths))
	for i, p := range paths {
		parts[i].Path = p
	}
	return OpenParts(parts, opt)
}
