package result

import (
	"math"

	"github.com/yardmaster/yardmaster/sim"
)

// Spread says how unevenly jobs were slowed down: their slowdowns by quantile and by size. A size is the total time that a job's tasks worked.
type Spread struct {
	V75    float64     `json:"v75"` // V(q): the q-quantile of slowdowns over their median
	V90    float64     `json:"v90"`
	V95    float64     `json:"v95"`
	V99    float64     `json:"v99"`
	SCV    float64     `json:"scv"`     // of slowdowns: variance over squared mean
	BySize []SizeGroup `json:"by_size"` // smallest first; classes without a job are left out
}

// SizeGroup is the jobs of a SizeClass.
type SizeGroup struct {
	From     float64 `json:"from"` // s; at least this
	To       float64 `json:"to"`   // and less than this
	Jobs     int64   `json:"jobs"` // finished, with a slowdown
	Slowdown Stats   `json:"slowdown"`
}

// bySize are slowdowns by size class.
type bySize map[int]*series

func (b bySize) add(r *sim.JobRecord, f *figures, exact bool) {
	if r.Size <= 0 || math.IsNaN(f.slowdown) {
		return
	}
	class := SizeClass(r.Size)
	s := b[class]
	if s == nil {
		s = &series{}
		b[class] = s
	}
	s.add(f.slowdown)
	if !exact {
		s.shrink()
	}
}

// figures returns nil if no size is known. All are those of finished jobs.
func (b bySize) figures(all *series) *Spread {
	if len(b) == 0 {
		return nil
	}
	v := func(q float64) float64 { return round(all.quantile(q) / all.quantile(0.5)) }
	out := &Spread{V75: v(0.75), V90: v(0.9), V95: v(0.95), V99: v(0.99), SCV: round(all.scv())}
	for class := minClass; class <= maxClass; class++ {
		if s := b[class]; s != nil {
			out.BySize = append(out.BySize, SizeGroup{From: round(classFrom(class)), To: round(classFrom(class + 1)), Jobs: s.n, Slowdown: s.stats()})
		}
	}
	return out
}

// scv is the squared coefficient of variation of the population.
func (s *series) scv() float64 {
	if s.mean == 0 {
		return 0
	}
	return max(0, s.m2) / float64(s.n) / (s.mean * s.mean)
}
