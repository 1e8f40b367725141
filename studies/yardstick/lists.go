package yardstick

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/workload"
)

// List is a network and the flows through it: the input of every player.
type List struct {
	Name    string // one word
	Links   []float64
	Paths   [][]int32 // links, none of them twice
	Changes []Change  // in their order
	Flows   []Flow    // in the order of their starts
	// Alive, if not 0, is the number of flows kept alive: starts are ignored, each end starts the next flow, and the list is over when
	// its last flow has started.
	Alive int
}

// Change gives a link another capacity, in bytes per second. SimGrid lets no flow exceed the capacity of its narrowest link at its
// start, so a list may reduce capacity but not add it.
type Change struct {
	At       float64
	Link     int32
	Capacity float64
}

// Flow is one transfer.
type Flow struct {
	Start float64
	Path  int32
	Bytes uint64
	Cap   float64 // bytes per second; 0: none
}

// Write writes lists in the format of the C++ programs. Numbers round-trip exactly.
func Write(out io.Writer, lists ...List) error {
	w := bufio.NewWriter(out) // keeps the first error for Flush
	for i := range lists {
		l := &lists[i]
		fmt.Fprintf(w, "case %s\nlinks %d\n", l.Name, len(l.Links))
		for _, c := range l.Links {
			fmt.Fprintln(w, c)
		}
		fmt.Fprintf(w, "paths %d\n", len(l.Paths))
		for _, p := range l.Paths {
			fmt.Fprintln(w, len(p), strings.Trim(fmt.Sprint(p), "[]"))
		}
		fmt.Fprintf(w, "changes %d\n", len(l.Changes))
		for _, c := range l.Changes {
			fmt.Fprintln(w, c.At, c.Link, c.Capacity)
		}
		fmt.Fprintf(w, "flows %d %d\n", len(l.Flows), l.Alive)
		for _, f := range l.Flows {
			fmt.Fprintln(w, f.Start, f.Path, f.Bytes, f.Cap)
		}
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("writing lists of flows: %w", err)
	}
	return nil
}

// net builds a list's links and paths on demand.
type net struct {
	List
	known map[string]int32
}

// links adds links with both directions, each of which is a link of its own: those of the k-th are 2k and 2k+1.
func (n *net) links(count int, bytesPerSecond float64) {
	n.Links = append(n.Links, slices.Repeat([]float64{bytesPerSecond}, 2*count)...)
}

func forth(k int) int32 { return int32(2 * k) }
func back(k int) int32  { return int32(2*k + 1) }

// path is the number of a path, the same for the same links.
func (n *net) path(links ...int32) int32 {
	key := make([]byte, 0, 4*len(links))
	for _, l := range links {
		key = append(key, byte(l), byte(l>>8), byte(l>>16), byte(l>>24))
	}
	if p, ok := n.known[string(key)]; ok {
		return p
	}
	if n.known == nil {
		n.known = map[string]int32{}
	}
	p := int32(len(n.Paths))
	n.Paths = append(n.Paths, append([]int32(nil), links...))
	n.known[string(key)] = p
	return p
}

// Bytes per second.
const (
	mbit = 1e6 / 8
	gbit = 1e9 / 8
)

// racks is a two-tier tree: nodes below racks below a non-blocking core. The links of the nodes are first. One rack is a star.
type racks struct {
	net
	racks, nodes int // in all
}

func newRacks(name string, count, nodesEach int, node, uplink float64) *racks {
	r := &racks{racks: count, nodes: count * nodesEach}
	r.Name = name
	r.links(r.nodes, node)
	r.links(count, uplink)
	return r
}

func (r *racks) between(from, to int) int32 {
	each := r.nodes / r.racks
	if a, b := from/each, to/each; a != b {
		return r.path(forth(from), forth(r.nodes+a), back(r.nodes+b), back(to))
	}
	return r.path(forth(from), back(to))
}

func (r *racks) add(start float64, from, to int, bytes uint64) {
	r.Flows = append(r.Flows, Flow{Start: start, Path: r.between(from, to), Bytes: bytes})
}

