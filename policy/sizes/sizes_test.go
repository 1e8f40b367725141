package sizes

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
	"github.com/yardmaster/yardmaster/unit"
)

func times(s ...float64) []unit.Time {
	t := make([]unit.Time, len(s))
	for i := range s {
		t[i] = unit.FromSeconds(s[i])
	}
	return t
}

func TestQueues(t *testing.T) {
	four := times(4000, 10000, 36000)
	departed := func(queues int, sizes ...float64) func(unit.Time) int {
		d := NewDepartures(queues)
		for _, s := range times(sizes...) {
			d.Add(s)
		}
		return d.Queue
	}
	interval := func(limits []unit.Time) func(unit.Time) int {
		return func(s unit.Time) int { return Interval(s, limits) }
	}
	for _, c := range []struct {
		name  string
		queue func(unit.Time) int
		size  float64
		want  int // from 1
	}{
		{"SITA K=2", interval(times(160)), 160, 1},
		{"SITA K=2", interval(times(160)), 160.01, 2},
		{"SITA K=4", interval(four), 9999, 2},
		{"SITA K=4", interval(four), 36000, 3},
		{"SITA K=4", interval(four), 36001, 4},
		{"COMP K=4", departed(4, 100, 50, 300), 120, 3},
		{"COMP K=4", departed(4, 100, 50, 300), 50, 1},
		{"COMP K=4", departed(4, 100, 50, 300), 301, 4},
		{"COMP K=4, one finished", departed(4, 100), 120, 2},
		{"COMP K=2, the older dropped", departed(2, 50, 100), 100, 1},
		{"COMP K=2, the older dropped", departed(2, 50, 100), 101, 2},
		{"COMP K=2, none finished", departed(2), 1e6, 1},
		{"COMP K=3, the oldest dropped", departed(3, 900, 10, 20), 15, 2},
		{"COMP K=3, the two oldest dropped", departed(3, 900, 800, 10, 20), 15, 2},
		{"COMP K=3, the two oldest dropped", departed(3, 900, 800, 10, 20), 21, 3},
		{"FBQ K=4", func(s unit.Time) int { return Level(s, four) }, 3999.9, 1},
		{"FBQ K=4", func(s unit.Time) int { return Level(s, four) }, 4000, 2},
		{"FBQ K=4", func(s unit.Time) int { return Level(s, four) }, 10000, 3},
		{"FBQ K=4", func(s unit.Time) int { return Level(s, four) }, 50000, 4},
	} {
		if got := c.queue(unit.FromSeconds(c.size)) + 1; got != c.want {
			t.Errorf("%s: %v s goes to queue %d, want %d", c.name, c.size, got, c.want)
		}
	}
}

func TestPartition(t *testing.T) {
	for _, c := range []struct {
		shares []float64
		nodes  int
		want   []int
	}{
		{[]float64{0.3}, 100, []int{30, 70}},
		{[]float64{0.3}, 10, []int{3, 7}},
		{[]float64{0.5}, 4, []int{2, 2}},
		{[]float64{0.5}, 5, []int{3, 2}},
		{[]float64{0.1, 0.2}, 100, []int{10, 20, 70}},
		{[]float64{0.01}, 10, []int{1, 9}},
		{[]float64{0.99}, 10, []int{9, 1}},
		{[]float64{0.5}, 1, []int{1, 0}},
		{[]float64{0.5}, 0, []int{0, 0}},
		{nil, 7, []int{7}},
	} {
		if got := Partition(c.shares, c.nodes); !slices.Equal(got, c.want) {
			t.Errorf("%v of %d nodes: %v, want %v", c.shares, c.nodes, got, c.want)
		}
	}
}

// Whatever the shares: every node is in a partition, and none is empty while there are enough nodes.
func TestPropertyPartition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shares := rapid.SliceOfN(rapid.Float64Range(0, 0.5), 0, 5).Draw(t, "shares")
		nodes := rapid.IntRange(0, 200).Draw(t, "nodes")
		sum := 0
		for k, n := range Partition(shares, nodes) {
			if sum += n; n < 0 || n == 0 && k < nodes {
				t.Fatalf("partition %d has %d nodes", k, n)
			}
		}
		if sum != nodes {
			t.Fatalf("%d of %d nodes", sum, nodes)
		}
	})
}

func TestRegression(t *testing.T) {
	r := Regression{A: math.Log(10), B: 0}
	near := func(what, class string, input unit.Bytes, want float64) {
		t.Helper()
		if got := r.Predict(class, input).Seconds(); math.Abs(got/want-1) > 1e-6 {
			t.Errorf("%s: %v s, want %v", what, got, want)
		}
	}
	// Sizes of class a are 2 (input+1)^0.5, those of class b ten times that.
	learn := func(class string, n int, factor float64) {
		for i := range n {
			input := unit.Bytes(1000 * (i + 1))
			r.Learn(class, input, unit.FromSeconds(factor*math.Sqrt(float64(input)+1)))
		}
	}
	learn("a", 29, 2)
	near("before there are enough", "a", 1e6, 10)
	learn("b", 1, 2)
	near("the class has too few: all jobs", "a", 1e6, 2*math.Sqrt(1e6+1))
	near("a class that nobody has seen: all jobs", "c", 1e6, 2*math.Sqrt(1e6+1))
	learn("a", 1, 2)
	learn("b", 40, 20)
	near("its class", "a", 1e6, 2*math.Sqrt(1e6+1))
	r.Learn("a", 5, 0) // says nothing
	near("its class", "a", 1e6, 2*math.Sqrt(1e6+1))
	for range MinSamples {
		r.Learn("flat", 77, 3*unit.Second)
	}
	near("all inputs alike", "flat", 1e9, 3)
	if huge := (&Regression{A: 1e4}).Predict("", 1); huge <= 0 {
		t.Errorf("a size beyond the clock is %v", huge)
	}
}

func TestNoise(t *testing.T) {
	const n, sigma = 20000, 0.3
	var sum, squares float64
	for i := range int64(n) {
		s := Noisy(1000*unit.Second, sigma, 7, i)
		if s != Noisy(1000*unit.Second, sigma, 7, i) {
			t.Fatal("a job's noise changes")
		}
		z := math.Log(s.Seconds()/1000) / sigma
		sum += z
		squares += z * z
	}
	if mean, variance := sum/n, squares/n; math.Abs(mean) > 0.03 || math.Abs(variance-1) > 0.05 {
		t.Errorf("mean %v, variance %v, want 0 and 1", mean, variance)
	}
	if Noisy(5, 0, 1, 1) != 5 || Noisy(unit.Second, 1, 1, 3) == Noisy(unit.Second, 1, 2, 3) {
		t.Error("no noise changes a size, or another seed does not")
	}
}
