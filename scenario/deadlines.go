package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/internal/setting"
	"github.com/yardmaster/yardmaster/unit"
)

// deadlineSettings give deadlines to jobs.
func deadlineSettings() []Setting {
	factor := setting.Factor("deadline-factor", "", "give jobs a deadline: this many times their time on the empty cluster, after submission", func(s *Scenario) *float64 { return &s.Deadlines.Factor })
	factor.Value = "TIMES"
	get := factor.Get
	factor.Get = func(s *Scenario) []string {
		if s.Deadlines.Factor == 0 {
			return nil
		}
		return get(s)
	}
	return []Setting{
		factor,
		{
			Name: "deadline-class", Value: "C=TIME", Help: "give the jobs of class C a deadline, this long after submission: small=10m", Many: true,
			Set: func(s *Scenario, v string) error {
				if v == "" {
					s.Deadlines.Classes = nil
					return nil
				}
				equals := strings.LastIndexByte(v, '=')
				if equals < 1 {
					return fmt.Errorf("%q names no class and time; write CLASS=TIME, as in small=10m", v)
				}
				t, err := unit.ParseTime(v[equals+1:])
				if err != nil || t <= 0 || t > 100*365*unit.Day {
					return fmt.Errorf("%q has no time above 0 and up to 100 years after the =; write CLASS=TIME, as in small=10m", v)
				}
				classes := map[string]unit.Time{} // copies of a scenario share the old map
				maps.Copy(classes, s.Deadlines.Classes)
				classes[v[:equals]] = t
				s.Deadlines.Classes = classes
				return nil
			},
			Get: func(s *Scenario) (out []string) {
				for _, class := range slices.Sorted(maps.Keys(s.Deadlines.Classes)) {
					out = append(out, class+"="+setting.Time(s.Deadlines.Classes[class]))
				}
				return out
			},
		},
		setting.Yes("deadline-override", "", "replace the deadlines of the workload, too", func(s *Scenario) *bool { return &s.Deadlines.Override }),
	}
}

// checkDeadlines rejects settings that have no effect.
func (s *Scenario) checkDeadlines(out *Setup) error {
	switch d := &s.Deadlines; {
	case d.Override && d.Factor == 0 && len(d.Classes) == 0:
		return misuse("--deadline-override replaces deadlines by others: add --deadline-factor or --deadline-class")
	case d.Factor > 0 && out.NoAlone:
		return misuse("--deadline-factor needs the times of jobs on the empty cluster, which --phases does not have: use --deadline-class")
	}
	return nil
}

func (s *Scenario) deadlineAssumptions() []string {
	d := &s.Deadlines
	var rules []string
	for _, class := range slices.Sorted(maps.Keys(d.Classes)) {
		rules = append(rules, fmt.Sprintf("%v after submission for class %s", d.Classes[class], class))
	}
	if d.Factor > 0 {
		rules = append(rules, fmt.Sprintf("%s times the time on the empty cluster for all others", setting.Float(d.Factor)))
		if len(d.Classes) == 0 {
			rules[0] = strings.TrimSuffix(rules[0], " for all others")
		}
	}
	if len(rules) == 0 {
		return nil
	}
	subject := "jobs without a deadline get one"
	if d.Override {
		subject = "jobs get a deadline in place of their own"
	}
	return []string{"workload: " + subject + ": " + strings.Join(rules, ", ")}
}
