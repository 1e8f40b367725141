package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

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

// widened is how much wider the intervals of starts are than the draws: their 80 % quantile of conformal scores on replayed histories, other ones
// than those that the intervals were then measured on (see TestCalibration). A start depends on a single container of another application,
// about which the draws are too sure. Intervals of ends need no correction.
const widened = 1.18

func (i Interval) widen(now unit.Time) Interval {
	if i.High == unit.Never {
		return i
	}
	grow := func(d unit.Time) unit.Time { return unit.Time(widened * float64(d)) }
	return Interval{max(i.Median-grow(i.Median-i.Low), min(now, i.Low)), i.Median, i.Median + grow(i.High-i.Median)}
}

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
}

func (s *sink) Job(r *sim.JobRecord) {
	i, asked := slices.BinarySearch(s.targets, int(r.Seq))
	if !asked {
		return
	}
	if r.Start >= 0 {
		s.outcomes[i].start = r.Start
	}
	if r.Finish >= 0 {
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
	s := newStudy(v, h, o, maxCalls)
	outcomes, errs := make([][]outcome, o.Draws), make([]error, o.Draws)
	run.Each(ctx, o.Draws, o.Workers, func(k int) { outcomes[k], errs[k] = s.play(ctx, v.Scheduler, k, targets) })
	if err := errors.Join(errors.Join(errs...), context.Cause(ctx)); err != nil {
		return nil, err
	}
	starts, ends := make([]unit.Time, o.Draws), make([]unit.Time, o.Draws)
	for i := range out {
		f := &out[i]
		for k := range outcomes {
			starts[k], ends[k] = outcomes[k][i].start, outcomes[k][i].end
			f.Refused = cmp.Or(outcomes[k][i].refused, f.Refused)
		}
		f.Start, f.End = intervalOf(starts).widen(v.Now), intervalOf(ends)
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
	grain     float64 // seconds that a task takes where only the volume of donors is known; 0: not known
	timing    yarn.Timing
}

// newStudy prepares simulations of about so many heartbeats each.
func newStudy(v *View, h *History, o Options, calls float64) *study {
	v.locate()
	s := &study{v: v, h: h, o: o}
	s.weigh()
	s.timing = v.pace(s.draw(0), calls)
	return s
}

// draw makes the state that simulation k starts from.
func (s *study) draw(k int) *yarn.State {
	seed := workload.Seed(s.o.Seed, uint64(k))
	weights := s.h.resample(seed)
	state := &yarn.State{At: s.v.Now}
	for i := range s.prospects {
		state.Apps = append(state.Apps, s.present(&s.prospects[i], k, weights, workload.Seed(seed, uint64(i))))
	}
	return state
}

// maxCalls is the number of heartbeats of a simulation above which they are spaced further apart, up to a twentieth of a task's length.
const maxCalls = 50_000

// pace spaces the heartbeats of a large cluster with much to do, so that there are at most so many and a simulation takes a fraction of a second.
func (v *View) pace(s *yarn.State, most float64) yarn.Timing {
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
	factor := max(calls/most, 1)
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
	end := &sink{targets: targets, outcomes: slices.Repeat([]outcome{{unit.Never, unit.Never, ""}}, len(targets)), left: len(targets), stop: func() { stop(errDone) }}
	seed := workload.Seed(s.o.Seed, uint64(k))
	spec := run.Spec{
		Cluster: s.v.Cluster, Scheduler: by, Seed: seed, Timing: &s.timing, NoAlone: true, Start: s.draw(k), Sink: end,
		Workload: &run.Workload{Open: func(uint64) (workload.Source, error) { return s.h.arrivals(s.v.Now, seed), nil }},
	}
	if s.o.NoArrivals {
		spec.Workload = run.Jobs(nil)
	}
	spec.Model.Sample = unit.Hour // nobody looks at the timeline
	if _, err := run.Play(in, &spec); err != nil && !errors.Is(err, errDone) {
		return nil, fmt.Errorf("simulate from the live state: %w", err)
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
	return "The intervals cover 80 % and what is not known of the work: how many tasks are left and how long they take, " + from + "; " + arrive +
		". Those of starts are widened by 18 %, which replayed histories taught. Failures, lost nodes and changes by people are not covered."
}
