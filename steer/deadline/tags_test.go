package deadline

import (
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/unit"
)

func TestGoalOf(t *testing.T) {
	at := func(s string) unit.Time {
		x, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return unit.Time(x.UnixMicro())
	}
	submitted := at("2026-11-15T12:00:00Z")
	six := at("2026-11-15T18:00:00Z")
	for _, c := range []struct {
		tags string
		goal unit.Time
		why  string // a part of it
	}{
		{"", unit.Never, ""},
		{"nightly,team:etl", unit.Never, ""},
		{"deadlines:5", unit.Never, ""},
		{"deadline:2026-11-15T18:00Z", six, ""},
		{"deadline:2026-11-15t18:00z", six, ""}, // as YARN returns it
		{"deadline:2026-11-15T18:00:00Z", six, ""},
		{"deadline:2026-11-15T19:00+01:00", six, ""},
		{"nightly, deadline:2026-11-15T18:00:00.000Z ", six, ""},
		{"DEADLINE:1794765600", six, ""},
		{"deadline:1794765600.5", six + 500*unit.Millisecond, ""},
		{"goal:6h", six, ""},
		{"goal:360m", six, ""},
		{"goal:6h,deadline:2026-11-15T18:00Z", six, ""},
		{"goal:6h,goal:7h", unit.Never, "several"},
		{"goal:", unit.Never, "not a length of time"},
		{"goal", unit.Never, "not a length of time"},
		{"goal:-5m", unit.Never, "not a length of time"},
		{"goal:0s", unit.Never, "not a length of time"},
		{"goal:NaN", unit.Never, "not a length of time"},
		{"goal:1e300h", unit.Never, "not a length of time"},
		{"goal:367d", unit.Never, "more than a year"},
		{"goal:100000d", unit.Never, "more than a year"},
		{"goal:" + strings.Repeat("0", 50) + "5s", unit.Never, "not a length of time"},
		{"deadline:", unit.Never, "not an instant"},
		{"deadline:tomorrow", unit.Never, "not an instant"},
		{"deadline:2026-13-15T18:00Z", unit.Never, "not an instant"},
		{"deadline:2026-11-15T18:00", unit.Never, "not an instant"}, // in which zone?
		{"deadline:NaN", unit.Never, "not an instant"},
		{"deadline:Inf", unit.Never, "not an instant"},
		{"deadline:-5", unit.Never, "not an instant"},
		{"deadline:1e300", unit.Never, "not an instant"},
		{"deadline:1", unit.Never, "not after its submission"}, // it would be served before all others for ever
		{"deadline:2026-11-15T12:00Z", unit.Never, "not after its submission"},
		{"deadline:9999-01-01T00:00Z", unit.Never, "more than a year"},
		{"deadline:" + strings.Repeat("1", 60), unit.Never, "too long"},
		{"goal:6h," + strings.Repeat("x", 5000), unit.Never, "too long"},
	} {
		goal, why := goalOf(c.tags, submitted)
		if goal != c.goal || (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%.80q: %v %q, want %v %q", c.tags, goal, why, c.goal, c.why)
		}
	}
}

func FuzzGoalOf(f *testing.F) {
	for _, s := range []string{"goal:30m", "deadline:2026-11-15T18:00Z", "deadline:1700000000", "a,b,goal:1h,", "goal:9e99d", "deadline:\xff"} {
		f.Add(s, int64(1_794_744_000_000_000))
	}
	f.Fuzz(func(t *testing.T, tags string, submitted int64) {
		if submitted < 0 || submitted > 1e17 {
			return
		}
		goal, why := goalOf(tags, unit.Time(submitted))
		if goal != unit.Never && (goal <= unit.Time(submitted) || goal-unit.Time(submitted) > farthest || why != "") {
			t.Errorf("%q: %v %q", tags, goal, why)
		}
		if len(why) > 250 || strings.ContainsAny(why, "\n\r\x1b") {
			t.Errorf("%q: %q", tags, why)
		}
	})
}
