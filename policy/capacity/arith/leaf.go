package arith

import (
	"fmt"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// Leaf holds the inputs of a leaf's limits: on its applications, its users and their AMs.
type Leaf struct {
	UserPercent float32 // minimum-user-limit-percent
	UserFactor  float32 // user-limit-factor
	AMPercent   float32
	OwnMaxApps  int // maximum-applications of the queue; -1: not set
	DefaultPrio int
	Fair        bool
	SizeWeight  bool

	MaxApps, MaxUserApps int // counts at which submissions are refused; see LimitCounts

	Apps       int // present
	ActiveApps int
	AMUsed     unit.Resources

	// CurLimit is what the queue could reach when it was last visited. It goes stale between visits, as in Hadoop.
	CurLimit unit.Resources

	Ratio       float32 // sum of the users' shares of the cluster, kept as it changes
	ActiveUsers int
	ActiveUsed  unit.Resources // held by active users
	OnlyPending int            // users with waiting and no activated applications

	Stale         bool // the users' limit needs computing
	limit         unit.Resources
	PendingCached int // OnlyPending when the limit was last computed
}

// User is one user of one leaf.
type User struct {
	Used    unit.Resources
	AM      unit.Resources // of activated applications' AMs
	Ratio   float32        // Used as a share of the cluster
	Active  int            // activated applications
	Pending int            // applications that wait for activation
	Asking  int            // applications that count as asking; > 0 makes the user active
}

// LeafOf is a leaf with the settings of a file.
func LeafOf(c *conf.Queue) Leaf {
	return Leaf{
		UserPercent: c.MinimumUserLimitPercent, UserFactor: c.UserLimitFactor, AMPercent: c.MaximumAMPercent,
		OwnMaxApps: c.MaximumApplications, DefaultPrio: c.DefaultApplicationPriority, Fair: c.Ordering == "fair", SizeWeight: c.SizeWeight,
	}
}

// LimitCounts sets how many applications the leaf and each of its users may have, given the limit for every queue and for the scheduler.
func (l *Leaf) LimitCounts(everyQueue, scheduler int, absCap float32, absolute bool) {
	l.MaxApps = MaxApplications(l.OwnMaxApps, everyQueue, scheduler, absCap, absolute)
	l.MaxUserApps = MaxUserApplications(l.MaxApps, l.UserPercent, l.UserFactor)
}

// Admit refuses an application that Hadoop would reject at submission: its user has ofUser here, and the scheduler total of most.
func (l *Leaf) Admit(path, user string, ofUser, total, most int) error {
	switch {
	case most >= 0 && total >= most:
		return &TooMany{"", "", total, most}
	case l.MaxApps >= 0 && l.Apps >= l.MaxApps:
		return &TooMany{path, "", l.Apps, l.MaxApps}
	case l.MaxUserApps >= 0 && ofUser >= l.MaxUserApps:
		return &TooMany{path, user, ofUser, l.MaxUserApps}
	}
	return nil
}

// TooMany refuses an application because of a limit on their number.
type TooMany struct {
	Queue, User string // whose limit; both empty: the scheduler's
	Apps, Max   int
}

func (e *TooMany) Error() string {
	switch {
	case e.User != "":
		return fmt.Sprintf("user %s already has %d applications in queue %s, the limit per user", e.User, e.Apps, e.Queue)
	case e.Queue != "":
		return fmt.Sprintf("queue %s already has %d applications, its limit", e.Queue, e.Apps)
	}
	return fmt.Sprintf("there are already %d applications, the limit set by maximum-applications", e.Apps)
}

// UserLimit is the usage above which a user gets no more. It is the same for all users (they have weight 1). It is recomputed
// only after a container of the leaf started or ended or a user became active or inactive.
func (l *Leaf) UserLimit(c Calculator, cluster, minA unit.Resources, b *Bounds) unit.Resources {
	if l.Stale {
		l.Stale, l.PendingCached = false, l.OnlyPending
		l.limit = c.UserLimit(&UserLimitInput{
			Cluster: cluster, EffMin: b.EffMin, EffMax: b.EffMax, MinA: minA,
			Ratio: l.Ratio, Active: float32(l.ActiveUsers), ActiveUsed: l.ActiveUsed, Percent: l.UserPercent, Factor: l.UserFactor,
		})
	}
	return l.limit
}

// Hold adds r (which may be negative) to a user's usage.
func (l *Leaf) Hold(c Calculator, cluster unit.Resources, u *User, r unit.Resources) {
	u.Used = u.Used.Add(r)
	ratio := c.Ratio(u.Used, cluster)
	l.Ratio += ratio - u.Ratio
	u.Ratio = ratio
	l.Stale = true
	if u.Asking > 0 {
		l.ActiveUsed = l.ActiveUsed.Add(r)
	}
}

// Ask counts one more (or one less) asking application of a user; the first makes the user active.
func (l *Leaf) Ask(u *User, n int) {
	was := u.Asking > 0
	u.Asking += n
	switch is := u.Asking > 0; {
	case is && !was:
		l.ActiveUsers++
		l.ActiveUsed = l.ActiveUsed.Add(u.Used)
		l.Stale = true
	case was && !is:
		l.ActiveUsers--
		l.ActiveUsed = l.ActiveUsed.Sub(u.Used)
		l.Stale = true
	}
}

// Count changes how many activated and waiting applications a user has.
func (l *Leaf) Count(u *User, active, pending int) {
	if u.Active == 0 && u.Pending > 0 {
		l.OnlyPending--
	}
	u.Active += active
	u.Pending += pending
	l.ActiveApps += active
	if u.Active == 0 && u.Pending > 0 {
		l.OnlyPending++
	}
}
