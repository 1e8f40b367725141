package yarn

import (
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/workload"
)

// TestHostsThatLeft looks hosts up that the cluster has, has in another rack, and does not have any more; every job of a history may name them again.
func TestHostsThatLeft(t *testing.T) {
	c := &cluster.Cluster{Racks: []string{"a", "b"}, Nodes: []cluster.Node{{Name: "n0"}, {Name: "n1", Rack: 1}}}
	p := newPlaces(c)
	names := []string{"n1", "gone", "/a/n1", "/a/gone", "/c/far", "gone"}
	want := []hostPlace{
		{rm.OnNode(1), rm.OnRack(1)}, {rm.OnNode(2), rm.OnRack(2)}, {rm.OnNode(1), rm.OnRack(0)},
		{rm.OnNode(2), rm.OnRack(0)}, {rm.OnNode(3), rm.OnRack(3)}, {rm.OnNode(2), rm.OnRack(2)},
	}
	for range 2 { // of two jobs
		for i, got := range p.hosts(&workload.Hosts{Names: names}) {
			if got != want[i] {
				t.Errorf("%s: %+v, want %+v", names[i], got, want[i])
			}
		}
	}
}
