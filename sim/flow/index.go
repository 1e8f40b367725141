package flow

import "math"

// index finds a class by path, weight and limit: a table with open addressing, for it is asked at every start.
type index struct {
	slots []slot
	used  int
}

type slot struct {
	hash  uint64
	class int32 // its number plus one; 0: empty
}

func hash(path []int32, weight, limit float64) uint64 {
	h := math.Float64bits(weight)*0x9e3779b97f4a7c15 ^ math.Float64bits(limit)
	for _, l := range path {
		h = (h ^ uint64(l)) * 0xff51afd7ed558ccd
		h ^= h >> 32
	}
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// find looks for the class of n.sought; -1: there is none.
func (x *index) find(n *Network, h uint64, weight, limit float64) int32 {
	if len(x.slots) == 0 {
		return -1
	}
	mask := uint64(len(x.slots) - 1)
	for i := h & mask; x.slots[i].class != 0; i = (i + 1) & mask {
		if x.slots[i].hash == h && n.isClass(x.slots[i].class-1, weight, limit) {
			return x.slots[i].class - 1
		}
	}
	return -1
}

func (n *Network) isClass(ci int32, weight, limit float64) bool {
	c, s := &n.classes[ci], &n.shares[ci]
	if c.weight != weight || c.limit != limit || int(s.length) != len(n.sought) {
		return false
	}
	for i, l := range n.sought {
		if n.long[int(s.hop)+i] != l {
			return false
		}
	}
	return true
}

func (x *index) add(h uint64, ci int32) {
	if 2*x.used >= len(x.slots) {
		old := x.slots
		x.slots = make([]slot, max(64, 2*len(old)))
		for _, s := range old {
			if s.class != 0 {
				x.put(s)
			}
		}
	}
	x.used++
	x.put(slot{h, ci + 1})
}

func (x *index) put(s slot) {
	mask := uint64(len(x.slots) - 1)
	i := s.hash & mask
	for x.slots[i].class != 0 {
		i = (i + 1) & mask
	}
	x.slots[i] = s
}

func (x *index) remove(n *Network, ci int32) {
	c := &n.classes[ci]
	mask := uint64(len(x.slots) - 1)
	i := hash(n.path(&n.shares[ci]), c.weight, c.limit) & mask
	for x.slots[i].class != ci+1 {
		i = (i + 1) & mask
	}
	x.used--
	// Those behind it move up, so that every search still ends at an empty slot.
	for j := (i + 1) & mask; x.slots[j].class != 0; j = (j + 1) & mask {
		if (j-x.slots[j].hash&mask)&mask >= (j-i)&mask {
			x.slots[i] = x.slots[j]
			i = j
		}
	}
	x.slots[i] = slot{}
}
