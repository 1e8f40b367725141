package sls

import (
	"fmt"
	"io"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop/rmlog"
)

// Record is one run of SLS. All instants are milliseconds since time 0 of the trace; -1: it did not happen.
type Record struct {
	Scenario   string
	Hadoop     string // version
	Scheduler  string // capacity or fair
	Trace      string // name of the scenario
	Beat       int64  // heartbeat of nodes and AMs
	Nodes      []NodeRecord
	Jobs       []JobRecord       // in order of application ids
	Containers []ContainerRecord // in order of allocation
	Log        Log
	Kills      []Kill
	Lost       []string // applications that did not end properly for the RM: their times mean nothing
	Machine    Machine
}

// NodeRecord is one node.
type NodeRecord struct {
	Name  string
	Rack  string
	Port  int64 // of its id; the RM keeps some lists of nodes in the order of a hash over name and port
	Phase int64 // first heartbeat: later ones follow every Beat, plus the machine's slip
}

// JobRecord is one application.
type JobRecord struct {
	ID       string
	Priority int   `json:",omitempty"`
	Submit   int64 // reached the RM
	Added    int64 // its attempt reached the scheduler
	Asked    int64 // the request for its AM was filed
	AM       int64 `json:"Master"` // its AM's container was allocated
	Launched int64
	End      int64 // its AM had unregistered
	Removed  int64 // the scheduler dropped its attempt
}

// ContainerRecord is one container, an AM's among them (Priority 0).
type ContainerRecord struct {
	Job       int32 // index into Jobs
	Num       int64 // number in its application's ids
	Node      int32 // index into Nodes; -1: unknown
	Priority  int32
	Mem       int64
	Cores     int64
	Reserved  int64 // -1: never
	Allocated int64
	Acquired  int64
	Running   int64 // its node had reported it
	Ended     int64
	State     string // the RM's final state: COMPLETED, KILLED, RELEASED
}

// Kill is a container that the preemption monitor selected (Taken false) or killed.
type Kill struct {
	At        int64
	Container int32 // index into Containers
	Taken     bool
}

// Kinds of entries of a Log.
const (
	Beat   = 'B' // a node has checked which of its containers have ended, and its heartbeat reached the RM
	Pass   = 'P' // the scheduler began to serve a node
	Tick   = 'T' // an AM has started its new containers, and calls
	Call   = 'C' // its allocate reached the scheduler
	Change = 'A' // the same, with new requests
	Added  = '+' // an attempt was added
	Asked  = 'M' // the request for an AM was filed
	Ended  = 'E' // an AM has unregistered, in a tick
	Gone   = '-' // an attempt was removed
	Round  = 'R' // preemption round, or update of the fair shares
)

// Log holds every event that drives the scheduler, in the order of the log: Kinds[i] happened At[0]+...+At[i] ms after
// time 0 to node or job Of[i].
type Log struct {
	Kinds string
	At    []int64
	Of    []int32
}

// Each calls f for every entry with its instant.
func (l *Log) Each(f func(kind byte, instant int64, object int32)) {
	var t int64
	for i := range len(l.Kinds) {
		t += l.At[i]
		f(l.Kinds[i], t, l.Of[i])
	}
}

// Machine says how fast the run was and how much the computer disturbed it.
type Machine struct {
	Wall    float64 // seconds from the start of the JVM to its end
	StartUp float64 // of these, until time 0
	CPU     float64 // seconds
	Load    float64 // average number of runnable threads of the computer, mean over the run
	LoadMax float64
	SlipP50 int64 // how late heartbeats came, ms
	SlipP95 int64
	SlipMax int64
	// Unordered counts events whose order in the log may differ from that in which the scheduler handled them.
	Unordered int `json:",omitempty"`
}

// Task is one task of a Job, or Count identical ones.
type Task struct {
	Host     string `json:"container.host,omitempty"` // "/rack/node"; "": anywhere
	Duration int64  `json:"container.duration.ms"`
	Type     string `json:"container.type"` // map or reduce
	Mem      int64  `json:"container.memory-mb"`
	Cores    int64  `json:"container.vcores"`
	Count    int64  `json:"count,omitempty"` // 0: 1
}

// Job is one job of a trace, in the format of hadoop-sls. Priority is our own addition: the stock simulator submits
// everything with priority 0 and ignores the field, ours submits with it.
type Job struct {
	ID       string `json:"job.id"`
	Type     string `json:"yarn.sls.am.type"` // mapreduce
	Start    int64  `json:"job.start.ms"`
	Queue    string `json:"job.queue.name"`
	User     string `json:"job.user"`
	Priority int    `json:"job.priority,omitempty"`
	AMMem    int64  `json:"am.memory-mb,omitempty"` // 0: 1024
	AMCores  int64  `json:"am.vcores,omitempty"`    // 0: 1
	Tasks    []Task `json:"job.tasks"`
}

