package watch

import (
	"cmp"
	"maps"
	"slices"

	"github.com/yardmaster/yardmaster/whatif/goal"
)

// Verdict says whether a bound is broken, and by whose applications.
type Verdict struct {
	Broken, Rejects bool
	Alone           bool   // it would hold without the applications of User, who does not decide alone: it counts as kept
	Sole            bool   // User runs nearly everything there: without theirs there are too few applications to conclude anything
	User            string // of Alone or Sole
	Users           []User // with applications since the change; those that matter most come first
}

// User is a user's part in a figure since the change.
type User struct {
	Name    string
	Failed  int
	Seconds float64 // the sum of the figure
}

// minRest is how many applications must remain without a user's to agree that a bound is broken: fewer than to find that out, or a queue of two users could
// starve until each of them had MinApps. Their interval must exclude the bound all the same.
const minRest = MinApps / 2

// maxUsers is how many users are left out in turn, by failures and by time: others have too little weight to decide.
const maxUsers = 5

// Judge decides about a bound, given its figure. A broken bound rolls a change back for everybody, so it takes more than one user to break it: it must be broken
// without the applications of any one user, too. Somebody who wants the old settings back could otherwise submit applications that fail. The exception is a queue
// in which one user runs nearly everything: it is theirs to judge.
func (w *Watch) Judge(b goal.Bound, f *Figure) (v Verdict) {
	if v.Rejects, v.Broken = f.Rejects(), w.Broken(b, f); !v.Rejects && !v.Broken {
		return Verdict{}
	}
	v.User, v.Sole = w.sole(b.Goal)
	users := map[string]*User{}
	for _, a := range w.since {
		s, ok := a.figure(b.Figure)
		if !in(&a, b.Goal) {
			continue
		}
		u := users[a.User]
		if u == nil {
			u = &User{Name: a.User}
			users[a.User] = u
		}
		switch {
		case !a.Finished.IsZero() && !a.Succeeded:
			u.Failed++
		case ok:
			u.Seconds += s
		}
	}
	for _, u := range users {
		v.Users = append(v.Users, *u)
	}
	byTime := func(a, b User) int { return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Name, b.Name)) }
	slices.SortFunc(v.Users, byTime)
	suspects := slices.Clone(v.Users[:min(len(v.Users), maxUsers)])
	if v.Rejects {
		slices.SortFunc(v.Users, func(a, b User) int { return cmp.Or(cmp.Compare(b.Failed, a.Failed), byTime(a, b)) })
		suspects = append(suspects, v.Users[:min(len(v.Users), maxUsers)]...)
	}
	for _, u := range suspects {
		if v.Sole && u.Name == v.User {
			continue
		}
		rest := w.without(u.Name)
		if g, err := rest.Measure(b.Goal); err != nil || !g.Rejects() && !rest.Broken(b, &g) {
			return Verdict{Alone: true, User: u.Name, Users: v.Users}
		}
	}
	return v
}

// sole is the user with the most applications before the change, if too few remain without theirs.
func (w *Watch) sole(g goal.Goal) (user string, is bool) {
	counts, all := map[string]int{}, 0
	for i := range w.before {
		if a := &w.before[i]; a.Succeeded && in(a, g) {
			counts[a.User]++
			all++
		}
	}
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	if len(names) == 0 || all-counts[names[0]] >= MinApps {
		return "", false
	}
	return names[0], true
}

// without is the watch without the applications of a user.
func (w *Watch) without(user string) *Watch {
	rest := *w
	rest.pairs = minRest
	rest.before = slices.DeleteFunc(slices.Clone(w.before), func(a App) bool { return a.User == user })
	rest.since = maps.Clone(w.since)
	maps.DeleteFunc(rest.since, func(_ string, a App) bool { return a.User == user })
	return &rest
}
