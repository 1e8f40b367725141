package hybrid

import (
	"context"
	"fmt"
	"math"

	x "github.com/yardmaster/yardmaster/studies/experiment"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/whatif/sizing"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/swim"
)

// benchmark is a job of HY-M1, by its shuffle and output per byte of input, with its cross point in the source, in GB.
type benchmark struct {
	name                  string
	shuffle, write, cross float64
}

var benchmarks = []benchmark{{"terasort", 1, 1, 32}, {"wordcount", 1.6, 0.1, 64}}

// sizes are the inputs of HY-M1 that are shown, in GiB; three more between each two of them are run.
var sizes = []float64{0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048}

// measure runs each benchmark with every input on one scale-up machine and on five scale-out machines.
func measure(context.Context, uint64) (x.Metrics, error) {
	machines, model, m := sizing.Reference(), swim.Default(), x.Metrics{}
	for _, b := range benchmarks {
		var logs, ratios []float64 // around the cross point: waves of tasks make the ratios ragged
		most, least := 0.0, 0.0
		for gib := sizes[0]; gib <= sizes[len(sizes)-1]; gib *= math.Sqrt(math.Sqrt2) {
			input := gib * float64(unit.GiB)
			j := &workload.Job{ID: b.name, Stages: model.Stages(unit.Bytes(input), unit.Bytes(b.shuffle*input), unit.Bytes(b.write*input))}
			up, out := machines.Times(j, 0)
			a, o := up.Seconds(), out.Seconds()
			at := fmt.Sprintf("%s/%.3g/", b.name, gib)
			m[at+"up"], m[at+"out"], m[at+"change"] = a, o, a/o-1
			most, least = max(most, 1-a/o), max(least, 1-o/a)
			if gib > b.cross/5 && gib < b.cross*5 {
				logs, ratios = append(logs, math.Log2(gib)), append(ratios, math.Log2(a/o))
			}
		}
		m[b.name+"/cross"], m[b.name+"/up-gain"], m[b.name+"/out-gain"] = math.Exp2(root(logs, ratios)), most, least
	}
	return m, nil
}

// root is where the least-squares line through points is 0.
func root(x, y []float64) float64 {
	var sx, sy, sxx, sxy float64
	n := float64(len(x))
	for i := range x {
		sx, sy, sxx, sxy = sx+x[i], sy+y[i], sxx+x[i]*x[i], sxy+x[i]*y[i]
	}
	return (sx - sy*(n*sxx-sx*sx)/(n*sxy-sx*sy)) / n
}
