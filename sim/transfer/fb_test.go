package transfer_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/transfer"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/swim"
)

// The first hour of a day of Facebook with all it reads and shuffles, on racks that share one gigabit. (The whole day is held against
// its bounds by ci-traces.sh.)
func TestFacebookOverANetwork(t *testing.T) {
	if testing.Short() {
		t.Skip("a hundred thousand flows")
	}
	dir := os.Getenv("YARDMASTER_TRACES")
	if dir == "" {
		t.Skip("YARDMASTER_TRACES is not set")
	}
	path := filepath.Join(dir, "swim", "FB-2010_samples_24_times_1hr_0.tsv")
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := swim.NewReader(f, path, swim.Default())
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := workload.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
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
