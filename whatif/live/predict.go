package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/yarn"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Options of a prediction.
type Options struct {
	Draws   int // simulations; 0: Draws
	Seed    uint64
	Workers int // 0: one per processor
	// Only says which applications are predicted; nil: all. A simulation ends when all of them have.
	Only       func(a *App) bool
	NoArrivals bool // nothing is submitted any more, as at the end of a batch
	// Calibration scales the intervals; nil: by what other histories taught.
	Calibration *Calibration

	raw    bool          // intervals are those of the draws
	calls  float64       // heartbeats of a simulation; 0: maxCalls
	events *atomic.Int64 // counts those of the simulations; may be nil
}

// scales are those of the intervals of starts and ends.
func (o *Options) scales() (start, end float64) {
	if start, end = widened, 1; o.raw {
		return 1, 1
	}
	if c := o.Calibration; c != nil && c.Ends.Enough() {
		if start, end = c.Ends.Scale*widened, c.Ends.Scale; c.Starts.Enough() {
			start = c.Starts.Scale
		}
	}
	return start, end
}

// Draws is the default number of simulations. The second smallest and the second largest of 19 outcomes enclose a 20th with a probability
// of 80 %.
const Draws = 19

// Forecast is what is expected of an application. Instants are those of the View.
type Forecast struct {
	App        *App
	Started    bool // Start is known, if it is not negative
	Start, End Interval
	Refused    string // why the scheduler would not take it
}

// Interval holds an outcome with a probability of 80 %, and its median. Never: not within the time that is simulated.
type Interval struct{ Low, Median, High unit.Time }

// intervalOf is that of outcomes, which it sorts.
func intervalOf(x []unit.Time) Interval {
	slices.Sort(x)
	n := len(x)
	k := max((n+1)/10, 1) - 1
	return Interval{x[k], x[n/2], x[n-1-k]}
}

// widened is how much wider the intervals of starts are than the draws where no history could be measured: other histories taught that. A start depends on a
// single container of another application, about which the draws are too sure.
const widened = 1.18

// outcome is what becomes of an application in a simulation.
type outcome struct {
	start, end unit.Time
	refused    string
}

// sink collects the outcomes of some applications, and stops the simulation when it has all of them.
type sink struct {
	targets  []int // indices in View.Apps, ascending
	outcomes []outcome
	left     int
	stop     func()
	// An application of which only a part is simulated frees its containers too early. Nothing that comes after is told.
	capped []int // indices, ascending
	until  unit.Time
}

func (s *sink) Job(r *sim.JobRecord) {
	_, capped := slices.BinarySearch(s.capped, int(r.Seq))
	if capped && r.Finish >= 0 {
		s.until = min(s.until, r.Finish)
		s.stop()
	}
	i, asked := slices.BinarySearch(s.targets, int(r.Seq))
	if !asked {
		return
	}
	if r.Start >= 0 && r.Start <= s.until {
		s.outcomes[i].start = r.Start
	}
	if r.Finish >= 0 && r.Finish <= s.until && !capped {
		s.outcomes[i].end = r.Finish
	}
	if r.Outcome == sim.Refused {
		s.outcomes[i].refused = r.Reason
	}
	if s.left--; s.left == 0 {
		s.stop()
	}
}

func (*sink) Sample(*sim.Sample) {}

// Predict predicts starts and ends. Every simulation draws anew how many tasks an application has and how long they take, as far as that cannot be
// seen, and which jobs arrive in the meantime.
func Predict(ctx context.Context, v *View, h *History, o Options) ([]Forecast, error) {
	o.Draws = unit.Positive(o.Draws, Draws)
	if h == nil {
		h = Guess(v)
	}
	var out []Forecast
	var targets []int
	for i := range v.Apps {
		if a := &v.Apps[i]; o.Only == nil || o.Only(a) {
			targets, out = append(targets, i), append(out, Forecast{App: a})
		}
	}
	if len(out) == 0 {
		return nil, nil
	}
	if h.Empty() {
		return nil, errors.New("nothing runs, and there is no history to go by: give --history DIR (see \"yardmaster import yarn\")")
	}
	s := newStudy(v, h, o, cmp.Or(o.calls, maxCalls))
	outcomes, errs := make([][]outcome, o.Draws), make([]error, o.Draws)
	run.Each(ctx, o.Draws, s.o.Workers, func(k int) { outcomes[k], errs[k] = s.play(ctx, v.Scheduler, k, targets) })
	if err := errors.Join(errors.Join(errs...), context.Cause(ctx)); err != nil {
		return nil, err
	}
	starts, ends := make([]unit.Time, o.Draws), make([]unit.Time, o.Draws)
	ofStarts, ofEnds := o.scales()
	for i := range out {
		f := &out[i]
		for k := range outcomes {
			starts[k], ends[k] = outcomes[k][i].start, outcomes[k][i].end
			f.Refused = cmp.Or(outcomes[k][i].refused, f.Refused)
		}
		f.Start, f.End = intervalOf(starts).scaled(ofStarts, v.Now), intervalOf(ends).scaled(ofEnds, v.Now)
		if since, ok := f.App.Started(); ok {
			f.Started, f.Start = true, Interval{since, since, since}
		}
	}
	return out, nil
}

