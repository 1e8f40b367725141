package rumen

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/internal/input"
)

// maxInstant is the latest plausible time, in milliseconds since 1970: the year 5138. -1 is unknown.
const maxInstant = 100_000_000_000_000

// maxLength is the longest plausible task, in milliseconds: 24 days, which fits an int32.
const maxLength = 24 * 24 * 3600 * 1000

// none marks a length or time missing from the trace.
const none = -1

// task is what is kept of a task until its job is complete. Lengths are in milliseconds.
type task struct {
	finish   int64 // on the tracker's clock
	span     int32 // start to finish on the tracker's clock
	full     int32 // successful attempt, start to finish
	shuffled int32 // successful attempt, shuffle's end to finish
	longest  int32 // longest attempt of any outcome
	before   int32 // attempts that ended before the successful one began, together
	num      int32 // in the task's id
	near     int32 // offset of its hosts in parser.near: a count, then indices into parser.hosts; or none
}

// other is a set-up or clean-up task.
type other struct {
	task
	cleanup bool
	slot    byte // m or r, from the id: which kind of slot it ran in
}

// attemptSpan is when an attempt ran, by its node's clock.
type attemptSpan struct{ start, finish int64 }

// parser reads one job at a time into its fields.
type parser struct {
	js    *input.JSON
	tried []attemptSpan // of the present task

	id, name, user, queue, outcome  string
	priority                        int
	submit, launch, finish          int64
	totalMaps, mapMB, reduceMB      int64
	maps, reduces                   []task
	others                          []other
	read, passed, shuffled, written bytesSum // of successful attempts: by maps, out of maps, into reduces, by reduces
	mapWritten                      bytesSum // to storage by maps
	hosts                           input.Names
	near                            []int32
	extraHosts                      int64 // hosts past maxNear, not kept

	internBytes int
	intern      map[string]string // over all jobs: a trace repeats the same node names
	kind        byte              // of the task that is read: m, r or o
	t           taskFields
	a           attempt
	layers      []string

	onJob, onTask, onAttempt, onLocation       func([]byte) error
	eachTask, eachAttempt, eachHost, eachLayer func(int) error
}

// taskFields is the task that is being read.
type taskFields struct {
	task
	start, end int64
	id, typ    string
	in         int64 // inputBytes
	found      bool  // a successful attempt
	began      int64 // when that one did, by its node's clock
}

// attempt is the attempt that is being read.
type attempt struct {
	result                                      string
	start, finish, shuffleEnd                   int64
	read, written, mapIn, mapOut, reduceShuffle int64
}

// bytesSum is a saturating sum of known amounts.
type bytesSum int64

func (s *bytesSum) add(v int64) {
	if v > 0 {
		*s = bytesSum(min(int64(*s)+min(v, 1<<60), 1<<60))
	}
}

func (p *parser) init(js *input.JSON) {
	p.js = js
	p.intern = map[string]string{}
	p.eachTask, p.eachAttempt, p.eachHost, p.eachLayer = p.readTask, p.readAttempt, p.readHost, p.readLayer
	instant := func(t *int64) func() error { return func() error { return p.instant(t) } }
	amount := func(v *int64) func() error { return js.IntTo(v, math.MinInt64, math.MaxInt64) } // negative: unknown; Hadoop's own counters overflowed now and then
	tasks := func(kind byte) func() error {
		return func() error {
			p.kind = kind
			return js.Array(MaxTasks, p.eachTask)
		}
	}
	p.onJob = input.Fields{
		"jobID": js.TextTo(&p.id), "jobName": js.TextTo(&p.name), "user": js.TextTo(&p.user), "queue": js.TextTo(&p.queue), "outcome": js.TextTo(&p.outcome),
		"priority": func() error {
			s, err := js.Text()
			p.priority = priority(s)
			return err
		},
		"submitTime": instant(&p.submit), "launchTime": instant(&p.launch), "finishTime": instant(&p.finish),
		"totalMaps": js.IntTo(&p.totalMaps, -1, math.MaxInt32), "jobMapMB": js.IntTo(&p.mapMB, -1, cluster.MaxRoom), "jobReduceMB": js.IntTo(&p.reduceMB, -1, cluster.MaxRoom),
		"mapTasks": tasks('m'), "reduceTasks": tasks('r'), "otherTasks": tasks('o'),
	}.Read
	p.onTask = input.Fields{
		"taskID": js.TextTo(&p.t.id), "taskType": js.TextTo(&p.t.typ), "startTime": instant(&p.t.start), "finishTime": instant(&p.t.end), "inputBytes": amount(&p.t.in),
		"attempts": js.ArrayTo(0, p.eachAttempt),
		"preferredLocations": func() error {
			if p.kind != 'm' {
				return nil
			}
			return js.Array(0, p.eachHost)
		},
	}.Read
	p.onAttempt = input.Fields{
		"result": js.TextTo(&p.a.result), "startTime": instant(&p.a.start), "finishTime": instant(&p.a.finish), "shuffleFinished": instant(&p.a.shuffleEnd),
		"hdfsBytesRead": amount(&p.a.read), "hdfsBytesWritten": amount(&p.a.written), "mapInputBytes": amount(&p.a.mapIn), "mapOutputBytes": amount(&p.a.mapOut),
		"reduceShuffleBytes": amount(&p.a.reduceShuffle),
	}.Read
	p.onLocation = input.Fields{"layers": func() error {
		p.layers = p.layers[:0]
		return js.Array(maxLayers, p.eachLayer)
	}}.Read
}

