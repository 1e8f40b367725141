package fabric

import (
	"strconv"

	"github.com/yardmaster/yardmaster/sim/flow"
)

// dcell numbers its servers so that those of a cell are contiguous: the cell of level l that holds server p is p/t[l]. For cells
// i < j of level l-1 in one of level l, server j-1 of cell i and server i of cell j are connected, so that every server has one
// cable per level.
type dcell struct {
	t       []int32 // servers in a cell of each level
	place   []int32 // position of each node
	node    []int32 // at each position
	servers [][]flow.Link
	// servers[l-1][p] leads from server p to its peer of level l.
}

func (b *builder) dcell() *dcell {
	t := &dcell{place: b.places()}
	for _, n := range b.cluster.Network.Cells() {
		t.t = append(t.t, int32(n))
	}
	t.node = make([]int32, len(t.place))
	for i, p := range t.place {
		t.node[p] = int32(i)
	}
	name := func(p int32) string { return b.cluster.Nodes[t.node[p]].Name }
	n := t.t[0]
	for cell := range int32(len(t.place)) / n {
		base := "cell" + strconv.Itoa(int(cell)+1)
		if b.size == int(n) {
			base = b.cluster.Racks[cell]
		}
		mini := b.name(base)
		for p := cell * n; p < (cell+1)*n; p++ {
			b.plug(int(t.node[p]), mini)
		}
	}
	rate := b.between()
	for l := 1; l < len(t.t); l++ {
		out := make([]flow.Link, len(t.place))
		for p := range out {
			out[p] = b.link(name(int32(p)), name(t.peer(int32(p), l)), rate)
		}
		t.servers = append(t.servers, out)
		if t.t[l] <= int32(b.size) {
			continue // inside racks
		}
		for p, link := range out {
			b.up[p/b.size] = append(b.up[p/b.size], link)
			to := int(t.peer(int32(p), l)) / b.size
			b.down[to] = append(b.down[to], link)
		}
	}
	return t
}

// peer is the server at the other end of p's cable of level l.
func (t *dcell) peer(p int32, l int) int32 {
	whole, part := t.t[l], t.t[l-1]
	base := p / whole * whole
	i, u := (p-base)/part, p%part
	if u >= i {
		return base + (u+1)*part + i
	}
	return base + u*part + i - 1
}

// level is the level of the smallest cell that holds both.
func (t *dcell) level(a, z int32) int {
	l := 0
	for a/t.t[l] != z/t.t[l] {
		l++
	}
	return l
}

// gate is the cable of level l between the cells of a and z: it leads from server x to server y.
func (t *dcell) gate(a, z int32, l int) (x, y int32) {
	whole, part := t.t[l], t.t[l-1]
	base := a / whole * whole
	i, j := (a-base)/part, (z-base)/part
	if i < j {
		return base + i*part + j - 1, base + j*part + i
	}
	return base + i*part + j, base + j*part + i - 1
}

// path is DCellRouting: to the one cable between the two subcells, over it, and on; each half in the same way.
func (t *dcell) path(f *Fabric, a, z int32, buf []flow.Link) []flow.Link {
	if a == z {
		return buf
	}
	l := t.level(a, z)
	if l == 0 {
		return append(buf, f.out[t.node[a]], f.in[t.node[z]])
	}
	x, y := t.gate(a, z, l)
	buf = append(t.path(f, a, x, buf), t.servers[l-1][x])
	return t.path(f, y, z, buf)
}

func (t *dcell) hops(a, z int32) int {
	if a == z {
		return 0
	}
	l := t.level(a, z)
	if l == 0 {
		return 2
	}
	x, y := t.gate(a, z, l)
	return t.hops(a, x) + 1 + t.hops(y, z)
}
