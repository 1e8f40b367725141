package policytest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

// Engine is a cluster without nodes: only a total.
type Engine struct {
	Order       policy.Order
	Total, Used unit.Resources
	Jobs        map[string]*Job
	event       policy.Event
	free        []int32
	next        int32
	seq         int64
}

// Job is a job of one AM and identical tasks.
type Job struct {
	policy.Job
	task unit.Resources
	am   bool // it holds its AM
}

// New returns an engine and sets the order's cluster size.
func New(o policy.Order, total unit.Resources) *Engine {
	e := &Engine{Order: o, Jobs: map[string]*Job{}}
	e.Resize(total)
	return e
}

// Resize changes the size of the cluster.
func (e *Engine) Resize(total unit.Resources) {
	e.Total = total
	e.Order.Resized(0, policy.Cluster{Total: total, Max: total, Nodes: 1})
}

// Arrive submits a job. Zero fields of j are filled in.
func (e *Engine) Arrive(j *Job, tasks int64, task unit.Resources) error {
	j.Seq, j.Tasks, j.task = e.seq, tasks, task
	e.seq++
	if n := len(e.free); n > 0 {
		j.Index, e.free = e.free[n-1], e.free[:n-1]
	} else {
		j.Index = e.next
		e.next++
	}
	j.Front, j.Ask = 0, task
	if !j.AM.IsZero() {
		tasks, j.Front, j.Ask = 1, policy.AMStage, j.AM
	}
	j.Want(policy.MapSlot, tasks)
	if err := e.Order.Arrived(0, &j.Job); err != nil {
		e.free = append(e.free, j.Index)
		return err
	}
	e.Jobs[j.ID] = j
	return nil
}

// Start offers one container; nil: nobody took it.
func (e *Engine) Start() *Job {
	var taken *Job
	e.Order.Ranked(&policy.Offer{}, func(j *policy.Job) policy.Verdict {
		if !j.Ask.Fits(e.Total.Sub(e.Used)) {
			return policy.Pass
		}
		taken = e.Jobs[j.ID]
		e.Begin(taken)
		return policy.Took
	})
	return taken
}

// Begin starts the job's next task.
func (e *Engine) Begin(j *Job) {
	s, ask := j.Front, j.Ask
	j.Want(policy.MapSlot, -1)
	j.Hold(0, ask)
	e.Used = e.Used.Add(ask)
	e.event = policy.Event{Job: &j.Job, Stage: s, Size: ask}
	e.Order.Started(&e.event)
	if s != policy.AMStage {
		return
	}
	j.am = true
	if j.Tasks > 0 {
		j.Front, j.Ask = 0, j.task
		j.Want(policy.MapSlot, j.Tasks)
		e.Order.Changed(0, &j.Job)
	}
}

// End ends one container of the job.
func (e *Engine) End(j *Job, am bool) {
	s, ask := 0, j.task
	if am {
		s, ask, j.am = policy.AMStage, j.AM, false
	} else {
		j.Done++
	}
	j.Yield(0, 0, ask)
	e.Used = e.Used.Sub(ask)
	e.event = policy.Event{Job: &j.Job, Stage: s, Size: ask, Held: unit.Second, Worked: unit.Second}
	e.Order.Ended(&e.event)
}

// Held is the number of running tasks, without the AM.
func (j *Job) Held() int64 {
	if j.am {
		return j.Running - 1
	}
	return j.Running
}

// Leave ends all that the job holds and removes it.
func (e *Engine) Leave(j *Job) {
	for j.Held() > 0 {
		e.End(j, false)
	}
	if j.am {
		e.End(j, true)
	}
	e.Order.Left(0, &j.Job)
	delete(e.Jobs, j.ID)
	e.free = append(e.free, j.Index)
}

// Ranking lists all jobs in the order in which they are proposed.
func (e *Engine) Ranking() []string {
	var names []string
	e.Order.Ranked(&policy.Offer{}, func(j *policy.Job) policy.Verdict {
		names = append(names, j.ID)
		return policy.Pass
	})
	return names
}

// Golden plays the scripts in a folder's files and compares what they print: see the package comment. With -rewrite they are written anew.
func Golden(t *testing.T, dir string, fresh func(input string) (policy.Policy, error)) {
	datadriven.Walk(t, dir, func(t *testing.T, path string) {
		var e *Engine
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "policy" {
				p, err := fresh(strings.TrimSpace(d.Input))
				if err != nil {
					return err.Error() + "\n"
				}
				e = New(p.Order, unit.Resources{Mem: 10240, Cores: 10})
				return strings.Join(append([]string{"made"}, p.NotModelled...), "\n") + "\n"
			}
			var out strings.Builder
			for _, line := range strings.Split(d.Input, "\n") {
				e.line(&out, strings.Fields(line))
			}
			return out.String()
		})
	})
}

