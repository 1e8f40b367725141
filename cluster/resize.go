package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ParseSize reads a number of nodes: 700, or +100 and -10 relative to those that a cluster has.
func ParseSize(text string) (n int, relative bool, err error) {
	relative = strings.HasPrefix(text, "+") || strings.HasPrefix(text, "-")
	n, err = strconv.Atoi(text)
	if err != nil || n > MaxNodes || n < -MaxNodes || n == 0 {
		return 0, false, fmt.Errorf("%q is not a number of nodes; write 700, or +100 or -10 for more or fewer than there are", text)
	}
	return n, relative, nil
}

// Resize returns a cluster with more or fewer nodes of the same kinds in the same proportion (see ParseSize). New nodes, node601 and so on, fill
// the racks of their kind in turn, the smallest first; removed ones are the last of each rack in turn, the largest first. c is not modified.
func (c *Cluster) Resize(size string) (*Cluster, error) {
	n, relative, err := ParseSize(size)
	if err != nil {
		return nil, err
	}
	if relative {
		n += len(c.Nodes)
	}
	if n < 1 || n > MaxNodes {
		return nil, fmt.Errorf("%s would leave %d of %s: want 1 to %d", size, n, plural(int64(len(c.Nodes)), "node"), MaxNodes)
	}
	out := *c
	out.Nodes = slices.Clone(c.Nodes)
	kinds := c.alike()
	taken := make(map[string]bool, len(c.Nodes))
	for i := range c.Nodes {
		taken[c.Nodes[i].Name] = true
	}
	next := len(c.Nodes)
	for k, target := range shares(kinds, n) {
		racks, nodesOf := c.byRack(kinds[k], target < len(kinds[k]))
		for i := range target - len(kinds[k]) {
			node := c.Nodes[kinds[k][len(kinds[k])-1]]
			for next++; taken["node"+strconv.Itoa(next)]; next++ {
			}
			node.Name, node.Rack = "node"+strconv.Itoa(next), racks[i%len(racks)]
			out.Nodes = append(out.Nodes, node)
		}
		for left := len(kinds[k]) - target; left > 0; {
			nonEmpty := racks[:0]
			for _, r := range racks[:min(left, len(racks))] {
				last := len(nodesOf[r]) - 1
				out.Nodes[nodesOf[r][last]].Rack, nodesOf[r] = -1, nodesOf[r][:last]
				if left--; last > 0 {
					nonEmpty = append(nonEmpty, r)
				}
			}
			racks = nonEmpty
		}
	}
	out.Nodes = slices.DeleteFunc(out.Nodes, func(n Node) bool { return n.Rack < 0 })
	if err := out.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", size, err)
	}
	return &out, nil
}

// alike groups nodes that differ only in name and rack, by index, in order of first appearance.
func (c *Cluster) alike() (kinds [][]int) {
	index := map[Node]int{}
	for i, n := range c.Nodes {
		n.Name, n.Rack = "", 0
		k, ok := index[n]
		if !ok {
			k = len(kinds)
			index[n], kinds = k, append(kinds, nil)
		}
		kinds[k] = append(kinds[k], i)
	}
	return kinds
}

// shares divides n nodes among kinds in proportion, by the largest remainder.
func shares(kinds [][]int, n int) []int {
	var total int
	for _, k := range kinds {
		total += len(k)
	}
	out, order := make([]int, len(kinds)), make([]int, len(kinds))
	left := n
	for k := range kinds {
		out[k], order[k] = len(kinds[k])*n/total, k
		left -= out[k]
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(kinds[b])*n%total, len(kinds[a])*n%total) })
	for _, k := range order[:left] {
		out[k]++
	}
	return out
}

// byRack lists the racks of some nodes, by how many they hold, and the nodes of each.
func (c *Cluster) byRack(nodes []int, largestFirst bool) (racks []int, nodesOf map[int][]int) {
	nodesOf = map[int][]int{}
	for _, i := range nodes {
		r := c.Nodes[i].Rack
		if nodesOf[r] == nil {
			racks = append(racks, r)
		}
		nodesOf[r] = append(nodesOf[r], i)
	}
	slices.SortStableFunc(racks, func(a, b int) int {
		if largestFirst {
			a, b = b, a
		}
		return cmp.Or(cmp.Compare(len(nodesOf[a]), len(nodesOf[b])), cmp.Compare(a, b))
	})
	return racks, nodesOf
}
