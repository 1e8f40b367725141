// Package request holds one application's outstanding requests: how many containers at each priority and place.
//
// A ResourceManager does not see tasks. It sees counts: "at priority 20, 3 on node 7, 5 in rack 1, 9 anywhere". Each
// count is set by the application (never added to), and decremented as containers are allocated:
//
//	node-local   one less on the node, in its rack and anywhere
//	rack-local   one less in the rack and anywhere; the node keeps its count
//	off-rack     one less anywhere; node and rack keep theirs
//
// The count anywhere is therefore the number of containers still wanted, and the others are hints that may be
// stale. An entry decremented to 0 is removed; one that the application sets to 0 stays, and still counts as a place;
// setting the count anywhere to 0 drops the whole priority. Source: Hadoop's AppSchedulingInfo and
// LocalityAppPlacementAllocator.
//
// # Cost
//
// Finding a place is a binary search in its priority's row, so an application with preferences on thousands of nodes costs
// little more than one with three. Nothing here allocates once a row has grown to its number of places.
package request

import (
	"cmp"
	"slices"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/unit"
)

// Table holds the outstanding requests of one application. The zero value wants nothing.
type Table struct {
	rows    []*Row // by priority number, smallest first; rows stay when nothing is wanted of them any more
	pending unit.Resources
	count   int64
}

// Row holds the requests of one priority. A Row stays at its address, and its scheduler's fields keep their values, until
// the Table is cleared.
type Row struct {
	Priority int32
	// For the scheduler's own use: skipped scheduling opportunities, the locality level allowed by now, nodes reserved for this
	// priority and the number of re-reservations.
	Missed               int64
	Level                policy.Near
	Reserved, Rereserved int64

	anywhere entry
	places   []entry // nodes and racks, by place
	live     int     // present among places
}

type entry struct {
	place   rm.Place
	present bool
	count   int64
	size    unit.Resources
}

// Set records an ask, with the size as rounded by the scheduler. It says whether the priority wanted
// nothing before and wants something now.
func (t *Table) Set(a rm.Ask, size unit.Resources) (rose bool) {
	r := t.row(a.Priority)
	if a.Place != rm.Anywhere {
		if a.Count > 0 || r.anywhere.present {
			e := r.entry(a.Place)
			if !e.present {
				r.live++
			}
			e.present, e.count, e.size = true, max(a.Count, 0), size
		}
		return false
	}
	was := r.anywhere.count
	t.add(r, -was)
	if a.Count <= 0 {
		r.forget()
		return false
	}
	r.anywhere = entry{place: rm.Anywhere, present: true, size: size}
	t.add(r, a.Count)
	return was == 0
}

// Take decrements the counts for one container allocated to the row on node n at locality near. It
// returns the size requested there. The counts used must be positive (see Row.Wants).
func (t *Table) Take(r *Row, near policy.Near, n *rm.Node) unit.Resources {
	size := r.anywhere.size
	if near == policy.RackLocal || near == policy.NodeLocal {
		size = r.take(rm.OnRack(n.Rack))
	}
	if near == policy.NodeLocal {
		size = r.take(rm.OnNode(n.Index))
	}
	t.add(r, -1)
	if r.anywhere.count == 0 {
		r.anywhere.present = false
	}
	return size
}

// Restore undoes Take, for a container that its application never knew about. Removed counts come back as 1.
func (t *Table) Restore(priority int32, near policy.Near, n *rm.Node, size unit.Resources) {
	r := t.row(priority)
	if near == policy.RackLocal || near == policy.NodeLocal {
		r.restore(rm.OnRack(n.Rack), size)
	}
	if near == policy.NodeLocal {
		r.restore(rm.OnNode(n.Index), size)
	}
	if !r.anywhere.present {
		r.anywhere = entry{place: rm.Anywhere, present: true, size: size}
	}
	t.add(r, 1)
}

// Clear drops everything. The memory is kept for reuse.
func (t *Table) Clear() {
	clear(t.rows)
	*t = Table{rows: t.rows[:0]}
}

// Rows are the priorities ever requested, most urgent first; skip those with Any() == 0. The slice is valid
// until the next Set, Restore or Clear.
func (t *Table) Rows() []*Row { return t.rows }

// Row is the row of one priority, or nil.
func (t *Table) Row(priority int32) *Row {
	if i, ok := t.search(priority); ok {
		return t.rows[i]
	}
	return nil
}

// Count is how many containers are wanted at this priority and place.
func (t *Table) Count(priority int32, p rm.Place) int64 {
	if r := t.Row(priority); r != nil {
		n, _ := r.At(p)
		return n
	}
	return 0
}

