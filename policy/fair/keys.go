package fair

import "github.com/yardmaster/yardmaster/policy"

const beyond = 1e30 // larger than any usage/weight: queues of weight 0 come after all others

// queueKey is the sort key of q among the children of a queue of kind k.
func (t *Tree) queueKey(k kind, q *queue) (needy bool, a float64, b int64) {
	var other float64
	switch k {
	case fifoKind:
		return false, 0, q.rank
	case fairKind:
		if floor := min(q.min.Mem, q.used.Mem+q.asked.Mem); q.used.Mem < floor {
			other = 1
			if q.weight > 0 {
				other = part(q.used.Mem, t.total.Mem) / q.weight
			}
			return true, float64(q.used.Mem) / float64(floor), second(other, q.rank)
		}
		a = float64(q.used.Mem)
	case drfKind:
		mem, cores := part(q.used.Mem, t.total.Mem), part(q.used.Cores, t.total.Cores)
		held, floor, beside := q.used.Mem, q.min.Mem, part(q.used.Cores, q.min.Cores)
		if cores > mem {
			held, floor, beside = q.used.Cores, q.min.Cores, part(q.used.Mem, q.min.Mem)
		}
		if held < floor {
			return true, float64(held) / float64(floor), second(beside, q.rank)
		}
		a, other = max(mem, cores), min(mem, cores)
	}
	if q.weight <= 0 {
		return false, beyond * (1 + a), q.rank
	}
	return false, a / q.weight, second(other/q.weight, q.rank)
}

// appKey is a job's sort key in a leaf of kind k.
func (t *Tree) appKey(k kind, j *policy.Job) (a float64, b int64) {
	switch k {
	case fifoKind:
		return 0, j.Seq
	case fairKind:
		return float64(j.Used.Mem), j.Seq
	}
	mem, cores := part(j.Used.Mem, t.total.Mem), part(j.Used.Cores, t.total.Cores)
	return max(mem, cores), second(min(mem, cores), j.Seq)
}

func part(v, total int64) float64 {
	if total <= 0 {
		return 0
	}
	return float64(v) / float64(total)
}

// second packs a share, to a millionth, above the last tie-break.
func second(share float64, last int64) int64 {
	const bits = 42
	return int64(min(share, 1)*(1<<20))<<bits | last&(1<<bits-1)
}
