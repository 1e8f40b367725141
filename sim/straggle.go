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
	k := AttemptKey(tk.number, tk.attempt)
	if tk.flags&taskCopy != 0 {
		k ^= 1 << 15
	}
	return k
}

// AttemptKey is for engines: it identifies an attempt of a task within its stage.
func AttemptKey(number int64, attempt uint16) uint64 { return uint64(number)<<16 | uint64(attempt) }

// slowness is the slowdown factor of an attempt in stage i of the job that arrived as number seq.
func (m *Model) slowness(seed uint64, seq int64, i int, key uint64) float64 {
	if m.Stragglers.Share == 0 {
		return 1
	}
	seed = workload.Seed(workload.Seed(seed, seedStragglers), uint64(seq)<<16|uint64(i))
	if workload.Uniform01(seed, key) >= m.Stragglers.Share {
		return 1
	}
	return m.Stragglers.Factor
}

// Straggle is for engines: the length of an attempt, which may be a straggler, and its slowdown factor.
func (m *Model) Straggle(length unit.Time, seed uint64, seq int64, i int, key uint64) (unit.Time, float64) {
	f := m.slowness(seed, seq, i, key)
	if f > 1 {
		length = unit.Time(min(float64(length)*f, float64(workload.MaxLength)))
	}
	return length, f
}

// lengthOf is how long an attempt of a task of stage i works on a node.
func (e *engine) lengthOf(j *job, i int, node int32, number int64, key uint64) unit.Time {
	length, _ := e.model.Straggle(j.stages[i].lengthOf(number), e.cfg.Seed, j.rec.Seq, i, key)
	return e.speeds.Length(j.rates, node, length)
}
