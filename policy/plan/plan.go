package plan

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// Stages of a planned job, by their number in it.
const (
	MapStage = iota
	ReduceStage
)

var stageNames = [...]string{"map", "reduce"}

// Entry is a number of tasks of one stage of a job: any of them. Its text is "map JOB x12".
type Entry struct {
	Job   string
	Stage int
	Count int64
}

// MarshalText writes the entry as a person reads it.
func (e Entry) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%s %s x%d", stageNames[e.Stage], e.Job, e.Count), nil
}

// UnmarshalText reads it back.
func (e *Entry) UnmarshalText(text []byte) error {
	stage, rest, _ := strings.Cut(string(text), " ")
	at := strings.LastIndex(rest, " x")
	bad := fmt.Errorf("%q is not an entry such as \"map JOB x12\"", text)
	if at < 1 || stage != stageNames[MapStage] && stage != stageNames[ReduceStage] {
		return bad
	}
	n, err := strconv.ParseInt(rest[at+2:], 10, 64)
	if err != nil || n < 1 {
		return bad
	}
	*e = Entry{Job: rest[:at], Count: n}
	if stage == stageNames[ReduceStage] {
		e.Stage = ReduceStage
	}
	return nil
}

// Sequence is what a rack runs, in order.
type Sequence struct {
	Rack
	Run []Entry `json:"run"`
}

// Placed is a planned job.
type Placed struct {
	ID          string  `json:"id"`
	Heavy       bool    `json:"heavy,omitempty"` // its shuffle goes over circuits
	Maps        int64   `json:"maps"`
	Reduces     int64   `json:"reduces"`
	Shuffle     float64 `json:"shuffle"`
	MapRacks    []int32 `json:"map_racks"` // numbers of the racks of its maps: one replica of its input should lie there
	ReduceRacks []int32 `json:"reduce_racks"`
	Start       float64 `json:"start"` // in the plan, s
	Finish      float64 `json:"finish"`
}

// AdHoc is how jobs that are not in the plan run.
type AdHoc struct {
	// HeavyInput is the input size above which such a job is presumed to have a large shuffle. The racks of such jobs are kept apart.
	HeavyInput float64 `json:"heavy_input"`
	// MapRacks and ReduceRacks, if set, limit the racks of such a job: racks per task, the mean over the jobs of the plan. This is JobPacker's
	// rejected variant, which makes both kinds of jobs slower; it is kept as an experiment.
	MapRacks    float64 `json:"map_racks_per_task,omitempty"`
	ReduceRacks float64 `json:"reduce_racks_per_task,omitempty"`
}

// Plan says where recurring jobs run and in which order.
type Plan struct {
	Version  int      `json:"version"`
	Settings Settings `json:"settings"`
	Cluster  Cluster  `json:"cluster"`
	// Aggregate: the reduces of a heavy job wait until enough of its output has gathered for a circuit.
	Aggregate bool       `json:"aggregate"`
	AdHoc     AdHoc      `json:"ad_hoc"`
	Makespan  float64    `json:"makespan"` // in the plan, s
	Jobs      []Placed   `json:"jobs"`     // in the order in which they were planned
	Racks     []Sequence `json:"racks"`
}

const version = 1

// HeavyInput is the default of AdHoc.HeavyInput.
const HeavyInput = 1e9

// New plans jobs. Their IDs must be unique. When ctx ends, it returns the context's error.
func New(ctx context.Context, c Cluster, jobs []Job, s Settings) (*Plan, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	seen := make(map[string]bool, len(jobs))
	for i := range jobs {
		j := &jobs[i]
		for _, v := range []float64{j.Submit, j.MapTime, j.RedTime, j.Input, j.Shuffle} {
			if !(v >= 0) || math.IsInf(v, 1) {
				return nil, fmt.Errorf("plan: job %s: %+v: want numbers from 0", j.ID, *j)
			}
		}
		switch {
		case j.ID == "" || seen[j.ID]:
			return nil, fmt.Errorf("plan: two jobs are named %q, or it is empty: a plan refers to jobs by ID", j.ID)
		case j.Maps < 0 || j.Reduces < 0 || j.Maps+j.Reduces == 0:
			return nil, fmt.Errorf("plan: job %s has %d maps and %d reduces", j.ID, j.Maps, j.Reduces)
		}
		seen[j.ID] = true
	}
	if !(s.Over >= 0 && s.Over <= 100) || s.Batches < 0 {
		return nil, fmt.Errorf("plan: over-provisioning by %v in %d sub-batches: want 0 to 100, and no negative number", s.Over, s.Batches)
	}
	out := &Plan{Version: version, Settings: s, Cluster: c, AdHoc: AdHoc{HeavyInput: HeavyInput}}
	for _, r := range c.Racks {
		out.Racks = append(out.Racks, Sequence{Rack: r, Run: []Entry{}})
	}
	switch s.Planner {
	case "", JobPacker:
		out.Settings.Planner, out.Aggregate = JobPacker, c.Circuit > 0
		return out, pack(ctx, &c, jobs, &s, out)
	case Corral:
		return out, corral(ctx, &c, jobs, &s, out)
	}
	return nil, fmt.Errorf("plan: there is no planner %q: want %s or %s", s.Planner, JobPacker, Corral)
}

