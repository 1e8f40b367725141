package conf

import (
	"io"
	"math"
	"strings"

	"github.com/yardmaster/yardmaster/unit"
)

// Prefix1 starts the name of every setting of Hadoop 1's Capacity Scheduler.
const Prefix1 = "mapred.capacity-scheduler."

const (
	queuePrefix1 = Prefix1 + "queue."
	queueNames1  = "mapred.queue.names"
)

// Capacity1 is a capacity-scheduler.xml of Hadoop 1, with its documented defaults filled in.
type Capacity1 struct {
	File   string
	Queues []Capacity1Queue // as mapred.queue.names lists them; without it, in the order in which the file first names them

	MaxSystemJobs       int
	PollInterval        unit.Time
	WorkerThreads       int // 0: not given, which means 5
	TasksPerHeartbeat   int
	TasksAfterOffSwitch int

	Remarks
}

// Capacity1Queue is one queue of it.
type Capacity1Queue struct {
	Name                    string
	Pos                     Pos     // where the file first names it
	Capacity                float64 // percent; where the file gives none, an equal part of what the others leave
	MaxCapacity             float64 // percent; -1: no limit
	MinimumUserLimitPercent float64
	UserLimitFactor         float64
	SupportsPriority        bool
	MaxActiveTasks          int
	MaxActiveTasksPerUser   int
	AcceptFactor            int
}

// Settings of a queue and of the scheduler as a whole, without their prefixes, and how they are handled.
var (
	queueSettings1 = settings{
		modelled: `capacity maximum-capacity minimum-user-limit-percent user-limit-factor supports-priority maximum-initialized-active-tasks
			maximum-initialized-active-tasks-per-user init-accept-jobs-factor`,
		notModelled: `maximum-initialized-jobs-per-user reclaim-time-limit guaranteed-capacity`,
	}
	schedulerSettings1 = settings{
		modelled: `maximum-system-jobs init-poll-interval init-worker-threads maximum-tasks-per-heartbeat maximum-tasks-after-offswitch
			default-supports-priority default-minimum-user-limit-percent default-user-limit-factor default-maximum-active-tasks-per-queue
			default-maximum-active-tasks-per-user default-init-accept-jobs-factor`,
		notModelled: `default-maximum-initialized-jobs-per-user default-reclaim-time-limit reclaimCapacity.interval task.*`,
	}
)

// ReadCapacity1 parses a capacity-scheduler.xml of Hadoop 1. The name is used in errors and warnings. mapred.queue.names, which
// belongs in mapred-site.xml, is taken if it is in the same file.
func ReadCapacity1(r io.Reader, name string) (*Capacity1, error) {
	props, err := ReadProperties(r, name)
	if err != nil {
		return nil, err
	}
	b := &capacity1Reader{values: values{props: props}, c: &Capacity1{File: name}, at: map[string]int{}}
	if err := b.queues(); err != nil {
		return nil, err
	}
	b.scheduler()
	for i := range b.c.Queues {
		b.queue(&b.c.Queues[i])
	}
	if b.err != nil {
		return nil, b.err
	}
	if err := b.shareRest(); err != nil {
		return nil, err
	}
	if err := b.checkMaxima(); err != nil {
		return nil, err
	}
	b.c.Warnings = append(b.c.Warnings, props.Warnings...)
	for _, p := range props.List {
		b.classify(p)
	}
	return b.c, nil
}

type capacity1Reader struct {
	values
	c  *Capacity1
	at map[string]int // queues by name

	otherwise Capacity1Queue // defaults of queues
}

func (b *capacity1Reader) queues() error {
	add := func(name string, p *Property) error {
		if len(b.c.Queues) >= MaxQueues {
			return p.Pos.Errorf("more than %d queues", MaxQueues)
		}
		b.at[name] = len(b.c.Queues)
		b.c.Queues = append(b.c.Queues, Capacity1Queue{Name: name, Pos: p.Pos})
		return nil
	}
	if list := b.props.Get(queueNames1); list != nil {
		for _, name := range strings.Split(list.Value, ",") {
			name = strings.TrimSpace(name)
			if name == "" {
				continue
			}
			if _, twice := b.at[name]; twice {
				return list.Pos.Errorf("%s names queue %s twice", queueNames1, shorten(name))
			}
			if err := add(name, list); err != nil {
				return err
			}
		}
		if len(b.c.Queues) == 0 {
			return list.Pos.Errorf("%s names no queue", queueNames1)
		}
		return nil
	}
	for _, p := range b.props.List {
		name, setting, ok := splitQueue1(p.Name)
		if _, known := b.at[name]; !ok || known || queueSettings1.of(setting) == unknownSetting {
			continue
		}
		if err := add(name, p); err != nil {
			return err
		}
	}
	if len(b.c.Queues) == 0 {
		return Pos{b.props.File, 1}.Errorf("no queue is named: set %sdefault.capacity to 100 for a single queue", queuePrefix1)
	}
	return nil
}

// splitQueue1 splits the name of a queue's setting. Names of queues may have dots, names of settings have none.
func splitQueue1(name string) (queue, setting string, ok bool) {
	rest, ok := strings.CutPrefix(name, queuePrefix1)
	dot := strings.LastIndexByte(rest, '.')
	if !ok || dot < 1 {
		return "", "", false
	}
	return rest[:dot], rest[dot+1:], true
}

