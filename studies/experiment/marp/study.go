package marp

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/yardmaster/yardmaster/internal/yamlfile"
	x "github.com/yardmaster/yardmaster/studies/experiment"
)

//go:embed study.yaml
var studyFile []byte

// texts are the texts of the study, with the model's numbers filled in.
var texts = sync.OnceValue(func() *x.Texts {
	t := yamlfile.Decode[x.Texts](studyFile)
	var measured []string
	var calibrated [7][]any
	for i, b := range benches() {
		c := &b.cycles
		text := fmt.Sprintf("%s %.2fe9 for a process, %.1f a byte that a map reads and sorts, %.1f a byte brought to a reduce", b.Name, c.process/1e9, c.mapByte, c.reduceByte)
		if c.reduceStart > 0 {
			text += fmt.Sprintf(" and %.3fe9 more for the reduce itself", c.reduceStart/1e9)
		}
		measured = append(measured, text)
		calibrated[i], calibrated[4+i] = []any{b.cached, b.Batch6}, []any{b.longer}
	}
	calibrated[3] = []any{100 * runNoise}
	for i, args := range calibrated {
		t.Calibrated[i] = fmt.Sprintf(t.Calibrated[i], args...)
	}
	host := hostModel()
	left := host.Machine.Disk.Efficiency
	for i, args := range map[int][]any{
		0:  {hertz / 1e9, processors, processors / 2, threadGain, strings.Join(measured, "; ")},
		1:  {diskRate / 1e6, diskSeek * 1e3, diskRequest / 1e3, 100 * left(2), 100 * left(6), 100 * left(24)},
		2:  {100 * mapCached},
		3:  {diskSize / 1e9, diskFilled / 1e9},
		4:  {host.MemorySpace, host.ReducePiece},
		5:  {wordCountPasses, wordCountWrites},
		13: {clientStart, clientStart + 1, amStart},
	} {
		t.Assumptions[i] = fmt.Sprintf(t.Assumptions[i], args...)
	}
	for i := range t.Experiments {
		for k := range t.Experiments[i].Reported {
			r := &t.Experiments[i].Reported[k]
			if p, ok := paper().Tables[t.Experiments[i].ID][strings.TrimPrefix(r.Metric, "makespan/")]; ok {
				r.Paper = p.Mean
			}
		}
	}
	return t
})

// Study is the study as data. Twenty seeds suffice to judge it.
func Study() *x.Study {
	s := texts().Study
	s.Experiments, s.Checks, s.Sections = slices.Clone(s.Experiments), texts().Judged(ownJudges), sections
	play := runners()
	for i := range s.Experiments {
		s.Experiments[i].Run = play[s.Experiments[i].ID].run
	}
	s.ProbeSeeds = 4 // thresholds matter in at most every other run
	return &s
}

// published is what the source prints of one benchmark under one variant.
type published struct {
	Lower, Upper, IQR, LowExtreme, HighExtreme, Median, Mean, Half float64
	Outliers                                                       string
}

// printed is what the source prints, by experiment and variant.
type printed struct {
	Tables map[string]map[string]published
	Gains  map[string]map[string][6]float64
}

//go:embed paper.yaml
var paperFile []byte

var paper = sync.OnceValue(func() *printed { return yamlfile.Decode[printed](paperFile) })

// The source's three controllers and its baseline, in its order.
var sourceNames = []string{"prj", "cbt", "cbtws", "cbtwat"}
