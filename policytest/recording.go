package policytest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

// Recording is what an engine told and asked a policy, with the policy's decisions. Replayed to a fresh copy, without engine and workload, it brings the same
// decisions. As a file it is JSON, one line a call, without what is zero.
type Recording struct {
	Policy  string // its spec, for people
	Calls   []Call
	Answers Answers
}

// Call is one call of a policy.
type Call struct {
	What    string         `json:"call"`
	Now     unit.Time      `json:"now,omitzero"`
	Jobs    []View         `json:"jobs,omitzero"` // that have changed since the last call
	Job     int64          `json:"job,omitzero"`  // by Seq
	Stage   int            `json:"stage,omitzero"`
	Slot    uint8          `json:"slot,omitzero"`
	Near    policy.Near    `json:"near,omitzero"`
	Node    *policy.Node   `json:"node,omitzero"`
	Size    unit.Resources `json:"size,omitzero"`
	Held    unit.Time      `json:"held,omitzero"`
	Worked  unit.Time      `json:"worked,omitzero"`
	Why     policy.End     `json:"why,omitzero"`
	Cluster *Sizes         `json:"cluster,omitzero"`
	Tries   []Try          `json:"tries,omitzero"`  // what Ranked proposed
	Answer  string         `json:"answer,omitzero"` // of the policy
}

// Try is a proposal of Ranked.
type Try struct {
	Job     int64          `json:"job"`
	Stage   int            `json:"stage,omitzero"` // Offer.Stage
	Verdict policy.Verdict `json:"verdict,omitzero"`
	Until   int            `json:"until"` // calls recorded when the engine had answered
}

// View is a job as a policy saw it.
type View struct {
	policy.Job
	Received unit.Time // Attained at time 0: what Job cannot show
}

func view(j *policy.Job) View {
	v := View{Job: *j, Received: j.Attained(0)}
	v.Credit(-v.Received)
	v.Stages = slices.Clone(j.Stages)
	return v
}

// Sizes is a [policy.Cluster] with Room and Kind by node.
type Sizes struct {
	Total, Max unit.Resources
	Nodes      int
	Slots      [policy.Slots]int64
	Racks      []int32
	Working    []int
	Rooms      [][policy.Slots]unit.Resources
	Kinds      []string
}

func recordCluster(c *policy.Cluster) *Sizes {
	s := &Sizes{Total: c.Total, Max: c.Max, Nodes: c.Nodes, Slots: c.Slots, Racks: slices.Clone(c.Racks), Working: slices.Clone(c.Working)}
	for i := range int32(max(len(c.Racks), c.Nodes)) {
		if c.Room != nil {
			s.Rooms = append(s.Rooms, [policy.Slots]unit.Resources{c.Room(i, policy.MapSlot), c.Room(i, policy.ReduceSlot)})
		}
		if c.Kind != nil {
			s.Kinds = append(s.Kinds, c.Kind(i))
		}
	}
	return s
}

func (s *Sizes) cluster() policy.Cluster {
	c := policy.Cluster{Total: s.Total, Max: s.Max, Nodes: s.Nodes, Slots: s.Slots, Racks: s.Racks, Working: s.Working}
	if s.Rooms != nil {
		c.Room = func(i int32, slot uint8) unit.Resources { return s.Rooms[i][slot] }
	}
	if s.Kinds != nil {
		c.Kind = func(i int32) string { return s.Kinds[i] }
	}
	return c
}

// Answers are what a policy asked its engine, in the order of its questions.
type Answers struct {
	Near    []policy.Near       `json:"near,omitempty"`
	Local   []bool              `json:"local,omitempty"`
	Racks   [][]int32           `json:"racks,omitempty"`
	Network [][2]float64        `json:"network,omitempty"`
	Sizes   map[int64]unit.Time `json:"sizes,omitempty"` // true sizes of jobs
}

type asking struct {
	policy.Storage
	log *Answers
}

func (r *asking) Near(j *policy.Job, s int, n *policy.Node) policy.Near {
	near := r.Storage.Near(j, s, n)
	r.log.Near = append(r.log.Near, near)
	return near
}

