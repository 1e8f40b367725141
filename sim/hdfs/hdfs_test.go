package hdfs_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
	"github.com/yardmaster/yardmaster/sim/hdfs"
	"github.com/yardmaster/yardmaster/workload"
)

// racks puts nodes into racks in runs of equal length.
func racks(nodes, racks int) []int32 {
	of := make([]int32, nodes)
	for i := range of {
		of[i] = int32(i * racks / nodes)
	}
	return of
}

func place(t testing.TB, name string, rackOf []int32, seed uint64) hdfs.Placement {
	t.Helper()
	p, err := hdfs.New(name, hdfs.NewLayout(rackOf, nil), seed)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestNames(t *testing.T) {
	for _, name := range append(hdfs.Names(), "") {
		if err := hdfs.Check(name); err != nil {
			t.Error(err)
		}
		place(t, name, racks(3, 1), 1)
	}
	want := `unknown block placement "hadop": want one of linear, round-robin, random, hadoop, mrperf, hybrid`
	if _, err := hdfs.New("hadop", hdfs.NewLayout(racks(3, 1), nil), 1); err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

func FuzzCheck(f *testing.F) {
	f.Add("hadoop")
	f.Add("")
	f.Fuzz(func(t *testing.T, name string) {
		known := name == "" || slices.Contains(hdfs.Names(), name)
		if err := hdfs.Check(name); (err == nil) != known {
			t.Errorf("%q: %v", name, err)
		}
	})
}

// What the two placements that go by turns do is known by heart.
func TestByTurns(t *testing.T) {
	of := racks(6, 2)
	shift := func(nodes []int32, from int32) []int32 {
		out := make([]int32, len(nodes))
		for i, n := range nodes {
			out[i] = (n - from + 6) % 6
		}
		return out
	}
	for _, c := range []struct {
		name     string
		blocks   int64
		replicas int
		want     [][]int32 // counted from where the file begins
	}{
		{"linear", 12, 1, [][]int32{{0}, {0}, {1}, {1}, {2}, {2}, {3}}},
		{"linear", 12, 3, [][]int32{{0, 2, 4}, {0, 2, 4}, {1, 3, 5}, {1, 3, 5}, {2, 4, 0}}},
		{"linear", 3, 2, [][]int32{{0, 3}, {1, 4}, {2, 5}}},
		{"round-robin", 12, 1, [][]int32{{0}, {1}, {2}, {3}, {4}, {5}, {0}}},
		{"round-robin", 12, 3, [][]int32{{0, 1, 2}, {3, 4, 5}, {0, 1, 2}}},
		{"round-robin", 12, 4, [][]int32{{0, 1, 2, 3}, {4, 5, 0, 1}, {2, 3, 4, 5}}},
		{"round-robin", 12, 9, [][]int32{{0, 1, 2, 3, 4, 5}, {0, 1, 2, 3, 4, 5}}},
	} {
		p := place(t, c.name, of, 7)
		file := hdfs.Blocks{Key: 3, Count: c.blocks, Replicas: c.replicas}
		begin := p.Place(file, 0, nil)[0]
		for b, want := range c.want {
			if got := shift(p.Place(file, int64(b), nil), begin); !slices.Equal(got, want) {
				t.Errorf("%s, %d copies: block %d on %v; want %v", c.name, c.replicas, b, got, want)
			}
		}
	}
}

// On any cluster: as many different nodes as asked for or as there are; the same answer whenever and in whichever order
// one asks; and the racks that the rules name.
func TestPropertyPlaces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		of := rapid.SliceOfN(rapid.Int32Range(0, 4), 1, 12).Draw(t, "racks") // uneven, and some without nodes
		size := map[int32]int{}
		for _, r := range of {
			size[r]++
		}
		order := rapid.Permutation(indices(len(of))).Draw(t, "order")
		seed := rapid.Uint64().Draw(t, "seed")
		name := rapid.SampledFrom(hdfs.Names()).Draw(t, "name")
		l := hdfs.NewLayout(of, order)
		p, err := hdfs.New(name, l, seed)
		if err != nil {
			t.Fatal(err)
		}
		file := hdfs.Blocks{
			Key: rapid.Uint64().Draw(t, "key"), Count: rapid.Int64Range(1, 1<<40).Draw(t, "count"),
			Replicas: rapid.IntRange(0, 15).Draw(t, "replicas"), Writer: rapid.Int32Range(0, int32(len(of))).Draw(t, "writer"),
		}
		block := rapid.Int64Range(0, file.Count-1).Draw(t, "block")
		got := p.Place(file, block, nil)
		if want := min(max(file.Replicas, 1), len(of)); len(got) != want {
			t.Fatalf("%d copies on %v; want %d", file.Replicas, got, want)
		}
		seen, used := map[int32]bool{}, map[int32]bool{}
		for _, n := range got {
			if n < 0 || int(n) >= len(of) || seen[n] {
				t.Fatalf("copies on %v of %d nodes", got, len(of))
			}
			seen[n], used[of[n]] = true, true
		}
		again, err := hdfs.New(name, hdfs.NewLayout(of, order), seed)
		if err != nil {
			t.Fatal(err)
		}
		again.Place(file, 0, nil)
		if second := again.Place(file, block, make([]int32, 40)); !slices.Equal(got, second) {
			t.Fatalf("on %v, then on %v", got, second)
		}
		if (name == "hadoop" && len(got) > 1 || name == "mrperf" && len(got) > 2) && len(size) > 1 && len(used) < 2 {
			t.Fatalf("%s: copies on %v are in one rack of %d", name, got, len(size))
		}
		if (name == "hadoop" || name == "mrperf") && file.Writer > 0 && got[0] != file.Writer-1 {
			t.Fatalf("%s: written by node %d, first copy on %d", name, file.Writer-1, got[0])
		}
		if len(got) == 3 && name == "hadoop" && len(size) > 1 && size[of[got[1]]] > 1 {
			if of[got[1]] == of[got[0]] || of[got[2]] != of[got[1]] {
				t.Fatalf("hadoop: racks %d, %d, %d", of[got[0]], of[got[1]], of[got[2]])
			}
		}
		if len(got) == 3 && name == "mrperf" && len(size) > 1 && size[of[got[0]]] > 1 {
			if of[got[1]] != of[got[0]] || of[got[2]] == of[got[0]] {
				t.Fatalf("mrperf: racks %d, %d, %d", of[got[0]], of[got[1]], of[got[2]])
			}
		}
	})
}

