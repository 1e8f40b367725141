package fabric

import "github.com/yardmaster/yardmaster/sim/flow"

// A failed link carries nothing: flows on it stall until it is restored or they are stopped, and new paths avoid it if the topology
// leaves a choice (another spine, another core). Failures are counted by reason: a link that failed with its node and with its rack
// works again when both do. Failing what is failed, or restoring what is not, is a no-op.

// Failed reports whether a link is failed.
func (f *Fabric) Failed(l flow.Link) bool { return f.state(l).cuts > 0 }

// FailLink fails one direction of a cable.
func (f *Fabric) FailLink(l flow.Link) {
	if s := f.state(l); !s.byHand {
		s.byHand = true
		f.cut(l)
	}
}

// RestoreLink undoes FailLink.
func (f *Fabric) RestoreLink(l flow.Link) {
	if s := f.state(l); s.byHand {
		s.byHand = false
		f.mend(l)
	}
}

// FailNode fails every link to and from a node; in a DCell also those over which it relays.
func (f *Fabric) FailNode(node int32) {
	if !f.failedNodes[node] {
		f.failedNodes[node] = true
		f.eachOf(node, f.cut)
	}
}

// RestoreNode undoes FailNode.
func (f *Fabric) RestoreNode(node int32) {
	if f.failedNodes[node] {
		f.failedNodes[node] = false
		f.eachOf(node, f.mend)
	}
}

// eachOf visits the links of a node.
func (f *Fabric) eachOf(node int32, do func(flow.Link)) {
	do(f.out[node])
	do(f.in[node])
	if t, ok := f.routes.(*dcell); ok {
		p := t.place[node]
		for l, servers := range t.servers {
			do(servers[p])
			do(servers[t.peer(p, l+1)])
		}
	}
}

// FailRack fails a rack's links up and down. Traffic inside it continues. False: this network has no such links.
func (f *Fabric) FailRack(rack int32) bool {
	if !f.failedRacks[rack] {
		f.failedRacks[rack] = true
		f.eachOut(rack, f.cut)
	}
	return len(f.up[rack]) > 0
}

// RestoreRack undoes FailRack.
func (f *Fabric) RestoreRack(rack int32) {
	if f.failedRacks[rack] {
		f.failedRacks[rack] = false
		f.eachOut(rack, f.mend)
	}
}

func (f *Fabric) eachOut(rack int32, do func(flow.Link)) {
	for _, l := range f.up[rack] {
		do(l)
	}
	for _, l := range f.down[rack] {
		do(l)
	}
}
