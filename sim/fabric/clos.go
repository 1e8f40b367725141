package fabric

import (
	"math/bits"
	"strconv"

	"github.com/yardmaster/yardmaster/sim/flow"
	"github.com/yardmaster/yardmaster/workload"
)

// hash spreads transfers over equal-cost paths, by key and both ends, as switches hash addresses and ports.
func hash(from, to int32, key uint64) uint64 {
	return workload.Seed(workload.Seed(key, uint64(uint32(from))), uint64(uint32(to)))
}

// pick maps a hash uniformly to 0..of-1.
func pick(h uint64, of int) int {
	hi, _ := bits.Mul64(h, uint64(of))
	return int(hi)
}

// leafSpine is one leaf switch per rack, with a cable to every spine: Fabric.up and down of a rack have one link per spine.
type leafSpine struct{ spines int }

func (b *builder) leafSpine() *leafSpine {
	names, rates := b.rackSwitches(), b.rackRates()
	spine := make([]string, b.cluster.Network.Spines)
	for s := range spine {
		spine[s] = b.name("spine" + strconv.Itoa(s+1))
	}
	for r, name := range names {
		if rates[r] == 0 {
			continue // it has no nodes, so no path uses it
		}
		for s := range spine {
			up, down := b.cable(name, spine[s], b.uplink(rates[r], len(spine)))
			b.up[r], b.down[r] = append(b.up[r], up), append(b.down[r], down)
		}
	}
	return &leafSpine{len(spine)}
}

func (t *leafSpine) path(f *Fabric, src, dst int32, key uint64, buf []flow.Link) []flow.Link {
	if f.rack[src] == f.rack[dst] {
		return append(buf, f.out[src], f.in[dst])
	}
	up, down := f.up[f.rack[src]], f.down[f.rack[dst]]
	s := pick(hash(src, dst, key), t.spines)
	return append(buf, f.out[src], up[s], down[s], f.in[dst])
}

// fatTree is three levels of switches with k ports, half of them down. Core c of group a joins aggregation switch a of every pod.
type fatTree struct {
	half             int // k/2: edge switches and aggregation switches in a pod, nodes on an edge, cores in a group
	place            []int32
	edgeUp, edgeDown []flow.Link // [edge*half + aggregation switch of its pod]
	coreUp, coreDown []flow.Link // [(pod*half + aggregation switch)*half + core of its group]
}

func (b *builder) fatTree() *fatTree {
	t := &fatTree{half: b.cluster.Network.K / 2, place: b.places()}
	h := t.half
	pods := (len(b.up)*b.size + h*h - 1) / (h * h) // pods with nodes
	edges := make([]string, pods*h)
	for e := range edges {
		if b.size == h && e < len(b.cluster.Racks) {
			edges[e] = b.name(b.cluster.Racks[e])
		} else {
			edges[e] = b.name("pod" + strconv.Itoa(e/h+1) + "-edge" + strconv.Itoa(e%h+1))
		}
	}
	for i := range b.cluster.Nodes {
		b.plug(i, edges[int(t.place[i])/h])
	}
	cores := make([]string, h*h)
	for c := range cores {
		cores[c] = b.name("core" + strconv.Itoa(c+1))
	}
	rate := b.between()
	for p := range pods {
		agg := make([]string, h)
		for a := range agg {
			agg[a] = b.name("pod" + strconv.Itoa(p+1) + "-agg" + strconv.Itoa(a+1))
		}
		for e := p * h; e < (p+1)*h; e++ {
			for a := range agg {
				up, down := b.cable(edges[e], agg[a], rate)
				t.edgeUp, t.edgeDown = append(t.edgeUp, up), append(t.edgeDown, down)
			}
		}
		for a := range agg {
			for c := range h {
				up, down := b.cable(agg[a], cores[a*h+c], rate)
				t.coreUp, t.coreDown = append(t.coreUp, up), append(t.coreDown, down)
			}
		}
	}
	for r := range b.up {
		if first := r * b.size; b.size == h {
			b.up[r], b.down[r] = t.edgeUp[first:first+h:first+h], t.edgeDown[first:first+h:first+h]
		} else {
			b.up[r], b.down[r] = t.coreUp[first:first+h*h:first+h*h], t.coreDown[first:first+h*h:first+h*h]
		}
	}
	return t
}

func (t *fatTree) path(f *Fabric, src, dst int32, key uint64, buf []flow.Link) []flow.Link {
	h := t.half
	p, q := int(t.place[src]), int(t.place[dst])
	e, g := p/h, q/h // edge switches
	buf = append(buf, f.out[src])
	if e == g {
		return append(buf, f.in[dst])
	}
	x := hash(src, dst, key)
	if e/h == g/h { // one pod: up to one of its aggregation switches
		a := pick(x, h)
		return append(buf, t.edgeUp[e*h+a], t.edgeDown[g*h+a], f.in[dst])
	}
	srcPod, dstPod := e/h*h*h, g/h*h*h // the pods' first links to cores
	c := pick(x, h*h)                  // core c%h of group c/h
	return append(buf, t.edgeUp[e*h+c/h], t.coreUp[srcPod+c], t.coreDown[dstPod+c], t.edgeDown[g*h+c/h], f.in[dst])
}

func (t *fatTree) hops(from, to int32) int {
	h := int32(t.half)
	switch p, q := t.place[from]/h, t.place[to]/h; {
	case p == q:
		return 2
	case p/h == q/h:
		return 4
	}
	return 6
}
