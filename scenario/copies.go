package scenario

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/internal/setting"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/hdfs"
)

// none overrides a setting of a file.
const none = "none"

// copySettings are those of block replicas, and of stragglers and speculative copies.
func copySettings() []Setting {
	return []Setting{
		setting.Text("placement", "model", "HOW", "placement of the replicas of input blocks (see replicas): "+strings.Join(hdfs.Names(), ", ")+"; default: "+hdfs.Default,
			func(s *Scenario) *string { return &s.Model.Placement }, hdfs.Check),
		setting.Value("stragglers", "model", "SHARExFACTOR", "tasks that take longer than they should: 2%x10, two in a hundred take ten times as long; none",
			func(s *Scenario) *sim.Stragglers { return &s.Model.Stragglers }, parseStragglers, func(g sim.Stragglers) string {
				if g.Share == 0 {
					return ""
				}
				return setting.Float(g.Share) + "x" + setting.Float(g.Factor)
			}),
		setting.Value("speculate", "model", "RULE", "run speculative copies of slow tasks, by the rule of Hadoop 1 (hadoop) or of Zaharia et al. (late); none",
			func(s *Scenario) *string { return &s.Model.Speculate }, func(v string) (string, error) {
				if v == none {
					return "", nil
				} else if !slices.Contains(sim.Speculations(), v) {
					return "", fmt.Errorf("unknown speculation rule %q: want %s or %s", v, strings.Join(sim.Speculations(), ", "), none)
				}
				return v, nil
			}, func(v string) string { return v }),
	}
}

// parseStragglers parses a share and a factor: 2%x10.
func parseStragglers(v string) (sim.Stragglers, error) {
	bad := fmt.Errorf("%q is not a share of tasks and a factor from 1 to a million; write 2%%x10, or none", v)
	if v == none {
		return sim.Stragglers{}, nil
	}
	part, factor, ok := strings.Cut(v, "x")
	if !ok {
		return sim.Stragglers{}, bad
	}
	share, err := setting.Percent(part)
	if err != nil || !(share > 0 && share <= 1) {
		return sim.Stragglers{}, bad
	}
	times, err := strconv.ParseFloat(strings.TrimSpace(factor), 64)
	if err != nil || !(times >= 1 && times <= 1e6) {
		return sim.Stragglers{}, bad
	}
	return sim.Stragglers{Share: share, Factor: times}, nil
}

// copyAssumptions lists, for a person, the assumptions about slow tasks and their copies.
func copyAssumptions(m *sim.Model) (out []string) {
	if g := m.Stragglers; g.Share > 0 {
		out = append(out, fmt.Sprintf("cluster: an attempt of a task takes %v times as long as it should with probability %v", g.Factor, g.Share))
	}
	switch m.Speculate {
	case sim.SpeculateHadoop:
		out = append(out, "cluster: when all tasks of a stage have been started, one that is 20 points behind the average after a minute gets a copy; the first to end counts")
	case sim.SpeculateLATE:
		out = append(out, "cluster: when all tasks of a stage have been started, those among the slowest quarter that will end last get copies after a minute; the first to end counts")
	}
	return out
}
