package spark

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strings"
)

var (
	eventKey = []byte(`{"Event":"`)
	core     = []byte("SparkListener")
	sqlUI    = []byte("org.apache.spark.sql.execution.ui.SparkListener")
)

// wanted says whether an event, by the name that Spark gives it, is read at all.
func wanted(name []byte) bool {
	switch string(name) {
	case "LogStart", "ApplicationStart", "ApplicationEnd", "EnvironmentUpdate", "ResourceProfileAdded", "ExecutorAdded", "ExecutorRemoved",
		"BlockManagerAdded", "JobStart", "JobEnd", "StageSubmitted", "StageCompleted", "TaskEnd", "UnpersistRDD", "SQLExecutionStart", "SQLExecutionEnd":
		return true
	}
	return false
}

// eventName is the name of a line's event without its prefix, and whether it can be told from the beginning of the line.
func eventName(head []byte) (name []byte, told bool) {
	rest, ok := bytes.CutPrefix(head, eventKey)
	if !ok {
		return nil, false
	}
	if n := bytes.IndexByte(rest, '"'); n >= 0 {
		return shortName(rest[:n]), true
	}
	return nil, false
}

func shortName(name []byte) []byte {
	if rest, ok := bytes.CutPrefix(name, core); ok {
		return rest
	}
	rest, ok := bytes.CutPrefix(name, sqlUI)
	if !ok {
		return nil
	}
	return rest
}

// event has the members of all events but ends of tasks.
type event struct {
	at, id, exit, asked, cores, profile, sql, root int64

	executor, host, name, app, user, version, pool string

	reason Reason
	stages []int
}

// line takes one event. It is false for a line that is not one.
func (a *App) line(b []byte, each func(*Task)) bool {
	name, told := eventName(b)
	s := scan{b: b}
	if !told { // the event is not the first member: look for it
		for ok := s.enter('{'); ok && s.more('}'); {
			if string(s.key()) == "Event" {
				name, told = shortName(s.bytes()), true
			} else {
				s.skip()
			}
		}
		if s.bad || !told {
			return false
		}
		s = scan{b: b}
	}
	if !wanted(name) {
		return true
	}
	if string(name) == "TaskEnd" {
		return a.taskEnd(&s, each)
	}
	e := event{sql: -1, root: -1}
	e.read(&s, a, string(name) == "StageSubmitted", 0)
	if s.bad {
		return false
	}
	a.happened(string(name), &e)
	return true
}

// read reads one object of an event.
func (e *event) read(s *scan, a *App, submitted bool, depth int) {
	for ok := s.enter('{'); ok && s.more('}'); {
		switch string(s.key()) {
		case "Timestamp", "Submission Time", "Completion Time", "time":
			e.at = a.seen(s.int())
		case "Job ID", "RDD ID", "executionId":
			e.id = s.int()
		case "ExitCode":
			e.exit = s.int()
		case "Executor ID":
			e.executor = s.text(maxText)
		case "Removed Reason":
			e.reason = reasonOf(s.text(maxText))
		case "Host":
			e.host = s.text(maxText)
		case "Total Cores":
			e.cores = s.int()
		case "Request Time":
			e.asked = a.seen(s.int())
		case "Executor Info", "Block Manager ID":
			if depth > 0 {
				s.fail()
				return
			}
			e.read(s, a, false, depth+1)
		case "App Name":
			e.name = s.text(maxText)
		case "App ID":
			e.app = s.text(maxText)
		case "User":
			e.user = s.text(maxText)
		case "Spark Version":
			e.version = s.text(maxText)
		case "Spark Properties":
			a.settings.read(s)
		case "Resource Profile Id":
			e.profile = s.int()
		case "Executor Resource Requests":
			for ok := s.enter('{'); ok && s.more('}'); s.skip() {
				a.named = !slices.Contains(ordinary, string(s.key())) || a.named
			}
		case "Stage Info":
			a.stageInfo(s, submitted)
		case "Stage Infos":
			for ok := s.enter('['); ok && s.more(']'); {
				a.stageInfo(s, false)
			}
		case "Stage IDs":
			e.stages = s.ints(maxEntries)
		case "Properties":
			e.properties(s)
		default:
			s.skip()
		}
	}
}

// ordinary are the resources that a container of any cluster has.
var ordinary = []string{"cores", "memory", "memoryOverhead", "pyspark.memory", "offHeap"}

