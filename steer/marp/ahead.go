package marp

import (
	"fmt"
	"maps"
	"slices"

	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

// ahead admits jobs by a forecast. A raised share takes effect late: the scheduler has to notice it, find room for the AM and
// start it, and the job has to get to work. So it measures that lead on its own raises, extrapolates the progress of the
// running jobs by it, and predicts how much would idle then:
//
//	forecast = idle now + what jobs free that leave their maps or end within the lead - what the others wait for
//
// Above the target it admits a job, which then gets to work as the room becomes free. Likewise it gives back the share of a
// job that ends within the lead, unless the forecast would admit another, now or once those that are starting are at work:
// then nothing changes and the next job takes over the room. Until the first raise has been measured the lead is 0, and it
// acts on what idles now.
//
// It admits several at once only where the jobs so far were small: as many as fit into the forecast at the mean of
// the jobs' peak shares, and never more than are running. It waits for one raise to take effect before the next.
//
// The constants below are timeouts and limits for when nothing happens at all; no cluster needs others.
type ahead struct {
	Forecasting
	courses map[string]*course
	held    bool // the number of running jobs was taken as the first target
	lead    unit.Time
	leads   int
	flight  int // admitted jobs that are not at work yet
	asked   unit.Time
	timed   bool // their delay measures the lead
	timeout unit.Time
	failed  int // consecutive raises that admitted nobody
	above   int // consecutive samples with the forecast above the target
	peaks   float64
	peaked  int
}

const (
	startTimeout = unit.Minute // for an admitted job to get to work: twice the longest delay of an idle scheduler
	enough       = 3           // raises without effect: it is not the share that holds jobs back
	evidence     = 2           // consecutive samples: one reading is not enough
)

func newAhead(f Forecasting) *ahead {
	return &ahead{Forecasting: f, courses: map[string]*course{}, timeout: startTimeout}
}

// begin keeps what earlier batches taught about the lead and the jobs' sizes.
func (a *ahead) begin(*loop, *view) {
	clear(a.courses)
	a.held, a.flight, a.above, a.failed = false, 0, 0, 0
}

func (a *ahead) decide(c *loop, v *view) (m move, again unit.Time) {
	again = c.set.Interval
	a.watch(v)
	f := a.forecast(v)
	c.said.Forecast, c.said.Lead = f, a.lead
	starting := a.starting(v)
	if a.above++; f <= a.IdleTarget || starting > 0 { // processors that idle while a job starts will not idle for long
		a.above = 0
	}
	m.why = fmt.Sprintf("%.0f %% idle expected in %v", 100*f, a.lead)
	if a.held && v.pending > 0 && a.above > 0 && a.above < evidence { // shares to give back wait too: the next job may take them over
		m.why += ": to be confirmed"
		return m, again
	}
	m.down = c.almostDone(v, true, func(j *steer.Job) bool { return a.courses[j.ID].ends(a.lead) })
	if m.down > 0 {
		m.why += fmt.Sprintf(", %d %s done by then", m.down, plural(m.down, "job is", "jobs are"))
		if starting > 0 && v.pending > 0 && f > a.IdleTarget { // lowering now would undo the raise that is yet to take effect
			m.why += plural(m.down, ": the next takes its room", ": the next take their room")
			m.down = 0
		}
	}
	if run := max(1, v.running); !a.held {
		a.held = true
		if over := c.k - int64(run); over > 0 {
			return move{down: int(over), why: fmt.Sprintf("holds the %d that run", run)}, again
		}
	}
	switch {
	case v.pending == 0:
		m.why += ", nothing waits"
	case c.k == 0:
		m.up = 1
		m.why += fmt.Sprintf(", %d waiting and no room for any AM", v.pending)
		a.flight, a.asked, a.timed = 1, v.now, true
	case starting > 0:
		m.why += fmt.Sprintf(", %d %s yet to get to work", starting, plural(starting, "job has", "jobs have"))
	case a.above < evidence:
		m.why += ": no room"
	case a.failed >= enough && c.k > int64(v.running):
		m.why += fmt.Sprintf(": room for %d AMs and %d run; something else holds jobs back", c.k, v.running)
	default:
		m.up = min(a.fit(f-a.IdleTarget, v), v.pending)
		m.why += fmt.Sprintf(", %d waiting: %d more", v.pending, m.up)
		a.flight, a.asked, a.above = m.up, v.now, 0
		a.timed = m.up > m.down // otherwise they wait for others to end
	}
	return m, again
}

// notMade implements corrected: the raise will admit nobody.
func (a *ahead) notMade() { a.flight = 0 }

// fit is the number of jobs to admit.
func (a *ahead) fit(room float64, v *view) int {
	if a.peaked == 0 {
		return 1
	}
	mean := max(a.peaks/float64(a.peaked), 1e-6)
	return min(max(int(room/mean), 1), max(v.running, 1))
}

// starting is the number of jobs that were admitted or have a container, and are not at work yet. It stops waiting for those that
// exceed the timeout; each raise that admits nobody doubles the timeout.
func (a *ahead) starting(v *view) int {
	n := 0
	for _, j := range v.jobs {
		if k := a.courses[j.ID]; j.Started && !k.working && v.now-k.begun < a.timeout {
			n++
		}
	}
	if a.flight > 0 && v.now-a.asked >= a.timeout {
		a.flight = 0
		a.failed++
		a.timeout = min(2*a.timeout, unit.Hour)
	}
	return max(n, a.flight)
}

// watch tracks each job's course, and learns from jobs that get to work how long that takes.
func (a *ahead) watch(v *view) {
	held := containers(v)
	for _, j := range v.jobs {
		k := a.courses[j.ID]
		if k == nil {
			k = &course{}
			a.courses[j.ID] = k
		}
		k.seen = true
		if j.Started && !k.started {
			k.started, k.begun = true, v.now
		}
		was := k.working
		if k.advance(v.now, j, a.lead); k.working && !was {
			a.arrived(v.now)
		}
		if held > 0 && k.working {
			k.peak = max(k.peak, float64(j.Running)/held*v.own())
		}
	}
	for _, id := range slices.Sorted(maps.Keys(a.courses)) { // in a fixed order: peaks are summed
		k := a.courses[id]
		if !k.seen {
			delete(a.courses, id)
			if k.peak > 0 {
				a.peaked++
				a.peaks += k.peak
			}
			continue
		}
		k.seen = false
	}
}

// arrived notes that a job has got to work.
func (a *ahead) arrived(now unit.Time) {
	a.failed = 0
	if a.flight == 0 {
		return
	}
	if a.flight--; !a.timed {
		return
	}
	took := now - a.asked
	if a.leads++; a.leads == 1 {
		a.lead = took
	} else {
		a.lead = (a.lead + took) / 2
	}
	a.timeout = max(startTimeout, 4*a.lead)
}
