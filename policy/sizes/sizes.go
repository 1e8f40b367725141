// Package sizes has the decisions of the size-based policies, without clock or I/O: a job's queue by attained service, by predicted size, or by
// comparison with the jobs that finished last; and the prediction of a size. The dispatch policies (policy/feedback, policy/sizeinterval) and
// their steering form (steer/levels) share them.
//
// Queues are numbered from 0, which is for the smallest jobs and is served first. A size is the total time that a job's tasks work.
//
// Source: the adaptation of FBQ, TAGS, SITA and COMP to MapReduce clusters in "Reducing Job Slowdown Variability for Data-Intensive
// Workloads", MASCOTS 2015.
package sizes

import (
	"encoding/json"
	"errors"
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Level is the queue for an attained service: the number of limits reached. Limits are ascending and cumulative: a job may receive limits[k]
// in queues 0 to k together.
func Level(attained unit.Time, limits []unit.Time) int {
	k := 0
	for k < len(limits) && attained >= limits[k] {
		k++
	}
	return k
}

// Interval is the queue for a size: the number of limits exceeded. A size equal to limits[k] belongs in queue k.
func Interval(size unit.Time, limits []unit.Time) int {
	k := 0
	for k < len(limits) && size > limits[k] {
		k++
	}
	return k
}

// Departures are the sizes of the jobs that finished last.
type Departures struct {
	last []unit.Time
	next int
}

// MarshalJSON writes the sizes, oldest first.
func (d *Departures) MarshalJSON() ([]byte, error) {
	return json.Marshal(append(slices.Clone(d.last[d.next:]), d.last[:d.next]...))
}

// UnmarshalJSON adds sizes, oldest first: no more than it remembers are kept.
func (d *Departures) UnmarshalJSON(data []byte) error {
	var list []unit.Time
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	if cap(d.last) == 0 {
		return errors.New("saved by another policy")
	}
	for _, size := range list {
		d.Add(size)
	}
	return nil
}

// NewDepartures remembers the last queues-1 jobs, enough to choose among that many queues.
func NewDepartures(queues int) *Departures { return &Departures{last: make([]unit.Time, 0, queues-1)} }

// Add records the size of a finished job.
func (d *Departures) Add(size unit.Time) {
	if len(d.last) < cap(d.last) {
		d.last = append(d.last, size)
		return
	}
	d.last[d.next] = size
	d.next = (d.next + 1) % len(d.last)
}

// Queue is the queue for a size: the number of smaller ones among those remembered.
func (d *Departures) Queue(size unit.Time) int {
	k := 0
	for _, s := range d.last {
		if size > s {
			k++
		}
	}
	return k
}

// Partition divides nodes among len(shares)+1 partitions: round(share x nodes) for each, the rest for the last. Each gets at least
// one node; with fewer nodes than partitions, the last ones get none.
func Partition(shares []float64, nodes int) []int {
	parts := make([]int, len(shares)+1)
	left := nodes
	for k := range parts {
		want := left
		if k < len(shares) {
			want = max(int(math.Round(shares[k]*float64(nodes))), 1)
		}
		after := len(parts) - 1 - k // partitions still to come
		parts[k] = max(min(want, left-after), min(left, 1))
		left -= parts[k]
	}
	return parts
}

// MinSamples is the number of finished jobs that a fit needs before it is used.
const MinSamples = 30

// Regression predicts a job's size in seconds from the bytes it reads:
//
//	ln size = A + B ln(input + 1)
//
// by least squares over the finished jobs of its class, or over all finished jobs while its class has fewer than MinSamples. While there are
// fewer than that in total, it uses the given A and B.
type Regression struct {
	A, B    float64         `json:"-"`
	All     Fit             `json:"all"`
	Classes map[string]*Fit `json:"classes,omitempty"`
}

// Fit accumulates a least-squares line: means, and sums about them.
type Fit struct{ N, X, Y, XX, XY float64 }

func (f *Fit) add(x, y float64) {
	f.N++
	dx := x - f.X
	f.X += dx / f.N
	f.Y += (y - f.Y) / f.N
	f.XX += dx * (x - f.X)
	f.XY += dx * (y - f.Y)
}

// at is the line's value; if all x are equal, the mean.
func (f *Fit) at(x float64) float64 {
	if f.XX <= 0 {
		return f.Y
	}
	return f.Y + f.XY/f.XX*(x-f.X)
}

// Learn adds a finished job.
func (r *Regression) Learn(class string, input unit.Bytes, size unit.Time) {
	if size <= 0 {
		return
	}
	if r.Classes == nil {
		r.Classes = map[string]*Fit{}
	}
	c := r.Classes[class]
	if c == nil {
		c = &Fit{}
		r.Classes[class] = c
	}
	x, y := math.Log1p(float64(input)), math.Log(size.Seconds())
	c.add(x, y)
	r.All.add(x, y)
}

// Predict is the expected size of a job.
func (r *Regression) Predict(class string, input unit.Bytes) unit.Time {
	x := math.Log1p(float64(input))
	y := r.A + r.B*x
	if c := r.Classes[class]; c != nil && c.N >= MinSamples {
		y = c.at(x)
	} else if r.All.N >= MinSamples {
		y = r.All.at(x)
	}
	return unit.FromSeconds(math.Exp(y))
}

// Noisy is a size times exp(sigma z), with z a standard normal number that depends only on the seed and the job.
func Noisy(size unit.Time, sigma float64, seed uint64, job int64) unit.Time {
	if sigma == 0 {
		return size
	}
	u := max(workload.Uniform01(seed, uint64(job)), 0x1p-54)
	return unit.FromSeconds(size.Seconds() * math.Exp(sigma*math.Sqrt2*math.Erfinv(2*u-1)))
}
