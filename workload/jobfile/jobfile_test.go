package jobfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
	"github.com/yardmaster/yardmaster/internal/parq"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

func write(t testing.TB, jobs workload.Slice) []byte {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b, NewMeta("v0-test", "made by hand", []string{"a task takes 10 s", "blocks of 64 MB"}))
	for _, j := range jobs {
		if err := w.Write(j); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func read(b []byte) (workload.Slice, error) {
	r, err := NewReader(bytes.NewReader(b), int64(len(b)), "test.parquet")
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return workload.ReadAll(r)
}

// sample holds every kind of thing a job can have.
func sample() workload.Slice {
	ask := unit.Resources{Mem: 1024, Cores: 1}
	gpus := ask.Add(unit.Resources{Extra: unit.Named("nvidia.com/gpu", 2)}).Add(unit.Resources{Extra: unit.Named("licence", 1)})
	return workload.Slice{
		{ID: "j1", Submit: 0, Stages: []workload.Stage{{Tasks: 3, Ask: ask, Length: workload.Fixed(unit.Second)}}},
		{
			ID: "j2", Name: "wörd count", User: "ann", Queue: "root.etl", Class: "small", Submit: 5, Priority: -3, Deadline: 99 * unit.Second,
			AM: unit.Resources{Mem: 2048, Cores: 2, Extra: unit.Named("licence", 7)},
			Stages: []workload.Stage{
				{
					Name: "map", Kind: workload.Map, Tasks: 3, Ask: ask, Input: 64 * unit.MiB,
					Length: workload.Lengths{Kind: workload.List, Values: []unit.Time{1, 2, 3}},
					Hosts:  &workload.Hosts{Names: []string{"r1/a", "r1/b"}, Of: [][]int32{{0, 1}, nil, {1}}},
				},
				{
					Name: "reduce", Kind: workload.Reduce, Tasks: 2, Ask: ask, Output: 7,
					Length: workload.Lengths{Kind: workload.Cost, A: 4, Work: 9, Rate: 2.5},
					After:  []workload.Edge{{From: 0, Shuffle: 12, SlowStart: 0.05}},
					Hosts:  &workload.Hosts{},
				},
				{
					Kind: workload.Other, Tasks: 1 << 40, Ask: gpus, Gang: 4,
					Length: workload.Lengths{Kind: workload.Quantiles, Values: []unit.Time{1, 5, 5, 80}},
					After:  []workload.Edge{{From: 0, SlowStart: 1}, {From: 1, SlowStart: 1}},
				},
			},
			Observed: &workload.Observed{Launch: 6, Finish: 70 * unit.Second, Outcome: "SUCCESS"},
		},
		{
			ID: "j3", Submit: 5, Keep: &workload.Keep{Ask: gpus, Slots: 4, Max: 10},
			Stages: []workload.Stage{
				{Tasks: 9, Length: workload.Lengths{Kind: workload.Exponential, A: 10}},
				{Tasks: 9, Length: workload.Lengths{Kind: workload.LogNormal, A: 10, P: 1.5}},
				{Tasks: 9, Length: workload.Lengths{Kind: workload.Pareto, A: 10, P: 0.9}},
				{Tasks: 9, Length: workload.Lengths{Kind: workload.Uniform, A: 10, B: 20}},
			},
		},
		{
			ID: "j4", Submit: 6, Keep: &workload.Keep{
				Ask: ask, Slots: 4, Max: 10, Start: 1, Warm: 2, Tail: 3, Ready: 0.8, ReadyWait: 4, LocalityWait: 5, Fair: true, External: true, Batch: 11, Pending: 12, Every: 13,
				Dynamic: &workload.Dynamic{Min: 1, Initial: 2, Ratio: 0.5, Backlog: 6, Sustained: 7, Idle: 8, CachedIdle: 9, ShuffleIdle: 10},
			},
			Stages: []workload.Stage{
				{Tasks: 9, Length: workload.Fixed(1), Delay: 11},
				{Tasks: 9, Length: workload.Fixed(1), Pool: "adhoc", Cached: 1, After: []workload.Edge{{From: 0, SlowStart: 1}}},
			},
		},
	}
}

var same = cmpopts.EquateEmpty()

func TestRoundTrip(t *testing.T) {
	jobs := sample()
	path := filepath.Join(t.TempDir(), "jobs.parquet")
	if err := os.WriteFile(path, write(t, jobs), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if r.Jobs() != 4 {
		t.Errorf("Jobs() = %d", r.Jobs())
	}
	if diff := cmp.Diff([]string{"a task takes 10 s", "blocks of 64 MB"}, r.Assumptions()); diff != "" {
		t.Error(diff)
	}
	if m := r.meta; m[MetaSource] != "made by hand" || m[MetaTool] != "v0-test" || m[MetaFormat] != Version {
		t.Errorf("Meta() = %v", m)
	}
	got, err := workload.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(jobs, got, same); diff != "" {
		t.Error(diff)
	}
	if _, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v", err)
	}
}

// What a reader said of the trace comes back with the file, and does not change the jobs' bytes' determinism.
func TestNotes(t *testing.T) {
	notes := []workload.Note{{Text: "jobs that failed are dropped", Count: 3}, {Text: "a \"quoted\" sentence"}}
	file := func() []byte {
		var b bytes.Buffer
		w := NewWriter(&b, NewMeta("v0-test", "made by hand", nil))
		for _, j := range sample() {
			if err := w.Write(j); err != nil {
				t.Fatal(err)
			}
		}
		w.SetNotes(notes)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	one := file()
	for range 5 {
		if !bytes.Equal(one, file()) {
			t.Fatal("the same jobs and notes gave other bytes")
		}
	}
	r, err := NewReader(bytes.NewReader(one), int64(len(one)), "x")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(notes, r.Notes()); diff != "" {
		t.Error(diff)
	}
}

func TestRoundTripProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var jobs workload.Slice
		at := unit.Time(0)
		for range rapid.IntRange(0, 8).Draw(t, "jobs") {
			at += unit.Time(rapid.Int64Range(0, 1<<40).Draw(t, "gap"))
			jobs = append(jobs, drawJob(t, at))
		}
		var b, b2 bytes.Buffer
		for _, buf := range []*bytes.Buffer{&b, &b2} {
			w := NewWriter(buf, NewMeta("x", "y", nil))
			for _, j := range jobs {
				if err := w.Write(j); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(b.Bytes(), b2.Bytes()) {
			t.Fatal("the same jobs gave different bytes")
		}
		got, err := read(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(jobs, got, same); diff != "" {
			t.Fatal(diff)
		}
	})
}

func drawJob(t *rapid.T, at unit.Time) *workload.Job {
	text := rapid.StringN(0, 12, -1)
	small := rapid.Int64Range(0, 1<<20)
	j := &workload.Job{
		ID: text.Draw(t, "id"), Name: text.Draw(t, "name"), User: text.Draw(t, "user"), Queue: text.Draw(t, "queue"),
		Class: text.Draw(t, "class"), Submit: at, Priority: rapid.Int().Draw(t, "priority"),
		Deadline: unit.Time(rapid.Int64().Draw(t, "deadline")),
		AM:       unit.Resources{Mem: small.Draw(t, "mem"), Cores: small.Draw(t, "cores")},
	}
	if rapid.Bool().Draw(t, "keep") {
		j.Keep = drawKeep(t)
	}
	if rapid.Bool().Draw(t, "observed") {
		j.Observed = &workload.Observed{Launch: unit.Time(small.Draw(t, "l")), Finish: unit.Time(small.Draw(t, "f")), Outcome: text.Draw(t, "o")}
	}
	for i := range rapid.IntRange(1, 5).Draw(t, "stages") {
		s := workload.Stage{
			Name: text.Draw(t, "stage"), Kind: workload.Kind(rapid.IntRange(0, 2).Draw(t, "kind")),
			Tasks: rapid.Int64Range(0, 40).Draw(t, "tasks"), Ask: unit.Resources{Cores: 1 + small.Draw(t, "ask")},
			Input: unit.Bytes(small.Draw(t, "in")), Output: unit.Bytes(small.Draw(t, "out")),
		}
		l := &s.Length
		l.Kind = workload.LengthKind(rapid.IntRange(0, 7).Draw(t, "length"))
		l.A, l.P, l.Work, l.Rate = unit.Time(small.Draw(t, "a")), rapid.Float64Range(0.1, 9).Draw(t, "p"), 3, 0.25
		l.B = l.A + unit.Time(small.Draw(t, "b"))
		switch l.Kind {
		case workload.List:
			for range s.Tasks {
				l.Values = append(l.Values, unit.Time(small.Draw(t, "v")))
			}
		case workload.Quantiles:
			v := unit.Time(0)
			for range 1 + s.Tasks {
				v += unit.Time(small.Draw(t, "v"))
				l.Values = append(l.Values, v)
			}
		}
		for from := range i {
			if rapid.Bool().Draw(t, "edge") {
				s.After = append(s.After, workload.Edge{From: from, Shuffle: unit.Bytes(small.Draw(t, "sh")), SlowStart: rapid.Float64Range(0, 1).Draw(t, "ss")})
			}
		}
		if rapid.Bool().Draw(t, "hosts") {
			s.Hosts = &workload.Hosts{Names: rapid.SliceOfN(text, 1, 4).Draw(t, "names")}
			index := rapid.SliceOfN(rapid.Int32Range(0, int32(len(s.Hosts.Names))-1), 0, 3)
			s.Hosts.Of = rapid.SliceOfN(index, 0, int(s.Tasks)).Draw(t, "of")
		}
		if j.Keep != nil && rapid.Bool().Draw(t, "driven") {
			s.Delay, s.Pool = unit.Time(small.Draw(t, "delay")), text.Draw(t, "pool")
			if from := rapid.IntRange(0, i).Draw(t, "cached"); from > 0 && j.Stages[from-1].Tasks == s.Tasks {
				s.Cached = from
			}
		}
		j.Stages = append(j.Stages, s)
	}
	return j
}

func drawKeep(t *rapid.T) *workload.Keep {
	small := rapid.Int64Range(0, 1<<20)
	length := func(what string) unit.Time { return unit.Time(small.Draw(t, what)) }
	k := &workload.Keep{Ask: unit.Resources{Mem: 1}, Slots: 1 + small.Draw(t, "slots"), Max: 1 + small.Draw(t, "max")}
	if rapid.Bool().Draw(t, "timed") {
		k.Start, k.Warm, k.Tail, k.ReadyWait, k.LocalityWait = length("start"), length("warm"), length("tail"), length("ready"), length("wait")
		k.Ready = rapid.Float64Range(0, 1).Draw(t, "share")
		k.Batch, k.Pending, k.Every = small.Draw(t, "batch"), small.Draw(t, "pending"), length("every")
		k.Fair, k.External = rapid.Bool().Draw(t, "fair"), rapid.Bool().Draw(t, "external")
	}
	if rapid.Bool().Draw(t, "dynamic") {
		d := &workload.Dynamic{Initial: rapid.Int64Range(0, k.Max).Draw(t, "initial"), Ratio: rapid.Float64Range(0, 1).Draw(t, "ratio")}
		d.Min = rapid.Int64Range(0, d.Initial).Draw(t, "min")
		d.Backlog, d.Sustained, d.Idle, d.CachedIdle = length("backlog"), length("sustained"), length("idle"), length("cached")
		d.ShuffleIdle = length("shuffle")
		k.Dynamic = d
	}
	return k
}

func TestManyJobsInGroups(t *testing.T) {
	var jobs workload.Slice
	for i := range 45_000 {
		jobs = append(jobs, &workload.Job{
			ID: fmt.Sprint("job", i), User: fmt.Sprint("user", i%97), Queue: fmt.Sprint("q", i%7), Submit: unit.Time(i),
			Stages: []workload.Stage{
				{Tasks: int64(i), Ask: unit.Resources{Mem: 1}, Length: workload.Fixed(unit.Time(i))},
				{Tasks: 1, Kind: workload.Reduce, Ask: unit.Resources{Mem: 1}, After: []workload.Edge{{SlowStart: 1}}},
			},
		})
	}
	b := write(t, jobs)
	t.Logf("%d jobs take %d bytes", len(jobs), len(b))
	got, err := read(b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(len(jobs), len(got)); diff != "" {
		t.Fatal(diff)
	}
	for i := range jobs {
		if i%1009 == 0 && !cmp.Equal(jobs[i], got[i], same) || jobs[i].ID != got[i].ID || jobs[i].User != got[i].User {
			t.Fatalf("job %d: %s", i, cmp.Diff(jobs[i], got[i], same))
		}
	}
}

func TestLongLists(t *testing.T) {
	long := func(n int) *workload.Job {
		s := workload.Stage{Tasks: int64(n), Ask: unit.Resources{Mem: 1}, Length: workload.Lengths{Kind: workload.List}}
		s.Hosts = &workload.Hosts{Names: []string{"a", "b", "c"}}
		for i := range n {
			s.Length.Values = append(s.Length.Values, unit.Time(i*i))
			s.Hosts.Of = append(s.Hosts.Of, []int32{int32(i % 3), int32((i + 1) % 3)})
		}
		return &workload.Job{ID: fmt.Sprint("long", n), Stages: []workload.Stage{s}}
	}
	jobs := workload.Slice{long(87_000), long(1), long(200_000), long(0)}
	got, err := read(write(t, jobs))
	if err != nil {
		t.Fatal(err)
	}
	for i := range jobs {
		want, have := &jobs[i].Stages[0], &got[i].Stages[0]
		if !slices.Equal(want.Length.Values, have.Length.Values) || !slices.EqualFunc(want.Hosts.Of, have.Hosts.Of, slices.Equal[[]int32]) {
			t.Errorf("job %d differs", i)
		}
	}
	err = NewWriter(io.Discard, nil).Write(long(MaxListed))
	if err == nil || !strings.Contains(err.Error(), "quantile table") {
		t.Errorf("a list that is too long: %v", err)
	}
}

func TestWriterRefuses(t *testing.T) {
	ok := func(at unit.Time) *workload.Job {
		return &workload.Job{ID: "x", Submit: at, Stages: []workload.Stage{{Ask: unit.Resources{Mem: 1}}}}
	}
	w := NewWriter(io.Discard, nil)
	if err := w.Write(ok(9)); err != nil {
		t.Fatal(err)
	}
	if err := w.Write(ok(8)); err == nil || !strings.Contains(err.Error(), "sort the jobs") {
		t.Errorf("unsorted: %v", err)
	}
	if err := w.Write(&workload.Job{ID: "y", Submit: 10}); err == nil || !strings.Contains(err.Error(), "no stages") {
		t.Errorf("invalid: %v", err)
	}
	fat := ok(10)
	fat.Name = strings.Repeat("x", maxRow)
	if err := w.Write(fat); !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "bytes") {
		t.Errorf("a job that is too large: %v", err)
	}
	lost := ok(10)
	lost.Stages[0].Hosts = &workload.Hosts{Names: []string{"a"}, Of: [][]int32{{1}}}
	if err := w.Write(lost); err == nil || !strings.Contains(err.Error(), "host 1 of 1") {
		t.Errorf("a host without a name: %v", err)
	}
	bad := ok(10)
	bad.Stages[0].Length = workload.Lengths{Kind: workload.Pareto, P: math.NaN()}
	if err := w.Write(bad); err == nil {
		t.Error("NaN was taken")
	}
}

func TestOtherFiles(t *testing.T) {
	type other struct {
		ID   string `parquet:"id"`
		Mark int64  `parquet:"mark"`
	}
	var b bytes.Buffer
	w := parq.NewWriter[other](&b, nil)
	if err := errors.Join(w.Write([]other{{"a", 1}}), w.Close()); err != nil {
		t.Fatal(err)
	}
	var v4 bytes.Buffer
	w2 := parq.NewWriter[jobRow](&v4, map[string]string{"yardmaster.format": "4"})
	if err := w2.Close(); err != nil {
		t.Fatal(err)
	}
	var wide bytes.Buffer // a row with more stages than a job can have
	w3 := parq.NewWriter[jobRow](&wide, map[string]string{"yardmaster.format": "3"})
	var row jobRow
	row.Stages = make([]stageRow, 1_000_000)
	if err := errors.Join(w3.Write([]jobRow{row}), w3.Close()); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"another table":   {b.Bytes(), "columns are missing: name, user"},
		"another version": {v4.Bytes(), `version "4"`},
		"too wide":        {wide.Bytes(), "a row has 1000000 values"},
		"empty":           {nil, "empty"},
		"short":           {[]byte("PAR1"), "too few"},
		"text":            {[]byte(strings.Repeat("no parquet ", 9)), "does not start with PAR1"},
		"cut":             {write(t, sample())[:700], "cut off"},
		"huge footer":     {[]byte("PAR1xxxxxxxxx\xff\xff\xff\x7fPAR1"), "footer claims"},
	} {
		if _, err := read(c.file); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want something about %q", name, err, c.want)
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none.parquet")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no such file: %v", err)
	}
	if _, err := Open(t.TempDir()); err == nil {
		t.Error("a folder was opened")
	}
}

