package sim_test

import (
	"context"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// taking is a job of one stage whose tasks take so many seconds.
func taking(id string, at unit.Time, seconds ...int64) *workload.Job {
	j := oneStage(id, at, int64(len(seconds)), 0)
	j.Stages[0].Length = workload.Lengths{Kind: workload.List}
	for _, s := range seconds {
		j.Stages[0].Length.Values = append(j.Stages[0].Length.Values, unit.Time(s)*unit.Second)
	}
	return j
}

// times repeats a number.
func times(n int, seconds int64) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = seconds
	}
	return out
}

// When copies start, to the second: what the rules say about the gap, the minute, the tasks that have not been started, and nodes.
func TestRulesOfSpeculation(t *testing.T) {
	roomy := cluster.Uniform(5, 1, cluster.Unit.Times(4))
	three := cluster.Uniform(4, 1, cluster.Unit.Times(2))
	late := []sim.Loss{{Node: "node4", At: 0, For: 70 * unit.Second}}
	for _, c := range []struct {
		name         string
		cluster      *cluster.Cluster
		losses       []sim.Loss
		jobs         workload.Slice
		hadoop, late []int64 // in seconds, when copies start
	}{
		{
			// At its worst, when nine are done, the last is 18 points behind the average of all ten. LATE compares paces.
			"18 points", roomy, nil, workload.Slice{taking("j", 0, append(times(9, 200), 250)...)}, nil, []int64{60},
		},
		{
			// It falls 20 points behind 193 s after the start, and the next look is at 195.
			"20 points", roomy, nil, workload.Slice{taking("j", 0, append(times(9, 200), 260)...)}, []int64{195}, []int64{60},
		},
		{
			"not before a minute", roomy, nil, workload.Slice{taking("j", 0, append(times(9, 10), 100)...)}, []int64{60}, []int64{60},
		},
		{
			"too short", roomy, nil, workload.Slice{taking("j", 0, append(times(9, 5), 59)...)}, nil, nil,
		},
		{
			// Two containers: one works through the other nineteen, whose last starts at 540.
			"not before all have been started", cluster.Uniform(2, 1, cluster.Unit), nil,
			workload.Slice{taking("j", 0, append([]int64{1000}, times(19, 30)...)...)}, []int64{570}, []int64{570},
		},
		{
			// All alike: nobody is behind.
			"alike", roomy, nil, workload.Slice{taking("j", 0, times(20, 300)...)}, nil, nil,
		},
		{
			// Only a node that was away has room. Hadoop takes it as soon as it is back, LATE does not trust it.
			"a node that has done nothing", three, late,
			workload.Slice{taking("a", 0, append(times(5, 50), 1000)...), taking("b", 55*unit.Second, times(5, 2000)...)}, []int64{70}, nil,
		},
	} {
		for rule, want := range map[string][]int64{sim.SpeculateHadoop: c.hadoop, sim.SpeculateLATE: c.late} {
			l := &lives{}
			_, err := sim.Run(context.Background(), sim.Config{
				Cluster: c.cluster, Source: c.jobs.Source(), NewPolicy: maker(policy.Spec{Name: "fifo"}), Sink: l,
				Model: sim.Model{Speculate: rule, Losses: c.losses},
			})
			if err != nil {
				t.Fatal(err)
			}
			var got []int64
			for _, k := range l.tasks {
				if k.Copy {
					got = append(got, int64(k.Start/unit.Second))
				}
			}
			if len(got) != len(want) || len(got) > 0 && got[0] != want[0] {
				t.Errorf("%s, %s: copies start at %v s; want %v", c.name, rule, got, want)
			}
		}
	}
}
