package sls

import (
	"io"

	"github.com/yardmaster/yardmaster/lab/hadoop"
)

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
