package live

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Calibration is what a history teaches about predictions from it: its latest jobs are replayed on the present cluster, those of the later half are predicted
// from the ones that had ended before, and intervals are scaled by the quantile of the scores that holds 80 % of what came (split-conformal scaling). Where the
// history says how long a job really took, that counts and not how long it takes in the replay.
type Calibration struct {
	Starts   Fit     `json:"starts"`
	Ends     Fit     `json:"ends"`
	Moments  int     `json:"moments"`            // at which predictions were made
	Jobs     int     `json:"jobs"`               // replayed
	Observed int     `json:"observed,omitempty"` // of the later ones, with a known real end
	Error    float64 `json:"error,omitempty"`    // of the replay: the median of how far elapsed times are from the real ones, relative
}

// Fit is how intervals did that were made in earlier moments.
type Fit struct {
	Scale    float64 `json:"scale"` // by which the draws are widened or narrowed; 0: too little to tell
	Outcomes int     `json:"outcomes"`
	Periods  int     `json:"periods"` // that they are from: those of one stand or fall together
	Inside   float64 `json:"inside"`  // the share of outcomes inside their intervals, each scaled by what all other periods teach
	Width    float64 `json:"width"`   // of these intervals: the median, relative to the time to go
}

// Enough says whether there was enough to measure.
func (f *Fit) Enough() bool { return f.Outcomes >= minOutcomes && f.Periods >= minPeriods }

const (
	coverage = 0.8 // that intervals are made for

	minReplayed  = 20 // jobs: with fewer there is nothing to split
	maxReplayed  = 1500
	maxSeen      = 2000   // earlier jobs that serve as donors
	maxReplay    = 40_000 // tasks
	maxMoments   = 20
	calibrates   = 9 // draws of a prediction
	minOutcomes  = 15
	minPeriods   = 3
	maxEvents    = 1_500_000 // simulated, after which no other moment is asked about: about a second; of the replay as many
	maxBacklog   = 1000      // applications at a moment
	maxScale     = 10
	maxWidth     = 100  // of an interval without an upper end
	narrowest    = 0.02 // of the time to go: an interval without any width cannot be scaled
	replaysWrong = 0.2  // the error above which a replay is no evidence
)

// scored is an interval and what came.
type scored struct {
	period int // outcomes of one period stand or fall together
	score  float64
	width  float64
}