func (b *capacity1Reader) scheduler() {
	c := b.c
	c.MaxSystemJobs = b.whole(Prefix1+"maximum-system-jobs", 3000, 1)
	c.PollInterval = unit.Millisecond * unit.Time(b.whole(Prefix1+"init-poll-interval", 5000, 1))
	if c.PollInterval > unit.Day {
		p := b.props.Get(Prefix1 + "init-poll-interval")
		b.fail(p.Pos.Errorf("%s is %s: it is in milliseconds, at most a day (86400000)", p.Name, p.Value))
	}
	c.WorkerThreads = b.whole(Prefix1+"init-worker-threads", 0, 1)
	c.TasksPerHeartbeat = b.whole(Prefix1+"maximum-tasks-per-heartbeat", math.MaxInt16, 1)
	c.TasksAfterOffSwitch = b.whole(Prefix1+"maximum-tasks-after-offswitch", 0, 0)
	b.otherwise = Capacity1Queue{
		MinimumUserLimitPercent: b.above0(Prefix1+"default-minimum-user-limit-percent", 100, 100),
		UserLimitFactor:         b.above0(Prefix1+"default-user-limit-factor", 1, maxFactor),
		SupportsPriority:        b.truth(Prefix1+"default-supports-priority", false),
		MaxActiveTasks:          b.whole(Prefix1+"default-maximum-active-tasks-per-queue", 200_000, 1),
		MaxActiveTasksPerUser:   b.whole(Prefix1+"default-maximum-active-tasks-per-user", 100_000, 1),
		AcceptFactor:            b.whole(Prefix1+"default-init-accept-jobs-factor", 10, 1),
	}
}

func (b *capacity1Reader) queue(q *Capacity1Queue) {
	key := func(s string) string { return queuePrefix1 + q.Name + "." + s }
	o := &b.otherwise
	b.double(key("capacity"), &q.Capacity, 1, 100)
	q.MaxCapacity = -1
	if b.double(key("maximum-capacity"), &q.MaxCapacity, -1, 100); q.MaxCapacity <= 0 {
		q.MaxCapacity = -1 // as in Hadoop
	}
	q.MinimumUserLimitPercent = b.above0(key("minimum-user-limit-percent"), o.MinimumUserLimitPercent, 100)
	q.UserLimitFactor = b.above0(key("user-limit-factor"), o.UserLimitFactor, maxFactor)
	q.SupportsPriority = b.truth(key("supports-priority"), o.SupportsPriority)
	q.MaxActiveTasks = b.whole(key("maximum-initialized-active-tasks"), o.MaxActiveTasks, 1)
	perUser := key("maximum-initialized-active-tasks-per-user")
	q.MaxActiveTasksPerUser = b.whole(perUser, min(o.MaxActiveTasksPerUser, q.MaxActiveTasks), 1)
	if p := b.props.Get(perUser); p != nil && q.MaxActiveTasksPerUser > q.MaxActiveTasks {
		b.fail(p.Pos.Errorf("%s is %d, more than the queue's maximum-initialized-active-tasks %d", p.Name, q.MaxActiveTasksPerUser, q.MaxActiveTasks))
	}
	q.AcceptFactor = b.whole(key("init-accept-jobs-factor"), o.AcceptFactor, 1)
}

// above0 reads a number above 0 and at most hi.
func (b *capacity1Reader) above0(name string, otherwise, hi float64) float64 {
	b.double(name, &otherwise, 0, hi)
	if otherwise == 0 {
		p := b.props.Get(name)
		b.fail(p.Pos.Errorf("%s is %s: it must be above 0", p.Name, shorten(p.Value)))
	}
	return otherwise
}

// shareRest gives queues without a capacity equal parts of what the others leave. It rejects capacities that exceed the
// cluster together, or leave too little.
func (b *capacity1Reader) shareRest() error {
	sum, without := 0.0, 0
	last := b.c.Queues[0].Pos
	for i := range b.c.Queues {
		q := &b.c.Queues[i]
		if p := b.props.Get(queuePrefix1 + q.Name + ".capacity"); p != nil {
			last = p.Pos
		} else {
			without++
		}
		sum += q.Capacity
	}
	if sum > 100+1e-6 {
		return last.Errorf("the capacities of the queues sum to %.6g: they must not exceed 100", sum)
	}
	part := (100 - sum) / float64(max(without, 1))
	for i := range b.c.Queues {
		q := &b.c.Queues[i]
		if q.Capacity != 0 {
			continue
		}
		if part < 1 {
			return q.Pos.Errorf("queue %s has no capacity, and the others leave %.6g percent for %d such queues: set %s%s.capacity",
				shorten(q.Name), 100-sum, without, queuePrefix1, shorten(q.Name))
		}
		q.Capacity = part
	}
	return nil
}

func (b *capacity1Reader) checkMaxima() error {
	for i := range b.c.Queues {
		q := &b.c.Queues[i]
		if q.MaxCapacity != -1 && q.MaxCapacity < q.Capacity {
			return b.props.Get(queuePrefix1+q.Name+".maximum-capacity").Pos.Errorf("queue %s has maximum-capacity %v, less than its capacity %v",
				shorten(q.Name), q.MaxCapacity, q.Capacity)
		}
	}
	return nil
}

// classify notes a setting that is ignored or unknown.
func (b *capacity1Reader) classify(p *Property) {
	c := b.c
	rest, ours := strings.CutPrefix(p.Name, Prefix1)
	if !ours {
		if p.Name != queueNames1 {
			c.notModelled(p)
		}
		return
	}
	table := schedulerSettings1
	name, setting, ofQueue := splitQueue1(p.Name)
	if ofQueue {
		rest, table = setting, queueSettings1
		if _, there := b.at[name]; !there && table.of(setting) != unknownSetting {
			c.warn(p.Pos, "%s has no effect: there is no queue %s in %s", shorten(p.Name), shorten(name), queueNames1)
			return
		}
	}
	switch table.of(rest) {
	case notModelled:
		c.notModelled(p)
	case unknownSetting:
		c.unknown(p, rest, table)
	}
}
