package study

import (
	"fmt"
	"os"
	"time"

	"github.com/yardmaster/yardmaster/lab/hadoop"
	"github.com/yardmaster/yardmaster/lab/hadoop/rmlog"
)

// fill takes what the masters saw and what the ResourceManager's log tells of them.
func (r *Record) fill(c *hadoop.Cluster, res *hadoop.MastersResult) error {
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
		if at < -3000 || at > end+1000 { // another run's
			return nil
		}
		app, ours := byApp[e.App]
		switch e.Kind {
		case rmlog.Pass:
			if n, ok := nodes[e.Node]; ok {
				r.Log = append(r.Log, Line{"pass", at, n})
				passes++
			}
		case rmlog.Added:
			if ours {
				r.Apps[app].Added = at
				r.Log = append(r.Log, Line{"added", at, app})
			}
		case rmlog.Activated:
			if ours {
				r.Apps[app].Activated = at
			}
		case rmlog.Tick:
			if ours {
				r.Log = append(r.Log, Line{"call", at, app})
			}
		case rmlog.Placed:
			if i, ok := numbers[e.Container]; ok && e.Size != "" {
				r.Containers[i].Node = nodes[e.Node]
			}
		case rmlog.Container:
			if i, ok := numbers[e.Container]; ok {
				r.transition(&r.Containers[i], e.To, at, passes)
				r.note(&r.Containers[i], e.To, at)
			}
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

// note adds what containers tell of when passes and calls happened: lines that announce them are written by other threads.
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
