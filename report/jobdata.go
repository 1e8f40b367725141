package report

import (
	"math"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/yardmaster/yardmaster/result"
)

// jobLine is one job across the runs: what is the same for all of them, and a row for each run that has it.
type jobLine struct {
	first *result.JobRow
	rows  []*result.JobRow
}

// joinJobs matches the runs' jobs by their id (and, where an id comes several times, by its turn), in order of submission.
func joinJobs(runs []Run) []jobLine {
	type turn struct {
		id string
		n  int
	}
	var lines []jobLine
	at := map[turn]int{}
	for r := range runs {
		turns := map[string]int{}
		for i := range runs[r].Jobs {
			row := &runs[r].Jobs[i]
			if !finite(row.Submit) {
				continue
			}
			k := turn{row.ID, turns[row.ID]}
			turns[row.ID]++
			line, known := at[k]
			if !known {
				line = len(lines)
				at[k] = line
				lines = append(lines, jobLine{first: row, rows: make([]*result.JobRow, len(runs))})
			}
			lines[line].rows[r] = row
		}
	}
	sort.SliceStable(lines, func(i, j int) bool { return lines[i].first.Submit < lines[j].first.Submit })
	return lines
}

// appendJobs writes jobs by column: the id without the prefix all share, user, queue, tasks, submission as steps of a tick, the
// elapsed time alone, and for each run wait and run time. Slowdown is elapsed over alone, so it needs no column. A job that never
// started has no run time; one that did not finish has a negative one: the time it had run when the simulation ended.
func appendJobs(b []byte, runs []Run, queues map[string]int) []byte {
	lines := joinJobs(runs)
	prefix := sharedPrefix(lines)
	lines = thinJobs(lines, len(prefix), len(runs))
	tick := 0.01
	if n := len(lines); n > 0 && lines[n-1].first.Submit-lines[0].first.Submit > 3e4 {
		tick = 0.1
	}

	b = append(b, `{"tick":`...)
	b = appendNumber(b, tick, 3)
	b = append(b, `,"prefix":`...)
	b = appendString(b, prefix)
	column := func(name string, value func(b []byte, i int, l jobLine) []byte) {
		b = append(b, `,"`+name+`":[`...)
		for i, l := range lines {
			if i > 0 {
				b = append(b, ',')
			}
			b = value(b, i, l)
		}
		b = append(b, ']')
	}
	users, userIndex := userNames(lines)
	b = append(b, `,"users":`...)
	b = appendStrings(b, users)
	column("id", func(b []byte, _ int, l jobLine) []byte { return appendString(b, clip(l.first.ID[len(prefix):], 80)) })
	column("user", func(b []byte, _ int, l jobLine) []byte {
		return strconv.AppendInt(b, int64(userIndex[l.first.User]), 10)
	})
	column("queue", func(b []byte, _ int, l jobLine) []byte { return strconv.AppendInt(b, int64(queues[l.first.Queue]), 10) })
	column("tasks", func(b []byte, _ int, l jobLine) []byte { return strconv.AppendInt(b, l.first.Tasks, 10) })
	last := 0.0
	column("submit", func(b []byte, _ int, l jobLine) []byte {
		now := math.Round(l.first.Submit / tick)
		b = appendNumber(b, now-last, 15)
		last = now
		return b
	})
	column("alone", func(b []byte, _ int, l jobLine) []byte { return appendNumber(b, l.alone(), 4) })
	b = append(b, `,"runs":[`...)
	for r := range runs {
		if r > 0 {
			b = append(b, ',')
		}
		end := runEnd(runs[r])
		b = append(b, `{"n":`...)
		b = strconv.AppendInt(b, int64(len(runs[r].Jobs)), 10)
		b = append(b, `,"of":`...)
		b = strconv.AppendInt(b, runs[r].drawable(), 10)
		column("wait", func(b []byte, _ int, l jobLine) []byte {
			wait, _ := l.times(r, end)
			return appendNumber(b, wait, 4)
		})
		column("run", func(b []byte, _ int, l jobLine) []byte {
			_, run := l.times(r, end)
			return appendNumber(b, run, 4)
		})
		b = append(b, '}')
	}
	return append(b, `]}`...)
}

// drawable is how many jobs of the run could be drawn, of which Jobs may be a sample: all but those that were refused.
func (r Run) drawable() int64 {
	n := r.JobsTotal
	if r.Result != nil {
		n -= r.Result.Jobs.Refused
	}
	return max(n, int64(len(r.Jobs)))
}

// times returns a job's wait and run time in run r, in the form appendJobs describes; NaN for what it does not have.
func (l jobLine) times(r int, end float64) (wait, run float64) {
	row := l.rows[r]
	switch {
	case row == nil || row.Outcome == "refused":
		return math.NaN(), math.NaN()
	case row.Start < 0:
		return max(0, end-row.Submit), math.NaN()
	case row.Finish < 0:
		return row.Start - row.Submit, -max(0.001, end-row.Start)
	}
	return row.Start - row.Submit, row.Finish - row.Start
}

// alone is how long the job takes on an empty cluster, from the first run that knows.
func (l jobLine) alone() float64 {
	for _, row := range l.rows {
		if row != nil && row.Slowdown > 0 && row.Elapsed > 0 {
			return row.Elapsed / row.Slowdown
		}
	}
	return math.NaN()
}

// runEnd is the last instant that a run's jobs and timeline know of.
func runEnd(r Run) float64 {
	end := 0.0
	if n := len(r.Timeline.Edges); n > 0 {
		end = r.Timeline.Edges[n-1]
	}
	for _, j := range r.Jobs {
		end = max(end, j.Submit, j.Finish)
	}
	return end
}

// thinJobs takes every k-th job, such that what is written stays within its limit.
func thinJobs(lines []jobLine, prefix, runs int) []jobLine {
	size := 0
	for _, l := range lines {
		size += min(80, len(l.first.ID)-prefix) + 24 + 12*runs
	}
	if size <= maxJobBytes {
		return lines
	}
	keep := max(1, int(float64(len(lines))*maxJobBytes/float64(size)))
	out := make([]jobLine, keep)
	for i := range out {
		out[i] = lines[i*len(lines)/keep]
	}
	return out
}

func userNames(lines []jobLine) ([]string, map[string]int) {
	index := map[string]int{}
	names := []string{}
	for _, l := range lines {
		if _, known := index[l.first.User]; !known {
			index[l.first.User] = len(names)
			names = append(names, clip(l.first.User, 80))
		}
	}
	return names, index
}

// sharedPrefix is what all ids start with, cut at a whole character.
func sharedPrefix(lines []jobLine) string {
	if len(lines) < 2 {
		return ""
	}
	prefix := lines[0].first.ID
	for _, l := range lines[1:] {
		for !strings.HasPrefix(l.first.ID, prefix) {
			prefix = prefix[:len(prefix)-1]
		}
	}
	for prefix != "" && !utf8.ValidString(prefix) {
		prefix = prefix[:len(prefix)-1]
	}
	return prefix
}

// clip shortens text that no tooltip has room for.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	cut := limit - 3
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
