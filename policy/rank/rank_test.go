package rank

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestHeapAgainstSorting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h Heap
		model := map[int32][2]int64{}
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			id := rapid.Int32Range(0, 40).Draw(t, "id")
			if rapid.Bool().Draw(t, "remove") {
				h.Remove(id)
				delete(model, id)
			} else {
				a := rapid.Int64Range(0, 5).Draw(t, "a")
				h.Set(id, float64(a), int64(id))
				model[id] = [2]int64{a, int64(id)}
			}
			var want []int32
			for id := range model {
				want = append(want, id)
			}
			slices.SortFunc(want, func(x, y int32) int { a, b := model[x], model[y]; return slices.Compare(a[:], b[:]) })
			var got []int32
			h.Walk(func(id int32) bool { got = append(got, id); return true })
			if !slices.Equal(got, want) {
				t.Fatalf("walk %v, want %v", got, want)
			}
			if m, ok := h.Min(); ok != (len(want) > 0) || ok && m != want[0] {
				t.Fatalf("min %v %v, want %v", m, ok, want)
			}
			if h.Len() != len(want) || h.Has(id) != slices.Contains(want, id) {
				t.Fatalf("len %d, has %v", h.Len(), h.Has(id))
			}
		}
	})
}
