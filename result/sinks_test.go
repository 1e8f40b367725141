package result

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/internal/parq"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
)

func sampleAt(from, to int64, queues ...sim.QueueSample) *sim.Sample {
	return &sim.Sample{From: unit.Time(from) * unit.Second, To: unit.Time(to) * unit.Second, Queues: queues}
}

func openTimeline(path string) (*parq.Reader[TimeRow], error) {
	return parq.Open[TimeRow](path, parq.Limits{})
}

func readRows[T any](t *testing.T, open func(string) (*parq.Reader[T], error), path string) []T {
	t.Helper()
	r, err := open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var rows []T
	for {
		row, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, *row)
	}
	if int64(len(rows)) != r.Rows() {
		t.Errorf("%d of %d rows", len(rows), r.Rows())
	}
	return rows
}

func fillFolder(t *testing.T, dir string, n int) *Folder {
	t.Helper()
	f, err := NewFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	c := NewCollector(Options{})
	sink := Tee(f, nil, c)
	for i := range n {
		sink.Job(done(int64(i), "ann", "", float64(i), float64(i+2), float64(i+12), 10))
		sink.Sample(sampleAt(int64(i), int64(i+1), sim.QueueSample{Name: "a", Containers: 1.5, Mem: 10, Running: 1, Waiting: 2, Pending: 3}))
	}
	sink.Job(refused(99, "full"))
	if c.elapsed.n != int64(n) {
		t.Errorf("the second sink saw %d jobs", c.elapsed.n)
	}
	return f
}

func TestFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "out")
	f := fillFolder(t, dir, 3)
	if list, _ := filepath.Glob(filepath.Join(dir, "*.parquet")); len(list) != 0 {
		t.Errorf("unfinished files have their names already: %v", list)
	}
	if err := errors.Join(f.Close(), f.WriteResult(small())); err != nil {
		t.Fatal(err)
	}
	entries, _ := os.ReadDir(dir)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if diff := cmp.Diff([]string{JobsFile, ResultFile, TimelineFile}, names); diff != "" {
		t.Error(diff)
	}
	jobs := readRows(t, OpenJobs, filepath.Join(dir, JobsFile))
	want := JobRow{
		ID: "j1", User: "ann", Queue: "default", Class: "(none)", Outcome: "finished", Tasks: 3, Submit: 1, Start: 3, Finish: 13,
		Wait: 2, Run: 10, Elapsed: 12, Alone: 10, Slowdown: 1.2, ResponseRatio: 1.2, ContainerTime: 1800, NodeLocal: 3, RackLocal: 2,
	}
	if len(jobs) != 4 || jobs[1] != want {
		t.Errorf("%d rows; %s", len(jobs), cmp.Diff(want, jobs[1]))
	}
	if r := jobs[3]; r.Outcome != "refused" || r.Reason != "full" || r.Start != -1 || r.Finish != -1 || r.Wait != -1 || r.Slowdown != -1 {
		t.Errorf("refused: %+v", r)
	}
	times := readRows(t, openTimeline, filepath.Join(dir, TimelineFile))
	if len(times) != 3 || times[2] != (TimeRow{2, 3, "a", 1.5, 10, 1, 2, 3}) {
		t.Errorf("timeline: %+v", times)
	}
	if _, err := openTimeline(filepath.Join(dir, JobsFile)); err == nil {
		t.Error("jobs were read as a timeline")
	}
}

func TestFolderDiscardAndErrors(t *testing.T) {
	dir := t.TempDir()
	f := fillFolder(t, dir, 2)
	f.Discard()
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("%d files are left", len(entries))
	}
	if f.Close() == nil {
		t.Error("a folder that was given up closes without an error")
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := NewFolder(file); err == nil {
		t.Error("a file was taken for a folder")
	}
}

