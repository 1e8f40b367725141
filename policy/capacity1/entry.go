package capacity1

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// Entry is the scheduler by name and parameters.
var Entry = policy.Entry{
	Name:  "capacity1",
	Title: "Hadoop 1's Capacity Scheduler: queues with shares of map slots and of reduce slots",
	Params: map[string]string{
		"queues":                                    "capacities in percent, as a:70;b:30 (default: one queue that takes every job)",
		"maximum-capacity":                          "max a queue may hold, in percent; capacity: as much as its share; -1: no limit (default). " + perQueue,
		"minimum-user-limit-percent":                "share of a queue that a user is limited to when users compete (default 100: first come, first served). " + perQueue,
		"user-limit-factor":                         "max one user may hold, in multiples of the queue's share (default 1). " + perQueue,
		"supports-priority":                         "whether jobs go by priority: true or false (default). " + perQueue,
		"maximum-initialized-active-tasks":          "tasks of a queue's initialised jobs (default 200000). " + perQueue,
		"maximum-initialized-active-tasks-per-user": "the same of one user (default 100000). " + perQueue,
		"init-accept-jobs-factor":                   "jobs that a queue accepts, in multiples of those it may initialise (default 10). " + perQueue,
		"maximum-system-jobs":                       "jobs initialised at once, shared out by capacity (default 3000)",
		"init-poll-interval":                        "polling interval for jobs to initialise, in milliseconds (default 5000)",
		"init-worker-threads":                       "threads that initialise jobs (default 5); ignored",
		"maximum-tasks-per-heartbeat":               "maps that a node is given in one heartbeat (default 32767)",
		"maximum-tasks-after-offswitch":             "maps that may follow one far from its input in a heartbeat (default 0)",
		"queue-order":                               "which queue is asked first: least-loaded (default), equal-running or most-loaded",
		"active-users":                              "who shares a queue: users with tasks to start (default: tasks) or with any job (jobs)",
		"off-switch":                                "a map may run off switch when its job had more scheduling opportunities than: nodes (default) or missed, the smaller of nodes and maps left",
		"locality-wait-factor":                      "multiplier of missed (default 1)",
		"node-delay":                                "scheduling opportunities a job skips for a node with its input before it accepts the rack (default 0)",
		"rack-delay":                                "scheduling opportunities after which it accepts any node (default 0: by off-switch)",
		"reduces-per-heartbeat":                     "reduces that a node is given in one heartbeat (default 1; -1: all it has slots for)",
		"avoid-busy-nodes":                          "whether a reduce avoids nodes that run one: true or false (default)",
		"borrow":                                    "whether a queue may exceed its maximum by the shares of queues without jobs: true or false (default)",
	},
	New: func(p policy.Params) (policy.Policy, error) {
		c, err := fromParams(p)
		if err != nil {
			return policy.Policy{}, err
		}
		return New(c)
	},
}

const perQueue = "One value for all queues, or a:V;b:W"

// orders are the queue orders by name; the first is the default.
var orders = []struct {
	name string
	by   QueueOrder
}{{"least-loaded", LeastLoaded}, {"equal-running", EqualRunning}, {"most-loaded", MostLoaded}}

func fromParams(p policy.Params) (Config, error) {
	r := paramReader{policy.Reader{Params: p}}
	c := Config{
		Queues:              r.queues(),
		AnyQueue:            p["queues"] == "",
		MaxSystemJobs:       r.whole("maximum-system-jobs", 1),
		PollInterval:        unit.Millisecond * unit.Time(r.whole("init-poll-interval", 1)),
		WorkerThreads:       r.whole("init-worker-threads", 1),
		TasksPerHeartbeat:   r.whole("maximum-tasks-per-heartbeat", 1),
		TasksAfterOffSwitch: r.whole("maximum-tasks-after-offswitch", 0),
		QueueOrder:          orders[r.choice("queue-order", orders[0].name, orders[1].name, orders[2].name)].by,
		ActiveUsers:         ActiveUsers(r.choice("active-users", "tasks", "jobs")),
		OffSwitch:           OffSwitchRule(r.choice("off-switch", "nodes", "missed")),
		NodeDelay:           r.whole("node-delay", 0),
		RackDelay:           r.whole("rack-delay", 0),
		ReducesPerHeartbeat: r.whole("reduces-per-heartbeat", -1),
		AvoidBusyNodes:      r.Second("avoid-busy-nodes", "false", "true"),
		LocalityWaitFactor:  r.Float("locality-wait-factor", 1),
		Borrow:              r.Second("borrow", "false", "true"),
	}
	if c.LocalityWaitFactor == 0 || p["reduces-per-heartbeat"] == "0" {
		r.Keep(errors.New("locality-wait-factor and reduces-per-heartbeat cannot be 0"))
	}
	return c, r.Err
}

