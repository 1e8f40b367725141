package report

import (
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/result"
)

// The picture of a steered run: steps at the instants at which changes were in force, and none for one that never was.
func TestSteering(t *testing.T) {
	d := sample(50, eightQueues[:1], "fair.xml + cbtws")
	d.Runs[0].Result.Steering = &result.Steering{
		Policy: "cbtws", Queue: "root.default", Looks: 1234, Decisions: []result.SteerCount{{Kind: "wait", Count: 1231}, {Kind: "raise", Count: 3}},
		Changes: []result.SteerChange{
			{Asked: 10, InForce: 25, Old: 0.05, New: 0.1, Why: "<b>idle</b>"},
			{Asked: 40, InForce: 41, New: 0.15, Why: "lost", Failed: "written over"},
			{Asked: 41, InForce: 50, Old: 0.1, New: 0.2, Why: "more"},
			{Asked: 90, InForce: 100, Old: 0.2, New: 0.05, Why: "back"},
		},
		Found: 0.05, Least: 0.05, Most: 0.2, Final: 0.05, Restored: true,
		Points: []result.SteerPoint{{At: 0, Share: 0.05, Running: 1, Waiting: 3}, {At: 50, Share: 0.2, Running: 4}},
	}
	html := write(t, d)
	keep(t, "steered", html)
	has(t, html, "What the steering did", "cbtws on root.default", "1,234 samples: 1,231 wait, 3 raise", "0.05 found, between 0.05 and 0.2, 0.05 at the end",
		"&lt;b&gt;idle&lt;/b&gt;", "lost; written over",
		// From 60 to 890 over 100 s; the top is 0.22, 100 points above the foot at 114.
		`d="M60.0 91.3H267.5V68.5H475.0V23.1H890.0V91.3H890.0"`,
		`d="M60.0 200.0H475.0V140.0H890.0"`, `d="M60.0 160.0H475.0V220.0H890.0"`)
	if strings.Contains(html, "not restored") {
		t.Error("it was put back")
	}
	d.Runs[0].Result.Steering = &result.Steering{Policy: "cbt", Queue: "root.a", Found: 0.1, Final: 0.2}
	if html := write(t, d); strings.Contains(html, "<svg class=\"steps\"") || !strings.Contains(html, "the original values were not restored") {
		t.Error("nothing was seen, so there is no picture; and it was not put back")
	}
}