func TestTablesAreDeterministicAndGuarded(t *testing.T) {
	table := func() []byte {
		var b bytes.Buffer
		w := newRowWriter[JobRow](&b, "jobs")
		for i := range 60_000 {
			row := JobRow{ID: fmt.Sprint(i), Queue: "q", Wait: float64(i)}
			if err := w.write(row); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	whole := table()
	if !bytes.Equal(whole, table()) {
		t.Error("the same rows gave different bytes")
	}
	path := filepath.Join(t.TempDir(), "x.parquet")
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 60 {
		b := bytes.Clone(whole)
		if rnd.IntN(2) == 0 {
			b = b[:rnd.IntN(len(b))]
		} else {
			for range 3 { // in the data and near the end
				b[rnd.IntN(len(b))] ^= 1 << rnd.IntN(8)
				b[len(b)-1-rnd.IntN(5000)] ^= 1 << rnd.IntN(8)
			}
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := OpenJobs(path)
		for err == nil {
			_, err = r.Next()
		}
		if r != nil {
			r.Close()
		}
		if errors.Is(err, io.EOF) {
			t.Error("damage went unseen")
		}
	}
}

func TestTimeline(t *testing.T) {
	s := NewTimeline(4)
	var area float64
	for i := range int64(100) {
		q := []sim.QueueSample{{Name: "a", Containers: float64(i), Mem: 2, Running: i, Waiting: 2 * i}}
		if i >= 50 {
			q = append(q, sim.QueueSample{Name: "", Containers: 1, Pending: 7})
		}
		s.Sample(sampleAt(i, i+1, q...))
		s.Job(nil)
		area += float64(i)
		if len(s.ends) > 8 {
			t.Fatalf("%d intervals", len(s.ends))
		}
	}
	got := s.Timeline()
	n := len(got.Edges) - 1
	if n < 2 || n > 4 || got.Edges[0] != 0 || got.Edges[n] != 100 {
		t.Fatalf("edges %v", got.Edges)
	}
	if diff := cmp.Diff([]string{"a", "default"}, got.Queues); diff != "" {
		t.Error(diff)
	}
	var kept, late, waiting float64
	for i := range n {
		waiting += got.Waiting[i] * (got.Edges[i+1] - got.Edges[i])
		kept += got.Containers[0][i] * (got.Edges[i+1] - got.Edges[i])
		late += got.Containers[1][i] * (got.Edges[i+1] - got.Edges[i])
	}
	if math.Abs(kept-area) > 1e-3 || math.Abs(late-50) > 1e-3 {
		t.Errorf("container-seconds %v and %v, want %v and 50", kept, late, area)
	}
	if math.Abs(waiting-2*area) > 1e-3 {
		t.Errorf("job-seconds of waiting %v, want %v", waiting, 2*area)
	}
}

func TestTimelineGapsAndManyQueues(t *testing.T) {
	s := NewTimeline(10)
	s.Sample(sampleAt(5, 6, sim.QueueSample{Name: "a", Containers: 4}))
	s.Sample(sampleAt(6, 6, sim.QueueSample{Name: "a", Containers: 9}))
	s.Sample(sampleAt(8, 9, sim.QueueSample{Name: "a", Containers: 2}))
	got := s.Timeline()
	if diff := cmp.Diff([]float64{5, 6, 8, 9}, got.Edges); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]float64{4, 0, 2}, got.Containers[0]); diff != "" {
		t.Error(diff)
	}
	s = NewTimeline(10)
	var q []sim.QueueSample
	for i := range 150 {
		q = append(q, sim.QueueSample{Name: fmt.Sprint(i), Containers: 1})
	}
	s.Sample(sampleAt(0, 1, q...))
	got = s.Timeline()
	if len(got.Queues) != 101 || got.Queues[100] != Others || got.Containers[100][0] != 50 {
		t.Errorf("%d queues, last has %v", len(got.Queues), got.Containers[100])
	}
	if empty := NewTimeline(3).Timeline(); len(empty.Edges) != 0 {
		t.Error("an empty timeline has edges")
	}
}

func TestJobRows(t *testing.T) {
	// play offers jobs in another order, as another scheduler would.
	play := func(limit, of int, backwards bool) (ids []string) {
		s := NewJobRows(limit)
		for i := range of {
			if backwards {
				i = of - 1 - i
			}
			r := done(int64(i), "u", "q", float64(i/2), float64(of), float64(of)+1, 1)
			if i == 7 {
				r.Start, r.Finish, r.Outcome = -1, -1, sim.Refused
			}
			s.Job(r)
		}
		for _, row := range s.Rows() {
			ids = append(ids, row.ID)
		}
		return ids
	}
	ids := play(100, 101, false)
	if len(ids) != 100 || ids[0] != "j0" || slices.Contains(ids, "j7") {
		t.Errorf("%d jobs: %q", len(ids), ids)
	}
	if diff := cmp.Diff(ids, play(100, 101, true)); diff != "" {
		t.Error(diff)
	}
	if got := play(100, 102, false); got != nil {
		t.Errorf("%d jobs are too many to keep", len(got))
	}
}

func TestServiceLevels(t *testing.T) {
	c := NewCollector(Options{})
	for i, elapsed := range []float64{10, 60, 61, 1800, 2000, 10_000} {
		c.Job(done(int64(i), "u", []string{"a", "b"}[i%2], 0, 1, elapsed, 1))
	}
	r := c.Finish(sim.Summary{Submitted: 6, Finished: 6}, Scenario{}, nil)
	if diff := cmp.Diff([]Level{{60, 4}, {300, 3}, {1800, 2}, {7200, 1}}, r.Service); diff != "" {
		t.Error(diff)
	}
	var sum [4]int64
	for _, g := range r.ByQueue {
		for i, l := range g.Service {
			sum[i] += l.Jobs
		}
	}
	if sum != [4]int64{4, 3, 2, 1} {
		t.Errorf("by queue %v", sum)
	}
	if got := ShareOver(r.Service, 2, 6); got != 2.0/6 || ShareOver(nil, 0, 6) != 0 || ShareOver(r.Service, 0, 0) != 0 {
		t.Error(got)
	}
}

func TestStats(t *testing.T) {
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-4 }
	// 1 2 3 4 5: s = sqrt(2.5), t(0.975, 4) = 2.776445.
	e := Mean([]float64{1, 2, 3, 4, 5})
	if e.Mean != 3 || !near(e.Half(), 1.963243) || !e.Known {
		t.Errorf("%+v", e)
	}
	if e := Mean([]float64{4}); e.Mean != 4 || e.Low != 4 || e.High != 4 || e.Known {
		t.Errorf("%+v", e)
	}
	if e := Mean(nil); e != (Estimate{}) {
		t.Errorf("%+v", e)
	}
	// Differences -5 -6 -4: mean -5, s = 1, t(0.975, 2) = 4.302653.
	d := Paired([]float64{10, 20, 30}, []float64{5, 14, 26})
	if d.Diff.Mean != -5 || !near(d.Diff.Half(), 2.484138) || !near(d.Ratio.Mean, 0.75) || !d.Ratio.Known {
		t.Errorf("%+v", d)
	}
	if d := Paired([]float64{1, 2}, []float64{2, 1}); d.Sure() || d.Diff.Mean != 0 {
		t.Errorf("%+v", d)
	}
	if d := Paired([]float64{0, 0}, []float64{1, 1}); d.Ratio.Known || d.Ratio.Mean != 0 || !d.Sure() {
		t.Errorf("%+v", d)
	}
}

