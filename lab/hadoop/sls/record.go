package sls

import (
	"io"

	"github.com/yardmaster/yardmaster/lab/hadoop"
)

// Record is what one run of SLS did. All instants are milliseconds since time 0 of the trace; -1: it did not happen.
type Record struct {
	Scenario   string
	Hadoop     string // version
	Scheduler  string // capacity or fair
	Trace      string // what it was run on, as the caller calls it
	Beat       int64  // heartbeat of nodes and masters
	Nodes      []NodeRecord
	Jobs       []JobRecord       // in order of application ids
	Containers []ContainerRecord // in order of allocation
	Log        Log
	Kills      []Kill
	Lost       []string // applications that the RM did not see end well: jobs whose times mean nothing
	Machine    Machine
}

// NodeRecord is one node.
type NodeRecord struct {
	Name  string
	Rack  string
	Port  int64 // of its id; the RM keeps some lists of nodes in the order of a hash over name and port
	Phase int64 // first heartbeat: later ones follow every Beat, plus what the machine slipped
}

// JobRecord is one application.
type JobRecord struct {
	ID       string
	Priority int   `json:",omitempty"`
	Submit   int64 // reached the RM
	Added    int64 // its attempt reached the scheduler
	Asked    int64 // the request for its master was filed
	Master   int64 // its master's container was allocated
	Launched int64
	End      int64 // its master had unregistered
	Removed  int64 // the scheduler dropped its attempt
}

// ContainerRecord is one container, a master's among them (Priority 0).
type ContainerRecord struct {
	Job       int32 // index into Jobs
	Num       int64 // number in its application's ids
	Node      int32 // index into Nodes; -1: nobody was told
	Priority  int32
	Mem       int64
	Cores     int64
	Reserved  int64 // -1: never
	Allocated int64
	Acquired  int64
	Running   int64 // its node had reported it
	Ended     int64
	State     string // the RM's last word: COMPLETED, KILLED, RELEASED
}

// Kill is a container that the preemption monitor chose (Taken false) or took away.
type Kill struct {
	At        int64
	Container int32 // index into Containers
	Taken     bool
}

// Kinds of entries of a Log.
const (
	Beat   = 'B' // a node has looked which of its containers have ended, and its heartbeat reached the RM
	Pass   = 'P' // the scheduler began to serve a node
	Tick   = 'T' // a master has started what it was given, and calls
	Call   = 'C' // its allocate reached the scheduler
	Change = 'A' // the same, with new requests
	Added  = '+' // an attempt was added
	Asked  = 'M' // the request for a master was filed
	Ended  = 'E' // a master has unregistered, in a tick
	Gone   = '-' // an attempt was removed
	Round  = 'R' // preemption round, or update of the fair shares
)

// Log holds every event that moves the scheduler, in the order of the log: Kinds[i] happened At[0]+...+At[i] ms after
// time 0 to node or job Of[i].
type Log struct {
	Kinds string
	At    []int64
	Of    []int32
}

// Each calls f for every entry with its instant.
func (l *Log) Each(f func(kind byte, at int64, of int32)) {
	var t int64
	for i := range len(l.Kinds) {
		t += l.At[i]
		f(l.Kinds[i], t, l.Of[i])
	}
}

// Machine says how fast the run was and how much the computer was in its way.
type Machine struct {
	Wall    float64 // seconds from the start of the JVM to its end
	StartUp float64 // of these, until time 0
	CPU     float64 // seconds
	Load    float64 // average number of runnable threads of the computer, mean over the run
	LoadMax float64
	SlipP50 int64 // how late heartbeats came, ms
	SlipP95 int64
	SlipMax int64
	// Unordered counts events whose order in the log may not be that in which the scheduler took them in.
	Unordered int `json:",omitempty"`
}

// Task is one task, or Count like ones, of a Job.
type Task struct {
	Host     string `json:"container.host,omitempty"` // "/rack/node"; "": anywhere
	Duration int64  `json:"container.duration.ms"`
	Type     string `json:"container.type"` // map or reduce
	Mem      int64  `json:"container.memory-mb"`
	Cores    int64  `json:"container.vcores"`
	Count    int64  `json:"count,omitempty"` // 0: 1
}

// Job is one job of a trace, in the form that hadoop-sls reads. Priority is our own addition: the stock simulator submits
// everything with priority 0 and takes no notice of the field, ours submits with it.
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

// Containers counts the containers that the job needs, its master among them.
func (j *Job) Containers() int64 {
	n := int64(1)
	for i := range j.Tasks {
		n += max(j.Tasks[i].Count, 1)
	}
	return n
}

// Node is one node of a node file.
type Node struct {
	Name  string `json:"node"` // a literal address: a name that resolves lands in /default-rack
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
