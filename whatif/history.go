package whatif

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/result/verdict"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Thresholds from which a history is doubted.
const (
	fewJobs    = 30   // of a touched queue, user or class
	flatPeak   = 1.25 // demand of the busiest hour over the mean
	idlePeak   = 0.6  // share of the cluster that the busiest hour uses
	driftRatio = 1.2  // of times in the busiest third over those in the quietest
	driftSigma = 4    // standard errors of its logarithm

	maxSampled = 20_000
)

// maxReplayError is the max median error of an unchanged replay; above it, predictions of a change may not hold.
const maxReplayError = 0.2

// ReplayError is a warning if a run that replays a history as it was is far from what was observed; "": it is not, or nothing was observed.
func ReplayError(r *result.Run) string {
	o := r.Observed
	if o == nil || o.OtherSettings != "" || o.Jobs < fewJobs || o.MedianError <= maxReplayError {
		return ""
	}
	return fmt.Sprintf("the replay of this history as it is misses the observed times of jobs by %.0f %% (median of %s): what it says of a change may not hold",
		100*o.MedianError, unit.Count(o.Jobs, "job"))
}

// Doubts are why the history of a cluster cannot carry a conclusion.
type Doubts struct {
	Texts []string
	// Drifts says that times in it vary with the load: what a change does to them has a direction, and no known size.
	Drifts bool
}

// Doubt says why the history of a cluster cannot carry a conclusion about what variants touch (see Plan): too few jobs, no peak, or times that vary with the load, which a change of the load would change too. It reads the jobs once and
// keeps a sample of them.
func Doubt(jobs workload.Source, c *cluster.Cluster, touched [][]verdict.Subject) (Doubts, error) {
	h := history{total: c.Total(), slots: c.Slots, stride: 1}
	for _, t := range slices.Concat(touched...) {
		if !slices.Contains(h.touched, t) {
			h.touched = append(h.touched, t)
		}
	}
	h.counts = make([]int64, len(h.touched))
	for {
		j, err := workload.Next(jobs, h.last)
		if err != nil {
			return Doubts{}, err
		}
		if j == nil {
			return h.doubts(), nil
		}
		h.add(j)
	}
}

// history is what is known of a workload.
type history struct {
	total        unit.Resources
	slots        bool
	jobs, stride int64
	first, last  unit.Time // submissions
	touched      []verdict.Subject
	counts       []int64   // jobs of each
	steps        []float64 // by hour: the change of the share of the cluster in use
	sampled      []sampled // every stride-th job that was observed
}

// sampled is a job whose times are compared with the load.
type sampled struct {
	class      string
	hour       int
	rate, load float64 // its own, and that of the others
	task, am   float64 // how long a task and the start of its AM took; 0: not known
}

func (h *history) add(j *workload.Job) {
	if h.jobs++; h.jobs == 1 {
		h.first = j.Submit
	}
	h.last = j.Submit
	for i, t := range h.touched {
		if concerns(t, j) {
			h.counts[i]++
		}
	}
	var work, path, task float64 // shares of the cluster times hours; hours
	for i := range j.Stages {
		s, ask, slots := &j.Stages[i], j.Stages[i].Ask, 1.0
		if h.slots {
			ask = cluster.Unit
		} else if j.Keep != nil {
			ask, slots = j.Keep.Ask, float64(j.Keep.Slots)
		}
		mean := meanLength(s) / float64(unit.Hour)
		work, path, task = work+mean*float64(s.Tasks)*ask.DominantShare(h.total)/slots, path+mean, cmp.Or(task, mean)
	}
	from, o := j.Submit, j.Observed
	observed := o != nil && o.Launch >= j.Submit && o.Finish > o.Launch && o.Finish < workload.MaxSubmit
	if observed {
		from, path = o.Launch, float64(o.Finish-o.Launch)/float64(unit.Hour)
	}
	a := int(from / unit.Hour)
	b := a + 1 + int(min(path, 1000))
	if n := b + 1 - len(h.steps); n > 0 {
		h.steps = append(h.steps, make([]float64, n)...)
	}
	rate := work / float64(b-a)
	h.steps[a] += rate
	h.steps[b] -= rate
	if observed && h.jobs%h.stride == 0 {
		h.sampled = append(h.sampled, sampled{class: cmp.Or(j.Class, j.User+" "+j.Queue), hour: a, rate: rate, task: task, am: float64(j.AMStart)})
	}
	if len(h.sampled) == maxSampled {
		for i := range maxSampled / 2 {
			h.sampled[i] = h.sampled[2*i]
		}
		h.sampled, h.stride = h.sampled[:maxSampled/2], 2*h.stride
	}
}

