// Package live drives a policy on a cluster that shows tasks before they have a node, as Kubernetes shows pods: it holds tasks back and releases them in the
// policy's order, as far as there is room. It does no I/O and knows nothing of Kubernetes. The simulator's Kubernetes clock drives the same code in virtual time.
//
//	held ── Release ──> released ── Bind ──> bound ── End ──> over ── Gone
//	  ^                    │
//	  └───── TakeBack ─────┤        the engine holds it again
//	                       └── Strand ──> stranded        the engine cannot; Bind when it finds a node after all
//
// Room is one sum over the nodes, less what is released and not bound yet: a released task may still find no node, because of taints, affinity or
// fragmentation. Its shape is then parked: no task that is placed alike is released until something changes, and then one, as a trial, after a pause
// that doubles. Parked tasks are not pending to the policy, so they hold up nobody.
//
// A job that lacks room at its turn lets smaller ones pass. After policy.GangPatience those behind it leave room free for it. A gang is released whole or not at
// all.
//
// What survives a restart is what the cluster shows, and Saved: the order of arrival, the service of tasks that are no longer visible, and what the policy
// itself saves.
package live

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

// Gives is what this engine gives policies.
const Gives = policy.Timers | policy.Shifts

const (
	// DefaultWindow is how many released tasks may be without a node.
	DefaultWindow = 256
	// linger is how long a job without an owner stays without tasks before it leaves: its next task may be on its way.
	linger = 30 * unit.Second
	// lookahead is how many jobs in a row may lack room before the rest are not asked. A user may have ofUser of them: the user's others are passed over,
	// so that nobody's jobs stop everybody, up to walk.
	lookahead, ofUser, walk = 1000, 100, 20_000
	// again is how many refused jobs are asked for again at a time, when others have left.
	again = 64
	// bindings of a task may fail before it waits as if it had found no node.
	bindings = 3
	// A parked shape is tried again after firstPause, then after twice as long, up to lastPause.
	firstPause, lastPause = unit.Second, 5 * unit.Minute
)

// State of a task as the cluster shows it.
type State uint8

// States.
const (
	Held     State = iota
	Released       // free to be placed, without a node
	Bound
	Over
	stranded
)

// Job describes the job of a task. That of a job's first task counts.
type Job struct {
	Key, User, Queue, Class string
	Priority                int
	Submitted, Deadline     unit.Time
	Tasks                   int64 // in all; 0: unknown
	Owned                   bool  // its owner says when it leaves: see JobEnded. Otherwise it leaves a while after its last task
}

// Task is a pod.
type Task struct {
	ID, Name string
	Stage    string         // its role in the job
	Shape    string         // tasks of a shape are placed alike: if one finds no node, the others find none
	Size     unit.Resources //
	Gang     int64          // tasks of the stage that start together; 0 or 1: no gang
	Created  unit.Time
	Done     bool  // of a task that was over before Start: it succeeded
	Ref      any   // the engine's
	Group    int64 // tasks of a gang that were released together, and have to start together, have the same; otherwise 0
}

// Config is what an engine sets.
type Config struct {
	Window int              // 0: DefaultWindow
	Now    func() unit.Time // counted from a start of the engine's own: see package policy
	// Log, if set, is called for every change of a task, and with an empty one when a job leaves. It must not call the core.
	Log func(now unit.Time, what string, job string, t *Task)
}

// Core is a policy and what it decides about. It is safe for concurrent use.
type Core struct {
	mu     sync.Mutex
	pol    policy.Policy
	fresh  func() (policy.Policy, error)
	window int
	clock  func() unit.Time
	logTo  func(now unit.Time, what string, job string, t *Task)

	started bool
	now     unit.Time
	tick    unit.Time // when the policy's timer is due

	jobs    map[string]*job
	byIndex []*job
	spare   []int32
	absent  map[string]SavedJob // jobs of a former run without tasks
	nextSeq int64
	leaving []departure
	refused []*job // by the policy, in the order in which it is asked again
	toAsk   int    // of refused, those that are asked again since a job has left
	tasks   map[string]*task
	shapes  map[string]*shape
	parked  map[*shape]bool
	retry   unit.Time // no parked shape opens before

	ledger
	held, outstanding int
	sizes             map[unit.Resources]int64 // pending tasks, by size
	least             unit.Resources           // no pending task asks for less of any component
	removed           int                      // sizes that are gone since least was computed

	seq      int64
	event    policy.Event
	try      func(*policy.Job) policy.Verdict
	passed   int
	skipped  int            // because of ofUser
	lacking  map[string]int // jobs that lack room, by user
	reserved unit.Resources // what those behind a job that has lacked room for long leave to it
	gave     []Task
	counted  Stats
}

