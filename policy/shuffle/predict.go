// Package shuffle is what the network-aware policies share: how much data a job will shuffle, where the output of its maps lies, how busy the
// racks' uplinks are, and which user is next.
//
// # Prediction
//
// A map's output is its input times the job's ratio: the mean of output/input over the job's finished maps; before the first one ends, a
// ratio that is known from elsewhere; else 1, and the job is unpredicted. The shuffle size of a job is the actual output of its finished maps
// plus the predicted output of the others. The view has no sizes of single tasks: the input of a job is divided evenly among its maps, and the
// output of a stage among its tasks.
//
// # Limits
//
//	node's traffic threshold   containers per node x sum of shuffle sizes / sum of maps, over the jobs present; infinite without maps
//	slow-start                 linear in the shuffle size: the smallest job present starts reduces at max, the largest at min
//	reduces in a rack          all reduces of the job x the rack's share of its map output
//
// Invariants: sums over jobs are integers and exact; every counter of running tasks returns to 0; no event allocates once the state has
// grown to the number of jobs present, except the arrival of a job on more racks than seen before.
package shuffle

import "github.com/yardmaster/yardmaster/policy"

// MB is the unit of the class bounds: only with 2^20 bytes do the classes have the published shares.
const MB = 1 << 20

// Predictor estimates a job's ratio of map output to map input.
type Predictor struct {
	sum   float64
	n     int64   // maps in sum
	prior float64 // ratio known from elsewhere, if given
	given bool
	seen  bool // a map has finished
}

// Assume sets a ratio that is known before any map has finished.
func (p *Predictor) Assume(ratio float64) { p.prior, p.given = ratio, true }

// Add adds a finished map. Without input it has no ratio.
func (p *Predictor) Add(input, output float64) {
	p.seen = true
	if input > 0 {
		p.sum += output / input
		p.n++
	}
}

// Known reports whether the job is predicted.
func (p *Predictor) Known() bool { return p.given || p.seen }

// Ratio is the estimate.
func (p *Predictor) Ratio() float64 {
	switch {
	case p.n > 0:
		return p.sum / float64(p.n)
	case p.given:
		return p.prior
	}
	return 1
}

// Class is a job's class by shuffle size.
type Class uint8

// Classes by shuffle size.
const (
	Light Class = iota
	Medium
	Heavy
)

func (c Class) String() string { return [...]string{"light", "medium", "heavy"}[c] }

// Bounds separate the classes, in bytes.
type Bounds struct {
	Light float64 // a job that shuffles less is light
	Heavy float64 // a job that shuffles more is heavy
	Small float64 // a job that reads less has a small input
}

// DefaultBounds are 1 MB, 100 MB and 10 MB.
func DefaultBounds() Bounds { return Bounds{1 * MB, 100 * MB, 10 * MB} }

// Class is the class of a shuffle size.
func (b *Bounds) Class(bytes float64) Class {
	switch {
	case bytes < b.Light:
		return Light
	case bytes > b.Heavy:
		return Heavy
	}
	return Medium
}

// SlowStart is the share of a job's maps that must be done before its reduces start: hi for a job of the smallest size among those present,
// lo for the largest, linear between them.
func SlowStart(lo, hi, smallest, largest, size float64) float64 {
	if largest <= smallest {
		return lo
	}
	return hi + (lo-hi)*(size-smallest)/(largest-smallest)
}

// MapCost is the cost of reading a map's input over the network: nothing on its node, its size in its rack, twice that from another rack.
func MapCost(input float64, near policy.Near) float64 {
	switch near {
	case policy.RackLocal:
		return input
	case policy.OffRack:
		return 2 * input
	}
	return 0
}
