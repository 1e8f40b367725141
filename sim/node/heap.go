package node

// before orders tasks by finish, then by start.
func (d *Device) before(a, b ID) bool {
	x, y := &d.tasks[a], &d.tasks[b]
	return x.finish < y.finish || x.finish == y.finish && x.serial < y.serial
}

func (d *Device) up(i int) {
	id := d.heap[i]
	for i > 0 {
		parent := (i - 1) / 2
		if !d.before(id, d.heap[parent]) {
			break
		}
		d.put(i, d.heap[parent])
		i = parent
	}
	d.put(i, id)
}

func (d *Device) down(i int) {
	id := d.heap[i]
	for {
		child := 2*i + 1
		if child >= len(d.heap) {
			break
		}
		if child+1 < len(d.heap) && d.before(d.heap[child+1], d.heap[child]) {
			child++
		}
		if !d.before(d.heap[child], id) {
			break
		}
		d.put(i, d.heap[child])
		i = child
	}
	d.put(i, id)
}

func (d *Device) put(i int, id ID) {
	d.heap[i] = id
	d.tasks[id].pos = int32(i)
}

// remove takes a task out, wherever it is.
func (d *Device) remove(id ID) {
	i := int(d.tasks[id].pos)
	if i < 0 {
		panic("node: a task that is not on the device was stopped")
	}
	d.tasks[id].pos = -1
	d.free = append(d.free, id)
	last := len(d.heap) - 1
	moved := d.heap[last]
	d.heap = d.heap[:last]
	if i < last {
		d.put(i, moved)
		d.down(i)
		d.up(int(d.tasks[moved].pos))
	}
	d.crowd()
}
