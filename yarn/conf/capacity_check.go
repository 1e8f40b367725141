package conf

import (
	"math"
	"strings"
)

// sumTolerance is how far the percentages of siblings may be from 100.
const sumTolerance = 0.05

// check rejects trees that a ResourceManager would not start with.
func (b *capacityReader) check(q *Queue) error {
	if err := b.checkMaximum(q); err != nil {
		return err
	}
	if err := b.checkChildren(q); err != nil {
		return err
	}
	for _, k := range q.Children {
		if err := b.check(k); err != nil {
			return err
		}
	}
	return nil
}

func (b *capacityReader) pos(q *Queue, setting string) Pos {
	if p := b.props.Get(Prefix + q.Path + "." + setting); p != nil {
		return p.Pos
	}
	return q.Pos
}

func (b *capacityReader) checkMaximum(q *Queue) error {
	lo, hi := q.Capacity, q.MaxCapacity
	pos := b.pos(q, "maximum-capacity")
	switch {
	case lo.Kind == Percent && hi.Kind == Percent && lo.Value > hi.Value:
		return pos.Errorf("queue %s has capacity %v above its maximum-capacity %v", q.Path, lo.Value, hi.Value)
	case lo.Kind == Absolute && hi.Kind == Absolute && !lo.Room.Fits(hi.Room):
		return pos.Errorf("queue %s has capacity [%v] above its maximum-capacity [%v]", q.Path, lo.Room, hi.Room)
	case lo.Kind == Absolute && hi.Kind == Percent && q.Parent != nil && hi.Value != 100,
		lo.Kind == Percent && hi.Kind == Absolute && q.Parent != nil:
		return pos.Errorf("queue %s has %s as capacity and %s as maximum-capacity: write both in one way", q.Path, lo.Kind, hi.Kind)
	}
	return nil
}

func (b *capacityReader) checkChildren(q *Queue) error {
	if q.Leaf() {
		return nil
	}
	first := q.Children[0]
	var sum float32
	for _, k := range q.Children {
		pos := b.pos(k, "capacity")
		if k.Capacity.Kind != first.Capacity.Kind {
			return pos.Errorf("queue %s has %s as capacity, its sibling %s %s: siblings must write it in one way",
				k.Path, k.Capacity.Kind, first.Path, first.Capacity.Kind)
		}
		if q.Parent != nil && (k.Capacity.Kind == Absolute) != (q.Capacity.Kind == Absolute) {
			return pos.Errorf("queue %s has %s as capacity, its parent %s: absolute amounts cannot be mixed with other kinds below the root",
				k.Path, k.Capacity.Kind, q.Capacity.Kind)
		}
		sum += k.Capacity.Value
	}
	last := b.pos(q.Children[len(q.Children)-1], "capacity")
	switch first.Capacity.Kind {
	case Percent:
		if sum == 0 && (b.allowZeroSum || q.Capacity.Kind == Weight || q.Capacity.Value == 0) {
			return nil
		}
		if math.Abs(float64(sum)-100) > sumTolerance {
			return last.Errorf("the capacities of the queues below %s (%s) sum to %v, not to 100", q.Path, names(q.Children), sum)
		}
	case Weight:
		if sum == 0 {
			return last.Errorf("the weights of the queues below %s (%s) sum to 0", q.Path, names(q.Children))
		}
	}
	return nil
}

func names(queues []*Queue) string {
	var list []string
	for i, q := range queues {
		if i == 8 {
			list = append(list, "...")
			break
		}
		list = append(list, q.Name)
	}
	return strings.Join(list, ", ")
}
