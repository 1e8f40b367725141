package yardstick

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// List is a network and the flows through it: what each side is given to play.
type List struct {
	Name    string // one word
	Links   []float64
	Paths   [][]int32 // links, none of them twice
	Changes []Change  // in their order
	Flows   []Flow    // in the order of their starts
	// Alive flows are kept going, when it is not 0: starts do not count, each end starts the next flow, and the list is over when
	// its last flow has started.
	Alive int
}

// Change gives a link another capacity, in bytes per second. SimGrid lets no flow pass what its narrowest link carried when
// it started, so a list may take capacity away but not give it.
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

// Write writes lists in the form that the C++ programs read. Numbers are written so that reading gives the same again.
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

// net builds a list's links and paths as they are asked for.
type net struct {
	List
	known map[string]int32
}

func (n *net) link(bytesPerSecond float64) int32 {
	n.Links = append(n.Links, bytesPerSecond)
	return int32(len(n.Links) - 1)
}

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

// racks is a tree of two tiers: nodes below racks below a core that bounds nothing. Each direction is a link of its own. One
// rack is a star.
type racks struct {
	net
	racks, nodes                      int // in all
	nodeOut, nodeIn, rackUp, rackDown []int32
}

func newRacks(name string, count, nodesEach int, node, uplink float64) *racks {
	r := &racks{racks: count, nodes: count * nodesEach}
	r.Name = name
	for range r.nodes {
		r.nodeOut, r.nodeIn = append(r.nodeOut, r.link(node)), append(r.nodeIn, r.link(node))
	}
	for range count {
		r.rackUp, r.rackDown = append(r.rackUp, r.link(uplink)), append(r.rackDown, r.link(uplink))
	}
	return r
}

func (r *racks) between(from, to int) int32 {
	each := r.nodes / r.racks
	if a, b := from/each, to/each; a != b {
		return r.path(r.nodeOut[from], r.rackUp[a], r.rackDown[b], r.nodeIn[to])
	}
	return r.path(r.nodeOut[from], r.nodeIn[to])
}

func (r *racks) add(start float64, from, to int, bytes uint64) {
	r.Flows = append(r.Flows, Flow{Start: start, Path: r.between(from, to), Bytes: bytes})
}
