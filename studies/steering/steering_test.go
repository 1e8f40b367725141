package steering

import (
	"encoding/xml"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/policy/amlimit"
	"github.com/yardmaster/yardmaster/studies/evidence"
	"github.com/yardmaster/yardmaster/studies/harness"
	"github.com/yardmaster/yardmaster/unit"
)

func sample() *Batch {
	return &Batch{
		Scheduler: "fair", Arm: "cbt", Repetition: 2, Place: 3, At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Zero: 1000, Hadoop: "3.4.2", Preset: 0.1, Set: &Write{Asked: -1, Old: 0.5, New: 0.1, Took: 7000, Said: -1},
		Jobs: []Job{
			{ID: "application_1_0001", Launched: 100, Ended: 18_000, State: "SUCCEEDED", Tasks: []Task{{0, 6000, 9000}, {0, 6100, 9100}, {1, 10_000, 15_000}}},
			{ID: "application_1_0002", Came: 300, Launched: 22_000, Ended: 40_000, State: "SUCCEEDED", Tasks: []Task{{0, 28_000, 30_000}, {1, 31_000, 36_000}}},
		},
		CPU:     []CPU{{At: 1000, Spent: [6]int64{100, 20, 10, 60, 5, 5}}, {At: 41_000, Spent: [6]int64{0, 0, 0, 1000, 0, 0}}},
		Limits:  []Limit{{At: -100, MB: 645}, {At: 150, MB: 645, UsedMB: 512}, {At: 21_000, MB: 1161, UsedMB: 512}, {At: 22_100, MB: 1161, UsedMB: 1024}},
		Reloads: []int64{3000, 20_500}, Writes: []Write{{Asked: 12_000, Old: 0.105, New: 0.189, Said: 8800}},
	}
}

func TestRecordsComeBackAsTheyWere(t *testing.T) {
	dir := t.TempDir()
	if list, err := kept(dir, "fair"); err != nil || list != nil {
		t.Fatalf("without a file: %v, %v", list, err)
	}
	want := []*Batch{sample(), sample()}
	want[1].Arm = "prj"
	for _, b := range want {
		if _, err := keep(dir, b, evidence.Begin("")); err != nil {
			t.Fatal(err)
		}
	}
	got, err := kept(dir, "fair")
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v\n%+v\n%+v", err, got, want)
	}
	runs, err := evidence.Runs(dir)
	if info, _ := os.Stat(filepath.Join(dir, file("fair"))); err != nil || len(runs) != 2 || runs[1].From != runs[0].Size || info.Size() != runs[1].From+runs[1].Size {
		t.Errorf("the ledger does not account for the records: %+v, %v", runs, err)
	}
}

func TestBatchIsMeasuredFromFirstComingToLastEnd(t *testing.T) {
	b := sample()
	b.Writes[0].Took = b.took(0)
	launch, work := b.gaps()
	in, over := b.overs()
	for name, c := range map[string][2]float64{
		"span": {b.span(), 40}, "idle with nice, within the span": {b.idle(), 0.8}, "busy": {b.busy(), 1.1}, "change in force": {float64(b.Writes[0].Took), 8500},
		"to the launch": {launch[0], 10}, "to the first map": {work[0], 16}, "let in": {float64(in), 2}, "beyond the limit": {float64(over), 0},
	} {
		if math.Abs(c[0]-c[1]) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, c[0], c[1])
		}
	}
	b.Limits[3].UsedMB = 1536
	if _, over := b.overs(); over != 1 {
		t.Errorf("an AM beyond the limit was not counted")
	}
}

