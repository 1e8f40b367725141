package marp

import (
	"fmt"

	"github.com/yardmaster/yardmaster/unit"
)

// static writes its value once and leaves it.
type static struct{ Fixed }

func (static) sizeless()          {}
func (static) begin(*loop, *view) {}
func (static) decide(c *loop, _ *view) (move, unit.Time) {
	return move{why: "the value stays"}, c.set.Interval
}

// Baseline is a value that is set once and left.
type Baseline struct {
	Name  string
	Value float64
}

// PRJ is the smallest value, in steps of the resolution, that lets n jobs run at once.
func PRJ(share float64, n int) float64 { return min(ceilTo(float64(n)*share, digits(share)), 1) }

// The source's values, from its experiments with six jobs and AMs of 2 GiB in 51 GiB.
const (
	SourceFIFO = 0.050
	SourcePRJ  = 0.250
)

// Sweep is the values 0.1 to 0.9.
func Sweep() []Baseline {
	var all []Baseline
	for i := 1; i <= 9; i++ {
		all = append(all, Baseline{fmt.Sprintf("static-0.%d", i), float64(i) / 10})
	}
	return all
}
