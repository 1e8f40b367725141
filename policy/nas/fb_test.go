package nas_test

import (
	"testing"

	"github.com/yardmaster/yardmaster/workload/swim/swimtest"
)

// The first hour of a day of Facebook, on racks that share one gigabit. (The whole day is held against its bound by ci-traces.sh.)
func TestFacebookUnderNAS(t *testing.T) {
	if testing.Short() {
		t.Skip("a hundred thousand flows")
	}
	jobs := swimtest.Facebook(t)
	c := network(t, "600x6/30", "racks:node=250Mbit,uplink=1Gbit")
	over := map[string]float64{}
	for _, s := range []string{"nas:parts=fair", "shufflewatcher", "nas"} {
		sum, m := run(t, c, s, jobs[:1000], nil)
		over[s] = m.OverThreshold()
		events, share := m.Congestion()
		t.Logf("%-15s %d events, map progress %.3f, nodes over %.4f, congested %d times, %d by the second and %.3f of the time, %.3g bytes between racks, done after %v", s, sum.Events, sum.Traffic.Ready/sum.Traffic.Readers, over[s],
			sum.Traffic.Congested, events, share, sum.Traffic.CrossRack, sum.LastFinish)
	}
	if over["nas"] > over["nas:parts=fair"]/3 {
		t.Errorf("nodes above the traffic threshold: %v", over)
	}
}
