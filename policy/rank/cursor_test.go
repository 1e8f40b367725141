package rank

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
)

func TestCursorWalksLikeWalk(t *testing.T) {
	var c Cursor
	rapid.Check(t, func(t *rapid.T) {
		var h Heap
		for id, a := range rapid.SliceOf(rapid.Int64Range(0, 9)).Draw(t, "keys") {
			h.Set(int32(id), float64(a), int64(id))
		}
		var want, got []int32
		h.Walk(func(id int32) bool { want = append(want, id); return true })
		for c.Start(&h); ; c.Next() {
			id, _, b, ok := c.Peek()
			if !ok {
				break
			}
			if int64(id) != b {
				t.Fatalf("id %d with key %d", id, b)
			}
			got = append(got, id)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}
