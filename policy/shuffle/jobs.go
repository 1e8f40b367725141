package shuffle

import (
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/internal/dense"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/rank"
	"github.com/yardmaster/yardmaster/unit"
)

// Job is what is known of a job's maps, reduces and shuffle.
type Job struct {
	*policy.Job
	Maps, Reduces int64 // tasks
	Size          float64
	Class         Class
	Predictor     Predictor

	mapAsk   unit.Resources // the largest of its maps
	mapInput float64        // of one map
	out      float64        // predicted output of one map
	done     int64          // maps
	made     float64        // their output
	size     int64          // Size, as counted in the sums
	maps     int64          // Maps, as counted
	started  int64          // maps running or done
	inRack   []int32        // the same, by rack
	reduces  []int32        // reduces started, by rack
	doneOn   []int32        // maps done, by node; only if unfetched output counts
	fetching int64          // reduces started
	waits    bool           // some of its maps have not started
}

// IsMap reports whether a stage depends on no other.
func (j *Job) IsMap(stage int) bool {
	return stage >= 0 && (stage >= len(j.Stages) || len(j.Stages[stage].After) == 0)
}

// MapInput is the input of one map.
func (j *Job) MapInput() float64 { return j.mapInput }

// MapOutput is the predicted output of one map.
func (j *Job) MapOutput() float64 { return j.out }

// Progress is the share of the job's maps that are done.
func (j *Job) Progress() float64 {
	if j.Maps == 0 {
		return 1
	}
	return float64(j.done) / float64(j.Maps)
}

// Quota is the job's number of reduces for a rack: in proportion to the rack's share of its map output, finished and running.
func (j *Job) Quota(rack int32) float64 {
	if j.started == 0 || rack < 0 || int(rack) >= len(j.inRack) {
		return 0
	}
	return float64(j.Reduces) * float64(j.inRack[rack]) / float64(j.started)
}

// UnderQuota reports whether fewer reduces of the job have started in a rack than its quota.
func (j *Job) UnderQuota(rack int32) bool {
	n := int32(0)
	if rack >= 0 && int(rack) < len(j.reduces) {
		n = j.reduces[rack]
	}
	return float64(n) < j.Quota(rack)
}

// Fairer is fair order: the job that holds fewer containers, then the first.
func Fairer(a, b *Job) bool {
	if a.Running != b.Running {
		return a.Running < b.Running
	}
	return a.Seq < b.Seq
}

// output is the actual output of a map of a stage.
func (j *Job) output(stage int) (bytes float64) {
	for i := range j.Stages {
		for _, e := range j.Stages[i].After {
			if e.From == stage && j.Stages[stage].Tasks > 0 {
				bytes += float64(e.Shuffle) / float64(j.Stages[stage].Tasks)
			}
		}
	}
	return bytes
}

// Jobs tracks the jobs present. A policy passes it every event of its order.
type Jobs struct {
	Bounds    Bounds
	Ratios    map[string]float64 // by the jobs' Class
	Learn     bool               // finished jobs update Ratios
	Unfetched bool               // output of finished maps counts against a node's threshold until reduces fetch it
	Cap       float64            // share of the cluster that reduces may hold while maps wait; 0: a job has no more of them than running maps, until its last map has started

	jobs           []Job // by Index
	bytes, maps    int64 // sums over the jobs present
	small, large   rank.Heap
	nodes          []node
	total          unit.Resources
	count          int64 // of nodes
	slots          int64 // map slots, if the cluster has fixed slots
	ask            unit.Resources
	containers     int64          // per node
	reduceSize     unit.Resources // held by reduces
	pendingMaps    int64          // jobs with maps that have not started
	running        int64          // maps
	fixedThreshold float64
	asks           []askCount // of the jobs with maps that have not started; few distinct sizes
}

type askCount struct {
	ask unit.Resources
	n   int64
}

// node is what runs on a node.
type node struct {
	jobs    []ofJob
	kept    float64        // output of finished maps that was not fetched
	reduces unit.Resources // held by reduces
}