func (e *Engine) line(out *strings.Builder, words []string) {
	if len(words) == 0 {
		return
	}
	arg := func(i int) string {
		if i < len(words) {
			return words[i]
		}
		return ""
	}
	text := func(key string) string {
		for _, w := range words {
			if v, ok := strings.CutPrefix(w, key+"="); ok {
				return v
			}
		}
		return ""
	}
	number := func(key string, otherwise int64) int64 {
		v := text(key)
		if v == "" {
			return otherwise
		}
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			fmt.Fprintf(out, "%s: %v\n", key, err)
		}
		return n
	}
	report := func(err error) {
		if err != nil {
			fmt.Fprintf(out, "%s: %v\n", words[0], err)
		}
	}
	switch words[0] {
	case "cluster":
		e.Resize(unit.Resources{Mem: number("mem", 0), Cores: number("cores", 0)})
	case "job":
		j := &Job{Job: policy.Job{ID: arg(1), User: text("user"), Queue: text("queue"), Priority: int(number("pri", 0))}}
		if m := number("am", 0); m > 0 {
			j.AM = unit.Resources{Mem: m, Cores: 1}
		}
		report(e.Arrive(j, number("tasks", 1), unit.Resources{Mem: number("mem", 1024), Cores: number("cores", 1)}))
	case "start":
		n, _ := strconv.Atoi(arg(1))
		got := make([]string, max(n, 1))
		for i := range got {
			got[i] = "-"
			if j := e.Start(); j != nil {
				got[i] = j.ID
			}
		}
		fmt.Fprintf(out, "%s\n", strings.Join(got, " "))
	case "rank":
		fmt.Fprintf(out, "[%s]\n", strings.Join(e.Ranking(), " "))
	case "why":
		for _, r := range e.Order.(policy.Explainer).Why(0, &e.Jobs[arg(1)].Job, nil) {
			fmt.Fprintf(out, "%+v\n", r)
		}
	case "end":
		if arg(2) == "am" {
			e.End(e.Jobs[arg(1)], true)
			return
		}
		n, _ := strconv.Atoi(arg(2))
		for range max(n, 1) {
			e.End(e.Jobs[arg(1)], false)
		}
	case "leave":
		e.Leave(e.Jobs[arg(1)])
	case "move":
		report(e.Order.(policy.Knobs).Move(&e.Jobs[arg(1)].Job, arg(2)))
	case "priority":
		j := e.Jobs[arg(1)]
		old := j.Priority
		j.Priority = int(number("to", 0))
		e.Order.(policy.Knobs).SetPriority(&j.Job, old)
	case "set":
		v, _ := strconv.ParseFloat(arg(3), 64)
		old, err := e.Order.(policy.Knobs).SetQueue(arg(1), arg(2), v)
		if err == nil {
			fmt.Fprintf(out, "was %.6g\n", old)
		}
		report(err)
	default:
		fmt.Fprintf(out, "what is %q?\n", words[0])
	}
}

// Bench measures one decision with n jobs waiting: a task ends, an offer is made, the first job takes it. Jobs arrive as
// shape makes them; nil: all alike.
func Bench(b *testing.B, o policy.Order, n int, shape func(i int, j *policy.Job)) {
	b.Helper()
	ask := unit.Resources{Mem: 1024, Cores: 1}
	const held = 4096
	e := New(o, ask.Times(held))
	jobs := make([]*Job, n)
	for i := range jobs {
		j := &Job{Job: policy.Job{ID: strconv.Itoa(i)}}
		if shape != nil {
			shape(i, &j.Job)
		}
		if err := e.Arrive(j, 1<<40, ask); err != nil {
			b.Fatal(err)
		}
		jobs[i] = j
	}
	byIndex := make([]*Job, n)
	for _, j := range jobs {
		byIndex[j.Index] = j
	}
	running := make([]*Job, 0, held) // a ring: the oldest ends first
	offer := &policy.Offer{}
	var taken *Job
	try := func(j *policy.Job) policy.Verdict {
		taken = byIndex[j.Index]
		e.Begin(taken)
		return policy.Took
	}
	for range held {
		if !o.Ranked(offer, try) {
			break
		}
		running = append(running, taken)
	}
	at := 0
	b.ReportAllocs()
	for b.Loop() {
		e.End(running[at], false)
		if !o.Ranked(offer, try) {
			b.Fatal("nobody took the container")
		}
		running[at] = taken
		if at++; at == len(running) {
			at = 0
		}
	}
}
