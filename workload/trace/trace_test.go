package trace

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/cluster"
	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
	"github.com/yardmaster/yardmaster/internal/input"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/jobfile"
)

const (
	swimText   = "b\t20\t20\t1\t1\t1\na\t10\t10\t1\t1\t1\nc\t20\t0\t1\t1\t1\n"
	googleText = "600000000,,2,0,bob,1,n2,wordcount\n600000000,,2,1,bob,1,n2,wordcount\n640000000,,2,4,bob,1,n2,wordcount\n"
	rumenText  = `{"jobID":"job_1_2","submitTime":2000,"launchTime":2500,"finishTime":9000,"user":"u","outcome":"SUCCESS","mapTasks":[
 {"taskID":"t","startTime":3000,"finishTime":8000,"taskType":"MAP","taskStatus":"SUCCESS","attempts":[{"startTime":3000,"finishTime":8000,"result":"SUCCESS"}]}],"reduceTasks":[]}
{"jobID":"job_1_1","submitTime":1000,"launchTime":1500,"finishTime":9000,"user":"u","outcome":"SUCCESS","mapTasks":[
 {"taskID":"t","startTime":3000,"finishTime":8000,"taskType":"MAP","taskStatus":"SUCCESS","attempts":[{"startTime":3000,"finishTime":8000,"result":"SUCCESS"}]}],"reduceTasks":[]}
`
	slsText = `{"am.type":"mapreduce","job.start.ms":5000,"job.end.ms":9000,"job.queue.name":"q","job.id":"j2","job.user":"u","job.tasks":[
 {"container.host":"/r/n","container.start.ms":6000,"container.end.ms":8000,"container.priority":20,"container.type":"map"}]}
{"am.type":"mapreduce","job.start.ms":0,"job.end.ms":9000,"job.queue.name":"q","job.id":"j1","job.user":"u","job.tasks":[
 {"container.host":"/r/n","container.start.ms":6000,"container.end.ms":8000,"container.priority":20,"container.type":"map"}]}
`
	synthText = `{"description":"d","num_nodes":2,"nodes_per_rack":1,"num_jobs":1,"rand_seed":2,"workloads":[{"workload_name":"w","workload_weight":1,
 "queue_name":"q","job_classes":[{"class_name":"c","user_name":"u","class_weight":1,"type":"generic","deadline_factor":{"val":10},"duration":{"val":60},
 "reservation":{"val":0},"tasks":[{"type":"map","priority":20,"count":{"val":2},"time":{"val":10},"max_memory":{"val":1024},"max_vcores":{"val":1}}]}],
 "time_distribution":[{"time":7,"weight":1},{"time":8,"weight":0}]}]}`
)

