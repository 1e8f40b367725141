package trace

import (
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Deal reassigns the jobs of a workload to other users and queues, so that a scheduler's file with other queues
// can be tested on any history. A job keeps its user unless Users is set; a user submits to one queue. The
// assignment is a hash of names and Seed: it does not depend on the order of jobs.
type Deal struct {
	Users  int      // jobs are assigned to this many users, u001, u002, ...; 0: users stay
	Queues []string // users are assigned to these; empty: queues stay
	Seed   uint64
}

// Keys of the choices, so that they do not share a stream.
const (
	userStream  = 0x6465616c75 // "dealu"
	queueStream = 0x6465616c71 // "dealq"
)

// IsZero says whether nothing is reassigned.
func (d *Deal) IsZero() bool { return d.Users == 0 && len(d.Queues) == 0 }

// Assumption describes the reassignment, for users; "": none.
func (d *Deal) Assumption() string {
	queues := fmt.Sprintf("%s (%s)", unit.Count(int64(len(d.Queues)), "queue"), strings.Join(d.Queues, ", "))
	switch {
	case d.Users > 0 && len(d.Queues) > 0:
		return fmt.Sprintf("workload: jobs reassigned to %s by a hash of their names (seed %d), users in turn to %s; those in the trace are ignored",
			unit.Count(int64(d.Users), "user"), d.Seed, queues)
	case d.Users > 0:
		return fmt.Sprintf("workload: jobs reassigned to %s by a hash of their names (seed %d); users in the trace are ignored", unit.Count(int64(d.Users), "user"), d.Seed)
	case len(d.Queues) > 0:
		return fmt.Sprintf("workload: users reassigned to %s by a hash of their names (seed %d); queues in the trace are ignored", queues, d.Seed)
	}
	return ""
}

// Source reassigns the jobs of src. Its assumptions are those of src and the reassignment.
func (d Deal) Source(src workload.Source) workload.Source {
	if d.IsZero() {
		return src
	}
	return &dealt{src, d}
}

type dealt struct {
	src  workload.Source
	deal Deal
}

// Assumptions lists what was assumed.
func (s *dealt) Assumptions() []string {
	var all []string
	if a, ok := s.src.(interface{ Assumptions() []string }); ok {
		all = append(all, a.Assumptions()...)
	}
	return append(all, s.deal.Assumption())
}

func (s *dealt) Next() (*workload.Job, error) {
	j, err := s.src.Next()
	if err != nil {
		return nil, err
	}
	out := *j // returned jobs are immutable
	d := &s.deal
	queues := uint64(len(d.Queues))
	if d.Users > 0 {
		user := d.draw(userStream, out.ID) % uint64(d.Users)
		out.User = fmt.Sprintf("u%03d", 1+user)
		if queues > 0 { // round-robin, so that even with few users no queue is left empty
			out.Queue = d.Queues[user%queues]
		}
		return &out, nil
	}
	who := out.User
	if who == "" { // unknown user: each job by itself
		who = "job " + out.ID
	}
	out.Queue = d.Queues[d.draw(queueStream, who)%queues]
	return &out, nil
}

func (d *Deal) draw(stream uint64, name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // never fails
	return workload.Seed(workload.Seed(d.Seed, stream), h.Sum64())
}
