package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/whatif/goal"
	"github.com/yardmaster/yardmaster/whatif/watch"
)

// verdict says why a bound is broken, and by whose applications; "": it is not, or one user alone would have it so.
func (a *applying) verdict(b goal.Bound, f *watch.Figure) string {
	v := a.watch.Judge(b, f)
	switch {
	case v.Alone:
		note := fmt.Sprintf("%s is broken by the applications of %.40q only: one user alone does not decide", b, v.User)
		if !slices.Contains(a.record.Alone, note) {
			a.tell("%s.", note)
			a.record.Alone = append(a.record.Alone, note)
		}
		return ""
	case v.Rejects:
		return fmt.Sprintf("%s: %d applications of %s failed or were rejected (%s)", b, f.Failed, b.Queue, whose(&v, func(u *watch.User) bool { return u.Failed > 0 }))
	case v.Broken:
		return fmt.Sprintf("%s: the %s went from %s to %s, %s or more (%s)", b, f.Statistic, seconds(f.Before), seconds(f.Since), percent(f.Low),
			whose(&v, func(u *watch.User) bool { return u.Seconds > 0 }))
	}
	return ""
}

// whose names the users that a verdict is based on.
func whose(v *watch.Verdict, is func(*watch.User) bool) string {
	var names []string
	others := 0
	for i := range v.Users {
		switch u := &v.Users[i]; {
		case !is(u):
		case len(names) == 5:
			others++
		case v.Rejects:
			names = append(names, fmt.Sprintf("%.40q: %d", u.Name, u.Failed))
		default:
			names = append(names, fmt.Sprintf("%.40q", u.Name))
		}
	}
	text := strings.Join(names, ", ")
	if others > 0 {
		text += fmt.Sprintf(" and %d others", others)
	}
	if v.Sole {
		text += fmt.Sprintf("; %.40q runs nearly everything there", v.User)
	}
	return text
}
