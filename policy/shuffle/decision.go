package shuffle

import "github.com/yardmaster/yardmaster/policy"

// Decision is the choice for one free container.
type Decision struct {
	*policy.Offer
	Try   func(*policy.Job) policy.Verdict
	Store policy.Storage // nil: the engine does not let an order choose the stage
	Took  bool
}

// Decision starts the choice for an offer.
func (o *Users) Decision(of *policy.Offer, try func(*policy.Job) policy.Verdict) Decision {
	return Decision{Offer: of, Try: try, Store: o.Store}
}

// Propose proposes a task of a stage, and reports whether the decision is over.
func (d *Decision) Propose(j *Job, stage int) (over bool) {
	if d.Store == nil && stage != j.Front {
		return false
	}
	d.Stage = stage
	v := d.Try(j.Job)
	d.Took = v == policy.Took
	return v != policy.Pass
}

// Fits reports whether a container of a stage, or what a job wants before its stages, fits on the offered node.
func (d *Decision) Fits(j *Job, stage int) bool {
	ask := j.Ask
	switch {
	case stage < 0 && stage != j.Front:
		return false
	case stage >= 0 && stage < len(j.Stages):
		ask = j.Stages[stage].Ask
	}
	return d.Node == nil || ask.Fits(d.Node.Free)
}

// Others starts an AM or a container that a job keeps, and reports whether the decision is over.
func (o *Users) Others(d *Decision) (over bool) {
	o.Each(Others, func(_ *User, jobs []int32) bool {
		var first *Job
		for _, i := range jobs {
			if j := o.Of(i); (first == nil || j.Seq < first.Seq) && d.Fits(j, j.Front) {
				first = j
			}
		}
		over = first != nil && d.Propose(first, first.Front)
		return !over
	})
	return over
}
