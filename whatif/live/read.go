package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/internal/term"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/sim/yarn"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/history"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

const (
	maxPresent = 100_000       // applications that have not ended: a ResourceManager takes 10,000 by default
	maxDetail  = 64            // applications whose containers are read one by one
	maxHeld    = 200_000       // containers of all applications that are believed
	maxAsk     = math.MaxInt32 // containers of a request: what Hadoop can express
	atOnce     = 4             // requests

	// Containers that applications wait for in a simulation: one of them, and all. Where the nodes can hold many at once it is so
	// many times that, if that is more.
	askedByOne, askedByAll   = 10_000, 100_000
	roundsOfOne, roundsOfAll = 25, 100
	maxWaiting               = 1_000_000 // of all, however many fit: they take memory
)

// Read reads the cluster from its ResourceManager: six requests, and one for each of up to 64 running applications, whose containers' age and
// nodes are then known. Those that first asks for come first.
func Read(ctx context.Context, c *rest.Client, first func(*rest.App) bool) (*View, error) {
	about, err := history.Describe(ctx, c)
	if err != nil {
		return nil, err
	}
	if about.Name == "" {
		return nil, fmt.Errorf("the scheduler is %q: only the CapacityScheduler and the FairScheduler can be simulated", about.Scheduler.Type)
	}
	v := &View{Timing: yarn.Hadoop(), Site: about.Site}
	if err := v.SetFile(about.Name, about.File); err != nil {
		return nil, err
	}
	for _, n := range about.Notes {
		v.Notes = append(v.Notes, n.Text+" (--file FILE)")
	}
	v.unread = len(v.Notes)
	if about.Site.NodeHeartbeat > 0 {
		v.Timing.NodeHeartbeat = about.Site.NodeHeartbeat
	}
	nodes, places, err := v.takeNodes(about.Nodes)
	if err != nil {
		return nil, err
	}
	var apps []rest.App
	for a, err := range c.Apps(ctx, rest.AppFilter{States: []string{"NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED", "RUNNING"}, Requests: true}) {
		if err != nil {
			return nil, err
		}
		if a.Ended() || a.ID == "" || a.StartedTime <= 0 {
			continue
		}
		if apps = append(apps, a); len(apps) > maxPresent {
			return nil, fmt.Errorf("the ResourceManager lists more than %d applications that have not ended", maxPresent)
		}
	}
	held, err := details(ctx, c, apps, first)
	if err != nil {
		return nil, err
	}
	v.take(apps, held, nodes, places)
	v.Notes = append(v.Notes, c.Cuts(0)...)
	return v, nil
}

// takeNodes makes the cluster. It returns the nodes' numbers by id, and the nodes and racks by the names that requests give them.
func (v *View) takeNodes(list []rest.Node) (ids map[string]int32, places map[string]rm.Place, err error) {
	ids, places = map[string]int32{}, map[string]rm.Place{}
	racks := cluster.RackIndex{}
	v.Cluster = &cluster.Cluster{}
	for i := range list {
		n := &list[i]
		total := n.Total()
		if n.State != "RUNNING" || total.Memory <= 0 || total.VCores <= 0 || n.ID == "" {
			continue
		}
		index, rack := int32(len(v.Cluster.Nodes)), racks.Of(v.Cluster, n.Rack)
		host, _, _ := strings.Cut(n.ID, ":")
		ids[n.ID], places[n.Rack], places[host] = index, rm.OnRack(int32(rack)), rm.OnNode(index)
		v.Cluster.Nodes = append(v.Cluster.Nodes, cluster.Node{Name: n.ID, Rack: rack, Room: unit.Resources{Mem: total.Memory, Cores: total.VCores}})
		v.Used = append(v.Used, unit.Resources{Mem: max(n.UsedMemoryMB, 0), Cores: max(n.UsedVirtualCores, 0)})
	}
	if len(ids) == 0 {
		return nil, nil, errors.New("the ResourceManager shows no running node: nothing can be predicted")
	}
	places["*"] = rm.Anywhere
	return ids, places, v.Cluster.Validate()
}

