package synth

import (
	"cmp"
	"fmt"
	"io"
	"math"

	"github.com/yardmaster/yardmaster/internal/heap"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// ScaleOptions says how a workload is scaled.
type ScaleOptions struct {
	Load   float64 // times as many jobs in the same time; 0 is 1
	Length float64 // times as long: the workload again and again, end to end; 0 is 1
	Seed   uint64
	// Shift is the maximum delay of a copy after its original; 0 is five minutes. Small against daily load
	// swings, it preserves the shape of the load and keeps copies from arriving simultaneously.
	Shift unit.Time
	// Period is the time from one repetition to the next. 0: the span of the workload, up to the next full hour when
	// that is less than 1 % away (so that days stay days), else up to the time the next job would be expected.
	Period unit.Time
}

// Scaled is a scaled workload. It holds the jobs of the original and the pending copies within
// Shift, nothing else.
type Scaled struct {
	base   workload.Slice
	opt    ScaleOptions
	round  int64
	at     int // next of base in this round
	made   int64
	wait   heap.Heap[workload.Held]
	rounds int64     // full ones
	rest   unit.Time // of the last, partial one
}

var _ workload.Source = (*Scaled)(nil)

// Scale scales base. Jobs keep their user, queue and stages; the first copy in the first repetition keeps its
// name, all others get new ones. A load of 2.3 is two copies of every job and a third of three in ten; a load below 1 thins out.
// Task lengths of copies differ wherever they are drawn from a distribution, since a run draws them by arrival.
func Scale(base workload.Slice, opt ScaleOptions) (*Scaled, error) {
	opt.Load = cmp.Or(opt.Load, 1)
	opt.Length = cmp.Or(opt.Length, 1)
	opt.Shift = cmp.Or(opt.Shift, 5*unit.Minute)
	if !(opt.Load > 0 && opt.Load <= 1e6) || !(opt.Length > 0 && opt.Length <= 1e6) || opt.Shift < 0 || opt.Period < 0 {
		return nil, fmt.Errorf("scale a workload %v times in load and %v times in length: want positive factors up to a million", opt.Load, opt.Length)
	}
	for i := 1; i < len(base); i++ {
		if base[i].Submit < base[i-1].Submit {
			return nil, fmt.Errorf("scale a workload: job %s is submitted before job %s, which it follows", base[i].ID, base[i-1].ID)
		}
	}
	if opt.Period == 0 {
		opt.Period = Period(base)
	}
	s := &Scaled{base: base, opt: opt, rounds: int64(opt.Length), wait: heap.Heap[workload.Held]{Before: workload.Held.Before}}
	s.rest = unit.Time((opt.Length - math.Floor(opt.Length)) * float64(opt.Period))
	if float64(opt.Period)*(opt.Length+1) > float64(unit.Never)/2 {
		return nil, fmt.Errorf("scale a workload of %v to %v times its length: too long", opt.Period, opt.Length)
	}
	return s, nil
}

// Period is how long a workload lasts, for repeating it: see ScaleOptions.
func Period(base workload.Slice) unit.Time {
	if len(base) == 0 {
		return unit.Hour
	}
	last := base[len(base)-1].Submit
	if full := (last + unit.Hour) / unit.Hour * unit.Hour; full-last < last/100 {
		return full
	}
	return max(last+unit.Second, last+last/unit.Time(len(base)))
}

// Next returns the next job; io.EOF after the last.
func (s *Scaled) Next() (*workload.Job, error) {
	for {
		job, start, more := s.peek()
		// All further copies come no earlier than the next job of the original.
		if len(s.wait.Items) > 0 && (!more || s.wait.Items[0].Job.Submit <= start+job.Submit) {
			return s.wait.Pop().Job, nil
		}
		if !more {
			return nil, io.EOF
		}
		s.copy(job, start)
		s.at++
	}
}

// peek finds the next job of the original and where its repetition starts.
func (s *Scaled) peek() (*workload.Job, unit.Time, bool) {
	for s.at >= len(s.base) {
		if len(s.base) == 0 || s.round >= s.rounds {
			return nil, 0, false
		}
		s.round, s.at = s.round+1, 0
	}
	job := s.base[s.at]
	if s.round > s.rounds || s.round == s.rounds && job.Submit >= s.rest {
		return nil, 0, false
	}
	return job, unit.Time(s.round) * s.opt.Period, true
}

func (s *Scaled) copy(job *workload.Job, start unit.Time) {
	seed := workload.Seed(workload.Seed(s.opt.Seed, uint64(s.round)), uint64(s.at))
	n := int64(s.opt.Load)
	if workload.Uniform01(seed, 0) < s.opt.Load-float64(n) {
		n++
	}
	for c := range n {
		j := *job
		by := start
		if c > 0 {
			by += unit.Time(workload.Uniform01(seed, uint64(c)) * float64(s.opt.Shift))
		}
		j.Submit += by
		if j.Deadline > 0 {
			j.Deadline += by
		}
		if s.round > 0 || c > 0 {
			j.ID = fmt.Sprintf("%s.%d.%d", job.ID, s.round+1, c+1)
			j.Observed = nil // a copy was not observed
		}
		s.wait.Push(workload.Held{Job: &j, N: s.made})
		s.made++
	}
}

// Assumptions lists what was done to the workload, for users.
func (s *Scaled) Assumptions() []string {
	if s.opt.Load == 1 && s.opt.Length == 1 {
		return nil
	}
	return []string{fmt.Sprintf("workload scaled up: %.4g times the load (copies shifted by up to %v), %.4g times the length (repeated each %v), seed %d",
		s.opt.Load, s.opt.Shift, s.opt.Length, s.opt.Period, s.opt.Seed)}
}
