package fabric_test

import (
	"fmt"
	"slices"

	"github.com/yardmaster/yardmaster/cluster"
)

// graph is a topology as the literature draws it, made here without the package's own code: who is joined to whom.
type graph map[string]map[string]bool

func (g graph) join(a, b string) {
	for _, e := range [][2]string{{a, b}, {b, a}} {
		if g[e[0]] == nil {
			g[e[0]] = map[string]bool{}
		}
		g[e[0]][e[1]] = true
	}
}

func (g graph) edges() []string {
	var out []string
	for a, to := range g {
		for b := range to {
			out = append(out, a+">"+b)
		}
	}
	slices.Sort(out)
	return out
}

// distances are the fewest edges from one vertex to every other.
func (g graph) distances(from string) map[string]int {
	d := map[string]int{from: 0}
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		for b := range g[queue[0]] {
			if _, seen := d[b]; !seen {
				d[b] = d[queue[0]] + 1
				queue = append(queue, b)
			}
		}
	}
	return d
}

func drawn(c *cluster.Cluster) graph {
	g := graph{}
	n := c.Network
	rack := func(i int) string { return c.Racks[c.Nodes[i].Rack] }
	switch n.Topology {
	case cluster.Star:
		for i := range c.Nodes {
			g.join(c.Nodes[i].Name, "switch")
		}
	case cluster.Racks, cluster.TwoRacks, cluster.LeafSpine:
		for i := range c.Nodes {
			g.join(c.Nodes[i].Name, rack(i))
			switch n.Topology {
			case cluster.Racks:
				g.join(rack(i), "core")
			case cluster.TwoRacks:
				g.join("rack1", "rack2")
			default:
				for s := range n.Spines {
					g.join(rack(i), fmt.Sprintf("spine%d", s+1))
				}
			}
		}
	case cluster.FatTree:
		h := n.K / 2
		edge := func(p, e int) string {
			if r := p*h + e; len(c.Racks) == 2*h*h {
				return c.Racks[r]
			}
			return fmt.Sprintf("pod%d-edge%d", p+1, e+1)
		}
		for p := range n.K {
			for e := range h {
				for s := range h {
					g.join(c.Nodes[(p*h+e)*h+s].Name, edge(p, e))
				}
				for a := range h {
					g.join(edge(p, e), fmt.Sprintf("pod%d-agg%d", p+1, a+1))
				}
			}
			for a := range h {
				for k := range h {
					g.join(fmt.Sprintf("pod%d-agg%d", p+1, a+1), fmt.Sprintf("core%d", a*h+k+1))
				}
			}
		}
	case cluster.DCell:
		cells(g, c, 0, n.N, n.Levels)
	}
	return g
}

// cells is BuildDCells of the paper: it draws the cell of a level whose first server is first, and returns its number of servers.
func cells(g graph, c *cluster.Cluster, first, n, level int) int {
	if level == 0 {
		for s := range n {
			name := fmt.Sprintf("cell%d", first/n+1)
			if len(c.Racks) == len(c.Nodes)/n {
				name = c.Racks[first/n]
			}
			g.join(c.Nodes[first+s].Name, name)
		}
		return n
	}
	t := cells(g, c, first, n, level-1)
	for i := 1; i < t+1; i++ {
		cells(g, c, first+i*t, n, level-1)
	}
	for i := range t {
		for j := i + 1; j < t+1; j++ {
			g.join(c.Nodes[first+i*t+j-1].Name, c.Nodes[first+j*t+i].Name)
		}
	}
	return (t + 1) * t
}