type ofJob struct {
	job  int32
	maps int32
}

// Resized gives the size of the cluster.
func (t *Jobs) Resized(c policy.Cluster) {
	t.total, t.count, t.slots = c.Total, int64(max(1, c.Nodes)), c.Slots[policy.MapSlot]
	t.fit()
}

// fit counts the containers of an average node.
func (t *Jobs) fit() {
	if t.slots > 0 {
		t.containers = max(1, t.slots/t.count)
		return
	}
	n := int64(math.MaxInt64)
	if t.ask.Mem > 0 {
		n = t.total.Mem / t.count / t.ask.Mem
	}
	if t.ask.Cores > 0 {
		n = min(n, t.total.Cores/t.count/t.ask.Cores)
	}
	if n == math.MaxInt64 {
		n = 1
	}
	t.containers = max(1, n)
}

// Containers is the number of containers of the cluster.
func (t *Jobs) Containers() int64 { return t.containers * t.count }

// Of returns a present job.
func (t *Jobs) Of(index int32) *Job { return &t.jobs[index] }

// Arrived adds a job.
func (t *Jobs) Arrived(v *policy.Job) *Job {
	j := dense.At(&t.jobs, v.Index)
	*j = Job{Job: v, inRack: cleared(j.inRack), reduces: cleared(j.reduces), doneOn: cleared(j.doneOn)}
	if ratio, ok := t.Ratios[v.Class]; ok {
		j.Predictor.Assume(ratio)
	}
	t.Changed(j)
	return j
}

func cleared(s []int32) []int32 {
	clear(s)
	return s
}

// Changed updates a job whose stages may have changed: an engine may learn of tasks as they are requested.
func (t *Jobs) Changed(j *Job) {
	var maps, pending int64
	shuffles := false
	for i := range j.Stages {
		if s := &j.Stages[i]; len(s.After) > 0 {
			shuffles = true
		} else {
			maps += s.Tasks
			pending += s.Pending
			if s.Tasks > 0 && s.Ask != t.ask && !s.Ask.IsZero() {
				t.ask = s.Ask
				t.fit()
			}
		}
	}
	if maps != j.Maps || j.Reduces == 0 && shuffles {
		j.Maps = maps
		j.Reduces = max(0, j.Tasks-maps)
		j.mapInput = 0
		if maps > 0 {
			j.mapInput = float64(j.Input) / float64(maps)
		}
		if !shuffles {
			j.Predictor.Assume(0)
		}
		t.resize(j)
	}
	t.wait(j, pending > 0)
}

// wait notes whether maps of a job have not started.
func (t *Jobs) wait(j *Job, waits bool) {
	if j.waits == waits {
		return
	}
	j.waits = waits
	by := int64(-1)
	if waits {
		by, j.mapAsk = 1, unit.Resources{}
		for i := range j.Stages {
			if len(j.Stages[i].After) == 0 {
				j.mapAsk = j.mapAsk.Max(j.Stages[i].Ask)
			}
		}
	}
	t.pendingMaps += by
	for i := range t.asks {
		if t.asks[i].ask == j.mapAsk {
			t.asks[i].n += by
			return
		}
	}
	t.asks = append(t.asks, askCount{j.mapAsk, by})
}

// resize updates a job's shuffle size and the sums.
func (t *Jobs) resize(j *Job) {
	j.out = j.Predictor.Ratio() * j.mapInput
	j.Size = j.made + float64(j.Maps-j.done)*j.out
	size := int64(math.Round(min(j.Size, 1<<53)))
	if size == j.size && j.maps == j.Maps && t.small.Has(j.Index) {
		return
	}
	t.bytes += size - j.size
	t.maps += j.Maps - j.maps
	j.size, j.maps = size, j.Maps
	j.Class = t.Bounds.Class(float64(size))
	t.small.Set(j.Index, float64(size), j.Seq)
	t.large.Set(j.Index, -float64(size), j.Seq)
}

