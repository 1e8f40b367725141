// Package cluster describes the machines: nodes in racks, of one or several kinds, whose capacity is counted either in
// resources (YARN) or in fixed map and reduce slots (Hadoop 1), and the network that connects them.
package cluster

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/unit"
)

// Unit is the container size of a shorthand such as 600x6 and of a trace without sizes.
var Unit = unit.Resources{Mem: 1024, Cores: 1}

// Node is one machine.
type Node struct {
	Name string
	Rack int    // index into Cluster.Racks
	Kind string // machine kind; "" where there is only one
	Room unit.Resources
	// Slots, when the cluster has fixed slots; Room is ignored then.
	MapSlots, ReduceSlots int64
	// NIC is the rate of the node's own network link, each way, in bytes per second; 0: Network.Node.
	NIC float64
	// Speed is how fast it runs tasks; nil: 1. Nodes of one group share it.
	Speed   *Speed
	Cost    float64    // its price, in any currency; 0: not known
	Storage unit.Bytes // its room for blocks; 0: not known
}

// Cluster is a set of nodes.
type Cluster struct {
	Nodes []Node
	Racks []string
	Slots bool // containers are fixed map and reduce slots
	// Network connects the nodes; nil: none is modelled, and data moves instantly.
	Network *Network
}

// Total is the capacity of all nodes. With fixed slots it is their number, as containers of size Unit.
func (c *Cluster) Total() unit.Resources {
	var t unit.Resources
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if c.Slots {
			t = t.Add(Unit.Times(n.MapSlots + n.ReduceSlots))
		} else {
			t = t.Add(n.Room)
		}
	}
	return t
}

// Containers returns how many containers of size ask fit on an empty cluster; with fixed slots, the number of slots.
func (c *Cluster) Containers(ask unit.Resources) int64 {
	var k int64
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if c.Slots {
			k += n.MapSlots + n.ReduceSlots
		} else {
			k += n.Room.Count(ask)
		}
	}
	return k
}

// Counted is how many containers of size Unit the cluster has, if its nodes are counted in containers or slots. Nodes that have memory and cores
// have as many as jobs ask for: 0.
func (c *Cluster) Counted() int64 {
	if !c.Slots {
		for i := range c.Nodes {
			if r := c.Nodes[i].Room; r != Unit.Times(r.Cores) {
				return 0
			}
		}
	}
	return c.Containers(Unit)
}

// String is one line for a person: "600 nodes in 30 racks, 3600 GiB and 3600 vcores", named resources and the network where there are any.
func (c *Cluster) String() string {
	if c.Network != nil {
		return c.rooms() + ", network " + c.Network.String()
	}
	return c.rooms()
}

func (c *Cluster) rooms() string {
	t := c.Total()
	where := plural(int64(len(c.Nodes)), "node") + " in " + plural(int64(len(c.Racks)), "rack")
	if c.Slots {
		var m, r int64
		for i := range c.Nodes {
			m, r = m+c.Nodes[i].MapSlots, r+c.Nodes[i].ReduceSlots
		}
		return fmt.Sprintf("%s, %d map and %s", where, m, plural(r, "reduce slot"))
	}
	text := fmt.Sprintf("%s, %s GiB and %s", where, strconv.FormatFloat(float64(t.Mem)/1024, 'f', -1, 64), t.CPU(t))
	if t.Extra != (unit.Extra{}) {
		text += ", " + t.Extra.String()
	}
	return text
}

// RackIndex maps rack names to indices.
type RackIndex map[string]int

// Of returns the index of a rack, adding it if absent.
func (x RackIndex) Of(c *Cluster, name string) int {
	i, ok := x[name]
	if !ok {
		i = len(c.Racks)
		x[name] = i
		c.Racks = append(c.Racks, name)
	}
	return i
}

func plural(n int64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.FormatInt(n, 10) + " " + noun
}

