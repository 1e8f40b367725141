package live

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/yardmaster/yardmaster/studies/evidence"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop/rmlog"
)

// Record is one run of a workload of AMs on real daemons. All instants are ms since the workload's zero; -1: it did not
// happen.
type Record struct {
	Hadoop     string
	At         time.Time
	Load       [2]float64 // of the computer, one minute's mean: before and after
	Site       string     // yarn-site.xml
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
	Added      int64 // it reached the scheduler
	Activated  int64
	Registered int64 // the AM had registered
	First      int64 // its first container was allocated
	Unregister int64 // it had released everything
	End        int64
	Calls      []int64 // when the AM sent each call
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

// Line is an event of the log: a pass over a node begins, it allocates its first container, an application reaches the scheduler, a call
// is announced, a call delivers or releases a container.
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

// fill adds what the AMs saw and what the ResourceManager's log says about them.
func (r *Record) fill(c *hadoop.Cluster, res *hadoop.AMsResult) error {
	byID, byApp := map[string]int32{}, map[string]int32{}
	for i, a := range r.Workload {
		byID[a.ID] = int32(i)
	}
	since := func(t hadoop.Millis) int64 { return int64(t - res.Zero) }
	r.Apps = make([]AppRecord, len(r.Workload))
	numbers := map[string]int32{} // of containers
	for _, a := range res.Apps {
		i, ok := byID[a.ID]
		if !ok || a.State != "SUCCEEDED" {
			return fmt.Errorf("application %s: %s %s", a.ID, a.State, a.Why)
		}
		byApp[a.App] = i
		rec := AppRecord{Submit: since(a.Submit), Added: -1, Activated: -1, First: -1, Registered: since(a.Registered), Unregister: since(a.Unregister), End: since(a.End)}
		for k := range a.Calls {
			rec.Calls, rec.Took = append(rec.Calls, since(a.Calls[k])), append(rec.Took, int64(a.Took[k]))
		}
		r.Apps[i] = rec
		for _, ct := range a.Containers {
			x := ContainerRecord{App: i, Node: -1, MB: int64(ct.MB), Reserved: -1, Allocated: -1, Acquired: -1, Released: -1}
			if ct.Surplus || ct.Lost {
				return fmt.Errorf("application %s lost container %s or got one too many", a.ID, ct.ID)
			}
			x.Priority = int32(r.Workload[i].Containers[ct.Group].Priority)
			numbers[ct.ID] = int32(len(r.Containers))
			r.Containers = append(r.Containers, x)
		}
	}
	if len(res.Apps) != len(r.Workload) {
		return fmt.Errorf("%d of %d applications ended", len(res.Apps), len(r.Workload))
	}
	return r.readLog(c, res.Zero.Time(), byApp, numbers)
}

func (r *Record) readLog(c *hadoop.Cluster, zero time.Time, byApp, numbers map[string]int32) error {
	nodes := map[string]int32{}
	for i, n := range r.Nodes {
		nodes[fmt.Sprintf("%s:%d", n.Name, n.Port)] = int32(i)
	}
	f, err := os.Open(c.RMLog())
	if err != nil {
		return err
	}
	defer f.Close()
	var passes int32
	var end int64
	for i := range r.Apps {
		end = max(end, r.Apps[i].End)
	}
	return rmlog.Read(f, func(e rmlog.Event) error {
		at := e.At.Sub(zero).Milliseconds()
		if at < -3000 || at > end+1000 { // from another run
			return nil
		}
		app, ours := byApp[e.App]
		node, isNode := nodes[e.Node]
		i, isContainer := numbers[e.Container]
		switch {
		case e.Kind == rmlog.Pass && isNode:
			r.Log = append(r.Log, Line{"pass", at, node})
			passes++
		case e.Kind == rmlog.Added && ours:
			r.Apps[app].Added = at
			r.Log = append(r.Log, Line{"added", at, app})
		case e.Kind == rmlog.Activated && ours:
			r.Apps[app].Activated = at
		case e.Kind == rmlog.Tick && ours:
			r.Log = append(r.Log, Line{"call", at, app})
		case e.Kind == rmlog.Placed && isContainer && e.Size != "":
			r.Containers[i].Node = node
		case e.Kind == rmlog.Container && isContainer:
			r.transition(&r.Containers[i], e.To, at, passes)
			r.note(&r.Containers[i], e.To, at)
		}
		return nil
	})
}

func (r *Record) transition(c *ContainerRecord, to string, at int64, passes int32) {
	switch to {
	case "RESERVED":
		c.Reserved = at
	case "ALLOCATED":
		c.Allocated, c.Line = at, passes
		if a := &r.Apps[c.App]; a.First < 0 || at < a.First {
			a.First = at
		}
	case "ACQUIRED":
		c.Acquired = at
	case "RELEASED":
		c.Released = at
	}
}

// note adds what containers reveal about the times of passes and calls: the lines that announce those are written by other threads.
func (r *Record) note(c *ContainerRecord, to string, at int64) {
	l := Line{"moved", at, c.App}
	switch to {
	case "ALLOCATED":
		l.Kind, l.Of = "gave", 0 // by the last pass
		for i := len(r.Log) - 1; i >= 0 && r.Log[i].Kind != "pass"; i-- {
			if r.Log[i].Kind == "gave" {
				return
			}
		}
	case "ACQUIRED", "RELEASED":
		if n := len(r.Log); n > 0 && r.Log[n-1].Kind == l.Kind && r.Log[n-1].Of == l.Of {
			return
		}
	default:
		return
	}
	r.Log = append(r.Log, l)
}