func TestEveryRepetitionHasEveryArmOnceInItsOwnOrder(t *testing.T) {
	s := Study{Size: Full}
	whole := s.Study()
	whole.Dir = t.TempDir()
	orders := map[string]bool{}
	for _, scheduler := range []string{"fair", "capacity"} {
		arms := len(Full.arms(sweeps(scheduler)))
		list, err := s.part(whole, scheduler).Plan()
		if err != nil {
			t.Fatal(err)
		}
		if again, err := s.part(whole, scheduler).Plan(); len(list) != 5*arms || !reflect.DeepEqual(list, again) {
			t.Fatalf("%s: %d batches, or another order the second time (%v)", scheduler, len(list), err)
		}
		for r := range 5 {
			var names []string
			order := ""
			for _, x := range list[r*arms : (r+1)*arms] {
				names, order = append(names, x.Way), order+x.Way+" "
				if x.Repetition != r+1 {
					t.Errorf("batch of repetition %d among those of %d", x.Repetition, r+1)
				}
			}
			orders[order] = true
			slices.Sort(names)
			if len(slices.Compact(names)) != arms {
				t.Errorf("%s, repetition %d: %v", scheduler, r+1, names)
			}
		}
	}
	if len(orders) < 9 {
		t.Errorf("only %d different orders of 10", len(orders))
	}
}

// TestArmsLetInWhatTheySay checks the shares against the schedulers' rules.
func TestArmsLetInWhatTheySay(t *testing.T) {
	q := unit.Resources{Mem: int64(Full.QueueMB()), Cores: int64(Full.Nodes * Full.NodeVcores)}
	one, least := unit.Resources{Mem: int64(Full.ContainerMB), Cores: 1}, unit.Resources{Mem: int64(Full.MinMB), Cores: 1}
	want := map[string]int64{"fifo": 1, "prj-2": 2, "prj": 6, "0.9": 10, "cbt": 1, "cbtws": 1, "cbtwat": 1, "ahead": 1, "kalman-mem": 1}
	for _, a := range Full.arms(true) {
		for _, rule := range []amlimit.Limit{amlimit.Fair, amlimit.FairV2, amlimit.Capacity} {
			if n := rule.Slots(q, one, least, a.Share); n != want[a.Name] && (a.Name != "0.9" || n < int64(Full.Jobs)) {
				t.Errorf("%s, %s: %d AMs, want %d", a.Name, rule.Scheduler, n, want[a.Name])
			}
		}
	}
}

func TestWaitsAreScaledButNotBelowTheFile(t *testing.T) {
	for _, c := range []struct {
		policy, scheduler, name string
		want                    time.Duration
	}{
		{"cbt", "fair", "after-increase", 15 * time.Second}, {"cbt", "capacity", "after-increase", 3800 * time.Millisecond},
		{"cbtws", "fair", "lockout", 3800 * time.Millisecond}, {"cbtwat", "fair", "warm", 1300 * time.Millisecond}, {"ahead", "fair", "after-increase", 0},
	} {
		if got := Full.waits(c.policy, c.scheduler)[c.name]; got != c.want {
			t.Errorf("%s, %s: %s is %v, want %v", c.policy, c.scheduler, c.name, got, c.want)
		}
	}
}

// made is a batch of an arm, as if measured: the given number of identical jobs at a time.
func made(size Size, scheduler string, a Arm, repetition, atOnce int) *Batch {
	b := &Batch{Scheduler: scheduler, Arm: a.Name, Repetition: repetition, At: time.Date(2026, 1, 2, 3, repetition, len(a.Name), 0, time.UTC), Hadoop: "3.4.2", Preset: a.Share,
		Set: &Write{Asked: -1, Old: 0.5, New: a.Share, Took: 7000 + 100*int64(repetition), Said: -1}}
	for i := range size.Jobs {
		at := int64(i/atOnce) * (18_000 + int64(200*repetition))
		j := Job{ID: "application_1_" + string(rune('1'+i)), Launched: at + 100, Ended: at + 15_000 + int64(i)*100, State: "SUCCEEDED"}
		for range size.Maps {
			j.Tasks = append(j.Tasks, Task{0, at + 6000, at + 8500})
		}
		b.Jobs = append(b.Jobs, j)
		j.Tasks = append(j.Tasks, Task{1, at + 9000, at + 13_000})
		b.Jobs[i] = j
	}
	mb := int64(a.Share * float64(size.QueueMB()))
	b.Limits = []Limit{{At: -500, MB: mb}, {At: 100, MB: mb, UsedMB: min(mb, int64(size.Jobs*size.ContainerMB)) / 512 * 512}}
	for s := range int64(b.span()) {
		c := CPU{At: (s + 1) * 1000, Spent: [6]int64{90, 3, 10, 95, 2, 0}}
		if !slices.ContainsFunc(b.Jobs, func(j Job) bool { return c.At > j.Launched && c.At < j.Ended+1500 }) { // between two jobs
			c.Spent = [6]int64{10, 3, 2, 183, 2, 0}
		}
		b.CPU = append(b.CPU, c)
	}
	if a.Policy != "" {
		b.Writes = []Write{{Asked: 9000, Old: a.Share, New: a.Share + 0.084, Took: 8000, Said: 7900}, {Asked: 27_000, Old: a.Share + 0.084, New: a.Share + 0.168, Took: -1, Said: -1}}
	}
	return b
}

