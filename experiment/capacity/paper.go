package capacity

import (
	_ "embed"
	"fmt"
	"strconv"
	"sync"

	"github.com/yardmaster/yardmaster/experiment"
	"github.com/yardmaster/yardmaster/internal/yamlfile"
)

// byType is one of the source's tables: for each type, the eight experiments of a block in order.
type byType map[int][8]float64

// published is what the source prints of a block.
type published struct {
	RackLocal, Ratio, Variation map[string]byType // by queue
	Makespan                    map[string][8]float64
}

// printed is what the source prints; NaN: it has no such cell.
type printed struct {
	Blocks      [4]published // in the order of blocks
	Sensitivity [16][3]float64
	Paired      map[string]struct{ Real, Simulated [8]int }
	Stragglers  map[string][2]float64
}

//go:embed paper.yaml
var paperFile []byte

var paper = sync.OnceValue(func() *printed { return yamlfile.Decode[printed](paperFile) })

var validationJobs = [8]string{"TSort1", "Sort1", "TSort2", "Sort2", "TSort3", "Sort3", "TSort4", "Sort4"}

// reported are the cells of the source's tables for one experiment of the factorial.
func (b block) reported(i int) []experiment.Reported {
	t := b.published()
	var cells []experiment.Reported
	for q := range b.capacity {
		name := "q" + strconv.Itoa(q+1)
		if row, ok := t.Makespan[name]; ok {
			cells = append(cells, experiment.Reported{Metric: "makespan/" + name, What: "Makespan, queue " + name[1:], Unit: "s", Paper: row[i]})
		}
	}
	table := func(metric, what, unit string, by map[string]byType) {
		for _, n := range allTypes {
			for _, queue := range []string{"", "q1", "q2", "q3", "q4"} {
				row, ok := by[queue][n]
				if !ok {
					continue
				}
				c := experiment.Reported{Metric: fmt.Sprintf("%s/%d", metric, n), What: fmt.Sprintf("%s, type %d", what, n), Unit: unit, Paper: row[i]}
				if queue != "" {
					c.Metric += "/" + queue
					c.What += ", queue " + queue[1:]
				}
				cells = append(cells, c)
			}
		}
	}
	table("ratio", "Response ratio", "", t.Ratio)
	table("rack-local", "Rack-local maps", "%", t.RackLocal)
	return cells
}
