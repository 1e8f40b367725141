package spark

import "bytes"

// stageInfo reads a Stage Info, which describes one attempt of a stage.
func (a *App) stageInfo(s *scan, submitted bool) {
	x := stage{id: -1, rdd: -1}
	var kept []int
	for ok := s.enter('{'); ok && s.more('}'); {
		switch string(s.key()) {
		case "Stage ID":
			x.id = int(s.int())
		case "Stage Name":
			x.op = operation(s.bytes())
		case "Number of Tasks":
			x.tasks = int(min(max(s.int(), 0), maxTasks))
		case "Parent IDs":
			x.parents = s.ints(maxParents)
		case "Submission Time":
			x.submitted = a.seen(s.int())
		case "Completion Time":
			a.seen(s.int())
		case "RDD Info":
			for ok := s.enter('['); ok && s.more(']'); {
				id, persisted := readRDD(s)
				if x.rdd < 0 { // the first is the one that the stage is for
					x.rdd = id
				}
				if persisted && len(kept) < maxParents {
					kept = append(kept, id)
				}
			}
		default:
			s.skip()
		}
	}
	if s.bad || x.id < 0 {
		return
	}
	into := a.stage(x.id)
	if into == nil {
		return
	}
	if into.parents == nil && a.fits(a.listed+len(x.parents), maxListed) {
		into.parents, a.listed = x.parents, a.listed+len(x.parents)
	}
	into.tasks, into.rdd = max(into.tasks, x.tasks), x.rdd
	if submitted || into.submitted == 0 {
		a.submit(into, &x, kept)
	}
}

// maxParents bounds what is kept of one stage's parents and persisted RDDs.
const maxParents = 4096

// submit takes the first submission of a stage. A persisted RDD that no earlier stage has computed is computed by this one.
func (a *App) submit(s, x *stage, kept []int) {
	if x.submitted == 0 || s.submitted != 0 {
		return
	}
	s.submitted, s.op = x.submitted, x.op
	from := -1
	for _, rdd := range kept {
		switch by := a.cached[rdd]; {
		case by == nil && a.fits(len(a.cached)+1, maxEntries):
			a.cached[rdd] = s
		case by != nil && rdd > from: // the nearest to the stage's result
			from, s.cachedBy = rdd, by
		}
	}
}

func readRDD(s *scan) (id int, persisted bool) {
	for ok := s.enter('{'); ok && s.more('}'); {
		switch string(s.key()) {
		case "RDD ID":
			id = int(s.int())
		case "Storage Level":
			for ok := s.enter('{'); ok && s.more('}'); {
				if k := string(s.key()); k == "Use Disk" || k == "Use Memory" {
					persisted = s.bool() || persisted
				} else {
					s.skip()
				}
			}
		default:
			s.skip()
		}
	}
	return id, persisted
}

// operation is the method that a stage's name begins with ("collect at report.py:9"). The rest names files, and a name that users
// wrote themselves is not kept.
func operation(name []byte) string {
	op, _, found := bytes.Cut(name, []byte(" at "))
	const longest = 40
	if !found || len(op) > longest {
		return ""
	}
	for _, c := range op {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_') {
			return ""
		}
	}
	return string(op)
}

// ended has the members of a TaskEnd that are read.
type ended struct {
	stage, attempt        int
	mapper, success, lost bool
	fault                 bool // its own program failed
	failed, killed, spec  bool
	id, index, partition  int64
	launch, finish        int64
	executor              []byte

	read, write, input, output int64
}

// taskEnd takes the event of which logs are full.
func (a *App) taskEnd(s *scan, each func(*Task)) bool {
	e := ended{stage: -1, partition: -1}
	for ok := s.enter('{'); ok && s.more('}'); {
		switch string(s.key()) {
		case "Stage ID":
			e.stage = int(s.int())
		case "Stage Attempt ID":
			e.attempt = int(s.int())
		case "Task Type":
			e.mapper = string(s.bytes()) == "ShuffleMapTask"
		case "Task End Reason":
			for ok := s.enter('{'); ok && s.more('}'); {
				if string(s.key()) != "Reason" {
					s.skip()
					continue
				}
				reason := string(s.bytes())
				e.success, e.lost, e.fault = reason == "Success", reason == "Resubmitted", reason == "ExceptionFailure"
			}
		case "Task Info":
			e.info(s)
		case "Task Metrics":
			e.metrics(s)
		default:
			s.skip()
		}
	}
	if s.bad || e.stage < 0 {
		return false
	}
	a.ended(&e, each)
	return true
}

func (e *ended) info(s *scan) {
	for ok := s.enter('{'); ok && s.more('}'); {
		switch string(s.key()) {
		case "Task ID":
			e.id = s.int()
		case "Index":
			e.index = s.int()
		case "Partition ID":
			e.partition = s.int()
		case "Launch Time":
			e.launch = s.int()
		case "Finish Time":
			e.finish = s.int()
		case "Executor ID":
			e.executor = s.bytes()
		case "Speculative":
			e.spec = s.bool()
		case "Failed":
			e.failed = s.bool()
		case "Killed":
			e.killed = s.bool()
		default:
			s.skip()
		}
	}
}

func (e *ended) metrics(s *scan) {
	for ok := s.enter('{'); ok && s.more('}'); {
		switch string(s.key()) {
		case "Shuffle Read Metrics":
			e.read = s.sum("Remote Bytes Read", "Local Bytes Read")
		case "Shuffle Write Metrics":
			e.write = s.sum("Shuffle Bytes Written", "")
		case "Input Metrics":
			e.input = s.sum("Bytes Read", "")
		case "Output Metrics":
			e.output = s.sum("Bytes Written", "")
		default:
			s.skip()
		}
	}
}

// maxBytes bounds one figure, so that no sum of a log's figures overflows.
const maxBytes = 1 << 50

// sum adds up two members of an object.
func (s *scan) sum(a, b string) (n int64) {
	for ok := s.enter('{'); ok && s.more('}'); {
		if k := s.key(); string(k) == a || string(k) == b {
			n += min(max(s.int(), 0), maxBytes)
		} else {
			s.skip()
		}
	}
	return n
}
