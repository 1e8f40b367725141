package live

import (
	"math"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/whatif/alike"
	"github.com/yardmaster/yardmaster/workload"
)

// History is what is known of earlier jobs. It is read-only once made.
type History struct {
	donors []donor
	groups map[alike.Kind][]int32 // most recent last
	span   unit.Time              // from the first to the last submission
	guess  bool                   // made of the running applications themselves: there is no history
}

// donor is a job whose shape an application may have.
type donor struct {
	job     *workload.Job
	lengths [][]unit.Time // a sample for each stage, sorted
	mean    []float64     // of it, in seconds
	// volume is what its containers held in all, in MiB-seconds, if that is all that is known of it: its tasks and their lengths are made up then
	// (see yarn/history). 0: they are known.
	volume float64
}

const (
	maxSample  = 64  // task lengths kept per stage
	minDonors  = 5   // a smaller group is not used if a wider one exists
	maxDonors  = 100 // most recent ones of a group
	sampleSeed = 0x65a1
)

// Learn makes a history of jobs in order of submission. Jobs that did not succeed are left out.
func Learn(jobs workload.Slice) *History {
	h := &History{}
	for _, j := range jobs {
		if o := j.Observed; o != nil && o.Outcome != "" && !strings.HasPrefix(o.Outcome, "SUCC") && o.Outcome != "FINISHED" || j.Tasks() == 0 {
			continue
		}
		h.add(j)
	}
	h.close()
	return h
}

func (h *History) add(j *workload.Job) { h.take(newDonor(j, len(h.donors))) }

func (h *History) take(d donor) {
	n := len(h.donors)
	h.donors = append(h.donors, d)
	if h.groups == nil {
		h.groups = map[alike.Kind][]int32{}
	}
	for _, g := range alike.Kinds(d.job.User, d.job.Name, d.job.Queue) {
		h.groups[g] = append(h.groups[g], int32(n))
	}
}

// close ends what is added.
func (h *History) close() {
	if n := len(h.donors); n > 0 {
		h.span = h.donors[n-1].job.Submit - h.donors[0].job.Submit
	}
}

// newDonor makes the n-th donor of a history.
func newDonor(j *workload.Job, n int) donor {
	d := donor{job: asShown(j)}
	for i := range d.job.Stages {
		s := &d.job.Stages[i]
		list, sum, samples := []unit.Time(nil), 0.0, min(s.Tasks, maxSample)
		for k := range samples {
			list = append(list, s.Length.Draw(k*s.Tasks/samples, workload.Seed(sampleSeed, uint64(n)<<8|uint64(i))))
			sum += list[k].Seconds()
		}
		slices.Sort(list)
		mean := sum / float64(max(samples, 1))
		d.lengths, d.mean = append(d.lengths, list), append(d.mean, mean)
		if j.Class == "other" {
			d.volume += mean * float64(s.Tasks) * float64(s.Ask.Mem)
		}
	}
	return d
}

// Empty says whether there is nothing to draw from.
func (h *History) Empty() bool { return len(h.donors) == 0 }

// alike lists the donors of the narrowest group of an application that has enough.
func (h *History) alike(a *App) []int32 {
	var best []int32
	for _, g := range alike.Kinds(a.User, a.Name, a.Queue) {
		if l := h.groups[g]; len(l) > len(best) {
			if best = l; len(best) >= minDonors {
				break
			}
		}
	}
	return best[max(0, len(best)-maxDonors):]
}

