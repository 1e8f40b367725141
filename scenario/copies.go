package scenario

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/hdfs"
)

// none puts a setting of a file aside.
const none = "none"

// copySettings are those of the copies of input blocks, and of slow tasks and their copies.
func copySettings() []Setting {
	return []Setting{
		{
			Name: "placement", In: "model", Value: "HOW", Help: "where the copies of input blocks lie (see replicas): " + strings.Join(hdfs.Names(), ", ") + "; " + hdfs.Default + " unless told",
			Set: func(s *Scenario, v string) error {
				if err := hdfs.Check(v); err != nil {
					return err
				}
				s.Model.Placement = v
				return nil
			},
			Get: func(s *Scenario) []string { return given(s.Model.Placement) },
		},
		{
			Name: "stragglers", In: "model", Value: "SHARExFACTOR", Help: "tasks that take longer than they should: 2%x10, two in a hundred take ten times as long; none",
			Set: func(s *Scenario, v string) (err error) {
				s.Model.Stragglers, err = parseStragglers(v)
				return err
			},
			Get: func(s *Scenario) []string {
				g := s.Model.Stragglers
				if g.Share == 0 {
					return nil
				}
				return []string{strconv.FormatFloat(g.Share, 'g', -1, 64) + "x" + strconv.FormatFloat(g.Factor, 'g', -1, 64)}
			},
		},
		{
			Name: "speculate", In: "model", Value: "RULE", Help: "give slow tasks a copy on another node by the rule of Hadoop 1 (hadoop) or of Zaharia et al. (late); none",
			Set: func(s *Scenario, v string) error {
				if v == none {
					v = ""
				} else if !slices.Contains(sim.Speculations(), v) {
					return fmt.Errorf("%q is no rule of speculation: want %s or %s", v, strings.Join(sim.Speculations(), ", "), none)
				}
				s.Model.Speculate = v
				return nil
			},
			Get: func(s *Scenario) []string { return given(s.Model.Speculate) },
		},
	}
}

// parseStragglers reads a share and a factor: 2%x10.
func parseStragglers(v string) (sim.Stragglers, error) {
	bad := fmt.Errorf("%q is not a share of tasks and a factor from 1 to a million; write 2%%x10, or none", v)
	if v == none {
		return sim.Stragglers{}, nil
	}
	part, factor, ok := strings.Cut(v, "x")
	if !ok {
		return sim.Stragglers{}, bad
	}
	part, percent := strings.CutSuffix(part, "%")
	share, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
	if percent {
		share /= 100
	}
	if err != nil || !(share > 0 && share <= 1) {
		return sim.Stragglers{}, bad
	}
	times, err := strconv.ParseFloat(strings.TrimSpace(factor), 64)
	if err != nil || !(times >= 1 && times <= 1e6) {
		return sim.Stragglers{}, bad
	}
	return sim.Stragglers{Share: share, Factor: times}, nil
}

// copyAssumptions says, for a person, what is assumed of slow tasks and their copies.
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
