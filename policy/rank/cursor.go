package rank

// Cursor walks a heap best first, one step per call, so that two heaps can be merged or a walk can be
// resumed. The heap must not change between Start and the last Next. The zero value is ready for Start; a Cursor reuses its
// buffer from walk to walk.
type Cursor struct {
	h  *Heap
	f  []int32 // binary heap of positions whose parents have been passed
	at int     // position that Next would return; -1: the walk is over
}

// Start begins a walk over h.
func (c *Cursor) Start(h *Heap) {
	c.h, c.f, c.at = h, c.f[:0], 0
	if len(h.items) == 0 {
		c.at = -1
	}
}

// Peek is the next id and its keys; ok is false at the end.
func (c *Cursor) Peek() (id int32, a float64, b int64, ok bool) {
	if c.at < 0 {
		return 0, 0, 0, false
	}
	it := &c.h.items[c.at]
	return it.id, number(it.a), int64(it.b ^ sign), true
}

// Next advances past Peek's item.
func (c *Cursor) Next() {
	if c.at < 0 {
		return
	}
	items, f := c.h.items, c.f
	for p := 4*c.at + 1; p < min(4*c.at+5, len(items)); p++ {
		f = append(f, int32(p))
		for i := len(f) - 1; i > 0; {
			q := (i - 1) / 2
			if !less(&items[f[i]], &items[f[q]]) {
				break
			}
			f[i], f[q] = f[q], f[i]
			i = q
		}
	}
	if len(f) == 0 {
		c.at, c.f = -1, f
		return
	}
	c.at = int(f[0])
	last := len(f) - 1
	f[0] = f[last]
	f = f[:last]
	for i := 0; ; {
		k := 2*i + 1
		if k >= len(f) {
			break
		}
		if k+1 < len(f) && less(&items[f[k+1]], &items[f[k]]) {
			k++
		}
		if !less(&items[f[k]], &items[f[i]]) {
			break
		}
		f[i], f[k] = f[k], f[i]
		i = k
	}
	c.f = f
}
