package clusterfile

import (
	"errors"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/internal/yamlfile"
)

// section is the position of the network in the file, for errors found later (whether it fits the racks, say).
type section struct {
	source *yamlfile.Node
	keys   map[string]*yamlfile.Node
}

// readNetwork reads the network: section, as a mapping or as one line such as star:1Gbit.
func (b *builder) readNetwork(v *yamlfile.Node) error {
	b.network = &section{source: v, keys: map[string]*yamlfile.Node{}}
	switch v.Shape {
	case yamlfile.Scalar:
		n, err := cluster.ParseNetwork(v.Text)
		if err != nil {
			return v.Errorf("%v", err)
		}
		b.c.Network = n
		return nil
	case yamlfile.Empty:
		return v.Errorf("a network is missing after the key; write topology: star and node: 1Gbit under it, or star:1Gbit after it")
	case yamlfile.List:
		return v.Errorf("should be a mapping with topology and its settings, or one line such as star:1Gbit, not a list")
	}
	n := &cluster.Network{}
	for _, f := range v.Fields {
		b.network.keys[f.Key] = f.Value
	}
	// The topology determines the other keys, wherever it stands.
	if at := b.network.keys["topology"]; at != nil {
		if err := set(n, "topology")(at); err != nil {
			return err
		}
	}
	order, err := n.Keys()
	if err != nil {
		return b.locate(v, err)
	}
	order = append([]string{"topology"}, order...)
	keys := yamlfile.Keys{}
	for _, key := range order {
		keys[key] = set(n, key)
	}
	if err := v.Read("the network "+n.Topology, order, keys); err != nil {
		return err
	}
	b.c.Network = n
	return b.locate(v, n.Validate())
}

// set reads one setting of a network.
func set(n *cluster.Network, key string) func(*yamlfile.Node) error {
	return yamlfile.Value(func(v *yamlfile.Node, text string) error {
		var e *cluster.NetworkError
		if err := n.Set(key, text); errors.As(err, &e) {
			return v.Errorf("%s", e.Reason)
		}
		return nil
	})
}

// locate reports err at the position of the network setting that it is about, else at root. nil stays nil.
func (b *builder) locate(root *yamlfile.Node, err error) error {
	if err == nil {
		return nil
	}
	var e *cluster.NetworkError
	if b.network == nil || !errors.As(err, &e) {
		return root.Errorf("%v", err)
	}
	if at := b.network.keys[e.Key]; at != nil {
		return at.Errorf("%s", e.Reason)
	}
	if e.Key != "" {
		return b.network.source.Errorf("%s: %s", e.Key, e.Reason)
	}
	return b.network.source.Errorf("%s", e.Reason)
}

// parseInto reads a value into p.
func parseInto[T any](p *T, parse func(string) (T, error)) func(*yamlfile.Node) error {
	return yamlfile.Value(func(v *yamlfile.Node, text string) (err error) {
		if *p, err = parse(text); err != nil {
			return v.Errorf("%v", err)
		}
		return nil
	})
}
