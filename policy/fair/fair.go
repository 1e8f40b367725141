// Package fair shares a cluster evenly: whoever has the smallest usage relative to its entitlement is served next.
//
// # Plain form
//
// By job, a free container goes to the waiting job with the smallest usage; by user or by pool it goes first to the
// user or pool with the smallest usage/weight and then, inside it, to the job with the smallest usage. Usage is memory
// held, or (resource=drf) the dominant share: the largest of the shares of the cluster's memory, vcores and named resources. A pool that
// holds less than its minimum share, and has work waiting, comes before all that are above theirs:
//
//	pool:  needy first, by usage/minimum;  then by usage/weight;  ties: the pool whose next job arrived first
//	job:   by usage;                       ties: the job that arrived first
//
// AMs hold at most a share of the cluster: later jobs wait until an earlier one has ended (ams.go).
//
// Sources: the Hadoop Fair Scheduler documentation; A. Ghodsi et al., Dominant Resource Fairness: Fair Allocation of
// Multiple Resource Types, NSDI 2011.
//
// # From a fair-scheduler.xml
//
// FromConf builds the queue tree of Hadoop's FairScheduler from its allocation file: see package queues and tree.go.
//
// Every order here keeps rank.Heaps of those that have work waiting: a decision is O(log n) a level, and no call
// allocates once the state has grown to the number of jobs present.
package fair

import (
	"errors"

	"github.com/yardmaster/yardmaster/policy"
)

// Entry registers the policy.
var Entry = policy.Entry{
	Name:  "fair",
	Title: "equal shares by job, user or pool, with weights and minimum shares",
	Params: map[string]string{
		"by":       "who shares: job (default), user or pool (or queue, which is the same)",
		"resource": "what is shared: memory (default) or drf (dominant share of memory, vcores and named resources)",
		"weights":  "name:weight;name:weight for users or pools; 1 where not named",
		"min":      "name:MB;name:MB minimum share of users or pools; 0 where not named",
		"am-share": "share of the cluster's memory that AMs may hold, as maxAMShare of a queue (default 0.5)",
	},
	New: func(p policy.Params) (policy.Policy, error) {
		o, err := New(p)
		return policy.Policy{Order: o}, err
	},
}

// New builds a plain fair order from its parameters.
func New(p policy.Params) (policy.Order, error) {
	r := policy.Reader{Params: p}
	by := r.Choice("by", "job", "user", "pool", "queue")
	s := scale{drf: r.Second("resource", "memory", "drf")}
	weights, minimums := byName(r.Table("weights", policy.Above0, "a:2;b:1")), byName(r.Table("min", 0, "a:1024;b:512"))
	share := r.Share("am-share", 0.5)
	if r.Err != nil {
		return nil, r.Err
	}
	s.resize(policy.Cluster{})
	if by == "job" {
		if len(weights)+len(minimums) > 0 {
			return nil, errors.New("weights and min are for users or pools: add by=user or by=pool")
		}
		return &amLimit{plain: newByJob(s), share: share}, nil
	}
	return &amLimit{plain: &byGroup{scale: s, user: by == "user", weights: weights, minimums: minimums, names: map[string]int32{}}, share: share}, nil
}

func byName(list []policy.Named) map[string]float64 {
	m := make(map[string]float64, len(list))
	for _, n := range list {
		m[n.Name] = n.Value
	}
	return m
}
