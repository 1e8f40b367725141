package shuffle

import (
	"cmp"
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

// Reason says how long a user waits.
func (b Bound) Reason(limit string, w *Wait, now unit.Time) policy.Reason {
	r := policy.Reason{Limit: limit, Count: w.n, MaxCount: b.Skips}
	if b.Timed {
		r = policy.Reason{Limit: limit, MaxWait: b.Time}
		if w.n > 0 {
			r.Waited = now - w.since
		}
	}
	return r
}

// Explain appends what holds back a job's next container on any node: the share of its maps that must be done before its reduces start, by the name of the
// setting, and the cap of reduces; then the jobs of users that come first, and those of its own user.
func (o *Users) Explain(v *policy.Job, setting string, start float64, to []policy.Reason) []policy.Reason {
	j, at, kind := o.Of(v.Index), &o.positions[v.Index], Others
	switch {
	case at.in[Maps] > 0:
		kind = Maps
	case at.in[Reduces] > 0:
		kind = Reduces
		if j.Progress() < start-slack {
			to = append(to, policy.Reason{Limit: setting, Count: j.done, MaxCount: int64(math.Ceil(start*float64(j.Maps) - slack))})
		} else if stage := max(j.Open(true, policy.MapSlot), j.Open(true, policy.ReduceSlot)); o.Capped(j.Stages[stage].Slot) || !o.Spare(j, j.Stages[stage].Ask, nil) {
			to = append(to, policy.Reason{Limit: "capped"})
		}
	}
	var r policy.Reason
	o.Each(kind, func(u *User, jobs []int32) bool {
		own := u == o.UserOf(j)
		jobs = slices.Clone(jobs)
		slices.SortFunc(jobs, func(a, b int32) int {
			x, y := o.Of(a), o.Of(b)
			return cmp.Or(cmp.Compare(x.Running, y.Running), cmp.Compare(x.Seq, y.Seq))
		})
		for _, i := range jobs {
			if i == v.Index {
				break
			}
			r.Precede(o.Of(i).ID)
		}
		return !own
	})
	return r.Append(to)
}