// Calibrate measures predictions on the history itself. Without enough of it the fits have no outcomes.
func Calibrate(ctx context.Context, v *View, h *History, o Options) (*Calibration, error) {
	c := &Calibration{}
	first := h.window()
	n := len(h.donors) - first
	if h.guess || n < minReplayed {
		return c, nil
	}
	base := h.donors[first].job.Submit
	span := h.donors[len(h.donors)-1].job.Submit - base
	jobs := make(workload.Slice, 0, 2*n) // the second time as what arrives after the last one
	for i := range 2 * n {
		j := *h.donors[first+i%n].job
		j.Submit += unit.Time(i/n)*(span+span/unit.Time(n)) - base
		j.ID = fmt.Sprint(i) // a history may have one twice
		jobs = append(jobs, &j)
	}
	played, err := replayed(ctx, v, jobs, n, o.Seed)
	if err != nil {
		return nil, fmt.Errorf("replay the history: %w", err)
	}
	if played.left > 0 { // the cluster is too small for the history
		return c, nil
	}
	c.Jobs = n
	c.compare(played, n)
	var starts, ends []scored
	random := rand.New(rand.NewPCG(workload.Seed(o.Seed, 0xca11), 1))
	later := n - n/2
	moments := min(maxMoments, later)
	period, fresh := 0, unit.Time(0) // a new one begins when half of what was there at the beginning of the last one has ended
	var events atomic.Int64
	for k := range moments {
		r := played.jobs[int64(n/2+k*later/moments)]
		now := min(r.Job.Submit+unit.Time(random.Float64()*float64(max(r.Finish-r.Job.Submit, 0))), span)
		view, seqs := played.viewAt(now, *v)
		past := h.before(first, func(i int) bool { x, ok := played.jobs[int64(i)]; return ok && x.Finish >= 0 && x.Finish <= now })
		if len(seqs) == 0 || len(seqs) > maxBacklog || past.Empty() {
			continue
		}
		asked := map[string]bool{view.Apps[random.IntN(len(seqs))].ID: true} // few: a simulation ends with them
		if waiting := slices.DeleteFunc(slices.Clone(view.Apps), func(a App) bool { return len(a.Held) > 0 }); len(waiting) > 0 {
			asked[waiting[random.IntN(len(waiting))].ID] = true
		}
		list, err := Predict(ctx, view, past, Options{Seed: workload.Seed(o.Seed, uint64(k)), Draws: calibrates, Workers: o.Workers, calls: maxCalls / 10, raw: true, events: &events, Only: func(a *App) bool { return asked[a.ID] }})
		if err != nil {
			return nil, err
		}
		if events.Load() > maxEvents { // the last simulations may have been stopped
			break
		}
		if c.Moments++; now >= fresh {
			var left []unit.Time
			for _, seq := range seqs {
				left = append(left, played.jobs[seq].Finish)
			}
			slices.Sort(left)
			period, fresh = period+1, left[len(left)/2]
		}
		for i := range list {
			f := &list[i]
			r := played.jobs[seqs[slices.IndexFunc(view.Apps, func(a App) bool { return a.ID == f.App.ID })]]
			ends = append(ends, f.End.scored(period, now+unit.Time(stretch(&r)*float64(r.Finish-now)), now))
			if !f.Started {
				starts = append(starts, f.Start.scored(period, r.Start, now))
			}
		}
	}
	c.Starts, c.Ends = fit(starts), fit(ends)
	return c, nil
}

// window is the first of the latest jobs that are replayed.
func (h *History) window() int {
	tasks := int64(0)
	for i := len(h.donors) - 1; i >= 0; i-- {
		if tasks += h.donors[i].job.Tasks(); len(h.donors)-i > maxReplayed || tasks > maxReplay {
			return i + 1
		}
	}
	return 0
}

// before is the history of the jobs before a window, and of those in it that have ended.
func (h *History) before(first int, ended func(i int) bool) *History {
	past := &History{}
	for i := max(0, first-maxSeen); i < len(h.donors); i++ {
		if i < first || ended(i-first) {
			past.take(h.donors[i])
		}
	}
	past.close()
	return past
}

// stretch is how much longer a job took than in its replay.
func stretch(r *sim.JobRecord) float64 {
	o := r.Job.Observed
	if o == nil || o.Finish <= o.Launch || r.Finish <= r.Job.Submit {
		return 1
	}
	return (o.Finish - o.Launch).Seconds() / (r.Finish - r.Job.Submit).Seconds()
}

// compare measures how far the replay is from what really happened.
func (c *Calibration) compare(p *replay, n int) {
	var errors []float64
	for i := n / 4; i < n; i++ { // the first ones meet an empty cluster
		if r, ok := p.jobs[int64(i)]; ok && r.Job.Observed != nil && r.Finish >= 0 {
			errors = append(errors, math.Abs(1/stretch(&r)-1))
		}
	}
	slices.Sort(errors)
	if c.Observed = len(errors); c.Observed > 0 {
		c.Error = errors[c.Observed/2]
	}
}

// scored compares an interval with what came: the score is the scale at which it just holds it.
func (i Interval) scored(period int, came, now unit.Time) scored {
	s := scored{period: period, width: maxWidth}
	if i.High == unit.Never {
		if came < i.Low {
			s.score = math.Inf(1)
		}
		return s
	}
	low, high := i.halves(now)
	if s.score = (came - i.Median).Seconds() / high; came < i.Median {
		s.score = (i.Median - came).Seconds() / low
	}
	s.width = (low + high) / max((i.Median-now).Seconds(), 1)
	return s
}

