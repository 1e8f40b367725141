package hdfs

import "slices"

// linear fills one node after the other, each with an equal run of the file's blocks. MRPERF's has no second replica; its
// authors propose to divide the space into parts and keep one replica in each, as here.
type linear struct{ base }

func (p linear) Place(file Blocks, block int64, buf []int32) []int32 {
	n, r := int64(len(p.node)), int64(p.copies(&file))
	each := max((file.Count+n-1)/n, 1)
	first := (p.start(&file) + block/each) % n
	buf = buf[:0]
	for k := range r {
		buf = append(buf, int32((first+k*n/r)%n))
	}
	return p.nodes(buf)
}

// roundRobin assigns replicas to the nodes in turn.
type roundRobin struct{ base }

func (p roundRobin) Place(file Blocks, block int64, buf []int32) []int32 {
	n, r := int64(len(p.node)), int64(p.copies(&file))
	first := (p.start(&file) + block%n*r) % n
	buf = buf[:0]
	for k := range r {
		buf = append(buf, int32((first+k)%n))
	}
	return p.nodes(buf)
}

// random draws nodes without replacement.
type random struct{ base }

func (p random) Place(file Blocks, block int64, buf []int32) []int32 {
	d := p.draws(&file, block)
	buf = buf[:0]
	for range p.copies(&file) {
		buf = append(buf, p.all().draw(buf, &d))
	}
	return p.nodes(buf)
}

// all is every position.
func (l *Layout) all() run { return run{0, int32(len(l.node))} }

// hadoop is HDFS's BlockPlacementPolicyDefault: the writer's node or any; any node of another rack; another node of that
// second rack; and any nodes for further replicas, as long as no rack gets more than (replicas-1)/racks + 2. If a rule finds
// no node, any will do.
type hadoop struct{ base }

func (p hadoop) Place(file Blocks, block int64, buf []int32) []int32 {
	d := p.draws(&file, block)
	r := p.copies(&file)
	buf = p.first(&file, &d, buf)
	if r > 1 {
		position := int32(-1)
		if len(file.Others) > 0 {
			position = p.drawInRacks(file.Others, d.below(int32(len(file.Others))), p.runOf[buf[0]], buf, &d)
		}
		if position < 0 {
			position = p.outside(p.rackOf(buf[0]), &d)
		}
		buf = p.add(buf, position, &d)
	}
	if r > 2 {
		buf = p.add(buf, p.rackOf(buf[1]).draw(buf, &d), &d)
	}
	return p.nodes(p.more(buf, r, &d))
}

// mrperf is MRPERF's version of Hadoop's rule: the second replica in the rack of the first, the third elsewhere.
type mrperf struct{ base }

func (p mrperf) Place(file Blocks, block int64, buf []int32) []int32 {
	d := p.draws(&file, block)
	r := p.copies(&file)
	buf = p.first(&file, &d, buf)
	home := p.rackOf(buf[0])
	if r > 1 {
		buf = p.add(buf, home.draw(buf, &d), &d)
	}
	if r > 2 && home.among(buf) == 2 {
		buf = p.add(buf, p.outside(home, &d), &d)
	}
	return p.nodes(p.more(buf, r, &d))
}

// hybrid keeps data near the machines that a job may be run on: the first two replicas on two nodes of one scale-out rack, the third on a
// scale-up node. With two replicas there is one of each.
type hybrid struct {
	base
	kinds [2][]int32 // positions of scale-out and of scale-up machines
}

func newHybrid(b base) Placement {
	h := hybrid{base: b}
	for p := range b.node {
		k := b.kind(int32(p))
		h.kinds[k] = append(h.kinds[k], int32(p))
	}
	if len(h.kinds[0]) == 0 || len(h.kinds[1]) == 0 {
		return hadoop{b}
	}
	return h
}

func (p hybrid) Place(file Blocks, block int64, buf []int32) []int32 {
	d := p.draws(&file, block)
	r := p.copies(&file)
	pick := [2]int32{p.draw(0, nil, &d), p.draw(1, nil, &d)}
	if file.Writer > 0 {
		at := p.position[file.Writer-1]
		pick[p.kind(at)] = at
	}
	buf = append(buf[:0], pick[0])
	if r > 2 {
		second := p.rackOf(pick[0]).draw(buf, &d)
		if second < 0 {
			second = p.draw(0, buf, &d)
		}
		if second >= 0 {
			buf = append(buf, second)
		}
	}
	if r > 1 {
		buf = append(buf, pick[1])
	}
	return p.nodes(p.more(buf, r, &d))
}

// draw draws a position of a machine of a kind that is not in taken; -1: none.
func (p *hybrid) draw(kind int, taken []int32, d *draws) int32 {
	positions := p.kinds[kind]
	if len(positions) <= len(taken) {
		return -1
	}
	for {
		if at := positions[d.below(int32(len(positions)))]; !slices.Contains(taken, at) {
			return at
		}
	}
}

// first places the first replica.
func (b *base) first(file *Blocks, d *draws, buf []int32) []int32 {
	if file.Writer > 0 {
		return append(buf[:0], b.position[file.Writer-1])
	}
	if n := int64(len(file.First)); n > 0 {
		at := int32(min(int64(d.block>>8)*n/max(file.Count, 1), n-1))
		if position := b.drawInRacks(file.First, at, -1, nil, d); position >= 0 {
			return append(buf[:0], position)
		}
	}
	return append(buf[:0], d.below(int32(len(b.node))))
}

// drawInRacks draws a position in the first of the racks, from a given one on, that has a free one outside a run; -1: none has.
func (b *base) drawInRacks(racks []int32, first, except int32, taken []int32, d *draws) int32 {
	for range racks {
		if i := slices.IndexFunc(b.runs, func(r run) bool { return b.rack[b.node[r.lo]] == racks[first] }); i >= 0 && int32(i) != except {
			if position := b.runs[i].draw(taken, d); position >= 0 {
				return position
			}
		}
		first = (first + 1) % int32(len(racks))
	}
	return -1
}

func (b *base) rackOf(position int32) run { return b.runs[b.runOf[position]] }

// add puts a replica at a position or, if no rule found one, anywhere.
func (b *base) add(buf []int32, position int32, d *draws) []int32 {
	if position < 0 {
		position = b.all().draw(buf, d)
	}
	return append(buf, position)
}

// more places the remaining replicas, up to r.
func (b *base) more(buf []int32, r int, d *draws) []int32 {
	if len(buf) >= r {
		return buf
	}
	limit := int32((r-1)/len(b.runs) + 2)
	for len(buf) < r {
		var position int32
		for range maxDraws {
			if position = b.all().draw(buf, d); b.rackOf(position).among(buf) < limit {
				break
			}
		}
		buf = append(buf, position)
	}
	return buf
}

// maxDraws limits the draws of a further replica for a rack that is not over its limit.
const maxDraws = 20