// Left removes a job.
func (t *Jobs) Left(j *Job) {
	if t.Learn && j.Predictor.n > 0 && j.Job.Class != "" {
		if t.Ratios == nil {
			t.Ratios = map[string]float64{}
		}
		t.Ratios[j.Job.Class] = j.Predictor.Ratio()
	}
	t.fetched(j, j.Reduces-j.fetching)
	t.bytes -= j.size
	t.maps -= j.maps
	t.small.Remove(j.Index)
	t.large.Remove(j.Index)
	t.wait(j, false)
	j.Job = nil
}

// Started notes the start of a task. An engine without nodes gives none.
func (t *Jobs) Started(j *Job, e *policy.Event) {
	if e.Stage < 0 {
		return
	}
	if j.IsMap(e.Stage) {
		t.Changed(j)
		j.started++
		t.running++
		if e.Node != nil {
			*dense.At(&j.inRack, e.Node.Rack)++
			t.run(e.Node.Index, j.Index, 1)
		}
		return
	}
	t.reduceSize = t.reduceSize.Add(e.Size)
	j.fetching++
	if e.Node != nil {
		*dense.At(&j.reduces, e.Node.Rack)++
		n := dense.At(&t.nodes, e.Node.Index)
		n.reduces = n.reduces.Add(e.Size)
	}
	t.fetched(j, 1)
}

// Ended notes the end of a task.
func (t *Jobs) Ended(j *Job, e *policy.Event) {
	if e.Stage < 0 {
		return
	}
	done, n := e.Why == policy.Done, e.Node // nil: it is gone, and what ran there
	if !j.IsMap(e.Stage) {
		t.reduceSize = t.reduceSize.Sub(e.Size)
		if n != nil {
			t.nodes[n.Index].reduces = t.nodes[n.Index].reduces.Sub(e.Size)
		}
		if done {
			return
		}
		j.fetching--
		if n != nil {
			j.reduces[n.Rack]--
		}
		t.fetched(j, -1)
		return
	}
	t.running--
	if n != nil {
		t.run(n.Index, j.Index, -1)
	}
	if !done {
		j.started--
		if n != nil {
			j.inRack[n.Rack]--
		}
		t.Changed(j)
		return
	}
	out := j.output(e.Stage)
	j.done++
	j.made += out
	j.Predictor.Add(j.mapInput, out)
	t.resize(j)
	if t.Unfetched && n != nil && j.Reduces > 0 {
		*dense.At(&j.doneOn, n.Index)++
		dense.At(&t.nodes, n.Index).kept += out * float64(j.Reduces-j.fetching) / float64(j.Reduces)
	}
}

// fetched notes that n more reduces of a job fetch their share of all output: they take it as soon as it is there.
func (t *Jobs) fetched(j *Job, n int64) {
	if !t.Unfetched || j.Reduces == 0 || n == 0 || j.done == 0 {
		return
	}
	share := j.made / float64(j.done) * float64(n) / float64(j.Reduces)
	for at, maps := range j.doneOn {
		if maps > 0 {
			t.nodes[at].kept = max(0, t.nodes[at].kept-float64(maps)*share)
		}
	}
}

// run counts the running maps of a job on a node.
func (t *Jobs) run(at, job, by int32) {
	n := dense.At(&t.nodes, at)
	for i := range n.jobs {
		if n.jobs[i].job != job {
			continue
		}
		if n.jobs[i].maps += by; n.jobs[i].maps <= 0 {
			last := len(n.jobs) - 1
			n.jobs[i] = n.jobs[last]
			n.jobs = n.jobs[:last]
		}
		return
	}
	if by > 0 {
		n.jobs = append(n.jobs, ofJob{job, by})
	}
}

// Threshold is the output that maps running on one node may produce: that of average maps in all its containers.
func (t *Jobs) Threshold() float64 {
	switch {
	case t.fixedThreshold > 0:
		return t.fixedThreshold
	case t.maps == 0:
		return math.Inf(1)
	}
	return float64(t.containers) * float64(t.bytes) / float64(t.maps)
}