// asShown is a job as a ResourceManager shows it, to compare with an application there: of executors it shows containers and no tasks, so they are tasks that
// hold their containers as long; it knows no gangs, and not where input lies.
func asShown(src *workload.Job) *workload.Job {
	j := *src
	if k := src.Keep; k != nil {
		work := 0.0
		for i := range src.Stages {
			s := &src.Stages[i]
			for t := range min(s.Tasks, maxSample) {
				work += s.Length.Draw(t, sampleSeed).Seconds() * float64(s.Tasks) / float64(min(s.Tasks, maxSample))
			}
		}
		each := unit.FromSeconds(work / float64(k.Slots) / float64(k.Max))
		j.Keep, j.Stages = nil, []workload.Stage{{Kind: workload.Other, Tasks: k.Max, Ask: k.Ask, Length: workload.Fixed(min(each, workload.MaxLength))}}
		return &j
	}
	j.Stages = slices.Clone(src.Stages)
	for i := range j.Stages {
		j.Stages[i].Gang, j.Stages[i].Hosts = 0, nil
	}
	return &j
}

// longer is the share of a stage's tasks that are longer than t. It is never 0 or 1: a sample does not exclude what it does not hold.
func (d *donor) longer(stage int, t unit.Time) float64 {
	l := d.lengths[stage]
	i, _ := slices.BinarySearch(l, t+1)
	return (float64(len(l)-i) + 0.5) / (float64(len(l)) + 1)
}

// draw returns the length of a task that has run for some time; u is uniform in [0,1). Beyond the sample the tail is a Pareto distribution.
func (d *donor) draw(stage int, age unit.Time, u float64) unit.Time {
	l := d.lengths[stage]
	first := 0
	if age > 0 {
		first, _ = slices.BinarySearch(l, age+1)
	}
	if first < len(l) {
		return l[first+int(u*float64(len(l)-first))]
	}
	return min(unit.FromSeconds(max(age.Seconds(), 1)*math.Pow(1-u, -0.5)), workload.MaxLength)
}

// Guess stands in for a history: the running applications' own progress, or how long their containers have run, says how long tasks take. Each is
// taken half and twice as long too.
func Guess(v *View) *History {
	h := &History{guess: true}
	for i := range v.Apps {
		a := &v.Apps[i]
		tasks, length, size := a.estimate(v.Now)
		if tasks == 0 {
			continue
		}
		for _, factor := range []float64{0.5, 1, 2} {
			s := workload.Stage{Kind: workload.Other, Tasks: tasks, Ask: size, Length: workload.Lengths{Kind: workload.LogNormal, A: unit.FromSeconds(factor * length), P: 0.5}}
			h.add(&workload.Job{User: a.User, Name: a.Name, Queue: a.Queue, AM: a.AM, Stages: []workload.Stage{s}})
		}
	}
	return h
}

// estimate is how many tasks an application has, of what length (in seconds) and size, by what it shows of itself; 0: it shows nothing.
func (a *App) estimate(now unit.Time) (tasks int64, length float64, size unit.Resources) {
	var running, age, waiting float64
	service := a.Service
	for i := range a.Held {
		c := &a.Held[i]
		held := (now - a.since(c, now)).Seconds()
		if c.AM {
			service -= held * float64(c.Size.Mem)
			continue
		}
		running, age, size = running+1, age+held, c.Size
	}
	for _, ask := range a.Asks {
		if a.Up && ask.Count > 0 {
			waiting, size = waiting+float64(ask.Count), ask.Size
		}
	}
	all := waiting
	if a.Up {
		all += float64(a.Capped)
	}
	if running+waiting == 0 || size.Mem <= 0 {
		return 0, 0, size
	}
	service = max(service/float64(size.Mem), age) // container-seconds
	length = 60
	if a.Progress > 0.02 && a.Progress < 1 && service > 0 {
		length = service * (1 - a.Progress) / a.Progress / (all + running/2)
	} else if running > 0 {
		length = 2 * age / running
	}
	length = min(max(length, 1), unit.Day.Seconds())
	return int64(running + waiting + min(max(service-age, 0)/length, 1e6)), length, size
}

// since is when a container was allocated; if that is not known, half of the application's time ago.
func (a *App) since(c *Container, now unit.Time) unit.Time {
	switch {
	case c.Since >= 0:
		return c.Since
	case c.AM:
		return a.Submitted
	}
	return now - (now-a.Submitted)/2
}
