// Package watch compares the applications before and since a change of a live cluster, and says whether a figure got worse by more than noise.
//
// Before are the applications that succeeded in the last day (or in the length of the watch, if that is more); since are those submitted after the
// change. One that is still running or waiting counts with its time so far: it can only take longer. A change that keeps applications from ending is
// therefore noticed, and one that does no harm is never blamed for an application that was there before.
//
// Like is compared with like: an application since the change with those before it of the same user, name and size (see alike; the size is what its containers
// held, which a setting of the scheduler does not change). Those since that have none are left out, and before counts as if it had had the applications since.
//
// A bound is broken if three things hold: the figure is beyond it; so is the lower end of a one-sided bootstrap interval of the change; and the
// figure is beyond the bound in comparison with every stretch before the change that was as long as the watch. Looks are taken several times, so each has
// its part of the error rate: over the whole watch, chance alone breaks a bound in at most one case of twenty. A bound is broken, too, if more
// applications of its queue fail than before: those that are left may well be faster. No user decides alone: see Judge.
package watch

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/whatif/goal"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// The rule, in numbers.
const (
	Looks     = 20    // at a bound, evenly spaced over the watch
	MinApps   = 10    // on each side; with fewer nothing is concluded
	errorRate = 0.05  // over all looks
	resamples = 2000  // of the bootstrap
	maxApps   = 1000  // per queue before the change that enter it: the latest
	maxPairs  = 500   // since
	picks     = 3     // of the applications before that one since is compared with, in each resample
	power     = 0.84  // normal quantile of 80 %
	certain   = 2.81  // normal quantile of the error rate of one look
	otherLoad = 1.25  // times as much work or as little is another load
	MaxList   = 50000 // applications that are remembered
)

// App is an application as the ResourceManager shows it, with its own clock.
type App struct {
	ID, Queue string
	User      string
	Name      string
	Held      float64 // MiB-seconds that its containers held, so far; 0: unknown
	Submitted time.Time
	Launched  time.Time // zero: unknown, or not yet
	Finished  time.Time // zero: not yet
	SoFar     time.Duration
	Succeeded bool
}

// figure is a figure of an application in seconds; false: it has none. Until it is finished, or launched, the time so far stands in.
func (a *App) figure(f string) (float64, bool) {
	end := a.Finished
	if f == goal.Wait {
		end = a.Launched
		if end.IsZero() && !a.Finished.IsZero() {
			return 0, false
		}
	}
	d := a.SoFar
	if !end.IsZero() {
		d = end.Sub(a.Submitted)
	}
	return d.Seconds(), d >= 0
}

// Watch collects applications before and since a change.
type Watch struct {
	length time.Duration
	known  map[string]bool // before the change, in whatever state
	before []App           // ended, by the time they did
	began  time.Time       // the latest time seen before the change, by the ResourceManager's clock
	since  map[string]App
	lasted time.Duration // since the change
	pairs  int           // that are enough, if not MinApps
}

// New makes a watch from a list of all applications, taken right before the change.
func New(length time.Duration, apps []App) *Watch {
	w := &Watch{length: length, known: map[string]bool{}, since: map[string]App{}}
	for i := range apps {
		a := &apps[i]
		w.known[a.ID] = true
		end := a.Finished
		if end.IsZero() {
			end = a.Submitted.Add(a.SoFar)
		}
		w.began = slices.MaxFunc([]time.Time{w.began, a.Submitted, end}, time.Time.Compare)
	}
	day := w.began.Add(-max(24*time.Hour, length))
	for i := range apps {
		if a := &apps[i]; !a.Finished.IsZero() && !a.Finished.Before(day) {
			w.before = append(w.before, *a)
		}
	}
	slices.SortFunc(w.before, func(a, b App) int { return cmp.Or(a.Finished.Compare(b.Finished), cmp.Compare(a.ID, b.ID)) })
	return w
}

// From is the time from which applications are to be listed: an earlier clock is tolerated.
func (w *Watch) From() time.Time {
	if w.began.IsZero() {
		return w.began
	}
	return w.began.Add(-5 * time.Minute)
}

