package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/am"
	"github.com/yardmaster/yardmaster/sim/hdfs"
)

// Command is the scenario as a shell command with flags only: it repeats the same run without the scenario file.
func (s *Scenario) Command(verb string) string {
	words := []string{"yardmaster", verb}
	for _, set := range Settings {
		values := set.Get(s)
		if set.Name != "seed" && slices.Equal(values, set.Get(&defaults)) || (set.Name == "seeds" || set.Name == "variant") && verb == "simulate" {
			continue
		}
		for _, v := range values {
			if set.Value == "" { // --drop-failed stands alone
				words = append(words, "--"+set.Name)
				continue
			}
			words = append(words, "--"+set.Name, Quote(v))
		}
	}
	return strings.Join(words, " ")
}

// Quote quotes a word for a shell.
func Quote(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:,=+@%") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// identity are the settings that a result names by themselves.
var identity = []string{"workload", "cluster", "scheduler", "place", "seed", "seeds", "variant"}

// Changed lists the other non-default settings, each as name=value.
func (s *Scenario) Changed() []string {
	out := []string{}
	for _, set := range Settings {
		if values := set.Get(s); (set.In != "" || !slices.Contains(identity, set.Name)) && !slices.Equal(values, set.Get(&defaults)) {
			for _, v := range values {
				out = append(out, set.Name+"="+v)
			}
		}
	}
	slices.Sort(out)
	return out
}

// Assumptions lists, for a person, what the model assumes about the cluster.
func (s *Scenario) Assumptions() []string {
	m := &s.Model
	var out []string
	add := func(parts ...string) { out = append(out, strings.Join(parts, "")) }
	if m.Heartbeat > 0 {
		add("cluster: a free container is known at its node's next heartbeat, every ", m.Heartbeat.String(), ", each node with its own phase")
	} else {
		add("cluster: a free container is known at once (no heartbeat); a scheduler that counts skipped scheduling opportunities gets heartbeats of 1 s")
	}
	if m.PerBeat > 0 {
		add("cluster: a node is given at most ", strconv.Itoa(m.PerBeat), " containers a heartbeat")
	}
	if m.EndOnBeat {
		add("cluster: a task's end is known at its node's next heartbeat, and its container is held until then")
	}
	if m.StartUp > 0 {
		add("cluster: a container starts its task after ", m.StartUp.String())
	} else {
		add("cluster: a container starts its task at once")
	}
	out = append(out, applications(m.Application))
	out = append(out, replicaAssumptions(m)...)
	add(failureAssumption(m))
	out = append(out, copyAssumptions(m)...)
	out = append(out, s.lossAssumptions()...)
	return out
}

// failureAssumption says whether tasks fail.
func failureAssumption(m *sim.Model) string {
	if m.FailTask == 0 {
		return "cluster: tasks do not fail"
	}
	return fmt.Sprintf("cluster: an attempt of a task fails with probability %v; a job fails after %d attempts of one task", m.FailTask, cmp.Or(m.Attempts, 4))
}

// replicaAssumptions says where input is that the workload does not locate.
func replicaAssumptions(m *sim.Model) []string {
	if m.Replicas == 0 {
		return nil
	}
	return []string{fmt.Sprintf("cluster: input blocks without named hosts lie on %d nodes, placed by the rule %s", m.Replicas, cmp.Or(m.Placement, hdfs.Default))}
}

// applications says how MapReduce jobs request containers.
func applications(model string) string {
	switch model {
	case am.Overlap:
		return "jobs: application model overlap: MapReduce jobs ask for all reduces once slow-start is reached; the scheduler chooses between maps and reduces, or starts a job's maps first"
	case am.MapsFirst:
		return "jobs: application model maps-first: reduces are asked for once slow-start is reached and every map has a container"
	}
	return "jobs: application model hadoop: MapReduce jobs ask for reduces by slow-start and ramp-up (at most half of a job's room while maps wait) and kill reduces for maps that hang"
}
