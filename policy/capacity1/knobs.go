package capacity1

import (
	"fmt"

	"github.com/yardmaster/yardmaster/policy"
)

// SetQueue sets a queue's capacity, maximum-capacity (-1: none), minimum-user-limit-percent or user-limit-factor. The caller must ensure
// that capacities sum to at most 100 in the end; in between they need not.
func (s *state) SetQueue(name, property string, value float64) (float64, error) {
	q, set, at, err := s.knob(name, property)
	if err != nil {
		return 0, err
	}
	old := *at
	*at = value
	if err := set.check(); err != nil {
		return 0, fmt.Errorf("queue %s: %w", name, err)
	}
	q.set = *set
	q.limits = set.Limits(s.cfg.MaxSystemJobs)
	q.dirty = true
	for k := range kinds {
		s.size(k)
	}
	return old, nil
}

// Property reads what SetQueue sets.
func (s *state) Property(name, property string) (float64, error) {
	_, _, at, err := s.knob(name, property)
	if err != nil {
		return 0, err
	}
	return *at, nil
}

// knob is a property in a copy of a queue's settings.
func (s *state) knob(name, property string) (*queue, *Queue, *float64, error) {
	q, ok := s.byName[name]
	if !ok {
		return nil, nil, nil, fmt.Errorf("there is no queue %q", name)
	}
	set := q.set
	at, ok := map[string]*float64{
		"capacity": &set.Capacity, "maximum-capacity": &set.MaxCapacity,
		"minimum-user-limit-percent": &set.MinimumUserLimitPercent, "user-limit-factor": &set.UserLimitFactor,
	}[property]
	if !ok {
		return nil, nil, nil, fmt.Errorf("queue %s: %s cannot be set while it runs: there are capacity, maximum-capacity, minimum-user-limit-percent, user-limit-factor",
			name, property)
	}
	return q, &set, at, nil
}

// Move moves a job to another queue, with all it holds. An initialised one stays initialised, and counts there.
func (s *state) Move(v *policy.Job, name string) error {
	to, err := s.resolve(name)
	if err != nil {
		return err
	}
	j := &s.jobs[v.Index]
	if to == j.queue {
		return nil
	}
	if err := to.admit(v); err != nil {
		return err
	}
	for k := range kinds {
		if use := &to.use[k]; use.maximum >= 0 && j.held[k] > 0 && use.occupied+j.held[k] > use.maximum+s.parts[k].idle {
			return fmt.Errorf("queue %s has no room below its maximum-capacity for the %d slots that job %s holds", name, j.held[k], v.ID)
		}
	}
	s.leave(v.Index)
	s.enter(to, v.Index, v.User)
	return nil
}

// SetPriority changes a job's priority, where the queue has priorities.
func (s *state) SetPriority(v *policy.Job, _ int) {
	j := &s.jobs[v.Index]
	level := j.queue.level(v.Priority)
	if level == j.at.level {
		return
	}
	for k := range kinds {
		s.hide(j, k)
	}
	if !j.initialised {
		j.queue.waiting = remove(j.queue.waiting, j.at)
	}
	j.at.level = level
	if !j.initialised {
		j.queue.waiting = insert(j.queue.waiting, j.at)
		j.queue.dirty = true
	}
	for k := range kinds {
		s.show(j, k)
	}
}
