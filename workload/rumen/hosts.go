package rumen

import (
	"strings"

	"github.com/yardmaster/yardmaster/internal/input"
)

// maxLayers is the maximum depth of a topology: data centre, row, rack, node and some more.
const maxLayers = 16

func (p *parser) readHost(int) error {
	p.layers = p.layers[:0]
	if err := p.js.Object(p.onLocation); err != nil {
		return err
	}
	if len(p.layers) == 0 {
		return nil
	}
	if p.t.near == none {
		p.t.near = int32(len(p.near))
		p.near = append(p.near, 0)
	}
	if p.near[p.t.near] == maxNear {
		p.extraHosts++
		return nil
	}
	name := strings.Join(p.layers, "/")
	if s, ok := p.intern[name]; ok {
		name = s
	} else if len(p.intern) < MaxHosts && p.internBytes < maxHostBytes {
		p.intern[name] = name
		p.internBytes += len(name)
	}
	k, ok := p.hosts.Index(name, MaxHosts, maxHostBytes)
	if !ok {
		return p.js.Errorf("job %s has its input on more than %d hosts, or %d bytes of names: refused", p.id, MaxHosts, maxHostBytes)
	}
	p.near[p.t.near]++
	p.near = append(p.near, k)
	return nil
}

func (p *parser) readLayer(int) error {
	s, err := placeName(p.js)
	if s != "" {
		p.layers = append(p.layers, s)
	}
	return err
}

// maxName is the longest name of a rack or node.
const maxName = 255

// placeName reads the name of a rack or node and undoes Rumen's escaping: a backslash before each dot, and a slash in
// front of a rack.
func placeName(js *input.JSON) (string, error) {
	s, err := js.Text()
	s = strings.Trim(strings.ReplaceAll(s, `\.`, "."), "/")
	if err == nil && len(s) > maxName {
		err = js.Errorf("a name of %d bytes; at most %d are taken", len(s), maxName)
	}
	return s, err
}
