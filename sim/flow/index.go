package flow

import "math"

// index finds a class or a bundle by its links: a hash table with open addressing, since every start looks one up.
type index struct {
	slots []slot
	used  int
}

type slot struct {
	hash uint64
	item int32 // its number plus one; 0: empty
}

func hash(links []int32, a, b float64) uint64 {
	h := math.Float64bits(a)*0x9e3779b97f4a7c15 ^ math.Float64bits(b)
	for _, l := range links {
		h = (h ^ uint64(l)) * 0xff51afd7ed558ccd
		h ^= h >> 32
	}
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// find returns the item with this hash for which meant is true; -1: none.
func (x *index) find(h uint64, matches func(item int32) bool) int32 {
	if len(x.slots) == 0 {
		return -1
	}
	mask := uint64(len(x.slots) - 1)
	for i := h & mask; x.slots[i].item != 0; i = (i + 1) & mask {
		if x.slots[i].hash == h && matches(x.slots[i].item-1) {
			return x.slots[i].item - 1
		}
	}
	return -1
}

func (x *index) add(h uint64, item int32) {
	if 2*x.used >= len(x.slots) {
		old := x.slots
		x.slots = make([]slot, max(64, 2*len(old)))
		for _, s := range old {
			if s.item != 0 {
				x.put(s)
			}
		}
	}
	x.used++
	x.put(slot{h, item + 1})
}

func (x *index) put(s slot) {
	mask := uint64(len(x.slots) - 1)
	i := s.hash & mask
	for x.slots[i].item != 0 {
		i = (i + 1) & mask
	}
	x.slots[i] = s
}

func (x *index) remove(h uint64, item int32) {
	mask := uint64(len(x.slots) - 1)
	i := h & mask
	for x.slots[i].item != item+1 {
		i = (i + 1) & mask
	}
	x.used--
	// Later entries move up, so that every search still ends at an empty slot.
	for j := (i + 1) & mask; x.slots[j].item != 0; j = (j + 1) & mask {
		if (j-x.slots[j].hash&mask)&mask >= (j-i)&mask {
			x.slots[i] = x.slots[j]
			i = j
		}
	}
	x.slots[i] = slot{}
}