// Validate reports the first error in a cluster.
func (c *Cluster) Validate() error {
	if len(c.Nodes) == 0 {
		return fmt.Errorf("cluster has no nodes")
	}
	if len(c.Nodes) > MaxNodes {
		return fmt.Errorf("cluster has %d nodes; the limit is %d", len(c.Nodes), MaxNodes)
	}
	names := make(map[string]bool, len(c.Nodes))
	var largest unit.Resources
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if names[n.Name] {
			return fmt.Errorf("two nodes are named %q", n.Name)
		}
		names[n.Name] = true
		if n.Rack < 0 || n.Rack >= len(c.Racks) {
			return fmt.Errorf("node %s is in rack %d of %d", n.Name, n.Rack, len(c.Racks))
		}
		if c.Slots {
			if n.MapSlots < 0 || n.ReduceSlots < 0 || n.MapSlots+n.ReduceSlots == 0 || n.MapSlots+n.ReduceSlots > MaxRoom {
				return fmt.Errorf("node %s has %d map and %d reduce slots", n.Name, n.MapSlots, n.ReduceSlots)
			}
		} else if n.Room.Mem < 0 || n.Room.Cores < 0 || n.Room.IsZero() || n.Room.Mem > MaxRoom || n.Room.Cores > MaxRoom {
			return fmt.Errorf("node %s has %v", n.Name, n.Room)
		} else if n.Room.Extra != largest.Extra { // which also bounds the names of all nodes
			if largest = largest.Max(n.Room); n.Room.Extra.Check() != nil || largest.Extra.Check() != nil {
				return fmt.Errorf("node %s: %w", n.Name, cmp.Or(n.Room.Extra.Check(), largest.Extra.Check()))
			}
		}
		if n.NIC != 0 && !(n.NIC >= MinRate && n.NIC <= MaxRate) {
			return fmt.Errorf("node %s has a network link of %v bytes/s", n.Name, n.NIC)
		}
		if !(n.Cost >= 0 && n.Cost <= MaxRoom) || n.Storage < 0 {
			return fmt.Errorf("node %s costs %v and stores %d bytes", n.Name, n.Cost, n.Storage)
		}
		if n.Speed != nil && (i == 0 || n.Speed != c.Nodes[i-1].Speed) {
			if err := n.Speed.Validate(); err != nil {
				return fmt.Errorf("node %s: %w", n.Name, err)
			}
		}
	}
	if c.Network == nil {
		return nil
	}
	if err := c.Network.Validate(); err != nil {
		return err
	}
	if _, ok := c.Network.Circuits(); ok && len(c.Racks) > MaxCircuits {
		return fmt.Errorf("a circuit switch for %d racks; the limit is %d", len(c.Racks), MaxCircuits)
	}
	_, err := c.Network.RackSize(c)
	return err
}

// Limits on a cluster.
const (
	MaxNodes    = 1_000_000
	MaxCircuits = 1024 // racks on a circuit switch
	MaxRoom     = 1 << 40
)

// WithSlots is Uniform with fixed slots in place of memory and cores.
func WithSlots(nodes, racks int, maps, reduces int64) *Cluster {
	c := Uniform(nodes, racks, unit.Resources{})
	c.Slots = true
	for i := range c.Nodes {
		c.Nodes[i].MapSlots, c.Nodes[i].ReduceSlots = maps, reduces
	}
	return c
}

// Uniform builds identical nodes, spread over racks in runs of equal length.
func Uniform(nodes, racks int, room unit.Resources) *Cluster {
	c := &Cluster{Nodes: make([]Node, nodes), Racks: make([]string, racks)}
	for r := range c.Racks {
		c.Racks[r] = "rack" + strconv.Itoa(r+1)
	}
	for i := range c.Nodes {
		c.Nodes[i] = Node{Name: "node" + strconv.Itoa(i+1), Rack: i * racks / nodes, Room: room}
	}
	return c
}

// Parse parses the shorthand NODESxCONTAINERS[/RACKS], for example 600x6/30: 600 nodes of 6 containers in 30 racks, or
// NODESxMAPS+REDUCES[/RACKS] for fixed slots, for example 30x4+2/3.
func Parse(s string) (*Cluster, error) {
	bad := func(why string) error {
		return fmt.Errorf("cluster %q: %s; write NODESxCONTAINERS/RACKS as in 600x6/30, or a file", s, why)
	}
	body, racksText, hasRacks := strings.Cut(s, "/")
	nodesText, room, ok := strings.Cut(body, "x")
	if !ok {
		return nil, bad("no \"x\" between nodes and containers")
	}
	nodes, err := count(nodesText, MaxNodes)
	if err != nil {
		return nil, bad("nodes: " + err.Error())
	}
	racks := int64(1)
	if hasRacks {
		if racks, err = count(racksText, nodes); err != nil {
			return nil, bad("racks: " + err.Error())
		}
	}
	if m, r, slots := strings.Cut(room, "+"); slots {
		maps, err := count(m, 1<<20)
		if err != nil {
			return nil, bad("map slots: " + err.Error())
		}
		reduces, err := count(r, 1<<20)
		if err != nil {
			return nil, bad("reduce slots: " + err.Error())
		}
		return WithSlots(int(nodes), int(racks), maps, reduces), nil
	}
	k, err := count(room, 1<<20)
	if err != nil {
		return nil, bad("containers: " + err.Error())
	}
	return Uniform(int(nodes), int(racks), Unit.Times(k)), nil
}

func count(s string, limit int64) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number", s)
	}
	if n < 1 || n > limit {
		return 0, fmt.Errorf("%d is not between 1 and %d", n, limit)
	}
	return n, nil
}
