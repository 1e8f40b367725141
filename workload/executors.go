package workload

import (
	"cmp"

	"github.com/yardmaster/yardmaster/unit"
)

// Executors is a change of the containers that a job keeps, in the words of Spark's settings. Nil: unchanged.
type Executors struct {
	Instances     *int64 // without Dynamic, it ends dynamic allocation; with it, this is the initial number
	Dynamic       *bool
	Min, Max      *int64
	Initial       *int64
	Idle          *unit.Time
	CachedIdle    *unit.Time // 0: never
	ShuffleIdle   *unit.Time // 0: never
	Cores, Memory *int64     // of a container; slots follow the cores. Memory is in MiB
}

// Apply changes a job, which must not be shared; what it points to may be. It reports whether anything of the change concerns the job: like
// Spark, it ignores settings of dynamic allocation for a job without. The number of tasks stays.
func (e *Executors) Apply(j *Job) bool {
	if j.Keep == nil {
		return false
	}
	k := *j.Keep
	j.Keep = &k
	if k.Dynamic != nil {
		k.Dynamic = new(*k.Dynamic)
	}
	concerns := e.resize(j)
	if e.Dynamic != nil || e.Instances != nil {
		concerns = true
		e.allocate(j)
	}
	d := k.Dynamic
	if d == nil {
		return concerns
	}
	for _, x := range []struct{ to, from *int64 }{{&k.Max, e.Max}, {&d.Min, e.Min}, {&d.Initial, e.Initial}} {
		if x.from != nil {
			*x.to, concerns = *x.from, true
		}
	}
	for _, x := range []struct{ to, from *unit.Time }{{&d.Idle, e.Idle}, {&d.CachedIdle, e.CachedIdle}, {&d.ShuffleIdle, e.ShuffleIdle}} {
		if x.from != nil {
			*x.to, concerns = *x.from, true
		}
	}
	k.Max = max(k.Max, 1)
	d.Min = min(d.Min, k.Max)
	d.Initial = min(max(d.Initial, d.Min), k.Max)
	return concerns
}

// resize changes the size of the job's containers.
func (e *Executors) resize(j *Job) bool {
	k := j.Keep
	if e.Memory != nil {
		k.Ask.Mem = *e.Memory
	}
	if e.Cores != nil {
		unlimited := k.Dynamic != nil && k.Max >= j.Fill()
		k.Slots = k.SlotsWith(*e.Cores)
		k.Ask.Cores = *e.Cores
		if unlimited {
			k.Max = max(j.Fill(), k.Dynamic.Initial)
		}
	}
	return e.Cores != nil || e.Memory != nil
}

// SlotsWith is how many slots a container of so many cores has: in proportion to those that it has, and one at least.
func (k *Keep) SlotsWith(cores int64) int64 { return max(cores*k.Slots/max(k.Ask.Cores, 1), 1) }

// allocate makes the number of containers static or dynamic.
func (e *Executors) allocate(j *Job) {
	k := j.Keep
	dynamic := e.Instances == nil && k.Dynamic != nil
	if e.Dynamic != nil {
		dynamic = *e.Dynamic
	}
	instances := k.Max
	if k.Dynamic != nil {
		instances = cmp.Or(k.Dynamic.Initial, defaultInstances)
	}
	if e.Instances != nil {
		instances = *e.Instances
	}
	switch {
	case !dynamic:
		k.Dynamic, k.Max = nil, max(instances, 1)
	case k.Dynamic == nil:
		k.Dynamic = &Dynamic{Initial: instances, Backlog: unit.Second, Sustained: unit.Second, Idle: unit.Minute}
		k.Max = max(j.Fill(), instances, 1)
	case e.Instances != nil:
		k.Dynamic.Initial = instances
	}
}

const defaultInstances = 2 // Spark's

// Fill is how many kept containers all tasks of the job would fill at once: more than that, dynamic allocation never requests.
func (j *Job) Fill() int64 { return (j.Tasks() + j.Keep.Slots - 1) / j.Keep.Slots }
