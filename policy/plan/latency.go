package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Rack is a rack with its containers.
type Rack struct {
	Name       string `json:"name"`
	Containers int64  `json:"containers"`
}

// Cluster is what a plan needs to know of a cluster.
type Cluster struct {
	Racks    []Rack  `json:"-"`
	Uplink   float64 `json:"uplink"`             // rate of a rack's packet-switched uplink
	Circuit  float64 `json:"circuit,omitempty"`  // rate of a rack's port at the circuit switch; 0: there is none
	Elephant float64 `json:"elephant,omitempty"` // a flow of more bytes is worth a circuit
	// Contended is the uplink rate that the latency function assumes, where others share it; 0: Uplink.
	Contended float64 `json:"contended,omitempty"`
}

// Containers is the number of containers of a rack; if racks differ, the mean, rounded down.
func (c *Cluster) Containers() int64 {
	total := int64(0)
	for i := range c.Racks {
		total += c.Racks[i].Containers
	}
	return max(1, total/int64(max(1, len(c.Racks))))
}

// maxContainers bounds the containers of a plan, each of which has a timetable.
const maxContainers = 1 << 24

func (c *Cluster) validate() error {
	if len(c.Racks) == 0 {
		return fmt.Errorf("plan: a cluster without racks")
	}
	total := int64(0)
	for _, r := range c.Racks {
		if r.Containers < 1 {
			return fmt.Errorf("plan: rack %s has no containers", r.Name)
		}
		if total += min(r.Containers, maxContainers+1); total > maxContainers {
			return fmt.Errorf("plan: more than %d containers", maxContainers)
		}
	}
	for _, v := range []float64{c.Uplink, c.Circuit, c.Elephant, c.Contended} {
		if !(v >= 0) || math.IsInf(v, 1) {
			return fmt.Errorf("plan: uplink %v, circuit %v, elephant %v, contended %v: want numbers from 0", c.Uplink, c.Circuit, c.Elephant, c.Contended)
		}
	}
	if c.Uplink == 0 {
		return fmt.Errorf("plan: the cluster's racks have no uplink rate")
	}
	return nil
}

// Job is the profile of a recurring job.
type Job struct {
	ID               string
	Submit           float64 // predicted
	Maps, Reduces    int64
	MapTime, RedTime float64 // mean length of a task
	Input, Shuffle   float64 // bytes
}

// Heavy reports whether a job's shuffle is large enough for a circuit.
func (c *Cluster) Heavy(j *Job) bool {
	return c.Circuit > 0 && j.Shuffle >= c.Elephant && j.Maps > 0 && j.Reduces > 0
}

// Model says how much shuffle data passes the busiest port of a rack.
type Model string

// Models. With the same racks for maps and reduces, PortLoad equals Printed; with disjoint ones, Disjoint. Only Disjoint reproduces the
// example in the source (its figure 4.6), where the racks are not known yet.
const (
	Disjoint Model = "disjoint"
	PortLoad Model = "port-load"
	Printed  Model = "printed" // the source's formula
)

// Pair is a number of racks for maps and for reduces.
type Pair struct{ Maps, Reduces int }

// waves is how many rounds n tasks need in r racks.
func (c *Cluster) waves(n int64, r int) int64 {
	each := int64(r) * c.Containers()
	return (n + each - 1) / each
}

// OnCircuit reports whether the flows between racks are elephants.
func (c *Cluster) OnCircuit(j *Job, p Pair) bool {
	return c.Circuit > 0 && j.Shuffle/float64(p.Maps*p.Reduces) > c.Elephant
}

// rate is the bandwidth of a job's shuffle.
func (c *Cluster) rate(j *Job, p Pair) float64 {
	if c.OnCircuit(j, p) {
		return c.Circuit
	}
	return cmp.Or(c.Contended, c.Uplink)
}

// ShuffleTime is the latency of a job's shuffle.
func (c *Cluster) ShuffleTime(j *Job, p Pair, m Model) float64 {
	if j.Shuffle == 0 || j.Reduces == 0 || j.Maps == 0 {
		return 0
	}
	var bytes float64
	switch rm, rr := float64(p.Maps), float64(p.Reduces); m {
	case Printed:
		bytes = j.Shuffle / (rm * rr) * (rr - 1)
	case PortLoad: // racks are not known: the smaller set is inside the larger one
		bytes = PortBytes(j.Shuffle, even(p.Maps, max(p.Maps, p.Reduces)), even(p.Reduces, max(p.Maps, p.Reduces)))
	default:
		bytes = j.Shuffle / rm
		if c.OnCircuit(j, p) {
			bytes = j.Shuffle / min(rm, rr)
		}
	}
	return bytes / c.rate(j, p)
}

// even is one task in each of the first r of n racks.
func even(r, n int) []int64 {
	of := make([]int64, n)
	for i := range r {
		of[i] = 1
	}
	return of
}

// PortBytes is the number of shuffle bytes through the busiest port: the most that a rack sends to others or receives from them. maps and
// reduces count the tasks in each rack.
func PortBytes(shuffle float64, maps, reduces []int64) float64 {
	var allMaps, allReduces int64
	for i := range maps {
		allMaps, allReduces = allMaps+maps[i], allReduces+reduces[i]
	}
	if allMaps == 0 || allReduces == 0 {
		return 0
	}
	busiest := 0.0
	for i := range maps {
		m, r := float64(maps[i])/float64(allMaps), float64(reduces[i])/float64(allReduces)
		busiest = max(busiest, m*(1-r), r*(1-m))
	}
	return busiest * shuffle
}

// Latency is a job's latency if its stages run one after the other: waves of maps, the shuffle, waves of reduces.
func (c *Cluster) Latency(j *Job, p Pair, m Model) float64 {
	return float64(c.waves(j.Maps, p.Maps))*j.MapTime + c.ShuffleTime(j, p, m) + float64(c.waves(j.Reduces, p.Reduces))*j.RedTime
}

// Feasible lists the pairs that use circuits and need no more waves than the whole cluster; if there are none, the pairs with the least
// latency among those that use circuits. If there are none either, or the whole cluster is faster without circuits, it lists nothing: the job is
// planned as one with a small shuffle. (Otherwise a job of many maps and a shuffle just large enough for a circuit would have one rack.)
func (c *Cluster) Feasible(j *Job, m Model) []Pair {
	racks := len(c.Racks)
	var usable, full []Pair
	for rm := 1; rm <= racks; rm++ {
		for rr := 1; rr <= racks; rr++ {
			p := Pair{rm, rr}
			if !c.OnCircuit(j, p) {
				break // larger products are no elephants either
			}
			usable = append(usable, p)
			if c.waves(j.Maps, rm) == c.waves(j.Maps, racks) && c.waves(j.Reduces, rr) == c.waves(j.Reduces, racks) {
				full = append(full, p)
			}
		}
	}
	if len(full) > 0 || len(usable) == 0 {
		return full
	}
	least := math.Inf(1)
	for _, p := range usable {
		least = min(least, c.Latency(j, p, m))
	}
	if c.Latency(j, Pair{racks, racks}, m) < least {
		return nil
	}
	return slices.DeleteFunc(usable, func(p Pair) bool { return c.Latency(j, p, m) > least })
}
