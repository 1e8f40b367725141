package asks_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/internal/asks"
	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
	"github.com/yardmaster/yardmaster/unit"
)

// Whatever is added and removed, Min fits where any size fits, is the size itself if there is one, and is None if there is none.
func TestMin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := asks.New()
		var list []unit.Resources
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			if n := len(list); n > 0 && rapid.Bool().Draw(t, "remove") {
				i := rapid.IntRange(0, n-1).Draw(t, "which")
				s.Remove(list[i])
				list = append(list[:i], list[i+1:]...)
			} else {
				r := unit.Resources{Mem: rapid.Int64Range(1, 3).Draw(t, "mem"), Cores: rapid.Int64Range(1, 3).Draw(t, "cores")}
				r.Extra = unit.Named("gpu", rapid.Int64Range(0, 2).Draw(t, "gpus"))
				s.Add(r)
				list = append(list, r)
			}
			want, gpus := asks.None, int64(3)
			for _, r := range list {
				if !s.Min.Fits(r) {
					t.Fatalf("%v is no lower bound of %v", s.Min, r)
				}
				want.Mem, want.Cores, gpus = min(want.Mem, r.Mem), min(want.Cores, r.Cores), min(gpus, r.Extra.Of("gpu"))
			}
			if len(list) > 0 {
				want.Extra = unit.Named("gpu", gpus)
			}
			if s.Min != want {
				t.Fatalf("%v, want %v, of %v", s.Min, want, list)
			}
		}
	})
}

func TestRemoveOfNothing(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a size that is not counted is removed")
		}
	}()
	s := asks.New()
	s.Add(unit.Resources{Mem: 1})
	s.Remove(unit.Resources{Mem: 2})
}
