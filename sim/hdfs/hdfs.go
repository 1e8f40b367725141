// Package hdfs says where the blocks of a file lie: which nodes of a cluster hold the copies of block b.
//
// Nothing is stored. Every placement is a pure function of a seed, of the file's key and of the block's number, so the
// eight million blocks that a day of a large cluster reads cost no memory, any of them is found in about a hundred
// nanoseconds, and every run with a seed finds its input in the same places, whatever else is switched on.
//
// The four placements are those of MRPERF (G. Wang et al., "A simulation approach to evaluating design decisions in
// MapReduce setups", MASCOTS 2009), with HDFS's own rule for the fourth and MRPERF's reading of it as a fifth:
//
//	linear       a file's blocks fill one node after the other
//	round-robin  the copies of a file's blocks are dealt to the nodes in turn
//	random       every block lies on nodes drawn afresh
//	hadoop       one copy on the writer's node, or on any; two more on two nodes of one other rack (HDFS)
//	mrperf       one copy on any node, one on another node of its rack, one on a node of another rack
//
// Invariants: no two copies of a block are on one node; there are as many copies as asked for, or one on every node of a
// smaller cluster; where there are two racks, hadoop uses at least two of them from two copies on, mrperf from three.
package hdfs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/workload"
)

// Blocks is a file, as far as its placement goes.
type Blocks struct {
	Key      uint64 // names the file: files with different keys lie independently of each other
	Count    int64  // blocks that it has
	Replicas int    // copies of each block; less than 1 counts as 1
	Writer   int32  // the node whose task wrote it, plus one; 0: it came from outside the cluster
}

// Placement says which nodes hold a block.
type Placement interface {
	// Place returns the nodes that hold block number block of a file, each once, in the order in which HDFS would pass the
	// block on. It overwrites buf and uses its memory if that suffices.
	Place(file Blocks, block int64, buf []int32) []int32
}

// Default is the placement that an empty name means.
const Default = "hadoop"

var placements = []struct {
	name string
	make func(base) Placement
}{
	{"linear", func(b base) Placement { return linear{b} }},
	{"round-robin", func(b base) Placement { return roundRobin{b} }},
	{"random", func(b base) Placement { return random{b} }},
	{Default, func(b base) Placement { return hadoop{b} }},
	{"mrperf", func(b base) Placement { return mrperf{b} }},
}

// Names lists the placements.
func Names() []string {
	names := make([]string, len(placements))
	for i := range placements {
		names[i] = placements[i].name
	}
	return names
}

// Check says whether a name is that of a placement. The empty name is: it means Default.
func Check(name string) error {
	if name == "" || slices.Contains(Names(), name) {
		return nil
	}
	return fmt.Errorf("%q is no placement of blocks: want one of %s", name, strings.Join(Names(), ", "))
}

// New makes a placement by name on the nodes of a layout.
func New(name string, l *Layout, seed uint64) (Placement, error) {
	if err := Check(name); err != nil {
		return nil, err
	}
	if name == "" {
		name = Default
	}
	for i := range placements {
		if placements[i].name == name {
			return placements[i].make(base{l, seed}), nil
		}
	}
	panic("hdfs: a placement that is known cannot be made: " + name)
}

// base is what every placement has.
type base struct {
	*Layout
	seed uint64
}

// draws are the random numbers of one block.
type draws struct {
	seed  uint64
	block uint64
	next  uint64
}

func (b *base) draws(file *Blocks, block int64) draws {
	return draws{seed: workload.Seed(b.seed, file.Key), block: uint64(block) << 8}
}

// below draws a number from 0 to n-1.
func (d *draws) below(n int32) int32 {
	u := workload.Uniform01(d.seed, d.block+d.next)
	d.next++
	return int32(u * float64(n))
}

// copies is how many copies of a block there can be.
func (b *base) copies(file *Blocks) int {
	return min(max(file.Replicas, 1), len(b.node))
}

// start is the position at which a file begins, for the placements that go by turns. It is drawn from a stream of its own.
func (b *base) start(file *Blocks) int64 {
	d := draws{seed: ^workload.Seed(b.seed, file.Key)}
	return int64(d.below(int32(len(b.node))))
}