// Fix replaces the threshold; +Inf: none.
func (t *Jobs) Fix(bytes float64) { t.fixedThreshold = bytes }

// Load is the predicted output of the maps running on a node.
func (t *Jobs) Load(at int32) (bytes float64) {
	if int(at) >= len(t.nodes) {
		return 0
	}
	n := &t.nodes[at]
	for _, x := range n.jobs {
		bytes += float64(x.maps) * t.jobs[x.job].MapOutput()
	}
	return bytes + n.kept
}

// slack forgives rounding: m maps of average output fill a node's threshold exactly.
const slack = 1e-9

// Over is the number of nodes whose maps are predicted to produce more than the threshold.
func (t *Jobs) Over() (nodes int64) {
	limit := t.Threshold() * (1 + slack)
	for at := range t.nodes {
		if t.Load(int32(at)) > limit {
			nodes++
		}
	}
	return nodes
}

// Range is the smallest and the largest shuffle size among the jobs present.
func (t *Jobs) Range() (smallest, largest float64) {
	if t.small.Len() == 0 {
		return 0, 0
	}
	return t.small.MinKey(), -t.large.MinKey()
}

// Caps reads how reduces that wait for maps leave room for them. By job it needs no setting, and where Hadoop's ApplicationMaster requests reduces slowly it
// changes next to nothing. A share of the whole cluster (capped=all, or cap) is simpler, but where containers are short the rest of the cluster idles.
func (t *Jobs) Caps(r *policy.Reader) {
	words := []string{"job", "all"}
	if _, given := r.Params["cap"]; given {
		slices.Reverse(words)
	}
	if how, share := r.Choice("capped", words...), r.Share("cap", 0.5); how == "all" {
		t.Cap = max(share, math.SmallestNonzeroFloat64)
	}
}

// Capped reports whether reduces hold a share of the cluster while a map waits to start. Then no reduce starts: they could come to
// hold all of it, and wait for maps for ever. Reduces with slots of their own take nothing from maps; in map slots maps come first.
func (t *Jobs) Capped(slot uint8) bool {
	if t.slots > 0 {
		return t.pendingMaps > 0 && slot == policy.MapSlot
	}
	return t.pendingMaps > 0 && t.Cap > 0 && t.above(unit.Resources{Mem: 1})
}

// above reports whether reduces would hold more than their share of the cluster with one more container.
func (t *Jobs) above(ask unit.Resources) bool {
	held := t.reduceSize.Add(ask)
	return float64(held.Mem) > t.Cap*float64(t.total.Mem) || float64(held.Cores) > t.Cap*float64(t.total.Cores)
}

// Spare reports whether a reduce of a job may take a container on a node under the cap. Two rules prevent a deadlock whatever the cap and the
// sizes. If no map runs at all, a reduce that waits for maps does not start: the container of the last map goes to a map. And if waiting maps
// differ in size from the reduce, on each node reduces leave room for the largest of them that the node could hold.
func (t *Jobs) Spare(j *Job, ask unit.Resources, n *policy.Node) bool {
	if t.pendingMaps == 0 || t.slots > 0 {
		return true
	}
	if t.Cap == 0 {
		// A map runs, or a container is free that only maps may take: reduces never hold all of them.
		if j.waits && j.fetching >= j.started-j.done {
			return false
		}
	} else if t.above(ask) || t.running == 0 && j.done < j.Maps {
		return false
	}
	var room unit.Resources
	for _, a := range t.asks {
		if a.n > 0 && a.ask != ask && n != nil && a.ask.Fits(n.Total) {
			room = room.Max(a.ask)
		}
	}
	if room.IsZero() {
		return true
	}
	held := room.Add(ask)
	if int(n.Index) < len(t.nodes) {
		held = held.Add(t.nodes[n.Index].reduces)
	}
	return held.Fits(n.Total)
}
