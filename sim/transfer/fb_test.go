package transfer_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/all"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/transfer"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/swim"
)

type none struct{}

func (none) Job(*sim.JobRecord) {}
func (none) Sample(*sim.Sample) {}

// A day of Facebook with all it reads and shuffles, on a network whose racks share one gigabit.
func TestFacebookDayOverANetwork(t *testing.T) {
	if testing.Short() {
		t.Skip("millions of flows")
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
	r, err := swim.NewReader(f, path, swim.Default())
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := workload.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("FBJOBS") != "" {
		jobs = jobs[:400]
	}
	c, _ := cluster.Parse("600x6/30")
	if c.Network, err = cluster.ParseNetwork("racks:node=250Mbit,uplink=1Gbit"); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	sum, err := sim.Run(context.Background(), sim.Config{
		Cluster: c, Source: jobs.Source(), Seed: 1, Sink: none{}, Worker: transfer.New(transfer.Options{}), Model: sim.Model{Replicas: 3},
		NewPolicy: func() (policy.Policy, error) { return all.Policies.New(policy.Spec{Name: "fair"}) },
		Progress: func(p sim.Progress) {
			if os.Getenv("FBPROG") != "" {
				t.Logf("%v %+v", time.Since(begin), p)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if sum.Finished != int64(len(jobs)) {
		t.Errorf("%d jobs finished of %d", sum.Finished, len(jobs))
	}
	tr := sum.Traffic
	t.Logf("%v, %d events, %d flows, read %.3g, shuffled %.3g, cross-rack %.3g, last finish %v", time.Since(begin), sum.Events, tr.Flows, tr.Read, tr.Shuffled,
		tr.CrossRack, sum.LastFinish)
}
