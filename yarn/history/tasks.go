package history

import (
	"cmp"
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/yarn/jhist"
)

// reduceLength is the part of a reduce that counts as its length: what it did after its job's last map, at least what it did after
// its shuffle, at most all of it.
func reduceLength(a *jhist.Attempt, end, lastMap jhist.Millis) unit.Time {
	full, own := span(a.Start, end), span(max(a.Start, lastMap), end)
	if a.ShuffleFinished > 0 {
		own = max(own, span(a.ShuffleFinished, end))
	}
	return min(own, full)
}

// span is the time between two instants; 0 if they are in the wrong order, as the clocks of two machines can make them.
func span(from, to jhist.Millis) unit.Time {
	return min(max(instant(to)-instant(from), 0), workload.MaxLength)
}

// fill gives a stage its tasks: lengths and hosts, in the order of their numbers.
func (b *builder) fill(s *workload.Stage, h *jhist.Job, tasks []jhist.Task, t *tally, length func(a *jhist.Attempt, end jhist.Millis) unit.Time) {
	values := make([]unit.Time, 0, len(tasks))
	hosts := hostList{names: b.names, index: map[string]int32{}}
	for i := range tasks {
		task := &tasks[i]
		a, end := attemptOf(task, h.Finish)
		switch {
		case a == nil:
			t.NeverRan++
			continue
		case a.Outcome != jhist.Succeeded:
			t.Observed++
		}
		values = append(values, length(a, end))
		hosts.add(task.Hosts)
	}
	s.Tasks = int64(len(values))
	if len(values) <= listTasks {
		s.Length = workload.Lengths{Kind: workload.List, Values: values}
		s.Hosts = hosts.hosts()
		return
	}
	t.Quantiles++
	slices.Sort(values)
	table := make([]unit.Time, tableSteps+1)
	for i := range table {
		table[i] = values[int(math.Round(float64(i)*float64(len(values)-1)/tableSteps))]
	}
	s.Length = workload.Lengths{Kind: workload.Quantiles, Values: table}
}

// attemptOf is the attempt that counts for a task: the successful one, else the longest. It also returns when that ended.
func attemptOf(task *jhist.Task, jobEnd jhist.Millis) (*jhist.Attempt, jhist.Millis) {
	if a := task.Successful(); a != nil && a.Start > 0 && a.Finish > 0 {
		return a, a.Finish
	}
	var best *jhist.Attempt
	var bestEnd jhist.Millis
	for i := range task.Attempts {
		a := &task.Attempts[i]
		end := cmp.Or(a.Finish, jobEnd)
		if a.Start == 0 || end < a.Start {
			continue
		}
		if best == nil || end-a.Start > bestEnd-best.Start {
			best, bestEnd = a, end
		}
	}
	return best, bestEnd
}

// hostList interns the hosts of a stage's input.
type hostList struct {
	names *names
	index map[string]int32
	list  []string
	of    [][]int32
	any   bool
}

func (l *hostList) add(hosts []string) {
	var row []int32
	for _, h := range hosts {
		if h == "localhost" || h == "" { // from file systems without locality
			continue
		}
		i, ok := l.index[h]
		if !ok {
			i = int32(len(l.list))
			l.index[h] = i
			l.list = append(l.list, l.names.host(h))
		}
		row = append(row, i)
	}
	l.any = l.any || len(row) > 0
	l.of = append(l.of, row)
}

func (l *hostList) hosts() *workload.Hosts {
	if !l.any {
		return nil
	}
	return &workload.Hosts{Names: l.list, Of: l.of}
}
