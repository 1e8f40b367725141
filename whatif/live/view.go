// Package live predicts what a running YARN cluster will do: a simulation starts from what its ResourceManager shows, many times, each with
// another draw of what is not known, and the spread of the outcomes is the answer.
//
//	View       the cluster as it is seen: nodes, queues, applications with their containers and requests (Read, from a ResourceManager)
//	History    earlier jobs, from which the work left in an application and the jobs to come are drawn
//	Predict    starts and ends, with intervals
package live

import (
	"cmp"
	"slices"
	"time"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/internal/heap"
	"github.com/yardmaster/yardmaster/policy/rm"
	rmall "github.com/yardmaster/yardmaster/policy/rm/all"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/sim/yarn"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// View is a cluster at one instant. Times count from Epoch.
type View struct {
	Epoch     time.Time // before the first submission
	Now       unit.Time
	Cluster   *cluster.Cluster
	Used      []unit.Resources // what containers hold on each node; nil: not known
	Scheduler run.Scheduler
	File      []byte    // the scheduler's configuration
	Site      conf.Site // of the ResourceManager
	Timing    yarn.Timing
	Apps      []App // in order of submission
	Notes     []string

	unread int // of the notes: what is not known of the settings
}

// SetFile sets the scheduler by its file, fair-scheduler.xml or capacity-scheduler.xml, in place of what the ResourceManager shows of it.
func (v *View) SetFile(name string, text []byte) (err error) {
	v.Notes, v.unread = v.Notes[v.unread:], 0
	v.File, v.Scheduler = text, run.Scheduler{Name: name}
	v.Scheduler.RM, err = rmall.Read(name, text, v.Site)
	return err
}

// App is an application that has not ended.
type App struct {
	ID, Name, User, Queue string
	Priority              int
	Submitted             unit.Time
	Up                    bool           // its AM has registered
	Unmanaged             bool           // its AM has no container
	AM                    unit.Resources // what its AM holds or asks for; zero: not known
	Held                  []Container
	Asks                  []rm.Ask // for containers anywhere
	Capped                int64    // containers that it waits for besides, which are not simulated: see ration
	Local                 []rm.Ask // the part of them that names nodes and racks
	Reserves              bool     // nodes are reserved for it
	Diagnostics           string   // what the ResourceManager says about it
	Progress              float64  // as it reports it itself, 0 to 1
	Service               float64  // MiB-seconds held so far
}

// Container is one that an application holds.
type Container struct {
	AM       bool
	Priority int32 // of its request; -1: not known
	Node     int32 // index in Cluster.Nodes; -1: not known
	Size     unit.Resources
	Since    unit.Time // allocated; -1: not known
}

// Started says whether the application has a container, and since when its AM has one; -1: not known.
func (a *App) Started() (since unit.Time, ok bool) {
	if c := a.am(); c != nil {
		return c.Since, true
	}
	return -1, len(a.Held) > 0
}

// am is the AM's container; nil: none is known.
func (a *App) am() *Container {
	if i := slices.IndexFunc(a.Held, func(c Container) bool { return c.AM }); i >= 0 {
		return &a.Held[i]
	}
	return nil
}

// Find returns the application with an id, or nil.
func (v *View) Find(id string) *App {
	if i := slices.IndexFunc(v.Apps, func(a App) bool { return a.ID == id }); i >= 0 {
		return &v.Apps[i]
	}
	return nil
}

// locate chooses nodes for the containers whose node is not known: where most is used that no known container explains.
func (v *View) locate() {
	room := slices.Clone(v.Used)
	for i := range v.Cluster.Nodes {
		if v.Used == nil {
			room = append(room, v.Cluster.Nodes[i].Room)
		}
	}
	var lost []*Container
	for i := range v.Apps {
		for k := range v.Apps[i].Held {
			if c := &v.Apps[i].Held[k]; c.Node >= 0 && int(c.Node) < len(room) {
				room[c.Node] = room[c.Node].Sub(c.Size)
			} else {
				lost = append(lost, c)
			}
		}
	}
	slices.SortStableFunc(lost, func(a, b *Container) int { return cmp.Compare(b.Size.Mem, a.Size.Mem) })
	byRoom := heap.Heap[int32]{Before: func(a, b int32) bool { return room[a].Mem > room[b].Mem || room[a].Mem == room[b].Mem && a < b }}
	for i := range room {
		byRoom.Push(int32(i))
	}
	for _, c := range lost {
		c.Node = byRoom.Items[0]
		room[c.Node] = room[c.Node].Sub(c.Size)
		byRoom.Fix()
	}
}
