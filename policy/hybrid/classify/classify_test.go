package classify

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/yardmaster/yardmaster/internal/svm"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

func TestFeatures(t *testing.T) {
	edge := []workload.Edge{{Shuffle: 5 * unit.GiB}}
	want := Features{Maps: 30, Reduces: 4, Shuffle: 5 * unit.GiB}
	if got := Of(&policy.Job{Stages: []policy.Stage{{Tasks: 30}, {Tasks: 4, After: edge}}}); got != want {
		t.Errorf("%+v", got)
	}
	if got := OfWork(&workload.Job{Stages: []workload.Stage{{Tasks: 30}, {Tasks: 4, After: edge}}}); got != want {
		t.Errorf("%+v", got)
	}
	if got := Of(&policy.Job{Tasks: 9}); got != (Features{Maps: 9}) {
		t.Errorf("without stages: %+v", got)
	}
}

// Jobs of all magnitudes are in a sample, however rare.
func TestSample(t *testing.T) {
	var features []Features
	for i := range 2000 {
		features = append(features, Features{Maps: 1})
		if i%100 == 0 {
			features = append(features, Features{Maps: 1000}, Features{Maps: 50_000})
		}
	}
	count := map[int64]int{}
	seen := map[int]bool{}
	for _, i := range sample(features, 50, 1) {
		count[features[i].Maps]++
		seen[i] = true
	}
	if len(seen) != 50 || count[1000] < 16 || count[50_000] < 16 {
		t.Errorf("%d different ones, by maps: %v", len(seen), count)
	}
	if got := sample(features[:7], 50, 1); len(got) != 7 || got[0] != 0 || got[6] != 6 {
		t.Errorf("all of few: %v", got)
	}
}

func TestTrain(t *testing.T) {
	var features []Features
	var up []bool
	for maps := int64(1); maps < 1<<16; maps += 1 + maps/8 {
		features, up = append(features, Features{Maps: maps, Reduces: maps / 10}), append(up, maps < 200)
	}
	c, best, err := Train(features, up, Training{Grid: svm.Grid([2]int{-1, 7}, [2]int{-5, 3}, 4)})
	if err != nil || best.Accuracy < 0.95 || best.Steps != 0 {
		t.Fatalf("%+v, %v", best, err)
	}
	// Far outside of the examples the decision is that of the nearest one.
	if c.Decision(Features{Maps: 1, Shuffle: 1 << 50}) < 0 || c.Decision(Features{Maps: 1 << 40, Reduces: 1 << 30}) > 0 || c.Decision(Features{}) < 0 {
		t.Errorf("%v, %v, %v", c.Decision(Features{Maps: 1, Shuffle: 1 << 50}), c.Decision(Features{Maps: 1 << 40, Reduces: 1 << 30}), c.Decision(Features{}))
	}
	// A classifier survives its file.
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "c.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range features {
		if a, b := c.Decision(f), again.Decision(f); a != b {
			t.Fatalf("%+v: %v, then %v", f, a, b)
		}
	}
	// One class is enough for a decision, none is not.
	if c, _, err := Train(features[:10], up[:10], Training{}); err != nil || c.Decision(features[50]) <= 0 {
		t.Errorf("%v", err)
	}
	if _, _, err := Train(nil, nil, Training{}); err == nil {
		t.Error("no examples are accepted")
	}
}

func TestConfusion(t *testing.T) {
	var c Confusion
	for _, x := range [][2]bool{{true, true}, {true, true}, {true, false}, {false, false}, {false, true}} {
		c.Add(x[0], x[1])
	}
	if c != (Confusion{UpAsUp: 2, UpAsOut: 1, OutAsOut: 1, OutAsUp: 1}) || c.Accuracy() != 0.6 || (&Confusion{}).Accuracy() != 0 {
		t.Errorf("%+v", c)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"format":1,"scale":[1,1,1],"svm":{"gamma":1,"vectors":[[1,1,1]],"weights":[2]}}`))
	f.Add([]byte(`{"format":2}`))
	f.Add(defaultModel)
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse(data)
		if err != nil {
			return
		}
		if d := c.Decision(Features{Maps: 1 << 40, Shuffle: 1 << 60}); math.IsNaN(d) {
			t.Errorf("the decision is %v", d)
		}
	})
}
