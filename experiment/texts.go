package experiment

import (
	"fmt"
	"slices"
)

// Texts are the words of a study, which stand in a file of their own: what it says of itself, what the source says (its checks with their rules) and the prose of its sections. yamlfile.Decode reads them.
type Texts struct {
	Study `yaml:",inline"`
	Prose map[string]Section
	Words map[string]string // that stand in rules
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

// Judged are the checks with the judges that their rules tell; own has the study's own judges.
func (t *Texts) Judged(own map[string]func(words []string, q []Quantity) Judge) []Check {
	rules := Rules{Words: t.Words, Own: own}
	checks := slices.Clone(t.Checks)
	for i := range checks {
		c := &checks[i]
		c.Judge = rules.Judge(c.Written)
		if c.Revised != nil && c.Revised.Written != nil {
			c.Revised = &Revision{First: rules.Judge(c.Revised.Written), Why: c.Revised.Why}
		}
	}
	return checks
}
