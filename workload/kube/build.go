package kube

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Assumptions are those of every history.
func Assumptions() []string {
	return []string{
		"Kubernetes: a task is a pod, as long as from the start of its first container to the end of its last one, to the second; what it waits for before (a node, volumes, images) is not in it",
		"Kubernetes: pods that failed are tasks as long as they ran, beside the pods that replaced them",
		"Kubernetes: the pods of a job are asked for at once, those of a Job beyond its parallelism as others end; a Spark application's executors once its driver has asked for the first",
		"Kubernetes: a pod takes as long wherever it runs; what it needs of a node beside room (selectors, affinity, taints, volumes) is not simulated",
	}
}

// maxListed is how many lengths a workload file lists for a job: jobfile.MaxListed, without what that needs.
const maxListed = 1 << 20

// tally counts what is noted about jobs.
type tally struct {
	pods, running, unfinished, unknown, missing, unseen, failed, restarted, backwards, idle, kinds, serial, lanes int64
	waits, starts                                                                                                 []unit.Time // of jobs for a node, of pods from their node to their start
}

// Jobs returns the jobs that have ended, by submission, which counts from the first. With running, it returns the others as well, as if they had ended at the
// latest instant of all.
func (h *History) Jobs(running bool) (jobs workload.Slice, notes workload.Notes) {
	var n tally
	names := map[string]int{}
	all := slices.SortedFunc(maps.Values(h.jobs), func(a, b *job) int {
		return cmp.Or(cmp.Compare(a.created, b.created), strings.Compare(a.id.Key, b.id.Key))
	})
	var base unit.Time
	for _, j := range all {
		w := h.build(j, running, &n)
		if w == nil {
			continue
		}
		if len(jobs) == 0 {
			base = w.Submit
		}
		if names[w.Name]++; names[w.Name] > 1 {
			w.ID += "#" + strconv.Itoa(names[w.Name])
		}
		if due := j.id.Due(time.UnixMicro(int64(w.Submit))); unit.Time(due.UnixMicro()) > w.Submit {
			w.Deadline = unit.Time(due.UnixMicro()) - base
		}
		w.Submit -= base
		if w.Observed != nil {
			w.Observed.Launch, w.Observed.Finish = w.Observed.Launch-base, w.Observed.Finish-base
		}
		jobs = append(jobs, w)
	}
	if len(n.waits) > 0 {
		slices.Sort(n.waits)
		notes.Say("Kubernetes: %s of %s; a job's first pod had its node after %v (median; 95 %% within %v)", unit.Count(n.pods, "pod"), unit.Count(int64(len(jobs)), "job"),
			n.waits[len(n.waits)/2], n.waits[len(n.waits)*95/100])
	}
	if h.Started = int64(len(n.starts)); h.Started > 0 {
		slices.Sort(n.starts)
		half := n.starts[len(n.starts)/4 : (3*len(n.starts)+3)/4]
		h.StartUp = 0
		for _, t := range half {
			h.StartUp += t / unit.Time(len(half))
		}
		notes.Say("Kubernetes: a pod's containers started %v after it had its node (mean of the middle half of %s)", h.StartUp, unit.Count(h.Started, "pod"))
	}
	const pre = "Kubernetes: "
	notes.Add(n.running, pre+"jobs that have not ended: they are as if they had ended at the latest instant of the data")
	notes.Add(n.unfinished, pre+"jobs that have not ended, left out (--running takes them)")
	notes.Add(n.unknown, pre+"jobs that ended without saying when they ran, left out")
	notes.Add(n.missing, pre+"pods that are no longer there: their lengths are drawn from those of their job's other pods")
	notes.Add(n.unseen, pre+"jobs without a pod that is still there: every pod takes as long as the job ran, divided by how many times its parallelism its pods are")
	notes.Add(n.failed, pre+"pods that failed")
	notes.Add(n.restarted, pre+"pods whose containers were restarted: they count from the first start of the pod")
	notes.Add(n.idle, pre+"pods that ended without having run, left out")
	notes.Add(n.backwards, pre+"pods that ended before they started, or ran for more than ten years, by their nodes' clocks: they count as nothing, or ten years")
	notes.Add(n.kinds, pre+"pods beyond the first %d kinds of a job's pods: they are as large as one of those", workload.MaxStages)
	notes.Add(n.lanes, pre+"jobs that ran fewer pods at a time (parallelism) than they had: a stage for each pod, which waits for the one whose place it takes")
	notes.Add(n.serial, pre+"such jobs of several kinds of pods, or of more than %s: they ask for all at once", unit.Number(workload.MaxStages))
	notes.Add(h.sum.again, pre+"pods that were read more than once")
	notes.Add(h.sum.undated, pre+"objects without a name or a time of creation, left out")
	notes.Add(h.sum.unreadable, pre+"objects that cannot be read, left out")
	for _, what := range slices.Sorted(maps.Keys(h.ignored)) {
		notes.Add(h.ignored[what], pre+"jobs whose %s is not understood, and ignored", what)
	}
	for _, name := range slices.Sorted(maps.Keys(h.devices))[:min(len(h.devices), maxDevices)] {
		notes.Say(pre+"nodes have %s, which is not counted: --set gpu=%s counts it", name, name)
	}
	notes.Add(int64(len(h.services)), pre+"pods of services, on whose nodes their room is taken off")
	return jobs, notes
}

