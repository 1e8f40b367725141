package fabric

import "github.com/yardmaster/yardmaster/sim/flow"

// builder is a Fabric under construction.
type builder struct {
	*Fabric
	size     int // positions of the topology per rack, if it has positions
	switches map[string]bool
}

// link adds one direction of a cable.
func (b *builder) link(source, target string, rate float64) flow.Link {
	return b.net.AddLink(source+">"+target, rate)
}

// cable adds both directions of a cable.
func (b *builder) cable(lower, upper string, rate float64) (up, down flow.Link) {
	return b.link(lower, upper, rate), b.link(upper, lower, rate)
}

// plug connects a node to a switch.
func (b *builder) plug(node int, toSwitch string) {
	n := &b.cluster.Nodes[node]
	b.out[node], b.in[node] = b.cable(n.Name, toSwitch, b.cluster.Network.NIC(n))
}

// name makes a switch name that no node or other switch has, so that link names are unique.
func (b *builder) name(name string) string {
	for {
		if _, node := b.nodes[name]; !node && !b.switches[name] {
			b.switches[name] = true
			return name
		}
		name += "-switch"
	}
}

// rackSwitches adds a switch for every rack and connects the rack's nodes to it.
func (b *builder) rackSwitches() []string {
	names := make([]string, len(b.cluster.Racks))
	for r, rack := range b.cluster.Racks {
		names[r] = b.name(rack)
	}
	for i := range b.cluster.Nodes {
		b.plug(i, names[b.rack[i]])
	}
	return names
}

// rackRates is the total rate of each rack's nodes.
func (b *builder) rackRates() []float64 {
	sum := make([]float64, len(b.up))
	for i := range b.cluster.Nodes {
		sum[b.rack[i]] += b.cluster.Network.NIC(&b.cluster.Nodes[i])
	}
	return sum
}

// uplink is the rate of each of the cables out of a rack with a total node rate of rackRate.
func (b *builder) uplink(rackRate float64, cables int) float64 {
	n := b.cluster.Network
	if n.Uplink > 0 {
		return n.Uplink
	}
	return rackRate / n.Oversubscription / float64(cables)
}

// between is the rate of cables that are neither a node's nor sized by a rack.
func (b *builder) between() float64 {
	if n := b.cluster.Network; n.Uplink == 0 {
		return n.Node
	}
	return b.cluster.Network.Uplink
}

// places is the position of every node in the topology: racks take size positions each in the cluster's order, and nodes follow
// the cluster's order within their rack.
func (b *builder) places() []int32 {
	place := make([]int32, len(b.rack))
	taken := make([]int32, len(b.up))
	for i, r := range b.rack {
		place[i] = r*int32(b.size) + taken[r]
		taken[r]++
	}
	return place
}
