package marp

import (
	"fmt"
	"math"

	"github.com/yardmaster/yardmaster/unit"
)

// kalman holds the share of memory in use within a band: below it, it admits jobs, above it, it lowers the share, by
// steps that grow with the root of the distance. The reading goes through a scalar Kalman filter, which ignores the
// first one and then weighs each new one at about 0.91.
//
// One difference from the published artefact: it acts on a count of waiting jobs that may be ten seconds old; here
// a job must be waiting now as well.
type kalman struct {
	Band
	x, p    float64
	rounds  int
	pending int
}

const (
	kalmanRounds  = 10  // readings before it acts on memory that is not clearly low
	processNoise  = 0.9 // of the filter
	readingNoise  = 0.1
	smallestMarch = 0.01
)

func (*kalman) sizeless()            {}
func (k *kalman) begin(*loop, *view) { *k = kalman{Band: k.Band} }
func march(distance float64) float64 { return max(smallestMarch, math.Sqrt(distance*100)/100) }
func (k *kalman) filter(z float64) float64 {
	gain := k.p / (k.p + readingNoise)
	k.x += gain * (z - k.x)
	k.p = (1-gain)*k.p + processNoise
	return k.x
}

func (k *kalman) decide(c *loop, v *view) (m move, again unit.Time) {
	again = c.set.Interval
	if k.rounds == 0 {
		k.pending = v.pending
	}
	u := k.filter(min(float64(v.queue.Used.Mem)/float64(v.total.Mem), 1))
	if k.rounds++; u >= k.BandLow && k.rounds < kalmanRounds {
		m.why = fmt.Sprintf("memory %.3f in use, not low: reading %d of %d", u, k.rounds, kalmanRounds)
		return m, again
	}
	k.rounds = 0
	m.why = fmt.Sprintf("memory %.3f in use, %d waiting", u, v.pending)
	switch {
	case min(k.pending, v.pending) == 0:
		m.why += ": nothing waits"
	case u < k.BandLow:
		m.value = roundTo(c.value+march(k.BandLow-u), 6)
		m.why += ": below the band"
	case u > k.High:
		m.value = max(roundTo(c.value-march(u-k.High), 6), c.minShare)
		m.why += ": above the band"
	default:
		m.why += ": within the band"
	}
	return m, again
}
