package result

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Options of a Collector.
type Options struct {
	Version    string     // of the program
	ExactLimit int        // finished jobs up to which quantiles are exact; 0: 200,000
	TotalMem   int64      // MiB of the whole cluster, for the utilisation
	Named      unit.Extra // of the whole cluster, likewise
	Containers int64      // of the whole cluster, if its nodes are counted in containers
}

// Limits that bound a collector's memory.
const (
	defaultExactLimit = 200_000
	maxGroups         = 1000 // of a dimension
	maxReasons        = 1000
	shownReasons      = 20
)

// Names of the groups for jobs without a name, or beyond the limit.
const (
	DefaultQueue = "default"
	None         = "(none)"
	Others       = "(others)"
)

// Collector is a sim.Sink that turns a run's records into a Run.
type Collector struct {
	opt   Options
	exact bool

	wait, gang, run, elapsed, slowdown, response series

	queues, users, classes groups

	over  overs
	sizes bySize
	due   dues

	locality Locality
	reasons  map[string]int64
	leftOut  []int64 // jobs that did not finish, by arrival number
	observed observations
	work     unit.Time // of tasks of finished jobs
	lastSeen unit.Time // end of the last sample
}

var _ sim.Sink = (*Collector)(nil)

// NewCollector returns an empty Collector.
func NewCollector(opt Options) *Collector {
	opt.ExactLimit = unit.Positive(opt.ExactLimit, defaultExactLimit)
	return &Collector{opt: opt, exact: true, reasons: map[string]int64{}, sizes: bySize{}}
}

// Job counts one job.
func (c *Collector) Job(r *sim.JobRecord) {
	f := figuresOf(r)
	c.leaveOut(r)
	c.locality.None += r.Near[policy.NoPreference]
	c.locality.Off += r.Near[policy.OffRack]
	c.locality.Rack += r.Near[policy.RackLocal]
	c.locality.Node += r.Near[policy.NodeLocal]
	if r.Outcome != sim.Finished && r.Reason != "" {
		reason := r.Reason
		if _, known := c.reasons[reason]; !known && len(c.reasons) >= maxReasons {
			reason = Others
		}
		c.reasons[reason]++
	}
	if r.Outcome == sim.Finished {
		c.wait.add(f.wait)
		if slices.ContainsFunc(r.Job.Stages, func(s workload.Stage) bool { return s.Gang > 1 }) && r.Gang >= 0 {
			c.gang.add((r.Gang - r.Job.Submit).Seconds())
		}
		c.run.add(f.run)
		c.elapsed.add(f.elapsed)
		c.over.add(f.elapsed)
		c.slowdown.addKnown(f.slowdown)
		c.response.addKnown(f.response)
		c.observed.add(r, c.exact)
		c.sizes.add(r, &f, c.exact)
		c.work += r.Size
	}
	c.due.add(r)
	queue, user, class := names(r)
	c.queues.of(queue).add(r, &f, c.exact)
	c.users.of(user).add(r, &f, c.exact)
	c.classes.of(class).add(r, &f, c.exact)
	if c.exact && c.elapsed.n > int64(c.opt.ExactLimit) {
		c.toSketch()
	}
}

// toSketch converts all values so far into histograms. Groups follow one by one, when a histogram is smaller than their values.
func (c *Collector) toSketch() {
	c.exact = false
	for _, s := range []*series{&c.wait, &c.gang, &c.run, &c.elapsed, &c.slowdown, &c.response} {
		s.toSketch()
	}
	for _, gs := range []*groups{&c.queues, &c.users, &c.classes} {
		for _, g := range gs.list {
			g.toSketch()
		}
	}
	for _, s := range c.sizes {
		s.shrink()
	}
}

// Sample records how far the run has come.
func (c *Collector) Sample(s *sim.Sample) { c.lastSeen = max(c.lastSeen, s.To) }

