package hdfs_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/sim/hdfs"
)

func hybrid(rackOf []int32, up func(int32) bool) (hdfs.Placement, error) {
	l := hdfs.NewLayout(rackOf, nil)
	l.MarkScaleUp(up)
	return hdfs.New(hdfs.Hybrid, l, 1)
}

// Of three replicas exactly two are on scale-out machines and one on a scale-up machine, in two racks, on three nodes.
func TestHybridReplicas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		out, each := rapid.IntRange(1, 6).Draw(t, "scale-out racks"), rapid.IntRange(2, 5).Draw(t, "machines of each")
		ups := rapid.IntRange(1, 4).Draw(t, "scale-up machines")
		rackOf := racks(out*each, out)
		for i := range ups {
			rackOf = append(rackOf, int32(out+i/2))
		}
		up := func(n int32) bool { return int(n) >= out*each }
		p, err := hybrid(rackOf, up)
		if err != nil {
			t.Fatal(err)
		}
		file := hdfs.Blocks{Key: rapid.Uint64().Draw(t, "file"), Count: 50, Replicas: 3, Writer: int32(rapid.IntRange(0, len(rackOf)).Draw(t, "writer"))}
		seen := map[int32]bool{}
		for b := range file.Count {
			at := p.Place(file, b, nil)
			seen[at[0]] = true
			if len(at) != 3 || up(at[0]) || up(at[1]) || !up(at[2]) || at[0] == at[1] || rackOf[at[0]] != rackOf[at[1]] {
				t.Fatalf("block %d is on %v", b, at)
			}
			if w := file.Writer - 1; w >= 0 && at[0] != w && at[2] != w {
				t.Fatalf("block %d is on %v, not on its writer %d", b, at, w)
			}
		}
		if file.Writer == 0 && out*each > 4 && len(seen) < 3 {
			t.Errorf("all first replicas are on %v", seen)
		}
	})
}

func TestHybridReplicasOtherwise(t *testing.T) {
	up := func(n int32) bool { return n >= 4 }
	for _, c := range []struct {
		replicas, out, up int
	}{{1, 1, 0}, {2, 1, 1}, {3, 2, 1}, {5, 0, 0}, {9, 4, 2}} {
		p, err := hybrid([]int32{0, 0, 1, 1, 2, 2}, up)
		if err != nil {
			t.Fatal(err)
		}
		var n [2]int
		at := p.Place(hdfs.Blocks{Key: 3, Count: 1, Replicas: c.replicas}, 0, nil)
		distinct := map[int32]bool{}
		for _, node := range at {
			distinct[node] = true
			if up(node) {
				n[1]++
			} else {
				n[0]++
			}
		}
		if len(at) != min(c.replicas, 6) || len(distinct) != len(at) || c.out > 0 && n != [2]int{c.out, c.up} {
			t.Errorf("%d replicas are on %v", c.replicas, at)
		}
	}
	// One scale-out machine a rack: the second replica is in another scale-out rack. One in all: it is on a scale-up machine.
	p, _ := hybrid([]int32{0, 1, 2, 2}, func(n int32) bool { return n >= 2 })
	if at := p.Place(hdfs.Blocks{Count: 1, Replicas: 3}, 0, nil); len(at) != 3 || at[0]+at[1] != 1 || at[2] < 2 {
		t.Errorf("%v", at)
	}
	p, _ = hybrid([]int32{0, 2, 2}, func(n int32) bool { return n >= 1 })
	if at := p.Place(hdfs.Blocks{Count: 1, Replicas: 3}, 0, nil); len(at) != 3 || at[0] != 0 {
		t.Errorf("%v", at)
	}
	if _, err := hybrid([]int32{0, 0, 1}, func(n int32) bool { return n >= 1 }); err == nil || !strings.Contains(err.Error(), "separate racks") {
		t.Errorf("a rack of both kinds: %v", err)
	}
}
