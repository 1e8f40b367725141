package sls

import (
	"math"
	"sort"
	"strconv"

	"github.com/yardmaster/yardmaster/internal/input"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// draws is a stream of random numbers.
type draws struct {
	seed uint64
	n    uint64
}

func (d *draws) uniform() float64 {
	d.n++
	return workload.Uniform01(d.seed, d.n-1)
}

// wheel picks an index by weight: it holds the sums of the weights up to each index.
type wheel []float64

func newWheel(weights []float64) wheel {
	w := make(wheel, len(weights))
	sum := 0.0
	for i, v := range weights {
		sum += v
		w[i] = sum
	}
	return w
}

// pick is the index that u, from 0 to 1, chooses; never one of weight 0, unless all are.
func (w wheel) pick(u float64) int {
	total := w[len(w)-1]
	i := sort.Search(len(w), func(i int) bool { return w[i] > u*total })
	if i == len(w) { // u x total was rounded up
		i = sort.Search(len(w), func(i int) bool { return w[i] >= total })
	}
	return i
}

// turns says whether any weight is positive.
func (w wheel) turns() bool { return len(w) > 0 && w[len(w)-1] > 0 }

// whole rounds a drawn number to a count from 0 to limit.
func whole(v float64, limit int64) int64 {
	switch v = math.Round(v); {
	case !(v > 0):
		return 0
	case v >= float64(limit):
		return limit
	}
	return int64(v)
}

// sample is a distribution that a number is drawn from for each job or task.
type sample struct {
	val, std float64
	normal   bool
	discrete []float64 // set: one of these
	weights  []float64
	wheel    wheel
}

// quantile is the inverse distribution function.
func (s *sample) quantile(u float64) float64 {
	switch {
	case len(s.discrete) > 0:
		return s.discrete[s.wheel.pick(u)]
	case s.std == 0 || s.val == 0 && !s.normal:
		return s.val
	}
	z := math.Sqrt2 * math.Erfinv(2*min(max(u, 0x1p-53), 1-0x1p-53)-1)
	if s.normal {
		return s.val + s.std*z
	}
	sigma2 := math.Log1p(s.std / s.val * s.std / s.val)
	return math.Exp(math.Log(s.val) - sigma2/2 + math.Sqrt(sigma2)*z)
}

func (s *sample) draw(d *draws) float64 { return s.quantile(d.uniform()) }

// lengths is the sample as task lengths, in units of scale.
func (s *sample) lengths(scale unit.Time) workload.Lengths {
	to := func(v float64) unit.Time {
		return unit.FromSeconds(math.Min(math.Max(v, 0)*scale.Seconds(), maxLength/1000))
	}
	switch {
	case len(s.discrete) == 0 && (s.std == 0 || s.val == 0 && !s.normal):
		return workload.Fixed(to(s.val))
	case len(s.discrete) == 0 && !s.normal:
		return workload.Lengths{Kind: workload.LogNormal, A: to(s.val), P: min(s.std/s.val, maxSpread)}
	}
	// A table of the inverse distribution function, clamped at 0.
	table := *s
	if len(s.discrete) > 0 {
		table.sort()
	}
	const steps = 1000
	values := make([]unit.Time, steps+1)
	for i := range values {
		values[i] = to(table.quantile((float64(i) + 0.5) / (steps + 1)))
	}
	return workload.Lengths{Kind: workload.Quantiles, Values: values}
}

// maxSpread is the widest distribution of task lengths, as a coefficient of variation.
const maxSpread = 1e6

// maxChoices bounds the values of one discrete sample.
const maxChoices = 10_000

// read reads a sample {"val":..,"std":..,"dist":..} or {"discrete":[..],"weights":[..]}; values are from 0 to limit.
func (s *sample) read(js *input.JSON, limit float64) error {
	*s = sample{}
	given := false
	err := js.Object(func(member []byte) (err error) {
		switch string(member) {
		case "val":
			given = true
			return number(js, &s.val, limit)
		case "std":
			return number(js, &s.std, limit)
		case "dist":
			var dist string
			if dist, err = js.Text(); err != nil {
				return err
			}
			switch dist {
			case "", "LOGNORM":
			case "NORM":
				s.normal = true
			default:
				return js.Errorf("distribution %q is not LOGNORM or NORM", dist)
			}
		case "discrete":
			return js.Array(maxChoices, func(int) error {
				s.discrete = append(s.discrete, 0)
				return number(js, &s.discrete[len(s.discrete)-1], limit)
			})
		case "weights":
			return js.Array(maxChoices, func(int) error {
				s.weights = append(s.weights, 0)
				return number(js, &s.weights[len(s.weights)-1], 1e12)
			})
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case given == (len(s.discrete) > 0):
		return js.Errorf("a number is given by \"val\" or by \"discrete\"")
	case given:
		return nil
	}
	if len(s.weights) == 0 {
		for range s.discrete {
			s.weights = append(s.weights, 1)
		}
	}
	if len(s.weights) != len(s.discrete) {
		return js.Errorf("%d weights for %d discrete values", len(s.weights), len(s.discrete))
	}
	if s.wheel = newWheel(s.weights); !s.wheel.turns() {
		return js.Errorf("no discrete value has a weight above 0")
	}
	return nil
}

// number reads a number from 0 to limit; null leaves it.
func number(js *input.JSON, v *float64, limit float64) error {
	f, ok, err := js.Float()
	switch {
	case err != nil || !ok:
		return err
	case f < 0 || f > limit:
		return js.Errorf("%s is not between 0 and %s", strconv.FormatFloat(f, 'g', -1, 64), strconv.FormatFloat(limit, 'g', -1, 64))
	}
	*v = f
	return nil
}
