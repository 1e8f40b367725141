package capacity1

import (
	"fmt"

	"github.com/yardmaster/yardmaster/policy"
)

// New builds the policy. It serves one run. Its timer is the initialisation poller.
func New(c Config) (policy.Policy, error) {
	threads := c.WorkerThreads
	c, err := c.Complete()
	if err != nil {
		return policy.Policy{}, err
	}
	s := &state{cfg: c, byName: map[string]*queue{}}
	for _, set := range c.Queues {
		q := &queue{set: set, limits: set.Limits(c.MaxSystemJobs), byUser: map[string]int32{}}
		s.queues = append(s.queues, q)
		s.byName[set.Name] = q
	}
	for k := range s.parts {
		p := &part{state: s, kind: k, epoch: 1, order: append([]*queue(nil), s.queues...), beat: beat{node: none}}
		p.walk.heads.Before = func(a, b head) bool { return a.compare(b.position) < 0 }
		s.parts[k] = p
	}
	s.parts[mapSlots].perBeat, s.parts[reduceSlots].perBeat = c.TasksPerHeartbeat, c.ReducesPerHeartbeat
	position := placement{maps: locality{s.parts[mapSlots]}}
	if c.AvoidBusyNodes {
		position.reduces = &spread{p: s.parts[reduceSlots]}
	}
	p := policy.Policy{Order: s, Place: position, Timer: s}
	if threads != 0 {
		p.NotModelled = append(p.NotModelled, fmt.Sprintf("init-worker-threads = %d (%d in use, for %d queues) is not modelled: initialisation takes no time",
			threads, min(threads, len(c.Queues)), len(c.Queues)))
	}
	return p, nil
}