type job struct {
	Job
	view    policy.Job
	stages  []stage           // as view.Stages
	in      [stranded + 1]int // visible tasks, by state
	tasks   int               // held, released, bound or stranded
	known   int64             // tasks that have been seen
	gone    unit.Time         // container-time of tasks that are no longer visible
	front   int               // no stage before it is open
	arrived bool
	refused error     // by the policy
	ended   bool      // says its owner
	idle    unit.Time // since when it has no tasks
	order   int64     // of arrival, as saved; negative: unknown
	lacks   unit.Time // since when it lacks room at its turn; 0: it does not
}

type stage struct {
	key     string
	shape   *shape
	name    string // of the shape
	waiting queue
	open    int64 // of these, tasks that may start now
	tight   bool  // the sum of all room is not enough to go by
}

type task struct {
	Task
	job     *job
	stage   int
	node    *node
	start   unit.Time // since it counts as running
	earlier unit.Time // how long it had run before that
	spent   unit.Time // of what is over: how long it held its node
	seq     int64     // number of its release
	failed  int       // bindings
	state   State
	queued  bool // it has an entry in the queue of its stage
	trial   bool // of its parked shape
}

type departure struct {
	job *job
	at  unit.Time
}

// Stats are counts for metrics.
type Stats struct {
	Jobs, Refused, Held, Released, Bound, Stranded, Parked int   // now; Parked: shapes
	Releases, TakenBack, Strandings, Asked                 int64 // since the start; Asked: how often the policy was asked for the next job
}

// New returns a core without nodes and tasks. It refuses a policy that needs what cannot be had here.
func New(fresh func() (policy.Policy, error), c Config) (*Core, error) {
	core := &Core{
		fresh: fresh, window: c.Window, clock: c.Now, logTo: c.Log, jobs: map[string]*job{}, tasks: map[string]*task{}, shapes: map[string]*shape{}, parked: map[*shape]bool{}, lacking: map[string]int{}, retry: unit.Never,
		sizes: map[unit.Resources]int64{}, ledger: ledger{nodes: map[string]*node{}, others: map[string]other{}, fit: map[unit.Resources]bool{}},
	}
	if core.window <= 0 {
		core.window = DefaultWindow
	}
	core.try = core.serve
	var err error
	core.pol, err = core.make(fresh)
	return core, err
}

func (c *Core) make(fresh func() (policy.Policy, error)) (policy.Policy, error) {
	p, err := fresh()
	if err != nil {
		return p, err
	}
	return p, p.Check("Kubernetes", Gives)
}

// step advances the policy's time, which never goes back.
func (c *Core) step() unit.Time {
	c.now = max(c.now, c.clock())
	return c.now
}

func (c *Core) log(what string, t *task) {
	if c.logTo != nil {
		c.logTo(c.now, what, t.job.Key, &t.Task)
	}
}

// Saved is what survives a restart.
type Saved struct {
	Jobs   map[string]SavedJob `json:"jobs"`
	Policy []byte              `json:"policy,omitempty"` // see policy.Keeper
}

// SavedJob is what survives of a job.
type SavedJob struct {
	Order int64     `json:"order"`          // of arrival
	Gone  unit.Time `json:"gone,omitempty"` // container-time of its tasks that are no longer visible
}

// Save returns what a restart needs besides what the cluster shows.
func (c *Core) Save() (*Saved, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &Saved{Jobs: map[string]SavedJob{}}
	for key, j := range c.jobs {
		s.Jobs[key] = SavedJob{j.order, j.gone}
	}
	k, keeps := c.pol.Order.(policy.Keeper)
	if !keeps || !c.started {
		return s, nil
	}
	var err error
	s.Policy, err = k.Save(c.step())
	return s, err
}

