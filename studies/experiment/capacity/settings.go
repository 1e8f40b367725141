package capacity

import (
	"cmp"
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/yardmaster/yardmaster/internal/yamlfile"
	"github.com/yardmaster/yardmaster/studies/experiment"
)

// settings are the Capacity Scheduler settings that an experiment changes; the others keep their documented defaults.
type settings struct {
	capacity []float64 // of each queue, in percent
	capped   bool      // maximum-capacity is each queue's capacity
	factor   float64   // user-limit-factor; 0: 1
	percent  float64   // minimum-user-limit-percent; 0: 100
	priority bool      // supports-priority

	systemJobs               int // maximum-system-jobs; 0: 3000
	activeTasks, activeOfOne int // maximum-initialized-active-tasks, and per user; 0: the default
}

func (s settings) userLimitFactor() float64  { return cmp.Or(s.factor, 1) }
func (s settings) userLimitPercent() float64 { return cmp.Or(s.percent, 100) }

// pairs describes the settings for the page.
func (s settings) pairs() []experiment.Pair {
	var shares []string
	for _, c := range s.capacity {
		shares = append(shares, strconv.FormatFloat(c, 'f', -1, 64))
	}
	pairs := []experiment.Pair{
		{Name: "capacity", Value: strings.Join(shares, " / ") + " %"},
		{Name: "maximum-capacity", Value: map[bool]string{false: "-1", true: "= capacity"}[s.capped]},
		{Name: "user-limit-factor", Value: fmt.Sprint(s.userLimitFactor())},
		{Name: "minimum-user-limit-percent", Value: fmt.Sprint(s.userLimitPercent())},
	}
	if s.priority {
		pairs = append(pairs, experiment.Pair{Name: "supports-priority", Value: "true"})
	}
	if s.systemJobs > 0 {
		pairs = append(pairs, experiment.Pair{Name: "maximum-system-jobs", Value: strconv.Itoa(s.systemJobs)})
	}
	if s.activeTasks > 0 {
		pairs = append(pairs,
			experiment.Pair{Name: "maximum-initialized-active-tasks", Value: strconv.Itoa(s.activeTasks)},
			experiment.Pair{Name: "maximum-initialized-active-tasks-per-user", Value: strconv.Itoa(s.activeOfOne)})
	}
	return pairs
}

// row is one of the eight combinations of the factorial.
type row struct {
	capped  bool
	factor  float64
	percent float64
}

// rows are the eight in the source's order, a to h.
var rows = [8]row{
	{false, 1, 100}, {true, 1, 100}, {false, 2, 100}, {false, 1, 25},
	{true, 2, 100}, {true, 1, 25}, {false, 2, 25}, {true, 2, 25},
}

// block is a full factorial over one submission pattern.
type block struct {
	Name     string
	first    int // number of its first experiment
	pattern  pattern
	capacity []float64
}

var blocks = [4]block{
	{"long-first 50/50", 1, longFirst, []float64{50, 50}},
	{"long-first 70/30", 9, longFirst, []float64{70, 30}},
	{"interleaved 50/50", 17, interleaved, []float64{50, 50}},
	// The source's table prints 40-40-10-10, long queues first, while its queues 1 and 2 are the short ones.
	{"separate queues", 25, separate, []float64{10, 10, 40, 40}},
}

// id is the name of a row's experiment.
func (b block) ID(row int) string { return fmt.Sprintf("E%02d", b.first+row) }

func (b block) IDs() []string {
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = b.ID(i)
	}
	return ids
}

func (b block) settings(i int) settings {
	return settings{capacity: b.capacity, capped: rows[i].capped, factor: rows[i].factor, percent: rows[i].percent}
}

// blockOf is the block of an experiment, by its name.
func blockOf(id string) block {
	n, _ := strconv.Atoi(id[1:3])
	return blocks[(n-1)/8]
}

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
