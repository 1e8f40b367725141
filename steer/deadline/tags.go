package deadline

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time" //nolint:depguard // parses the instants of tags; reads no clock

	"github.com/yardmaster/yardmaster/unit"
)

// Limits of tags: they are user input. YARN allows ten tags of 100 characters.
const (
	longestTags  = 4096
	longestValue = 40
	farthest     = 366 * unit.Day // of a goal, after the submission
)

// goalOf reads a job's goal from its tags; Never: it has none. why says what is wrong with a tag that should be one.
func goalOf(tags string, submitted unit.Time) (goal unit.Time, why string) {
	if len(tags) > longestTags {
		return unit.Never, "its tags are too long"
	}
	goal = unit.Never
	for tag := range strings.SplitSeq(tags, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(tag), ":")
		var g unit.Time
		switch name = strings.ToLower(name); name {
		default:
			continue
		case "deadline":
			g, why = instant(value)
		case "goal":
			t, err := unit.ParseTime(value)
			if g = submitted + min(t, 2*farthest); err != nil || t <= 0 || len(value) > longestValue {
				why = "is not a length of time, such as 30m"
			}
		}
		switch {
		case why != "":
		case g <= submitted:
			why = "is not after its submission"
		case g-submitted > farthest:
			why = "is more than a year after its submission"
		case goal != unit.Never && goal != g:
			return unit.Never, "it has several deadlines"
		}
		if why != "" {
			return unit.Never, fmt.Sprintf("its tag %s:%.*q %s", name, longestValue, value, why)
		}
		goal = g
	}
	return goal, ""
}

// instant reads a time: seconds, or RFC 3339 with or without seconds, in either case: YARN changes tags to lower case.
func instant(value string) (t unit.Time, why string) {
	if len(value) > longestValue {
		return 0, "is too long"
	}
	if s, err := strconv.ParseFloat(value, 64); err == nil {
		if !(s > 0 && s < 1e11) || math.IsNaN(s) {
			return 0, "is not an instant"
		}
		return unit.FromSeconds(s), ""
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z07:00"} {
		if at, err := time.Parse(layout, strings.ToUpper(value)); err == nil {
			return unit.Time(at.UnixMicro()), ""
		}
	}
	return 0, "is not an instant, such as 2026-11-15T18:00Z"
}
