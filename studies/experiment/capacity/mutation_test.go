package capacity

import (
	"context"
	"slices"
	"testing"

	x "github.com/yardmaster/yardmaster/studies/experiment"
)

// A check that cannot fail shows nothing. Each of these was once such a check: it held whether or not the scheduler did what it is about.
// Here the scheduler, or the cluster, is mutated, and the check has to notice.
func TestChecksCanFail(t *testing.T) {
	if testing.Short() {
		t.Skip("plays some experiments")
	}
	ignoring := func(s setup) setup { s.settings.capped = false; return s }
	halved := func(s setup) setup { // a maximum-capacity that is half of what it says
		s.settings.capacity = slices.Clone(s.settings.capacity)
		for i := range s.settings.capacity {
			s.settings.capacity[i] /= 2
		}
		return s
	}
	scattered := func(s setup) setup { s.on.mapSlots *= 4; return s } // more maps of a job at once: fewer of them near their blocks at its end
	sixSeeds := x.Seeds(1, 6)
	for _, c := range []struct {
		check  string
		broken string // the mutated experiment
		by     func(setup) setup
		seeds  []uint64
		part   string // that has to notice; "": the whole
	}{
		{"S04-makespan", "S04", halved, sixSeeds[:2], ""},
		{"S04-reduces", "S04", halved, sixSeeds[:2], ""},
		{"V1-MAXCAP-delayed", "V1-MAXCAPs", ignoring, sixSeeds, ""},
		{"V2-MAXCAP-delayed", "V2-MAXCAPs", ignoring, sixSeeds, ""},
		{"E01-locality-settings", "E02", scattered, sixSeeds[:1], "type 1"}, // as E09, E17 and E25, which are judged by the same code
	} {
		t.Run(c.check, func(t *testing.T) {
			s := Study()
			selected, err := x.Select([]*x.Study{s}, []string{c.check})
			if err != nil {
				t.Fatal(err)
			}
			for i := range s.Experiments {
				if s.Experiments[i].ID == c.broken {
					s.Experiments[i].Run = c.by(setups()[c.broken]).run
				}
			}
			f, err := x.Run(context.Background(), x.Plan{Selected: selected, Seeds: c.seeds})
			if err != nil || len(f.Failures) > 0 {
				t.Fatal(err, f.Failures)
			}
			for _, got := range f.Studies[0].Checks {
				if got.ID != c.check {
					continue
				}
				t.Logf("%s: %s", got.Outcome(), got.Ours)
				broken := !got.Holds
				if c.part != "" { // others may miss with so few seeds
					broken = slices.ContainsFunc(got.Parts, func(p x.PartFinding) bool { return p.Label == c.part && !p.Holds })
				}
				if !broken {
					t.Errorf("it holds although %s is broken", c.broken)
				}
			}
		})
	}
}