// Pending is the sum of all containers wanted.
func (t *Table) Pending() unit.Resources { return t.pending }

// Len is how many containers are wanted.
func (t *Table) Len() int64 { return t.count }

// First is the most urgent row that wants something, or nil.
func (t *Table) First() *Row {
	for _, r := range t.rows {
		if r.anywhere.count > 0 {
			return r
		}
	}
	return nil
}

func (t *Table) search(priority int32) (int, bool) {
	for i, r := range t.rows { // few
		if r.Priority >= priority {
			return i, r.Priority == priority
		}
	}
	return len(t.rows), false
}

func (t *Table) row(priority int32) *Row {
	i, ok := t.search(priority)
	if !ok {
		t.rows = slices.Insert(t.rows, i, &Row{Priority: priority})
	}
	return t.rows[i]
}

func (t *Table) add(r *Row, by int64) {
	r.anywhere.count += by
	t.count += by
	t.pending = t.pending.Add(r.anywhere.size.Times(by))
}

// Any is how many containers the row wants.
func (r *Row) Any() int64 { return r.anywhere.count }

// Size is the size of a container that may be anywhere.
func (r *Row) Size() unit.Resources { return r.anywhere.size }

// At is how many containers are wanted at a place, and their size there.
func (r *Row) At(p rm.Place) (int64, unit.Resources) {
	if p == rm.Anywhere {
		return r.anywhere.count, r.anywhere.size
	}
	if len(r.places) == 0 {
		return 0, unit.Resources{}
	}
	if i, ok := r.find(p); ok && r.places[i].present {
		return r.places[i].count, r.places[i].size
	}
	return 0, unit.Resources{}
}

// Wants says whether a container on n could be allocated at that locality: all counts it would decrement are positive.
func (r *Row) Wants(near policy.Near, n *rm.Node) bool {
	if r.anywhere.count <= 0 {
		return false
	}
	if near == policy.RackLocal || near == policy.NodeLocal {
		if k, _ := r.At(rm.OnRack(n.Rack)); k <= 0 {
			return false
		}
	}
	if near == policy.NodeLocal {
		k, _ := r.At(rm.OnNode(n.Index))
		return k > 0
	}
	return true
}

// SizeAt is the size of a container allocated on n at that locality.
func (r *Row) SizeAt(near policy.Near, n *rm.Node) unit.Resources {
	switch near {
	case policy.NodeLocal:
		_, s := r.At(rm.OnNode(n.Index))
		return s
	case policy.RackLocal:
		_, s := r.At(rm.OnRack(n.Rack))
		return s
	}
	return r.anywhere.size
}

// Each calls f for every request of the row: nodes first, then racks, then anywhere.
func (r *Row) Each(f func(p rm.Place, count int64, size unit.Resources)) {
	racks := len(r.places)
	for i := range r.places {
		if _, rack := r.places[i].place.Rack(); !rack {
			racks = i // racks have the smaller numbers
			break
		}
	}
	for _, part := range [...][]entry{r.places[racks:], r.places[:racks]} {
		for i := range part {
			if e := &part[i]; e.present {
				f(e.place, e.count, e.size)
			}
		}
	}
	if r.anywhere.present {
		f(rm.Anywhere, r.anywhere.count, r.anywhere.size)
	}
}

// Places is the number of places, including anywhere.
func (r *Row) Places() int {
	if r.anywhere.present {
		return r.live + 1
	}
	return r.live
}

func (r *Row) find(p rm.Place) (int, bool) {
	return slices.BinarySearchFunc(r.places, p, func(e entry, p rm.Place) int { return cmp.Compare(e.place, p) })
}

func (r *Row) entry(p rm.Place) *entry {
	n := len(r.places)
	if n == 0 || r.places[n-1].place < p {
		r.places = append(r.places, entry{place: p})
		return &r.places[n]
	}
	i, ok := r.find(p)
	if !ok {
		r.places = slices.Insert(r.places, i, entry{place: p})
	}
	return &r.places[i]
}

func (r *Row) take(p rm.Place) unit.Resources {
	i, ok := r.find(p)
	if !ok || !r.places[i].present {
		return r.anywhere.size
	}
	e := &r.places[i]
	if e.count--; e.count == 0 {
		e.present = false
		r.live--
	}
	return e.size
}

func (r *Row) restore(p rm.Place, size unit.Resources) {
	e := r.entry(p)
	if !e.present {
		r.live++
		e.present, e.count, e.size = true, 0, size
	}
	e.count++
}

// forget drops all places; the row and the scheduler's fields stay.
func (r *Row) forget() {
	r.anywhere = entry{}
	r.places, r.live = r.places[:0], 0
}
