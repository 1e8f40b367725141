package sls

import (
	"bytes"
	"strings"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/internal/input"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// parser reads one record of an SLS trace at a time into its fields.
type parser struct {
	js  *input.JSON
	ask unit.Resources

	isJob                  bool
	nodes, racks           int64
	id, user, queue        string
	amType, oldType        string
	start, end, count      int64
	amMem, amCores         int64
	amExtra                unit.Extra
	delayed, opportunistic int64
	labelled               bool
	groupIndex             map[groupKey]int
	groups                 []group
	hosts                  input.Names
	listed                 int
	made                   *workload.Job
	left                   int64
	t                      taskFields
	onJob, onTask          func([]byte) error
	eachTask               func(int) error
}

// group is the tasks of one type and size, in the order of the file.
type group struct {
	typ   string
	ask   unit.Resources
	tasks int64
	runs  []run
}

// run is count consecutive identical tasks.
type run struct {
	ms, count int64
	host      int32 // -1: none named
}

// taskFields is the task that is being read.
type taskFields struct {
	typ, host                       string
	ask                             unit.Resources
	count                           int64
	start, end, duration, duration2 int64
	delay                           int64
	opportunistic                   bool
}

func (p *parser) job() error {
	*p = parser{js: p.js, ask: p.ask, onJob: p.onJob, onTask: p.onTask, eachTask: p.eachTask, count: 1}
	if p.onJob == nil {
		p.init()
	}
	return p.js.Object(p.onJob)
}

// init says how the members of a job and of a task are read.
func (p *parser) init() {
	js := p.js
	given := func(v *int64, lo, hi int64) func() error { // absent keeps the default
		return func() error {
			n, ok, err := js.Int(lo, hi)
			if ok {
				*v = n
			}
			return err
		}
	}
	size := func(v *int64) func() error { return given(v, 0, cluster.MaxRoom) }
	instant := func(v *int64) func() error { return given(v, -1, maxInstant) }
	atLeast1 := func(v *int64, hi int64) func() error {
		return func() (err error) {
			*v, _, err = js.Int(0, hi)
			*v = max(*v, 1)
			return err
		}
	}
	p.eachTask = p.readTask
	job := input.Fields{
		"num.nodes": js.IntTo(&p.nodes, 1, maxNodes), "num.racks": js.IntTo(&p.racks, 1, maxNodes), "yarn.sls.am.type": nameTo(js, &p.amType), "am.type": nameTo(js, &p.oldType),
		"am.memory-mb": js.IntTo(&p.amMem, 0, cluster.MaxRoom), "am.vcores": js.IntTo(&p.amCores, 0, cluster.MaxRoom),
		"job.start.ms": js.IntTo(&p.start, 0, maxInstant), "job.end.ms": js.IntTo(&p.end, -1, maxInstant), "job.count": atLeast1(&p.count, MaxCopies),
		"job.queue.name": nameTo(js, &p.queue), "job.id": nameTo(js, &p.id), "job.user": nameTo(js, &p.user),
		"job.label.expression": func() error {
			s, err := name(js)
			p.labelled = s != ""
			return err
		},
		"job.tasks": js.ArrayTo(MaxTasks, p.eachTask),
	}
	p.onJob = func(member []byte) error {
		p.isJob = p.isJob || bytes.HasPrefix(member, []byte("job."))
		if typed, err := resourceType(js, member, "am.", &p.amExtra); typed {
			return err
		}
		return job.Read(member)
	}
	t := &p.t
	task := input.Fields{
		"container.type": nameTo(js, &t.typ), "container.host": nameTo(js, &t.host), "container.memory-mb": size(&t.ask.Mem), "container.vcores": size(&t.ask.Cores),
		"count": atLeast1(&t.count, MaxCount), "container.start.ms": instant(&t.start), "container.end.ms": instant(&t.end),
		"container.duration.ms": instant(&t.duration), "duration.ms": instant(&t.duration2), "container.request.delay": js.IntTo(&t.delay, -1, maxInstant),
		"container.execution.type": func() error {
			s, err := name(js)
			t.opportunistic = s == "OPPORTUNISTIC"
			return err
		},
	}
	p.onTask = func(member []byte) error {
		if typed, err := resourceType(js, member, "container.", &t.ask.Extra); typed {
			return err
		}
		return task.Read(member)
	}
}

// resourceType reads the count of one of YARN's resource types, if the member is prefix and its name. A type is known by its namespace: yarn.io/gpu.
func resourceType(js *input.JSON, member []byte, prefix string, x *unit.Extra) (typed bool, err error) {
	if bytes.IndexByte(member, '/') < 0 || !bytes.HasPrefix(member, []byte(prefix)) {
		return false, nil
	}
	name := string(member[len(prefix):])
	n, ok, err := js.Int(0, unit.MaxCount)
	if ok {
		if *x, err = x.With(name, n); err != nil {
			err = js.Errorf("%v", err)
		}
	}
	return true, err
}

func nameTo(js *input.JSON, s *string) func() error {
	return func() (err error) { *s, err = name(js); return err }
}

func name(js *input.JSON) (string, error) {
	c, err := js.Kind()
	if err != nil {
		return "", err
	}
	if c == '0' {
		return js.Number()
	}
	s, err := js.Text()
	if err == nil && len(s) > maxName {
		err = js.Errorf("a name of %d bytes; at most %d are taken", len(s), maxName)
	}
	return s, err
}

func (p *parser) readTask(int) error {
	p.t = taskFields{typ: "map", ask: p.ask, count: 1, start: -1, end: -1, duration: -1, duration2: -1}
	if err := p.js.Object(p.onTask); err != nil {
		return err
	}
	t := &p.t
	ms := t.duration
	switch {
	case ms >= 0:
	case t.duration2 >= 0:
		ms = t.duration2
	case t.start >= 0 && t.end >= 0:
		ms = t.end - t.start
	default:
		return p.js.Errorf("a task has no length: give container.duration.ms, or container.start.ms and container.end.ms")
	}
	if ms <= 0 || ms > maxLength {
		return p.js.Errorf("a task takes %d ms: it must be from 1 ms to ten years", ms)
	}
	if t.ask.IsZero() {
		return p.js.Errorf("a task asks for a container of %v", t.ask)
	}
	host, err := p.host(t.host)
	if err != nil {
		return err
	}
	if t.delay > 0 {
		p.delayed += t.count
	}
	if t.opportunistic {
		p.opportunistic += t.count
	}
	return p.add(t.typ, t.ask, run{ms: ms, count: t.count, host: host})
}

// host numbers the host "/rack/node".
func (p *parser) host(s string) (int32, error) {
	s = strings.Trim(s, "/")
	if s == "" {
		return -1, nil
	}
	k, ok := p.hosts.Index(s, MaxHosts, maxHostBytes)
	if !ok {
		return 0, p.js.Errorf("tasks of a job name more than %d hosts, or %d bytes of them: refused", MaxHosts, maxHostBytes)
	}
	return k, nil
}

// groupKey is what the tasks of a stage share.
type groupKey struct {
	typ string
	ask unit.Resources
}

// add adds tasks to the group of their type and size.
func (p *parser) add(typ string, ask unit.Resources, r run) error {
	if p.groupIndex == nil {
		p.groupIndex = map[groupKey]int{}
	}
	key := groupKey{typ, ask}
	i, ok := p.groupIndex[key]
	if !ok {
		if i = len(p.groups); i == workload.MaxStages {
			return p.js.Errorf("tasks of more than %d types and sizes in one job: refused", workload.MaxStages)
		}
		p.groupIndex[key] = i
		p.groups = append(p.groups, group{typ: typ, ask: ask})
	}
	if p.listed++; p.listed > MaxTasks {
		return p.js.Errorf("a job lists more than %d tasks: refused", MaxTasks)
	}
	g := &p.groups[i]
	g.tasks += r.count
	if n := len(g.runs); n > 0 && g.runs[n-1].ms == r.ms && g.runs[n-1].host == r.host {
		g.runs[n-1].count += r.count
	} else {
		g.runs = append(g.runs, r)
	}
	return nil
}

// tooMany says whether the job has more tasks than can be listed one by one; identical tasks without hosts need not be.
func (p *parser) tooMany() bool {
	var listed int64
	for i := range p.groups {
		if g := &p.groups[i]; len(g.runs) > 1 || g.runs[0].host >= 0 {
			listed += g.tasks
		}
	}
	return listed > MaxTasks
}
