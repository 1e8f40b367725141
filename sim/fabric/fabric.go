// Package fabric turns a cluster's description of its network into the links of a flow network and the routes over them.
//
// Every cable is two links, one each way, named FROM>TO after the node or switch at either end. Switches are non-blocking, so
// only the links of its path limit a transfer. Topologies:
//
//   - star: one switch; a path is the sender's link and the receiver's.
//   - racks: one switch per rack with one uplink to a non-blocking core; between racks a path also takes one link up and one down.
//   - two-racks: the two racks' switches are connected by one cable.
//   - leaf-spine: one leaf per rack, with one cable to each spine. The spine is chosen by hash (equal-cost multi-path, ECMP).
//   - fat-tree: k pods of k/2 edge and k/2 aggregation switches and k*k/4 cores, for k*k*k/4 nodes (M. Al-Fares, A. Loukissas,
//     A. Vahdat, SIGCOMM 2008). Aggregation switch and core are chosen by hash among the equal ones; the paper's two-level tables
//     are one such choice.
//   - dcell: n servers on a small switch are a cell of level 0; a cell of level l is t+1 cells of level l-1 of t servers, each
//     pair joined by one cable between two servers. Servers relay (C. Guo, H. Wu, K. Tan, L. Shi, Y. Zhang, S. Lu, SIGCOMM 2008;
//     routes by its DCellRouting, without its rerouting round failures).
//
// Invariants: a path starts at the sender, every link starts where the one before ends, the last ends at the receiver, and none
// is named twice; it depends on the two nodes and the key, and on nothing else. Nodes are numbered as in the cluster that was given to
// Build: an engine that has them in another order asks for Numbers.
package fabric

import (
	"fmt"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/sim/flow"
	"github.com/yardmaster/yardmaster/unit"
)

// Fabric holds the links and routes of one cluster.
type Fabric struct {
	net     *flow.Network
	cluster *cluster.Cluster
	latency unit.Time
	nodes   map[string]int32
	rack    []int32 // of each node
	out, in []flow.Link
	// up holds the links out of each rack: its uplinks; in a fat tree whose racks are pods, those to the cores; in a DCell the cables
	// of its servers to other racks; none in a star. down holds the links into it.
	up, down [][]flow.Link
	routes   any // *star, *racks, *leafSpine, *fatTree or *dcell

	first, end flow.Link // the fabric's links are those from first up to end
}

