package swim

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/internal/input"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

func read(t testing.TB, path string, m Model) (workload.Slice, *Reader) {
	t.Helper()
	f, err := input.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := NewReader(f, f.Name, m)
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := workload.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return jobs, r
}

func TestRead(t *testing.T) {
	jobs, r := read(t, "testdata/five.tsv", Default())
	type row struct {
		id, class     string
		submit        unit.Time
		maps, reduces int64
		mapS, redS    float64
	}
	mib := float64(16 * unit.MiB)
	want := []row{
		{"job0", "light", 9 * unit.Second, 1, 0, 2 + 1762/mib, 0},
		{"job1", "light", 18 * unit.Second, 1, 1, 2 + 970/mib, 2 + 1306/mib},
		{"job2", "heavy", 20 * unit.Second, 396, 2, 2 + 134062485/mib, 2 + 757882649/mib},
		{"job3", "light", 20500 * unit.Millisecond, 1, 0, 2, 0},
		{"job4", "medium", 31 * unit.Second, 1, 1, 10, 2 + 52428900/mib},
	}
	if len(jobs) != len(want) {
		t.Fatalf("%d jobs", len(jobs))
	}
	for i, w := range want {
		j := jobs[i]
		got := row{id: j.ID, class: j.Class, submit: j.Submit, maps: j.Stages[0].Tasks, mapS: j.Stages[0].Length.Draw(0, 1).Seconds()}
		if len(j.Stages) == 2 {
			got.reduces, got.redS = j.Stages[1].Tasks, j.Stages[1].Length.Draw(0, 1).Seconds()
		}
		if math.Abs(got.mapS-w.mapS) > 1e-5 || math.Abs(got.redS-w.redS) > 1e-5 {
			t.Errorf("%s: lengths %v and %v, want %v and %v", j.ID, got.mapS, got.redS, w.mapS, w.redS)
		}
		got.mapS, got.redS, w.mapS, w.redS = 0, 0, 0, 0
		if got != w {
			t.Errorf("got %+v\nwant %+v", got, w)
		}
	}
	if o := jobs[0].Stages[0].Output; o != 14347 {
		t.Errorf("a map-only job's maps write %d bytes", o)
	}
	if e := jobs[2].Stages[1].After[0]; e.Shuffle != 1510005522 || e.SlowStart != 0.05 {
		t.Errorf("edge %+v", e)
	}
	if got := fmt.Sprint(r.Notes()); !strings.Contains(got, "{empty lines skipped 1}") || !strings.Contains(got, "{jobs read and kept 5}") {
		t.Errorf("notes %s", got)
	}
	if a := r.Assumptions(); len(a) != 4 || !strings.Contains(a[0], "128 MiB") {
		t.Errorf("assumptions %q", a)
	}
}

func TestUsersAndQueues(t *testing.T) {
	var b bytes.Buffer
	for i := range 3000 {
		fmt.Fprintf(&b, "j%d\t%d\t1\t1\t1\t1\n", i, i)
	}
	all := func(seed uint64) workload.Slice {
		m := Default()
		m.Users, m.Queues, m.Seed = 20, []string{"etl", "adhoc", "ml"}, seed
		r, err := NewReader(bytes.NewReader(b.Bytes()), "x", m)
		if err != nil {
			t.Fatal(err)
		}
		jobs, err := workload.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		return jobs
	}
	one, again, other := all(1), all(1), all(2)
	queue, users, differ := map[string]string{}, map[string]int{}, 0
	for i, j := range one {
		if again[i].User != j.User || again[i].Queue != j.Queue {
			t.Fatal("the same seed gave another user")
		}
		if other[i].User != j.User {
			differ++
		}
		if q, ok := queue[j.User]; ok && q != j.Queue {
			t.Fatalf("user %s is in %s and in %s", j.User, q, j.Queue)
		}
		queue[j.User], users[j.User] = j.Queue, users[j.User]+1
	}
	if len(users) != 20 || users["u001"] < 90 || differ < 2000 {
		t.Errorf("users %v, %d of 3000 differ with the seed", users, differ)
	}
}