func indices(n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(i)
	}
	return out
}

// Every node gets its share. The figure is chi-square over its degrees of freedom: 1 on average if copies were thrown at
// nodes independently, and less where copies of a block avoid each other.
func TestSpread(t *testing.T) {
	const nodes, blocks = 60, 40_000
	for _, name := range hdfs.Names() {
		for _, of := range [][]int32{racks(nodes, 1), racks(nodes, 6)} {
			p := place(t, name, of, 11)
			held := make([]float64, nodes)
			first := make([]float64, nodes)
			var buf []int32
			for b := range int64(blocks) {
				buf = p.Place(hdfs.Blocks{Key: uint64(b) / 1000, Count: 1000, Replicas: 3}, b%1000, buf)
				first[buf[0]]++
				for _, n := range buf {
					held[n]++
				}
			}
			// 1 + 5 standard deviations of chi-square over its 59 degrees of freedom. Whole files begin at one random place, so
			// the placements by turns are uneven by files: 40 of them, each within one round of even.
			bound := 1 + 5*math.Sqrt(2.0/(nodes-1))
			if name == "linear" || name == "round-robin" {
				bound *= 2
			}
			for what, counts := range map[string][]float64{"copies": held, "first copies": first} {
				if name == "round-robin" && what == "first copies" {
					continue // three by three around 60 nodes: the first copies of a file are on every third
				}
				if x := chiSquare(counts); x > bound {
					t.Errorf("%s, %d racks: %s are spread with chi-square %.2f a degree of freedom; at most %.2f", name, of[nodes-1]+1, what, x, bound)
				}
			}
		}
	}
}