// Add takes a list of applications; elapsed is the time since the change by a monotonic clock, which no application submitted since can exceed,
// however the ResourceManager's clock jumps. What has finished stays as it was first seen, also if a ResourceManager that has restarted no longer
// knows it.
func (w *Watch) Add(apps []App, elapsed time.Duration) {
	w.lasted = elapsed
	for id, a := range w.since {
		if a.Finished.IsZero() { // a ResourceManager may forget it
			delete(w.since, id)
		}
	}
	for _, a := range apps {
		ended := !a.Finished.IsZero() && a.Finished.Before(w.began) && a.Submitted.Before(w.began) // before the change
		if w.known[a.ID] || ended || !w.since[a.ID].Finished.IsZero() || len(w.since) >= MaxList {
			continue
		}
		a.SoFar = min(a.SoFar, elapsed)
		for _, t := range []*time.Time{&a.Launched, &a.Finished} {
			if last := a.Submitted.Add(elapsed); t.After(last) {
				*t = last
			}
		}
		w.since[a.ID] = a
	}
}

func in(a *App, g goal.Goal) bool {
	return g.Queue == goal.All || conf.QueueNamesMatch(a.Queue, g.Queue)
}

// Figure is a goal before and since the change.
type Figure struct {
	Goal       string  `json:"goal"`
	Statistic  string  `json:"statistic"` // the mean stands in for the 95th percentile of a few
	Before     float64 `json:"before_s"`
	Since      float64 `json:"since_s"`
	AppsBefore int     `json:"apps_before"`
	Apps       int     `json:"apps_since"`
	Unfinished int     `json:"unfinished"` // of these, counted with their time so far
	Change     float64 `json:"change"`     // relative
	Low        float64 `json:"low"`        // of the interval of the change
	High       float64 `json:"high"`
	Enough     bool    `json:"enough"`               // pairs to conclude anything
	Pairs      int     `json:"pairs"`                // applications since with some before of the same user, name and size: what the figures are of
	Likes      int     `json:"likes"`                // applications before that they are compared with
	Detectable float64 `json:"detectable,omitempty"` // the change that such applications show 8 times of 10
	Plain      float64 `json:"plain_before_s"`       // of all before, whatever their kinds
	LoadBefore float64 `json:"load_before_mib"`      // what the queue's applications held per second of the time in which they were submitted
	LoadSince  float64 `json:"load_since_mib"`
	// Applications that failed or were killed have no figure.
	FailedBefore int `json:"failed_before"`
	Failed       int `json:"failed_since"`
}

// Name is the goal with the statistic that stands in for its own.
func (f *Figure) Name() string { return f.Statistic + f.Goal[strings.IndexByte(f.Goal, ' '):] }

// OtherLoad says whether the queue was used so much more or less than before that the figures include it: applications of the same kind wait longer for each
// other.
func (f *Figure) OtherLoad() bool {
	return f.LoadBefore > 0 && f.LoadSince > 0 && max(f.LoadSince/f.LoadBefore, f.LoadBefore/f.LoadSince) >= otherLoad
}

// Told says what the figure could have shown, and what else it includes.
func (f *Figure) Told() string {
	if !f.Enough {
		return fmt.Sprintf("%d of %d applications since have some before of the same user, name and size (%d), and %d on each side are needed: too few to tell",
			f.Pairs, f.Apps, f.Likes, MinApps)
	}
	text := fmt.Sprintf("a change of %.0f %% or more would have been seen, 8 times of 10", 100*f.Detectable)
	if f.OtherLoad() {
		text += fmt.Sprintf("; the load of the queue changed by %+.0f %%, and the figures include that", 100*(f.LoadSince/f.LoadBefore-1))
	}
	return text
}

// values fills in the counts of a queue's applications before the change and since, and returns those that have figures. It is an error if most before the
// change have none.
func (w *Watch) values(g goal.Goal, f *Figure) (before, since []App, err error) {
	missing, held, holders, first := 0, 0.0, 0, w.began
	for i := range w.before {
		a := &w.before[i]
		if !in(a, g) {
			continue
		}
		held, holders = held+a.Held, holders+1
		if a.Submitted.Before(first) {
			first = a.Submitted
		}
		_, ok := a.figure(g.Figure)
		switch {
		case !a.Succeeded:
			f.FailedBefore++
		case ok:
			before = append(before, *a)
		default:
			missing++
		}
	}
	if g.Figure == goal.Wait && missing > 0 && missing >= len(before) {
		return nil, nil, fmt.Errorf("%q cannot be watched: the ResourceManager gives no launch time for %d of the %d applications, as for unmanaged AMs: use elapsed", g, missing, missing+len(before))
	}
	f.LoadBefore = perSecond(held, w.began.Sub(first))
	usual := held / max(float64(holders), 1)
	held = 0
	for _, a := range slices.SortedFunc(maps.Values(w.since), func(a, b App) int { return cmp.Or(a.Submitted.Compare(b.Submitted), cmp.Compare(a.ID, b.ID)) }) {
		if !in(&a, g) {
			continue
		}
		if held += a.Held; a.Finished.IsZero() { // a change that keeps it from ending is no lower load
			held += max(usual-a.Held, 0)
		}
		_, ok := a.figure(g.Figure)
		switch {
		case !a.Finished.IsZero() && !a.Succeeded:
			f.Failed++
		case ok:
			since = append(since, a)
			if a.Finished.IsZero() {
				f.Unfinished++
			}
		}
	}
	f.LoadSince = perSecond(held, w.lasted)
	before = before[max(0, len(before)-maxApps):]
	f.AppsBefore, f.Apps = len(before), len(since)
	return before, since, nil
}

