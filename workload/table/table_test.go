package table

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/internal/input"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

func read(text string, columns ...string) (workload.Slice, *Reader, error) {
	r := New(Options{Columns: columns, Ask: cluster.Unit})
	f, err := input.NewFile(strings.NewReader(text), "t.csv", input.Limits{})
	if err == nil {
		err = r.AddText(f)
	}
	if err == nil {
		err = r.End()
	}
	if err != nil {
		return nil, r, err
	}
	jobs, err := workload.ReadAll(r)
	return jobs, r, err
}

// show is the jobs in short, a line each.
func show(jobs workload.Slice) (lines []string) {
	for _, j := range jobs {
		line := fmt.Sprintf("%s %s/%s %s", j.ID, j.User, j.Queue, j.Submit)
		for _, s := range j.Stages {
			line += fmt.Sprintf(" | %s%d x %s of %s", s.Name, s.Tasks, s.Length.A, s.Ask)
			if s.Gang > 0 {
				line += " at once"
			}
			for _, e := range s.After {
				line += fmt.Sprintf(" after %d", e.From)
			}
		}
		if o := j.Observed; o != nil {
			line += fmt.Sprintf(" | %s to %s %s", o.Launch, o.Finish, o.Outcome)
		}
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines
}

func TestText(t *testing.T) {
	for name, c := range map[string]struct {
		text    string
		columns []string
		want    []string
	}{
		"plain words": {"id,user,queue,submit,tasks,seconds,memory,cores\na,ann,etl,100,3,60,2GB,2\n", nil,
			[]string{"a ann/etl 0 s | 3 x 60 s of 2048 MiB, 2 vcores"}},
		"sorted, and without an order": {"id;submit;seconds\nb;2026-03-02 08:00:10;5\na;2026-03-02 08:00:00;1m\n", nil,
			[]string{"a / 0 s | 1 x 60 s of 1024 MiB, 1 vcore", "b / 10 s | 1 x 5 s of 1024 MiB, 1 vcore"}},
		"quotes, BOM, CRLF": {"\xef\xbb\xbf\"x\",user,submit,seconds\r\n\"a, \"\"b\"\"\nc\",ann,0,1\r\n", []string{"id=x"},
			[]string{"a, \"b\"\nc ann/ 0 s | 1 x 1 s of 1024 MiB, 1 vcore"}},
		"mapped": {"x\ty\tz\tm\nj1\t1772438400000\t250\t512\n", []string{"id=x", "submit=y", "seconds=z:ms", "memory=m:MB", "nvidia.com/gpu=m"},
			[]string{"j1 / 0 s | 1 x 0.25 s of 512 MiB, 1 vcore, 512 nvidia.com/gpu"}},
		"start and finish": {"id,start,finish\na,2026-03-02T08:00:00Z,2026-03-02T10:00:30+01:00\n", nil,
			[]string{"a / 0 s | 1 x 60.5 min of 1024 MiB, 1 vcore | 0 s to 60.5 min"}},
		"an id twice": {"id,submit,seconds\na,1,1\na,2,1\n", nil,
			[]string{"a / 0 s | 1 x 1 s of 1024 MiB, 1 vcore", "a#2 / 1 s | 1 x 1 s of 1024 MiB, 1 vcore"}},
		"stages": {"id,submit,seconds,stage,after,tasks\nj,5,1,a,,2\nk,6,1,a,,1\nj,5,2,b,,1\nj,5,3,c,\"a,b\",4\n", nil,
			[]string{
				"j / 0 s | a2 x 1 s of 1024 MiB, 1 vcore | b1 x 2 s of 1024 MiB, 1 vcore | c4 x 3 s of 1024 MiB, 1 vcore after 0 after 1",
				"k / 1 s | a1 x 1 s of 1024 MiB, 1 vcore",
			}},
		"stages in turn": {"id,submit,seconds,stage\nj,5,1,a\nj,5,2,b\n", nil,
			[]string{"j / 0 s | a1 x 1 s of 1024 MiB, 1 vcore | b1 x 2 s of 1024 MiB, 1 vcore after 0"}},
		"stages that ran": {"id,submit,start,finish,stage,after,outcome\nj,0,5,9,a,,failed\nj,0,3,7,b,,\nj,0,6,8,c,b,ok\n", nil,
			[]string{"j / 0 s | b1 x 4 s of 1024 MiB, 1 vcore | a1 x 4 s of 1024 MiB, 1 vcore | c1 x 2 s of 1024 MiB, 1 vcore after 0 | 3 s to 9 s FAILED"}},
		"stages in turn, the newest first": {"id,submit,start,finish,stage\nj,30,30,40,c\nj,10,20,30,b\nj,10,10,20,a\n", nil,
			[]string{"j / 0 s | a1 x 10 s of 1024 MiB, 1 vcore | b1 x 10 s of 1024 MiB, 1 vcore after 0 | c1 x 10 s of 1024 MiB, 1 vcore after 1 | 0 s to 30 s"}},
		"stages in turn, of two jobs": {"id,submit,seconds,stage\nj,1,1,a\nk,1,1,a\nj,1,2,b\nk,1,2,a\n", nil,
			[]string{
				"j / 0 s | a1 x 1 s of 1024 MiB, 1 vcore | b1 x 2 s of 1024 MiB, 1 vcore after 0",
				"k / 0 s | a1 x 1 s of 1024 MiB, 1 vcore | a1 x 2 s of 1024 MiB, 1 vcore after 0",
			}},
		"stages that are linked, the newest first": {"id,submit,start,finish,stage,after\nj,0,5,9,b,a\nj,0,3,5,a,\n", nil,
			[]string{"j / 0 s | a1 x 2 s of 1024 MiB, 1 vcore | b1 x 4 s of 1024 MiB, 1 vcore after 0 | 3 s to 9 s"}},
		"Slurm": {"JobID|User|Partition|Submit|Start|End|Elapsed|NNodes|AllocCPUS|ReqMem|ReqTRES|State|\n" +
			"7|ann|p|2026-03-02T08:00:00|2026-03-02T08:00:05|2026-03-03T08:00:06|1-00:00:01|2|64|10G|cpu=64,gres/gpu=4,node=2|COMPLETED|\n" +
			"7.batch||||2026-03-02T08:00:05|2026-03-03T08:00:06|1-00:00:01|1|32|||COMPLETED|\n" +
			"8_3|bob|p|2026-03-02T08:00:01|2026-03-02T08:00:05|2026-03-02T08:10:05|00:10:00|1|4|2000Mc||CANCELLED by 12|\n" +
			"9|bob|p|2026-03-02T08:00:02|None|Unknown|00:00:00|1|0|4Gn||PENDING|\n" +
			"10|bob|p|2026-03-02T08:00:03|2026-03-02T08:00:05|2026-03-02T08:00:15|00:00:10|2|8|4Gn||COMPLETED|\n", nil,
			[]string{
				"7 ann/p 0 s | 2 x 24 h of 5120 MiB, 32 vcores, 2 gpu at once | 5 s to 24 h",
				"8_3 bob/p 1 s | 1 x 10 min of 8000 MiB, 4 vcores | 5 s to 10.1 min CANCELLED",
				"10 bob/p 3 s | 2 x 10 s of 4096 MiB, 4 vcores at once | 5 s to 15 s",
			}},
		"Slurm's rarer values": {"JobID|User|Partition|Submit|Start|End|Elapsed|NNodes|AllocCPUS|ReqMem|AllocTRES|State\n" +
			"12+0|ann|unlimited|2026-03-02T08:00:00|2026-03-02T08:00:00|2026-03-02T08:00:10|00:00:10|2|8|4Gn|gres/gpu:a100=2,gres/gpu:v100=4|TIMEOUT\n" +
			"12+0.0+1||||2026-03-02T08:00:00|2026-03-02T08:00:10|00:00:10|1|4|4Gn||COMPLETED\n" +
			"13_[2-9%3]|ann|p|2026-03-02T08:00:00|Unknown|Unknown|00:00:00|1|0|4Gn||PENDING\n", nil,
			[]string{"12+0 ann/unlimited 0 s | 2 x 10 s of 4096 MiB, 4 vcores, 3 gpu at once | 0 s to 10 s TIMEOUT"}},
		"a priority in words, plain memory": {"id,submit,seconds,priority,memory\na,1,1,INTERACTIVE,2097152\nb,2,1,BATCH,2097152\n", nil,
			[]string{"a / 0 s | 1 x 1 s of 2 MiB, 1 vcore", "b / 1 s | 1 x 1 s of 2 MiB, 1 vcore"}},
		"Slurm's NTasks, which only steps have": {"JobID|Submit|Start|End|NTasks|NNodes|AllocCPUS|State\n" +
			"1|2026-03-02T08:00:00|2026-03-02T08:00:00|2026-03-02T08:01:00||2|64|COMPLETED\n" +
			"1.batch|2026-03-02T08:00:00|2026-03-02T08:00:00|2026-03-02T08:01:00|1|1|32|COMPLETED\n", nil,
			[]string{"1 / 0 s | 2 x 60 s of 1024 MiB, 32 vcores at once | 0 s to 60 s"}},
	} {
		jobs, r, err := read(c.text, c.columns...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d := cmp.Diff(c.want, show(jobs)); d != "" {
			t.Errorf("%s: %s\n%v", name, d, r.Notes())
		}
	}
}

func TestDropped(t *testing.T) {
	_, r, err := read("id,submit,seconds,memory,tasks,state\nok,1,1,1GB,1,\na,when,1,1GB,1,\nb,1,-5,1GB,1,\nc,1,1,much,1,\nd,1,1,1GB,-1,\ne,1,1,1GB,0,\n" +
		"f,1,1\n" + strings.Repeat("i", 257) + ",1,1,,,\nok2,1,1,1GB,,\ng,,1,1GB,1,\nh,1,,1GB,1,\ni,1,1,1GB,1,running\ni2,1,1,1GB,1,completing\ni3,1,1,1GB,1,requeued\nj,1,0,1GB,1,cancelled\nk,9e99,1,1GB,1,\nl,1,9e99,1GB,1,\n")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range r.Notes() {
		got = append(got, fmt.Sprint(n.Text, ": ", n.Count))
	}
	text := strings.Join(got, "\n")
	for _, want := range []string{
		"rows read: 17", "column id is longer than 4096 bytes (an id: 256), dropped (the first: t.csv:9): 1", `column submit is not a time: write 2026-03-02T08:00:00Z or seconds since 1970, dropped (the first: t.csv:3: "when"): 1`,
		`column seconds is not a length of time`, `(the first: t.csv:4: "-5"): 2`, `column memory is not an amount`, `column tasks is not a number`,
		"rows without tasks", "rows without a number of tasks have one: 1", "fewer fields than the header, dropped (the first: t.csv:8): 1", "rows without a submit time", "rows without a length",
		"jobs that had not ended, dropped (the first: t.csv:13): 3", "jobs that ended before they started", "is not a time from 1900 to 2200",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		text    string
		columns []string
		want    string
	}{
		"nothing":         {"\n\n", nil, "t.csv is empty"},
		"no delimiter":    {"hello\n", nil, `its first line "hello" has no commas`},
		"no rows":         {"id,submit,seconds\n", nil, "a header and no rows"},
		"no submit":       {"id,seconds\n1,2\n", nil, "give --columns submit=COLUMN"},
		"no length":       {"id,submit\n1,2\n", nil, `give --columns seconds=COLUMN, or start and finish; the header has "id", "submit"`},
		"only bad rows":   {"id,submit,seconds\n1,x,2\n", nil, "none of 1 rows can be used: 1 rows whose column submit is not a time"},
		"no such column":  {"id,submit,seconds\n", []string{"user=sumbit"}, `no such column; did you mean "submit"?`},
		"no such role":    {"id,submit,seconds\n", []string{"usr=id"}, `did you mean "user"?`},
		"no mapping":      {"id,submit,seconds\n", []string{"usr"}, "is not ROLE=COLUMN"},
		"twice":           {"id,submit,seconds\n", []string{"user=id", "user=submit"}, "gives user twice"},
		"a unit of bytes": {"id,submit,x\n", []string{"seconds=x:MB"}, "seconds is not in MB"},
		"a resource":      {"id,submit,x\n", []string{"GPU/x=x"}, "cannot name a resource"},
		"stages of none":  {"stage,submit,seconds\n", nil, "a stage belongs to a job"},
		"an open quote":   {"id,submit,seconds\n\"" + strings.Repeat("x\n", 1<<20), nil, "t.csv: after line 1: a row is longer than 1 MiB"},
	} {
		if _, _, err := read(c.text, c.columns...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// Errors about values are counted together, whatever the values are.
func TestReasonsAreFew(t *testing.T) {
	text := "JobID|Submit|Elapsed|NNodes|AllocCPUS|ReqMem|AllocTRES|priority\n"
	for i := range 100 {
		text += fmt.Sprintf("%d|1|x%d|1|1|1G||\n%d|1|1|1|1|1G|gres/gpu:a=%d,gres/gpu:b=%d|high%d\n%d|1|1|1|%d|1000000000Gc||\n",
			i, i, i, 1<<40, 1<<40-i, i, i, 1<<30+i)
	}
	jobs, r, err := read(text)
	if err != nil || len(jobs) != 100 || len(r.Notes()) > 6 {
		t.Error(len(jobs), r.Notes(), err)
	}
}

func TestUnknownStage(t *testing.T) {
	jobs, r, err := read("id,submit,seconds,stage,after\nj,5,1,a,b\nk,6,1,a,\n")
	if err != nil || len(jobs) != 1 || !strings.Contains(fmt.Sprint(r.Notes()), "its stage a comes after b") {
		t.Errorf("%v, %v, %v", jobs, err, r.Notes())
	}
}

func TestValues(t *testing.T) {
	hint := 0
	for text, want := range map[string]string{
		"2026-03-02T08:00:00": "1772438400", "2026-03-02 08:00:00": "1772438400", "2026-03-02T10:00:00+02:00": "1772438400", "1772438400": "1772438400",
		"1772438400000": "1772438400", "1772438400000000": "1772438400", "1772438400000000000": "1772438400", "2026-03-02": "1772409600",
		"2026-03-02 08:00:00.5": "1772438400.5", "2026-03-02 08:00:00+00": "1772438400", "2026-03-02 13:30:00+0530": "1772438400",
		"2026-03-02 10:00:00 +02:00": "1772438400", "2026-03-02 10:00:00 +0200": "1772438400", "12.5": "12.5",
	} {
		got, _, err := parseInstant(text, "", &hint)
		if s := fmt.Sprintf("%d", got/unit.Second); err != nil || s != strings.TrimSuffix(want, ".5") || strings.HasSuffix(want, ".5") != (got%unit.Second != 0) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for text, want := range map[string]unit.Time{
		"90": 90 * unit.Second, "1.5": 1500 * unit.Millisecond, "01:02:03": 3723 * unit.Second, "2-00:00:01": 2*unit.Day + unit.Second, "02:03.5": 123500 * unit.Millisecond,
		"1h30m": 90 * unit.Minute, "1h 30m": 90 * unit.Minute, "3d": 3 * unit.Day, "5 min": 5 * unit.Minute,
	} {
		if got, err := parseLength(text, ""); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"-1", "x", "1:2:3:4", "1-2:3", "1:99", ":", "1:", "NaN", "Inf", "-1:00", "1:-1", "99999-00:00:00"} {
		if got, err := parseLength(text, ""); err == nil {
			t.Errorf("%s: %v", text, got)
		}
	}
	for text, want := range map[string]int64{"4G": 4096, "4000M": 4000, "4Gn": 4096, "2000Mc": 2000, "1048576": 1, "1": 1, "16 GB": 16384, "1.5GiB": 1536, "0": 0} {
		if got, _, err := parseMemory(text, "B"); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}

// The examples of docs/import-anything.md are read as it says.
func TestExamples(t *testing.T) {
	dir := filepath.Join("..", "..", "docs", "examples")
	f, err := input.Open(filepath.Join(dir, "sacct.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	slurm := New(Options{Ask: cluster.Unit})
	if err := errors.Join(slurm.AddText(f), slurm.End()); err != nil {
		t.Fatal(err)
	}
	duck := New(Options{Ask: cluster.Unit, Columns: []string{"seconds=took_ms", "tasks=splits"}})
	if err := errors.Join(duck.AddParquet(filepath.Join(dir, "history.parquet")), duck.End()); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		r     *Reader
		jobs  int
		first string
	}{
		"sacct":  {slurm, 150, "48101 ben/debug 0 s | 1 x 2 min of 4096 MiB, 1 vcore | 2 s to 2.1 min"},
		"duckdb": {duck, 240, "q7000 ana/etl 0 s | 40 x 4 min of 4096 MiB, 1 vcore"},
	} {
		jobs, err := workload.ReadAll(c.r)
		if err != nil || len(jobs) != c.jobs || !slices.IsSortedFunc(jobs, func(a, b *workload.Job) int { return int(a.Submit - b.Submit) }) {
			t.Fatalf("%s: %d jobs, %v", name, len(jobs), err)
		}
		if got := show(jobs)[0]; got != c.first {
			t.Errorf("%s: %s, want %s", name, got, c.first)
		}
	}
}

func FuzzText(f *testing.F) {
	example, err := os.ReadFile(filepath.Join("..", "..", "docs", "examples", "sacct.txt"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(example[:2000])
	f.Add([]byte("id,submit,seconds,stage,after,memory,cores,gpus,priority,deadline,state\nj,5,1,a,,4Gn,1.5,2,3,1e9,OK\nj,6,1:00,b,a,1,1,cpu=4,x,,\n"))
	f.Add([]byte("id;start;end\n\"a\"\"b\";2026-03-02;2026-03-03T08:00:00+01:00\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		Sniff(b)
		in, err := input.NewFile(bytes.NewReader(b), "f", input.Limits{})
		if err != nil {
			return
		}
		r := New(Options{Ask: cluster.Unit})
		if r.AddText(in) != nil || r.End() != nil {
			return
		}
		var last unit.Time
		for {
			j, err := r.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				return
			}
			if err := j.Validate(); err != nil || j.Submit < last {
				t.Fatalf("job at %v after %v: %v", j.Submit, last, err)
			}
			last = j.Submit
		}
	})
}

func BenchmarkText(b *testing.B) {
	var text bytes.Buffer
	text.WriteString("JobID|JobName|User|Partition|Submit|Start|End|Elapsed|NNodes|AllocCPUS|ReqMem|State\n")
	const n = 100_000
	for i := range n {
		fmt.Fprintf(&text, "%d|fit|user%d|batch|2026-03-02T08:%02d:%02d|2026-03-02T09:00:00|2026-03-02T10:00:00|01:00:00|1|16|48G|COMPLETED\n", i, i%50, i/60%60, i%60)
	}
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if jobs, _, err := read(text.String()); err != nil || len(jobs) != n {
			b.Fatal(len(jobs), err)
		}
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
