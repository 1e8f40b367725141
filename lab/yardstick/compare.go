package yardstick

import (
	"fmt"
	"math"

	"github.com/yardmaster/yardmaster/result"
)

// Difference is how far two plays of the same list are apart.
type Difference struct {
	Flows   int     // that were compared
	Missing int     // that ended on one side only
	End     float64 // the largest relative difference of the instants at which a flow ended
	Length  float64 // the largest relative difference of the time that a flow took
	Worst   int     // the flow with the largest difference of its end
}

func (d Difference) String() string {
	return fmt.Sprintf("%d flows, ends %.1e, lengths %.1e, %d missing", d.Flows, d.End, d.Length, d.Missing)
}

// Compare compares the ends of a list's flows.
func Compare(l List, a, b []float64) Difference {
	d := Difference{Worst: -1}
	for i, f := range l.Flows {
		if a[i] < 0 && b[i] < 0 {
			continue
		}
		d.Flows++
		if a[i] < 0 || b[i] < 0 || math.IsNaN(a[i]) || math.IsNaN(b[i]) {
			d.Missing++
			continue
		}
		gap := math.Abs(a[i] - b[i])
		if e := gap / max(a[i], b[i]); e > d.End || d.Worst < 0 {
			d.End, d.Worst = e, i
		}
		d.Length = max(d.Length, gap/(max(a[i], b[i])-f.Start))
	}
	return d
}

// and is the larger of two differences, over the flows of both.
func (d Difference) and(o Difference) Difference {
	d.Flows += o.Flows
	d.Missing += o.Missing
	d.Length = max(d.Length, o.Length)
	if o.End > d.End {
		d.End, d.Worst = o.End, o.Worst
	}
	return d
}

// quantile is the value below which a share p of the values lies; 0 of none.
func quantile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return result.Quantile(values, p)
}

func median(values []float64) float64 { return quantile(values, 0.5) }
