package transfer_test

import (
	"testing"

	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/transfer"
	"github.com/yardmaster/yardmaster/workload/swim/swimtest"
)

// The first hour of a day of Facebook with all it reads and shuffles, on racks that share one gigabit. (The whole day is held against
// its bounds by ci-traces.sh.)
func TestFacebookOverANetwork(t *testing.T) {
	if testing.Short() {
		t.Skip("a hundred thousand flows")
	}
	jobs := swimtest.Facebook(t)
	jobs = jobs[:1000]
	_, sum := play(t, on(t, "600x6/30", "racks:node=250Mbit,uplink=1Gbit"), sim.Model{Replicas: 3}, "fair", transfer.New(transfer.Options{}), jobs...)
	tr := sum.Traffic
	if sum.Finished != 1000 || tr.CrossRack > tr.Read+tr.Shuffled {
		t.Errorf("%d jobs finished; %+v", sum.Finished, tr)
	}
	for _, l := range tr.Links {
		if l.Utilisation > 1.002 {
			t.Errorf("%s carried %v of its capacity", l.Name, l.Utilisation)
		}
	}
	t.Logf("%d events, %d flows, read %.3g, shuffled %.3g, between racks %.3g bytes, done after %v", sum.Events, tr.Flows, tr.Read, tr.Shuffled, tr.CrossRack, sum.LastFinish)
}
