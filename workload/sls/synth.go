package sls

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/internal/input"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// SynthOptions says how jobs are generated from a SYNTH description.
type SynthOptions struct {
	Options
	Seed uint64 // combined with the description's rand_seed
	// TaskTime is the unit of task times ("mtime_avg", "time"); 0: a millisecond. SLS runs them as milliseconds
	// although its comments speak of seconds; files written for the comments want a second here.
	TaskTime unit.Time
}

// MaxJobs is the maximum number of jobs of a SYNTH description.
const MaxJobs = 5_000_000

// SynthReader generates the jobs of a SYNTH description, in the order of their submit times.
//
// A job first draws its workload by weight, then its submit time (a bucket of time_distribution by weight, a whole
// second in it uniformly), then its class by weight, then the class's numbers. A number is a constant ({"val"}), a
// log-normal or normal one of given mean and standard deviation ({"val","std","dist"}; log-normal where dist is not
// given), or one of a list ({"discrete","weights"}). Containers have at least 1024 MiB and 1 vcore. With probability
// reservation a job has a deadline: submit time + deadline factor x duration.
//
// This is what SLS does, in distribution: its random numbers are Java's and ours are not, so no job is the same. Each
// stage's task lengths are given as a distribution and drawn by the run, so they also follow the run's own seed.
type SynthReader struct {
	opt    SynthOptions
	js     *input.JSON
	err    error
	t      *synthTrace
	story  []synthJob
	next   int
	counts synthCounts
}

var _ workload.Source = (*SynthReader)(nil)

type synthCounts struct {
	made, tasks, noTasks, deadlines, streams, opportune int64
}

type synthJob struct {
	submit   int32 // seconds
	number   int32 // in the order in which they were drawn
	workload int16
	class    int16
}

// NewSynthReader reads a SYNTH description from r; name is what errors call it.
func NewSynthReader(r io.Reader, name string, opt SynthOptions) *SynthReader {
	opt.Options = opt.Options.withDefaults()
	opt.TaskTime = unit.Positive(opt.TaskTime, unit.Millisecond)
	r = &input.Bounded{R: r, Left: maxSynth, Err: fmt.Errorf("%s is larger than %d bytes: no SYNTH description is", name, maxSynth)}
	return &SynthReader{opt: opt, js: input.NewJSON(r, name)}
}

// Next returns the next job; io.EOF after the last.
func (s *SynthReader) Next() (*workload.Job, error) {
	if s.t == nil && s.err == nil {
		if s.t, s.err = readSynth(s.js, s.opt.TaskTime); s.err == nil {
			s.drawSchedule()
		}
	}
	for s.err == nil {
		if s.next == len(s.story) {
			s.err = io.EOF
			break
		}
		j := s.job(s.next)
		s.next++
		if len(j.Stages) == 0 {
			s.counts.noTasks++
			continue
		}
		if err := j.Validate(); err != nil {
			s.err = s.js.Errorf("%w", err)
			break
		}
		s.counts.made++
		s.counts.tasks += j.Tasks()
		return j, nil
	}
	return nil, s.err
}

// Streams of random numbers.
const (
	scheduleStream = 0x736c7373 // "slss"
	jobStream      = 0x736c736a // "slsj"
)

func (s *SynthReader) seed() uint64 { return workload.Seed(uint64(s.t.seed), s.opt.Seed) }

// drawSchedule draws which job is submitted when.
func (s *SynthReader) drawSchedule() {
	t := s.t
	s.story = make([]synthJob, t.jobs)
	seed := workload.Seed(s.seed(), scheduleStream)
	for i := range s.story {
		d := &draws{seed: workload.Seed(seed, uint64(i))}
		w := t.wheel.pick(d.uniform())
		wl := &t.workloads[w]
		b := wl.timeWheel.pick(d.uniform())
		at := wl.times[b]
		if b+1 < len(wl.times) && wl.times[b+1] > at {
			at += int64(d.uniform() * float64(wl.times[b+1]-at))
		}
		s.story[i] = synthJob{submit: int32(at), number: int32(i), workload: int16(w), class: int16(wl.classWheel.pick(d.uniform()))}
	}
	slices.SortFunc(s.story, func(a, b synthJob) int {
		return cmp.Or(cmp.Compare(a.submit, b.submit), cmp.Compare(a.number, b.number))
	})
}

// job draws the i-th job in the order of submit times.
func (s *SynthReader) job(i int) *workload.Job {
	story := s.story[i]
	wl := &s.t.workloads[story.workload]
	cl := &wl.classes[story.class]
	d := &draws{seed: workload.Seed(workload.Seed(s.seed(), jobStream), uint64(story.number))}
	j := &workload.Job{
		ID: fmt.Sprintf("%s_%06d", cl.name, i), Name: wl.name, Class: cl.name, User: cl.user, Queue: wl.queue,
		Submit: unit.Time(story.submit) * unit.Second,
	}
	if !s.opt.NoAM {
		j.AM = s.opt.AM
	}
	duration := math.Round(cl.duration.draw(d)) // seconds
	reserved := d.uniform() <= cl.reservation.draw(d)
	if factor := cl.deadline.draw(d); reserved && factor*duration > 0 {
		j.Deadline = j.Submit + unit.FromSeconds(math.Min(factor*duration, maxLength/1000))
		s.counts.deadlines++
	}
	if cl.typ == "stream" {
		s.counts.streams++
	}
	var maps []int
	for k := range cl.tasks {
		t := &cl.tasks[k]
		st := workload.Stage{
			Name: t.typ, Kind: kindOf(t.typ), Tasks: whole(t.count.draw(d), MaxCount), Length: t.length,
			Ask: unit.Resources{Mem: max(whole(t.memory.draw(d), cluster.MaxRoom), 1024), Cores: max(whole(t.cores.draw(d), cluster.MaxRoom), 1)},
		}
		if st.Tasks == 0 {
			continue
		}
		switch {
		case cl.typ != "mapreduce":
		case st.Kind == workload.Map:
			maps = append(maps, len(j.Stages))
		case st.Kind == workload.Reduce:
			st.After = after(maps)
		}
		if t.opportunistic {
			s.counts.opportune += st.Tasks
		}
		j.Stages = append(j.Stages, st)
	}
	return j
}

// Notes lists what was generated so far and how.
func (s *SynthReader) Notes() []workload.Note {
	c := &s.counts
	var n workload.Notes
	n.Say("SYNTH: made %d jobs with %d tasks, like those of SLS in distribution, not number for number", c.made, c.tasks)
	if s.t != nil {
		n.Say("SYNTH: rand_seed %d, seed %d", s.t.seed, s.opt.Seed)
		if s.t.nodes > 0 {
			n.Say("SYNTH: the description speaks of %d nodes, %d a rack", s.t.nodes, s.t.perRack)
		}
	}
	n.Say("SYNTH: task times are in units of %v", s.opt.TaskTime)
	n.Add(c.noTasks, "SYNTH: jobs that drew no tasks dropped")
	n.Add(c.deadlines, "SYNTH: jobs drew a deadline; reservations are not modelled")
	n.Add(c.streams, "SYNTH: stream jobs run each of their containers once")
	n.Add(c.opportune, "SYNTH: tasks of opportunistic containers run in guaranteed ones")
	if !s.opt.NoAM {
		n.Say("SYNTH: AMs are of %v", s.opt.AM)
	}
	return n
}
