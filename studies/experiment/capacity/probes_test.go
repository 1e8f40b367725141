package capacity

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/capacity1"
	x "github.com/yardmaster/yardmaster/studies/experiment"
)

// setups are those of all experiments, by ID.
func setups() map[string]setup {
	all := map[string]setup{}
	for i := range sensitivityRuns {
		all[fmt.Sprintf("S%02d", i+1)] = sensitivitySetup(i)
	}
	for _, v := range validations() {
		all[fmt.Sprintf("V%d-%s", v.slots, v.name)] = v.setup()
	}
	for _, b := range blocks {
		for i := range rows {
			all[b.ID(i)] = b.setup(i)
		}
	}
	for id, p := range maps.Clone(all) {
		p.policy = avoiding
		all[id+"a"] = p
		for _, o := range orders {
			p.policy = o.policy
			all[id+o.letter] = p
		}
	}
	return all
}

// scheduled overrides the study's scheduler settings.
func (s setup) scheduled(change func(*capacity1.Config)) setup {
	inner := s.policy
	if inner == nil {
		inner = capacity1.New
	}
	s.policy = func(c capacity1.Config) (policy.Policy, error) {
		c.Queues = slices.Clone(c.Queues)
		change(&c)
		return inner(c)
	}
	return s
}

// For every setting of the study, of the scheduler or of the machines: if its effect changed, some probe would have other figures,
// and a printed page would be detected as stale.
func TestProbesFeelEverySetting(t *testing.T) {
	if testing.Short() {
		t.Skip("plays some experiments")
	}
	type change func(id string, s setup) (_ setup, changed bool)
	config := func(set func(*capacity1.Config)) change {
		return func(_ string, s setup) (setup, bool) { return s.scheduled(set), true }
	}
	queue := func(set func(*capacity1.Queue)) change {
		return config(func(c *capacity1.Config) {
			for i := range c.Queues {
				set(&c.Queues[i])
			}
		})
	}
	on := func(set func(*machines)) change {
		return func(_ string, s setup) (setup, bool) { set(&s.on); return s, true }
	}
	ignored := func(letter string) change { // run the experiments of another policy without it
		return func(id string, s setup) (setup, bool) {
			s.policy = nil
			return s, strings.HasSuffix(id, letter)
		}
	}
	ctx := context.Background()
	all := setups()
	figures := map[string]x.Metrics{}
	for _, id := range probes {
		m, err := all[id].run(ctx, 1)
		if err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		figures[id] = m
	}
	for name, change := range map[string]change{
		"capacity": config(func(c *capacity1.Config) {
			for i, k := 0, len(c.Queues)-1; i < k; i, k = i+1, k-1 {
				c.Queues[i].Capacity, c.Queues[k].Capacity = c.Queues[k].Capacity, c.Queues[i].Capacity
			}
		}),
		"maximum-capacity":                          queue(func(q *capacity1.Queue) { q.MaxCapacity = 0 }),
		"user-limit-factor":                         queue(func(q *capacity1.Queue) { q.UserLimitFactor = 1 }),
		"minimum-user-limit-percent":                queue(func(q *capacity1.Queue) { q.MinimumUserLimitPercent = 100 }),
		"supports-priority":                         queue(func(q *capacity1.Queue) { q.SupportsPriority = false }),
		"maximum-initialized-active-tasks":          queue(func(q *capacity1.Queue) { q.MaxActiveTasks = 0 }),
		"maximum-initialized-active-tasks-per-user": queue(func(q *capacity1.Queue) { q.MaxActiveTasksPerUser = 75 }),
		"maximum-system-jobs":                       config(func(c *capacity1.Config) { c.MaxSystemJobs = 0 }),
		"init-poll-interval":                        config(func(c *capacity1.Config) { c.PollInterval *= 2 }),
		"queue order, fewest running first":         ignored("e"),
		"queue order, most loaded first":            ignored("m"),
		"queue order, sorted once":                  ignored("s"),
		"reduces avoid busy nodes":                  ignored("a"),
		"nodes":                                     on(func(m *machines) { m.nodes++ }),
		"map slots":                                 on(func(m *machines) { m.mapSlots++ }),
		"reduce slots":                              on(func(m *machines) { m.reduceSlots++ }),
		"clock rate":                                on(func(m *machines) { m.hertz *= 1.01 }),
		"cores":                                     on(func(m *machines) { m.cores = 1 }),
		"disk":                                      on(func(m *machines) { m.slowDisk *= 1.01 }),
	} {
		at := slices.IndexFunc(probes, func(id string) bool {
			s, changed := change(id, all[id])
			if !changed {
				return false
			}
			m, err := s.run(ctx, 1)
			return err != nil || !maps.Equal(m, figures[id])
		})
		if at < 0 {
			t.Errorf("%s: no probe would have other figures if it did something else", name)
		}
	}
	e := Study().Experiments
	for _, id := range []string{"S05", "V1-Q2s"} { // these setups are the study's
		m, err := e[slices.IndexFunc(e, func(e x.Experiment) bool { return e.ID == id })].Run(ctx, 1)
		if err != nil || !maps.Equal(m, figures[id]) {
			t.Errorf("%s is another experiment (%v)", id, err)
		}
	}
}
