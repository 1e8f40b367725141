package conform

import (
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/studies/lab/hadoop/sls"
)

func TestWrite(t *testing.T) {
	s := &Scenario{About: "something", Options: sls.Options{Name: "some", Jobs: []sls.Job{{ID: warmUp}, {ID: "a", Tasks: []sls.Task{{Count: 4}}}}}}
	bad := Distance{Jobs: 1, Median: 0.031, P95: 0.02, MeanAbs: 0.02, Within5: 0.5, Order: 1, Tau: 1, Placed: 0.25, First: 3, FirstAt: 12.3, Total: 5}
	good := Distance{Jobs: 1, Within5: 1, Order: 1, Tau: 1, Placed: 1, First: -1, Total: 5}
	rows := []Row{{
		Scenario: s, Twice: true, Spread: good, Why: "median",
		Runs: []RunResult{{Phases: bad, Instants: good, SLS: sls.Machine{Wall: 100, StartUp: 10, CPU: 8, SlipP95: 77}, cost: cost{50 * time.Millisecond, 40 * time.Millisecond}}},
	}}
	text, err := Page(rows, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"## Result: of 1 scenarios, 0 meet the bar, 0 more lie within SLS's own spread, 1 miss",
		"| some | 1 | 5 | 3.1 % / 2.0 % / 2.0 %, 50 % | 0.0 % / 0.0 % / 0.0 %, 100 % | 0.0 % / 0.0 % / 0.0 %, 100 % |",
		"| none of 5 | **missed**: median |",
		"- **some**: with the logged instants it is within the bar",
		"late by 77 ms",
		"| ratio | 2000 (without start-up 1800) | 200 |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
