package sls

import (
	"fmt"
	"io"
	"strings"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/internal/input"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// maxNodes bounds the nodes of one file: several times the largest cluster there is.
const maxNodes = 250_000

// NodeRoom is SLS's default node size (yarn.sls.nm.memory.mb, yarn.sls.nm.vcores).
var NodeRoom = unit.Resources{Mem: 10240, Cores: 10}

// ReadNodes reads the cluster from an SLS node file, with nodes of NodeRoom where no size is given.
func ReadNodes(r io.Reader, name string) (*cluster.Cluster, error) {
	c, _, err := ReadNodesWith(r, name, NodeRoom)
	return c, err
}

// ReadNodesWith reads the cluster from an SLS node file (a stream of racks with their nodes), from the header of an
// SLS trace (num.nodes, num.racks) or from a SYNTH description (num_nodes, nodes_per_rack), as SLS does: where only
// numbers are given, node i is in rack i mod racks. Nodes without a size get room.
func ReadNodesWith(r io.Reader, name string, room unit.Resources) (*cluster.Cluster, []workload.Note, error) {
	n := &nodeFile{js: input.NewJSON(r, name), room: room, c: &cluster.Cluster{}, racks: cluster.RackIndex{}}
	for {
		err := n.js.Record()
		if err == io.EOF { //nolint:errorlint // it returns io.EOF itself
			break
		}
		if err == nil {
			err = n.record()
		}
		if err != nil {
			return nil, nil, err
		}
	}
	if n.count > 0 && len(n.c.Nodes) == 0 {
		n.number()
	}
	if len(n.c.Nodes) == 0 {
		return nil, nil, fmt.Errorf("%s: no nodes; an SLS node file has objects with \"rack\" and \"nodes\"", name)
	}
	if err := n.c.Validate(); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	var notes workload.Notes
	notes.Say("SLS nodes: read %v", n.c)
	notes.Add(n.sized, "SLS nodes: nodes with their own size")
	notes.Add(n.nameless, "SLS nodes: nodes without a name left out")
	notes.Add(n.labelled, "SLS nodes: nodes with labels; labels are not modelled")
	return n.c, notes, nil
}

// nodeFile builds a cluster out of records.
type nodeFile struct {
	js    *input.JSON
	room  unit.Resources
	c     *cluster.Cluster
	racks cluster.RackIndex

	count, rackCount, perRack int64 // from a header
	labelled, sized, nameless int64
	bytes                     int
}

func (n *nodeFile) record() error {
	rack, named := "", false
	first := len(n.c.Nodes)
	err := n.js.Object(func(member []byte) (err error) {
		switch string(member) {
		case "rack":
			rack, err = name(n.js)
			rack, named = strings.Trim(rack, "/"), true
		case "nodes":
			err = n.js.Array(maxNodes, func(int) error { return n.node() })
		case "num.nodes", "num_nodes":
			n.count, _, err = n.js.Int(0, maxNodes)
		case "num.racks":
			n.rackCount, _, err = n.js.Int(0, maxNodes)
		case "nodes_per_rack":
			n.perRack, _, err = n.js.Int(0, maxNodes)
		}
		return err
	})
	if err != nil || len(n.c.Nodes) == first {
		return err
	}
	if !named || rack == "" {
		rack = "default-rack"
	}
	if n.bytes += len(rack); n.bytes > maxNameBytes {
		return n.tooMany()
	}
	k := n.racks.Of(n.c, rack)
	for i := first; i < len(n.c.Nodes); i++ {
		n.c.Nodes[i].Rack = k
	}
	return nil
}

// maxNameBytes bounds the names of all nodes and racks of a file together.
const maxNameBytes = 32 << 20

func (n *nodeFile) node() error {
	node := cluster.Node{Room: n.room}
	sized := false
	err := n.js.Object(func(member []byte) (err error) {
		var v int64
		var ok bool
		switch string(member) {
		case "node":
			node.Name, err = name(n.js)
			node.Name = strings.Trim(node.Name, "/")
		case "memory-mb":
			if v, ok, err = n.js.Int(1, cluster.MaxRoom); ok {
				node.Room.Mem, sized = v, true
			}
		case "vcores":
			if v, ok, err = n.js.Int(1, cluster.MaxRoom); ok {
				node.Room.Cores, sized = v, true
			}
		case "labels":
			c, kerr := n.js.Kind()
			if kerr != nil {
				return kerr
			}
			if c != 'n' {
				n.labelled++
			}
		default:
			_, err = resourceType(n.js, member, "", &node.Room.Extra)
		}
		return err
	})
	if err != nil {
		return err
	}
	if node.Name == "" { // as in the sample that comes with Hadoop, whose last node is an empty object
		n.nameless++
		return nil
	}
	if n.bytes += len(node.Name); len(n.c.Nodes) == maxNodes || n.bytes > maxNameBytes {
		return n.tooMany()
	}
	if sized {
		n.sized++
	}
	n.c.Nodes = append(n.c.Nodes, node)
	return nil
}

func (n *nodeFile) tooMany() error {
	return n.js.Errorf("more than %d nodes, or %d bytes of names: refused", maxNodes, maxNameBytes)
}

// number creates the nodes that a header counts.
func (n *nodeFile) number() {
	racks := n.rackCount
	if racks == 0 && n.perRack > 0 {
		racks = n.count / n.perRack
	}
	racks = min(max(racks, 1), n.count)
	for i := range n.count {
		n.c.Nodes = append(n.c.Nodes, cluster.Node{
			Name: fmt.Sprintf("node%d", i), Rack: n.racks.Of(n.c, fmt.Sprintf("rack%d", i%racks)), Room: n.room,
		})
	}
}
