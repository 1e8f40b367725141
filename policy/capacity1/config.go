package capacity1

import (
	"errors"
	"fmt"
	"math"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// Defaults of settings that are left 0.
const (
	DefaultMinimumUserLimitPercent = 100
	DefaultUserLimitFactor         = 1
	DefaultMaxActiveTasks          = 200_000
	DefaultMaxActiveTasksPerUser   = 100_000
	DefaultAcceptFactor            = 10
	DefaultMaxSystemJobs           = 3000
	DefaultPollInterval            = 5 * unit.Second
	DefaultWorkerThreads           = 5
	DefaultTasksPerHeartbeat       = math.MaxInt16
)

// Config holds all settings. The zero value is Hadoop's default: one queue that has the whole cluster.
type Config struct {
	Queues   []Queue // in file order, the tie-break between queues that have used nothing yet
	AnyQueue bool    // the only queue takes every job, whatever queue the job names. Implied where no queue is given

	MaxSystemJobs       int       // maximum-system-jobs: jobs initialised at once, over all queues. 0: 3000
	PollInterval        unit.Time // init-poll-interval. 0: 5 s
	WorkerThreads       int       // init-worker-threads. 0: 5. Ignored: initialisation takes no time here
	TasksPerHeartbeat   int       // maximum-tasks-per-heartbeat: maps that a node is given at once. 0: 32767
	TasksAfterOffSwitch int       // maximum-tasks-after-offswitch: maps that may follow one far from its input in a heartbeat. Default 0

	// Extensions of the original scheduler.

	QueueOrder          QueueOrder    // nil: LeastLoaded
	ActiveUsers         ActiveUsers   // default UsersWithTasks
	OffSwitch           OffSwitchRule // default PastNodes
	LocalityWaitFactor  float64       // of the rule PastMissed. 0: 1
	NodeDelay           int           // scheduling opportunities a job skips for a node with its input before it accepts the rack (MAPREDUCE-4305). 0: none
	RackDelay           int           // opportunities after which it accepts any node. 0: by OffSwitch. Not less than NodeDelay
	ReducesPerHeartbeat int           // 0: 1. -1: as many as the node has slots
	AvoidBusyNodes      bool          // a reduce skips a node that runs one while another has none
	Borrow              bool          // a queue may exceed its maximum by the capacities of queues that have no job
}

// Queue is one queue's settings. 0 means Hadoop's default; a MaxCapacity of -1 is no limit.
type Queue conf.Capacity1Queue

// ActiveUsers says who counts as a user that competes for a queue's slots.
type ActiveUsers uint8

// Ways to count.
const (
	UsersWithTasks ActiveUsers = iota // users with tasks of the kind at hand to start
	UsersWithJobs                     // users with any job in the queue, as older versions have it
)

// OffSwitchRule says when a job may start a map outside the racks that hold its input.
type OffSwitchRule uint8

// Rules. The count is of scheduling opportunities since the job's last local task.
const (
	PastNodes  OffSwitchRule = iota // count > nodes in the cluster
	PastMissed                      // count > min(maps left to start, nodes) * LocalityWaitFactor, as in Hadoop's code
)

// Limits are derived from a queue's settings and maximum-system-jobs.
type Limits struct {
	InitJobs, InitJobsPerUser     int64 // initialised at once
	AcceptJobs, AcceptJobsPerUser int64 // waiting and initialised
}

// Limits computes them. The queue's settings must be complete (see Config.Complete).
func (q *Queue) Limits(maxSystemJobs int) Limits {
	jobs := float64(maxSystemJobs) * q.Capacity / 100
	l := Limits{InitJobs: roundUp(jobs), InitJobsPerUser: roundUp(jobs * q.MinimumUserLimitPercent / 100)}
	l.AcceptJobs = l.InitJobs * int64(q.AcceptFactor)
	l.AcceptJobsPerUser = l.InitJobsPerUser * int64(q.AcceptFactor)
	return l
}

// slack absorbs floating-point error in numbers that should be whole.
const slack = 1e-9

func roundUp(x float64) int64   { return int64(math.Ceil(x - slack)) }
func roundDown(x float64) int64 { return int64(math.Floor(x + slack)) }

const (
	most      = math.MaxInt32
	maxFactor = 1e6
)

// Complete fills in the defaults and validates, as Hadoop does at start.
func (c Config) Complete() (Config, error) {
	if len(c.Queues) == 0 {
		c.Queues, c.AnyQueue = []Queue{{Name: "default", Capacity: 100}}, true
	}
	if c.AnyQueue && len(c.Queues) > 1 {
		return c, fmt.Errorf("one queue is to take every job, and there are %d", len(c.Queues))
	}
	c.Queues = append([]Queue(nil), c.Queues...)
	fill(&c.MaxSystemJobs, DefaultMaxSystemJobs)
	fill(&c.PollInterval, DefaultPollInterval)
	fill(&c.WorkerThreads, DefaultWorkerThreads)
	fill(&c.TasksPerHeartbeat, DefaultTasksPerHeartbeat)
	fill(&c.LocalityWaitFactor, 1)
	fill(&c.ReducesPerHeartbeat, 1)
	if c.QueueOrder == nil {
		c.QueueOrder = LeastLoaded
	}
	if err := c.check(); err != nil {
		return c, err
	}
	if err := shareRest(c.Queues); err != nil {
		return c, err
	}
	names := map[string]bool{}
	for i := range c.Queues {
		q := &c.Queues[i]
		if q.Name == "" {
			return c, fmt.Errorf("queue %d has no name", i+1)
		}
		if names[q.Name] {
			return c, fmt.Errorf("queue %s is named twice", q.Name)
		}
		names[q.Name] = true
		if err := q.complete(); err != nil {
			return c, fmt.Errorf("queue %s: %w", q.Name, err)
		}
	}
	return c, nil
}

func fill[T comparable](at *T, otherwise T) {
	var zero T
	if *at == zero {
		*at = otherwise
	}
}

func (c *Config) check() error {
	for _, n := range []struct {
		name         string
		value, least int
	}{
		{"maximum-system-jobs", c.MaxSystemJobs, 1}, {"init-worker-threads", c.WorkerThreads, 1},
		{"maximum-tasks-per-heartbeat", c.TasksPerHeartbeat, 1}, {"maximum-tasks-after-offswitch", c.TasksAfterOffSwitch, 0},
		{"node-delay", c.NodeDelay, 0}, {"rack-delay", c.RackDelay, 0}, {"reduces-per-heartbeat", c.ReducesPerHeartbeat, -1},
	} {
		if n.value < n.least || n.value > most {
			return fmt.Errorf("%s is %d: want %d to %d", n.name, n.value, n.least, most)
		}
	}
	switch {
	case c.PollInterval < unit.Millisecond || c.PollInterval > unit.Day:
		return fmt.Errorf("init-poll-interval is %v: want a millisecond to a day", c.PollInterval)
	case !(c.LocalityWaitFactor > 0 && c.LocalityWaitFactor <= 1):
		return fmt.Errorf("locality-wait-factor is %v: want more than 0 and at most 1", c.LocalityWaitFactor)
	case c.RackDelay > 0 && c.RackDelay < c.NodeDelay:
		return fmt.Errorf("rack-delay is %d, less than node-delay %d: a job would take any node before it takes its rack", c.RackDelay, c.NodeDelay)
	case c.ActiveUsers > UsersWithJobs:
		return fmt.Errorf("active users are counted in way %d, which is not known", c.ActiveUsers)
	case c.OffSwitch > PastMissed:
		return fmt.Errorf("off-switch rule %d is not known", c.OffSwitch)
	}
	return nil
}

// shareRest gives queues without a capacity equal parts of what the others leave, and checks the sum.
func shareRest(queues []Queue) error {
	sum, without := 0.0, 0
	for i := range queues {
		if queues[i].Capacity == 0 {
			without++
		}
		sum += queues[i].Capacity
	}
	if sum > 100+1e-6 {
		return fmt.Errorf("the capacities of the queues sum to %.6g: want at most 100", sum)
	}
	if without == 0 {
		return nil
	}
	part := (100 - sum) / float64(without)
	for i := range queues {
		if queues[i].Capacity != 0 {
			continue
		}
		if part < 1 {
			return fmt.Errorf("queue %s has no capacity, and the others leave %.6g percent for %d such queues: want at least 1 for each",
				queues[i].Name, 100-sum, without)
		}
		queues[i].Capacity = part
	}
	return nil
}

func (q *Queue) complete() error {
	if q.MaxCapacity == 0 {
		q.MaxCapacity = -1
	}
	fill(&q.MinimumUserLimitPercent, DefaultMinimumUserLimitPercent)
	fill(&q.UserLimitFactor, DefaultUserLimitFactor)
	fill(&q.MaxActiveTasks, DefaultMaxActiveTasks)
	fill(&q.MaxActiveTasksPerUser, min(DefaultMaxActiveTasksPerUser, q.MaxActiveTasks))
	fill(&q.AcceptFactor, DefaultAcceptFactor)
	if err := q.check(); err != nil {
		return err
	}
	switch {
	case q.MaxActiveTasks < 1 || q.MaxActiveTasks > most:
		return fmt.Errorf("maximum-initialized-active-tasks is %d: want 1 to %d", q.MaxActiveTasks, most)
	case q.MaxActiveTasksPerUser < 1:
		return fmt.Errorf("maximum-initialized-active-tasks-per-user is %d: want at least 1", q.MaxActiveTasksPerUser)
	case q.MaxActiveTasksPerUser > q.MaxActiveTasks:
		return fmt.Errorf("maximum-initialized-active-tasks-per-user is %d, more than the queue's maximum-initialized-active-tasks %d",
			q.MaxActiveTasksPerUser, q.MaxActiveTasks)
	case q.AcceptFactor < 1 || q.AcceptFactor > most:
		return fmt.Errorf("init-accept-jobs-factor is %d: want 1 to %d", q.AcceptFactor, most)
	}
	return nil
}

// check validates the settings that can change during a run.
func (q *Queue) check() error {
	switch {
	case !(q.Capacity >= 1 && q.Capacity <= 100):
		return fmt.Errorf("capacity is %v: want 1 to 100 percent", q.Capacity)
	case q.MaxCapacity != -1 && !(q.MaxCapacity > 0 && q.MaxCapacity <= 100):
		return fmt.Errorf("maximum-capacity is %v: want the capacity to 100 percent, or -1 for no limit", q.MaxCapacity)
	case q.MaxCapacity != -1 && q.MaxCapacity < q.Capacity:
		return fmt.Errorf("maximum-capacity is %v, less than the capacity %v", q.MaxCapacity, q.Capacity)
	case !(q.MinimumUserLimitPercent > 0 && q.MinimumUserLimitPercent <= 100):
		return fmt.Errorf("minimum-user-limit-percent is %v: want more than 0 and at most 100", q.MinimumUserLimitPercent)
	case !(q.UserLimitFactor > 0 && q.UserLimitFactor <= maxFactor):
		return errors.New("user-limit-factor is " + fmt.Sprint(q.UserLimitFactor) + ": want more than 0 and at most 1e6")
	}
	return nil
}
