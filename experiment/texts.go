package experiment

import (
	"fmt"
	"slices"
)

// Texts are the words of a study, which stand in a file of their own: what it says of itself, what the source says (its checks, without their
// judges) and the prose of its sections. yamlfile.Decode reads them.
type Texts struct {
	Study `yaml:",inline"`
	Prose map[string]Section
}

// Section is a section without tables and charts; args stand in its first paragraph.
func (t *Texts) Section(name string, args ...any) Section {
	s, ok := t.Prose[name]
	if !ok {
		panic("experiment: there is no section " + name)
	}
	s.Text = slices.Clone(s.Text)
	if len(args) > 0 {
		s.Text[0] = fmt.Sprintf(s.Text[0], args...)
	}
	return s
}

// Judged are the checks with their judges; first has those of checks that were revised, as they were at first.
func (t *Texts) Judged(judges, first map[string]Judge) []Check {
	checks := slices.Clone(t.Checks)
	for i := range checks {
		c := &checks[i]
		c.Judge = judges[c.ID]
		if rule, ok := first[c.ID]; ok {
			c.Revised = &Revision{First: rule, Why: c.Revised.Why}
		}
	}
	if len(judges) != len(checks) {
		panic(fmt.Sprintf("experiment: %d judges for the %d checks of %s", len(judges), len(checks), t.Name))
	}
	return checks
}
