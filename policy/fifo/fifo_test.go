package fifo

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policytest"
	"github.com/yardmaster/yardmaster/unit"
)

func TestScenarios(t *testing.T) {
	policytest.Golden(t, "testdata", func(string) (policy.Policy, error) { return Entry.New(nil) })
}

// The order must be that of a plain sort, whatever happened before.
func TestAgainstSorting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := policytest.New(New(), unit.Resources{Mem: 1 << 40, Cores: 1 << 40})
		var live []*policytest.Job
		for i := range rapid.IntRange(1, 60).Draw(t, "steps") {
			pick := func() *policytest.Job { return live[rapid.IntRange(0, len(live)-1).Draw(t, "job")] }
			switch op := rapid.IntRange(0, 4).Draw(t, "op"); {
			case op <= 1 || len(live) == 0:
				j := &policytest.Job{Job: policy.Job{ID: fmt.Sprint("j", i), Priority: rapid.IntRange(-2, 2).Draw(t, "priority")}}
				if err := e.Arrive(j, rapid.Int64Range(0, 3).Draw(t, "tasks"), unit.Resources{Mem: 1, Cores: 1}); err != nil {
					t.Fatal(err)
				}
				live = append(live, j)
			case op == 2:
				e.Start()
			case op == 3:
				j := pick()
				old := j.Priority
				j.Priority = rapid.IntRange(-2, 2).Draw(t, "priority")
				e.Order.(policy.Knobs).SetPriority(&j.Job, old)
			default:
				j := pick()
				e.Leave(j)
				live = slices.DeleteFunc(live, func(x *policytest.Job) bool { return x == j })
			}
			var want []*policytest.Job
			for _, j := range live {
				if j.Pending > 0 {
					want = append(want, j)
				}
			}
			slices.SortFunc(want, func(a, b *policytest.Job) int {
				return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.Seq, b.Seq))
			})
			got := e.Ranking()
			if len(got) != len(want) {
				t.Fatalf("%d jobs ranked, want %d", len(got), len(want))
			}
			for i := range want {
				if got[i] != want[i].ID {
					t.Fatalf("rank %d is %s, want %s", i, got[i], want[i].ID)
				}
			}
		}
	})
}

func TestNoQueues(t *testing.T) {
	f := New()
	if _, err := f.SetQueue("a", "weight", 2); err == nil {
		t.Error("set a queue's weight")
	}
	if err := f.Move(&policy.Job{}, "a"); err != nil {
		t.Error(err)
	}
}

func BenchmarkDecision(b *testing.B) {
	for _, n := range []int{1, 100, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) { policytest.Bench(b, New(), n, nil) })
	}
}
