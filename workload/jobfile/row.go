package jobfile

import (
	"fmt"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// The rows of the file. Their fields, in this order, are the columns that docs/format.md documents.
type (
	jobRow struct {
		ID       string       `parquet:"id"`
		Name     string       `parquet:"name"`
		User     string       `parquet:"user"`
		Queue    string       `parquet:"queue"`
		Class    string       `parquet:"class"`
		Submit   int64        `parquet:"submit_us"`
		Priority int64        `parquet:"priority"`
		Deadline int64        `parquet:"deadline_us"`
		AMMem    int64        `parquet:"master_mem_mib"`
		AMCores  int64        `parquet:"master_cores"`
		AMStart  int64        `parquet:"master_start_us"`
		Stages   []stageRow   `parquet:"stages,list"`
		Keep     *keepRow     `parquet:"keep,optional"`
		Observed *observedRow `parquet:"observed,optional"`
		// Since version 2.
		Gangs []int64    `parquet:"gangs,list"` // by stage; empty: no gangs
		Named []namedRow `parquet:"named,list"`
		// Since version 3.
		Executors *executorsRow `parquet:"executors,optional"`
	}
	stageRow struct {
		Name   string    `parquet:"name"`
		Kind   string    `parquet:"kind"`
		Tasks  int64     `parquet:"tasks"`
		Mem    int64     `parquet:"mem_mib"`
		Cores  int64     `parquet:"cores"`
		Length lengthRow `parquet:"length"`
		After  []edgeRow `parquet:"after,list"`
		Input  int64     `parquet:"input_bytes"`
		Output int64     `parquet:"output_bytes"`
		Hosts  *hostsRow `parquet:"hosts,optional"`
	}
	lengthRow struct {
		Kind   string  `parquet:"kind"`
		A      int64   `parquet:"a_us"`
		B      int64   `parquet:"b_us"`
		P      float64 `parquet:"p"`
		Values []int64 `parquet:"values_us,list"`
		Work   int64   `parquet:"work_bytes"`
		Rate   float64 `parquet:"rate"`
	}
	edgeRow struct {
		From      int32   `parquet:"from"`
		Shuffle   int64   `parquet:"shuffle_bytes"`
		SlowStart float64 `parquet:"slow_start"`
	}
	hostsRow struct {
		Names  []string `parquet:"names,list"`
		Counts []int32  `parquet:"counts,list"`
		Of     []int32  `parquet:"of,list"`
	}
	keepRow struct {
		Mem   int64 `parquet:"mem_mib"`
		Cores int64 `parquet:"cores"`
		Slots int64 `parquet:"slots"`
		Max   int64 `parquet:"max"`
	}
	// namedRow is one named resource of a stage's containers, by the stage's position, of the AM's or of those that the job keeps.
	namedRow struct {
		Stage int32  `parquet:"stage"`
		Name  string `parquet:"name"`
		Count int64  `parquet:"count"`
	}
	observedRow struct {
		Launch  int64  `parquet:"launch_us"`
		Finish  int64  `parquet:"finish_us"`
		Outcome string `parquet:"outcome"`
	}
)

// Containers of no stage, in namedRow.
const (
	ofAM   = -1
	ofKept = -2
)

// sizeOf estimates the size of a job's row in bytes, and counts the elements of its stages' lists and its named resources.
func sizeOf(j *workload.Job) (size, listed, named int) {
	size = 320 + len(j.ID) + len(j.Name) + len(j.User) + len(j.Queue) + len(j.Class)
	name := func(x unit.Extra) {
		for name := range x.All() {
			size += 16 + len(name)
			named++
		}
	}
	name(j.AM.Extra)
	if j.Keep != nil {
		name(j.Keep.Ask.Extra)
	}
	for i := range j.Stages {
		s := &j.Stages[i]
		name(s.Ask.Extra)
		size += 200 + len(s.Name) + len(s.Pool) + 8*len(s.Length.Values) + 20*len(s.After)
		listed += max(len(s.Length.Values), len(s.After))
		if h := s.Hosts; h != nil {
			for _, n := range h.Names {
				size += 4 + len(n)
			}
			n := len(h.Of)
			for _, of := range h.Of {
				n += len(of)
			}
			size += 4 * n
			listed += len(h.Names) + n
		}
	}
	return size, listed, named
}

func toRow(j *workload.Job) jobRow {
	row := jobRow{
		ID: j.ID, Name: j.Name, User: j.User, Queue: j.Queue, Class: j.Class,
		Submit: int64(j.Submit), Priority: int64(j.Priority), Deadline: int64(j.Deadline),
		AMMem: j.AM.Mem, AMCores: j.AM.Cores, AMStart: int64(j.AMStart),
		Stages: make([]stageRow, len(j.Stages)),
	}
	name := func(stage int, x unit.Extra) {
		for name, n := range x.All() {
			row.Named = append(row.Named, namedRow{int32(stage), name, n})
		}
	}
	name(ofAM, j.AM.Extra)
	if k := j.Keep; k != nil {
		row.Keep = &keepRow{k.Ask.Mem, k.Ask.Cores, k.Slots, k.Max}
		row.Executors = toExecutors(j)
		name(ofKept, k.Ask.Extra)
	}
	if o := j.Observed; o != nil {
		row.Observed = &observedRow{int64(o.Launch), int64(o.Finish), o.Outcome}
	}
	for i := range j.Stages {
		s, l := &j.Stages[i], &j.Stages[i].Length
		r := stageRow{
			Name: s.Name, Kind: s.Kind.String(), Tasks: s.Tasks, Mem: s.Ask.Mem, Cores: s.Ask.Cores,
			Length: lengthRow{Kind: l.Kind.String(), A: int64(l.A), B: int64(l.B), P: l.P, Work: int64(l.Work), Rate: l.Rate},
			Input:  int64(s.Input), Output: int64(s.Output),
		}
		r.Length.Values = make([]int64, len(l.Values))
		for k, v := range l.Values {
			r.Length.Values[k] = int64(v)
		}
		for _, e := range s.After {
			r.After = append(r.After, edgeRow{int32(e.From), int64(e.Shuffle), e.SlowStart})
		}
		if h := s.Hosts; h != nil {
			r.Hosts = &hostsRow{Names: h.Names, Counts: make([]int32, len(h.Of))}
			for k, of := range h.Of {
				r.Hosts.Counts[k] = int32(len(of))
				r.Hosts.Of = append(r.Hosts.Of, of...)
			}
		}
		if s.Gang > 1 && row.Gangs == nil {
			row.Gangs = make([]int64, len(j.Stages))
		}
		if s.Gang > 1 {
			row.Gangs[i] = s.Gang
		}
		name(i, s.Ask.Extra)
		row.Stages[i] = r
	}
	return row
}

// fromRow copies, so that the job stays valid when the row's memory is reused.
func fromRow(row *jobRow) (*workload.Job, error) {
	j := &workload.Job{
		ID: row.ID, Name: row.Name, User: row.User, Queue: row.Queue, Class: row.Class,
		Submit: unit.Time(row.Submit), Priority: int(row.Priority), Deadline: unit.Time(row.Deadline),
		AM: unit.Resources{Mem: row.AMMem, Cores: row.AMCores}, AMStart: unit.Time(row.AMStart),
		Stages: make([]workload.Stage, len(row.Stages)),
	}
	if k := row.Keep; k != nil {
		j.Keep = &workload.Keep{Ask: unit.Resources{Mem: k.Mem, Cores: k.Cores}, Slots: k.Slots, Max: k.Max}
	}
	if o := row.Observed; o != nil {
		j.Observed = &workload.Observed{Launch: unit.Time(o.Launch), Finish: unit.Time(o.Finish), Outcome: o.Outcome}
	}
	for i := range row.Stages {
		if err := fromStage(&row.Stages[i], &j.Stages[i]); err != nil {
			return nil, fmt.Errorf("job %s: stage %d: %w", row.ID, i, err)
		}
	}
	if n := len(row.Gangs); n > 0 && n != len(j.Stages) {
		return nil, fmt.Errorf("job %s: %d gangs for %d stages", row.ID, n, len(j.Stages))
	}
	for i, n := range row.Gangs {
		j.Stages[i].Gang = n
	}
	for _, n := range row.Named {
		if err := n.addTo(j); err != nil {
			return nil, fmt.Errorf("job %s: %w", row.ID, err)
		}
	}
	if row.Executors != nil {
		if err := row.Executors.addTo(j); err != nil {
			return nil, fmt.Errorf("job %s: %w", row.ID, err)
		}
	}
	return j, j.Validate()
}

func (r *namedRow) addTo(j *workload.Job) (err error) {
	var ask *unit.Resources
	switch k := int(r.Stage); {
	case k == ofAM:
		ask = &j.AM
	case k == ofKept && j.Keep != nil:
		ask = &j.Keep.Ask
	case k >= 0 && k < len(j.Stages):
		ask = &j.Stages[k].Ask
	default:
		return fmt.Errorf("%q is a resource of stage %d, which it does not have", r.Name, k)
	}
	ask.Extra, err = ask.Extra.With(r.Name, r.Count)
	return err
}

func fromStage(r *stageRow, s *workload.Stage) error {
	lk, err := workload.ParseLengthKind(r.Length.Kind)
	if err != nil {
		return err
	}
	kind, err := parseKind(r.Kind)
	if err != nil {
		return err
	}
	l := &r.Length
	*s = workload.Stage{
		Name: r.Name, Kind: kind, Tasks: r.Tasks, Ask: unit.Resources{Mem: r.Mem, Cores: r.Cores},
		Length: workload.Lengths{Kind: lk, A: unit.Time(l.A), B: unit.Time(l.B), P: l.P, Work: unit.Bytes(l.Work), Rate: l.Rate},
		Input:  unit.Bytes(r.Input), Output: unit.Bytes(r.Output),
	}
	if len(l.Values) > 0 {
		s.Length.Values = make([]unit.Time, len(l.Values))
		for i, v := range l.Values {
			s.Length.Values[i] = unit.Time(v)
		}
	}
	if len(r.After) > 0 {
		s.After = make([]workload.Edge, len(r.After))
		for i, e := range r.After {
			s.After[i] = workload.Edge{From: int(e.From), Shuffle: unit.Bytes(e.Shuffle), SlowStart: e.SlowStart}
		}
	}
	if r.Hosts != nil {
		s.Hosts, err = fromHosts(r.Hosts)
	}
	return err
}

func fromHosts(r *hostsRow) (*workload.Hosts, error) {
	h := &workload.Hosts{Names: append([]string(nil), r.Names...), Of: make([][]int32, len(r.Counts))}
	of := append([]int32(nil), r.Of...)
	for i, n := range r.Counts {
		if n < 0 || int(n) > len(of) {
			return nil, fmt.Errorf("task %d lists %d hosts of %d that are left", i, n, len(of))
		}
		if n > 0 {
			h.Of[i] = of[:n:n]
		}
		of = of[n:]
	}
	if len(of) > 0 {
		return nil, fmt.Errorf("%d hosts belong to no task", len(of))
	}
	for _, k := range r.Of {
		if k < 0 || int(k) >= len(h.Names) {
			return nil, fmt.Errorf("host %d of %d", k, len(h.Names))
		}
	}
	return h, nil
}

func parseKind(s string) (workload.Kind, error) {
	for _, k := range []workload.Kind{workload.Map, workload.Reduce, workload.Other} {
		if k.String() == s {
			return k, nil
		}
	}
	return 0, fmt.Errorf("unknown kind of stage %q: want map, reduce or other", s)
}