func (r *asking) Local(j *policy.Job, s int, n *policy.Node) bool {
	local := r.Storage.Local(j, s, n)
	if near := r.Storage.Near(j, s, n); local != (near == policy.NodeLocal) && near != policy.NoPreference {
		panic(fmt.Sprintf("local: %v, and it is %v", local, near))
	}
	r.log.Local = append(r.log.Local, local)
	return local
}

func (r *asking) Racks(j *policy.Job, s int, task int64, to []int32) []int32 {
	to = r.Storage.Racks(j, s, task, to)
	r.log.Racks = append(r.log.Racks, slices.Clone(to))
	return to
}

type measuring struct {
	policy.Network
	log *Answers
}

func (m *measuring) record(in, out float64) (float64, float64) {
	m.log.Network = append(m.log.Network, [2]float64{in, out})
	return in, out
}

func (m *measuring) Uplink(rack int32) (in, out float64)  { return m.record(m.Network.Uplink(rack)) }
func (m *measuring) Carried(rack int32) (in, out float64) { return m.record(m.Network.Carried(rack)) }

// player gives the recorded answers again.
type player struct {
	Answers
	t rapid.TB
}

func pop[T any](p *player, list *[]T) (first T) {
	if len(*list) == 0 {
		p.t.Fatalf("it asks for a %T more than the recording has", first)
	}
	first, *list = (*list)[0], (*list)[1:]
	return first
}

func (p *player) Near(*policy.Job, int, *policy.Node) policy.Near { return pop(p, &p.Answers.Near) }
func (p *player) Local(*policy.Job, int, *policy.Node) bool       { return pop(p, &p.Answers.Local) }
func (p *player) Racks(_ *policy.Job, _ int, _ int64, _ []int32) []int32 {
	return pop(p, &p.Answers.Racks)
}
func (p *player) Uplink(int32) (in, out float64)  { return p.network() }
func (p *player) Carried(int32) (in, out float64) { return p.network() }

func (p *player) network() (in, out float64) {
	now := pop(p, &p.Network)
	return now[0], now[1]
}

func tickText(again unit.Time, changed bool) string { return fmt.Sprint(int64(again), changed) }

func claimText(claims []policy.Claim) string {
	text := ""
	for _, c := range claims {
		text += fmt.Sprintf("%d of stage %d of job %d, restart %v;", c.Count, c.Stage, c.Job.Seq, c.Restart)
		if c.For != nil {
			text += fmt.Sprintf(" for job %d;", c.For.Seq)
		}
		if c.Node != nil {
			text += fmt.Sprintf(" on node %d;", c.Node.Index)
		}
	}
	return text
}

// Replay replays a recording to a fresh policy and fails at the first decision that differs.
func Replay(t rapid.TB, p policy.Policy, r *Recording) {
	t.Helper()
	answers := &player{r.Answers, t}
	if p.Foresee != nil {
		p.Foresee(func(j *policy.Job) unit.Time { return r.Answers.Sizes[j.Seq] })
	}
	if p.Choose != nil {
		p.Choose(answers)
	}
	if err := policy.Watch(p.Place, answers); err != nil {
		t.Fatal(err)
	}
	play := &replay{t: t, Policy: p, log: r.Calls, jobs: map[int64]*policy.Job{}}
	for play.at < len(play.log) {
		play.step()
	}
	if a := answers.Answers; len(a.Near)+len(a.Local)+len(a.Racks)+len(a.Network) > 0 {
		t.Fatalf("it did not ask for all that the recording has: %+v are left", a)
	}
}

type replay struct {
	policy.Policy
	t    rapid.TB
	log  []Call
	at   int
	jobs map[int64]*policy.Job
}

