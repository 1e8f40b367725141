package executors

import (
	"fmt"
	"strings"

	"github.com/yardmaster/yardmaster/result/verdict"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Count names the executors of a row.
func (r *Row) Count() string {
	if r.Unlimited {
		return "no limit"
	}
	return unit.Number(r.Executors)
}

// phrase puts the answer for a job into words.
func (a *Answer) phrase(j *workload.Job) {
	ran, enough, cheap := &a.Rows[a.AsItRan], &a.Rows[a.Enough], &a.Rows[a.Cheapest]
	limit := "" // of dynamic allocation
	if a.Dynamic {
		limit = "a limit of "
	}
	with := func(r *Row) string {
		if r.Unlimited {
			return "no limit"
		}
		return limit + unit.Count(r.Executors, "executor")
	}
	in := unit.ColumnOf([]float64{ran.Elapsed, enough.Elapsed, cheap.Elapsed, a.Observed})
	cost := func(r *Row) string {
		return fmt.Sprintf("%s and %s GiB-hours", in.Format(r.Elapsed), verdict.Format(r.GiBHours, verdict.Count))
	}
	if !enough.Unlimited {
		conf := []string{fmt.Sprint("spark.executor.instances ", enough.Executors)}
		if a.Dynamic {
			conf = limited(enough.Executors, j).conf
		}
		for i, line := range conf {
			conf[i] = "--conf " + strings.Replace(line, " ", "=", 1)
		}
		a.Setting = strings.Join(conf, " ")
	}
	switch {
	case a.Enough == a.AsItRan:
		a.Sentence = fmt.Sprintf("Keep %s: all smaller numbers that were tried take more than 10 %% longer than the best time, and it takes %s.", with(ran), cost(ran))
	case ran.Elapsed <= enough.Elapsed*nearBest && enough.GiBHours < ran.GiBHours:
		a.Sentence = fmt.Sprintf("%s: within 10 %% of the best time, it takes %s, instead of %s with %s.", upper(with(enough)), cost(enough), cost(ran), with(ran))
	default:
		a.Sentence = fmt.Sprintf("%s: the smallest number tried within 10 %% of the best time takes %s; with %s it is %s.", upper(with(enough)), cost(enough), with(ran), cost(ran))
	}
	if a.Cheapest != a.Enough {
		a.Sentence += fmt.Sprintf(" Cheapest is %s: %s.", with(cheap), cost(cheap))
	}

	b := &a.Bound
	var parts []string
	for _, part := range []struct {
		seconds float64
		what    string
	}{
		{b.Launch, "until the driver asks for executors"}, {b.Start, "until the first are up"},
		{b.Driver, "in which no task could run, because the driver works alone"},
		{b.Tasks, "for the longest tasks of stages that wait for each other"},
	} {
		if part.seconds > 0 {
			parts = append(parts, unit.FormatSeconds(part.seconds)+" "+part.what)
		}
	}
	a.Why = append(a.Why, fmt.Sprintf("No number of executors is faster than %s: %s.", unit.FormatSeconds(b.Elapsed), strings.Join(parts, "; ")))
	for i := range a.Skew {
		s := &a.Skew[i]
		a.Why = append(a.Why, fmt.Sprintf("Stage %s waits for its longest task: %s, and half of its %s take at most %s. Tasks of equal length would save %s.",
			s.Stage, unit.FormatSeconds(s.Longest), unit.Count(s.Tasks, "task"), unit.FormatSeconds(s.Median), unit.FormatSeconds(s.Cost)))
	}
	if a.Observed > 0 {
		a.Why = append(a.Why, fmt.Sprintf("As it ran, it took %s; simulated with the same settings, %s (%+.1f %%).",
			in.Format(a.Observed), in.Format(ran.Elapsed), 100*(ran.Elapsed/a.Observed-1)))
	}
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
