// Package hdfs places the blocks of files: which nodes of a cluster hold the replicas of block b.
//
// Nothing is stored. Every placement is a pure function of the seed, the file's key and the block number, so the eight million
// blocks that a large cluster reads in a day need no memory, a lookup takes about a hundred nanoseconds, and every run with the
// same seed has its input on the same nodes, whatever else is enabled.
//
// The first four placements are those of MRPERF (G. Wang et al., "A simulation approach to evaluating design decisions in
// MapReduce setups", MASCOTS 2009), with HDFS's own rule for the fourth and MRPERF's version of it as a fifth:
//
//	linear       a file's blocks fill one node after the other
//	round-robin  the replicas of a file's blocks go to the nodes in turn
//	random       every block is on independently drawn nodes
//	hadoop       one replica on the writer's node, or on any; two more on two nodes of one other rack (HDFS)
//	mrperf       one replica on any node, one on another node of its rack, one on a node of another rack
//	hybrid       two replicas on two nodes of one scale-out rack, one on a scale-up node
//
// Invariants: no two replicas of a block are on one node; there are as many replicas as requested, or one on every node of a
// smaller cluster; with two or more racks, hadoop uses at least two of them from two replicas on, mrperf from three. hybrid
// takes no rack with both kinds of machines, so three replicas are in two racks, and a third of all bytes on scale-up machines; with one kind
// of machines it is hadoop.
package hdfs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/workload"
)

// Blocks is what placement needs to know of a file.
type Blocks struct {
	Key      uint64 // identifies the file: files with different keys are placed independently
	Count    int64  // number of blocks
	Replicas int    // of each block; less than 1 counts as 1
	Writer   int32  // the node whose task wrote it, plus one; 0: it came from outside the cluster
	// First, if set, are racks for the first replicas, in the order of blocks: each entry gets an equal part of the file. Others are racks for the others,
	// at random. Only hadoop considers them; where they hold no suitable node, any will do.
	First, Others []int32
}

// Placement decides which nodes hold a block.
type Placement interface {
	// Place returns the nodes that hold block number block of a file, each once, in HDFS's pipeline order. It overwrites buf
	// and reuses its memory if large enough.
	Place(file Blocks, block int64, buf []int32) []int32
}

// Default is the placement for an empty name; Hybrid is that of a cluster with scale-up and scale-out machines.
const (
	Default = "hadoop"
	Hybrid  = "hybrid"
)

var placements = []struct {
	name string
	make func(base) Placement
}{
	{"linear", func(b base) Placement { return linear{b} }},
	{"round-robin", func(b base) Placement { return roundRobin{b} }},
	{"random", func(b base) Placement { return random{b} }},
	{Default, func(b base) Placement { return hadoop{b} }},
	{"mrperf", func(b base) Placement { return mrperf{b} }},
	{Hybrid, newHybrid},
}

// Names lists the placements.
func Names() []string {
	names := make([]string, len(placements))
	for i := range placements {
		names[i] = placements[i].name
	}
	return names
}

// Check reports an unknown placement name. The empty name means Default.
func Check(name string) error {
	if name == "" || slices.Contains(Names(), name) {
		return nil
	}
	return fmt.Errorf("unknown block placement %q: want one of %s", name, strings.Join(Names(), ", "))
}

// New makes a placement by name on the nodes of a layout.
func New(name string, l *Layout, seed uint64) (Placement, error) {
	if err := Check(name); err != nil {
		return nil, err
	}
	if name == "" {
		name = Default
	}
	if name == Hybrid && l.mixed() {
		return nil, fmt.Errorf("block placement %s: a rack has scale-up and other machines; put them into separate racks", Hybrid)
	}
	for i := range placements {
		if placements[i].name == name {
			return placements[i].make(base{l, seed}), nil
		}
	}
	panic("hdfs: no constructor for placement " + name)
}

// base is common to all placements.
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

// copies is the number of replicas of a block, limited by the cluster size.
func (b *base) copies(file *Blocks) int {
	return min(max(file.Replicas, 1), len(b.node))
}

// start is the position of a file's first block, for sequential placements. It is drawn from its own stream.
func (b *base) start(file *Blocks) int64 {
	d := draws{seed: ^workload.Seed(b.seed, file.Key)}
	return int64(d.below(int32(len(b.node))))
}
