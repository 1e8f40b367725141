package modelfile

import (
	"regexp"

	"github.com/yardmaster/yardmaster/internal/yamlfile"
	"github.com/yardmaster/yardmaster/sim/mapreduce"
	"github.com/yardmaster/yardmaster/sim/node"
)

var modelName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}$`)

// read fills in a model. Defaults are those of mrperf-2010.
func read(root *yamlfile.Node) (mapreduce.Model, error) {
	m := mapreduce.MRPERF2010()
	if root.Shape == yamlfile.Empty {
		return m, root.Errorf("describes no model; it needs at least a name and a version")
	}
	for _, key := range []string{"name", "version"} {
		if !root.Has(key) {
			return m, root.Errorf("a model needs a %s: it stands in the results", key)
		}
	}
	version := int64(0)
	kinds := func(*yamlfile.Node) error { return nil }
	err := root.Read("a model file", []string{"name", "version", "machine", "kinds", "nodes-per-machine", "cycles", "map", "reduce", "cached", "io-factor", "block", "replication", "noise"},
		yamlfile.Keys{
			"name": func(n *yamlfile.Node) error {
				if err := yamlfile.Str(&m.Name)(n); err != nil {
					return err
				}
				if !modelName.MatchString(m.Name) {
					return n.Errorf("a name is made of letters, digits, dots, dashes and underscores, not %q", m.Name)
				}
				return nil
			},
			"version":           yamlfile.Int(&version, 1, 1<<30),
			"machine":           machine(&m.Machine),
			"kinds":             kinds, // read below, once the machine that they start from is known
			"nodes-per-machine": perMachine(&m.PerMachine),
			"cached": func(n *yamlfile.Node) error {
				return n.Read("cached", []string{"map", "reduce"}, yamlfile.Keys{"map": share(&m.Cached.Map), "reduce": share(&m.Cached.Reduce)})
			},
			"cycles": func(n *yamlfile.Node) error {
				return n.Read("cycles", []string{"jvm", "map", "sort", "reduce", "merge", "reduce-sort"}, yamlfile.Keys{
					"jvm": number(&m.JVMCycles, 0, mapreduce.MaxCycles), "map": number(&m.MapCycles, 0, mapreduce.MaxCycles),
					"sort": number(&m.SortCycles, 0, mapreduce.MaxCycles), "reduce": number(&m.ReduceCycles, 0, mapreduce.MaxCycles),
					"merge": number(&m.MergeCycles, 0, mapreduce.MaxCycles), "reduce-sort": number(&m.ReduceSortCycles, 0, mapreduce.MaxCycles),
				})
			},
			"map": func(n *yamlfile.Node) error {
				return n.Read("map", []string{"buffer"}, yamlfile.Keys{"buffer": bytes(&m.Buffer, mapreduce.MinBuffer)})
			},
			"reduce": func(n *yamlfile.Node) error {
				return n.Read("reduce", []string{"memory", "segments", "copiers", "fetch", "piece"}, yamlfile.Keys{
					"memory": bytes(&m.MemorySpace, mapreduce.MinBuffer), "segments": yamlfile.Int(&m.MemorySegments, 1, 1<<40),
					"copiers": intOr("nodes", &m.Copiers, 1, mapreduce.MaxCopiers), "fetch": fetch(&m.Fetch),
					"piece": or("all", &m.ReducePiece, bytes(&m.ReducePiece, mapreduce.MinBuffer)),
				})
			},
			"io-factor":   intOr("all", &m.IOFactor, 2, 1<<30),
			"block":       bytes(&m.Block, 1),
			"replication": yamlfile.Int(&m.Replication, 1, mapreduce.MaxReplication),
			"noise": func(n *yamlfile.Node) error {
				return n.Read("noise", []string{"device", "reduce", "run"}, yamlfile.Keys{
					"device": noise(&m.Noise), "reduce": noise(&m.ReduceNoise), "run": noise(&m.RunNoise),
				})
			},
		})
	if err != nil {
		return m, err
	}
	m.Version = int(version)
	for _, f := range root.Fields {
		if f.Key == "kinds" {
			if err := readKinds(f.Value, &m); err != nil {
				return m, err
			}
		}
	}
	if err := m.Validate(); err != nil {
		return m, root.Errorf("%v", err)
	}
	return m, nil
}

// readKinds reads the machines of node kinds; each overrides the file's machine.
func readKinds(n *yamlfile.Node, m *mapreduce.Model) error {
	if n.Shape != yamlfile.Mapping {
		return n.Errorf("kinds should be a mapping from the kind of a node to its machine, not %s", n.Shape)
	}
	m.Kinds = make(map[string]node.MachineSpec, len(n.Fields))
	for _, f := range n.Fields {
		spec := m.Machine
		if err := machine(&spec)(f.Value); err != nil {
			return err
		}
		m.Kinds[f.Key] = spec
	}
	return nil
}

func machine(s *node.MachineSpec) func(*yamlfile.Node) error {
	return func(n *yamlfile.Node) error {
		cores, disks := int64(s.Cores), int64(max(s.Disks, 1))
		err := n.Read("a machine", []string{"cpu", "cores", "efficiency", "disks", "disk", "space", "memory"}, yamlfile.Keys{
			"cpu": hertz(&s.Hertz), "cores": yamlfile.Int(&cores, 1, node.MaxCores), "disks": yamlfile.Int(&disks, 1, node.MaxDisks),
			"memory": or("unlimited", &s.Memory, amount(&s.Memory, 1)), "efficiency": efficiency(&s.Efficiency), "space": space(&s.Space),
			"disk": func(n *yamlfile.Node) error {
				return n.Read("a disk", []string{"read", "write", "read-seek", "write-seek", "efficiency"}, yamlfile.Keys{
					"read": rate(&s.Disk.Read), "write": rate(&s.Disk.Write), "read-seek": seconds(&s.Disk.ReadSeek), "write-seek": seconds(&s.Disk.WriteSeek),
					"efficiency": efficiency(&s.Disk.Efficiency),
				})
			},
		})
		s.Cores, s.Disks = int(cores), int(disks)
		return err
	}
}
