// Package synth generates workloads: from a description (arrivals, classes of jobs, sizes with heavy tails), or from a real
// one by scaling its load or length (Scale).
//
// Everything is drawn from a seed without keeping state: the k-th job of an arrival stream is a pure function of the
// configuration, the seed and k, and only its submit time is carried from job to job. So a workload of any length
// streams in constant memory, and the same configuration and seed always give the same jobs.
package synth

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Config describes a workload. It ends after Jobs jobs or with the last arrival before Span, whichever is first; one of
// the two must be set.
type Config struct {
	Name     string
	Jobs     int64     // 0: no limit
	Span     unit.Time // 0: no limit
	Arrivals Arrivals  // of all classes that have none of their own
	Classes  []Class
	Seed     uint64
	Made     func(seed uint64) workload.Slice // a list of jobs, in place of all of the above; nil: none
}

// Class is a kind of job.
type Class struct {
	Name     string
	Weight   float64   // share among the classes without arrivals of their own
	Arrivals *Arrivals // nil: takes its share of the common arrivals
	Users    []string  // one is drawn for each job; empty: the class's name
	Queue    string    // "" is "default"
	Priority int
	Stages   []Stage // a chain, each after the one before
	Ask      unit.Resources
	AM       unit.Resources
	// Spread is the coefficient of variation of a lognormal factor with mean 1 that is drawn once a job and stretches
	// all its task lengths: tasks of one job resemble each other more than those of another.
	Spread float64
	// Deadline, when positive, sets a deadline of this many times the job's ideal time after its submission. Ideal is
	// one wave of mean length for every stage.
	Deadline float64
}

// Stage is the shape of one stage.
type Stage struct {
	Name      string
	Kind      workload.Kind
	Tasks     Count // a stage that draws 0 tasks is left out; the first has at least 1
	Length    workload.Lengths
	SlowStart float64    // share of the stage before that must be done first
	Input     unit.Bytes // each task reads from storage
	Shuffle   unit.Bytes // each task takes from the stage before
	Output    unit.Bytes // each task writes to storage
	Gang      bool       // all tasks start together
}

// MapReduce is the chain of a classic job.
func MapReduce(maps Count, mapLength workload.Lengths, reduces Count, reduceLength workload.Lengths, slowStart float64) []Stage {
	return []Stage{
		{Name: "map", Kind: workload.Map, Tasks: maps, Length: mapLength},
		{Name: "reduce", Kind: workload.Reduce, Tasks: reduces, Length: reduceLength, SlowStart: slowStart},
	}
}

// Validate reports invalid settings.
func (c *Config) Validate() error {
	if c.Jobs < 0 || c.Span < 0 || c.Jobs == 0 && c.Span == 0 {
		return errors.New("synthetic workload: set a number of jobs or a span")
	}
	if len(c.Classes) == 0 {
		return errors.New("synthetic workload: has no classes of jobs")
	}
	weight, shared := 0.0, false
	for i := range c.Classes {
		k := &c.Classes[i]
		if err := k.validate(); err != nil {
			return fmt.Errorf("synthetic workload: class %q: %w", k.Name, err)
		}
		if k.Arrivals == nil {
			shared = true
			weight += k.Weight
		}
	}
	if !shared {
		return nil
	}
	if !(weight > 0) || math.IsInf(weight, 0) {
		return errors.New("synthetic workload: the weights of its classes must sum to more than 0")
	}
	if err := c.Arrivals.validate(); err != nil {
		return fmt.Errorf("synthetic workload: %w", err)
	}
	return nil
}

func (k *Class) validate() error {
	if !(k.Weight >= 0) {
		return fmt.Errorf("weight %v", k.Weight)
	}
	if !(k.Spread >= 0) || math.IsInf(k.Spread, 0) || !(k.Deadline >= 0) || math.IsInf(k.Deadline, 0) {
		return fmt.Errorf("spread %v and deadline factor %v must be 0 or more", k.Spread, k.Deadline)
	}
	if len(k.Stages) == 0 || len(k.Stages) > workload.MaxStages {
		return fmt.Errorf("%d stages", len(k.Stages))
	}
	for i := range k.Stages {
		s := &k.Stages[i]
		if err := s.Tasks.validate(i > 0); err != nil {
			return fmt.Errorf("stage %q: %w", s.Name, err)
		}
		if s.Length.Kind == workload.List {
			return fmt.Errorf("stage %q: a list of task lengths fits no drawn number of tasks; use quantiles", s.Name)
		}
		if err := s.Length.Validate(1); err != nil {
			return fmt.Errorf("stage %q: %w", s.Name, err)
		}
		if !(s.SlowStart >= 0 && s.SlowStart <= 1) {
			return fmt.Errorf("stage %q: slow-start %v is not between 0 and 1", s.Name, s.SlowStart)
		}
		if s.Input < 0 || s.Shuffle < 0 || s.Output < 0 || max(s.Input, s.Shuffle, s.Output) > maxBytes {
			return fmt.Errorf("stage %q: bytes a task must be between 0 and %v", s.Name, unit.Bytes(maxBytes))
		}
	}
	if k.Ask.Mem < 0 || k.Ask.Cores < 0 || k.Ask.IsZero() || k.AM.Mem < 0 || k.AM.Cores < 0 {
		return fmt.Errorf("containers of %v, AM of %v", k.Ask, k.AM)
	}
	if k.Arrivals != nil {
		return k.Arrivals.validate()
	}
	return nil
}

