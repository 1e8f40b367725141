package deadline

import (
	"slices"
	"testing"

	"github.com/yardmaster/yardmaster/policy/deadline"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

// What the slots can have is the scarcer of memory and vcores, of the best that was seen.
func TestMeasure(t *testing.T) {
	d := made(t, queues)
	for _, x := range []struct {
		mem, cores int64
		want       float64
	}{{1000, 100, 1}, {1000, 50, 0.5}, {250, 50, 0.25}, {2000, 100, 1}} {
		if got := d.measure(&steer.Snapshot{Total: unit.Resources{Mem: x.mem, Cores: x.cores}}); got != x.want {
			t.Errorf("%d MiB and %d vcores: %v, want %v", x.mem, x.cores, got, x.want)
		}
	}
}

// A job of which nothing is known gets as many containers as nodata-cap allows.
func TestNoDataCap(t *testing.T) {
	for limit, want := range map[int64]int64{0: 9, 1: 1, 3: 3} {
		d := made(t, queues)
		d.now, d.set.NoDataCap = at, limit
		claim := deadline.Claim{Goal: at + 100*unit.Second, Work: deadline.Work{Unstarted: 9}}
		j := &job{Job: &steer.Job{ID: "a", User: "u"}, claim: claim}
		if got := d.allot([]*job{j}, []deadline.Claim{claim}, []float64{0.01}, 1); !slices.Equal(got, []int64{want}) {
			t.Errorf("nodata-cap %d: %v containers, want %d", limit, got, want)
		}
	}
}

// A single change that was made is enough: refusals from then on are not from the start.
func TestMadeOnce(t *testing.T) {
	d := made(t, queues)
	d.knobs[steer.MoveJob] = refusals{row: 2, asked: 1}
	if d.Step(snapshot(at)); d.knobs[steer.MoveJob] != (refusals{made: true}) {
		t.Errorf("%+v", d.knobs[steer.MoveJob])
	}
}
