package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/internal/setting"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/hdfs"
	"github.com/yardmaster/yardmaster/sim/mapreduce"
	"github.com/yardmaster/yardmaster/sim/mapreduce/modelfile"
	"github.com/yardmaster/yardmaster/sim/transfer"
)

// Data says what happens to the data that tasks read and pass on.
type Data struct {
	Phases    string // name of a MapReduce phase model, or a file; "": tasks have the lengths of their stages
	Network   string // as typed; "": the cluster file's, if any; none: no network
	Pairs     int    // tasks of a stage up to which a shuffle is simulated between nodes, beyond that between racks; 0: the worker's default
	Tolerance float64
	Congested float64 // share of its capacity from which a link counts as congested
}

// defaultTolerance is that of a scenario's network: far below the accuracy of a network model.
const defaultTolerance = 1e-2

func dataSettings() []Setting {
	return []Setting{
		setting.Text("network", "model", "NETWORK",
			"network over which tasks read and pass data, such as star:1Gbit (see docs/clusters.md), in place of the cluster file's; none: no network",
			func(s *Scenario) *string { return &s.Data.Network }, func(v string) (err error) {
				if v != none {
					_, err = cluster.ParseNetwork(v)
				}
				return err
			}),
		setting.Text("phases", "model", "MODEL",
			"simulate the phases of maps and reduces on processors and disks, instead of task lengths: "+strings.Join(modelfile.Names(), ", ")+", or a file (docs/phases.md); none: lengths",
			func(s *Scenario) *string { return &s.Data.Phases }, nil),
		setting.Number("pairs", "model", "tasks of a stage up to which its output is fetched node by node, beyond that rack by rack; 0: 32", 0, 1<<30,
			func(s *Scenario) *int { return &s.Data.Pairs }),
		setting.Share("flow-tolerance", "model", "relative change of a link's share below which it is not propagated; 0: exact", true,
			func(s *Scenario) *float64 { return &s.Data.Tolerance }),
		setting.Share("congested", "model", "share of its capacity from which a link counts as congested", false,
			func(s *Scenario) *float64 { return &s.Data.Congested }),
	}
}

// resolveData gives the cluster its network and the runs their work model.
func (s *Scenario) resolveData(out *Setup) error {
	switch s.Data.Network {
	case "":
	case none:
		out.Cluster.Network = nil
	default:
		n, err := cluster.ParseNetwork(s.Data.Network)
		if err != nil {
			return &MisuseError{err}
		}
		out.Cluster.Network = n
	}
	phases := s.Data.Phases != "" && s.Data.Phases != none
	if s.Model.FailTask > 0 && (phases || out.Cluster.Network != nil) {
		return misuse("--fail-task cannot be combined with --network or --phases: leave out one of them")
	}
	if phases {
		return s.resolvePhases(out)
	}
	if out.Cluster.Network == nil {
		for _, name := range []string{"pairs", "flow-tolerance", "congested"} {
			if slices.Contains(s.Given, name) {
				return misuse("--%s belongs to a network: add --network, or leave it out", name)
			}
		}
		return nil
	}
	if err := out.Cluster.Validate(); err != nil {
		return &MisuseError{err}
	}
	o := transfer.Options{Pairs: int64(s.Data.Pairs), Tolerance: s.Data.Tolerance, Congested: s.Data.Congested}
	o.Tolerance = cmp.Or(o.Tolerance, -1)
	out.NewWorker = func() (sim.Worker, error) { return transfer.New(o), nil }
	return nil
}

// resolvePhases gives the runs a phase model.
func (s *Scenario) resolvePhases(out *Setup) error {
	for _, name := range []string{"pairs", "flow-tolerance", "congested"} {
		if slices.Contains(s.Given, name) {
			return misuse("--%s is for task lengths with a network; --phases simulates every transfer: leave out one of them", name)
		}
	}
	if s.Clock != Ideal {
		return misuse("--clock %s does not simulate phases: leave out one of them", s.Clock)
	}
	m, err := modelfile.Open(s.Data.Phases)
	if err != nil {
		return &MisuseError{err}
	}
	if err := out.Cluster.Validate(); err != nil {
		return &MisuseError{err}
	}
	out.phases, out.NoAlone = &m, true
	out.NewWorker = func() (sim.Worker, error) { return mapreduce.New(m) }
	if _, err := out.NewWorker(); err != nil {
		return &MisuseError{err}
	}
	return nil
}

// assumptions lists the assumptions about data.
func (s *Setup) dataAssumptions() []string {
	c, phases := s.Cluster, s.phases
	network := "data transfers take no time"
	if c.Network != nil {
		network = "network " + c.Network.String() + ", flows share links max-min"
	}
	if phases != nil {
		return []string{fmt.Sprintf("phases: model %s, version %d: tasks read, compute, spill, merge, fetch and write on the processors and disks of their nodes, shared evenly; %s; task lengths in the workload are ignored, and there are no slowdowns",
			phases.Name, phases.Version, network)}
	}
	if c.Network == nil {
		return append(speedAssumptions(c), "cluster: a task's duration does not depend on the network or on where its input is")
	}
	out := []string{network + "; a task fetches blocks of other nodes and its share of a shuffle before it works; disks, and writing output, take no time of their own"}
	out = append(out, speedAssumptions(c)...)
	if s.Scenario.Model.Replicas == 0 {
		out = append(out, "network: input has no location unless the trace names hosts, so no block is read over it; --replicas 3 places blocks")
	}
	return out
}

// speedAssumptions lists the kinds of machines that are faster or slower than others.
func speedAssumptions(c *cluster.Cluster) (out []string) {
	var last *cluster.Speed
	for i := range c.Nodes {
		if n := &c.Nodes[i]; n.Speed != nil && n.Speed != last {
			last = n.Speed
			line := fmt.Sprintf("cluster: machines of kind %q run tasks at a speed of %v, relative to others", n.Kind, n.Speed)
			if !slices.Contains(out, line) {
				out = append(out, line)
			}
		}
	}
	return out
}

// checkPlacement rejects a placement that the cluster has no machines for.
func (s *Scenario) checkPlacement(c *cluster.Cluster) error {
	if s.Model.Placement == hdfs.Hybrid && s.Model.Replicas > 0 && !c.KindOf(cluster.ScaleUp) {
		return misuse("--placement %s needs a group of kind: %s in the cluster file, and %s has none", hdfs.Hybrid, cluster.ScaleUp, s.Cluster)
	}
	return nil
}
