package levels

import (
	"fmt"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/levels"
	"github.com/yardmaster/yardmaster/policy/sizes"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

// Entries are the policies' registry entries.
func Entries() []steer.Entry {
	limits := func(otherwise, help string) steer.Param {
		return steer.Param{Name: "limits", Value: "N,N,...", Default: otherwise, Help: help + " in each level except the last, in vcore-seconds, ascending"}
	}
	const attained, size = "total service at which a job is demoted", "max size of a job"
	predictor := []steer.Param{
		{Name: "predictor", Value: "tag|input", Default: "tag", Help: "of sizes: the tag size:SECONDS of a job, in vcore-seconds, or a regression on its tag input:BYTES"},
		{Name: "a", Value: "N", Default: "-16", Help: "of ln size = a + b ln(input + 1), until 30 jobs have finished"},
		{Name: "b", Value: "N", Default: "1", Help: "see a"},
	}
	return []steer.Entry{
		entry("fbq", "feedback queues: moves a job down one queue at each limit of service", limits("12000", attained)),
		entry("tags", "as fbq, for queues with fixed shares", limits("14000", attained)),
		entry("sita", "moves a job to the queue for its size, for queues with fixed shares", append(predictor, limits("18000", size),
			steer.Param{Name: "outgrown", Value: "stay|demote", Default: "stay", Help: "what a job does that has attained the limit of its level: a tag may be wrong"})...),
		entry("comp", "moves a job to a queue by comparing its size with the jobs that finished last", append(predictor,
			steer.Param{Name: "queues", Value: "N", Default: "2", Help: "number of levels"})...),
	}
}

func entry(name, title string, params ...steer.Param) steer.Entry {
	params = append(slices.Clip(params), steer.Param{Name: "interval", Value: "TIME", Default: "5s", Help: "sampling interval"})
	return steer.Entry{
		Name: name, Title: title, Params: params, Needs: steer.Needs{Queue: true, Sizes: name == "sita" || name == "comp"}, Several: true,
		New: func(s *steer.Setup) (steer.Steerer, error) {
			set := &settings{Params: policy.Params{}}
			for _, p := range params {
				set.Params[p.Name] = p.Default
			}
			err := s.Each(func(key, value string) error {
				if _, known := set.Params[key]; !known {
					return fmt.Errorf("%s has no setting %q", name, key)
				}
				set.Params[key] = value
				return nil
			})
			if err != nil {
				return nil, err
			}
			l := set.steerer(name)
			if set.err != nil {
				return nil, set.err
			}
			return l, l.use(s.Queues)
		},
	}
}

// settings are what a person has set, and the first thing wrong with it.
type settings struct {
	policy.Params
	err error
}

func (s *settings) check(name string, err error) {
	if err != nil && s.err == nil {
		s.err = &steer.SettingError{Name: name, Err: err}
	}
}

func (s *settings) choice(name string, words ...string) string {
	word, err := s.Choice(name, words...)
	s.check(name, err)
	return word
}

func (s *settings) number(name string) float64 {
	x, err := s.Float(name, 0)
	if err == nil && !(x >= -1000 && x <= 1000) {
		err = fmt.Errorf("%s=%v: want a number from -1000 to 1000", name, x)
	}
	s.check(name, err)
	return x
}

func (s *settings) steerer(name string) *steerer {
	l := &steerer{name: name, jobs: map[string]*job{}}
	var err error
	if l.interval, err = unit.ParseTime(s.Params["interval"]); err != nil || l.interval < unit.Second || l.interval > unit.Day {
		s.check("interval", fmt.Errorf("interval=%q: want a time from a second to a day", s.Params["interval"]))
	}
	if name == "comp" {
		if l.levels, err = s.Int("queues", 2); err == nil && (l.levels < 2 || l.levels > 1000) {
			err = fmt.Errorf("queues=%d: want 2 to 1000", l.levels)
		}
		s.check("queues", err)
	} else {
		l.limits, err = levels.ReadLimits(s.Params, "")
		l.levels = len(l.limits) + 1
		s.check("limits", err)
	}
	if l.demotes = name == "fbq" || name == "tags"; l.demotes {
		return l
	}
	r := &sizes.Regression{A: s.number("a"), B: s.number("b")}
	if s.choice("predictor", "tag", "input") == "input" {
		l.learned = r
	}
	if name == "comp" {
		l.departed = sizes.NewDepartures(max(l.levels, 2))
		l.place = l.departed.Queue
		return l
	}
	l.place = func(size unit.Time) int { return sizes.Interval(size, l.limits) }
	l.demotes = s.choice("outgrown", "stay", "demote") == "demote"
	return l
}

// use assigns the queues: one for each level, or an intake before them.
func (l *steerer) use(queues []string) error {
	for i, q := range queues {
		if slices.ContainsFunc(queues[:i], func(other string) bool { return steer.SamePath(q, other) }) {
			return fmt.Errorf("%s: queue %s is given twice", l.name, q)
		}
	}
	switch len(queues) {
	case l.levels:
		l.queues = queues
	case l.levels + 1:
		l.intake, l.queues = queues[0], queues[1:]
	default:
		return fmt.Errorf("%s has %d levels here: give %[2]d queues in the order of the levels, or %d with the intake first; these are %d: %s",
			l.name, l.levels, l.levels+1, len(queues), strings.Join(queues, ", "))
	}
	return nil
}
