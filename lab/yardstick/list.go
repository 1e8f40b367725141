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
