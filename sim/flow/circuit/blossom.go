package circuit

import (
	"math"
	"slices"
)

// Marry matches the vertices of an undirected graph for the max total weight (Edmonds's algorithm with blossoms, primal-dual, O(n^3)). weight
// holds n rows of n weights from 0, symmetric; the diagonal is ignored. It returns the partner of each vertex; -1: none.
func Marry(weight []int64, n int) []int32 {
	b := newBlossoms(weight, n)
	for b.grow() {
		continue
	}
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(b.match[i+1]) - 1
	}
	return out
}

// edge joins two vertices; seen from a blossom, it is the tightest of those of its vertices.
type edge struct {
	u, v int
	w    int64
}

// blossoms is the state: vertices are 1 to n, blossoms are numbered above them, 0 is none.
type blossoms struct {
	n, last int // vertices; highest number in use
	size    int
	edges   []edge
	label   []int64 // dual variables, doubled
	match   []int   // vertex at the other end
	slack   []int   // vertex with the tightest edge to it
	top     []int   // outermost blossom
	parent  []int   // vertex from which the tree reached it
	inner   []int   // by blossom and vertex: the part of the blossom that holds the vertex
	state   []int   // -1: not in a tree, 0: even, 1: odd
	seen    []int
	time    int
	petals  [][]int
	queue   []int
}

func newBlossoms(weight []int64, n int) *blossoms {
	size := 2*n + 2
	ints := func() []int { return make([]int, size) }
	b := &blossoms{n: n, last: n, size: size, edges: make([]edge, size*size), label: make([]int64, size), match: ints(), slack: ints(), top: ints(), parent: ints(),
		inner: make([]int, size*size), state: ints(), seen: ints(), petals: make([][]int, size)}
	heaviest := int64(0)
	for u := 1; u <= n; u++ {
		b.top[u] = u
		b.inner[u*size+u] = u
		for v := 1; v <= n; v++ {
			e := edge{u, v, 0}
			if u != v {
				e.w = weight[(u-1)*n+v-1]
			}
			b.edges[u*size+v] = e
			heaviest = max(heaviest, e.w)
		}
	}
	for u := 1; u <= n; u++ {
		b.label[u] = heaviest
	}
	return b
}

func (b *blossoms) edge(u, v int) *edge { return &b.edges[u*b.size+v] }

func (b *blossoms) tight(e *edge) int64 { return b.label[e.u] + b.label[e.v] - 2*b.edge(e.u, e.v).w }

func (b *blossoms) updateSlack(u, x int) {
	if b.slack[x] == 0 || b.tight(b.edge(u, x)) < b.tight(b.edge(b.slack[x], x)) {
		b.slack[x] = u
	}
}

func (b *blossoms) setSlack(x int) {
	b.slack[x] = 0
	for u := 1; u <= b.n; u++ {
		if b.edge(u, x).w > 0 && b.top[u] != x && b.state[b.top[u]] == 0 {
			b.updateSlack(u, x)
		}
	}
}

func (b *blossoms) push(x int) {
	if x <= b.n {
		b.queue = append(b.queue, x)
		return
	}
	for _, p := range b.petals[x] {
		b.push(p)
	}
}

func (b *blossoms) setTop(x, top int) {
	b.top[x] = top
	if x > b.n {
		for _, p := range b.petals[x] {
			b.setTop(p, top)
		}
	}
}

// place is the position of a petal, at an even distance from the first: the blossom is turned round if necessary.
func (b *blossoms) place(x, petal int) int {
	place := slices.Index(b.petals[x], petal)
	if place%2 == 1 {
		slices.Reverse(b.petals[x][1:])
		place = len(b.petals[x]) - place
	}
	return place
}

func (b *blossoms) setMatch(u, v int) {
	e := *b.edge(u, v)
	b.match[u] = e.v
	if u <= b.n {
		return
	}
	petal := b.inner[u*b.size+e.u]
	place := b.place(u, petal)
	for i := range place {
		b.setMatch(b.petals[u][i], b.petals[u][i^1])
	}
	b.setMatch(petal, v)
	b.petals[u] = append(slices.Clone(b.petals[u][place:]), b.petals[u][:place]...)
}

func (b *blossoms) augment(u, v int) {
	for {
		next := b.top[b.match[u]]
		b.setMatch(u, v)
		if next == 0 {
			return
		}
		b.setMatch(next, b.top[b.parent[next]])
		u, v = b.top[b.parent[next]], next
	}
}

// ancestor is the first common even vertex on the way to the roots; 0: the trees differ.
func (b *blossoms) ancestor(u, v int) int {
	b.time++
	for u != 0 || v != 0 {
		if u != 0 {
			if b.seen[u] == b.time {
				return u
			}
			b.seen[u] = b.time
			if u = b.top[b.match[u]]; u != 0 {
				u = b.top[b.parent[u]]
			}
		}
		u, v = v, u
	}
	return 0
}

