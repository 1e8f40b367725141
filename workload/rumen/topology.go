package rumen

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/internal/input"
	"github.com/yardmaster/yardmaster/unit"
)

// ReadTopology reads a Rumen topology: one tree of names whose leaves are nodes. A node's rack is the path to it without
// the root, joined by slashes. A topology says nothing about sizes: every node has room.
func ReadTopology(r io.Reader, name string, room unit.Resources) (*cluster.Cluster, error) {
	t := &topology{js: input.NewJSON(r, name), room: room, c: &cluster.Cluster{}, racks: cluster.RackIndex{}}
	if err := t.js.Only("a Rumen topology", func() error { return t.node(-1, 0) }); err != nil {
		return nil, err
	}
	t.placeName()
	if err := t.c.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return t.c, nil
}

// maxPlaces bounds the nodes and racks of a topology: several times the largest cluster there is.
const maxPlaces = 250_000

// topology builds a cluster while it walks the tree. A member "children" may precede the "name" of the same node, so
// nodes of the tree are numbers until the end.
type topology struct {
	js     *input.JSON
	room   unit.Resources
	c      *cluster.Cluster
	racks  cluster.RackIndex
	names  []string // by number
	parent []int32  // by number; -1: the root
	leaves []int32
	bytes  int // of names
}

func (t *topology) node(parent int32, depth int) error {
	if depth > maxLayers {
		return t.js.Errorf("a tree more than %d deep: refused", maxLayers)
	}
	if len(t.names) > maxPlaces || t.bytes > 2*maxHostBytes {
		return t.js.Errorf("a tree of more than %d places, or %d bytes of names: refused", maxPlaces, 2*maxHostBytes)
	}
	me := int32(len(t.names))
	t.names = append(t.names, "")
	t.parent = append(t.parent, parent)
	children, named := 0, false
	err := t.js.Object(func(member []byte) (err error) {
		switch string(member) {
		case "name":
			t.names[me], err = placeName(t.js)
			t.bytes += len(t.names[me])
			named = t.names[me] != ""
		case "children":
			err = t.js.Array(maxPlaces, func(int) error {
				children++
				return t.node(me, depth+1)
			})
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case children == 0 && depth == 0:
		return t.js.Errorf("the tree has no children: is this a Rumen topology?")
	case !named && depth > 0:
		return t.js.Errorf("a rack or node has no name")
	case children == 0:
		t.leaves = append(t.leaves, me)
	}
	return nil
}

func (t *topology) placeName() {
	var layers []string
	for _, leaf := range t.leaves {
		layers = layers[:0]
		for at := t.parent[leaf]; at > 0; at = t.parent[at] {
			layers = append(layers, t.names[at])
		}
		slices.Reverse(layers)
		rack := cmp.Or(strings.Join(layers, "/"), "default-rack")
		t.c.Nodes = append(t.c.Nodes, cluster.Node{Name: t.names[leaf], Rack: t.racks.Of(t.c, rack), Room: t.room})
	}
}

// SniffTopology says whether the beginning of a file looks like a Rumen topology.
func SniffTopology(prefix []byte) bool {
	keys := input.JSONKeys(prefix)
	return keys["children"] && !keys["jobID"] && !keys["job.tasks"]
}