// In racks of different size a node still gets its share of first copies, and in HDFS's rule the second is on any node that
// is not in the rack of the first, not in any rack.
func TestUnevenRacks(t *testing.T) {
	of := []int32{0, 0, 0, 0, 0, 0, 1, 1, 2} // six nodes, two, one
	p := place(t, "hadoop", of, 5)
	const blocks = 200_000
	second := make([]float64, 3)
	var buf []int32
	for b := range int64(blocks) {
		buf = p.Place(hdfs.Blocks{Replicas: 2}, b, buf)
		second[of[buf[1]]]++
	}
	want := []float64{2.0/9*6/7 + 1.0/9*6/8, 6.0/9*2/3 + 1.0/9*2/8, 6.0/9*1/3 + 2.0/9*1/7}
	for r := range want {
		if got := second[r] / blocks; math.Abs(got-want[r]) > 0.005 {
			t.Errorf("rack %d has %.3f of the second copies; want %.3f", r, got, want[r])
		}
	}
}

func chiSquare(counts []float64) float64 {
	var sum, x float64
	for _, c := range counts {
		sum += c
	}
	want := sum / float64(len(counts))
	for _, c := range counts {
		x += (c - want) * (c - want) / want
	}
	return x / float64(len(counts)-1)
}

// Drawing without putting back: every pair, and every order of it, is as likely as any other.
func TestRandomPairs(t *testing.T) {
	const nodes, blocks = 6, 60_000
	p := place(t, "random", racks(nodes, 2), 3)
	pairs := make([]float64, 0, nodes*(nodes-1))
	count := map[[2]int32]float64{}
	var buf []int32
	for b := range int64(blocks) {
		buf = p.Place(hdfs.Blocks{Replicas: 2}, b, buf)
		count[[2]int32{buf[0], buf[1]}]++
	}
	for a := range int32(nodes) {
		for b := range int32(nodes) {
			if a != b {
				pairs = append(pairs, count[[2]int32{a, b}])
			}
		}
	}
	if x := chiSquare(pairs); x > 1+5*math.Sqrt(2.0/29) {
		t.Errorf("chi-square %.2f a degree of freedom", x)
	}
}

// The expected locality on one rack of N nodes with r copies: with m maps left, a node that is drawn at random holds
// the block of none of them with probability q^m, q = 1 - r/N. If each heartbeat starts one map, a local one if there is
// any, the share of a job of M maps that is not local is L(M) = q (1 - q^M) / ((1 - q) M) on average.
//
// It is exact for one map. For many it leaves out that the maps which are left are those that the nodes heard so far do
// not hold: the true share lies above it, by less than a factor of two.
func TestOneRackLocality(t *testing.T) {
	const nodes, replicas = 30, 3
	for _, c := range []struct {
		maps int64
		reps int
	}{{1, 4000}, {2, 4000}, {10, 2000}, {100, 200}, {200, 100}, {400, 50}} {
		l := hdfs.NewLayout(racks(nodes, 1), nil)
		for _, name := range []string{"random", "hadoop", "mrperf"} {
			p, err := hdfs.New(name, l, 9)
			if err != nil {
				t.Fatal(err)
			}
			var sum, sum2 float64
			for rep := range c.reps {
				x := remoteShare(p, hdfs.Blocks{Key: uint64(rep), Count: c.maps, Replicas: replicas}, nodes, uint64(rep))
				sum += x
				sum2 += x * x
			}
			n := float64(c.reps)
			mean := sum / n
			half := 4 * math.Sqrt((sum2/n-mean*mean)/n)
			q := 1 - float64(replicas)/nodes
			want := q * (1 - math.Pow(q, float64(c.maps))) / ((1 - q) * float64(c.maps))
			t.Logf("%-7s %3d maps: %.2f %% not local, L = %.2f %%", name, c.maps, 100*mean, 100*want)
			if c.maps <= 2 && math.Abs(mean-want) > half || mean < want-half || mean > 2*want+half {
				t.Errorf("%s, %d maps: %.4f +- %.4f are not local; L is %.4f", name, c.maps, mean, half, want)
			}
		}
	}
}

