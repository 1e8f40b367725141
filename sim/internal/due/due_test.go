package due

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
)

// Whatever is pushed, changed and removed, the first item is the one due first, and pos names every item's place.
func TestFirstIsDueFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const ids = 12
		var h Heap
		pos := slices.Repeat([]int32{-1}, ids)
		in := map[int32]Item{}
		at := rapid.Map(rapid.IntRange(0, 5), func(n int) float64 { return float64(n) })
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			id := int32(rapid.IntRange(0, ids-1).Draw(t, "id"))
			switch x, there := in[id]; {
			case !there:
				x = Item{At: at.Draw(t, "at"), Tie: int64(rapid.IntRange(0, 2).Draw(t, "tie")), ID: id}
				in[id] = x
				h.Push(pos, x)
			case rapid.Bool().Draw(t, "change"):
				x.At = at.Draw(t, "at")
				in[id] = x
				h.Set(pos, pos[id], x.At)
			default:
				delete(in, id)
				h.Remove(pos, pos[id])
			}
			if len(h) != len(in) {
				t.Fatalf("%d items, want %d", len(h), len(in))
			}
			for i, x := range h {
				if pos[x.ID] != int32(i) || x != in[x.ID] {
					t.Fatalf("item %v at %d: pos says %d, want %v", x, i, pos[x.ID], in[x.ID])
				}
			}
			first := func(a, b Item) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Tie, b.Tie)) }
			if len(h) > 0 && first(slices.MinFunc(h, first), h[0]) != 0 {
				t.Fatalf("first is %v of %v", h[0], h)
			}
		}
	})
}