// add appends a job to the sequences of its racks.
func (p *Plan) add(j *profile, maps, reduces []int64, start, finish float64) {
	placed := Placed{ID: j.ID, Heavy: j.heavy, Maps: j.Maps, Reduces: j.Reduces, Shuffle: j.Shuffle, Start: start, Finish: finish,
		MapRacks: []int32{}, ReduceRacks: []int32{}}
	for r := range p.Racks {
		if maps[r] > 0 {
			placed.MapRacks = append(placed.MapRacks, int32(r))
			p.Racks[r].Run = append(p.Racks[r].Run, Entry{j.ID, MapStage, maps[r]})
		}
		if reduces[r] > 0 {
			placed.ReduceRacks = append(placed.ReduceRacks, int32(r))
			p.Racks[r].Run = append(p.Racks[r].Run, Entry{j.ID, ReduceStage, reduces[r]})
		}
	}
	p.Jobs = append(p.Jobs, placed)
	p.Makespan = max(p.Makespan, finish)
}

// LimitAdHoc turns on the rejected variant: jobs that are not in the plan run in as few racks as the planned ones do.
func (p *Plan) LimitAdHoc() {
	var maps, reduces, withMaps, withReduces float64
	for i := range p.Jobs {
		j := &p.Jobs[i]
		if j.Maps > 0 {
			maps += float64(len(j.MapRacks)) / float64(j.Maps)
			withMaps++
		}
		if j.Reduces > 0 {
			reduces += float64(len(j.ReduceRacks)) / float64(j.Reduces)
			withReduces++
		}
	}
	p.AdHoc.MapRacks, p.AdHoc.ReduceRacks = maps/max(1, withMaps), reduces/max(1, withReduces)
}

// UplinkLoad is the mean load of the racks' uplinks if all shuffles are spread over all racks and take the time of the plan; not ok: there is no network.
func (p *Plan) UplinkLoad() (load float64, ok bool) {
	racks, bytes := float64(len(p.Racks)), 0.0
	for i := range p.Jobs {
		bytes += p.Jobs[i].Shuffle
	}
	return bytes * (racks - 1) / racks / (racks * p.Cluster.Uplink * max(p.Makespan, 1)), p.Cluster.Uplink < noUplink && racks > 1
}

// Write writes the plan as JSON.
func (p *Plan) Write(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	enc.SetEscapeHTML(false)
	return enc.Encode(p)
}

// maxText is the max size of a plan's file.
const maxText = 1 << 30

// Is reports whether a file that starts like this may be a plan.
func Is(start []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(start, " \t\r\n"), []byte("{"))
}

// Read reads a plan and checks that it is consistent: a file may have been edited.
func Read(r io.Reader) (*Plan, error) {
	dec := json.NewDecoder(io.LimitReader(r, maxText))
	dec.DisallowUnknownFields()
	var p Plan
	if err := dec.Decode(&p); err != nil {
		return nil, fmt.Errorf("not a plan: %w", err)
	}
	if p.Version != version {
		return nil, fmt.Errorf("a plan of version %d: this program reads version %d", p.Version, version)
	}
	for i := range p.Racks {
		p.Cluster.Racks = append(p.Cluster.Racks, p.Racks[i].Rack)
	}
	if err := p.Cluster.validate(); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("not a plan: text after its end")
	}
	if h := &p.AdHoc; !(h.HeavyInput >= 0 && h.MapRacks >= 0 && h.MapRacks <= 1 && h.ReduceRacks >= 0 && h.ReduceRacks <= 1) {
		return nil, errors.New("ad_hoc: heavy_input must not be negative; racks per task are 0 to 1")
	}
	return &p, p.check()
}

// check reports sequences that do not match the jobs.
func (p *Plan) check() error {
	jobs := make(map[string]*[2]int64, len(p.Jobs)) // tasks of each stage that no rack runs yet
	for i := range p.Jobs {
		j := &p.Jobs[i]
		if jobs[j.ID] != nil || j.Maps < 0 || j.Reduces < 0 || !(j.Shuffle >= 0) {
			return fmt.Errorf("job %q is planned twice, or has %d maps, %d reduces and a shuffle of %v bytes", j.ID, j.Maps, j.Reduces, j.Shuffle)
		}
		for _, r := range append(append([]int32{}, j.MapRacks...), j.ReduceRacks...) {
			if r < 0 || int(r) >= len(p.Racks) {
				return fmt.Errorf("job %q is in rack %d: there are %d", j.ID, r, len(p.Racks))
			}
		}
		jobs[j.ID] = &[2]int64{j.Maps, j.Reduces}
	}
	for _, r := range p.Racks {
		for _, e := range r.Run {
			j := jobs[e.Job]
			if j == nil {
				return fmt.Errorf("rack %s runs job %q, which is not in the plan", r.Name, e.Job)
			}
			if j[e.Stage] -= e.Count; j[e.Stage] < 0 {
				return fmt.Errorf("job %q: the racks run more %ss than it has", e.Job, stageNames[e.Stage])
			}
		}
	}
	for i := range p.Jobs {
		if l := jobs[p.Jobs[i].ID]; *l != [2]int64{} {
			return fmt.Errorf("job %q: no rack runs %d of its maps and %d of its reduces", p.Jobs[i].ID, l[0], l[1])
		}
	}
	return nil
}