// stage is a role with the pods that had it.
type stage struct {
	role
	lengths []unit.Time
	more    int64 // pods that are no longer there
}

// build makes a job of what was gathered; nil: it is left out.
func (h *History) build(j *job, running bool, n *tally) *workload.Job {
	over, failed, finish, launch := true, false, unit.Time(0), unit.Never
	gone := map[string]int64{} // pods that ended and were not seen, by stage
	for _, b := range j.batches {
		over, failed, finish = over && b.over, failed || b.failed, max(finish, b.end)
		gone[b.stage] += b.pods
	}
	for _, r := range j.records {
		if len(j.batches) == 0 {
			over, failed = over && r.over, failed || r.failed
		}
		if r.over {
			gone[r.stage]--
		}
	}
	if !over && !running {
		n.unfinished++
		return nil
	}
	var stages []*stage
	of := map[role]*stage{}
	add := func(r role) *stage {
		s := of[r]
		if s == nil && len(stages) == workload.MaxStages {
			n.kinds++
			return stages[0]
		}
		if s == nil {
			s = &stage{role: r}
			of[r] = s
			stages = append(stages, s)
		}
		return s
	}
	slices.SortStableFunc(j.records, func(a, b *record) int {
		return cmp.Or(cmp.Compare(a.created, b.created), cmp.Compare(a.start, b.start))
	})
	for _, r := range j.records {
		end := r.end
		if !r.over && !over {
			end = h.last
		}
		if r.start == 0 || end == 0 {
			if r.over {
				n.idle++
			}
			continue
		}
		if end < r.start || end-r.start > workload.MaxLength {
			n.backwards++
			end = min(max(end, r.start), r.start+workload.MaxLength)
		}
		s := add(r.role)
		s.lengths = append(s.lengths, end-r.start)
		launch, finish = min(launch, cmp.Or(r.bound, r.start)), max(finish, end)
		if r.bound > 0 && r.start >= r.bound && r.start-r.bound < unit.Day && !r.restarted {
			n.starts = append(n.starts, r.start-r.bound)
		}
		if r.failed {
			n.failed++
		}
		if r.restarted {
			n.restarted++
		}
	}
	if launch < unit.Never {
		n.waits = append(n.waits, max(launch-j.created, 0))
	}
	for _, b := range j.batches {
		k := gone[b.stage]
		if gone[b.stage] = 0; k <= 0 {
			continue
		}
		var s *stage // with most pods
		for _, x := range stages {
			if x.stage == b.stage && (s == nil || len(x.lengths) > len(s.lengths)) {
				s = x
			}
		}
		switch waves := (k + b.parallel - 1) / b.parallel; {
		case s != nil:
			s.more += k
			n.missing += k
		case b.start > 0 && b.end >= b.start && len(stages) < workload.MaxStages:
			s = add(b.role)
			s.lengths, s.more = []unit.Time{min((b.end-b.start)/unit.Time(waves), workload.MaxLength)}, k-1
			launch = min(launch, b.start)
			n.unseen++
		}
	}
	if len(stages) == 0 {
		n.unknown++
		return nil
	}
	w := &workload.Job{ID: j.id.Name, Name: j.id.Name, User: j.id.User, Queue: j.id.Queue, Class: j.id.Class, Priority: j.id.Priority, Submit: j.created}
	if over {
		launch = max(launch, j.created)
		w.Observed = &workload.Observed{Launch: launch, Finish: max(finish, launch)}
		if failed {
			w.Observed.Outcome = "FAILED"
		}
	} else {
		n.running++
	}
	driver(j, w, &stages)
	listed := 0
	for _, s := range stages {
		listed += len(s.lengths)
	}
	for _, s := range stages {
		k := int64(len(s.lengths)) + s.more
		n.pods += k
		w.Stages = append(w.Stages, workload.Stage{Name: s.stage, Kind: workload.Other, Tasks: k, Gang: s.gang, Ask: s.size, Length: s.spread(listed > maxListed)})
	}
	for _, b := range j.batches {
		switch tasks := w.Tasks(); {
		case b.parallel >= b.pods:
		case len(j.batches) == 1 && len(w.Stages) == 1 && tasks <= workload.MaxStages && w.Stages[0].Gang == 0:
			w.Stages = lanes(w.Stages[0], b.parallel)
			n.lanes++
		default:
			n.serial++
		}
	}
	return w
}