func TestErrors(t *testing.T) {
	good := "j\t1\t1\t1\t1\t1\n"
	for name, c := range map[string]struct{ text, want string }{
		"fields":   {good + "j 1 2 3\n", "f.tsv:2: 1 tab-separated fields; a SWIM line has at least 6"},
		"id":       {"\t1\t1\t1\t1\t1\n", "f.tsv:1: job id: empty"},
		"long id":  {strings.Repeat("j", 256) + "\t1\t1\t1\t1\t1\n", "f.tsv:1: job id: longer than 255 bytes"},
		"submit":   {"j\tx\t1\t1\t1\t1\n", `f.tsv:1: submit time: "x" is not a number of seconds`},
		"past":     {"j\t-1\t1\t1\t1\t1\n", `f.tsv:1: submit time: "-1" is negative`},
		"nan":      {"j\tNaN\t1\t1\t1\t1\n", `f.tsv:1: submit time: "NaN" is not a number of seconds`},
		"far":      {"j\t1e300\t1\t1\t1\t1\n", `f.tsv:1: submit time: "1e300" is too large`},
		"input":    {good + good + "j\t1\t1\t1.5\t1\t1\n", `f.tsv:3: input bytes: "1.5" is not a whole number of bytes`},
		"shuffle":  {"j\t1\t1\t1\t-2\t1\n", `f.tsv:1: shuffle bytes: -2 is negative`},
		"output":   {"j\t1\t1\t1\t2\t9223372036854775807\n", `f.tsv:1: output bytes: 9223372036854775807 is more than an exbibyte`},
		"one line": {strings.Repeat("7", 2<<20), "f.tsv:1: line longer than 1 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := NewReader(strings.NewReader(c.text), "f.tsv", Default())
			if err != nil {
				t.Fatal(err)
			}
			_, err = workload.ReadAll(r)
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestModelIsChecked(t *testing.T) {
	for name, change := range map[string]func(*Model){
		"block":  func(m *Model) { m.Block = 0 },
		"rate":   func(m *Model) { m.MapRate = math.Inf(1) },
		"slow":   func(m *Model) { m.SlowStart = math.NaN() },
		"users":  func(m *Model) { m.Users = 0 },
		"ask":    func(m *Model) { m.Ask = unit.Resources{} },
		"cap":    func(m *Model) { m.ReduceCap = 0 },
		"start":  func(m *Model) { m.StartUp = -1 },
		"reduce": func(m *Model) { m.BytesPerReduce = 0 },
	} {
		m := Default()
		change(&m)
		if _, err := NewReader(strings.NewReader(""), "x", m); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

// The published day of Facebook in 2010.
func TestFacebook2010(t *testing.T) {
	dir := os.Getenv("YARDMASTER_TRACES")
	if dir == "" {
		t.Skip("YARDMASTER_TRACES is not set")
	}
	jobs, r := read(t, filepath.Join(dir, "swim", "FB-2010_samples_24_times_1hr_0.tsv"), Default())
	classes, largest, last := map[string]float64{}, int64(0), unit.Time(0)
	for _, j := range jobs {
		classes[j.Class] += 100 / float64(len(jobs))
		largest = max(largest, j.Stages[0].Tasks)
		if j.Submit < last {
			t.Fatalf("job %s is out of order", j.ID)
		}
		last = j.Submit
	}
	t.Logf("%d maps, %d reduces", r.maps, r.reduces)
	if len(jobs) != 24442 || largest != 87307 || math.Abs(float64(r.maps)-8.08e6) > 0.01e6 {
		t.Errorf("%d jobs, %d maps, largest %d", len(jobs), r.maps, largest)
	}
	for class, share := range map[string]float64{"light": 68.70, "medium": 12.58, "heavy": 18.72} {
		if math.Abs(classes[class]-share) > 0.006 {
			t.Errorf("%s: %.3f %%, want %v", class, classes[class], share)
		}
	}
	for _, f := range []string{
		"FB-2009_samples_24_times_1hr_0.tsv", "FB-2009_samples_24_times_1hr_1.tsv",
		"FB-2010_samples_24_times_1hr_withInputPaths_0.tsv",
	} {
		read(t, filepath.Join(dir, "swim", f), Default())
	}
}

func FuzzSWIM(f *testing.F) {
	f.Add([]byte("job0\t9\t9\t1762\t0\t14347\njob1\t18\t9\t970\t609\t697\n"))
	f.Add([]byte("job0\t9\t9\t1152921504606846976\t1152921504606846976\t1152921504606846976\tp\t\t\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		Sniff(data)
		m := Default()
		m.Users = 3
		r, err := NewReader(bytes.NewReader(data), "f", m)
		if err != nil {
			t.Fatal(err)
		}
		for {
			j, err := r.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				if !strings.HasPrefix(err.Error(), "f:") {
					t.Fatalf("error without a place: %v", err)
				}
				return
			}
			if err := j.Validate(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A replay on fewer machines has smaller jobs, each with 64 MiB of input and a reduce at least, and a fifth of the machines instead of too many reduces.
func TestReplay(t *testing.T) {
	m := Default()
	var err error
	if m.Replay, err = ParseReplay("50/3000"); err != nil || m.Replay.String() != "50/3000" {
		t.Fatal(m.Replay, err)
	}
	lines := "small\t0\t0\t600\t0\t0\n" + "mid\t1\t1\t60000000000\t180000000000\t60000000000\n" + "huge\t2\t1\t60000000000000\t1800000000000\t1260000000000\n" +
		"edge\t3\t1\t60000000000\t1800000000000\t1200000000000\n"
	r, err := NewReader(strings.NewReader(lines), "x", m)
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := workload.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		input, shuffle unit.Bytes
		maps, reduces  int64
	}{{64 << 20, 1024, 1, 1}, {1e9, 3e9, 8, 4}, {1e12, 3e10, 7451, 10}, {1e9, 3e10, 8, 50}} {
		s := jobs[i].Stages
		if len(s) != 2 || s[0].Input != want.input || s[1].After[0].Shuffle != want.shuffle || s[0].Tasks != want.maps || s[1].Tasks != want.reduces {
			t.Errorf("%s: %+v", jobs[i].ID, s)
		}
	}
	if a := strings.Join(r.Assumptions(), "\n"); !strings.Contains(a, "SWIM's replay tool makes them for 50 machines of a trace of 3000") {
		t.Error(a)
	}
	if got := (Replay{Machines: 1 << 31, Traced: 1}).sizes([3]unit.Bytes{maxBytes, maxBytes, 1}); got != [3]unit.Bytes{maxBytes, maxBytes, 1 << 31} {
		t.Error("a replay on too many machines:", got)
	}
	for _, bad := range []string{"50", "0/3000", "50/0", "a/b", "50/3000/1", "-1/2"} {
		if r, err := ParseReplay(bad); err == nil {
			t.Errorf("%s: %v", bad, r)
		}
	}
}