func write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func zipped(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func parquet(t testing.TB) string {
	t.Helper()
	var b bytes.Buffer
	w := jobfile.NewWriter(&b, jobfile.NewMeta("test", "made", []string{"made up"}))
	for i := range 3 {
		j := &workload.Job{
			ID: fmt.Sprint("p", i), Submit: unit.Time(i) * unit.Second,
			Stages: []workload.Stage{{Tasks: 1, Ask: cluster.Unit, Length: workload.Fixed(unit.Second)}},
		}
		if err := w.Write(j); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func ids(t testing.TB, w *Workload) string {
	t.Helper()
	defer w.Close()
	jobs, err := workload.ReadAll(w)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, j := range jobs {
		all = append(all, fmt.Sprintf("%s@%v", j.ID, j.Submit.Seconds()))
	}
	return strings.Join(all, " ")
}

func TestOpen(t *testing.T) {
	for name, c := range map[string]struct {
		files  []string
		format string
		want   string
		forced string
	}{
		"swim":       {[]string{swimText}, SWIM, "a@10 b@20 c@20", ""},
		"swim gz":    {[]string{zipped(t, swimText)}, SWIM, "a@10 b@20 c@20", ""},
		"two swim":   {[]string{swimText, "x\t15\t1\t1\t1\t1\n"}, SWIM, "f0/a@10 f1/x@15 f0/b@20 f0/c@20", ""},
		"forced":     {[]string{swimText}, SWIM, "a@10 b@20 c@20", SWIM},
		"google":     {[]string{googleText}, Google, "2@0", ""},
		"google two": {[]string{strings.ReplaceAll(googleText, ",2,", ",3,"), zipped(t, googleText)}, Google, "2@0 3@0", ""},
		"rumen":      {[]string{rumenText}, Rumen, "job_1_1@0 job_1_2@1", ""},
		"rumen two":  {[]string{rumenText, strings.NewReplacer("_1_", "_2_", "submitTime\":1000", "submitTime\":500").Replace(rumenText)}, Rumen, "job_2_1@0 job_1_1@0.5 job_1_2@1.5 job_2_2@1.5", ""},
		"sls":        {[]string{slsText}, SLS, "j1@0 j2@5", ""},
		"synth":      {[]string{synthText}, Synth, "c_000000@7", ""},
		"parquet":    {[]string{parquet(t)}, Parquet, "p0@0 p1@1 p2@2", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var paths []string
			for i, text := range c.files {
				paths = append(paths, write(t, fmt.Sprintf("f%d.x", i), text))
			}
			opt := Defaults()
			opt.Format = c.forced
			w, err := Open(paths, opt)
			if err != nil {
				t.Fatal(err)
			}
			if w.Format != c.format || len(w.Files) != len(paths) {
				t.Errorf("format %s, files %v", w.Format, w.Files)
			}
			if got := ids(t, w); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if len(w.Assumptions()) == 0 || c.format != Parquet && len(w.Notes()) == 0 {
				t.Errorf("assumptions %q, notes %v", w.Assumptions(), w.Notes())
			}
		})
	}
}

func TestNotesOfSeveralFilesAddUp(t *testing.T) {
	w, err := Open([]string{write(t, "a", swimText), write(t, "b", swimText)}, Defaults())
	if err != nil {
		t.Fatal(err)
	}
	ids(t, w)
	if n := w.Notes()[0]; n.Count != 6 {
		t.Errorf("note %+v", n)
	}
	if a := w.Assumptions(); len(a) != 4 {
		t.Errorf("assumptions %q", a)
	}
}

func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		files  []string
		forced string
		want   string
	}{
		"none":         {nil, "", "no workload given"},
		"empty":        {[]string{""}, "", "f0 is empty"},
		"space":        {[]string{" \n\n"}, "", "f0 holds only white space"},
		"text":         {[]string{"hello, world, this is a letter to a friend of mine\n"}, "", `f0: unknown workload format: it starts with "hello, world, this is a letter to a frie"...; known are parquet (`},
		"binary":       {[]string{"\x7fELF\x01\x02"}, "", "f0: unknown workload format: it starts with the bytes 7f 45 4c 46 01 02"},
		"accents":      {[]string{strings.Repeat("é", 30)}, "", `it starts with "éééééééééééééééééééé"...`},
		"sls nodes":    {[]string{`{"rack":"r1","nodes":[{"node":"n1"}]}`}, "", "f0 describes a cluster (SLS nodes), not a workload: give it with --cluster"},
		"topology":     {[]string{`{"name":"<root>","children":[{"name":"r","children":[{"name":"n","children":null}]}]}`}, "", "f0 describes a cluster (Rumen topology), not a workload: give it with --cluster"},
		"xml":          {[]string{"<?xml version=\"1.0\"?>\n<configuration/>"}, "", "f0 is XML, perhaps a scheduler's configuration"},
		"two formats":  {[]string{swimText, googleText}, "", "the files of a workload must be of one format"},
		"format":       {[]string{swimText}, "tsv", `unknown workload format "tsv": want one of parquet, swim`},
		"wrong format": {[]string{googleText}, SWIM, "f0 looks like google (Google cluster data 2011, job_events and task_events), not swim: yardmaster import google "},
		"no format":    {[]string{"a,b\n"}, SWIM, "f0:1: 1 tab-separated fields"},
		"import again": {[]string{parquet(t)}, SWIM, "it needs no import; give it with --workload"},
		"xml as swim":  {[]string{"<?xml version=\"1.0\"?>\n<configuration/>"}, SWIM, "give it with --scheduler"},
		"gz parquet":   {[]string{zipped(t, parquet(t))}, "", "f0 is a gzipped Parquet file: unpack it first"},
		"cut parquet":  {[]string{parquet(t)[:200]}, "", "f0"},
		"one line":     {[]string{"a\t1\t1\t1\t1\t1\t" + strings.Repeat("1", 2<<20)}, "", "f0:1: line longer than 1 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			var paths []string
			for i, text := range c.files {
				paths = append(paths, write(t, fmt.Sprintf("f%d", i), text))
			}
			opt := Defaults()
			opt.Format = c.forced
			w, err := Open(paths, opt)
			if err == nil {
				_, err = workload.ReadAll(w)
				_ = w.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	old := os.Stdin
	os.Stdin = r
	defer func() { os.Stdin = old }()
	go func() {
		_, _ = io.WriteString(w, rumenText)
		_ = w.Close()
	}()
	got, err := Open([]string{"-"}, Defaults())
	if err != nil {
		t.Fatal(err)
	}
	if s := ids(t, got); s != "job_1_2@0 job_1_1@0" || got.Files[0] != "standard input" {
		t.Errorf("%s from %v", s, got.Files)
	}
}

func jobsAt(times ...int64) workload.Slice {
	var s workload.Slice
	for i, at := range times {
		s = append(s, &workload.Job{ID: fmt.Sprint("j", i), Submit: unit.Time(at)})
	}
	return s
}

func TestSortedWindow(t *testing.T) {
	late := jobsAt(1, 2, 3, 0)
	_, err := workload.ReadAll(Sorted(late.Source(), 2, "x"))
	if err == nil || !strings.Contains(err.Error(), "x: job j3") || !strings.Contains(err.Error(), "run yardmaster import first") {
		t.Errorf("got %v", err)
	}
	for _, window := range []int{4, 0, -1} {
		got, err := workload.ReadAll(Sorted(late.Source(), window, "x"))
		if err != nil || len(got) != 4 || got[0].ID != "j3" {
			t.Errorf("window %d: %v, %v", window, got, err)
		}
	}
	bad := errors.New("broken")
	if _, err := Sorted(failing{bad}, 3, "x").Next(); !errors.Is(err, bad) {
		t.Errorf("got %v", err)
	}
	if _, err := Merged(late[:3].Source(), failing{bad}).Next(); !errors.Is(err, bad) {
		t.Errorf("got %v", err)
	}
}

// A window counts large jobs for what they weigh.
func TestSortedCountsListedTasks(t *testing.T) {
	jobs := jobsAt(1, 2, 3, 0)
	for _, j := range jobs {
		j.Stages = []workload.Stage{{Tasks: 640, Length: workload.Lengths{Kind: workload.List, Values: make([]unit.Time, 640)}}}
	}
	if _, err := workload.ReadAll(Sorted(jobs.Source(), 22, "x")); err == nil {
		t.Error("three jobs of eleven places each were held in 22")
	}
	if _, err := workload.ReadAll(Sorted(jobs.Source(), 44, "x")); err != nil {
		t.Error(err)
	}
}

// A file of a gigabyte without a line end, plain and packed, is refused with little memory.
func TestHostileFiles(t *testing.T) {
	dir := t.TempDir()
	for name, head := range map[string]string{
		"zeros": "", "swim": "j\t1\t1\t1\t1\t1\t", "google": "600000000,,2,0,", "rumen": `{"jobID":"`, "sls": `{"job.tasks":[`, "nothing": "hello",
	} {
		plain, packed := filepath.Join(dir, name), filepath.Join(dir, name+".gz")
		if err := os.WriteFile(plain, []byte(head), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(plain, 1<<30); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(packed, []byte(zipped(t, head+strings.Repeat("7", 8<<20))), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{plain, packed} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			w, err := Open([]string{path}, Defaults())
			if err == nil {
				_, err = workload.ReadAll(w)
				w.Close()
			}
			runtime.ReadMemStats(&after)
			if used := (after.TotalAlloc - before.TotalAlloc) >> 20; err == nil || used > 50 {
				t.Errorf("%s: %d MiB, %v", path, used, err)
			} else {
				t.Logf("%s: %d MiB, %.120v", filepath.Base(path), used, err)
			}
		}
	}
}

type failing struct{ err error }

func (f failing) Next() (*workload.Job, error) { return nil, f.err }

// Sorting is stable, loses nothing, and works whenever no job is further out of place than the window.
func TestSortedProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		times := rapid.SliceOfN(rapid.Int64Range(0, 50), 0, 60).Draw(t, "times")
		jobs := jobsAt(times...)
		window := rapid.IntRange(1, 70).Draw(t, "window")
		got, err := workload.ReadAll(Sorted(jobs.Source(), window, "x"))
		if err != nil {
			if window > len(jobs) {
				t.Fatalf("window %d for %d jobs: %v", window, len(jobs), err)
			}
			return
		}
		if len(got) != len(jobs) {
			t.Fatalf("%d of %d jobs", len(got), len(jobs))
		}
		for i := 1; i < len(got); i++ {
			a, b := got[i-1], got[i]
			var na, nb int
			fmt.Sscanf(a.ID, "j%d", &na)
			fmt.Sscanf(b.ID, "j%d", &nb)
			if a.Submit > b.Submit || a.Submit == b.Submit && na > nb && window > len(jobs) {
				t.Fatalf("%s@%d before %s@%d", a.ID, a.Submit, b.ID, b.Submit)
			}
		}
	})
}

// Every published sample is recognised.
func TestRealFiles(t *testing.T) {
	dir := os.Getenv("YARDMASTER_TRACES")
	if dir == "" {
		t.Skip("YARDMASTER_TRACES is not set")
	}
	for pattern, want := range realFiles {
		paths, _ := filepath.Glob(filepath.Join(dir, pattern))
		if len(paths) == 0 {
			t.Errorf("no file %s", pattern)
		}
		for _, p := range paths {
			g, err := BuiltIn.inspect(p, "")
			switch {
			case err != nil && (!strings.HasPrefix(want, "!") || !strings.Contains(err.Error(), want[1:])):
				t.Errorf("%s: %v", p, err)
			case err == nil && g.format.Name != want:
				t.Errorf("%s: recognised as %s", p, g.format.Name)
			case err == nil:
				readValid(t, p)
			}
		}
	}
}

func readValid(t *testing.T, path string) {
	w, err := Open([]string{path}, Defaults())
	if err != nil {
		t.Error(err)
		return
	}
	defer w.Close()
	jobs, err := workload.ReadAll(w)
	if err != nil {
		t.Error(err)
	}
	var tasks int64
	for i, j := range jobs {
		tasks += j.Tasks()
		if err := j.Validate(); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if i > 0 && j.Submit < jobs[i-1].Submit {
			t.Errorf("%s: job %s is out of order", path, j.ID)
		}
	}
	t.Logf("%s: %s, %d jobs, %d tasks", filepath.Base(path), w.Format, len(jobs), tasks)
}

var realFiles = map[string]string{
	"swim/*.tsv":                         SWIM,
	"google-2011/*.gz":                   Google,
	"mumak/*.trace.json.gz":              Rumen,
	"mumak/*topo*":                       "!describes a cluster",
	"hadoop-rumen/*-trace.json*":         Rumen,
	"hadoop-rumen/input-topology.json":   "!describes a cluster",
	"hadoop-gridmix/*":                   Rumen,
	"hadoop-sls/inputsls.json":           SLS,
	"hadoop-sls/sls_dag.json":            SLS,
	"hadoop-sls/syn*.json":               Synth,
	"hadoop-sls/2jobs2min-rumen-jh.json": Rumen,
	"hadoop-sls/nodes*.json":             "!describes a cluster",
	"hadoop-sls/*.xml":                   "!is XML",
}

func FuzzTrace(f *testing.F) {
	for _, s := range []string{swimText, googleText, rumenText, slsText, synthText, "PAR1", "<?xml", `{"rack":"r","nodes":[]}`, "", "hello"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := input.NewFile(bytes.NewReader(data), "f", input.Limits{Bytes: 1 << 20})
		if err != nil {
			return
		}
		prefix, err := file.Peek(input.PeekSize)
		if err != nil {
			return
		}
		format, err := BuiltIn.Recognise(prefix, "f")
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f ") && !strings.HasPrefix(err.Error(), "f: ") {
				t.Fatalf("error without a file: %v", err)
			}
			return
		}
		if format.Name == Synth {
			return // a few bytes may rightly ask for millions of jobs
		}
		opt := Defaults()
		opt.Window = 1000
		w, err := open([]*given{{path: "-", file: file, format: format}}, opt)
		if err != nil {
			return
		}
		defer w.Close()
		last := unit.Time(0)
		for range 5000 {
			j, err := w.Next()
			if err != nil {
				break
			}
			if err := j.Validate(); err != nil {
				t.Fatal(err)
			}
			if j.Submit < last {
				t.Fatal("out of order")
			}
			last = j.Submit
		}
		w.Notes()
		w.Assumptions()
	})
}
