// Package fair shares a cluster evenly: whoever has the smallest usage relative to its entitlement is served next.
//
// # Plain form
//
// By job, a free container goes to the waiting job with the smallest usage; by user or by pool it goes first to the
// user or pool with the smallest usage/weight and then, inside it, to the job with the smallest usage. Usage is memory
// held, or (resource=drf) the dominant share: the larger of the shares of the cluster's memory and vcores. A pool that
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
// FromConf builds the queue tree of Hadoop's FairScheduler from its allocation file; see tree.go.
//
// Every order here keeps rank.Heaps of those that have work waiting: a decision is O(log n) a level, and no call
// allocates once the state has grown to the number of jobs present.
package fair

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/policy"
)

// Entry registers the policy.
var Entry = policy.Entry{
	Name:  "fair",
	Title: "equal shares by job, user or pool, with weights and minimum shares",
	Params: map[string]string{
		"by":       "who shares: job (default), user or pool (or queue, which is the same)",
		"resource": "what is shared: memory (default) or drf (dominant share of memory and vcores)",
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
	by, err := p.Choice("by", "job", "user", "pool", "queue")
	if err != nil {
		return nil, err
	}
	resource, err := p.Choice("resource", "memory", "drf")
	if err != nil {
		return nil, err
	}
	weights, err := table(p, "weights", math.SmallestNonzeroFloat64)
	if err != nil {
		return nil, err
	}
	floors, err := table(p, "min", 0)
	if err != nil {
		return nil, err
	}
	r := policy.Reader{Of: p}
	share := r.Share("am-share", 0.5)
	if r.Err != nil {
		return nil, r.Err
	}
	s := scale{drf: resource == "drf"}
	s.resize(policy.Cluster{})
	if by == "job" {
		if len(weights)+len(floors) > 0 {
			return nil, fmt.Errorf("weights and min are for users or pools: add by=user or by=pool")
		}
		return &amLimit{plain: newByJob(s), share: share}, nil
	}
	return &amLimit{plain: &byGroup{scale: s, user: by == "user", weights: weights, minimums: floors, names: map[string]int32{}}, share: share}, nil
}

// table parses "name:number;name:number", or the same with equals signs. Numbers must be >= least.
func table(p policy.Params, key string, least float64) (map[string]float64, error) {
	text := p[key]
	if text == "" {
		return nil, nil
	}
	t := map[string]float64{}
	for _, part := range strings.Split(text, ";") {
		i := strings.LastIndexAny(part, ":=")
		if i <= 0 {
			return nil, fmt.Errorf("%s: %q is not name:number", key, part)
		}
		name := strings.TrimSpace(part[:i])
		v, err := strconv.ParseFloat(strings.TrimSpace(part[i+1:]), 64)
		if err != nil || !(v >= least) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("%s: %q of %s is not a valid number", key, part[i+1:], name)
		}
		if _, twice := t[name]; twice {
			return nil, fmt.Errorf("%s: %s is named twice", key, name)
		}
		t[name] = v
	}
	return t, nil
}