// Start begins to decide. Everything seen before is announced to the policy as at a restart. saved may be nil. What the policy refuses to load is reported; the
// core has then started without it.
func (c *Core) Start(saved *Saved) (refused error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.started {
		return nil
	}
	now := c.step()
	if saved != nil {
		c.absent = maps.Clone(saved.Jobs)
		for key, s := range saved.Jobs {
			c.nextSeq = max(c.nextSeq, s.Order+1)
			if j := c.jobs[key]; j != nil {
				c.recall(j)
			}
		}
		if k, keeps := c.pol.Order.(policy.Keeper); keeps && len(saved.Policy) > 0 {
			if refused = k.Load(saved.Policy); refused != nil {
				p, err := c.make(c.fresh)
				if err != nil {
					return err
				}
				c.pol = p
			}
		}
	}
	received := map[*job]unit.Time{}
	for _, t := range c.tasks {
		switch {
		case t.state == Over:
			received[t.job] += t.spent
		case t.start > 0 && t.start < now:
			t.earlier = now - t.start
			received[t.job] += t.earlier
		}
	}
	for _, j := range c.jobs {
		if j.tasks == 0 && (j.ended || !j.Owned) {
			c.leave(j)
			continue
		}
		j.view.Credit(received[j] + j.gone)
		for i := range j.stages {
			j.stages[i].waiting.sort()
		}
	}
	c.started = true
	c.announce()
	return refused
}

// recall gives a job what was saved of it.
func (c *Core) recall(j *job) {
	if s, ok := c.absent[j.Key]; ok && s.Order >= 0 && s.Gone >= 0 {
		j.order, j.gone = s.Order, s.Gone
	}
	delete(c.absent, j.Key)
}

// Reload replaces the policy. Jobs that the old one refused are asked again.
func (c *Core) Reload(fresh func() (policy.Policy, error)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, err := c.make(fresh)
	if err != nil {
		return err
	}
	c.pol, c.fresh = p, fresh
	if !c.started {
		return nil
	}
	now := c.step()
	for _, t := range c.tasks {
		if t.state == Released || t.state == Bound {
			t.earlier += now - t.start
		}
	}
	for _, j := range c.jobs {
		received := j.view.Attained(now)
		old := j.view
		j.view = c.newView(j, old.Index)
		j.view.Credit(received)
		j.view.Stages, j.view.Tasks, j.view.Done, j.refused = old.Stages, old.Tasks, old.Done, nil
		for i := range j.stages {
			j.stages[i].open, j.view.Stages[i].Running, j.view.Stages[i].Pending, j.view.Stages[i].Later = 0, 0, 0, 0
		}
	}
	clear(c.sizes)
	c.least, c.refused, c.toAsk = unit.Resources{}, nil, 0
	c.announce()
	return nil
}

// announce tells a new policy of the cluster, of the jobs in their order, and of the tasks that run.
func (c *Core) announce() {
	c.tick = unit.Never
	c.resized()
	if c.pol.Timer != nil {
		c.tick = 0
		c.poll()
	}
	order := make([]*job, 0, len(c.jobs))
	for _, j := range c.jobs {
		order = append(order, j)
	}
	slices.SortFunc(order, func(a, b *job) int {
		if a.order >= 0 && b.order >= 0 {
			return compare(a.order, b.order)
		}
		if a.order >= 0 || b.order >= 0 { // the unknown came later
			return compare(b.order, a.order)
		}
		if d := compare(a.Submitted, b.Submitted); d != 0 {
			return d
		}
		return strings.Compare(a.Key, b.Key)
	})
	run := map[*job][]*task{}
	for _, t := range c.tasks {
		if t.state == Released || t.state == Bound {
			run[t.job] = append(run[t.job], t)
		}
	}
	for _, j := range order {
		c.arrive(j)
		slices.SortFunc(run[j], func(a, b *task) int { return strings.Compare(a.ID, b.ID) })
		for _, t := range run[j] {
			c.take(t)
		}
		for i := range j.stages {
			c.refresh(j, i)
		}
		c.changed(j, 0, true)
	}
}

