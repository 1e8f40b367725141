package capacity1

import (
	"fmt"
	"strings"

	"github.com/yardmaster/yardmaster/internal/dense"
	"github.com/yardmaster/yardmaster/policy"
)

// resolve finds the queue that a job names.
func (s *state) resolve(name string) (*queue, error) {
	if s.cfg.AnyQueue {
		return s.queues[0], nil
	}
	if q, ok := s.byName[name]; ok {
		return q, nil
	}
	var names []string
	for i, q := range s.queues {
		if i == 8 {
			names = append(names, "...")
			break
		}
		names = append(names, q.set.Name)
	}
	return nil, fmt.Errorf("there is no queue %q: there are %s", name, strings.Join(names, ", "))
}

// MissingQueue says why no job can be submitted to a queue; nil: one can.
func (s *state) MissingQueue(name string) error {
	_, err := s.resolve(name)
	return err
}

// admit checks a submission as Hadoop does.
func (q *queue) admit(j *policy.Job) error {
	if most := int64(q.set.MaxActiveTasksPerUser); j.Tasks > most {
		return fmt.Errorf("has %d tasks and could never be initialised: maximum-initialized-active-tasks-per-user of queue %s is %d",
			j.Tasks, q.set.Name, most)
	}
	if q.jobs >= q.limits.AcceptJobs {
		return fmt.Errorf("queue %s has %d jobs and accepts no more (init-accept-jobs-factor %d times the %d that may be initialised)",
			q.set.Name, q.jobs, q.set.AcceptFactor, q.limits.InitJobs)
	}
	if u, ok := q.byUser[j.User]; ok && q.users[u].jobs >= q.limits.AcceptJobsPerUser {
		return fmt.Errorf("user %s has %d jobs in queue %s, which accepts no more of one user (init-accept-jobs-factor %d times the %d that may be initialised)",
			j.User, q.users[u].jobs, q.set.Name, q.set.AcceptFactor, q.limits.InitJobsPerUser)
	}
	return nil
}

// arrived admits a job; it waits for the poller.
func (s *state) arrived(v *policy.Job) error {
	q, err := s.resolve(v.Queue)
	if err != nil {
		return err
	}
	if err := q.admit(v); err != nil {
		return err
	}
	*dense.At(&s.jobs, v.Index) = job{view: v, tasks: v.Tasks, at: position{seq: v.Seq, id: v.Index}}
	s.enter(q, v.Index, v.User)
	return nil
}
