package capacity

import (
	"fmt"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// fromSettings builds an order from lines NAME=VALUE, without the common prefix. A name that starts with "yarn." is whole.
func fromSettings(t testing.TB, lines ...string) *Order {
	t.Helper()
	var b strings.Builder
	b.WriteString("<configuration>\n")
	for _, line := range lines {
		k, v, _ := strings.Cut(line, "=")
		if !strings.HasPrefix(k, "yarn.") {
			k = conf.Prefix + k
		}
		fmt.Fprintf(&b, "<property><name>%s</name><value>%s</value></property>\n", k, v)
	}
	b.WriteString("</configuration>\n")
	c, err := conf.ReadCapacity(strings.NewReader(b.String()), "test.xml")
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return p.Order.(*Order)
}

func fromParams(t testing.TB, p policy.Params) *Order {
	t.Helper()
	made, err := Entry.New(p)
	if err != nil {
		t.Fatal(err)
	}
	return made.Order.(*Order)
}

func cluster(total unit.Resources) policy.Cluster {
	return policy.Cluster{Total: total, Max: total, Nodes: 1}
}

// job is a job of one or two stages, as an engine would keep it.
type job struct {
	policy.Job
	stages  []int64 // tasks left to start
	ask     unit.Resources
	running []container
	started bool // its AM holds a container
	gone    bool
}

type container struct {
	stage int
	ask   unit.Resources
}

// world is the least of an engine: it keeps jobs up to date and tells them to one or more orders.
type world struct {
	orders []policy.Order
	total  unit.Resources
	used   unit.Resources
	jobs   map[string]*job
	list   []*job // present, by arrival
	seq    int64
	free   []int32 // indices to take again
	top    int32
}

func newWorld(total unit.Resources, orders ...policy.Order) *world {
	w := &world{orders: orders, total: total, jobs: map[string]*job{}}
	w.resize(total)
	return w
}

func (w *world) resize(total unit.Resources) {
	w.total = total
	for _, o := range w.orders {
		o.Resized(0, cluster(total))
	}
}

func (w *world) arrive(id, user, queue string, priority int, am, ask unit.Resources, tasks ...int64) error {
	j := &job{stages: tasks, ask: ask}
	j.ID, j.User, j.Queue, j.Priority, j.AM, j.Seq = id, user, queue, priority, am, w.seq
	w.seq++
	if n := len(w.free); n > 0 {
		j.Index, w.free = w.free[n-1], w.free[:n-1]
	} else {
		j.Index = w.top
		w.top++
	}
	for _, n := range tasks {
		j.Tasks += n
	}
	j.offerWork()
	var failed error
	for _, o := range w.orders {
		if err := o.Arrived(0, &j.Job); err != nil {
			failed = err
		}
	}
	if failed != nil {
		w.free = append(w.free, j.Index)
		return failed
	}
	w.jobs[id] = j
	w.list = append(w.list, j)
	return nil
}

// offerWork sets Pending, Front and Ask: the AM first, then stage after stage.
func (j *job) offerWork() {
	j.Pending = 0
	switch {
	case !j.started && !j.AM.IsZero():
		j.Pending, j.Front, j.Ask = 1, policy.AMStage, j.AM
	default:
		for s, n := range j.stages {
			if n > 0 {
				j.Pending, j.Front, j.Ask = n, s, j.ask
				return
			}
			if j.busy(s) {
				return
			}
		}
	}
}

func (j *job) busy(stage int) bool {
	for _, c := range j.running {
		if c.stage == stage {
			return true
		}
	}
	return false
}

// start gives the job's next task a container.
func (w *world) start(j *job) {
	s, ask := j.Front, j.Ask
	if s == policy.AMStage {
		j.started = true
		j.Pending = 0
	} else {
		j.stages[s]--
		j.offerWork()
	}
	j.running = append(j.running, container{s, ask})
	j.Hold(0, ask)
	w.used = w.used.Add(ask)
	for _, o := range w.orders {
		o.Started(&policy.Event{Job: &j.Job, Stage: s, Size: ask})
	}
	if s == policy.AMStage {
		w.offer(j)
	}
}

// offer brings Pending up to date and says so if it rose from 0.
func (w *world) offer(j *job) {
	before := j.Pending
	j.offerWork()
	if before == 0 && j.Pending > 0 {
		for _, o := range w.orders {
			o.Changed(0, &j.Job)
		}
	}
}

// end releases the job's i-th container, and ends the job with its last task.
func (w *world) end(j *job, i int, lost bool) {
	c := j.running[i]
	j.running = append(j.running[:i], j.running[i+1:]...)
	j.Yield(0, 0, c.ask)
	w.used = w.used.Sub(c.ask)
	before := j.Pending
	if lost && c.stage == policy.AMStage {
		j.started = false
	} else if lost {
		j.stages[c.stage]++
	} else {
		j.Done++
	}
	j.offerWork()
	rose := before == 0 && j.Pending > 0
	why := policy.Done
	if lost {
		why = policy.Lost
	}
	for _, o := range w.orders {
		o.Ended(&policy.Event{Job: &j.Job, Stage: c.stage, Size: c.ask, Held: unit.Second, Worked: unit.Second, Why: why})
	}
	if rose {
		for _, o := range w.orders {
			o.Changed(0, &j.Job)
		}
	}
	if j.Pending == 0 && !j.gone && (len(j.running) == 0 || len(j.running) == 1 && j.running[0].stage == policy.AMStage) {
		j.gone = true
		if len(j.running) == 1 {
			w.end(j, 0, false)
		}
		w.leave(j)
	}
}

func (w *world) leave(j *job) {
	for _, o := range w.orders {
		o.Left(0, &j.Job)
	}
	delete(w.jobs, j.ID)
	for i, x := range w.list {
		if x == j {
			w.list = append(w.list[:i], w.list[i+1:]...)
			break
		}
	}
	w.free = append(w.free, j.Index)
}

// once offers room for one container to the only order and returns whose task took it.
func (w *world) once() (took string) {
	w.orders[0].Ranked(&policy.Offer{}, func(p *policy.Job) policy.Verdict {
		if !p.Ask.Fits(w.total.Sub(w.used)) {
			return policy.Pass
		}
		w.start(w.jobs[p.ID])
		took = p.ID
		return policy.Took
	})
	return took
}

// fill offers until nobody takes and counts by job.
func (w *world) fill() map[string]int {
	got := map[string]int{}
	for {
		id := w.once()
		if id == "" {
			return got
		}
		got[id]++
	}
}

func (w *world) activated() (n int) {
	o := w.orders[0].(*Order)
	for i := range o.apps {
		if o.apps[i].state == active {
			n++
		}
	}
	return n
}

func mb(v int64) unit.Resources { return unit.Resources{Mem: v, Cores: v / 1024} }

var step = unit.Resources{Mem: 1024, Cores: 1}