func (c *Core) newView(j *job, index int32) policy.Job {
	return policy.Job{
		Index: index, ID: j.Key, User: j.User, Queue: j.Queue, Class: j.Class, Priority: j.Priority, Submitted: j.Submitted, Deadline: j.Deadline, Tasks: j.Job.Tasks,
	}
}

// join adds a task to its job, which it may create.
func (c *Core) join(x Task, in Job, s State) *task {
	j := c.jobs[in.Key]
	if j == nil {
		index := int32(len(c.byIndex))
		if n := len(c.spare); n > 0 {
			index, c.spare = c.spare[n-1], c.spare[:n-1]
		} else {
			c.byIndex = append(c.byIndex, nil)
		}
		j = &job{Job: in, order: -1}
		j.view = c.newView(j, index)
		c.byIndex[index], c.jobs[in.Key] = j, j
		if c.started {
			c.recall(j)
			j.view.Credit(j.gone)
		}
	}
	j.Owned = j.Owned || in.Owned
	if !c.started {
		j.Submitted = min(j.Submitted, in.Submitted)
		j.view.Submitted = j.Submitted
	}
	t := &task{Task: x, job: j, state: s}
	if s == Over {
		c.tasks[x.ID] = t
		j.in[s]++
		if x.Done && x.Gang > 1 { // what is left of its gang starts alone
			if i := c.stage(j, &t.Task); i >= 0 {
				j.view.Stages[i].Tasks++
				j.view.Stages[i].Done++
			}
		}
		return t
	}
	if t.stage = c.stage(j, &t.Task); t.stage < 0 {
		in.Key, in.Owned = in.Key+"/"+x.ID, false
		return c.join(x, in, s)
	}
	c.tasks[x.ID] = t
	j.in[s]++
	j.tasks++
	j.known++
	j.view.Stages[t.stage].Tasks++
	j.view.Tasks = max(j.view.Tasks, j.known)
	return t
}

// stage finds or makes the stage of a task. A job with a great many shapes has them taken for one; with a great many sizes it gets no more stages.
func (c *Core) stage(j *job, t *Task) int {
	const shapes, sizes = 64, 256
	t.Gang = max(t.Gang, 1)
	s := c.shapes[t.Shape]
	for i := range j.stages {
		if v := &j.view.Stages[i]; j.stages[i].key == t.Stage && v.Ask == t.Size && v.Gang == t.Gang && (j.stages[i].shape == s || len(j.stages) >= shapes) {
			return i
		}
	}
	if len(j.stages) >= sizes {
		return -1
	}
	if s == nil {
		s = &shape{stages: map[place]bool{}}
		c.shapes[t.Shape] = s
	}
	i := len(j.stages)
	s.stages[place{j, i}] = true
	j.stages = append(j.stages, stage{key: t.Stage, shape: s, name: t.Shape})
	j.view.Stages = append(j.view.Stages, policy.Stage{Ask: t.Size, Gang: t.Gang})
	return i
}

// arrive announces a job.
func (c *Core) arrive(j *job) {
	if j.order < 0 {
		j.order = c.nextSeq
	}
	j.view.Seq, j.arrived = j.order, true
	c.nextSeq = max(c.nextSeq, j.order+1)
	if j.refused = c.pol.Order.Arrived(c.now, &j.view); j.refused == nil {
		c.shifted()
	} else {
		c.refused = append(c.refused, j)
	}
}

// readmit asks for refused jobs again once others have left: a queue may have been full. Those that are refused again wait behind the rest.
func (c *Core) readmit() {
	c.toAsk = min(c.toAsk, len(c.refused))
	list := slices.Clone(c.refused[:min(again, c.toAsk)])
	c.toAsk -= len(list)
	c.refused = c.refused[len(list):]
	for _, j := range list {
		if j.view.Running > 0 { // somebody else let its tasks go, and the policy was not told
			c.refused = append(c.refused, j)
		} else if c.arrive(j); j.refused == nil {
			c.changed(j, 0, true)
		}
	}
}

