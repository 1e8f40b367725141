package study

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"text/template"

	"github.com/yardmaster/yardmaster/lab/evidence"
	"gonum.org/v1/gonum/stat"
)

// Cost is what a benchmark's tasks take of a processor: a line through the tasks of all its jobs.
type Cost struct {
	MapStart, Map       float64 // cycles: of a map's process, and of each byte that it reads; sorting, spilling and merging are in it
	ReduceStart, Reduce float64 // the same of a reduce, whose bytes are those that are brought to it
	Passed, Written     float64 // bytes that maps pass on, and that reduces write, for each byte of input
}

// CyclesRecords are all runs of the study.
type CyclesRecords []*CyclesRecord

// ReadCycles reads the records of a folder, with their lines of the ledger.
func ReadCycles(dir string) ([]evidence.Run, CyclesRecords, error) {
	runs, err := evidence.Series(dir, cyclesSeries, cyclesExt)
	if err != nil {
		return nil, nil, err
	}
	var list CyclesRecords
	for i := range runs {
		b, err := os.ReadFile(filepath.Join(dir, runs[i].File))
		if err != nil {
			return nil, nil, err
		}
		rec := &CyclesRecord{}
		if err := json.Unmarshal(b, rec); err != nil {
			return nil, nil, fmt.Errorf("reading %s: %w", runs[i].File, err)
		}
		list = append(list, rec)
	}
	if len(list) == 0 {
		return nil, nil, fmt.Errorf("no records in %s; run the study without --offline first", dir)
	}
	return runs, list, nil
}

//go:embed cycles.md.tmpl
var cyclesPage string

var benchmarks = []string{"TeraSort", "WordCount", "Sort"}

// Costs are the benchmarks' by their names, over the tasks of all runs.
func (l CyclesRecords) Costs() (map[string]Cost, error) {
	all := map[string]Cost{}
	for _, name := range benchmarks {
		var read, passed, written float64
		var in, cycles [2][]float64 // of maps and of reduces
		for _, r := range l {
			for _, j := range r.Jobs {
				for _, t := range j.Tasks {
					k := 0
					switch {
					case j.Benchmark != name:
						continue
					case t.Reduce:
						k, written = 1, written+float64(t.Out)
					default:
						read, passed = read+float64(t.In), passed+float64(t.Out)
					}
					in[k], cycles[k] = append(in[k], float64(t.In)), append(cycles[k], float64(t.CPU)/1e3*r.MHz*1e6)
				}
			}
		}
		c := Cost{Passed: passed / read, Written: written / read}
		var okM, okR bool
		c.MapStart, c.Map, okM = line(in[0], cycles[0])
		c.ReduceStart, c.Reduce, okR = line(in[1], cycles[1])
		if !okM || !okR {
			return nil, fmt.Errorf("%s: maps and reduces of two sizes are needed", name)
		}
		all[name] = c
	}
	return all, nil
}

// line is the straight line through points by least squares. It needs two that differ.
func line(x, y []float64) (at0, slope float64, ok bool) {
	at0, slope = stat.LinearRegression(x, y, nil, false)
	return at0, slope, len(x) > 0 && slices.Min(x) < slices.Max(x)
}

// Report writes the page from the records.
func (s *Cycles) Report() (string, error) {
	runs, list, err := ReadCycles(s.Dir)
	if err != nil {
		return "", err
	}
	costs, err := list.Costs()
	if err != nil {
		return "", err
	}
	options := map[string]bool{}
	for _, r := range list {
		for _, j := range r.Jobs {
			options["`"+j.Options+"`"] = true
		}
	}
	return evidence.Page(cyclesPage, s.Page, map[string]any{
		"Dir": filepath.Base(s.Dir), "Newest": list[len(list)-1], "Options": slices.Sorted(maps.Keys(options)), "Benchmarks": benchmarks, "Costs": costs, "Kept": runs, "Records": list,
	}, template.FuncMap{"giga": func(v float64) float64 { return v / 1e9 }, "seconds": func(ms int64) float64 { return float64(ms) / 1e3 }})
}