func (b *blossoms) shrink(u, root, v int) {
	x := b.n + 1
	for x <= b.last && b.top[x] != 0 {
		x++
	}
	b.last = max(b.last, x)
	b.label[x], b.state[x], b.match[x] = 0, 0, b.match[root]
	list := []int{root}
	side := func(from int) {
		for y := from; y != root; {
			z := b.top[b.match[y]]
			list = append(list, y, z)
			b.push(z)
			y = b.top[b.parent[z]]
		}
	}
	side(u)
	slices.Reverse(list[1:])
	side(v)
	b.petals[x] = list
	b.setTop(x, x)
	for y := 1; y <= b.last; y++ {
		b.edge(x, y).w, b.edge(y, x).w = 0, 0
	}
	for y := 1; y <= b.n; y++ {
		b.inner[x*b.size+y] = 0
	}
	for _, p := range list {
		for y := 1; y <= b.last; y++ {
			if b.edge(x, y).w == 0 || b.tight(b.edge(p, y)) < b.tight(b.edge(x, y)) {
				*b.edge(x, y), *b.edge(y, x) = *b.edge(p, y), *b.edge(y, p)
			}
		}
		for y := 1; y <= b.n; y++ {
			if b.inner[p*b.size+y] != 0 {
				b.inner[x*b.size+y] = p
			}
		}
	}
	b.setSlack(x)
}

func (b *blossoms) expand(x int) {
	for _, p := range b.petals[x] {
		b.setTop(p, p)
	}
	petal := b.inner[x*b.size+b.edge(x, b.parent[x]).u]
	place := b.place(x, petal)
	list := b.petals[x]
	for i := 0; i < place; i += 2 {
		odd, even := list[i], list[i+1]
		b.parent[odd] = b.edge(even, odd).u
		b.state[odd], b.state[even] = 1, 0
		b.slack[odd] = 0
		b.setSlack(even)
		b.push(even)
	}
	b.state[petal], b.parent[petal] = 1, b.parent[x]
	for _, p := range list[place+1:] {
		b.state[p] = -1
		b.setSlack(p)
	}
	b.top[x] = 0
}

// found handles a tight edge; true: the matching has grown.
func (b *blossoms) found(e *edge) bool {
	u, v := b.top[e.u], b.top[e.v]
	switch b.state[v] {
	case -1:
		b.parent[v], b.state[v] = e.u, 1
		next := b.top[b.match[v]]
		b.slack[v], b.slack[next] = 0, 0
		b.state[next] = 0
		b.push(next)
	case 0:
		root := b.ancestor(u, v)
		if root == 0 {
			b.augment(u, v)
			b.augment(v, u)
			return true
		}
		b.shrink(u, root, v)
	}
	return false
}

// grow adds a pair to the matching; false: it is as heavy as can be.
func (b *blossoms) grow() bool {
	b.queue = b.queue[:0]
	for x := 1; x <= b.last; x++ {
		b.state[x], b.slack[x] = -1, 0
	}
	for x := 1; x <= b.last; x++ {
		if b.top[x] == x && b.match[x] == 0 {
			b.parent[x], b.state[x] = 0, 0
			b.push(x)
		}
	}
	if len(b.queue) == 0 {
		return false
	}
	for {
		for len(b.queue) > 0 {
			u := b.queue[0]
			b.queue = b.queue[1:]
			if b.state[b.top[u]] == 1 {
				continue
			}
			for v := 1; v <= b.n; v++ {
				e := b.edge(u, v)
				if e.w == 0 || b.top[u] == b.top[v] {
					continue
				}
				if b.tight(e) > 0 {
					b.updateSlack(u, b.top[v])
				} else if b.found(e) {
					return true
				}
			}
		}
		if !b.adjust() {
			return false
		}
		b.queue = b.queue[:0]
		for x := 1; x <= b.last; x++ {
			if s := b.slack[x]; b.top[x] == x && s != 0 && b.top[s] != x && b.tight(b.edge(s, x)) == 0 && b.found(b.edge(s, x)) {
				return true
			}
		}
		for x := b.n + 1; x <= b.last; x++ {
			if b.top[x] == x && b.state[x] == 1 && b.label[x] == 0 {
				b.expand(x)
			}
		}
	}
}

// adjust changes the dual variables until another edge is tight; false: no free vertex is worth matching.
func (b *blossoms) adjust() bool {
	d := int64(math.MaxInt64)
	for x := b.n + 1; x <= b.last; x++ {
		if b.top[x] == x && b.state[x] == 1 {
			d = min(d, b.label[x]/2)
		}
	}
	for x := 1; x <= b.last; x++ {
		if b.top[x] != x || b.slack[x] == 0 {
			continue
		}
		switch s := b.tight(b.edge(b.slack[x], x)); b.state[x] {
		case -1:
			d = min(d, s)
		case 0:
			d = min(d, s/2)
		}
	}
	for u := 1; u <= b.n; u++ {
		switch b.state[b.top[u]] {
		case 0:
			if b.label[u] <= d {
				return false
			}
			b.label[u] -= d
		case 1:
			b.label[u] += d
		}
	}
	for x := b.n + 1; x <= b.last; x++ {
		if b.top[x] == x {
			switch b.state[x] {
			case 0:
				b.label[x] += 2 * d
			case 1:
				b.label[x] -= 2 * d
			}
		}
	}
	return true
}