// details reads the containers of running applications, by application. A ResourceManager that does not list them (before 3.0) is not asked again.
func details(ctx context.Context, c *rest.Client, apps []rest.App, first func(*rest.App) bool) (map[string][]rest.Container, error) {
	var ask []*rest.App
	for i := range apps {
		if apps[i].RunningContainers > 0 {
			ask = append(ask, &apps[i])
		}
	}
	rank := func(a *rest.App) int64 {
		if first != nil && first(a) {
			return math.MaxInt64
		}
		return a.RunningContainers
	}
	slices.SortStableFunc(ask, func(a, b *rest.App) int { return cmp.Compare(rank(b), rank(a)) })
	ask = ask[:min(len(ask), maxDetail)]
	held := map[string][]rest.Container{}
	var mu sync.Mutex
	var lost atomic.Bool
	var believed atomic.Int64
	run.Each(ctx, len(ask), atOnce, func(i int) {
		if lost.Load() {
			return
		}
		var list []rest.Container
		for x, err := range c.Containers(ctx, ask[i]) {
			if err != nil {
				lost.CompareAndSwap(false, !errors.Is(err, rest.ErrNotFound)) // else it may just have ended
				return
			}
			if x.State != "COMPLETE" && believed.Add(1) <= maxHeld {
				list = append(list, x)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		held[ask[i].ID] = list
	})
	return held, context.Cause(ctx)
}

// take makes the applications.
func (v *View) take(apps []rest.App, held map[string][]rest.Container, nodes map[string]int32, places map[string]rm.Place) {
	slices.SortStableFunc(apps, func(a, b rest.App) int {
		return cmp.Or(cmp.Compare(a.StartedTime, b.StartedTime), cmp.Compare(len(a.ID), len(b.ID)), strings.Compare(a.ID, b.ID))
	})
	if len(apps) == 0 {
		return
	}
	epoch, now := apps[0].StartedTime, int64(0)
	since := func(ms int64) unit.Time { return unit.Time(min(max(ms-epoch, 0), 1e12)) * unit.Millisecond }
	for i := range apps {
		now = max(now, apps[i].StartedTime+max(apps[i].ElapsedTime, 0)) // by the ResourceManager's clock
	}
	v.Epoch, v.Now = time.UnixMilli(epoch), since(now)
	priority := func(p int64) int32 { return int32(min(max(p, 0), 1<<20)) }
	size := func(mb, cores int64) unit.Resources {
		return unit.Resources{Mem: min(max(mb, 1), cluster.MaxRoom), Cores: min(max(cores, 1), cluster.MaxRoom)}
	}
	room, unknown, excess := min(v.Cluster.Total().Mem, maxHeld), 0, int64(0) // a container has at least 1 MiB
	for i := range apps {
		x := &apps[i]
		a := App{
			ID: x.ID, Name: x.Name, User: x.User, Queue: x.Queue, Priority: int(priority(x.Priority)), Submitted: min(since(x.StartedTime), v.Now),
			Up: x.State == "RUNNING", Unmanaged: x.Unmanaged, Service: float64(max(x.MemorySeconds, 0)),
			Reserves: x.ReservedMB > 0, Diagnostics: x.Diagnostics,
		}
		if p := x.Progress / 100; p > 0 && p <= 1 {
			a.Progress = p
		}
		for _, r := range x.Requests {
			place, ok := places[r.Where]
			ask := rm.Ask{
				Priority: priority(r.Priority), Place: place, Count: min(r.Containers, maxAsk), Size: size(r.Size.Memory, r.Size.VCores),
			}
			switch {
			case !ok || ask.Count <= 0 || r.Size.Memory <= 0:
			case place != rm.Anywhere:
				a.Local = append(a.Local, ask)
			default:
				a.Asks = append(a.Asks, ask)
				if !a.Up && !a.Unmanaged {
					a.AM = ask.Size
				}
			}
		}
		list, known := held[x.ID]
		for _, c := range list {
			node, ok := nodes[c.Node]
			if !ok {
				node = -1
			}
			a.Held = append(a.Held, Container{
				AM: !a.Unmanaged && strings.HasSuffix(c.ID, "_000001"), Priority: priority(c.Priority), Node: node,
				Size: size(c.MB, c.VCores), Since: min(since(c.StartedTime), v.Now),
			})
		}
		if !known && x.RunningContainers > 0 {
			a.Held, unknown = sizes(x, a.AM, max(room, 1)), unknown+1
			excess += min(x.RunningContainers, maxAsk) - int64(len(a.Held))
		}
		room -= int64(len(a.Held))
		if c := a.am(); c != nil {
			a.AM = c.Size
		}
		v.Apps = append(v.Apps, a)
	}
	if unknown > 0 {
		v.Notes = append(v.Notes, fmt.Sprintf("the age and the nodes of the containers of %d applications are not known: they are drawn", unknown))
	}
	if excess > 0 {
		v.Notes = append(v.Notes, fmt.Sprintf("the ResourceManager lists %s more than its nodes can hold: they are ignored", unit.Count(excess, "container")))
	}
	v.ration()
}

// ration bounds what applications wait for, because every container that is waited for is simulated: those that wait for the most
// give up what nobody could get for a long time. What happens once an application has got all that it is left with is not
// foreseen: see sink.
func (v *View) ration() {
	atOnce := min(v.Cluster.Total().Mem/unit.Positive(v.Site.MinAllocation.Mem, 1024), maxHeld)
	waits := make([]int64, len(v.Apps))
	for i := range v.Apps {
		for _, ask := range v.Apps[i].Asks {
			waits[i] += ask.Count // no more requests than fit into an element of a list
		}
	}
	each := min(share(waits, max(askedByAll, min(roundsOfAll*atOnce, maxWaiting))), max(askedByOne, roundsOfOne*atOnce))
	for i := range v.Apps {
		a := &v.Apps[i]
		if waits[i] <= each {
			continue
		}
		left := each
		for k := range a.Asks {
			ask := &a.Asks[k]
			taken := max(min(ask.Count, left), 1)
			a.Capped += ask.Count - taken
			ask.Count, left = taken, max(left-taken, 0)
		}
		for k := range a.Local {
			a.Local[k].Count = min(a.Local[k].Count, each)
		}
		v.Notes = append(v.Notes, fmt.Sprintf("%s, of user %s, waits for %s: %d of them are simulated, and what comes after them is not foreseen",
			term.Name(a.ID), term.Name(a.User), unit.Count(waits[i], "container"), each))
	}
}

// share is the largest number such that the sum of the amounts, each cut to it, is not above a total.
func share(amounts []int64, total int64) int64 {
	sorted := slices.Sorted(slices.Values(amounts))
	for i, n := range sorted {
		if rest := int64(len(sorted) - i); n > total/rest {
			return total / rest
		}
		total -= n
	}
	return math.MaxInt64
}

// sizes makes at most so many containers of what a list says of an application: how many it has, and their sum.
func sizes(x *rest.App, am unit.Resources, limit int64) []Container {
	n := min(x.RunningContainers, limit)
	out := make([]Container, n)
	mem, cores := min(max(x.AllocatedMB, n), cluster.MaxRoom), min(max(x.AllocatedVCores, n), cluster.MaxRoom)
	for i := range out {
		out[i] = Container{Priority: -1, Node: -1, Since: -1, Size: unit.Resources{Mem: max(mem/n, 1), Cores: max(cores/n, 1)}}
	}
	if out[0].AM = !x.Unmanaged; out[0].AM && n > 1 && am.Mem > 0 && am.Mem < mem {
		out[0].Size = am
		for i := range out[1:] {
			out[i+1].Size.Mem = max((mem-am.Mem)/(n-1), 1)
		}
	}
	return out
}