// concerns reports whether a job is of a queue, user or class.
func concerns(t verdict.Subject, j *workload.Job) bool {
	switch t.Kind {
	case "user":
		return j.User == t.Name
	case "class":
		return j.Class == t.Name
	}
	q := cmp.Or(j.Queue, "default") // in full, or a leaf
	return q == t.Name || strings.HasPrefix("root."+strings.TrimPrefix(q, "root."), t.Name+".") || strings.HasSuffix(t.Name, "."+q)
}

// meanLength is about how long a task of a stage takes.
func meanLength(s *workload.Stage) (mean float64) {
	if t, ok := s.Length.IsConstant(); ok {
		return float64(t)
	}
	n := min(s.Tasks, 16)
	for i := range n {
		mean += float64(s.Length.Draw(i*(s.Tasks/n), 1)) / float64(n)
	}
	return mean
}

func (h *history) doubts() (out Doubts) {
	say := func(format string, args ...any) { out.Texts = append(out.Texts, fmt.Sprintf(format, args...)) }
	for i, t := range h.touched {
		switch n := h.counts[i]; {
		case n == 0:
			say("no job of the history is of %s %s: what else it would have to serve is not known", t.Kind, t.Name)
		case n < fewJobs:
			say("the history has only %s of %s %s: its 95th percentile is that of the slowest one or two; a hundred jobs would do", unit.Count(n, "job"), t.Kind, t.Name)
		}
	}
	for i := 1; i < len(h.steps); i++ {
		h.steps[i] += h.steps[i-1] // from here on the load
	}
	if h.last-h.first >= unit.Day-unit.Hour && h.jobs >= 100 {
		hours := h.steps[h.first/unit.Hour : h.last/unit.Hour+1]
		top, mean := slices.Max(hours), 0.0
		for _, v := range hours {
			mean += v / float64(len(hours))
		}
		if top < idlePeak {
			say("the busiest hour of the history uses %.0f %% of the cluster: little waits for room, so it says little about limits and shares", 100*top)
		} else if top < flatPeak*mean {
			say("the history has no peak: its busiest hour asks for %.2g times the mean", top/mean)
		}
	}
	for i := range h.sampled {
		h.sampled[i].load = h.steps[h.sampled[i].hour] - h.sampled[i].rate
	}
	slices.SortStableFunc(h.sampled, func(a, b sampled) int { return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.load, b.load)) })
	const drifts = "%s take %.2g times as long in the busiest third of the history as in the quietest: a change of the load would change that too, so by how much times change cannot be told"
	if ratio, ok := drift(h.sampled, func(s *sampled) float64 { return s.task }); ok {
		say(drifts, "tasks of the same class", ratio)
		out.Drifts = true
	}
	if ratio, ok := drift(h.sampled, func(s *sampled) float64 { return s.am }); ok {
		say(drifts, "the AMs of a class", ratio)
	}
	return out
}

// drift compares a time of jobs of the same class in the third with the highest load and in that with the lowest. The jobs are sorted by class and
// load. It reports the ratio of the geometric means, and whether it is large and significant.
func drift(all []sampled, value func(*sampled) float64) (ratio float64, ok bool) {
	var sum, variance, weight float64 // of differences of logarithms, by class
	for len(all) > 0 {
		var logs []float64
		k := 0
		for ; k < len(all) && all[k].class == all[0].class; k++ {
			if v := value(&all[k]); v > 0 {
				logs = append(logs, math.Log(v))
			}
		}
		all = all[k:]
		third := len(logs) / 3
		if third < 4 {
			continue
		}
		low, lows := moments(logs[:third])
		high, highs := moments(logs[len(logs)-third:])
		w := float64(third)
		sum, variance, weight = sum+w*(high-low), variance+w*(highs+lows), weight+w
	}
	if weight == 0 {
		return 1, false
	}
	by := sum / weight
	return math.Exp(by), math.Abs(by) >= math.Log(driftRatio) && math.Abs(by) >= driftSigma*math.Sqrt(variance)/weight
}

func moments(of []float64) (mean, variance float64) {
	for _, v := range of {
		mean += v / float64(len(of))
	}
	for _, v := range of {
		variance += (v - mean) * (v - mean) / float64(len(of))
	}
	return mean, variance
}
