package study

import (
	"encoding/json"
	"time"

	"github.com/yardmaster/yardmaster/lab/evidence"
	"github.com/yardmaster/yardmaster/lab/hadoop"
)

// Record is one run of a workload of masters on real daemons. All instants are ms since the workload's zero; -1: it did not
// happen.
type Record struct {
	Hadoop     string
	At         time.Time
	Load       [2]float64 // of the computer, one minute's mean: before and after
	Site       string     // yarn-site.xml, as far as it concerns the scheduler
	Queues     string     // capacity-scheduler.xml
	Workload   []hadoop.Application
	Nodes      []NodeRecord
	Apps       []AppRecord // in the order of application ids, which is that of the workload
	Containers []ContainerRecord
	Log        []Line // in the order of the ResourceManager's log
}

// NodeRecord is one NodeManager.
type NodeRecord struct {
	Name string
	Port int32
	Rack string
	MB   int
}

// AppRecord is one application.
type AppRecord struct {
	Submit     int64 // the submission was sent
	Added      int64 // the scheduler heard of it
	Activated  int64
	Registered int64 // the master had registered
	First      int64 // its first container was allocated
	Unregister int64 // it had given everything back
	End        int64
	Calls      []int64 // when the master sent each call
	Took       []int64 // until it was answered
}

// ContainerRecord is one container.
type ContainerRecord struct {
	App                                     int32 // index into Apps
	Node                                    int32
	Priority                                int32
	MB                                      int64
	Reserved, Allocated, Acquired, Released int64
	Line                                    int32 // number of passes logged before it was allocated
}

// Line is an instant of the log: a pass over a node begins, it gives its first container, an application reaches the scheduler, a call
// is announced, a call brings or takes back a container.
type Line struct {
	Kind string // "pass", "gave", "added", "call", "moved"
	At   int64
	Of   int32 // index into Nodes or Apps
}

// MarshalJSON writes a line as a short list.
func (l Line) MarshalJSON() ([]byte, error) { return json.Marshal([]any{l.Kind, l.At, l.Of}) }

// UnmarshalJSON reads it.
func (l *Line) UnmarshalJSON(b []byte) error {
	return evidence.List(b, &l.Kind, &l.At, &l.Of)
}
