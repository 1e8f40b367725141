package scenario

import (
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/sim"
)

func TestCopySettings(t *testing.T) {
	for _, c := range []struct {
		name, value, want string // want: what is read back, or part of the message
		ok                bool
	}{
		{"placement", "round-robin", "round-robin", true},
		{"placement", "hadop", "want one of linear, round-robin, random, hadoop, mrperf", false},
		{"stragglers", "2%x10", "0.02x10", true},
		{"stragglers", "0.5x1.5", "0.5x1.5", true},
		{"stragglers", "none", "", true},
		{"stragglers", "2%", "write 2%x10", false},
		{"stragglers", "0x10", "write 2%x10", false},
		{"stragglers", "2%x0.5", "write 2%x10", false},
		{"stragglers", "NaNxNaN", "write 2%x10", false},
		{"speculate", "late", "late", true},
		{"speculate", "none", "", true},
		{"speculate", "yes", "want hadoop, late or none", false},
	} {
		s := Default()
		set, _ := Find(c.name)
		err := s.Apply(set, []string{c.value})
		if !c.ok {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %s: %v", c.name, c.value, err)
			}
			continue
		}
		if got := strings.Join(set.Get(&s), ","); err != nil || got != c.want {
			t.Errorf("%s: %s reads back as %q, %v", c.name, c.value, got, err)
		}
	}
}

func TestCopyAssumptions(t *testing.T) {
	s := Default()
	s.Model = sim.Model{Replicas: 3, Stragglers: sim.Stragglers{Share: 0.02, Factor: 10}, Speculate: sim.SpeculateLATE}
	text := strings.Join(s.Assumptions(), "\n")
	for _, want := range []string{"3 nodes, placed by the rule hadoop", "10 times as long as it should with probability 0.02", "slowest quarter"} {
		if !strings.Contains(text, want) {
			t.Errorf("no word of %q in\n%s", want, text)
		}
	}
}

func FuzzStragglers(f *testing.F) {
	for _, v := range []string{"2%x10", "0.1x2", "none", "x", "%x", "1x1e6"} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v string) {
		g, err := parseStragglers(v)
		if err != nil {
			return
		}
		if v != none && !(g.Share > 0 && g.Share <= 1 && g.Factor >= 1 && g.Factor <= 1e6) {
			t.Errorf("%q is taken as %+v", v, g)
		}
	})
}