// Build adds the links of a cluster's network to n.
func Build(c *cluster.Cluster, n *flow.Network) (*Fabric, error) {
	if c.Network == nil {
		return nil, fmt.Errorf("the cluster describes no network; give it one, as in network: star:1Gbit")
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	size, err := c.Network.RackSize(c)
	if err != nil {
		return nil, err
	}
	f := &Fabric{
		net: n, cluster: c, latency: c.Network.Latency,
		nodes: make(map[string]int32, len(c.Nodes)), rack: make([]int32, len(c.Nodes)),
		out: make([]flow.Link, len(c.Nodes)), in: make([]flow.Link, len(c.Nodes)),
		up: make([][]flow.Link, len(c.Racks)), down: make([][]flow.Link, len(c.Racks)),
		first: flow.Link(n.Links()),
	}
	for i := range c.Nodes {
		f.nodes[c.Nodes[i].Name] = int32(i)
		f.rack[i] = int32(c.Nodes[i].Rack)
	}
	b := &builder{Fabric: f, size: size, switches: map[string]bool{}}
	switch c.Network.Topology {
	case cluster.Star:
		f.routes = b.star()
	case cluster.Racks:
		f.routes = b.racks()
	case cluster.TwoRacks:
		f.routes = b.twoRacks()
	case cluster.LeafSpine:
		f.routes = b.leafSpine()
	case cluster.FatTree:
		f.routes = b.fatTree()
	case cluster.DCell:
		f.routes = b.dcell()
	default:
		return nil, fmt.Errorf("network: no routes are known for topology %q", c.Network.Topology)
	}
	f.end = flow.Link(n.Links())
	return f, nil
}

// Path returns the links between two nodes, in buf if it has room; none if both are the same node. The key chooses among
// equal-cost paths.
func (f *Fabric) Path(src, dst int32, key uint64, buf []flow.Link) []flow.Link {
	buf = buf[:0]
	if src == dst {
		return buf
	}
	// Not an interface: it would make the caller's buffer escape to the heap.
	switch r := f.routes.(type) {
	case *star:
		return append(buf, f.out[src], f.in[dst])
	case *racks:
		return r.path(f, src, dst, buf)
	case *leafSpine:
		return r.path(f, src, dst, key, buf)
	case *fatTree:
		return r.path(f, src, dst, key, buf)
	case *dcell:
		return r.path(f, r.place[src], r.place[dst], buf)
	}
	return buf
}

// Hops is the number of links on a path between two nodes; the same for all equal-cost paths.
func (f *Fabric) Hops(src, dst int32) int {
	if src == dst {
		return 0
	}
	same := f.rack[src] == f.rack[dst]
	switch r := f.routes.(type) {
	case *racks:
		if !same {
			return r.hops
		}
	case *leafSpine:
		if !same {
			return 4
		}
	case *fatTree:
		return r.hops(src, dst)
	case *dcell:
		return r.hops(r.place[src], r.place[dst])
	}
	return 2
}

// Latency is the one-way latency between two nodes.
func (f *Fabric) Latency(from, to int32) unit.Time { return unit.Time(f.Hops(from, to)) * f.latency }

// Numbers returns the fabric's numbers of the nodes of c, which may be the same cluster in another order.
func (f *Fabric) Numbers(c *cluster.Cluster) ([]int32, error) {
	out := make([]int32, len(c.Nodes))
	for i := range c.Nodes {
		k, ok := f.nodes[c.Nodes[i].Name]
		if !ok {
			return nil, fmt.Errorf("node %s is not in the network that was built", c.Nodes[i].Name)
		}
		out[i] = k
	}
	return out, nil
}

// Out is a node's own link to its switch.
func (f *Fabric) Out(node int32) flow.Link { return f.out[node] }

// In is a node's own link from its switch.
func (f *Fabric) In(node int32) flow.Link { return f.in[node] }

// Uplink is the current load of the links into and out of a rack, as a share of their capacity; 0 if there are none.
func (f *Fabric) Uplink(rack int32) (in, out float64) {
	return f.perCapacity(f.down[rack], f.net.Load), f.perCapacity(f.up[rack], f.net.Load)
}

// Carried is the integral of Uplink over time, in seconds at the links' current capacity.
func (f *Fabric) Carried(rack int32) (in, out float64) {
	return f.perCapacity(f.down[rack], f.net.Carried), f.perCapacity(f.up[rack], f.net.Carried)
}

// perCapacity is the sum of a measure over links, relative to the sum of their capacities; 0 if there are none.
func (f *Fabric) perCapacity(links []flow.Link, measure func(flow.Link) float64) float64 {
	sum, capacity := 0.0, 0.0
	for _, l := range links {
		sum, capacity = sum+measure(l), capacity+f.net.Capacity(l)
	}
	if capacity == 0 {
		return 0
	}
	return sum / capacity
}

// Congested is how often the load of a link into or out of a rack rose to the network's threshold.
func (f *Fabric) Congested() (times int64) {
	for r := range f.up {
		for _, l := range f.up[r] {
			times += f.net.Crossings(l)
		}
		for _, l := range f.down[r] {
			times += f.net.Crossings(l)
		}
	}
	return times
}

// Rack is the rack of a node.
func (f *Fabric) Rack(node int32) int32 { return f.rack[node] }

// Uses returns the use of each link so far, in build order: nodes first.
func (f *Fabric) Uses() []flow.Use {
	uses := make([]flow.Use, 0, f.end-f.first)
	for l := f.first; l < f.end; l++ {
		u := flow.Use{Name: f.net.Name(l), Bytes: f.net.Carried(l), Crossings: f.net.Crossings(l)}
		if all := f.net.Capacity(l) * f.net.Now(); all > 0 {
			u.Utilisation = u.Bytes / all
		}
		uses = append(uses, u)
	}
	return uses
}