// asOlder writes jobs as earlier programs did.
func asOlder(t testing.TB, jobs workload.Slice, version string, without ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parq.NewWriter[jobRow](&b, map[string]string{"yardmaster.format": version}, without...)
	for _, j := range jobs {
		row := toRow(j)
		if err := w.Write([]jobRow{row}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func asVersion1(t testing.TB, jobs workload.Slice) []byte {
	return asOlder(t, jobs, "1", "Gangs", "Named", "Executors")
}

func asVersion2(t testing.TB, jobs workload.Slice) []byte { return asOlder(t, jobs, "2", "Executors") }

func TestEarlierVersions(t *testing.T) {
	want := sample()
	for _, j := range want {
		if k := j.Keep; k != nil {
			j.Keep = &workload.Keep{Ask: k.Ask, Slots: k.Slots, Max: k.Max}
		}
		for i := range j.Stages {
			s := &j.Stages[i]
			s.Delay, s.Pool, s.Cached = 0, "", 0
		}
	}
	check := func(version string, file []byte) {
		t.Helper()
		got, err := read(file)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got, same); d != "" {
			t.Errorf("version %s: %s", version, d)
		}
	}
	check("2", asVersion2(t, sample()))
	for _, j := range want {
		j.AM.Extra = unit.Extra{}
		if j.Keep != nil {
			j.Keep.Ask.Extra = unit.Extra{}
		}
		for i := range j.Stages {
			j.Stages[i].Ask.Extra, j.Stages[i].Gang = unit.Extra{}, 0
		}
	}
	check("1", asVersion1(t, sample()))
	if _, err := read(asOlder(t, sample(), "3", "Executors")); err == nil ||
		!strings.Contains(err.Error(), `reads version "2"`) {
		t.Errorf("columns of version 2 in a file of version 3: %v", err)
	}
}

func TestExecutorsOfTheFile(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*jobRow)
		want string
	}{
		"keeps none":       {func(r *jobRow) { r.Keep, r.Named = nil, nil }, "keeps no containers"},
		"too few stages":   {func(r *jobRow) { r.Executors.Stages = r.Executors.Stages[:1] }, "1 entries for 2 stages"},
		"a negative time":  {func(r *jobRow) { r.Executors.Warm = -1 }, "warming up takes"},
		"caches the later": {func(r *jobRow) { r.Executors.Stages[0].Cached = 2 }, "what stage 1 cached"},
	} {
		row := toRow(sample()[3])
		c.edit(&row)
		if _, err := fromRow(&row); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestNamedResourcesOfTheFile(t *testing.T) {
	good := toRow(sample()[1])
	for name, c := range map[string]struct {
		edit func(*jobRow)
		want string
	}{
		"a name":             {func(r *jobRow) { r.Named[0].Name = "GPU" }, "cannot name a resource"},
		"a negative count":   {func(r *jobRow) { r.Named[0].Count = -1 }, "-1 licence is not between"},
		"no such stage":      {func(r *jobRow) { r.Named[0].Stage = 3 }, "stage 3, which it does not have"},
		"keeps none":         {func(r *jobRow) { r.Named[0].Stage = ofKept }, "stage -2, which it does not have"},
		"too many names":     {func(r *jobRow) { r.Named = many(unit.MaxNames + 1) }, "more than 16 named resources"},
		"too few gangs":      {func(r *jobRow) { r.Gangs = r.Gangs[:2] }, "2 gangs for 3 stages"},
		"a negative gang":    {func(r *jobRow) { r.Gangs[0] = -1 }, "-1 at once"},
		"an endless name":    {func(r *jobRow) { r.Named[0].Name = strings.Repeat("x", 1<<20) }, "longer than 64"},
		"an absurd quantity": {func(r *jobRow) { r.Named[0].Count = math.MaxInt64 }, "is not between"},
	} {
		row := good
		row.Named, row.Gangs = slices.Clone(good.Named), slices.Clone(good.Gangs)
		c.edit(&row)
		if _, err := fromRow(&row); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func many(n int) (all []namedRow) {
	for i := range n {
		all = append(all, namedRow{0, fmt.Sprint("r", i), 1})
	}
	return all
}

// TestDocumented keeps docs/format.md complete: it names every column.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "format.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range parq.Columns[jobRow]() {
		for _, part := range path {
			if part != "list" && part != "element" && !strings.Contains(string(page), "`"+part+"`") && !strings.Contains(string(page), "."+part+"`") {
				t.Errorf("docs/format.md does not name %s of column %s", part, strings.Join(path, "."))
			}
		}
	}
}
