package fair

import (
	"github.com/yardmaster/yardmaster/internal/dense"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/rank"
	"github.com/yardmaster/yardmaster/unit"
)

// plain is a plain fair order.
type plain interface {
	policy.Order
	policy.Knobs
	policy.Explainer
}

// amLimit admits jobs in order of arrival while their AMs hold no more than a share of the cluster's memory, as Hadoop's maxAMShare does for a queue: a
// cluster full of AMs starts no task for ever. One job is always admitted.
type amLimit struct {
	plain
	share      float64
	total, ams int64         // memory of the cluster, and of the AMs of admitted jobs
	held       rank.Heap     // jobs that are not admitted yet
	jobs       []*policy.Job // by Index
}

// max is what AMs may hold.
func (o *amLimit) max() int64 { return int64(o.share * float64(o.total)) }

// Resized admits jobs to a larger cluster.
func (o *amLimit) Resized(now unit.Time, c policy.Cluster) {
	o.total = c.Total.Mem
	o.plain.Resized(now, c)
	o.admit(now)
}

// Arrived admits the job, now or later.
func (o *amLimit) Arrived(now unit.Time, j *policy.Job) error {
	if j.AM.IsZero() {
		return o.plain.Arrived(now, j)
	}
	*dense.At(&o.jobs, j.Index) = j
	o.held.Set(j.Index, 0, j.Seq)
	o.admit(now)
	return nil
}

// admit admits those that the limit has room for.
func (o *amLimit) admit(now unit.Time) {
	for {
		id, ok := o.held.Min()
		if !ok {
			return
		}
		j := o.jobs[id]
		if o.ams > 0 && o.ams+j.AM.Mem > o.max() {
			return
		}
		o.held.Remove(id)
		o.ams += j.AM.Mem
		if err := o.plain.Arrived(now, j); err != nil {
			panic("fair: a plain order refuses " + j.ID + ": " + err.Error())
		}
	}
}

// Changed passes the change of an admitted job on.
func (o *amLimit) Changed(now unit.Time, j *policy.Job) {
	if !o.held.Has(j.Index) {
		o.plain.Changed(now, j)
	}
}

// Left admits others in place of the job.
func (o *amLimit) Left(now unit.Time, j *policy.Job) {
	if o.held.Has(j.Index) {
		o.held.Remove(j.Index)
	} else {
		o.plain.Left(now, j)
		o.ams -= j.AM.Mem
	}
	o.admit(now)
}

// Move moves a job; one that is not admitted is in no queue yet.
func (o *amLimit) Move(j *policy.Job, queue string) error {
	if o.held.Has(j.Index) {
		return nil
	}
	return o.plain.Move(j, queue)
}

// Why names the limit.
func (o *amLimit) Why(now unit.Time, j *policy.Job, to []policy.Reason) []policy.Reason {
	if o.held.Has(j.Index) {
		return append(to, policy.Reason{Limit: "am-share", Held: unit.Resources{Mem: o.ams}, Max: unit.Resources{Mem: o.max()}})
	}
	return o.plain.Why(now, j, to)
}
