package live

import (
	"cmp"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/sim/am"
	"github.com/yardmaster/yardmaster/sim/yarn"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// prospect is what an application may turn out to be: donors with their probabilities.
type prospect struct {
	app    *App
	donors []int32
	weight []float64 // of each
	order  []int     // of the draws: one from each equal part of the probability
	spread float64   // of a draw around its donor: see smooth
	done   float64   // MiB-seconds of containers that it no longer holds
}

// weigh weighs the donors of every application against what is seen of it.
func (s *study) weigh() {
	v, h := s.v, s.h
	s.prospects = make([]prospect, len(v.Apps))
	var grains []float64
	for i := range v.Apps {
		p := &s.prospects[i]
		p.app, p.donors = &v.Apps[i], h.alike(&v.Apps[i])
		p.done = p.app.done(v.Now)
		p.order = rand.New(rand.NewPCG(workload.Seed(s.o.Seed, 0x0eda), uint64(i))).Perm(s.o.Draws)
		for _, d := range p.donors {
			p.weight = append(p.weight, p.likely(&h.donors[d], v.Now))
		}
		p.smooth(h)
		if n := p.app.tasks(); n > 0 && p.app.Up && len(p.donors) > 0 {
			if d := &h.donors[p.donors[len(p.donors)/2]]; d.volume > p.done {
				grains = append(grains, (d.volume-p.done)/float64(n)/float64(max(d.job.Stages[0].Ask.Mem, 1)))
			}
		}
	}
	slices.Sort(grains)
	s.grain = append(grains, 0)[len(grains)/2]
}

// done is what the application's containers of the past held, in MiB-seconds.
func (a *App) done(now unit.Time) float64 {
	done := a.Service
	for i := range a.Held {
		done -= (now - a.since(&a.Held[i], now)).Seconds() * float64(a.Held[i].Size.Mem)
	}
	return max(done, 0)
}

// tasks counts the containers that the application holds or waits for, without its AM.
func (a *App) tasks() (n int64) {
	for i := range a.Held {
		if !a.Held[i].AM {
			n++
		}
	}
	for _, ask := range a.Asks {
		if a.Up {
			n += ask.Count
		}
	}
	return n
}

// smooth sets how far an application's task lengths may be from those of its donor: few donors do not show all that there may be. It is the
// bandwidth of a smoothed bootstrap (Silverman's rule) for the logarithm of the mean length.
func (p *prospect) smooth(h *History) {
	var n, sum, squares float64
	for _, d := range p.donors {
		if m := h.donors[d].mean[0]; m > 0 {
			n, sum, squares = n+1, sum+math.Log(m), squares+math.Log(m)*math.Log(m)
		}
	}
	if n > 1 {
		p.spread = min(1.06*math.Sqrt(max(squares/n-sum*sum/n/n, 0))*math.Pow(n, -0.2), 0.5)
	}
}

// likely is how well a donor explains what is seen of the application: tasks that still run, and how much has been done.
func (p *prospect) likely(d *donor, now unit.Time) float64 {
	a := p.app
	if d.volume > 0 {
		x := math.Log(max((p.done+1)/d.volume, 1)) / 0.3
		return math.Exp(-min(x*x/2, 200))
	}
	running, waiting := split(a, d.job)
	log, seen := 0.0, 0
	for i := range running {
		for _, c := range running[i] {
			age := now - a.since(c, now)
			switch {
			case i == 0:
				log += math.Log(d.longer(i, age))
			case len(running[0]) == 0: // it may have waited for maps
				log += math.Log(d.longer(i, age/2))
			}
			seen++
		}
	}
	if seen > 8 { // tasks of one job are alike: many of them say less than as many of different ones
		log *= 8 / float64(seen)
	}
	known := float64(len(running[0])) + float64(waiting[0])
	if known > 0 && d.mean[0] > 0 {
		size := float64(max(d.job.Stages[0].Ask.Mem, 1))
		x := math.Log(float64(d.job.Stages[0].Tasks)/(known+p.done/size/d.mean[0])) / 0.7
		log -= min(x*x/2, 20)
	}
	return math.Exp(max(log, -200)) + 1e-90
}

// split assigns an application's containers and requests to the stages of a job.
func split(a *App, j *workload.Job) (running [][]*Container, waiting []int64) {
	running, waiting = make([][]*Container, len(j.Stages)), make([]int64, len(j.Stages))
	for i := range a.Held {
		if c := &a.Held[i]; !c.AM {
			s := stageOf(a, j, c.Priority)
			running[s] = append(running[s], c)
		}
	}
	for _, ask := range a.Asks {
		if a.Up {
			waiting[stageOf(a, j, ask.Priority)] += max(ask.Count, 0)
		}
	}
	return running, waiting
}

// stageOf is the stage whose containers are requested at a priority: those of a MapReduce AM, or one priority a stage.
func stageOf(a *App, j *workload.Job, priority int32) int {
	last := len(j.Stages) - 1
	switch {
	case last == 0:
		return 0
	case am.IsMapReduce(j):
		if priority == 10 || priority < 0 && a.Progress > 0.5 { // maps are half of a job's progress
			return last
		}
		return 0
	}
	return min(max(int(priority)-1, 0), last)
}

// resample weighs the donors at random, the same for all applications of a simulation: the history is a sample itself, and what it says of a kind
// of job may be wrong for all of them alike (the Bayesian bootstrap).
func (h *History) resample(seed uint64) []float64 {
	out := make([]float64, len(h.donors))
	for i := range out {
		out[i] = -math.Log(1 - workload.Uniform01(workload.Seed(seed, 0xb007), uint64(i)))
	}
	return out
}

// pick chooses a donor; u is uniform in [0,1).
func (p *prospect) pick(weights []float64, u float64) int32 {
	total := 0.0
	for i, d := range p.donors {
		total += p.weight[i] * weights[d]
	}
	for i, d := range p.donors {
		if u -= p.weight[i] * weights[d] / total; u < 0 {
			return d
		}
	}
	return p.donors[len(p.donors)-1]
}

// present is draw k of an application. capped: it has more tasks than are simulated.
func (s *study) present(p *prospect, k int, weights []float64, seed uint64) (out yarn.Present, capped bool) {
	a, v, limit := p.app, s.v, s.tasks
	r := rand.New(rand.NewPCG(seed, workload.Seed(0x0edb, uint64(k))))
	u := (float64(p.order[k]) + r.Float64()) / float64(len(p.order))
	d := &s.h.donors[p.pick(weights, u)]
	scale := math.Exp(p.spread*r.NormFloat64() - p.spread*p.spread/2)
	j := *d.job
	j.ID, j.Name, j.User, j.Queue, j.Priority, j.Submit, j.Observed, j.Deadline = a.ID, a.Name, a.User, a.Queue, a.Priority, a.Submitted, nil, 0
	if a.Unmanaged || !a.AM.IsZero() || j.AM.IsZero() {
		j.AM = a.master()
	}
	j.Stages = slices.Clone(j.Stages)
	if d.volume > 0 {
		d, scale = s.divide(p, d, &j, scale, r.NormFloat64()), 1
	}
	out, capped = yarn.Present{Job: &j, Up: a.Up, Done: make([]int64, len(j.Stages))}, a.Up && a.Capped > 0
	running, waiting := split(a, &j)
	first, last := -1, -1 // stages that run or wait
	for i := range j.Stages {
		if waiting[i] > 0 || len(running[i]) > 0 {
			if last = i; first < 0 {
				first = i
			}
		}
	}
	for i := range j.Stages {
		s := &j.Stages[i]
		now := int64(len(running[i])) + waiting[i]
		switch {
		case last < 0 && a.Up && a.Progress > 0: // nothing to go by but its progress
			out.Done[i] = min(int64(a.Progress*float64(s.Tasks)), s.Tasks-1)
		case i < first || i < last && now == 0:
			out.Done[i] = s.Tasks
		case i > last:
		case i > first && s.Kind == workload.Reduce: // requested a few at a time while maps run
			s.Tasks = max(s.Tasks, now)
		default: // all its tasks are requested at once: those not seen are done
			s.Tasks = max(s.Tasks, now)
			out.Done[i] = s.Tasks - now
		}
		for _, ask := range a.Asks {
			if now > 0 && ask.Size.Mem > 0 && stageOf(a, &j, ask.Priority) == i {
				s.Ask = ask.Size
			}
		}
		if len(running[i]) > 0 {
			s.Ask = running[i][0].Size
		}
		if left := s.Tasks - out.Done[i]; left > max(limit, now) {
			s.Tasks, capped = out.Done[i]+max(limit, now), true
		}
		if done := min(out.Done[i], limit); done < out.Done[i] { // enough for the start of the next stage
			s.Tasks, out.Done[i] = s.Tasks-(out.Done[i]-done), done
		}
		values := make([]unit.Time, s.Tasks)
		rest := values[min(out.Done[i], s.Tasks):]
		for t := range rest {
			age := unit.Time(0)
			if t < len(running[i]) {
				c := running[i][t]
				since := c.Since
				if since < 0 {
					since = v.Now - unit.Time(r.Float64()*float64(v.Now-a.Submitted))
				}
				age = max(v.Now-since-v.Timing.ContainerStart, 0)
				switch {
				case i > 0 && i > first: // it waits for maps
					age = 0
				case i > 0: // it did, until an unknown moment
					age = unit.Time(r.Float64() * float64(age))
				}
				since = v.Now - age - v.Timing.ContainerStart
				out.Held = append(out.Held, yarn.Held{Stage: i, Node: c.Node, Since: max(since, 0)})
			}
			rest[t] = min(unit.Time(scale*float64(d.draw(i, unit.Time(float64(age)/scale), r.Float64()))), workload.MaxLength)
		}
		s.Length = workload.Lengths{Kind: workload.List, Values: values}
	}
	if c := a.am(); c != nil && !a.Unmanaged {
		out.Held = append(out.Held, yarn.Held{Stage: policy.AMStage, Node: c.Node, Since: a.since(c, v.Now)})
	} else if !a.Unmanaged && (len(out.Held) > 0 || a.Up) {
		out.Held = append(out.Held, yarn.Held{Stage: policy.AMStage, Since: a.Submitted})
	}
	return out, capped
}

// bound sets how many tasks of a stage are simulated, so that those of all applications are not more than maxTasks: the list that
// an application comes from may say anything, and each task takes memory.
func (s *study) bound() {
	expected := make([]int64, len(s.prospects))
	for i := range s.prospects {
		p := &s.prospects[i]
		for _, d := range p.donors {
			expected[i] += min(s.h.donors[d].job.Tasks(), maxTasks) / int64(len(p.donors))
		}
		expected[i] = max(expected[i], p.app.tasks())
	}
	s.tasks = share(expected, maxTasks)
}

// maxTasks is how many tasks a simulation starts from.
const maxTasks = 300_000

// divide gives a job of which only the volume is known tasks of one length: as many as the application shows, else as long as those of others. The
// donor that it returns has them; z is normal.
func (s *study) divide(p *prospect, d *donor, j *workload.Job, scale, z float64) *donor {
	all, t := j.Stages[0], &s.v.Timing
	mem := float64(max(all.Ask.Mem, 1))
	length, left := cmp.Or(s.grain, d.mean[0])*math.Exp(0.7*z), d.volume*scale
	if all.Tasks = p.app.tasks(); all.Tasks > 0 && p.app.Up {
		left = max(left-p.done, 0)
	} else {
		all.Tasks = int64(min(max(math.Round(left/mem/max(length, 1)), 1), 1e6))
	}
	length = left / mem / float64(all.Tasks)
	// A container is held a while before its task starts and after it ends, which the simulation adds.
	over := t.AMHeartbeat
	if !p.app.Unmanaged {
		over = t.AMHeartbeat/2 + t.ContainerStart + t.ContainerExit
	}
	length = max(length-over.Seconds(), length/5)
	all.Length = workload.Lengths{Kind: workload.LogNormal, A: unit.FromSeconds(min(max(length, 1), workload.MaxLength.Seconds())), P: 0.5}
	j.Stages = []workload.Stage{all}
	made := newDonor(&workload.Job{Stages: j.Stages}, 0)
	return &made
}

// arrivals are jobs to come: those of the history from a random moment on, once around.
type arrivals struct {
	h      *History
	now    unit.Time
	offset unit.Time
	at, n  int
}

func (h *History) arrivals(now unit.Time, seed uint64) *arrivals {
	s := &arrivals{h: h, now: now}
	if h.span > 0 && !h.guess {
		s.offset = h.donors[0].job.Submit + unit.Time(workload.Uniform01(seed, 0xa441)*float64(h.span))
		s.n = len(h.donors)
		s.at, _ = slices.BinarySearchFunc(h.donors, s.offset, func(d donor, t unit.Time) int { return int(min(max(d.job.Submit-t, -1), 1)) })
	}
	return s
}

// Next implements workload.Source.
func (s *arrivals) Next() (*workload.Job, error) {
	if s.n == 0 {
		return nil, io.EOF
	}
	s.n--
	j := *s.h.donors[s.at%len(s.h.donors)].job
	after := j.Submit - s.offset
	if s.at >= len(s.h.donors) {
		after += s.h.span
	}
	s.at++
	j.Submit = s.now + max(after, 0)
	return &j, nil
}
