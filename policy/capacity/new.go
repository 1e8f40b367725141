package capacity

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/capacity/arith"
	"github.com/yardmaster/yardmaster/policy/capacity/queues"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// New builds the policy of a capacity-scheduler.xml.
func New(c *conf.Capacity) (policy.Policy, error) {
	if c == nil || c.Root == nil {
		return policy.Policy{}, errors.New("capacity: no queues are configured")
	}
	o := &Order{step: c.MinAllocation, maxPriority: c.MaxApplicationPriority}
	o.MaxApps, o.GlobalQueueMax = c.MaximumApplications, c.GlobalQueueMaxApplications
	if c.Dominant {
		o.configured = arith.Dominant
	}
	if o.step.Mem < 1 || o.step.Cores < 1 {
		return policy.Policy{}, fmt.Errorf("capacity: the minimum allocation is [%v]: it must be positive", o.step)
	}
	o.MinA, o.Calc, o.frontier.Before = o.step, o.configured, o.readyApps.less
	o.Build(c.Root, nil, newQueue)
	o.recompute()
	return policy.Policy{Order: o, NotModelled: slices.Concat(c.NotModelled, c.HeartbeatOnly, c.Warnings)}, nil
}

// addLeaf creates a queue below the root on first use, for the scheduler without a file.
func (o *Order) addLeaf(name string, share conf.QueueShare) *queue {
	leaf := *o.plain
	q := newQueue(queues.Queue[*queue]{Path: "root." + name, Name: name, Parent: o.Root, Share: arith.Share{Capacity: share}, Leaf: &leaf}, nil)
	o.Add(q)
	return q
}

// Entry is the CapacityScheduler without a file.
var Entry = policy.Entry{
	Name:  "capacity",
	Title: "YARN's CapacityScheduler: queues with guaranteed shares, first in first out inside each",
	Params: map[string]string{
		"queues":                     "shares of queues, as a:60;b:40; queues not named have share 1 (default: all equal)",
		"user-limit-factor":          "max a user may hold, in multiples of the queue's guarantee; -1: no limit (default)",
		"minimum-user-limit-percent": "min share of a queue guaranteed to a user when users compete (default 100: first come, first served)",
		"am-percent":                 "part of a queue that AMs may hold, 0 to 1 (default 0.5)",
		"ordering":                   "order of jobs in a queue: fifo (default) or fair",
		"calculator":                 "what counts: default (memory) or dominant (the largest share of memory, vcores and named resources)",
		"minimum-allocation-mb":      "step that limits are rounded to, in MiB (default 1; YARN's is 1024, to which it also rounds every ask)",
	},
	New: newPlain,
}

func newPlain(p policy.Params) (policy.Policy, error) {
	r := policy.Reader{Params: p}
	pl := &arith.Leaf{
		UserPercent: float32(r.Between("minimum-user-limit-percent", 100, 0, 100)),
		UserFactor:  float32(r.Between("user-limit-factor", -1, -1, 1e6)),
		AMPercent:   float32(r.Between("am-percent", 0.5, 0, 1)),
		OwnMaxApps:  -1,
		Fair:        r.Second("ordering", "fifo", "fair"),
	}
	if pl.UserFactor < 0 {
		pl.UserFactor = -1
	}
	dominant := r.Second("calculator", "default", "dominant")
	step := unit.Resources{Mem: int64(float32(r.Between("minimum-allocation-mb", 1, 1, 1<<30))), Cores: 1}
	o := &Order{step: step, maxPriority: math.MaxInt, plain: pl}
	o.MinA, o.MaxApps = step, -1
	whole := arith.Share{Capacity: conf.QueueShare{Kind: conf.Percent, Value: 100}}
	o.Add(newQueue(queues.Queue[*queue]{Path: "root", Name: "root", Share: whole}, nil))
	if dominant {
		o.configured = arith.Dominant
	}
	o.Calc, o.frontier.Before = o.configured, o.readyApps.less
	for _, q := range r.Table("queues", policy.Above0, "a:60;b:40") {
		name := strings.TrimPrefix(q.Name, "root.")
		switch {
		case o.Named(name):
			r.Keep(fmt.Errorf("queues=%q: %s is named twice", p["queues"], name))
		case name == "" || q.Value > 1e9:
			r.Keep(fmt.Errorf("queues=%q: want names, each with a share of at most 1e9; write a:60;b:40", p["queues"]))
		}
		o.addLeaf(name, conf.QueueShare{Kind: conf.Weight, Value: float32(q.Value)})
	}
	if r.Err != nil {
		return policy.Policy{}, r.Err
	}
	o.recompute()
	return policy.Policy{Order: o}, nil
}
