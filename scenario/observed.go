package scenario

import (
	"crypto/sha256"
	"encoding/hex"
	"os"

	"github.com/yardmaster/yardmaster/run"
)

// otherSettings says why a run's settings differ from those that its workload was observed under; "": they do not. Only then does a difference
// between simulated and observed times show an error of the simulator.
func (s *Setup) otherSettings(p run.Scheduler) string {
	was, sc := s.observed, &s.Scenario
	deal := sc.Trace.Deal()
	switch {
	case was.Scheduler == "" || was.Cluster == "":
		return "the workload does not say under which settings it was observed"
	case sumOf(p.Name) != was.Scheduler:
		return "the scheduler's settings are not those that were imported with the workload"
	case p.Steer != nil:
		return "a steering policy moves the scheduler's settings"
	case sumOf(sc.Cluster) != was.Cluster:
		return "the cluster is not the one that was imported with the workload"
	case sc.Clock != Hadoop || sumOf(sc.Yarn.Site) != was.Site:
		return "the ResourceManager's timing is not the one that was imported with the workload"
	case !deal.IsZero():
		return "users or queues are reassigned"
	}
	return ""
}

// sumOf is the SHA-256 of a file; "" if it cannot be read.
func sumOf(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