// properties reads what a Spark job belongs to; its description and everything else are passed over.
func (e *event) properties(s *scan) {
	for ok := s.enter('{'); ok && s.more('}'); {
		switch string(s.key()) {
		case "spark.sql.execution.id":
			e.sql = s.id()
		case "spark.sql.execution.root.id":
			e.root = s.id()
		case "spark.scheduler.pool":
			e.pool = s.text(maxText)
		default:
			s.skip()
		}
	}
}

// happened adds an event to what is known of the application.
func (a *App) happened(name string, e *event) {
	k, known := a.execs[e.executor]
	switch name {
	case "LogStart":
		a.Version = e.version
	case "ApplicationStart":
		a.Name, a.ID, a.User, a.Start = e.name, e.app, e.user, e.at
	case "ApplicationEnd":
		a.End, a.Failed = e.at, e.exit != 0
	case "ResourceProfileAdded": // 0 is the default one, which the settings describe
		if e.profile != 0 && a.fits(len(a.others)+1, maxEntries) {
			a.others[e.profile] = true
		}
	case "BlockManagerAdded":
		if e.executor == "driver" || e.executor == "<driver>" {
			a.ready = e.at
		}
	case "ExecutorAdded":
		if a.fits(len(a.Executors)+1, maxEntries) {
			a.execs[e.executor] = len(a.Executors)
			a.Executors = append(a.Executors, Executor{ID: e.executor, Host: e.host, Cores: min(e.cores, math.MaxInt32), Asked: e.asked, Added: e.at})
		}
	case "ExecutorRemoved":
		if known && a.Executors[k].Removed == 0 {
			a.Executors[k].Removed, a.Executors[k].Reason = e.at, e.reason
		}
	case "JobStart":
		a.jobStart(e)
	case "JobEnd":
		if j := a.jobs[int(e.id)]; j != nil {
			j.end = e.at
		}
	case "UnpersistRDD":
		delete(a.cached, int(e.id))
	case "SQLExecutionStart":
		a.execution(e.id).start = e.at
	case "SQLExecutionEnd":
		a.execution(e.id).end = e.at
	}
}

func (a *App) jobStart(e *event) {
	if a.jobs[int(e.id)] != nil || !a.fits(len(a.jobs)+1, maxEntries) {
		return
	}
	j := &job{id: int(e.id), submit: e.at, sql: e.sql, pool: e.pool}
	if e.sql >= 0 && e.root >= 0 {
		j.sql = e.root
	}
	for _, id := range e.stages {
		if x := a.stage(id); x != nil && x.job < 0 {
			x.job = j.id
		}
	}
	a.jobs[j.id] = j
}

// execution is an SQL execution.
func (a *App) execution(id int64) *span {
	x := a.sql[id]
	if x == nil {
		x = &span{}
		if a.fits(len(a.sql)+1, maxEntries) {
			a.sql[id] = x
		}
	}
	return x
}

// id reads the number of an SQL execution; -1 for anything but a number.
func (s *scan) id() int64 {
	from := s.i
	n := s.int()
	if n == 0 && bytes.IndexByte(s.b[from:s.i], '0') < 0 {
		return -1
	}
	return n
}

// maxInstant keeps sums of times within range: the year 3000 or so.
const maxInstant = 1 << 45

// seen takes an instant of the log; 0 for one that cannot be.
func (a *App) seen(ms int64) int64 {
	if ms <= 0 || ms > maxInstant {
		return 0
	}
	a.First, a.Last = min(cmp.Or(a.First, ms), ms), max(a.Last, ms)
	return ms
}

// Reason says why an executor went.
type Reason string

// Reasons. Spark's own texts name hosts and may quote logs.
const (
	Released       Reason = "released" // by dynamic allocation, or at the application's end
	Preempted      Reason = "preempted"
	Decommissioned Reason = "decommissioned"
	Memory         Reason = "memory" // killed because it used more than it had asked for
	Lost           Reason = "lost"
)

func reasonOf(text string) Reason {
	text = strings.ToLower(text)
	has := func(part string) bool { return strings.Contains(text, part) }
	switch {
	case has("preempted"):
		return Preempted
	case has("decommission"):
		return Decommissioned
	case has("memory limits"), has("oomkilled"), has("beyond allocated memory"):
		return Memory
	case has("killed by driver"), has("explicit termination request"), has("idle"):
		return Released
	}
	return Lost
}

// maxMS is what fits a taskLength; 49 days.
const maxMS = math.MaxUint32
