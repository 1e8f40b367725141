package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/rm"
	rmall "github.com/yardmaster/yardmaster/policy/rm/all"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/yarn/edit"
)

// Explanation is why an application waits for its next container.
type Explanation struct {
	App     *App
	Reasons []policy.Reason // tightest first; none: it gets a container at the next heartbeats
	Next    Interval        // when it gets its next container
	Draws   int             // simulations that Next is of; with 9, it holds the outcome with a probability of 80 %
	Tried   []Trial         // settings that give it one sooner, best first
}

// Trial is a change of settings that was simulated.
type Trial struct {
	Changes []edit.Change
	Next    unit.Time // when the application got its next container
}

const (
	whyDraws  = 9      // the smallest and the largest of 9 outcomes enclose a tenth with a probability of 80 %
	fewDraws  = 3      // where a simulation is long
	whyBeats  = 20_000 // heartbeats of a long simulation
	maxTrials = 8      // settings that are simulated
	soon      = 10     // heartbeats of a node: a container within them is there now
)

// Soon says whether an instant is within the next heartbeats.
func (v *View) Soon(t unit.Time) bool { return t <= v.Now+soon*v.Timing.NodeHeartbeat }

// Explain says why an application waits, by the scheduler's own checks on what the ResourceManager shows, when that is expected to end, and which settings
// would end it now: each is tried on the current requests and, if it does not help at once, simulated. An application that is not in the view is taken as submitted now.
func Explain(ctx context.Context, v *View, h *History, a *App, o Options) (*Explanation, error) {
	v.locate()
	x := &Explanation{App: a}
	index := slices.IndexFunc(v.Apps, func(x App) bool { return x.ID == a.ID })
	if index < 0 {
		w := *v
		index, w.Apps = len(v.Apps), append(slices.Clone(v.Apps), *a)
		w.Apps[index].Submitted, v = v.Now, &w
	}
	s, apps, nodes, err := v.mirror(v.Scheduler.RM)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(v.Apps, func(a App) bool { return a.Reserves }) { // the list does not say where: the nodes' next reports do
		for _, n := range nodes {
			s.Beat(n, v.Now)
		}
	}
	x.Reasons = s.Why(apps[index], v.Now, v.tooLarge(a))
	q := question{index: index, until: unit.Never}
	if err := q.expect(ctx, x, v, h, o); err != nil {
		return x, err
	}
	x.Tried, err = q.try(ctx, candidates(v.File, x.Reasons), x.Next.Median)
	return x, err
}

// question is an application whose next container is simulated.
type question struct {
	*study
	index   int       // of the application in the view
	typical int       // the draw of the median
	until   unit.Time // settings are simulated so long
}

// expect predicts when the application gets its next container.
func (q *question) expect(ctx context.Context, x *Explanation, v *View, h *History, o Options) error {
	known := !h.Empty()
	if !known { // nothing is known of the work, but settings can be tried
		h = &History{guess: true}
		h.add(&workload.Job{Stages: []workload.Stage{{Kind: workload.Other, Tasks: 1, Ask: x.App.master().Max(unit.Resources{Mem: 1, Cores: 1}), Length: workload.Fixed(unit.Hour)}}})
	}
	o.Draws = unit.Positive(o.Draws, whyDraws)
	q.study = newStudy(v, h, o, maxCalls/5)
	if !known {
		x.Next, q.until = Interval{unit.Never, unit.Never, unit.Never}, v.Now
		return nil
	}
	first, beats, err := q.next(ctx, v.Scheduler.RM, 0, unit.Never)
	if err != nil {
		return err
	}
	if x.Draws = o.Draws; beats > whyBeats {
		x.Draws, q.until = min(x.Draws, fewDraws), v.Now
	}
	next, errs := make([]unit.Time, x.Draws), make([]error, x.Draws)
	next[0] = first
	run.Each(ctx, len(next)-1, q.o.Workers, func(k int) { next[k+1], _, errs[k] = q.next(ctx, v.Scheduler.RM, k+1, unit.Never) })
	x.Next = intervalOf(slices.Clone(next))
	q.typical = slices.Index(next, x.Next.Median)
	return errors.Join(errors.Join(errs...), context.Cause(ctx))
}