// Containers counts the containers that the job needs, including its AM's.
func (j *Job) Containers() int64 {
	n := int64(1)
	for i := range j.Tasks {
		n += max(j.Tasks[i].Count, 1)
	}
	return n
}

// Node is one node of a node file.
type Node struct {
	Name  string `json:"node"` // a literal address: a name that resolves ends up in /default-rack
	Mem   int64  `json:"memory-mb"`
	Cores int64  `json:"vcores"`
}

// Rack is one rack of a node file.
type Rack struct {
	Name  string `json:"rack"` // without a slash
	Nodes []Node `json:"nodes"`
}

// WriteTrace writes jobs as hadoop-sls reads them: one JSON object after another.
func WriteTrace(w io.Writer, jobs []Job) error { return hadoop.WriteLines(w, jobs) }

// WriteNodes writes a node file.
func WriteNodes(w io.Writer, racks []Rack) error { return hadoop.WriteLines(w, racks) }

// parse turns the log of a run into a record. A line is "MS LOGGER MESSAGE", MS counted from the start of the JVM: those of
// logger y are Watch's (see java/Watch.java), those of RMContainerImpl are the transitions of each container. Lines of other
// loggers and torn lines are skipped; Lost and counts reveal missing data.
func parse(r io.Reader, rec *Record) error {
	p := &parser{
		rec: rec, nodes: map[string]int32{}, jobs: map[int64]int32{}, containers: map[key]int32{},
		beats: make([][]int64, len(rec.Nodes)),
	}
	for i := range rec.Nodes {
		p.nodes[rec.Nodes[i].Name] = int32(i)
	}
	err := rmlog.Lines(r, func(line []byte) error {
		p.line(string(line))
		return nil
	})
	if err != nil {
		return err
	}
	return p.finish()
}

// key is a container: its application's number and its own.
type key struct{ app, num int64 }

type parser struct {
	rec        *Record
	nodes      map[string]int32
	jobs       map[int64]int32 // by application number
	containers map[key]int32
	base, zero int64
	based      bool
	kinds      strings.Builder
	at         []int64 // absolute, on the log's clock
	beats      [][]int64
	serving    int32 // the node of the last pass
	ended      bool
}

func (p *parser) line(s string) {
	msText, rest, ok := strings.Cut(s, " ")
	if !ok {
		return
	}
	logger, msg, ok := strings.Cut(rest, " ")
	if !ok {
		return
	}
	ms, err := strconv.ParseInt(msText, 10, 64)
	if err != nil {
		return
	}
	switch logger {
	case "y":
		p.watch(ms, append(strings.Fields(msg), make([]string, longest)...))
	case "RMContainerImpl":
		p.transition(ms, msg)
	}
}

// num reads a number; -1 when it is none.
func num(s string) int64 {
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return -1
	}
	return v
}

// longest is the maximum number of words in a line of Watch's; missing words are empty.
const longest = 8

func (p *parser) watch(ms int64, f []string) {
	rec, word := p.rec, f[0]
	node, isNode := p.nodes[f[1]]
	app, isApp := p.jobs[num(f[1])]
	container, isContainer := p.containers[key{num(f[1]), num(f[2])}]
	j := &JobRecord{}
	if isApp {
		j = &rec.Jobs[app]
	}
	switch {
	case word == "base":
		p.base = num(f[1])
	case word == "zero":
		p.zero, p.based = num(f[1])-p.base, true
	case word == "job" && f[3] != "":
		p.jobs[num(f[1])] = int32(len(rec.Jobs))
		rec.Jobs = append(rec.Jobs, JobRecord{ID: f[2], Priority: int(num(f[3])), Submit: ms, Added: -1, Asked: -1, AM: -1, Launched: -1, End: -1, Removed: -1})
	case word == "unordered":
		rec.Machine.Unordered++
	case word == "round":
		p.note(Round, ms, 0)
	case word == "all":
		p.ended = true
		rec.Machine.CPU = float64(max(num(f[3]), 0)) / 1000
	case word == "node" && isNode:
		rec.Nodes[node].Port = num(f[2])
	case word == "beat" && isNode:
		p.note(Beat, ms, node)
		p.beats[node] = append(p.beats[node], ms)
	case word == "pass" && isNode:
		p.note(Pass, ms, node)
		p.serving = node
	case (word == "mark" || word == "kill") && isContainer:
		rec.Kills = append(rec.Kills, Kill{At: ms, Container: container, Taken: word == "kill"})
	case word == "got" && isContainer && f[6] != "": // got APP CONTAINER NODE PRIORITY MB VCORES
		c := &rec.Containers[container]
		if n, ok := p.nodes[f[3]]; ok {
			c.Node = n
		}
		c.Priority, c.Mem, c.Cores = int32(num(f[4])), num(f[5]), num(f[6])
	case !isApp: // the rest is about one application
	case word == "lost" && f[2] != "" && f[2] != "FINISHING": // FINISHING is not lost: the AM has unregistered, its node has just not reported yet
		rec.Lost = append(rec.Lost, j.ID+" "+f[2])
	case word == "add":
		j.Added = ms
		p.note(Added, ms, app)
	case word == "ask" && num(f[2]) > 0 && j.Asked < 0:
		j.Asked = ms
		p.note(Asked, ms, app)
	case word == "am":
		j.Launched = ms
	case word == "tick":
		p.note(Tick, ms, app)
	case word == "call" && num(f[2]) > 0:
		p.note(Change, ms, app)
	case word == "call":
		p.note(Call, ms, app)
	case word == "end":
		j.End = ms
		p.note(Ended, ms, app)
	case word == "rem":
		j.Removed = ms
		p.note(Gone, ms, app)
	}
}

