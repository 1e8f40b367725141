package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/internal/term"
	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

// steeringLines say who steered, what was decided, and how the share moved.
func steeringLines(s *result.Steering) []string {
	var kinds []string
	for _, k := range s.Decisions {
		kinds = append(kinds, count(k.Count)+" "+k.Kind)
	}
	lines := []string{
		fmt.Sprintf("%s on %s, %s samples: %s", s.Policy, s.Queue, count(s.Looks), strings.Join(kinds, ", ")),
		"what it saw was " + unit.FormatSeconds(s.Delays.Sense) + " old; a change was in force " + steerDelay(s.Delays),
		fmt.Sprintf("%s %s found, %s to %s, %s at the end", s.SeriesName(), decimal(s.Found), decimal(s.Least), decimal(s.Most), decimal(s.Final)),
	}
	if s.Series == result.JobKnobs {
		lines[2] = fmt.Sprintf("%s: %s changes made, %s refused", s.Series, count(s.Made), count(s.Refused))
	}
	if !s.Restored {
		lines[2] += ": the original value was NOT restored"
	}
	for _, k := range s.Decisions {
		switch {
		case k.Kind != steer.Refuse:
		case k.Count == s.Looks:
			lines = append(lines, "it could not act on any sample: "+s.Blind)
		case 2*k.Count > s.Looks:
			lines = append(lines, "it could not act on most samples; the last time: "+s.Blind)
		}
	}
	return lines
}

func steerDelay(d result.SteerDelays) string {
	switch {
	case d.Poll > 0:
		return fmt.Sprintf("at a poll of the file, every %s, that found it more than %s old", unit.FormatSeconds(d.Poll), unit.FormatSeconds(d.Age))
	case d.Queue > 0:
		return unit.FormatSeconds(d.Queue) + " later"
	}
	return "at once"
}

func decimal(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// shownChanges is as many as fit a screen.
const shownChanges = 20

// showChanges prints what a steering policy changed.
func showChanges(w io.Writer, s *result.Steering, ink term.Ink) {
	if s == nil || len(s.Changes) == 0 {
		return
	}
	head := "share asked at"
	if s.Series != "" {
		head = "asked at"
	}
	t := term.Table{Head: []string{head, "in force", "old", "new", "why"}, Left: 5, Ink: ink}
	for _, c := range s.Changes[:min(len(s.Changes), shownChanges)] {
		force, why := unit.FormatSeconds(c.InForce), c.Why
		before, after := c.Values()
		if s.Series != "" {
			why = c.Knob + ": " + why
		}
		if c.Failed != "" {
			force, before, why = "never", "", why+"; "+c.Failed
		}
		t.Add(unit.FormatSeconds(c.Asked), force, before, after, why)
	}
	fmt.Fprintln(w, draw(t))
	if more := int64(len(s.Changes)-shownChanges) + s.MoreChanges; more > 0 {
		say(w, fmt.Sprintf("and %s more changes: the result (--json, --out) has them", count(more)))
		fmt.Fprintln(w)
	}
}