// TestReportIsMadeFromRecordsAlone makes the page and its pictures from made-up records, including the simulator's part.
func TestReportIsMadeFromRecordsAlone(t *testing.T) {
	dir := t.TempDir()
	h := (&Study{Size: Full}).Study()
	h.Options = harness.Options{Dir: dir, Page: filepath.Join(dir, "page.md")}
	if _, _, err := h.Report(t.Context()); err == nil {
		t.Error("a report of nothing")
	}
	for _, scheduler := range []string{"fair", "capacity"} {
		for _, a := range Full.arms(sweeps(scheduler)) {
			for r := 1; r <= 3; r++ {
				if _, err := keep(dir, made(Full, scheduler, a, r, map[bool]int{true: 6, false: 1}[a.Share > 0.4]), evidence.Begin("")); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if _, _, err := h.Report(t.Context()); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(h.Page)
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	for _, want := range []string{"| E1 | Fair Scheduler |", "| E2-faster |", "| E2-varies |", "| E4 | Capacity Scheduler |", "| E5 |", "| E7-small |", "| E16 |", "| E19-idle |", "| E19-busy |", "after-increase 15s", "| kalman-mem |"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	if strings.Contains(page, "| PASS |") || strings.Contains(page, "| MISS |") || !strings.Contains(page, "| RECORD") {
		t.Error("three repetitions are recorded, not judged")
	}
	for _, not := range []string{"NaN", "%!", "There is no prediction"} {
		if i := strings.Index(page, not); i >= 0 {
			t.Errorf("the page has %q: %s", not, page[max(0, i-80):min(len(page), i+200)])
		}
	}
	for _, scheduler := range []string{"fair", "capacity"} {
		for _, name := range []string{"boxes", "gantt"} {
			b, err := os.ReadFile(filepath.Join(dir, name+"-"+scheduler+".svg"))
			if err != nil || xml.Unmarshal(b, new(any)) != nil || strings.Contains(string(b), "NaN") {
				t.Errorf("%s of %s: %v", name, scheduler, err)
			}
		}
	}
	if keepDir := os.Getenv("KEEP"); keepDir != "" {
		_ = os.CopyFS(keepDir, os.DirFS(dir))
	}
}

// The committed page is what the committed records give.
func TestPageIsCurrent(t *testing.T) {
	studies, dir := filepath.Join("..", "..", "docs", "studies"), filepath.Join(t.TempDir(), "marp-live")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(studies, "marp-live"))); err != nil { // pictures are drawn there
		t.Fatal(err)
	}
	h := (&Study{Size: Full}).Study()
	h.Dir = dir
	text, _, err := h.Report(t.Context())
	if want, e := os.ReadFile(filepath.Join(studies, "marp-live.md")); err != nil || e != nil || text != string(want) {
		t.Errorf("run: go run ./studies marp-live --offline (%v, %v)", err, e)
	}
}