// leave removes a job for good.
func (c *Core) leave(j *job) {
	if c.jobs[j.Key] != j {
		return
	}
	c.log("leave", &task{job: j})
	delete(c.jobs, j.Key)
	c.byIndex[j.view.Index] = nil
	c.spare = append(c.spare, j.view.Index)
	for i := range j.stages {
		s := j.stages[i].shape
		if delete(s.stages, place{j, i}); len(s.stages) == 0 {
			delete(c.shapes, j.stages[i].name)
			delete(c.parked, s)
		}
	}
	switch {
	case j.refused != nil:
		c.refused = slices.DeleteFunc(c.refused, func(x *job) bool { return x == j })
	case j.arrived && c.started:
		c.toAsk = len(c.refused)
		c.pol.Order.Left(c.now, &j.view)
		c.shifted()
	}
}

// idle lets a job leave that has no tasks, at once or after a while.
func (c *Core) idle(j *job) {
	switch {
	case j.tasks > 0:
	case j.ended:
		c.leave(j)
	case !j.Owned:
		j.idle = c.now
		c.leaving = append(c.leaving, departure{j, c.now + linger})
	}
}

// JobEnded says that a job's owner has finished or is gone. The job leaves with its last task.
func (c *Core) JobEnded(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.absent, key)
	if j := c.jobs[key]; j != nil {
		c.step()
		j.ended = true
		c.idle(j)
	}
}

func (c *Core) shifted() {
	if c.pol.Shifted != nil {
		c.pol.Shifted()
	}
}

// poll calls the policy's timer if it is due.
func (c *Core) poll() {
	for n := 0; c.pol.Timer != nil && c.now >= c.tick && n < 3; n++ {
		c.tick, _ = c.pol.Timer.Tick(c.now)
	}
}

// Due is when to call Release although nothing has happened.
func (c *Core) Due() unit.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	due := min(c.tick, c.retry)
	if c.toAsk > 0 {
		due = c.now
	}
	if len(c.leaving) > 0 {
		due = min(due, c.leaving[0].at)
	}
	return due
}

// Stats counts.
func (c *Core) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.counted
	s.Jobs, s.Held, s.Released, s.Parked = len(c.jobs), c.held, c.outstanding, len(c.parked)
	for _, j := range c.jobs {
		if j.refused != nil {
			s.Refused++
		}
		s.Bound += j.in[Bound]
		s.Stranded += j.in[stranded]
	}
	return s
}

// Check verifies the ledger and the counts, for tests.
func (c *Core) Check() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	held, released, unbound := 0, 0, unit.Resources{}
	var errs []error
	in := map[*job][stranded + 1]int{}
	for _, t := range c.tasks {
		n := in[t.job]
		n[t.state]++
		in[t.job] = n
		switch t.state {
		case Held:
			held++
		case Released:
			released++
			unbound = unbound.Add(t.Size)
		}
	}
	if held != c.held || released != c.outstanding || unbound != c.unbound {
		errs = append(errs, fmt.Errorf("%d tasks are held and %d released with %v: %d, %d and %v are counted", held, released, unbound, c.held, c.outstanding, c.unbound))
	}
	for _, j := range c.jobs {
		if in[j] != j.in {
			errs = append(errs, fmt.Errorf("%s has tasks %v by state: %v are counted", j.Key, in[j], j.in))
		}
		open, running := int64(0), int64(0)
		for i := range j.stages {
			if s := &j.view.Stages[i]; int64(j.stages[i].waiting.n) != s.Pending || s.Open() != j.stages[i].open {
				errs = append(errs, fmt.Errorf("%s: stage %d has %d waiting tasks, %d open: %d, %d are counted", j.Key, i, j.stages[i].waiting.n, j.stages[i].open, s.Pending, s.Open()))
			}
			open += j.stages[i].open
			running += j.view.Stages[i].Running
		}
		if open != j.view.Pending || running != j.view.Running {
			errs = append(errs, fmt.Errorf("%s: %d tasks are open and %d run: %d and %d are counted", j.Key, open, running, j.view.Pending, j.view.Running))
		}
	}
	return errors.Join(append(errs, c.ledger.check(c.tasks))...)
}

func compare[T int64 | unit.Time](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
