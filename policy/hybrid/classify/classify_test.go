package classify

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
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

// Small jobs shuffle nothing or little, and all large ones much. A large job whose shuffle is not known, and counts as 0, is far from all examples if bytes count; in
// gigabytes it lies beside those of its size. Reduces do not count.
func TestUnknownShuffle(t *testing.T) {
	var examples []Example
	for maps := int64(1); maps < 1<<14; maps += 1 + maps/8 {
		for _, part := range []unit.Bytes{0, 1, 4} {
			examples = append(examples, Example{Features{maps, maps / 4, max(0, unit.Bytes(maps)-50) * part * 50e6}, maps < 100, float64(10 * maps)})
		}
	}
	examples = slices.DeleteFunc(examples, func(e Example) bool { return e.Maps > 50 && e.Shuffle == 0 })
	for seed := range uint64(4) {
		c, best, err := Train(examples, Training{Grid: svm.Grid([2]int{-1, 11}, [2]int{-5, 3}, 4), Seed: seed, Examples: 60})
		if err != nil || best.Accuracy < 0.9 {
			t.Fatalf("%+v, %v", best, err)
		}
		var unknown Confusion
		for _, e := range examples {
			unknown.Add(e, c.Decision(e.Unpredicted()) > 0)
			if c.Decision(Features{Maps: e.Maps, Reduces: 1 << 20, Shuffle: e.Shuffle}) != c.Decision(e.Features) {
				t.Errorf("%+v: reduces count", e)
			}
		}
		if unknown.MisplacedWork() > 0.15 {
			t.Errorf("seed %d: of the large jobs' work %.3f is misplaced: %+v", seed, unknown.MisplacedWork(), unknown)
		}
	}
}

// Jobs of all magnitudes are in a sample, however rare.
func TestSample(t *testing.T) {
	var examples []Example
	add := func(maps int64) { examples = append(examples, Example{Features: Features{Maps: maps}}) }
	for i := range 2000 {
		if add(1); i%100 == 0 {
			add(1000)
			add(50_000)
		}
	}
	count := map[int64]int{}
	seen := map[int]bool{}
	for _, i := range sample(examples, 50, 1) {
		count[examples[i].Maps]++
		seen[i] = true
	}
	if len(seen) != 50 || count[1000] < 16 || count[50_000] < 16 {
		t.Errorf("%d different ones, by maps: %v", len(seen), count)
	}
	if got := sample(examples[:7], 50, 1); len(got) != 7 || got[0] != 0 || got[6] != 6 {
		t.Errorf("all of few: %v", got)
	}
}

func TestTrain(t *testing.T) {
	var examples []Example
	for maps := int64(1); maps < 1<<16; maps += 1 + maps/8 {
		examples = append(examples, Example{Features{Maps: maps, Reduces: maps / 10}, maps < 200, float64(maps)})
	}
	c, best, err := Train(examples, Training{Grid: svm.Grid([2]int{-1, 7}, [2]int{-5, 3}, 4)})
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
	for _, e := range examples {
		if a, b := c.Decision(e.Features), again.Decision(e.Features); a != b {
			t.Fatalf("%+v: %v, then %v", e, a, b)
		}
	}
	// One class is enough for a decision, none is not.
	if c, _, err := Train(examples[:10], Training{}); err != nil || c.Decision(examples[50].Features) <= 0 {
		t.Errorf("%v", err)
	}
	if _, _, err := Train(nil, Training{}); err == nil {
		t.Error("no examples are accepted")
	}
}

func TestConfusion(t *testing.T) {
	var c Confusion
	for _, x := range [][2]bool{{true, true}, {true, true}, {true, false}, {false, false}, {false, true}} {
		c.Add(Example{Up: x[0], Work: 8}, x[1])
	}
	c.Add(Example{Work: 16}, false)
	if c != (Confusion{UpAsUp: 2, UpAsOut: 1, OutAsOut: 2, OutAsUp: 1, Work: 32, Misplaced: 8}) || c.Accuracy() != 4.0/6 || (&Confusion{}).Accuracy() != 0 || c.MisplacedWork() != 0.25 {
		t.Errorf("%+v", c)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"format":2,"scale":[1,1],"svm":{"gamma":1,"vectors":[[1,1]],"weights":[2]}}`))
	f.Add([]byte(`{"format":1}`))
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
