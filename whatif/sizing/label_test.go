package sizing

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/yardmaster/yardmaster/policy/hybrid/classify"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/swim"
)

var update = flag.Bool("update", false, "train the default classifier again")

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

// The default classifier is what training gives.
func TestDefaultClassifier(t *testing.T) {
	if testing.Short() {
		t.Skip("trains for some seconds")
	}
	const file = "../../policy/hybrid/classify/default.json"
	jobs := drawn(600, 1)
	l := Reference()
	_, up, _ := l.Label(context.Background(), jobs)
	bare, _ := l.Unshuffled(context.Background(), jobs)
	got, err := Learn(jobs, up, bare, classify.Training{Examples: 1000, About: "600 generated jobs of 1 MiB to 4 TiB of input, SWIM's default model, 1 scale-up machine of 24 containers against 5 of 8"})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("C %v, gamma %v, cross-validated accuracy %.3f, %d vectors; %+v, unknown %+v", got.C, got.Gamma, got.Accuracy, len(got.Model.Vectors), got.Known, got.Unknown)
	if *update {
		text, err := json.MarshalIndent(got.SVM, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	// On other jobs it is nearly always right, and hardly any large job passes for a small one, even when its shuffle is unknown: what is small
	// without its shuffle is small with it. That does not follow from a radial kernel.
	others := drawn(400, 2)
	_, is, _ := l.Label(context.Background(), others)
	var known, unknown classify.Confusion
	for i, j := range others {
		f := classify.OfWork(j)
		a, b := classify.Default().Decision(f) > 0, classify.Default().Decision(f.Unpredicted()) > 0
		known.Add(is[i], a)
		unknown.Add(is[i], b)
		if b && !a {
			t.Errorf("%+v is small without its shuffle, and large with it", f)
		}
	}
	t.Logf("other jobs: %+v, unknown %+v", known, unknown)
	if known.Accuracy() < 0.97 || unknown.Accuracy() < 0.93 || unknown.OutAsUp > 4 {
		t.Errorf("known %+v, unknown %+v", known, unknown)
	}
	for _, j := range others[:200] {
		f := classify.OfWork(j)
		if a, b := got.Decision(f), classify.Default().Decision(f); math.Abs(a-b) > 1e-6*max(1, math.Abs(a)) {
			t.Fatalf("%+v: %v, and %v in %s: run with -update", f, a, b, file)
		}
	}
}