func (p *parser) note(kind byte, ms int64, of int32) {
	p.kinds.WriteByte(kind)
	p.at = append(p.at, ms)
	p.rec.Log.Of = append(p.rec.Log.Of, of)
}

var transitions = regexp.MustCompile(`^container_(?:e\d+_)?\d+_(\d+)_\d+_(\d+) Container Transitioned from \w+ to (\w+)$`)

// transition parses "container_TS_APP_ATTEMPT_NUM Container Transitioned from A to B".
func (p *parser) transition(ms int64, msg string) {
	f := transitions.FindStringSubmatch(msg)
	if f == nil {
		return
	}
	k, to := key{num(f[1]), num(f[2])}, f[3]
	job, ok := p.jobs[k.app]
	if !ok {
		return
	}
	i, ok := p.containers[k]
	if !ok {
		i = int32(len(p.rec.Containers))
		p.containers[k] = i
		p.rec.Containers = append(p.rec.Containers, ContainerRecord{
			Job: job, Num: k.num, Node: -1, Priority: -1, Reserved: -1, Allocated: -1, Acquired: -1, Running: -1, Ended: -1,
		})
	}
	c := &p.rec.Containers[i]
	c.State = to
	switch to {
	case "RESERVED":
		c.Reserved, c.Node = ms, p.serving
	case "ALLOCATED":
		c.Allocated = ms
		if p.rec.Jobs[job].AM < 0 {
			p.rec.Jobs[job].AM = ms
		}
	case "ACQUIRED":
		c.Acquired = ms
	case "RUNNING":
		c.Running = ms
	default:
		c.Ended = ms
	}
}

// finish converts all instants to the trace's clock.
func (p *parser) finish() error {
	r := p.rec
	if !p.based {
		return fmt.Errorf("the log of SLS has no start of the trace: it did not get that far")
	}
	r.Machine.StartUp = float64(p.zero) / 1000
	shift := func(ts ...*int64) {
		for _, t := range ts {
			if *t >= 0 {
				*t -= p.zero
			}
		}
	}
	for i := range r.Jobs {
		j := &r.Jobs[i]
		shift(&j.Submit, &j.Added, &j.Asked, &j.AM, &j.Launched, &j.End, &j.Removed)
	}
	for i := range r.Containers {
		c := &r.Containers[i]
		shift(&c.Reserved, &c.Allocated, &c.Acquired, &c.Running, &c.Ended)
	}
	for i := range r.Kills {
		r.Kills[i].At -= p.zero
	}
	r.Log.Kinds = p.kinds.String()
	r.Log.At = make([]int64, len(p.at))
	last := p.zero
	for i, t := range p.at {
		r.Log.At[i], last = t-last, t
	}
	var slips []int64
	for i := range r.Nodes {
		r.Nodes[i].Phase = -1
		if len(p.beats[i]) > 0 {
			first, s := phase(p.beats[i], r.Beat)
			r.Nodes[i].Phase = first - p.zero
			slips = append(slips, s...)
		}
	}
	sort.Slice(slips, func(a, b int) bool { return slips[a] < slips[b] })
	if n := len(slips); n > 0 {
		r.Machine.SlipP50, r.Machine.SlipP95, r.Machine.SlipMax = slips[n/2], slips[n*95/100], slips[n-1]
	}
	if !p.ended {
		return fmt.Errorf("the log of SLS ends before its applications did")
	}
	return nil
}

// phase finds the grid of a node's heartbeats: they come every period, sometimes late and never early. It returns
// the first instant of the grid and how late each heartbeat was.
func phase(beats []int64, period int64) (first int64, late []int64) {
	first = beats[0]
	for i, t := range beats {
		first = min(first, t-int64(i)*period)
	}
	late = make([]int64, len(beats))
	for i, t := range beats {
		late[i] = t - int64(i)*period - first
	}
	return first, late
}