// try returns the changes of settings that give the application a container now, for each setting the smallest; if there is none, the one that most
// shortens its wait in a simulation, if to less than half.
func (q *question) try(ctx context.Context, sets [][]edit.Change, otherwise unit.Time) (out []Trial, err error) {
	v := q.v
	sets = sets[:min(len(sets), maxTrials)]
	trials, errs, changed := make([]Trial, len(sets)), make([]error, len(sets)), make([]func() (rm.Scheduler, error), len(sets))
	for i, set := range sets {
		trials[i] = Trial{set, unit.Never}
		if file, err := edit.Apply(v.Scheduler.Name, v.File, set); err == nil { // else the ResourceManager would not take it
			if build, err := rmall.Read(v.Scheduler.Name, file, v.Site); err == nil {
				changed[i] = build
			}
		}
	}
	each := func(next func(build func() (rm.Scheduler, error)) (unit.Time, error)) error {
		run.Each(ctx, len(sets), q.o.Workers, func(i int) {
			if changed[i] != nil {
				trials[i].Next, errs[i] = next(changed[i])
			}
		})
		return errors.Join(errors.Join(errs...), context.Cause(ctx))
	}
	err = each(func(build func() (rm.Scheduler, error)) (unit.Time, error) { return v.grants(build, q.index) })
	seen := map[string]bool{}
	for _, t := range trials {
		last := t.Changes[len(t.Changes)-1]
		if name := last.Queue + "." + last.Property; t.Next != unit.Never && !seen[name] {
			seen[name] = true
			out = append(out, t)
		}
	}
	until := min(q.until, v.Now+(otherwise-v.Now)/2)
	if err != nil || len(out) > 0 || len(trials) == 0 || until <= v.Now {
		return out, err
	}
	err = each(func(build func() (rm.Scheduler, error)) (unit.Time, error) {
		t, _, err := q.next(ctx, build, q.typical, until)
		return t, err
	})
	if best := slices.MinFunc(trials, func(a, b Trial) int { return cmp.Compare(a.Next, b.Next) }); best.Next < until {
		out = append(out, best)
	}
	return out, err
}

// mirror is a scheduler in the state of the ResourceManager's. Applications that it refuses are not in it.
func (v *View) mirror(build func() (rm.Scheduler, error)) (s explainer, apps []*rm.App, nodes []*rm.Node, err error) {
	if s, err = fresh(build); err != nil {
		return nil, nil, nil, err
	}
	for i := range v.Cluster.Nodes {
		n := &v.Cluster.Nodes[i]
		nodes = append(nodes, &rm.Node{Index: int32(i), Rack: int32(n.Rack), Name: n.Name, Total: n.Room})
		s.NodeAdded(nodes[i], 0)
	}
	apps = make([]*rm.App, len(v.Apps))
	accepted := make([]bool, len(apps))
	for _, holds := range []bool{true, false} { // those that hold containers are added first: see yarn.State
		for i := range v.Apps {
			a := &v.Apps[i]
			if (len(a.Held) > 0) != holds {
				continue
			}
			apps[i] = &rm.App{Index: int32(i), Seq: int64(i), ID: a.ID, User: a.User, Queue: a.Queue, Priority: a.Priority, Submitted: a.Submitted, AM: a.master()}
			if accepted[i] = s.Added(apps[i], a.Submitted) == nil; !accepted[i] || !holds {
				continue
			}
			var am *Container
			take := func(c *Container, priority int32) {
				s.Recover(apps[i], nodes[c.Node], rm.Ask{Priority: priority, Size: c.Size}, max(c.Since, 0)).Launched = true
			}
			if !a.Unmanaged {
				am = cmp.Or(a.am(), &a.Held[0])
				take(am, rm.AMPriority)
			}
			for k := range a.Held {
				if c := &a.Held[k]; c != am {
					take(c, max(c.Priority, rm.AMPriority+1))
				}
			}
		}
		if holds {
			rm.Refresh(s, int32(len(nodes)), v.Now)
		}
	}
	for i := range v.Apps {
		if accepted[i] {
			_ = s.Asked(apps[i], v.Apps[i].requests(), nil, v.Now) // one that is larger than any node stays out
		}
	}
	s.Round(v.Now)
	return s, apps, nodes, nil
}

// grants is when an application would get a container at the next heartbeats under a scheduler, of what is requested now and no more; Never: at none of them.
func (v *View) grants(build func() (rm.Scheduler, error), index int) (unit.Time, error) {
	s, _, nodes, err := v.mirror(build)
	if err != nil {
		return unit.Never, err
	}
	for i := range soon {
		now := v.Now + unit.Time(i)*v.Timing.NodeHeartbeat
		for _, n := range nodes {
			if slices.ContainsFunc(s.Beat(n, now), func(c *rm.Container) bool { return int(c.App.Index) == index }) {
				return now, nil
			}
		}
	}
	return unit.Never, nil
}

// tooLarge is the reason of a request that no node is large enough for. A scheduler does not take it: nodes must have left since.
func (v *View) tooLarge(a *App) []policy.Reason {
	for _, ask := range a.requests() {
		largest, fits := unit.Resources{}, false
		for i := range v.Cluster.Nodes {
			room := v.Cluster.Nodes[i].Room
			largest, fits = largest.Max(room), fits || ask.Size.Fits(room)
		}
		if !fits {
			return []policy.Reason{{Limit: policy.NodeSize, Max: largest, Size: ask.Size}}
		}
	}
	return nil
}

// master is what the AM asks for; zero: unmanaged.
func (a *App) master() unit.Resources {
	switch {
	case a.Unmanaged:
		return unit.Resources{}
	case a.AM.IsZero():
		return unit.Resources{Mem: 1024, Cores: 1}
	}
	return a.AM
}

// requests are what the application waits for.
func (a *App) requests() []rm.Ask {
	asks := slices.Concat(a.Local, a.Asks)
	if len(asks) == 0 && !a.Up && !a.Unmanaged && len(a.Held) == 0 {
		asks = append(asks, rm.Ask{Priority: rm.AMPriority, Place: rm.Anywhere, Count: 1, Size: a.master()})
	}
	return asks
}