// paramReader reads what only this policy has.
type paramReader struct{ policy.Reader }

// whole reads a whole number that is not below a minimum; absent: 0, which stands for the default.
func (r *paramReader) whole(key string, low int) int {
	v := r.Int(key, 0)
	if _, given := r.Params[key]; given && (v < low || v > most) {
		r.Keep(fmt.Errorf("%s=%d: want %d to %d", key, v, low, most))
	}
	return v
}

// choice reads the index of one of several words.
func (r *paramReader) choice(key string, words ...string) int {
	return max(slices.Index(words, r.Choice(key, words...)), 0)
}

// queues reads the capacities, then each setting of queues.
func (r *paramReader) queues() []Queue {
	var queues []Queue
	for _, q := range r.Table("queues", policy.Above0, "a:70;b:30") {
		queues = append(queues, Queue{Name: q.Name, Capacity: q.Value})
	}
	if len(queues) == 0 {
		queues = []Queue{{Name: "default", Capacity: 100}}
	}
	number := func(at func(*Queue) *float64) func(*Queue, string) error {
		return func(q *Queue, text string) error {
			v, err := strconv.ParseFloat(text, 64)
			if err != nil || v == 0 {
				return errors.New("not a number other than 0")
			}
			*at(q) = v
			return nil
		}
	}
	whole := func(at func(*Queue) *int) func(*Queue, string) error {
		return func(q *Queue, text string) error {
			v, err := strconv.Atoi(text)
			if err != nil || v < 1 {
				return errors.New("not a whole number of at least 1")
			}
			*at(q) = v
			return nil
		}
	}
	maximum := number(func(q *Queue) *float64 { return &q.MaxCapacity })
	for _, s := range []struct {
		key string
		set func(*Queue, string) error
	}{
		{"maximum-capacity", func(q *Queue, text string) error {
			if text == "capacity" {
				q.MaxCapacity = q.Capacity
				return nil
			}
			return maximum(q, text)
		}},
		{"minimum-user-limit-percent", number(func(q *Queue) *float64 { return &q.MinimumUserLimitPercent })},
		{"user-limit-factor", number(func(q *Queue) *float64 { return &q.UserLimitFactor })},
		{"supports-priority", func(q *Queue, text string) (err error) {
			if q.SupportsPriority = text == "true"; !q.SupportsPriority && text != "false" {
				return errors.New("want true or false")
			}
			return nil
		}},
		{"maximum-initialized-active-tasks", whole(func(q *Queue) *int { return &q.MaxActiveTasks })},
		{"maximum-initialized-active-tasks-per-user", whole(func(q *Queue) *int { return &q.MaxActiveTasksPerUser })},
		{"init-accept-jobs-factor", whole(func(q *Queue) *int { return &q.AcceptFactor })},
	} {
		if text, given := r.Params[s.key]; given {
			r.each(s.key, text, queues, s.set)
		}
	}
	return queues
}

// each sets one value for all queues, or a value for each one named.
func (r *paramReader) each(key, text string, queues []Queue, set func(*Queue, string) error) {
	if !strings.Contains(text, ":") {
		for i := range queues {
			if err := set(&queues[i], strings.TrimSpace(text)); err != nil {
				r.Keep(fmt.Errorf("%s=%q: %w", key, text, err))
			}
		}
		return
	}
	for _, part := range strings.Split(text, ";") {
		name, value, _ := strings.Cut(part, ":")
		i := slices.IndexFunc(queues, func(q Queue) bool { return q.Name == strings.TrimSpace(name) })
		if i < 0 {
			r.Keep(fmt.Errorf("%s=%q: no queue is named %q in queues", key, text, strings.TrimSpace(name)))
			return
		}
		if err := set(&queues[i], strings.TrimSpace(value)); err != nil {
			r.Keep(fmt.Errorf("%s=%q: %q: %w", key, text, part, err))
		}
	}
}

// FromConf builds the policy of a Hadoop 1 capacity-scheduler.xml.
func FromConf(f *conf.Capacity1) (policy.Policy, error) {
	c := Config{
		MaxSystemJobs: f.MaxSystemJobs, PollInterval: f.PollInterval, WorkerThreads: f.WorkerThreads,
		TasksPerHeartbeat: f.TasksPerHeartbeat, TasksAfterOffSwitch: f.TasksAfterOffSwitch,
	}
	for _, q := range f.Queues {
		c.Queues = append(c.Queues, Queue(q))
	}
	p, err := New(c)
	p.NotModelled = append(append(p.NotModelled, f.NotModelled...), f.Warnings...)
	return p, err
}
