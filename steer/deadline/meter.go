package deadline

import (
	"fmt"
	"math"

	"github.com/yardmaster/yardmaster/policy/deadline"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

// meter follows the tasks of one job from sample to sample.
//
// Invariant: time is the container-time of the ended and running tasks; of those that ran before the first sample of a job whose past is unknown, only since
// then.
type meter struct {
	goal    unit.Time // Never: none
	bad     string    // what is wrong with its tags
	none    string    // why its goal counts as none
	over    string    // why it gets no priority
	waited  unit.Time // when it was last seen to wait for containers
	tags    string
	last    unit.Time // sample
	seen    bool
	pending int64
	ended   int64
	early   int64 // running ones whose start is not known
	halves  int64 // ended ones whose start is not known: they count half
	time    float64
	base    float64 // service before the first sample, if the past is unknown
	am      unit.Time
	running deadline.Running
	size    unit.Resources // of a container; zero until known
	all     bool           // how many it will start is unknown: any number

	slot        int       // where it was last moved to; -1: the intake
	moved       unit.Time // when
	tries       int       // moves that were refused in a row
	due         unit.Time // no further one before
	settled     bool      // it was in a slot
	touched     bool      // its priority was set
	own         int       // its priority before that
	set, before int       // the priority that was last asked for, and what it was then
}

// Limits of what is believed, and how old the reported service may be: a ResourceManager adds it up every three seconds.
const (
	maxRunning = 1 << 17
	maxTasks   = 1 << 40
	stale      = 4 * unit.Second
)

// tasks are the containers of a job without its AM's.
func tasks(j *steer.Job) int64 {
	n := min(max(j.Running, 0), maxRunning)
	if !j.AM.IsZero() && n > 0 {
		n--
	}
	return n
}

// unstarted are the tasks of a job that have not started.
func unstarted(j *steer.Job) int64 {
	if j.Tasks > 0 {
		return min(max(j.Tasks-max(j.Done, 0)-tasks(j), 0), maxTasks)
	}
	return min(max(j.Pending, 0), maxTasks)
}

// service is the reported container-time of a job's tasks; 0: unknown.
func (m *meter) service(j *steer.Job, now unit.Time) float64 {
	s := float64(j.Service.CoreSeconds) * float64(unit.Second)
	if !j.AM.IsZero() && m.am > 0 {
		s -= float64(j.AM.Cores) * float64(now-m.am)
	}
	return max(s, 0) / float64(max(m.size.Cores, 1))
}

// sample takes a sample of the job; young: one that has just been submitted, so that all its tasks are seen to start.
func (m *meter) sample(j *steer.Job, now unit.Time, young bool) {
	n, first := tasks(j), !m.seen
	if j.Started && m.am == 0 {
		if m.am = now; first {
			m.am = j.Submitted + 1
		}
	}
	if n > 0 {
		if held := j.Held.Sub(j.AM); held.Mem > 0 {
			m.size = unit.Resources{Mem: held.Mem / n, Cores: max(held.Cores, 0) / n}
		}
	}
	if first || j.Tasks > 0 && m.base > 0 { // or the engine has learned of its past
		m.running, m.base, m.early, m.halves = deadline.Running{}, 0, 0, 0
		m.begin(j, now, n, young)
	} else {
		m.follow(j, now, n)
	}
	m.last, m.seen, m.pending = now, true, unstarted(j)
	m.all = j.Tasks <= 0 && n == 0 && m.pending == 0 && m.ended == 0
}

// begin takes the first sample.
func (m *meter) begin(j *steer.Job, now unit.Time, n int64, young bool) {
	served, elapsed := m.service(j, now), 0.0 // elapsed: of each running task
	switch {
	case j.Tasks > 0 && j.Done > 0:
		m.ended = min(j.Done, maxTasks)
		elapsed = served / (float64(m.ended) + float64(n)/2) / 2
		m.time = served
	case n > 0 && (j.Tasks > 0 || young):
		elapsed = min(served/float64(n), float64(now-j.Submitted))
		m.time = elapsed * float64(n)
	default:
		m.base, m.early = served, n
	}
	for range n {
		m.running.Add(now - unit.Time(elapsed))
	}
}

// follow takes a later sample. What happened since the last one is taken to have happened halfway.
func (m *meter) follow(j *steer.Job, now unit.Time, n int64) {
	had, half := int64(m.running.Len()), m.last+(now-m.last)/2
	ended := max(j.Done-m.ended, 0)
	if j.Tasks <= 0 {
		ended = max(max(m.pending-unstarted(j), 0)-(n-had), 0)
	}
	// Ended and lost ones are the oldest. Those that started and ended in between come and go.
	gone := min(max(ended, had-n), had)
	m.running.Drop(int(gone))
	for range n - (had - gone) {
		m.running.Add(half)
	}
	early := min(m.early, gone)
	m.early -= early
	m.halves += min(early, ended)
	m.ended += ended
	m.time += float64(n+had) / 2 * float64(now-m.last)
	if s := m.service(j, now) - m.base; s > 0 {
		m.time = min(max(m.time, s), s+float64(max(n, had))*float64(stale))
	}
}

// mean is the mean length of the finished tasks.
func (m *meter) mean(now unit.Time, samples int64) (mean float64, ok bool) {
	elapsed := -m.running.Left(now, 0, false)
	mean = (m.time - elapsed) / (float64(m.ended) - float64(m.halves)/2)
	return mean, m.ended >= samples && mean > 0 && !math.IsInf(mean, 0)
}

// claim is what the job needs. With a tail guard it aims at the goal less a task, since the last ones end after the estimate does, and less the sampling
// interval, after which it is next looked at.
func (m *meter) claim(j *steer.Job, now, interval unit.Time, s *deadline.Settings) deadline.Claim {
	c := deadline.Claim{Submitted: j.Submitted, Goal: m.goal, Aim: m.goal}
	c.Running, c.Unstarted = int64(m.running.Len()), m.pending
	if m.all {
		c.Unstarted = maxRunning
	}
	mean, ok := m.mean(now, s.MinSamples)
	if c.Estimated = ok; ok {
		c.Left = m.running.Left(now, mean, !s.Literal) + float64(c.Unstarted)*mean
		if s.TailGuard {
			c.Aim -= unit.Time(mean) + interval
		}
	}
	return c
}

// unreachable says why the job's goal counts as none: it could not be met at submission, even on the whole cluster, or nothing could be done for it, since it
// comes before the second sample. Otherwise a goal of a second would be a claim on everything, for ever.
func (j *job) unreachable(now, interval unit.Time, total unit.Resources) string {
	given := j.goal - j.Submitted
	if given < 2*interval {
		return fmt.Sprintf("its goal is %v after its submission, and samples are %v apart", given, interval)
	}
	fastest, ok := j.mean(now, 1)
	if room := total.Count(j.size); ok && room > 0 && !j.all {
		fastest = max(fastest, float64(j.ended+j.claim.Running+j.claim.Unstarted)*fastest/float64(room))
	}
	if !ok || fastest <= float64(given) {
		return ""
	}
	return fmt.Sprintf("its goal is %v after its submission, and it takes at least %v on the whole cluster", given, unit.Time(fastest))
}
