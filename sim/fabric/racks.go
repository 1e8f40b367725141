package fabric

import "github.com/yardmaster/yardmaster/sim/flow"

// star needs nothing but the nodes' own links.
type star struct{}

func (b *builder) star() *star {
	middle := b.name("switch")
	for i := range b.cluster.Nodes {
		b.plug(i, middle)
	}
	return &star{}
}

// racks is a switch a rack and a core, or two switches joined by one cable.
type racks struct {
	hops     int         // between racks
	up, down []flow.Link // of each rack; down is not taken where the core is a cable
}

func (b *builder) racks() *racks {
	names, rates := b.rackSwitches(), b.rackRates()
	core := b.name("core")
	t := &racks{hops: 4, up: make([]flow.Link, len(names)), down: make([]flow.Link, len(names))}
	for r, name := range names {
		t.up[r], t.down[r] = none, none
		if rates[r] == 0 {
			continue // no node is in it
		}
		t.up[r], t.down[r] = b.cable(name, core, b.uplink(rates[r], 1), RackLayer, r)
		b.up[r], b.down[r] = t.up[r:r+1:r+1], t.down[r:r+1:r+1]
	}
	return t
}

func (b *builder) twoRacks() *racks {
	names, rates := b.rackSwitches(), b.rackRates()
	// What passes between the racks is bounded by the smaller one, so 1:1 never blocks.
	rate := b.uplink(min(rates[0], rates[1]), 1)
	t := &racks{hops: 3, up: make([]flow.Link, 2)}
	t.up[0] = b.link(names[0], names[1], rate, RackLayer, true, 0)
	t.up[1] = b.link(names[1], names[0], rate, RackLayer, true, 1)
	for r := range b.up {
		b.up[r], b.down[r] = t.up[r:r+1:r+1], t.up[1-r:2-r:2-r]
	}
	return t
}

func (t *racks) path(f *Fabric, from, to int32, buf []flow.Link) []flow.Link {
	a, z := f.rack[from], f.rack[to]
	buf = append(buf, f.out[from])
	if a != z {
		buf = append(buf, t.up[a])
		if t.down != nil {
			buf = append(buf, t.down[z])
		}
	}
	return append(buf, f.in[to])
}