// Measure is a goal before and since the change, with the interval that belongs to one look.
func (w *Watch) Measure(g goal.Goal) (f Figure, err error) {
	f.Goal = g.String()
	before, since, err := w.values(g, &f)
	if err != nil {
		return f, err
	}
	pairs := match(before, since, g.Figure, &f)
	use := g.For(int64(min(cmp.Or(f.Likes, f.AppsBefore), cmp.Or(f.Pairs, f.AppsBefore))))
	var all []float64
	for i := range before {
		v, _ := before[i].figure(g.Figure)
		all = append(all, v)
	}
	f.Statistic, f.Plain = use.Statistic, number(use.Of(all))
	f.Before = f.Plain
	if f.Pairs > 0 {
		as, bs := point(pairs)
		f.Before, f.Since = number(use.Of(as)), number(use.Of(bs))
	}
	if f.Enough = f.Likes >= MinApps && f.Pairs >= cmp.Or(w.pairs, MinApps) && f.Before > 0; !f.Enough {
		return f, nil
	}
	f.Change = f.Since/f.Before - 1
	changes := resampled(pairs, use)
	var sum, squares float64
	for _, c := range changes {
		sum, squares = sum+c, squares+c*c
	}
	spread := math.Sqrt(max(squares/resamples-sum*sum/resamples/resamples, 0))
	f.Detectable = number((certain + power) * spread / max(1+f.Change, 0.01))
	tail := int(errorRate / Looks * resamples)
	f.Low, f.High = changes[tail], changes[resamples-1-tail]
	return f, nil
}

func perSecond(x float64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return x / d.Seconds()
}

// number is a finite number, as JSON has them.
func number(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return min(x, math.MaxFloat64)
}

// Rejects says whether more applications fail than before, by more than noise: a change that makes the ResourceManager reject them improves every
// figure of those that are left.
func (f *Figure) Rejects() bool {
	before, since := float64(f.AppsBefore+f.FailedBefore), float64(f.Apps-f.Unfinished+f.Failed)
	if since < MinApps || before < MinApps {
		return false
	}
	p := float64(f.FailedBefore+f.Failed) / (before + since)
	return float64(f.Failed)/since-float64(f.FailedBefore)/before > certain*math.Sqrt(p*(1-p)*(1/before+1/since))
}

// Broken says whether a bound is broken by more than noise, given its figure.
func (w *Watch) Broken(b goal.Bound, f *Figure) bool {
	if !f.Enough || b.Kept(f.Before, f.Since) || !(f.Low > b.Limit) {
		return false
	}
	use := goal.Goal{Statistic: f.Statistic, Figure: b.Figure, Queue: b.Queue}
	mix := 1.0 // of the applications since, against all before
	if f.Plain > 0 {
		mix = f.Before / f.Plain
	}
	for i, end := len(w.before), w.began; i > 0; end = end.Add(-w.length) {
		if last := w.before[i-1].Finished; last.Before(end) { // skip a stretch without any
			end = last
		}
		var stretch []float64
		for ; i > 0 && w.before[i-1].Finished.After(end.Add(-w.length)); i-- {
			if v, ok := w.before[i-1].figure(b.Figure); ok && w.before[i-1].Succeeded && in(&w.before[i-1], b.Goal) {
				stretch = append(stretch, v)
			}
		}
		if len(stretch) >= MinApps && b.Kept(mix*use.Of(stretch), f.Since) {
			return false
		}
	}
	return true
}
