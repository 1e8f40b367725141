package clusterfile

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload/input"
	"github.com/yardmaster/yardmaster/workload/rumen"
	"github.com/yardmaster/yardmaster/workload/sls"
)

// size is the suffix of a file without node sizes: topology.json:6 or topology.json:4+2.
type size struct {
	containers, maps, reduces int64
}

var sized = regexp.MustCompile(`^(.+):([0-9]{1,6})(?:\+([0-9]{1,6}))?$`)

// cutSize splits FILE:SIZE.
func cutSize(spec string) (path string, s size, ok bool) {
	m := sized.FindStringSubmatch(spec)
	if m == nil {
		return spec, s, false
	}
	n, err := strconv.ParseInt(m[2], 10, 64)
	if err != nil || n == 0 {
		return spec, s, false
	}
	if m[3] == "" {
		return m[1], size{containers: n}, true
	}
	r, err := strconv.ParseInt(m[3], 10, 64)
	return m[1], size{maps: n, reduces: r}, err == nil
}

// parseJSON reads an SLS node file or a Rumen topology.
func parseJSON(name string, data []byte, s size) (*cluster.Cluster, error) {
	prefix := data[:min(len(data), input.PeekSize)]
	var c *cluster.Cluster
	var err error
	switch {
	case rumen.SniffTopology(prefix):
		if s == (size{}) {
			return nil, fmt.Errorf("cluster %s: a Rumen topology does not say how large its nodes are; write %s:6 for 6 containers each, or %s:4+2 for 4 map and 2 reduce slots",
				name, name, name)
		}
		c, err = rumen.ReadTopology(bytes.NewReader(data), name, cluster.Unit.Times(max(s.containers, 1)))
	case sls.SniffNodes(prefix), sls.Sniff(prefix), sls.SniffSynth(prefix):
		room := sls.NodeRoom
		if s.containers > 0 {
			room = cluster.Unit.Times(s.containers)
		}
		c, _, err = sls.ReadNodesWith(bytes.NewReader(data), name, room)
	default:
		return nil, fmt.Errorf("cluster %s: JSON, but neither an SLS node file (objects with \"rack\" and \"nodes\") nor a Rumen topology (\"children\")", name)
	}
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	if s.maps > 0 {
		c.Slots = true
		for i := range c.Nodes {
			c.Nodes[i].MapSlots, c.Nodes[i].ReduceSlots, c.Nodes[i].Room = s.maps, s.reduces, unit.Resources{}
		}
	}
	return c, c.Validate()
}

// isJSON distinguishes JSON from YAML, its superset: our YAML files never start with a brace.
func isJSON(data []byte) bool {
	text := strings.TrimLeft(string(bytes.TrimPrefix(data[:min(len(data), 4096)], []byte("\xef\xbb\xbf"))), " \t\r\n")
	return text != "" && (text[0] == '{' || text[0] == '[')
}
