package executors

import (
	"cmp"
	"slices"

	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/yarn"
	"github.com/yardmaster/yardmaster/unit"
)

// Bound is the shortest time that any number of executors allows: the longest chain of what the driver does between stages, and of the longest
// task of each stage. Times are in seconds.
type Bound struct {
	Elapsed float64 `json:"elapsed_seconds"`
	Launch  float64 `json:"launch_seconds"` // until the driver asks for executors
	Start   float64 `json:"start_seconds"`  // until the first are up
	Driver  float64 `json:"driver_seconds"` // in which no task could run: the driver works alone
	Tasks   float64 `json:"task_seconds"`   // the rest
	Chain   []Link  `json:"critical_path"`
}

// Link is a stage of the longest chain.
type Link struct {
	Stage   string  `json:"stage"`
	Delay   float64 `json:"delay_seconds"` // before it, of the driver
	Longest float64 `json:"longest_task_seconds"`
}

// Skew is a stage that waits for its longest task.
type Skew struct {
	Stage   string  `json:"stage"`
	Tasks   int64   `json:"tasks"`
	Longest float64 `json:"longest_task_seconds"`
	Median  float64 `json:"median_task_seconds"`
	Cost    float64 `json:"cost_seconds"` // what the application would save if the stage's tasks were equally long
}

// stage is what is known of a stage's tasks, on the fastest machine.
type stage struct {
	work, longest, median unit.Time
}

// maxDrawn is how many tasks of a stage are looked at.
const maxDrawn = 1 << 20

func (p *Plan) stages() []stage {
	j, fastest := p.Job, 1.0
	if p.Cluster != nil {
		fastest = slices.Max(sim.NewSpeeds(p.Cluster).Rates(j, []float64{1}))
	}
	out := make([]stage, len(j.Stages))
	for i := range j.Stages {
		s := &j.Stages[i]
		n := min(s.Tasks, maxDrawn)
		if n == 0 {
			continue
		}
		lengths := make([]unit.Time, n)
		seed, sum := sim.StageSeed(1, 0, i), 0.0
		for k := range n {
			length := s.Length.Draw(int64(float64(k)*float64(s.Tasks)/float64(n)), seed)
			lengths[k] = unit.Time(float64(length) / fastest)
			sum += float64(lengths[k])
		}
		slices.Sort(lengths)
		out[i] = stage{unit.Time(min(sum*float64(s.Tasks)/float64(n), float64(unit.Never)/4)), lengths[n-1], lengths[n/2]}
	}
	return out
}

// begins is when the driver asks for executors, and when the first of them are up.
func (p *Plan) begins() (driver, up unit.Time) {
	j, am, start := p.Job, p.Model.StartUp, p.Model.StartUp
	if t := p.Timing; t != nil {
		am, start = t.AMStart, t.ContainerStart
	}
	switch {
	case j.AM.IsZero():
		am = 0
	case p.Timing == nil || p.Timing.AMs != yarn.SLSAMs:
		am = cmp.Or(j.AMStart, am)
	}
	driver = p.Before + am
	return driver, driver + cmp.Or(j.Keep.Start, start)
}

// schedule is when stages start and end if stage i takes took(i), whatever else runs, and when the job ends.
func (p *Plan) schedule(took func(i int) unit.Time) (start, end []unit.Time, over unit.Time) {
	j := p.Job
	driver, up := p.begins()
	ready := driver
	if k := j.Keep; k.Ready > 0 && (k.Dynamic == nil || k.Dynamic.Initial > 0) {
		ready = min(up, driver+k.ReadyWait)
	}
	start, end = make([]unit.Time, len(j.Stages)), make([]unit.Time, len(j.Stages))
	over = ready
	for i := range j.Stages {
		begin := ready
		for _, e := range j.Stages[i].After {
			begin = max(begin, end[e.From])
		}
		start[i] = begin + j.Stages[i].Delay
		if end[i] = start[i]; j.Stages[i].Tasks > 0 {
			start[i] = max(start[i], up)
			end[i] = start[i] + took(i)
			over = max(over, end[i])
		}
	}
	return start, end, over + j.Keep.Tail
}

