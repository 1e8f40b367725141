package arith

import "github.com/yardmaster/yardmaster/unit"

// Limits of users and of AMs: the formulas that both the order of an ideal engine and the scheduler of a modelled
// ResourceManager use.

// UserLimitInput holds the inputs of a user's limit in a leaf.
type UserLimitInput struct {
	Cluster, EffMin, EffMax, MinA unit.Resources
	Ratio                         float32        // sum of all users' shares of the cluster
	Active                        float32        // weight of the active users
	ActiveUsed                    unit.Resources // what they hold
	Percent, Factor               float32        // minimum-user-limit-percent, user-limit-factor
}

// UserLimit is the formula of UsersManager.computeUserLimit: the larger of an equal part among active users and the
// guaranteed percentage, of what the leaf has or already uses, below factor times the guarantee.
func (c Calculator) UserLimit(in *UserLimitInput) unit.Resources {
	guaranteed := c.Max(in.Cluster, in.EffMin, in.MinA)
	current := c.current(in, guaranteed)
	return c.cap(in, guaranteed, current, c.DivCeil(in.ActiveUsed.Add(in.MinA), in.Active))
}

// current is what users share: the guarantee, or usage plus one step once usage has reached the guarantee.
func (c Calculator) current(in *UserLimitInput, guaranteed unit.Resources) unit.Resources {
	consumed := c.MulUp(in.Cluster, float64(in.Ratio), in.MinA)
	if c.Compare(in.Cluster, consumed, guaranteed) < 0 {
		return guaranteed
	}
	return consumed.Add(in.MinA)
}

func (c Calculator) cap(in *UserLimitInput, guaranteed, current, equal unit.Resources) unit.Resources {
	part := c.PercentCeil(MulFloor(current, float64(in.Percent)))
	most := MulFloor(guaranteed, float64(in.Factor))
	if in.Factor == -1 || c.Compare(in.Cluster, in.EffMin, unit.Resources{}) == 0 {
		most = c.Down(in.EffMax, in.MinA)
	}
	limit := c.Up(c.Min(in.Cluster, c.Max(in.Cluster, equal, part), most), in.MinA)
	return c.MulDown(limit, 1, in.MinA)
}

// AMLimit is what the AMs of all activated applications of a leaf may hold together. Current is what the leaf could
// reach when it was last visited.
func (c Calculator) AMLimit(current, effMin unit.Resources, percent float32, minA unit.Resources) unit.Resources {
	if !c.Fits(effMin, current) {
		current = effMin
	}
	return c.MulUp(current, float64(percent), minA)
}

// UserAMLimit is what the AMs of one user's activated applications may hold together, of the leaf's guarantee. Users
// counts those that are active or have only waiting applications; userPercent and factor are the leaf's user limits.
func (c Calculator) UserAMLimit(cluster, amLimit, effMin unit.Resources, percent, userPercent, factor float32, users int, minA unit.Resources) unit.Resources {
	f := percent
	if factor != -1 {
		e := min(max(userPercent/100, 1/float32(max(users, 1))), 1)
		f = float32(float32(percent*e) * factor)
	}
	return c.Min(cluster, c.MulUp(effMin, float64(f), minA), amLimit)
}

// MaxApplications is the maximum number of applications in a leaf: its own setting, else the limit for every queue, else its share
// of the scheduler's maximum. Negative: no limit.
func MaxApplications(own, everyQueue, scheduler int, absCap float32, absolute bool) int {
	switch {
	case own >= 0:
		return own
	case scheduler < 0:
		return -1
	case everyQueue > 0 && !absolute:
		return min(everyQueue, scheduler)
	}
	return int(float32(scheduler) * absCap)
}

// MaxUserApplications is how many of them one user may have.
func MaxUserApplications(leaf int, userPercent, factor float32) int {
	if leaf < 0 || factor == -1 {
		return leaf
	}
	return min(leaf, int(float32(float32(leaf)*float32(userPercent/100))*factor))
}