// next simulates draw k under a scheduler until the application gets a container, or until an instant.
func (q *question) next(ctx context.Context, build func() (rm.Scheduler, error), k int, until unit.Time) (first unit.Time, beats int, err error) {
	in, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	first = unit.Never
	_, err = q.play(in, run.Scheduler{Name: q.v.Scheduler.Name, RM: func() (rm.Scheduler, error) {
		s, err := fresh(build)
		return &watched{s, q.v.Apps[q.index].ID, func(got bool, now unit.Time) {
			beats++
			if got && first == unit.Never {
				first = now
			}
			if got || now > until {
				stop(errDone)
			}
		}}, err
	}}, k, []int{q.index})
	return first, beats, err
}

// explainer is a scheduler that can be put into the state of a ResourceManager's: YARN's own.
type explainer interface {
	rm.Scheduler
	rm.Recoverer
	rm.Gauges
	CountsCores() bool
}

func fresh(build func() (rm.Scheduler, error)) (explainer, error) {
	s, err := build()
	if err != nil {
		return nil, err
	}
	if x, ok := s.(explainer); ok {
		return x, nil
	}
	return nil, errors.New("this scheduler cannot take over what applications hold: only the CapacityScheduler and the FairScheduler can")
}

// watched notifies of every heartbeat, and whether an application got a container.
type watched struct {
	explainer
	id     string
	notify func(got bool, now unit.Time)
}

// Beat implements rm.Scheduler.
func (w *watched) Beat(n *rm.Node, now unit.Time) []*rm.Container {
	out := w.explainer.Beat(n, now)
	w.notify(slices.ContainsFunc(out, func(c *rm.Container) bool { return c.App.ID == w.id }), now)
	return out
}

// candidates are changes of the settings that hold an application back: each of the tightest one's, then with each of the next one's.
func candidates(file []byte, why []policy.Reason) (sets [][]edit.Change) {
	var before []edit.Change
	for i := range why {
		more := raise(file, &why[i])
		if len(more) == 0 {
			break
		}
		for _, c := range more {
			sets = append(sets, append(slices.Clone(before), c))
		}
		before = sets[len(sets)-1]
	}
	return sets
}

// scales are the settings that a value is found for by scaling: what holds if it is missing, the step of its values, and the largest.
var scales = map[string]struct{ missing, step, top float64 }{
	"maximum-capacity":            {100, 1, 100},
	"user-limit-factor":           {1, 0.1, math.MaxFloat64},
	"minimum-user-limit-percent":  {100, 1, 100},
	"maximum-am-resource-percent": {0.1, 0.01, 1},
	"maxAMShare":                  {0.5, 0.01, 1},
}

// raise lists values of a limiting setting under which the request would fit, smallest first.
func raise(file []byte, r *policy.Reason) (list []edit.Change) {
	need, c := r.Held.Add(r.Size), edit.Change{Queue: r.Queue, Property: r.Limit}
	switch r.Limit {
	case "node-locality-delay", "rack-locality-additional-delay":
		return []edit.Change{{Property: r.Limit, Value: "0"}}
	case "maximum-applications", "maxRunningApps":
		if c.Value = strconv.FormatInt(r.MaxCount+1, 10); r.Limit == "maxRunningApps" && r.Queue == "" {
			c.Property = "userMaxAppsDefault"
		}
		return []edit.Change{c}
	case "maxResources":
		top := need.Max(r.Max)
		c.Value = fmt.Sprintf("%d mb, %d vcores", top.Mem, top.Cores)
		return []edit.Change{c}
	}
	properties := []string{r.Limit}
	if r.Limit == "maximum-am-resource-percent" && r.User != "" { // a user's AMs have a share of the user's limit
		properties = []string{"user-limit-factor", r.Limit}
	}
	for _, c.Property = range properties {
		scale, ok := scales[c.Property]
		if !ok {
			return nil // no setting
		}
		now := setTo(file, c, scale.missing)
		for _, f := range []float64{1, 2, 4} { // others may take the first of it
			v := math.Ceil(f*now*cmp.Or(need.DominantShare(r.Max), 1)/scale.step-1e-6) * scale.step
			if v = min(v, scale.top); v > now {
				c.Value = strconv.FormatFloat(math.Round(v*1000)/1000, 'f', -1, 64)
				list = append(list, c)
			}
		}
	}
	return slices.Compact(list)
}

// setTo is what a setting of a queue is set to: its own value, the default of all queues, or else what holds if it is missing.
func setTo(file []byte, c edit.Change, missing float64) float64 {
	for _, place := range []edit.Change{c, {Property: c.Property}, {Property: map[string]string{"maxAMShare": "queueMaxAMShareDefault"}[c.Property]}} {
		if text, set, err := edit.Value(file, place.Queue, place.Property); err == nil && set {
			if v, err := strconv.ParseFloat(text, 64); err == nil {
				return v
			}
			return math.NaN()
		}
	}
	return missing
}
