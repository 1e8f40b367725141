package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/kube/lab"
)

// Killed while it lets pods go, and when the other of two replicas takes over, each way loses nothing and decides next as it would have. One decision may differ: a job
// may be nearer to its limit than the whole seconds that the API server counts in.
func TestFaults(t *testing.T) {
	lab.Programs(t)
	for _, way := range []string{"scheduler-fbq", "controller-fbq"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			rec := newFaultRecord(way)
			err := within(t.Context(), t.Output(), func(t testing.TB) {
				rec.run(t, func(g *ground) {
					g.kills(2)
					g.pair()
					g.leaders(2)
				})
			})
			if i := slices.IndexFunc(rec.Misses, func(m string) bool { return strings.Contains(m, "another next decision") }); i >= 0 {
				rec.Misses = slices.Delete(rec.Misses, i, i+1)
			}
			if err != nil || len(rec.Misses) > 0 || len(rec.Faults) < 4 {
				t.Errorf("%d faults, %q, %v", len(rec.Faults), rec.Misses, err)
			}
		})
	}
}

// The controller left running for a moment, with servers that are killed and a log that is rotated.
func TestSoak(t *testing.T) {
	if page, _ := miniature(t, "soak"); !strings.Contains(page, "| controller | descriptors |") || !strings.Contains(page, "etcd") {
		t.Error("the page lacks the size of the controller, or what happened")
	}
}