// Random is the list for the speed figures and the largest comparisons: flows of 50 MB on average between random nodes of
// 30 racks with 20 nodes each, 250 Mbit/s per node and 1 Gbit/s per rack, alive of them at any time.
func Random(alive, flows int, seed uint64) List {
	r := newRacks(fmt.Sprintf("racks-%d", alive), 30, 20, 250*mbit, gbit)
	d := dice{seed: seed}
	for range flows {
		from := d.below(r.nodes)
		to := d.other(from, r.nodes)
		r.add(0, from, to, 1+uint64(d.exponential(50e6)))
	}
	r.Alive = alive
	return r.List
}

// Opened turns a list that keeps flows alive into one with explicit starts: those that resulted from ends, of another play of it. They are
// rounded to microseconds, so that a start is near an end but not at the same instant. Flows that did not end in the other play
// may start; they run to their ends here.
func Opened(l List, ends []float64) List {
	var starts []float64
	for _, e := range ends {
		if e >= 0 {
			starts = append(starts, micro(e))
		}
	}
	slices.Sort(starts)
	l.Flows = slices.Clone(l.Flows)
	for i := l.Alive; i < len(l.Flows); i++ {
		l.Flows[i].Start = starts[i-l.Alive]
	}
	l.Alive = 0
	return l
}

// allToAll adds flows from each node to each other: a node's flows start together, and each adds the flows of a pair.
func (r *racks) allToAll(start func() float64, each func(add func(bytes uint64))) List {
	for from := range r.nodes {
		at := start()
		for to := range r.nodes {
			if to != from {
				each(func(bytes uint64) { r.add(at, from, to, bytes) })
			}
		}
	}
	return r.sorted()
}

// Shuffle is all-to-all between 40 nodes in ten racks, as maps end: each source's flows start together, sources one after
// another, sizes uneven.
func Shuffle() List {
	d := dice{seed: 11}
	return newRacks("shuffle", 10, 4, gbit, 2*gbit).allToAll(func() float64 { return micro(30 * d.unit()) }, func(add func(uint64)) { add(d.bytes(100e6)) })
}

// Bundles is a shuffle in which several identical flows run between the same nodes from the same instant: those of several maps to
// several reduces. Together they are one flow with a weight, which is how the simulator models them.
func Bundles() List { return bundledShuffle("bundles", true) }

// UnevenBundles is the same with individual sizes.
func UnevenBundles() List { return bundledShuffle("uneven-bundles", false) }

func bundledShuffle(name string, even bool) List {
	d := dice{seed: 12}
	return newRacks(name, 6, 4, gbit, 2*gbit).allToAll(func() float64 { return micro(20 * d.unit()) }, func(add func(uint64)) {
		size := d.bytes(20e6)
		for range d.between(1, 6) {
			add(size)
			if !even {
				size = d.bytes(20e6)
			}
		}
	})
}

// Ties is all-to-all in a two-tier tree with equal sizes and a common start: nearly every event coincides with
// another.
func Ties() List {
	return newRacks("ties", 5, 6, gbit, 1.2*gbit).allToAll(func() float64 { return 0 }, func(add func(uint64)) { add(64 << 20) })
}

// Star is 24 nodes on one switch, with one node that half of the flows go to.
func Star() List {
	r := newRacks("star", 1, 24, gbit, gbit)
	d := dice{seed: 13}
	now := 0.0
	for range 600 {
		now += d.exponential(0.15)
		from, to := d.between(1, r.nodes-1), 0
		if d.chance(0.5) {
			to = d.other(from, r.nodes)
		}
		r.add(micro(now), from, to, d.bytes(30e6))
	}
	return r.sorted()
}

