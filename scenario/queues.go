package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/unit"
)

// maxChecked is how many jobs CheckQueues reads.
const maxChecked = 100_000

// CheckQueues rejects a workload with jobs for queues that a scheduler's file does not have: they would be refused one by one,
// and the figures would be those of the others. It reads the workload, unless that comes through a pipe.
func (s *Setup) CheckQueues() error {
	if s.Scenario.pipe() {
		return nil
	}
	var queues map[string]int64 // jobs by queue
	for i := range s.Schedulers {
		scheduler := &s.Schedulers[i]
		missing, err := scheduler.MissingQueue()
		if err != nil {
			return err
		}
		if missing == nil {
			continue
		}
		if queues == nil {
			queues = s.queues()
		}
		if err := missingQueues(scheduler.Name, queues, missing); err != nil {
			return err
		}
	}
	return nil
}

// missingQueues says which of the queues a scheduler does not have, the one with the most jobs first.
func missingQueues(scheduler string, queues map[string]int64, missing func(string) error) error {
	var names, texts []string
	var all, jobs int64
	for name, n := range queues {
		if all += n; missing(name) != nil {
			jobs += n
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.SortFunc(names, func(a, b string) int {
		if queues[a] != queues[b] {
			return int(queues[b] - queues[a])
		}
		return strings.Compare(a, b)
	})
	for i, name := range names {
		if i == 5 {
			texts = append(texts, fmt.Sprintf("and %d more", len(names)-i))
			break
		}
		texts = append(texts, fmt.Sprintf("%q (%s)", name, unit.Count(queues[name], "job")))
	}
	return misuse("%d of %s are for queues that %s does not have: %s; %w; "+
		"reassign all jobs with --queues NAME,NAME, or those of a queue with --move queue:OLD=NEW",
		jobs, unit.Count(all, "job"), scheduler, strings.Join(texts, ", "), missing(names[0]))
}

// queues counts the first jobs by queue, up to an error, which the run will report.
func (s *Setup) queues() map[string]int64 {
	queues := map[string]int64{}
	src, err := s.Workload.Open(s.Scenario.Seed)
	if err != nil {
		return queues
	}
	defer closeSource(src)
	for range maxChecked {
		j, err := src.Next()
		if err != nil {
			break
		}
		queues[j.Queue]++
	}
	return queues
}