// widest is how many tasks there are at a time, at most, in the schedule in which every task has a slot at once.
func (p *Plan) widest() int64 {
	s, most := p.stages(), int64(1)
	start, end, _ := p.schedule(func(i int) unit.Time { return s[i].longest })
	for i := range start {
		var n int64
		for k := range start {
			if k == i || start[k] <= start[i] && start[i] < end[k] {
				n += p.Job.Stages[k].Tasks
			}
		}
		most = max(most, n)
	}
	return most
}

// bound is the schedule in which every task has a slot at once.
func (p *Plan) bound(s []stage) Bound {
	j := p.Job
	driver, up := p.begins()
	start, end, over := p.schedule(func(i int) unit.Time { return s[i].longest })
	b := Bound{Elapsed: over.Seconds(), Launch: driver.Seconds(), Start: min(up-driver, over-driver).Seconds()}

	// The driver is alone wherever no stage is between its start and its end.
	order := make([]int, len(start))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(x, y int) int { return cmp.Compare(start[x], start[y]) })
	covered, tasks := up, unit.Time(0)
	for _, i := range order {
		if end[i] > covered {
			tasks += end[i] - max(start[i], covered)
			covered = end[i]
		}
	}
	b.Tasks = tasks.Seconds()
	b.Driver = max(b.Elapsed-b.Launch-b.Start-b.Tasks, 0)

	// From the last stage back, through what each waited for last.
	at := -1
	for i := range end {
		if j.Stages[i].Tasks > 0 && (at < 0 || end[i] > end[at]) {
			at = i
		}
	}
	for at >= 0 {
		b.Chain = append(b.Chain, Link{j.Stages[at].Name, j.Stages[at].Delay.Seconds(), s[at].longest.Seconds()})
		next := -1
		for _, e := range j.Stages[at].After {
			if next < 0 || end[e.From] > end[next] {
				next = e.From
			}
		}
		at = next
	}
	slices.Reverse(b.Chain)
	return b
}

// Thresholds of a skew that is worth a word.
const (
	skewRatio  = 2    // longest over median
	skewCost   = 0.02 // of the elapsed time
	maxSkewed  = 3    // stages that are named
	skewChecks = 64   // stages that are tried
)

// skew finds the stages that wait for their longest tasks with the executors that the application had. A stage takes as long as its work takes in all
// slots, and at least as long as its longest task; with equal tasks, as its work takes in as many slots as it has tasks.
func (p *Plan) skew(s []stage) (list []Skew) {
	k := p.Job.Keep
	slots := unit.Time(min(float64(k.Max)*float64(k.Slots), 1<<40))
	takes := func(i int) unit.Time { return max(s[i].longest, s[i].work/slots) }
	even := func(i int) unit.Time { return s[i].work / min(slots, unit.Time(max(p.Job.Stages[i].Tasks, 1))) }
	var skewed []int
	for i := range s {
		if s[i].longest >= skewRatio*s[i].median && takes(i) > even(i) {
			skewed = append(skewed, i)
		}
	}
	slices.SortStableFunc(skewed, func(x, y int) int { return cmp.Compare(takes(y)-even(y), takes(x)-even(x)) })
	_, _, whole := p.schedule(takes)
	for _, x := range skewed[:min(len(skewed), skewChecks)] {
		_, _, over := p.schedule(func(i int) unit.Time {
			if i == x {
				return even(i)
			}
			return takes(i)
		})
		if saved := whole - over; float64(saved) >= skewCost*float64(whole) && saved > 0 {
			list = append(list, Skew{p.Job.Stages[x].Name, p.Job.Stages[x].Tasks, s[x].longest.Seconds(), s[x].median.Seconds(), saved.Seconds()})
		}
	}
	slices.SortStableFunc(list, func(a, b Skew) int { return cmp.Compare(b.Cost, a.Cost) })
	return list[:min(len(list), maxSkewed)]
}