// maxBytes a task and maxCount tasks keep a stage's bytes inside an int64.
const (
	maxBytes = 1 << 38
	maxCount = 1 << 24
)

// Source generates the jobs of a Config.
type Source struct {
	c       Config
	streams []*stream
	n       int64
	made    workload.Source // of a list; nil: jobs are drawn
}

var _ workload.Source = (*Source)(nil)

// stream is a sequence of arrivals: the common one, or that of a class that has its own.
type stream struct {
	clock   clock
	seed    uint64
	classes []int // indices into Config.Classes
	sum     []float64
	k       int64
	next    unit.Time
}

// New returns the workload that c describes.
func New(c Config) (*Source, error) {
	if c.Made != nil {
		return &Source{c: c, made: c.Made(c.Seed).Source()}, nil
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	s := &Source{c: c}
	common := &stream{seed: workload.Seed(c.Seed, 0)}
	total := 0.0
	for i := range c.Classes {
		k := &c.Classes[i]
		if k.Arrivals == nil {
			total += k.Weight
			common.classes, common.sum = append(common.classes, i), append(common.sum, total)
			continue
		}
		seed := workload.Seed(c.Seed, uint64(i)+1)
		s.streams = append(s.streams, &stream{seed: seed, classes: []int{i}, sum: []float64{1}, clock: newClock(*k.Arrivals, seed)})
	}
	if len(common.classes) > 0 {
		common.clock = newClock(c.Arrivals, common.seed)
		s.streams = append([]*stream{common}, s.streams...)
	}
	for _, st := range s.streams {
		st.next = st.clock.next()
	}
	return s, nil
}

// Next returns the next job; io.EOF after the last.
func (s *Source) Next() (*workload.Job, error) {
	if s.made != nil {
		return s.made.Next()
	}
	if s.c.Jobs > 0 && s.n == s.c.Jobs {
		return nil, io.EOF
	}
	first := s.streams[0]
	for _, st := range s.streams[1:] {
		if st.next < first.next {
			first = st
		}
	}
	if first.next == unit.Never || s.c.Span > 0 && first.next >= s.c.Span {
		return nil, io.EOF
	}
	j := s.job(first)
	first.k++
	first.next = first.clock.next()
	s.n++
	return j, nil
}

// Assumptions describes the workload, for users.
func (s *Source) Assumptions() []string {
	name := cmp.Or(s.c.Name, "own classes")
	if s.made != nil {
		return []string{fmt.Sprintf("synthetic workload (%s, seed %d): no real cluster behind it", name, s.c.Seed)}
	}
	return []string{fmt.Sprintf("synthetic workload (%s, %d classes of jobs, seed %d): no real cluster behind it", name, len(s.c.Classes), s.c.Seed)}
}

// What a job's random numbers are for; stage i uses those from perStage on.
const (
	drawClass = iota
	drawUser
	drawSpread
	perStage = 16
)

func (s *Source) job(st *stream) *workload.Job {
	seed := workload.Seed(st.seed, uint64(st.k))
	u := func(what uint64) float64 { return workload.Uniform01(seed, what) }
	at, x := 0, u(drawClass)*st.sum[len(st.sum)-1]
	for at < len(st.sum)-1 && st.sum[at] <= x {
		at++
	}
	k := &s.c.Classes[st.classes[at]]
	j := &workload.Job{
		ID: fmt.Sprintf("job%06d", s.n+1), Name: fmt.Sprintf("%s-%d", k.Name, st.k+1), User: k.Name, Queue: k.Queue, Class: k.Name,
		Submit: st.next, Priority: k.Priority, AM: k.AM,
	}
	j.Queue = cmp.Or(j.Queue, "default")
	if n := len(k.Users); n > 0 {
		j.User = k.Users[int(u(drawUser)*float64(n))]
	}
	stretch := 1.0
	if k.Spread > 0 {
		one := workload.Lengths{Kind: workload.LogNormal, A: unit.Second, P: k.Spread}
		stretch = one.Draw(drawSpread, seed).Seconds()
	}
	ideal, before := 0.0, int64(0)
	j.Stages = make([]workload.Stage, 0, len(k.Stages))
	for i := range k.Stages {
		shape := &k.Stages[i]
		tasks := shape.Tasks.draw(u(perStage+uint64(i)), before)
		if i == 0 {
			tasks = max(1, tasks)
		}
		if tasks == 0 {
			continue
		}
		before = tasks
		stage := workload.Stage{
			Name: shape.Name, Kind: shape.Kind, Tasks: tasks, Ask: k.Ask, Length: Stretch(shape.Length, stretch),
			Input: shape.Input * unit.Bytes(tasks), Output: shape.Output * unit.Bytes(tasks),
		}
		if shape.Gang {
			stage.Gang = tasks
		}
		if n := len(j.Stages); n > 0 {
			stage.After = []workload.Edge{{From: n - 1, Shuffle: shape.Shuffle * unit.Bytes(tasks), SlowStart: shape.SlowStart}}
		}
		j.Stages = append(j.Stages, stage)
		ideal += Mean(stage.Length)
	}
	if k.Deadline > 0 {
		j.Deadline = j.Submit + max(1, unit.FromSeconds(k.Deadline*ideal))
	}
	return j
}
