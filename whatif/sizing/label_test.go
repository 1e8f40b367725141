package sizing

import (
	"fmt"
	"math"
	"testing"

	"github.com/yardmaster/yardmaster/policy/hybrid/classify"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/swim"
)

// drawn are jobs with sizes of all magnitudes, a third of them without shuffle, for SWIM's default model.
func drawn(n int, seed uint64) (jobs workload.Slice) {
	m := swim.Default()
	for i := range n {
		u := func(k uint64) float64 { return workload.Uniform01(workload.Seed(seed, uint64(i)), k) }
		input := unit.Bytes(math.Exp2(20 + 22*u(0))) // 1 MiB to 4 TiB
		var shuffle unit.Bytes
		if u(1) > 1.0/3 {
			shuffle = unit.Bytes(float64(input) * math.Exp2(-6+7.5*u(2))) // a 64th of the input to 2.8 times as much
		}
		output := unit.Bytes(float64(input) * u(3) * u(3))
		jobs = append(jobs, &workload.Job{ID: fmt.Sprint("j", i), User: "u", Queue: "q", Stages: m.Stages(input, shuffle, output)})
	}
	return jobs
}

// A classifier is nearly always right about other jobs, and misplaces hardly any of the large jobs' work, even when their shuffle is unknown.
func TestLearn(t *testing.T) {
	l, jobs := Reference(), drawn(600, 1)
	_, up, _ := l.Label(t.Context(), jobs)
	bare, _ := l.Unshuffled(t.Context(), jobs)
	got, err := Learn(jobs, up, bare, classify.Training{Grid: Coarse(), Examples: 600})
	if err != nil {
		t.Fatal(err)
	}
	others := drawn(400, 2)
	_, is, _ := l.Label(t.Context(), others)
	var known, unknown classify.Confusion
	for _, e := range Examples(others, is, nil) {
		known.Add(e, got.Decision(e.Features) > 0)
		unknown.Add(e, got.Decision(e.Unpredicted()) > 0)
	}
	t.Logf("C %v, gamma %v, score %.3f, %d vectors; other jobs: %+v, unknown %+v", got.C, got.Gamma, got.Score, len(got.Model.Vectors), known, unknown)
	if known.Accuracy() < 0.97 || unknown.Accuracy() < 0.93 || known.MisplacedWork() > 0.01 || unknown.MisplacedWork() > 0.01 {
		t.Errorf("known %+v, unknown %+v", known, unknown)
	}
}