// job reads a whole record. The slices of tasks are reused; hosts and near are new, because the built job keeps them.
func (p *parser) job() error {
	*p = parser{
		js: p.js, intern: p.intern, internBytes: p.internBytes, priority: normal, submit: none, launch: none, finish: none,
		maps: p.maps[:0], reduces: p.reduces[:0], others: p.others[:0], layers: p.layers[:0],
		onJob: p.onJob, onTask: p.onTask, onAttempt: p.onAttempt, onLocation: p.onLocation,
		eachTask: p.eachTask, eachAttempt: p.eachAttempt, eachHost: p.eachHost, eachLayer: p.eachLayer,
	}
	return p.js.Object(p.onJob)
}

// instant reads a time; 0 and -1 are unknown.
func (p *parser) instant(t *int64) error {
	v, ok, err := p.js.Int(-1, maxInstant)
	if !ok || v <= 0 {
		v = none
	}
	*t = v
	return err
}

func (p *parser) readTask(int) error {
	p.tried = p.tried[:0]
	p.t = taskFields{task: task{finish: none, span: none, full: none, shuffled: none, longest: none, near: none}, start: none, end: none}
	if err := p.js.Object(p.onTask); err != nil {
		return err
	}
	t := &p.t
	if !t.found && t.in > 0 && p.kind == 'm' {
		p.read.add(t.in) // it would have been read if the task had succeeded
	}
	for _, s := range p.tried {
		if t.found && s.finish <= t.began {
			t.before = int32(min(int64(t.before)+int64(max(length(s.start, s.finish), 0)), maxLength))
		}
	}
	t.finish = t.end
	t.span = length(t.start, t.end)
	var slot byte
	t.num, slot = number(t.id)
	switch p.kind {
	case 'm':
		p.maps = append(p.maps, t.task)
	case 'r':
		p.reduces = append(p.reduces, t.task)
	default:
		p.others = append(p.others, other{task: t.task, cleanup: t.typ == "CLEANUP", slot: slot})
	}
	if len(p.maps)+len(p.reduces)+len(p.others) > MaxTasks {
		return p.js.Errorf("job %s has more than %d tasks: refused", p.id, MaxTasks)
	}
	return nil
}

func (p *parser) readAttempt(int) error {
	p.a = attempt{start: none, finish: none, shuffleEnd: none}
	if err := p.js.Object(p.onAttempt); err != nil {
		return err
	}
	a, t := &p.a, &p.t
	full := length(a.start, a.finish)
	t.longest = max(t.longest, full)
	if len(p.tried) < maxTried {
		p.tried = append(p.tried, attemptSpan{a.start, a.finish})
	}
	if t.found || a.result != "SUCCESS" && a.result != "SUCCEEDED" {
		return nil // of two that succeeded, the first counts
	}
	t.found = true
	t.full = full
	t.began = a.start
	if a.shuffleEnd >= a.start {
		t.shuffled = length(a.shuffleEnd, a.finish)
	}
	switch p.kind {
	case 'm':
		p.read.add(max(a.read, a.mapIn))
		p.passed.add(a.mapOut)
		p.mapWritten.add(a.written)
	case 'r':
		p.shuffled.add(a.reduceShuffle)
		p.written.add(a.written)
	}
	return nil
}

// length is the time between two readings of one clock; none if implausible.
func length(from, to int64) int32 {
	if from == none || to == none || to < from || to-from > maxLength {
		return none
	}
	return int32(to - from)
}

// number parses a task's number, and the slot it ran in, from its id: task_200904211745_0002_m_000010.
func number(id string) (int32, byte) {
	at := strings.LastIndexByte(id, '_')
	if at < 1 {
		return 0, 0
	}
	n, err := strconv.ParseUint(id[at+1:], 10, 31)
	if err != nil {
		return 0, 0
	}
	return int32(n), id[at-1]
}

func priority(s string) int {
	if i := slices.Index(priorities, s); i >= 0 {
		return i + 1
	}
	return normal
}

// priorities are Hadoop's, from 1 on.
var priorities = []string{"VERY_LOW", "LOW", "NORMAL", "HIGH", "VERY_HIGH"}

const normal = 3
