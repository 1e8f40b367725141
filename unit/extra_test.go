package unit

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
)

// extra builds a vector from pairs of a name and a count.
func extra(pairs ...any) (x Extra) {
	for i := 0; i < len(pairs); i += 2 {
		x = x.merge(Named(pairs[i].(string), int64(pairs[i+1].(int))), plus)
	}
	return x
}

func TestNamedResources(t *testing.T) {
	node := Resources{Mem: 4096, Cores: 4000, Extra: extra("gpu", 2, "licence", 5)}
	ask := Resources{Mem: 1024, Cores: 250, Extra: Named("gpu", 1)}
	if n := node.Count(ask); n != 2 {
		t.Errorf("%d containers of one GPU on a node with two", n)
	}
	if n := (Resources{Mem: 1 << 30, Cores: 1 << 30}).Count(ask); n != 0 {
		t.Errorf("%d containers of one GPU on a node without", n)
	}
	left := node.Sub(ask.Times(2))
	if left.Extra != Named("licence", 5) || ask.Fits(left) || !(Resources{Mem: 1, Extra: Named("licence", 5)}).Fits(left) {
		t.Errorf("%v is left", left)
	}
	below := left.Sub(ask)
	if below.Extra != extra("gpu", -1, "licence", 5) || below.Add(ask) != left || !(Resources{}).Fits(below) {
		t.Errorf("%v below", below)
	}
	if got := below.Max(Resources{}); got.Extra != Named("licence", 5) {
		t.Errorf("at least nothing: %v", got)
	}
	if got := below.Min(ask); got.Extra != Named("gpu", -1) {
		t.Errorf("at most %v: %v", ask, got)
	}
	if s := ask.DominantShare(node); s != 0.5 {
		t.Errorf("dominant share %v", s)
	}
	if s := node.String(); s != "4096 MiB, 4000 vcores, 2 gpu, 5 licence" {
		t.Error(s)
	}
}

func TestFileNames(t *testing.T) {
	for _, c := range []struct {
		name string
		n    int64
		want string // in the error; "": none
	}{
		{"gpu", 8, ""}, {"nvidia.com/gpu", 0, ""}, {"yarn.io/gpu-a100_80g", MaxCount, ""},
		{"", 1, "cannot name a resource"}, {strings.Repeat("x", 1<<20), 1, "longer"}, {"GPU", 1, "cannot name"}, {"a b", 1, "cannot name"}, {"gpü", 1, "cannot name"},
		{strings.Repeat("x", MaxName+1), 1, "longer than 64"}, {"gpu", -1, "-1 gpu is not between"}, {"gpu", MaxCount + 1, "is not between"},
	} {
		x, err := Named("gpu", 3).With(c.name, c.n)
		if c.want == "" && (err != nil || x.Of(c.name) != c.n) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%d %q: %v, %v, want %q", c.n, c.name, x, err, c.want)
		}
	}
	var x Extra
	var err error
	for i := range MaxNames {
		if x, err = x.With(fmt.Sprint("r", i), 1); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := x.With("more", 1); err == nil {
		t.Error("more names than the limit")
	}
}

// Vectors are maps in which an absent name counts 0.
func TestVectorsAreMaps(t *testing.T) {
	of := rapid.MapOf(rapid.SampledFrom([]string{"a", "aa", "b", "gpu", "nvidia.com/gpu"}), rapid.Int64Range(-3, 3))
	build := func(m map[string]int64) (r Resources) {
		for name, n := range m {
			r.Extra = r.Extra.merge(Named(name, n), plus)
		}
		return r
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := of.Draw(t, "a"), of.Draw(t, "b")
		x, y := build(a), build(b)
		fits := true
		for name, n := range a {
			fits = fits && (n == 0 || n <= b[name])
		}
		if got := x.Fits(y); got != fits {
			t.Fatalf("%v fits %v: %v", x, y, got)
		}
		for _, op := range []struct {
			got Resources
			f   func(a, b int64) int64
		}{
			{x.Add(y), plus}, {x.Sub(y), minus}, {x.Min(y), less}, {x.Max(y), greater},
			{x.Times(3), func(a, _ int64) int64 { return 3 * a }}, {x.Times(0), func(_, _ int64) int64 { return 0 }},
		} {
			want := map[string]int64{}
			for _, m := range []map[string]int64{a, b} {
				for name := range m {
					want[name] = op.f(a[name], b[name])
				}
			}
			maps.DeleteFunc(want, func(_ string, n int64) bool { return n == 0 })
			got := maps.Collect(op.got.Extra.All())
			if !maps.Equal(got, want) || op.got != build(want) {
				t.Fatalf("%v and %v: %v, want %v", x, y, got, want)
			}
			var names []string
			for name := range op.got.Extra.All() {
				names = append(names, name)
			}
			if !slices.IsSorted(names) {
				t.Fatal(names)
			}
		}
	})
}
