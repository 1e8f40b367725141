package shuffle_test

import (
	"math"
	"testing"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/shuffle"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload/swim/swimtest"
)

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// Values worked out by hand.
func TestVectors(t *testing.T) {
	for size, want := range map[float64]float64{0: 0.5, 500: 0.35, 1000: 0.2} {
		near(t, "slow-start", shuffle.SlowStart(0.2, 0.5, 0, 1000, size), want, 1e-12)
	}
	near(t, "slow-start of equal jobs", shuffle.SlowStart(0.2, 0.5, 7, 7, 7), 0.2, 0)
	for level, want := range map[policy.Near]float64{policy.NodeLocal: 0, policy.NoPreference: 0, policy.RackLocal: 128, policy.OffRack: 256} {
		near(t, "cost of a map", shuffle.MapCost(128, level), want, 0)
	}
	chance := 0.1 * 0.5 // on a node with its input, and qualified
	near(t, "local within 10 skips", found(10, chance, chance, chance), 0.785, 5e-4)
	near(t, "local within 40 skips", found(40, chance, chance, chance), 0.998, 5e-4)
	near(t, "a light job among 3 users", found(3, 0.687), 0.969, 5e-4)
	near(t, "a light job among 5 users", found(5, 0.687), 0.997, 5e-4)
}

// found is the probability that at least one of several independent events has happened after n trials. With a job's chance per offer that the
// node holds its input and the map qualifies, it is the chance of a local start within n skips.
func found(n float64, chances ...float64) float64 {
	none := 1.0
	for _, c := range chances {
		none *= math.Pow(1-c, n)
	}
	return 1 - none
}

func TestPredictor(t *testing.T) {
	var p shuffle.Predictor
	if p.Known() || p.Ratio() != 1 {
		t.Errorf("fresh: %v, %v", p.Known(), p.Ratio())
	}
	p.Add(0, 5) // no input, no ratio
	if !p.Known() || p.Ratio() != 1 {
		t.Errorf("after a map without input: %v, %v", p.Known(), p.Ratio())
	}
	p.Add(100, 50)
	p.Add(1, 2)
	near(t, "unweighted mean", p.Ratio(), 1.25, 0)
	p.Assume(3)
	near(t, "finished maps outrank what was assumed", p.Ratio(), 1.25, 0)
	var q shuffle.Predictor
	if q.Assume(0); !q.Known() || q.Ratio() != 0 {
		t.Errorf("assumed to be 0: %v, %v", q.Known(), q.Ratio())
	}
}

func TestBounds(t *testing.T) {
	b := shuffle.DefaultBounds()
	for bytes, want := range map[float64]shuffle.Class{
		0: shuffle.Light, shuffle.MB - 1: shuffle.Light, shuffle.MB: shuffle.Medium, 100 * shuffle.MB: shuffle.Medium, 100*shuffle.MB + 1: shuffle.Heavy,
	} {
		if got := b.Class(bytes); got != want {
			t.Errorf("%v bytes are %v, want %v", bytes, got, want)
		}
	}
}

// The classes of a day of Facebook.
func TestFacebookClasses(t *testing.T) {
	jobs := swimtest.Facebook(t)
	b := shuffle.DefaultBounds()
	var classes [3]float64
	small := 0.0
	for _, j := range jobs {
		var input, bytes unit.Bytes
		for i := range j.Stages {
			input += j.Stages[i].Input
			for _, e := range j.Stages[i].After {
				bytes += e.Shuffle
			}
		}
		classes[b.Class(float64(bytes))]++
		if float64(input) < b.Small {
			small++
		}
	}
	n := float64(len(jobs))
	near(t, "jobs", n, 24442, 0)
	near(t, "light", 100*classes[shuffle.Light]/n, 68.70, 0.005)
	near(t, "medium", 100*classes[shuffle.Medium]/n, 12.58, 0.005)
	near(t, "heavy", 100*classes[shuffle.Heavy]/n, 18.72, 0.005)
	near(t, "small input", 100*small/n, 50.02, 0.005)
}
