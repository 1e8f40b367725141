package marp

import (
	"math"
	"slices"
	"testing"
)

func learned(seed uint64, change func(*Settings), scores map[int]float64) *arms {
	s := Defaults("cbtwat", "q")
	s.Seed = seed
	if change != nil {
		change(&s)
	}
	a := newArms(&s.Learning)
	a.begin()
	for range s.Thresholds * s.SamplesPerThreshold {
		a.score(scores[a.choose()])
	}
	return a
}

func TestEpsilonGreedyFrequencies(t *testing.T) {
	for seed := range uint64(3) {
		a := learned(seed, nil, map[int]float64{1: 1, 2: 2, 3: 3, 4: 4})
		if a.best != slices.Max(a.thetas) {
			t.Fatalf("best of %v is %d", a.thetas, a.best)
		}
		seen := map[int]int{}
		const n = 100_000
		for range n {
			seen[a.choose()]++
		}
		for _, theta := range a.thetas {
			want := 100 * 0.10 / 3
			if theta == a.best {
				want += 90
			}
			if got := 100 * float64(seen[theta]) / n; math.Abs(got-want) > 0.5 {
				t.Errorf("seed %d: threshold %d chosen in %.2f %%, want %.2f", seed, theta, got, want)
			}
		}
		if len(seen) != 3 {
			t.Errorf("chosen: %v of %v", seen, a.thetas)
		}
	}
}

func TestThresholdsAreDistinct(t *testing.T) {
	first := map[int]int{}
	for seed := range uint64(2000) {
		s := Defaults("cbtwat", "q")
		s.Seed = seed
		a := newArms(&s.Learning)
		a.begin()
		sorted := slices.Sorted(slices.Values(a.thetas))
		if len(sorted) != 3 || sorted[0] < 1 || sorted[2] > 4 || len(slices.Compact(sorted)) != 3 {
			t.Fatalf("seed %d: thresholds %v", seed, a.thetas)
		}
		first[a.thetas[0]]++
	}
	for theta := 1; theta <= 4; theta++ {
		if n := first[theta]; n < 420 || n > 580 { // 500 expected, standard deviation 19
			t.Errorf("%d comes first %d times in 2000", theta, n)
		}
	}
}

func TestExploration(t *testing.T) {
	s := Defaults("cbtwat", "q")
	a := newArms(&s.Learning)
	a.begin()
	for i := range 9 {
		if a.best != 0 {
			t.Fatalf("exploring ended after %d samples", i)
		}
		if got := a.choose(); got != a.thetas[i/3] {
			t.Fatalf("sample %d uses %d of %v", i, got, a.thetas)
		}
		a.score([]float64{20, -11, 0, 1, 1, 0, -1, -1, 0}[i])
	}
	if a.best != a.thetas[0] || !slices.Equal(a.scores, []int{3, 0, 0}) { // whole numbers, towards zero
		t.Fatalf("best %d, scores %v of %v", a.best, a.scores, a.thetas)
	}
	a.score(100) // nothing is learned any more
	if a.scores[0] != 3 {
		t.Error("a score changed after exploring")
	}
}

func TestTies(t *testing.T) {
	for seed := range uint64(20) {
		for tie, want := range map[Tie]func(a *arms) int{
			Smallest: func(a *arms) int { return slices.Min(a.thetas) },
			Largest:  func(a *arms) int { return slices.Max(a.thetas) },
			Latest:   func(a *arms) int { return a.thetas[2] },
		} {
			a := learned(seed, func(s *Settings) { s.Ties = tie }, nil)
			if a.best != want(a) {
				t.Errorf("tie %d of %v: %d", tie, a.thetas, a.best)
			}
		}
	}
}

// The slip in the source's script draws an index: 4 is never drawn at random, and one that was not generated can be.
func TestArmByIndex(t *testing.T) {
	for seed := range uint64(50) {
		a := learned(seed, func(s *Settings) { s.ArmByIndex, s.Epsilon = true, 100 }, nil)
		for range 200 {
			if got := a.choose(); got > 3 {
				t.Fatalf("drew %d", got)
			}
		}
		b := learned(seed, func(s *Settings) { s.Epsilon = 100 }, nil)
		for range 200 {
			if got := b.choose(); !slices.Contains(b.thetas, got) {
				t.Fatalf("drew %d of %v", got, b.thetas)
			}
		}
	}
}
