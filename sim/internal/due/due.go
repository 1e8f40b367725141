// Package due holds numbered items ordered by due time: binary heaps whose items can be moved and removed by number.
package due

// Item is a number and when it is due. Of items due together, the one with the smaller Tie is first.
type Item struct {
	At  float64
	Tie int64
	ID  int32
}

// Heap holds items; the first is due first. Each item's index is written to pos, by ID. Heaps over the same IDs may share pos: an item
// is in at most one of them.
type Heap []Item

func (x *Item) before(y *Item) bool { return x.At < y.At || x.At == y.At && x.Tie < y.Tie }

// Push adds an item.
func (h *Heap) Push(pos []int32, x Item) {
	*h = append(*h, x)
	h.up(pos, len(*h)-1)
}

// Set changes when the item at index i is due.
func (h Heap) Set(pos []int32, i int32, at float64) {
	was := h[i].At
	if h[i].At = at; at < was {
		h.up(pos, int(i))
	} else {
		h.down(pos, int(i))
	}
}

// Remove removes the item at index i. Its pos becomes -1.
func (h *Heap) Remove(pos []int32, i int32) {
	s := *h
	last := len(s) - 1
	x, gone := s[last], s[i]
	pos[gone.ID] = -1
	*h = s[:last]
	if int(i) == last {
		return
	}
	if s[i] = x; x.before(&gone) {
		h.up(pos, int(i))
	} else {
		h.down(pos, int(i))
	}
}

func (h Heap) up(pos []int32, i int) {
	x := h[i]
	for i > 0 {
		p := (i - 1) / 2
		if !x.before(&h[p]) {
			break
		}
		h[i] = h[p]
		pos[h[i].ID] = int32(i)
		i = p
	}
	h[i] = x
	pos[x.ID] = int32(i)
}

func (h Heap) down(pos []int32, i int) {
	x := h[i]
	for {
		k := 2*i + 1
		if k >= len(h) {
			break
		}
		if k+1 < len(h) && h[k+1].before(&h[k]) {
			k++
		}
		if !h[k].before(&x) {
			break
		}
		h[i] = h[k]
		pos[h[i].ID] = int32(i)
		i = k
	}
	h[i] = x
	pos[x.ID] = int32(i)
}