// lanes makes a stage of each pod of a Job, of which no more than some run at a time: each after the one whose place it took.
func lanes(s workload.Stage, parallel int64) (all []workload.Stage) {
	ends, last := make([]unit.Time, min(parallel, s.Tasks)), make([]int, min(parallel, s.Tasks))
	for i := range s.Tasks {
		one := s
		one.Tasks, one.Length = 1, workload.Fixed(s.Length.Draw(i, 1))
		k := slices.Index(ends, slices.Min(ends))
		if i >= parallel {
			one.After = []workload.Edge{{From: last[k], SlowStart: 1}}
		}
		ends[k], last[k] = ends[k]+one.Length.A, int(i)
		all = append(all, one)
	}
	return all
}

// driver makes the driver of a Spark application its AM.
func driver(j *job, w *workload.Job, stages *[]*stage) {
	i := slices.IndexFunc(*stages, func(s *stage) bool { return s.stage == "driver" && len(s.lengths) == 1 })
	if i < 0 || len(*stages) == 1 || !strings.Contains(j.id.Key, "/spark/") {
		return
	}
	w.AM = (*stages)[i].size
	*stages = slices.Delete(*stages, i, i+1)
	var driver, first unit.Time
	for _, r := range j.records {
		if r.stage == "driver" {
			driver = r.start
		} else if first == 0 {
			first = r.created
		}
	}
	w.AMStart = min(max(first-driver, 0), workload.MaxLength)
}

// spread lists the lengths of pods, or their distribution if some are not known or they are too many.
func (s *stage) spread(many bool) workload.Lengths {
	const quantiles = 1001
	if s.more == 0 && !many {
		return workload.Lengths{Kind: workload.List, Values: s.lengths}
	}
	slices.Sort(s.lengths)
	values := s.lengths
	if len(values) > quantiles {
		values = make([]unit.Time, quantiles)
		for k := range values {
			values[k] = s.lengths[k*(len(s.lengths)-1)/(quantiles-1)]
		}
	}
	return workload.Lengths{Kind: workload.Quantiles, Values: values}
}

// Cluster is the nodes that are ready, with what services leave of them; nil: there are none. away counts the others.
func (h *History) Cluster() (c *cluster.Cluster, away int64) {
	c, racks := &cluster.Cluster{}, cluster.RackIndex{}
	used := map[string]unit.Resources{}
	for _, s := range h.services {
		used[s.node] = used[s.node].Add(s.size)
	}
	for _, name := range slices.Sorted(maps.Keys(h.nodes)) {
		n := h.nodes[name]
		room := n.room.Sub(used[name])
		if room = room.Max(unit.Resources{}); n.away || room.Mem == 0 || room.Cores == 0 {
			away++
			continue
		}
		c.Nodes = append(c.Nodes, cluster.Node{Name: shown(name), Rack: racks.Of(c, cmp.Or(n.zone, "zone")), Kind: n.kind, Room: room})
	}
	if len(c.Nodes) == 0 {
		return nil, away
	}
	return c, away
}