// LeafSpine is random flows over four spines, each flow on one of them, while the spines' links lose capacity.
func LeafSpine() List {
	const leaves, spines, each, nodes = 6, 4, 4, 24
	n := net{List: List{Name: "leaf-spine"}}
	n.links(nodes+leaves*spines, gbit)
	between := func(leaf, spine int) int { return nodes + leaf*spines + spine } // the link
	d := dice{seed: 14}
	now := 0.0
	for range 1000 {
		now = micro(now + d.exponential(0.06))
		from := d.below(nodes)
		to := d.other(from, nodes)
		links := []int32{forth(from), back(to)}
		if a, b := from/each, to/each; a != b {
			s := d.below(spines)
			links = []int32{forth(from), forth(between(a, s)), back(between(b, s)), back(to)}
		}
		f := Flow{Start: now, Path: n.path(links...), Bytes: d.bytes(40e6)}
		if d.chance(0.1) {
			f.Cap = micro(gbit * (0.02 + 0.5*d.unit()))
		}
		n.Flows = append(n.Flows, f)
		if d.chance(0.03) {
			l := forth(between(d.below(leaves), d.below(spines)))
			if d.chance(0.5) {
				l = back(between(d.below(leaves), d.below(spines)))
			}
			n.Changes = append(n.Changes, Change{At: now, Link: l, Capacity: gbit * (0.9 - 0.01*float64(len(n.Changes)))})
		}
	}
	return n.sorted()
}

// sorted sorts a list by its starts and its changes.
func (n *net) sorted() List {
	slices.SortStableFunc(n.Flows, func(a, b Flow) int { return cmp.Compare(a.Start, b.Start) })
	slices.SortStableFunc(n.Changes, func(a, b Change) int { return cmp.Compare(a.At, b.At) })
	return n.List
}

// Small is a small network drawn from a seed, designed for cases that are rare in large ones: flows that start at the same instant,
// equal sizes and capacities, caps, links that lose capacity, flows that share several links, flows with the network to
// themselves.
func Small(seed uint64) List {
	d := dice{seed: seed}
	n := net{List: List{Name: fmt.Sprintf("small-%d", seed)}}
	even := d.chance(0.5) // few sizes and capacities, for many ties
	amount := func(lo, hi float64) float64 {
		if even {
			return lo * float64(int(1)<<d.below(4))
		}
		return math.Round(lo * math.Pow(hi/lo, d.unit()))
	}
	for range d.between(1, 10) {
		n.Links = append(n.Links, amount(5e6, 1e8))
	}
	for range d.between(1, 12) {
		var links []int32
		for l := range n.Links {
			if d.chance(0.35) {
				links = append(links, int32(l))
			}
		}
		if len(links) == 0 {
			links = []int32{int32(d.below(len(n.Links)))}
		}
		n.path(links...)
	}
	now, caps := 0.0, d.chance(0.4)
	for range d.between(2, 40) {
		if !d.chance(0.4) {
			now = micro(now + d.exponential(0.5))
		}
		f := Flow{Start: now, Path: int32(d.below(len(n.Paths))), Bytes: uint64(amount(1e6, 2e8))}
		if caps && d.chance(0.5) {
			f.Cap = amount(1e6, 5e7)
		}
		n.Flows = append(n.Flows, f)
	}
	if d.chance(0.3) {
		left := append([]float64(nil), n.Links...)
		for range d.between(1, 5) {
			l := d.below(len(left))
			left[l] = math.Round(left[l] * (0.3 + 0.7*d.unit()))
			n.Changes = append(n.Changes, Change{At: micro(now * 1.2 * float64(len(n.Changes)+1) / 5), Link: int32(l), Capacity: left[l]})
		}
	}
	return n.sorted()
}

// dice are random numbers that never change: a list is identified by its seed.
type dice struct{ seed, thrown uint64 }

func (d *dice) unit() float64 {
	d.thrown++
	return workload.Uniform01(d.seed, d.thrown)
}

// bytes is a size of at least 1 MB.
func (d *dice) bytes(mean float64) uint64 { return 1e6 + uint64(d.exponential(mean)) }

func (d *dice) below(n int) int               { return int(d.unit() * float64(n)) }
func (d *dice) between(lo, hi int) int        { return lo + d.below(hi-lo+1) }
func (d *dice) chance(p float64) bool         { return d.unit() < p }
func (d *dice) exponential(m float64) float64 { return -m * math.Log1p(-d.unit()) }

// other is a number below n other than than.
func (d *dice) other(than, n int) int {
	i := d.below(n - 1)
	if i >= than {
		i++
	}
	return i
}

// micro rounds a time to microseconds, the simulator's resolution.
func micro(s float64) float64 { return math.Round(s*1e6) / 1e6 }
