package experiment

import (
	"math/bits"
	"strings"

	"github.com/yardmaster/yardmaster/result"
)

// Design is a full factorial design: every combination of k factors at two levels, one experiment each.
type Design struct {
	Factors []string
	// Cells are the experiments in standard order: bit i of a cell's place says whether factor i is at its second level.
	Cells []string
}

// Effect is what a factor, or an interaction of several, does to a figure. Of a factor it is the mean of the cells at the second level
// less that of the cells at the first; of an interaction of two, half the difference between one's effects at the two levels of the other.
type Effect struct {
	Name string // "MULP", "ULF x MULP"
	// Estimate is the change with its 95 % interval: the contrast is taken seed by seed, so that what a seed does to all cells cancels.
	result.Estimate
	// Relative is the change as a share of the mean over all cells.
	Relative result.Estimate
	// Share is this effect's part of the variation between the means of the cells; the shares of all effects add up to 1.
	Share float64
}

// Effects are the main effects in the order of the factors, then the interactions of two, of three and so on. It gives none when a cell
// is missing. Source: Box, Hunter and Hunter, Statistics for Experimenters, chapter 5.
func (d *Design) Effects(r *Runs, metric string) []Effect {
	if len(d.Cells) != 1<<len(d.Factors) || !r.Has(d.Cells...) {
		return nil
	}
	part := r.only(d.Cells)
	cells := make([][]float64, len(d.Cells))
	for i, cell := range d.Cells {
		cells[i] = part.Values(cell, metric)
	}
	overall := make([]float64, len(part.seeds))
	for s := range overall {
		overall[s] = contrast(cells, 0, s) / 2
	}
	var effects []Effect
	var squares float64
	for order := 1; order <= len(d.Factors); order++ {
		for of := uint(1); of < 1<<len(d.Factors); of++ {
			if bits.OnesCount(of) != order {
				continue
			}
			changes := make([]float64, len(part.seeds))
			for s := range changes {
				changes[s] = contrast(cells, of, s)
			}
			e := Effect{Name: d.name(of), Estimate: estimate(changes)}
			if mean := estimate(overall); mean.N > 0 && mean.Mean != 0 {
				e.Relative = e.Estimate
				e.Relative.Mean, e.Relative.Low, e.Relative.High = e.Mean/mean.Mean, e.Low/mean.Mean, e.High/mean.Mean
			}
			squares += e.Mean * e.Mean
			effects = append(effects, e)
		}
	}
	for i := range effects {
		if squares > 0 {
			effects[i].Share = effects[i].Mean * effects[i].Mean / squares
		}
	}
	return effects
}

// contrast is the mean of the cells where the product of the factors' signs is +1 less the mean of those where it is -1; for no factor,
// twice the mean of all.
func contrast(cells [][]float64, of uint, seed int) float64 {
	var total float64
	order := bits.OnesCount(of)
	for cell, values := range cells {
		if at := bits.OnesCount(uint(cell) & of); (order-at)%2 == 0 { //nolint:gosec // a place in a slice
			total += values[seed]
		} else {
			total -= values[seed]
		}
	}
	return total / (float64(len(cells)) / 2)
}

func (d *Design) name(of uint) string {
	var names []string
	for i, f := range d.Factors {
		if of&(1<<i) != 0 {
			names = append(names, f)
		}
	}
	return strings.Join(names, " x ")
}