// Finish computes the figures. It may be called once, at the end of the run.
func (c *Collector) Finish(sum sim.Summary, sc Scenario, assumptions []string) *Run {
	if sc.Model == nil {
		sc.Model = []string{}
	}
	r := &Run{
		Tool: "yardmaster", Version: c.opt.Version, Scenario: sc, Partial: sum.Partial,
		Assumptions: append(append([]string{}, assumptions...), c.gathered()...),
		NotModelled: append([]string{}, sum.NotModelled...),
		Jobs:        JobCounts{Submitted: sum.Submitted, Finished: sum.Finished, Refused: sum.Refused, Failed: sum.Failed},
		Tasks:       TaskCounts{Finished: sum.Tasks, Lost: sum.Lost},
		Metrics: Metrics{
			Wait: c.wait.stats(), GangWait: c.gang.stats(), Run: c.run.stats(), Elapsed: c.elapsed.stats(),
			Slowdown: c.slowdown.stats(), ResponseRatio: c.response.stats(),
		},
		ContainerHours: round(sum.Busy.Seconds() / 3600),
		WorkHours:      round(c.work.Seconds() / 3600),
		Quantiles:      "exact",
		Service:        c.over.figures(),
		Locality:       c.locality,
		ByQueue:        c.queues.figures(), ByUser: c.users.figures(), ByClass: c.classes.figures(),
		Events: sum.Events, Decisions: sum.Decisions,
	}
	if !c.exact {
		r.Quantiles = "sketch"
	}
	r.Jobs.Unfinished = max(0, sum.Submitted-sum.Finished-sum.Refused-sum.Failed)
	r.Fairness = Fairness{
		JainSlowdownUsers:  round(c.users.jain()),
		JainSlowdownQueues: round(c.queues.jain()),
		JainSlowdownJobs:   round(c.slowdown.jain()),
	}
	if sum.Finished > 0 && sum.LastFinish > sum.FirstSubmit {
		r.Makespan = round((sum.LastFinish - sum.FirstSubmit).Seconds())
	}
	end := sum.LastFinish
	if sum.Partial || r.Jobs.Unfinished > 0 { // containers were held until the run was cut off, or nothing could end any more
		end = max(end, c.lastSeen)
	}
	span := (end - sum.FirstSubmit).Seconds()
	if room := float64(c.opt.TotalMem) * span; room > 0 {
		r.Utilisation = round(min(sum.BusyMem/room, 1))
	}
	for name, n := range c.opt.Named.All() { // round makes 0/0 0
		busy := sum.BusyNamed[name]
		r.Named = append(r.Named, Named{name, n, round(busy / 3600), round(min(busy/(float64(n)*span), 1))})
	}
	r.Spread, r.Deadlines, r.Idle = c.sizes.figures(&c.slowdown), c.due.figures(), c.opt.idle(&sum)
	r.Traffic = trafficOf(&sum)
	if r.Observed = c.observed.figures(); r.Observed != nil {
		r.Observed.OtherSettings = sc.OtherSettings
	}
	r.Refusals = c.refusals()
	slices.Sort(c.leftOut) // by arrival number
	r.LeftOut = c.leftOut
	return r
}

// gathered lists the dimensions with more groups than the limit.
func (c *Collector) gathered() []string {
	var notes []string
	for _, d := range []struct {
		what string
		g    *groups
	}{{"queues", &c.queues}, {"users", &c.users}, {"classes", &c.classes}} {
		if d.g.others != nil {
			notes = append(notes, fmt.Sprintf("only the first %d %s are told apart; all further ones are gathered in %q", maxGroups, d.what, Others))
		}
	}
	return notes
}

func (c *Collector) refusals() []Refusal {
	var list []Refusal
	for reason, n := range c.reasons {
		list = append(list, Refusal{reason, n})
	}
	slices.SortFunc(list, func(a, b Refusal) int {
		return cmp.Or(cmp.Compare(b.Jobs, a.Jobs), strings.Compare(a.Reason, b.Reason))
	})
	return list[:min(len(list), shownReasons)]
}

// names returns the queue, user and class that a job counts for.
func names(r *sim.JobRecord) (queue, user, class string) {
	return cmp.Or(r.Job.Queue, DefaultQueue), cmp.Or(r.Job.User, None), cmp.Or(r.Job.Class, None)
}
