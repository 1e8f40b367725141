package cluster

import (
	"fmt"
	"slices"
	"strconv"
)

// NIC is the rate of a node's link, each way, in bytes per second: the node's own if set, else the network's.
func (n *Network) NIC(node *Node) float64 {
	if node.NIC != 0 {
		return node.NIC
	}
	return n.Node
}

// fatTree returns the number of hosts per edge switch and per pod.
func (n *Network) fatTree() (edge, pod int) { return n.K / 2, n.K * n.K / 4 }

// Cells returns the number of servers in a cell of each level of a DCell, from one switch (N) to the whole:
// t[l] = (t[l-1]+1) t[l-1]. Levels with more servers than a cluster can have are omitted.
func (n *Network) Cells() []int {
	t := []int{n.N}
	for range n.Levels {
		last := t[len(t)-1]
		next := (last + 1) * last
		if next > MaxNodes {
			break
		}
		t = append(t, next)
	}
	return t
}

// RackSize checks that the network fits the nodes and racks of a cluster, and returns how many positions of the topology
// one rack takes: in a fat tree a rack is an edge switch (k/2 positions) if its nodes fit on one, else a pod (k*k/4); in a
// DCell it is a cell. Racks take positions in the cluster's order, and so do the nodes of a rack. In the other topologies a
// rack is a switch with as many ports as nodes, and the size is 0.
func (n *Network) RackSize(c *Cluster) (int, error) {
	sizes := make([]int, len(c.Racks))
	for i := range c.Nodes {
		sizes[c.Nodes[i].Rack]++
		if n.NIC(&c.Nodes[i]) == 0 {
			return 0, wrong("", "node %s has no rate: write node: 1Gbit for all, or nic: 1Gbit with the node or its group", c.Nodes[i].Name)
		}
	}
	var links int
	var size int
	var err error
	switch n.Topology {
	case Star, Racks:
		links = len(c.Nodes) + len(c.Racks)
	case TwoRacks:
		if used := len(slices.DeleteFunc(slices.Clone(sizes), func(n int) bool { return n == 0 })); len(c.Racks) != 2 || used != 2 {
			return 0, wrong("topology", "two-racks joins two racks, and the cluster has nodes in %s; write topology: racks for more, star for one",
				plural(int64(used), "rack"))
		}
		links = len(c.Nodes) + 1
	case LeafSpine:
		links = len(c.Nodes) + len(c.Racks)*n.Spines
	case FatTree:
		_, pod := n.fatTree()
		if size, err = n.fitFatTree(c, sizes); err != nil {
			return 0, err
		}
		links = len(c.Nodes) + 2*pod*((len(c.Racks)*size+pod-1)/pod)
	case DCell:
		if size, err = n.fitDCell(c, sizes); err != nil {
			return 0, err
		}
		links = len(c.Nodes) * (1 + n.Levels)
	}
	if links > MaxLinks/2 {
		return 0, wrong("", "%s would have %d links; the limit is %d", n.Topology, links, MaxLinks/2)
	}
	return size, nil
}

// largest returns the rack with the most nodes.
func largest(sizes []int) int { return slices.Index(sizes, slices.Max(sizes)) }

func (n *Network) fitFatTree(c *Cluster, sizes []int) (int, error) {
	edge, pod := n.fatTree()
	edges, pods := pod*n.K/edge, n.K
	big := largest(sizes)
	switch {
	case sizes[big] <= edge && len(c.Racks) <= edges:
		return edge, nil
	case sizes[big] <= pod && len(c.Racks) <= pods:
		return pod, nil
	}
	shape := fmt.Sprintf("a fat tree of k=%d has %d edge switches of %d nodes each, in %d pods of %d", n.K, edges, edge, pods, pod)
	enough := n.K
	for enough*enough*enough/4 < len(c.Nodes) {
		enough += 2
	}
	if enough > n.K {
		return 0, wrong("k", "%s, and the cluster has %d nodes; write k: %d or more", shape, len(c.Nodes), enough)
	}
	return 0, wrong("k", "%s, and the cluster has %s of up to %d nodes (%s); a rack must be an edge switch or a pod: write racks: %d or racks: %d",
		shape, plural(int64(len(c.Racks)), "rack"), sizes[big], c.Racks[big], ceilDiv(len(c.Nodes), edge), ceilDiv(len(c.Nodes), pod))
}

// ceilDiv is a / b, rounded up.
func ceilDiv(a, b int) int { return (a + b - 1) / b }

func (n *Network) fitDCell(c *Cluster, sizes []int) (int, error) {
	cells := n.Cells()
	if len(cells) <= n.Levels {
		return 0, wrong("levels", "a DCell of n=%d has more than %d servers at level %d; write levels: %d or less", n.N, MaxNodes, len(cells), len(cells)-1)
	}
	all := cells[n.Levels]
	if len(c.Nodes) != all {
		return 0, wrong("", "a DCell of n=%d, levels=%d joins exactly %d servers, and the cluster has %d nodes%s", n.N, n.Levels, all, len(c.Nodes), cellHint(len(c.Nodes)))
	}
	big := largest(sizes)
	// One rack of all servers would make every node rack-local, and hide the cells.
	for _, t := range cells[:n.Levels] {
		if sizes[big] == t && len(c.Racks) == all/t {
			return t, nil
		}
	}
	return 0, wrong("", "a DCell of n=%d, levels=%d has %d cells of %d servers, and a rack must be one of them; the cluster has %s of up to %d nodes (%s): write racks: %d",
		n.N, n.Levels, all/n.N, n.N, plural(int64(len(c.Racks)), "rack"), sizes[big], c.Racks[big], all/n.N)
}

// cellHint names the DCells of the nearest sizes below and above a number of nodes.
func cellHint(nodes int) string {
	var below, above Network
	var lo, hi int
	for levels := 1; levels <= MaxLevels; levels++ {
		for size := 2; size <= maxCell; size++ {
			d := Network{N: size, Levels: levels}
			t := d.Cells()
			if len(t) <= levels {
				break
			}
			switch all := t[levels]; {
			case all == nodes:
				return "; write n: " + strconv.Itoa(size) + " and levels: " + strconv.Itoa(levels)
			case all < nodes && all > lo:
				below, lo = d, all
			case all > nodes && (hi == 0 || all < hi):
				above, hi = d, all
			}
		}
	}
	s := "; no DCell joins so many"
	sep := ": the nearest are "
	for _, d := range []Network{below, above} {
		if d.N > 0 {
			s += fmt.Sprintf("%sn=%d, levels=%d with %d", sep, d.N, d.Levels, d.Cells()[d.Levels])
			sep = " and "
		}
	}
	return s
}