// study is a number of simulations from a view.
type study struct {
	v         *View
	h         *History
	o         Options
	prospects []prospect
	tasks     int64   // of a stage, that are simulated at most
	grain     float64 // seconds that a task takes where only the volume of donors is known; 0: not known
	timing    yarn.Timing
}

// newStudy prepares simulations of about so many heartbeats each.
func newStudy(v *View, h *History, o Options, calls float64) *study {
	v.locate()
	s := &study{v: v, h: h, o: o}
	s.weigh()
	s.bound()
	state, capped := s.draw(0)
	if slices.ContainsFunc(capped, func(i int) bool { return v.Apps[i].Capped == 0 }) {
		v.Notes = append(v.Notes, fmt.Sprintf("the applications have more than %d tasks: of each stage %d are simulated, and what comes after them is not foreseen", maxTasks, s.tasks))
	}
	s.timing = v.pace(state, calls)
	tasks := int64(1)
	for i := range state.Apps {
		tasks += state.Apps[i].Job.Tasks()
	}
	// Simulations that run at once have at most maxTasks together, however many processors there are.
	s.o.Workers = min(unit.Positive(o.Workers, runtime.GOMAXPROCS(0)), max(int(maxTasks/tasks), 1))
	return s
}

// draw makes the state that simulation k starts from, and lists the applications that are larger than what is simulated of them.
func (s *study) draw(k int) (state *yarn.State, capped []int) {
	seed := workload.Seed(s.o.Seed, uint64(k))
	weights := s.h.resample(seed)
	state = &yarn.State{At: s.v.Now}
	for i := range s.prospects {
		p, more := s.present(&s.prospects[i], k, weights, workload.Seed(seed, uint64(i)))
		if state.Apps = append(state.Apps, p); more {
			capped = append(capped, i)
		}
	}
	return state, capped
}

// maxCalls is the number of heartbeats of a simulation above which they are spaced further apart, up to a twentieth of a task's length.
const maxCalls = 50_000

// pace spaces the heartbeats of a large cluster with much to do, so that there are at most so many and a simulation takes a fraction of a second.
func (v *View) pace(s *yarn.State, maxBeats float64) yarn.Timing {
	var work, tasks, length, up float64
	for i := range s.Apps {
		p := &s.Apps[i]
		if len(p.Held) > 0 {
			up++
		}
		for k := range p.Job.Stages {
			st := &p.Job.Stages[k]
			for _, l := range st.Length.Values[min(p.Done[k], st.Tasks):] {
				length += l.Seconds()
				work += l.Seconds() * float64(st.Ask.Mem)
				tasks++
			}
		}
	}
	calls := work / float64(max(v.Cluster.Total().Mem, 1)) * (up + float64(len(v.Cluster.Nodes)))
	factor := max(calls/maxBeats, 1)
	t := v.Timing
	for _, beat := range []*unit.Time{&t.NodeHeartbeat, &t.AMHeartbeat} {
		*beat = max(*beat, unit.FromSeconds(min(factor*beat.Seconds(), length/max(tasks, 1)/20)))
	}
	return t
}

// play is simulation k, until all targets have ended.
func (s *study) play(ctx context.Context, by run.Scheduler, k int, targets []int) ([]outcome, error) {
	in, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	start, capped := s.draw(k)
	end := &sink{capped: capped, until: unit.Never, targets: targets, outcomes: slices.Repeat([]outcome{{unit.Never, unit.Never, ""}}, len(targets)), left: len(targets), stop: func() { stop(errDone) }}
	seed := workload.Seed(s.o.Seed, uint64(k))
	spec := run.Spec{
		Cluster: s.v.Cluster, Scheduler: by, Seed: seed, Timing: &s.timing, NoAlone: true, Start: start, Sink: end,
		Workload: &run.Workload{Open: func(uint64) (workload.Source, error) { return s.h.arrivals(s.v.Now, seed), nil }},
	}
	if s.o.NoArrivals {
		spec.Workload = run.Jobs(nil)
	}
	spec.Model.Sample = unit.Hour // nobody looks at the timeline
	if s.o.events != nil {
		stopAfter(&spec, s.o.events, end.stop)
	}
	sum, err := run.Play(in, &spec)
	if err != nil && !errors.Is(err, errDone) {
		return nil, fmt.Errorf("simulate from the live state: %w", err)
	}
	if s.o.events != nil {
		s.o.events.Add(sum.Events)
	}
	return end.outcomes, nil
}

var errDone = errors.New("all that is asked about has ended")

// Covers says what the intervals of a prediction cover, and what they do not.
func (h *History) Covers(o *Options) string {
	from, arrive := "from earlier jobs of the same user and name, else of the user, else of the queue", "jobs to come are those of a random part of the history"
	if h.guess {
		from = "from the progress of what runs now, half and twice as long too, because there is no history (--history DIR)"
	}
	if h.guess || o.NoArrivals {
		arrive = "no job arrives"
	}
	text := "The intervals are made for 80 %. They cover what is not known of the work: how many tasks are left and how long they take, " + from + "; " + arrive +
		". Failures, lost nodes and changes by people are not covered. "
	if o.Calibration != nil {
		return text + o.Calibration.String()
	}
	return text + "How often they hold is not measured: that takes a history."
}
