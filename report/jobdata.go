package report

import (
	"math"
	"sort"
	"unicode/utf8"

	"github.com/yardmaster/yardmaster/result"
)

// jobLine is one job across the runs: what is the same for all of them, and a row for each run that has it.
type jobLine struct {
	first *result.JobRow
	rows  []*result.JobRow
}

// joinJobs matches the runs' jobs by their id (and occurrence, for repeated ids), in order of submission.
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

// maxJobs is the number of jobs up to which they are drawn as bars: more cannot be told apart.
const maxJobs = 200

// jobColumns are jobs by column: id, user, queue, tasks, submission, the elapsed time alone, and for each run wait and run time. Slowdown is
// elapsed over alone, so it needs no column. A job that never started has no run time; one that did not finish has a negative one: the time it
// had run when the simulation ended.
type jobColumns struct {
	Users  []string  `json:"users"`
	ID     []string  `json:"id"`
	User   []int     `json:"user"`
	Queue  []int     `json:"queue"`
	Tasks  []int64   `json:"tasks"`
	Submit []rounded `json:"submit"`
	Alone  []rounded `json:"alone"`
	Runs   []runJobs `json:"runs"`
}

type runJobs struct {
	Wait []rounded `json:"wait"`
	Run  []rounded `json:"run"`
}

// drawsJobs reports whether the jobs of runs are few enough to be drawn.
func drawsJobs(runs []Run) bool {
	most := 0
	for _, r := range runs {
		most = max(most, len(r.Jobs))
	}
	return most > 0 && most <= maxJobs
}

func newJobColumns(runs []Run, queues map[string]int) jobColumns {
	var lines []jobLine
	if drawsJobs(runs) {
		lines = joinJobs(runs)
	}
	n := len(lines)
	users, userIndex := userNames(lines)
	d := jobColumns{users, make([]string, n), make([]int, n), make([]int, n), make([]int64, n), make([]rounded, n), make([]rounded, n), make([]runJobs, len(runs))}
	for i, l := range lines {
		d.ID[i], d.User[i], d.Queue[i], d.Tasks[i] = clip(l.first.ID, 80), userIndex[l.first.User], queues[l.first.Queue], l.first.Tasks
		d.Submit[i], d.Alone[i] = rounded{math.Round(l.first.Submit*100) / 100, 15}, rounded{l.alone(), 4}
	}
	for r := range runs {
		end := runEnd(runs[r])
		one := runJobs{make([]rounded, n), make([]rounded, n)}
		for i, l := range lines {
			wait, run := l.times(r, end)
			one.Wait[i], one.Run[i] = rounded{wait, 4}, rounded{run, 4}
		}
		d.Runs[r] = one
	}
	return d
}

// times returns a job's wait and run time in run r, in the form jobColumns describes; NaN for what it does not have.
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

// clip truncates text too long for a tooltip.
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
