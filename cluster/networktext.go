package cluster

import (
	"errors"
	"fmt"
	"strings"
)

// examples has one line per topology, for error messages.
var examples = map[string]string{
	Star:      "star:1Gbit",
	Racks:     "racks:node=250Mbit,uplink=1Gbit",
	TwoRacks:  "two-racks:node=1Gbit,uplink=8Gbit",
	LeafSpine: "leaf-spine:node=10Gbit,uplink=40Gbit,spines=4",
	FatTree:   "fat-tree:k=8,node=1Gbit",
	DCell:     "dcell:n=4,levels=1,node=1Gbit",
}

// ParseNetwork parses one line: a topology and its settings, as in racks:node=250Mbit,uplink=1Gbit. A rate without a key
// is that of the nodes: star:1Gbit.
func ParseNetwork(s string) (*Network, error) {
	n := &Network{}
	topology, rest, more := strings.Cut(s, ":")
	bad := func(err error) error {
		if e, ok := errors.AsType[*NetworkError](err); ok {
			if e.Key != "" && e.Key != "topology" {
				return fmt.Errorf("network %q: %s: %s", s, e.Key, e.Reason)
			}
			return fmt.Errorf("network %q: %s", s, e.Reason)
		}
		return fmt.Errorf("network %q: %w", s, err)
	}
	if err := n.Set("topology", strings.TrimSpace(topology)); err != nil {
		return nil, bad(err)
	}
	seen := map[string]bool{}
	for more {
		var part string
		part, rest, more = strings.Cut(rest, ",")
		key, value, given := strings.Cut(part, "=")
		if key = strings.TrimSpace(key); !given {
			key, value = "node", part
		}
		if strings.TrimSpace(value) == "" {
			return nil, fmt.Errorf("network %q: a value is missing; write it as in %s", s, examples[n.Topology])
		}
		if seen[key] {
			return nil, fmt.Errorf("network %q: %s is given twice", s, key)
		}
		seen[key] = true
		if err := n.Set(key, value); err != nil {
			return nil, bad(err)
		}
	}
	if err := n.Validate(); err != nil {
		return nil, bad(err)
	}
	return n, nil
}

// String returns the line that ParseNetwork parses.
func (n *Network) String() string {
	var parts []string
	keys, err := n.Keys()
	if err != nil {
		return n.Topology
	}
	for _, key := range keys {
		if text := settingOf(key).text(n); text != "" {
			parts = append(parts, key+"="+text)
		}
	}
	if len(parts) == 0 {
		return n.Topology
	}
	if len(parts) == 1 {
		parts[0] = strings.TrimPrefix(parts[0], "node=")
	}
	return n.Topology + ":" + strings.Join(parts, ",")
}
