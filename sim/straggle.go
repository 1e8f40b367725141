package sim

import (
	"fmt"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Stragglers are task attempts that are slow for no observable reason. Which ones depends only on the seed, the task and the
// attempt number, so every policy sees the same ones, and another attempt of the same task is as likely to be one as any
// other.
type Stragglers struct {
	Share  float64 // of attempts, 0 to 1; 0: none
	Factor float64 // slowdown of a straggler
}

// maxFactor keeps a straggler's length far from overflow.
const maxFactor = 1e6

func (s *Stragglers) validate() error {
	if !(s.Share >= 0 && s.Share <= 1) {
		return fmt.Errorf("the share of tasks that are stragglers is %v: it must be from 0 to 1", s.Share)
	}
	if s.Share > 0 && !(s.Factor >= 1 && s.Factor <= maxFactor) {
		return fmt.Errorf("stragglers take %v times as long: it must be from 1 to %v", s.Factor, maxFactor)
	}
	return nil
}

// key identifies an attempt within its stage, for per-attempt draws. A copy is a different attempt from the one it races.
func (tk *task) key() uint64 {
	k := uint64(tk.number)<<16 | uint64(tk.attempt)
	if tk.flags&taskCopy != 0 {
		k ^= 1 << 15
	}
	return k
}

// slowness is the slowdown factor of an attempt.
func (e *engine) slowness(j *job, i int, key uint64) float64 {
	if e.model.Stragglers.Share == 0 {
		return 1
	}
	seed := workload.Seed(workload.Seed(e.cfg.Seed, seedStragglers), uint64(j.rec.Seq)<<16|uint64(i))
	if workload.Uniform01(seed, key) >= e.model.Stragglers.Share {
		return 1
	}
	return e.model.Stragglers.Factor
}

// lengthOf is how long an attempt of a task of stage i works on a node.
func (e *engine) lengthOf(j *job, i int, node int32, number int64, key uint64) unit.Time {
	length := j.stages[i].lengthOf(number)
	if f := e.slowness(j, i, key); f > 1 {
		length = unit.Time(min(float64(length)*f, float64(workload.MaxLength)))
	}
	if e.speeds != nil {
		length = e.onNode(j, node, length)
	}
	return length
}
