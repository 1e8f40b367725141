package sim_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/am"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// starts lists when the tasks of a job's stage started, in seconds.
func (l *lives) starts(seq int64, stage int) (at []int64) {
	for _, r := range l.tasks {
		if r.Seq == seq && r.Stage == stage {
			at = append(at, int64(r.Start/unit.Second))
		}
	}
	slices.Sort(at)
	return at
}

func ramped(t *testing.T, c *cluster.Cluster, model, scheduler string, jobs ...*workload.Job) (*lives, sim.Summary) {
	t.Helper()
	l := &lives{}
	sum, err := sim.Run(t.Context(), sim.Config{
		Cluster: c, Source: workload.Slice(jobs).Source(), NewPolicy: maker(policy.Spec{Name: scheduler}), Sink: l, Model: sim.Model{Application: model},
	})
	if err != nil {
		t.Fatal(err)
	}
	return l, sum
}

// Forty maps of 10 s on ten containers. Reduces take the share of the ten that is the share of maps done, at most half, ahead of maps: two of
// them with 10 maps done, four with 18, five with 24; the last one when the last map has a container. Maps need three waves more for it.
func TestReducesRampUp(t *testing.T) {
	c := cluster.Uniform(1, 1, cluster.Unit.Times(10))
	for _, x := range []struct {
		model   string
		reduces []int64
		finish  unit.Time
	}{
		{am.Hadoop, []int64{10, 10, 20, 20, 30, 60}, 75 * unit.Second},
		{am.MapsFirst, []int64{40, 40, 40, 40, 40, 40}, 45 * unit.Second},
	} {
		l, sum := ramped(t, c, x.model, "fifo", mapReduce("j", 0, 40, 6, 0.05))
		if got := l.starts(0, 1); !slices.Equal(got, x.reduces) || sum.LastFinish != x.finish || sum.Lost != 0 {
			t.Errorf("%s: reduces start at %v and the job ends at %v; want %v, %v", x.model, got, sum.LastFinish, x.reduces, x.finish)
		}
		if l.Records[0].Alone != x.finish {
			t.Errorf("%s: it takes %v alone", x.model, l.Records[0].Alone)
		}
	}
}

// Three reduces wait for maps when nine jobs come and take every container that a map gives back, each for 100 s. The reduces are killed for
// maps, the last one first, and come back later.
func TestReducesAreKilledForMaps(t *testing.T) {
	jobs := []*workload.Job{mapReduce("a", 0, 60, 8, 0.05)}
	for i := range 9 {
		j := oneStage(fmt.Sprint("b", i), 21*unit.Second, 1, 0)
		j.Stages[0].Length = workload.Fixed(100 * unit.Second)
		jobs = append(jobs, j)
	}
	l, sum := ramped(t, cluster.Uniform(1, 1, cluster.Unit.Times(10)), am.Hadoop, "fair", jobs...)
	var killed []int64
	for _, r := range l.tasks {
		if r.Why == policy.Taken {
			killed = append(killed, int64(r.End/unit.Second))
		}
	}
	maps := l.starts(0, 0)
	if want := []int64{30, 30, 30}; !slices.Equal(killed, want) || !slices.Contains(maps, 30) || !slices.Contains(maps, 40) {
		t.Errorf("reduces are killed at %v, want %v; maps start at %v", killed, want, maps)
	}
	if sum.Finished != 10 || sum.Lost != int64(len(killed)) {
		t.Errorf("%+v", sum)
	}
}

func TestUnknownApplicationModel(t *testing.T) {
	if _, _, err := play(t, cluster.Uniform(1, 1, cluster.Unit), sim.Model{Application: "maps first"}, "fifo", mapReduce("j", 0, 1, 1, 1)); err == nil {
		t.Error("taken")
	}
}