func (r *replay) step() {
	c, at := &r.log[r.at], r.at
	r.at++
	for i := range c.Jobs {
		v := &c.Jobs[i]
		j := r.jobs[v.Seq]
		if j == nil {
			j = &policy.Job{}
			r.jobs[v.Seq] = j
		}
		*j = v.Job
		j.Credit(v.Received)
	}
	j, answer := r.jobs[c.Job], c.Answer
	e := policy.Event{Now: c.Now, Job: j, Stage: c.Stage, Node: c.Node, Size: c.Size, Held: c.Held, Worked: c.Worked, Why: c.Why}
	switch c.What {
	case "resized":
		r.Order.Resized(c.Now, c.Cluster.cluster())
	case "arrived":
		if answer = ""; r.Order.Arrived(c.Now, j) != nil {
			answer = c.Answer // refused: its words are free
			delete(r.jobs, c.Job)
		}
	case "changed":
		r.Order.Changed(c.Now, j)
	case "started":
		r.Order.Started(&e)
	case "ended":
		r.Order.Ended(&e)
	case "left":
		r.Order.Left(c.Now, j)
	case "ranked":
		r.ranked(at)
	case "tick":
		answer = tickText(r.Timer.Tick(c.Now))
	case "shifted":
		answer = fmt.Sprint(r.Shifted())
	case "victims":
		answer = claimText(r.Order.(policy.Preemptor).Victims(c.Now, nil))
	case "score":
		answer = fmt.Sprint(r.Place.Score(c.Now, j, c.Stage, c.Node, c.Near))
	case "skipped":
		answer = fmt.Sprint(int64(r.Place.Skipped(c.Now, j, c.Stage)))
	case "placed":
		r.Place.Placed(j, c.Stage, c.Node, c.Near)
	case "unplaced":
		r.Place.Unplaced(j, c.Stage, c.Node, c.Near)
	case "placeleft":
		r.Place.Left(c.Now, j)
	default:
		r.t.Fatalf("call %d: what is %q?", at, c.What)
	}
	if answer != c.Answer {
		r.t.Fatalf("call %d, %s at %v: %q; the recording has %q", at, c.What, c.Now, answer, c.Answer)
	}
}

func (r *replay) ranked(at int) {
	c, i := &r.log[at], 0
	o := policy.Offer{Now: c.Now, Slot: c.Slot, Node: c.Node}
	r.Order.Ranked(&o, func(j *policy.Job) policy.Verdict {
		if i >= len(c.Tries) || c.Tries[i].Job != j.Seq || c.Tries[i].Stage != o.Stage {
			r.t.Fatalf("call %d, ranked at %v: proposal %d is job %s, stage %d; the recording has %+v", at, c.Now, i, j.ID, o.Stage, c.Tries)
		}
		one := c.Tries[i]
		for i++; r.at < one.Until; {
			r.step()
		}
		return one.Verdict
	})
	if i != len(c.Tries) {
		r.t.Fatalf("call %d, ranked at %v: %d proposals; the recording has %+v", at, c.Now, i, c.Tries)
	}
}

// version is that of the files.
const version = 1

type header struct {
	Version int     `json:"policytest"`
	Policy  string  `json:"policy"`
	Answers Answers `json:"answers"`
}

// Write writes the recording.
func (r *Recording) Write(w io.Writer) error {
	out := json.NewEncoder(w)
	err := out.Encode(header{version, r.Policy, r.Answers})
	for i := 0; i < len(r.Calls) && err == nil; i++ {
		var c map[string]any
		if c, err = fields(&r.Calls[i]); err == nil {
			err = out.Encode(c)
		}
	}
	return err
}

// fields are the fields of a struct that are not zero.
func fields(v any) (map[string]any, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var out map[string]any
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	err = d.Decode(&out)
	prune(out)
	return out, err
}

func prune(v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, one := range v {
			prune(one)
			if empty, is := one.(map[string]any); is && len(empty) == 0 || one == nil || one == json.Number("0") || one == "" || one == false {
				delete(v, name)
			}
		}
	case []any:
		for _, one := range v {
			prune(one)
		}
	}
}

// Read reads what Write wrote.
func Read(from io.Reader) (*Recording, error) {
	d := json.NewDecoder(from)
	var head header
	if err := d.Decode(&head); err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	if head.Version != version {
		return nil, fmt.Errorf("recording: version %d, want %d", head.Version, version)
	}
	r := &Recording{Policy: head.Policy, Answers: head.Answers}
	for {
		var c Call
		if err := d.Decode(&c); err == io.EOF {
			return r, nil
		} else if err != nil {
			return nil, fmt.Errorf("recording: call %d: %w", len(r.Calls), err)
		}
		r.Calls = append(r.Calls, c)
	}
}
