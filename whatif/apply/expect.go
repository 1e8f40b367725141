package apply

import (
	"encoding/json"
	"fmt"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/whatif/goal"
	"github.com/yardmaster/yardmaster/whatif/tune"
)

// Expectation reads what a comparison of the present configuration with the new one expects: relative changes, by goal. The data are of "compare --json" or
// "tune --json".
func Expectation(data []byte, goals []goal.Goal) (map[string]float64, error) {
	var c struct {
		Runs     [][]result.Run `json:"runs"`     // of compare
		Expected []tune.Figure  `json:"expected"` // of tune
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, fmt.Errorf("it is not from \"compare --json\" or \"tune --json\": %w", err)
	}
	out := map[string]float64{}
	for _, e := range c.Expected {
		if e.Before > 0 {
			out[e.Name] = e.After/e.Before - 1
		}
	}
	if len(c.Expected) > 0 {
		return out, nil
	}
	if len(c.Runs) != 2 || len(c.Runs[0]) != len(c.Runs[1]) {
		return nil, fmt.Errorf("it compares %d variants: compare the present configuration with the new one, and no others", len(c.Runs))
	}
	for _, g := range goals {
		var changes []float64
		for i := range c.Runs[0] {
			old, _ := g.Measure(&c.Runs[0][i])
			if now, _ := g.Measure(&c.Runs[1][i]); old > 0 && now >= 0 { // neither is NaN
				changes = append(changes, now/old-1)
			}
		}
		if len(changes) > 0 {
			out[g.String()] = result.Mean(changes).Mean
		}
	}
	return out, nil
}