// remoteShare plays a job whose maps start one a heartbeat of random nodes.
func remoteShare(p hdfs.Placement, file hdfs.Blocks, nodes int32, seed uint64) float64 {
	left := make([][]int32, file.Count)
	for b := range left {
		left[b] = p.Place(file, int64(b), nil)
	}
	remote := 0.0
	for beat := uint64(0); len(left) > 0; beat++ {
		node := int32(workload.Uniform01(workload.Seed(seed, 77), beat) * float64(nodes))
		best := max(slices.IndexFunc(left, func(on []int32) bool { return slices.Contains(on, node) }), 0)
		if !slices.Contains(left[best], node) {
			remote++
		}
		left = slices.Delete(left, best, best+1)
	}
	return remote / float64(file.Count)
}

func TestPlaceDoesNotAllocate(t *testing.T) {
	for _, name := range hdfs.Names() {
		p := place(t, name, racks(600, 30), 1)
		buf := make([]int32, 0, 3)
		b := int64(0)
		if n := testing.AllocsPerRun(1000, func() {
			buf = p.Place(hdfs.Blocks{Key: 1, Count: 1e6, Replicas: 3}, b, buf)
			b++
		}); n > 0 {
			t.Errorf("%s: %v allocations a call", name, n)
		}
	}
}

func BenchmarkPlace(b *testing.B) {
	for _, name := range hdfs.Names() {
		b.Run(name, func(b *testing.B) {
			p := place(b, name, racks(600, 30), 1)
			buf := make([]int32, 0, 3)
			block := int64(0)
			for b.Loop() {
				buf = p.Place(hdfs.Blocks{Key: 1, Count: 8_000_000, Replicas: 3}, block, buf)
				block++
			}
		})
	}
}

// With racks given, the first replica lies in one of them, evenly, and the others together in one rack of theirs; where that is impossible, the usual rule
// holds. Without, nothing changes.
func TestGivenRacks(t *testing.T) {
	of := racks(60, 6)
	p := place(t, "hadoop", of, 1)
	var firsts [6]int
	for b := range int64(3000) {
		file := hdfs.Blocks{Key: 7, Count: 3000, Replicas: 3, First: []int32{1, 4, 4}, Others: []int32{0, 5}}
		got := p.Place(file, b, nil)
		firsts[of[got[0]]]++
		if second := of[got[1]]; second != 0 && second != 5 || of[got[2]] != second || got[1] == got[2] {
			t.Fatalf("block %d on %v", b, got)
		}
		file.First, file.Others = []int32{1, 99}, []int32{1}
		if got = p.Place(file, b, got); of[got[0]] != 1 || of[got[1]] == 1 || of[got[2]] != of[got[1]] {
			t.Fatalf("block %d on %v", b, got)
		}
		file.First, file.Others = nil, nil
		plain := slices.Clone(p.Place(file, b, got))
		if again := p.Place(hdfs.Blocks{Key: 7, Count: 3000, Replicas: 3}, b, nil); !slices.Equal(again, plain) {
			t.Fatalf("block %d on %v and %v", b, again, plain)
		}
	}
	if math.Abs(float64(firsts[1])-1000) > 100 || firsts[1]+firsts[4] != 3000 {
		t.Errorf("first replicas by rack: %v", firsts)
	}
}