// TestDocumented keeps docs/format.md complete: it names every column.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "format.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range slices.Concat(parq.Columns[JobRow](), parq.Columns[TimeRow]()) {
		if !strings.Contains(string(page), "`"+path[0]+"`") {
			t.Errorf("docs/format.md does not name column %s", path[0])
		}
	}
}

// However long the run, its timeline is equally fine from beginning to end.
func TestTimelineIsEvenlyFine(t *testing.T) {
	sink := NewTimeline(100)
	for i := range 10_007 {
		at := unit.Time(i) * 10 * unit.Second
		sink.Sample(&sim.Sample{From: at, To: at + 10*unit.Second, Queues: []sim.QueueSample{{Name: "q", Containers: float64(i % 2)}}})
	}
	tl := sink.Timeline()
	n := len(tl.Edges) - 1
	if n > 100 || n < 50 {
		t.Fatalf("%d intervals", n)
	}
	width := tl.Edges[1] - tl.Edges[0]
	for i := range n - 1 {
		if got := tl.Edges[i+1] - tl.Edges[i]; got != width {
			t.Errorf("interval %d is %v s wide, the first %v s", i, got, width)
		}
		if c := tl.Containers[0][i]; c < 0.49 || c > 0.51 {
			t.Errorf("interval %d holds %v containers, want about 0.5", i, c)
		}
	}
	if last := tl.Edges[n]; last != 100_070 {
		t.Errorf("ends at %v", last)
	}
}