// halves are how far an interval reaches below and above its median, in seconds.
func (i Interval) halves(now unit.Time) (low, high float64) {
	minimum := max(narrowest*(i.Median-now).Seconds(), 0.1)
	return max((i.Median - i.Low).Seconds(), minimum), max((i.High - i.Median).Seconds(), minimum)
}

// scaled is the interval with another width. What comes cannot come before now.
func (i Interval) scaled(by float64, now unit.Time) Interval {
	if i.High == unit.Never {
		return i
	}
	low, high := i.halves(now)
	return Interval{max(i.Median-unit.FromSeconds(by*low), min(now, i.Low)), i.Median, i.Median + unit.FromSeconds(by*high)}
}

// fit finds the scale, and measures it on each period with the scale of all others.
func fit(list []scored) (f Fit) {
	for i := range list {
		if i == 0 || list[i].period != list[i-1].period {
			f.Periods++
		}
	}
	if f.Outcomes = len(list); !f.Enough() {
		return f
	}
	f.Scale = scaleOf(list, f.Periods)
	var widths []float64
	inside := 0
	for start := 0; start < len(list); {
		end := start
		for end < len(list) && list[end].period == list[start].period {
			end++
		}
		scale := scaleOf(slices.Concat(list[:start], list[end:]), f.Periods-1)
		for _, s := range list[start:end] {
			if s.score <= scale {
				inside++
			}
			widths = append(widths, min(scale*s.width, maxWidth))
		}
		start = end
	}
	slices.Sort(widths)
	f.Inside, f.Width = float64(inside)/float64(len(list)), widths[len(widths)/2]
	return f
}

// scaleOf is the quantile of the scores of some periods that holds 80 % of those of another one, too. The correction for few outcomes is that of split-conformal
// prediction, where a period counts as six outcomes: that many are about independent.
func scaleOf(list []scored, periods int) float64 {
	var scores []float64
	for _, s := range list {
		scores = append(scores, s.score)
	}
	slices.Sort(scores)
	n := float64(len(scores))
	return min(scores[int(min(math.Ceil(coverage*(1+1/float64(6*periods))*n), n))-1], maxScale)
}

// String says how the intervals were measured, for people.
func (c *Calibration) String() string {
	if !c.Ends.Enough() {
		return fmt.Sprintf("How often they hold is not measured: what of the history can be replayed here is too little for that (%s in %s), so do not take them for 80 %%.",
			unit.Count(int64(c.Ends.Outcomes), "predicted end"), unit.Count(int64(c.Ends.Periods), "independent period"))
	}
	text := fmt.Sprintf("Measured on the history: of %d ends, predicted at %d moments from what had ended before, %.0f %% were inside such intervals, whose width is %.0f %% of the time to go (median)",
		c.Ends.Outcomes, c.Moments, 100*c.Ends.Inside, 100*c.Ends.Width)
	if c.Starts.Enough() {
		return text + fmt.Sprintf("; of %d starts %.0f %%, %.0f %% wide. The spread of the draws is scaled by %.2f for ends and %.2f for starts.",
			c.Starts.Outcomes, 100*c.Starts.Inside, 100*c.Starts.Width, c.Ends.Scale, c.Starts.Scale)
	}
	return text + fmt.Sprintf("; too few waited there to measure starts. The spread of the draws is scaled by %.2f.", c.Ends.Scale)
}

// Warning says that the history cannot carry predictions; "": it can, or does not say how long its jobs took.
func (c *Calibration) Warning() string {
	if c.Observed < minReplayed/2 || c.Error <= replaysWrong {
		return ""
	}
	return fmt.Sprintf("a replay of the history is off by %.0f %% (median of %d applications): what is predicted from it may be as far off. "+
		"See the notes of the import: a history without the time of the first container counts waits twice", 100*c.Error, c.Observed)
}
