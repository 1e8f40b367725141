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

// racks is one switch per rack and a core, or two switches connected by one cable.
type racks struct{ hops int } // between racks: four over a core

func (b *builder) racks() *racks {
	names, rates := b.rackSwitches(), b.rackRates()
	core := b.name("core")
	for r, name := range names {
		if rates[r] > 0 { // else it has no nodes
			up, down := b.cable(name, core, b.uplink(rates[r], 1))
			b.up[r], b.down[r] = []flow.Link{up}, []flow.Link{down}
		}
	}
	return &racks{hops: 4}
}

func (b *builder) twoRacks() *racks {
	names, rates := b.rackSwitches(), b.rackRates()
	// The smaller rack limits traffic between the racks, so 1:1 is non-blocking.
	rate := b.uplink(min(rates[0], rates[1]), 1)
	for r := range b.up {
		l := b.link(names[r], names[1-r], rate)
		b.up[r], b.down[1-r] = []flow.Link{l}, []flow.Link{l}
	}
	return &racks{hops: 3}
}

func (t *racks) path(f *Fabric, src, dst int32, buf []flow.Link) []flow.Link {
	a, z := f.rack[src], f.rack[dst]
	buf = append(buf, f.out[src])
	if a != z {
		buf = append(buf, f.up[a]...)
		if t.hops == 4 {
			buf = append(buf, f.down[z]...)
		}
	}
	return append(buf, f.in[dst])
}
