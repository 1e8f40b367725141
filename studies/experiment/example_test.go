package experiment_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/studies/experiment"
)

// Study asks whether a second server halves the wait.
func Study() *experiment.Study {
	serve := func(servers float64) func(context.Context, uint64) (experiment.Metrics, error) {
		return func(_ context.Context, seed uint64) (experiment.Metrics, error) {
			load := 80 + float64(seed%7) // stands for a workload drawn from the seed
			return experiment.Metrics{"wait": load / servers, "jobs": 100}, nil
		}
	}
	return &experiment.Study{
		Name: "servers", Title: "One server or two", Source: "A. Author, Queues in practice, 2013",
		Assumptions: []string{"both servers are alike"},
		Experiments: []experiment.Experiment{
			{
				ID: "Q1", Group: "servers", Title: "one server", Run: serve(1),
				Setup:    []experiment.Pair{{Name: "servers", Value: "1"}},
				Reported: []experiment.Reported{{Metric: "wait", What: "Mean wait", Unit: "s", Paper: 82}},
			},
			{
				ID: "Q2", Group: "servers", Title: "two servers", Run: serve(2),
				Setup:    []experiment.Pair{{Name: "servers", Value: "2"}},
				Reported: []experiment.Reported{{Metric: "wait", What: "Mean wait", Unit: "s", Paper: 39}},
			},
		},
		Checks: []experiment.Check{
			{
				ID: "Q2-shorter", Strength: experiment.A, Text: "With two servers jobs wait less", Paper: "82 to 39 s",
				Judge: experiment.Falls(experiment.Of("Q1", "wait"), experiment.Of("Q2", "wait")),
			},
			{
				ID: "Q2-third", Strength: experiment.B, Text: "They wait a third as long", Paper: "a third",
				Judge: experiment.Changes(experiment.Of("Q1", "wait"), experiment.Of("Q2", "wait"), -0.75, -0.6),
				Why:   "two servers halve the wait: the source's own figures say so, 39 of 82",
			},
		},
	}
}

func Example() {
	study := Study()
	selected, err := experiment.Select([]*experiment.Study{study}, []string{"servers/Q1..Q2"})
	if err != nil {
		panic(err)
	}
	findings, err := experiment.Run(context.Background(), experiment.Plan{Selected: selected, Seeds: experiment.Seeds(1, 10)})
	if err != nil {
		panic(err)
	}
	experiment.Console{}.Write(os.Stdout, findings)
	// Output:
	// servers: One server or two
	// 2 experiments, 10 seeds (1 to 10)
	//
	// check          verdict  source      ours
	// Q2-shorter  A  PASS     82 to 39 s  82.7 → 41.4, -50.0 %
	//     says: With two servers jobs wait less
	// Q2-third    B  MISS     a third     82.7 → 41.4, -50.0 %
	//     says: They wait a third as long
	//     why:  two servers halve the wait: the source's own figures say so, 39 of 82
	//
	// A: 1 pass, 0 miss. B: 1 miss.
}

// The page prints the study above word for word.
func TestTheStudyOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../docs/add-a-study.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, code, ok := strings.Cut(string(page), "```go\n")
	code, _, ok2 := strings.Cut(code, "```")
	if !ok || !ok2 || !strings.Contains(string(source), code) {
		t.Error("docs/add-a-study.md and example_test.go differ: the page has the function Study")
	}
}
