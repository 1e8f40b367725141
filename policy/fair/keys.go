package fair

import (
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/fair/queues"
)

const beyond = 1e30 // larger than any usage/weight: queues of weight 0 come after all others

// queueKey is the sort key of q among the children of a queue of kind k.
func (t *Tree) queueKey(k queues.Kind, q *queue) (needy bool, a float64, b int64) {
	var other float64
	switch k {
	case queues.FIFO:
		return false, 0, q.rank
	case queues.Fair:
		if floor := min(q.Min.Mem, q.Used.Mem+q.asked.Mem); q.Used.Mem < floor {
			other = 1
			if q.Weight > 0 {
				other = part(q.Used.Mem, t.Total.Mem) / q.Weight
			}
			return true, float64(q.Used.Mem) / float64(floor), second(other, q.rank)
		}
		a = float64(q.Used.Mem)
	case queues.DRF:
		mem, cores := part(q.Used.Mem, t.Total.Mem), part(q.Used.Cores, t.Total.Cores)
		held, floor, beside := q.Used.Mem, q.Min.Mem, part(q.Used.Cores, q.Min.Cores)
		if cores > mem {
			held, floor, beside = q.Used.Cores, q.Min.Cores, part(q.Used.Mem, q.Min.Mem)
		}
		if held < floor {
			return true, float64(held) / float64(floor), second(beside, q.rank)
		}
		a, other = max(mem, cores, q.Used.Extra.DominantShare(t.Total.Extra)), min(mem, cores)
	}
	if q.Weight <= 0 {
		return false, beyond * (1 + a), q.rank
	}
	return false, a / q.Weight, second(other/q.Weight, q.rank)
}

// appKey is a job's sort key in a leaf of kind k.
func (t *Tree) appKey(k queues.Kind, j *policy.Job) (a float64, b int64) {
	switch k {
	case queues.FIFO:
		return 0, j.Seq
	case queues.Fair:
		return float64(j.Used.Mem), j.Seq
	}
	mem, cores := part(j.Used.Mem, t.Total.Mem), part(j.Used.Cores, t.Total.Cores)
	return max(mem, cores, j.Used.Extra.DominantShare(t.Total.Extra)), second(min(mem, cores), j.Seq)
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
