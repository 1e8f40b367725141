package history

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/jobfile"
)

// recorded are history files of a real cluster: a sleep (JSON form), a word count and one that failed.
func recorded(t testing.TB) []*Recording {
	t.Helper()
	paths, err := filepath.Glob("../jhist/testdata/recorded/*.jhist")
	if err != nil || len(paths) != 3 {
		t.Fatalf("%d recorded histories: %v", len(paths), err)
	}
	var out []*Recording
	for _, p := range paths {
		data, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		f, err := ReadRecording(filepath.Base(p), data)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, f)
	}
	return out
}

var now = time.UnixMilli(1_794_724_100_000)

// fill puts n copies into a done directory, the first at number first; each finished an hour after the one before it, the last at now.
func fill(t testing.TB, dir string, first, n int) {
	t.Helper()
	files := recorded(t)
	for i := range n {
		f := files[(first+i)%3]
		id := fmt.Sprintf("1700000000000_%04d", first+i)
		finish := now.Add(-time.Duration(n-1-i) * time.Hour)
		where, data, err := f.Copy(id, finish.Sub(f.Finish()))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.FromSlash(where))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		conf := `<configuration><property><name>yarn.app.mapreduce.am.resource.mb</name><value>640</value></property>` +
			`<property><name>mapreduce.map.memory.mb</name><value>320</value></property>` +
			`<property><name>mapreduce.job.reduce.slowstart.completedmaps</name><value>0.8</value></property></configuration>`
		for name, text := range map[string]string{path: string(data), filepath.Join(filepath.Dir(path), "job_"+id+"_conf.xml"): conf} {
			if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func imported(t testing.TB, o Options) (*Summary, workload.Slice) {
	t.Helper()
	sum, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return sum, read(t, filepath.Join(o.Dir, o.Jobs))
}

func read(t testing.TB, path string) workload.Slice {
	t.Helper()
	r, err := jobfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	jobs, err := workload.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return jobs
}

func options(t testing.TB, from string) Options {
	return Options{Files: Local(from), Now: now, Dir: filepath.Join(t.TempDir(), "out"), Jobs: "jobs.parquet", Tool: "test", Source: "files"}
}

// ids checks that every job is there once.
func ids(t testing.TB, jobs workload.Slice, want int) {
	t.Helper()
	seen := map[string]bool{}
	for _, j := range jobs {
		seen[j.ID] = true
	}
	if len(jobs) != want || len(seen) != want {
		t.Errorf("%d jobs, %d of them different; want %d", len(jobs), len(seen), want)
	}
}

func TestFiles(t *testing.T) {
	from := t.TempDir()
	fill(t, from, 0, 3)
	sum, jobs := imported(t, options(t, from))
	ids(t, jobs, 3)
	if sum.Jobs != 3 || sum.New != 3 || sum.Scenario {
		t.Errorf("%+v", sum)
	}
	ms := func(n int) unit.Time { return unit.Time(n) * unit.Millisecond }
	sleep := &workload.Job{
		ID: "job_1700000000000_0000", Name: "Sleep job", User: "alice", Queue: "root.prod", AM: unit.Resources{Mem: 640, Cores: 1},
		Observed: &workload.Observed{Launch: 0, Finish: ms(46802), Outcome: "SUCCESS"},
		Stages: []workload.Stage{
			{
				Name: "map", Kind: workload.Map, Tasks: 2, Ask: unit.Resources{Mem: 256, Cores: 1}, Input: 96,
				Length: workload.Lengths{Kind: workload.List},
			},
			{
				Name: "reduce", Kind: workload.Reduce, Tasks: 1, Ask: unit.Resources{Mem: 256, Cores: 1},
				Length: workload.Lengths{Kind: workload.List}, After: []workload.Edge{{Shuffle: 72, SlowStart: 0.8}},
			},
		},
	}
	if diff := cmp.Diff(sleep, jobs[0], cmpopts.EquateEmpty(), cmpopts.IgnoreFields(workload.Lengths{}, "Values")); diff != "" {
		t.Error(diff)
	}
	words := jobs[1]
	if words.Stages[0].Hosts == nil || len(words.Stages[0].Hosts.Of) != 6 || words.Stages[0].Input < 6_000_000 || words.Stages[1].After[0].Shuffle < 500_000 {
		t.Errorf("the word count: %+v", words)
	}
	failed := jobs[2]
	if failed.Observed.Outcome != "FAILED" || failed.Stages[0].Ask.Mem != 320 {
		t.Errorf("the one that failed: %+v", failed)
	}
	text := fmt.Sprint(sum.Notes)
	for _, want := range []string{"3 MapReduce jobs", "jobs that failed are kept", "attempts of tasks that failed", "never started"} {
		if !strings.Contains(text, want) {
			t.Errorf("the notes do not say %q: %s", want, text)
		}
	}
	if c := sum.Calibration; c.AMSamples != 2 || c.AMStart < ms(1000) || c.CommitSamples != 2 {
		t.Errorf("%+v", c)
	}
}

func TestIncremental(t *testing.T) {
	from := t.TempDir()
	fill(t, from, 0, 30)
	o := options(t, from)
	_, jobs := imported(t, o)
	ids(t, jobs, 30)
	first, err := os.ReadFile(filepath.Join(o.Dir, o.Jobs))
	if err != nil {
		t.Fatal(err)
	}
	// Nothing new: nothing is opened, and the file is the same.
	counted := &counting{Folder: o.Files}
	o.Files = counted
	sum, _ := imported(t, o)
	again, err := os.ReadFile(filepath.Join(o.Dir, o.Jobs))
	if err != nil {
		t.Fatal(err)
	}
	if sum.New != 0 || counted.opened != 0 || !bytes.Equal(first, again) {
		t.Errorf("%d new, %d opened, same file: %v", sum.New, counted.opened, bytes.Equal(first, again))
	}
	// Five new ones: only they are opened (a history and a configuration each).
	fill(t, from, 100, 5)
	sum, jobs = imported(t, o)
	ids(t, jobs, 35)
	if sum.New != 5 || counted.opened != 10 {
		t.Errorf("%d new, %d opened", sum.New, counted.opened)
	}
	// The notes count all.
	if text := fmt.Sprint(sum.Notes); !strings.Contains(text, "35 MapReduce jobs") {
		t.Error(text)
	}
	// A fresh import of all makes the same jobs.
	all := options(t, from)
	_, fresh := imported(t, all)
	if diff := cmp.Diff(jobs, fresh); diff != "" {
		t.Error(diff)
	}
}

func TestSince(t *testing.T) {
	from := t.TempDir()
	fill(t, from, 0, 30)
	o := options(t, from)
	counted := &counting{Folder: o.Files}
	o.Files, o.Since = counted, now.Add(-5*time.Hour-time.Minute)
	_, jobs := imported(t, o)
	ids(t, jobs, 6)
	if counted.opened != 12 {
		t.Errorf("%d files were opened", counted.opened)
	}
	o.Since = now.Add(-10*time.Hour - time.Minute) // further back: what is missing is fetched
	_, jobs = imported(t, o)
	ids(t, jobs, 11)
	o.Since = time.Time{}
	_, jobs = imported(t, o)
	ids(t, jobs, 30)
}

// A call that is ended keeps what it has; the next goes on, and in the end all are there once.
func TestResume(t *testing.T) {
	from := t.TempDir()
	fill(t, from, 0, 40)
	o := options(t, from)
	whole := o.Files
	for after := range 4 {
		ctx, cancel := context.WithCancel(context.Background())
		o.Files = &counting{Folder: whole, end: 14, stop: cancel}
		_, err := Run(ctx, o)
		cancel()
		if err == nil || !strings.Contains(err.Error(), "the same command goes on from there") {
			t.Fatalf("call %d: %v", after, err)
		}
		if _, err := os.Stat(filepath.Join(o.Dir, o.Jobs)); err == nil {
			t.Fatal("a workload was written before the end")
		}
	}
	counted := &counting{Folder: whole}
	o.Files = counted
	sum, jobs := imported(t, o)
	ids(t, jobs, 40)
	if counted.opened >= 80 || sum.New == 40 || sum.New == 0 {
		t.Errorf("%d files were opened again, %d jobs new", counted.opened, sum.New)
	}
	if text := fmt.Sprint(sum.Notes); !strings.Contains(text, "40 MapReduce jobs") {
		t.Error(text)
	}
}

// Whatever a kill leaves in the folder, parts of files and parts that were merged already, no job is lost or doubled.
func TestKilled(t *testing.T) {
	from := t.TempDir()
	fill(t, from, 0, 12)
	o := options(t, from)
	imported(t, o)
	parts := filepath.Join(o.Dir, ".import")
	data, err := os.ReadFile(filepath.Join(parts, "part-000000.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"part-000001.parquet.tmp": data[:100], "part-000042.parquet.tmp": data[:100], "part-000007.parquet": data, "state.json.tmp": nil} {
		if err := os.WriteFile(filepath.Join(parts, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	sum, jobs := imported(t, o)
	ids(t, jobs, 12)
	if text := fmt.Sprint(sum.Notes); !strings.Contains(text, "12 MapReduce jobs") {
		t.Error(text)
	}
	if left, err := filepath.Glob(filepath.Join(parts, "*.tmp")); err != nil || len(left) > 0 {
		t.Errorf("what a killed call was writing is still there: %v, %v", left, err)
	}
	// A part that is damaged is told, not taken.
	if err := os.WriteFile(filepath.Join(parts, "part-000009.parquet"), data[:200], 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), "remove the folder") {
		t.Errorf("a damaged part: %v", err)
	}
}

func TestCompact(t *testing.T) {
	st, err := openStore(filepath.Join(t.TempDir(), ".import"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 70 {
		j := &workload.Job{
			ID: fmt.Sprintf("job_1_%04d", i), Submit: unit.Time((i*37)%100) * unit.Hour,
			Stages: []workload.Stage{{Tasks: 1, Ask: unit.Resources{Mem: 1}, Length: workload.Fixed(1)}},
		}
		if _, err := st.add(j, &tally{MapReduce: 1}); err != nil {
			t.Fatal(err)
		}
		if err := st.flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := st.compact(); err != nil {
		t.Fatal(err)
	}
	if len(st.parts) > maxOpen {
		t.Errorf("%d parts are left", len(st.parts))
	}
	st.close()
	if st, err = openStore(st.dir); err != nil {
		t.Fatal(err)
	}
	defer st.close()
	m, err := st.merge(st.parts)
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	var jobs workload.Slice
	last := unit.Time(-1)
	err = m.each(func(j *workload.Job) error {
		if j.Submit < last {
			t.Errorf("%s is out of order", j.ID)
		}
		last = j.Submit
		jobs = append(jobs, j)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	ids(t, jobs, 70)
	if m.tally.MapReduce != 70 || st.count() != 70 {
		t.Errorf("%d, %d jobs are counted", m.tally.MapReduce, st.count())
	}
}

func TestOneAtATime(t *testing.T) {
	dir := filepath.Join(t.TempDir(), ".import")
	st, err := openStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openStore(dir); err == nil || !strings.Contains(err.Error(), "another import") {
		t.Errorf("two at a time: %v", err)
	}
	st.close()
	again, err := openStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	again.close()
}

// Damaged files and files that may not be read are counted; the rest is imported.
func TestBadFiles(t *testing.T) {
	from := t.TempDir()
	fill(t, from, 0, 3)
	name := "job_1700000000000_0009-1700000001000-ann-x-1700000050000-4-1-SUCCEEDED-etl-1700000003000.jhist"
	for n, text := range map[string]string{name: "<html>", "odd.jhist": "Avro-Binary\n", "README": "x"} {
		if err := os.WriteFile(filepath.Join(from, n), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	sum, jobs := imported(t, options(t, from))
	ids(t, jobs, 3)
	if text := fmt.Sprint(sum.Notes); !strings.Contains(text, "could not be read or understood and are left out (") {
		t.Error(text)
	}
	o := options(t, from)
	o.Files = &counting{Folder: Local(from), refuse: os.ErrPermission}
	if _, err := Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), "may not be read by this user") {
		t.Errorf("nothing may be read: %v", err)
	}
	o.Files = &counting{Folder: Local(from), refuse: errors.New("connection refused")}
	if _, err := Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("nothing can be reached: %v", err)
	}
}

func TestAnonymised(t *testing.T) {
	from := t.TempDir()
	fill(t, from, 0, 6)
	if err := os.WriteFile(filepath.Join(from, "job_1_1-1-carol-secret-1-1-1-SUCCEEDED-prod-1.jhist"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	o := options(t, from)
	o.Anonymise, o.Salt, o.Source = true, "pepper", "rm.example.com"
	_, jobs := imported(t, o)
	ids(t, jobs, 6)
	data, err := os.ReadFile(filepath.Join(o.Dir, o.Jobs))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"alice", "bob", "carol", "prod", "adhoc", "root.batch", "Sleep", "word count", "127.0.0", "example", "secret", "pepper"} {
		if bytes.Contains(data, []byte(name)) {
			t.Errorf("%q is in the file", name)
		}
	}
	if jobs[0].User == jobs[1].User || jobs[0].User != jobs[3].User || !strings.HasPrefix(jobs[0].Queue, "root.q") {
		t.Errorf("users %s, %s, %s, queue %s", jobs[0].User, jobs[1].User, jobs[3].User, jobs[0].Queue)
	}
	o.Anonymise = false
	if _, err := Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), "--anonymise") {
		t.Errorf("named into the same folder: %v", err)
	}
	o.Anonymise, o.Salt = true, "other"
	if _, err := Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), "--salt") {
		t.Errorf("another salt: %v", err)
	}
	o.Salt = ""
	if _, err := Run(context.Background(), o); err != nil {
		t.Errorf("the kept salt: %v", err)
	}
}

func TestNothing(t *testing.T) {
	o := options(t, t.TempDir())
	if _, err := Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), "nothing was written") {
		t.Errorf("%v", err)
	}
	o.Files = Local(filepath.Join(t.TempDir(), "nosuch"))
	o.Dir = filepath.Join(t.TempDir(), "new", "within")
	o.Since = o.Now.Add(-time.Hour)
	if _, err := Run(context.Background(), o); err == nil {
		t.Error("a folder that is not there was read")
	}
	o.Files = Local(t.TempDir())
	if _, err := Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), "--since all takes everything") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Dir(o.Dir)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an import without jobs leaves a folder: %v", err)
	}
	if err := os.MkdirAll(filepath.Join(o.Dir, o.Jobs), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), "is a folder, and a file of that name") {
		t.Errorf("%v", err)
	}
	o.Dir = filepath.Join(o.Dir, "file")
	if err := os.WriteFile(o.Dir, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), "name another folder with -o") {
		t.Errorf("%v", err)
	}
}

// counting counts what is opened, and can end a call or refuse.
type counting struct {
	Folder
	mu     sync.Mutex
	opened int
	end    int
	stop   func()
	refuse error
}

func (c *counting) Open(ctx context.Context, p string) (io.ReadCloser, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refuse != nil {
		return nil, c.refuse
	}
	if c.opened++; c.opened == c.end {
		c.stop()
	}
	return c.Folder.Open(ctx, p)
}

func (c *counting) List(ctx context.Context, p string) iter.Seq2[Entry, error] {
	return c.Folder.List(ctx, p)
}
