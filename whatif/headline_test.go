package whatif

import (
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/result"
)

// seen is what one scheduler's runs show, one value a seed; what is not set is 100 s, or the same for all.
type seen struct {
	wait, slowdown, elapsed, makespan []float64
	etl                               []float64 // p95 elapsed of queue etl
	refused                           int64
	left                              []int64 // which were refused, where that is known
	none                              bool    // no job finished
}

// comparisonOf makes a comparison of schedulers a, b, c, ... as Compare would.
func comparisonOf(seeds int, all ...seen) *Comparison {
	out := &Comparison{}
	at := func(v []float64, i int, otherwise float64) float64 {
		if v == nil {
			return otherwise
		}
		return v[min(i, len(v)-1)]
	}
	for i := range seeds {
		out.Seeds = append(out.Seeds, uint64(i+1))
	}
	for s, x := range all {
		out.Schedulers = append(out.Schedulers, string(rune('a'+s)))
		out.Runs = append(out.Runs, nil)
		for i := range seeds {
			r := &result.Run{Makespan: at(x.makespan, i, 7200), Utilisation: 0.5, Jobs: result.JobCounts{Submitted: 200, Finished: 200 - x.refused, Refused: x.refused}}
			r.LeftOut = x.left
			if x.refused > 0 {
				r.Refusals = []result.Refusal{{Reason: "no such queue", Jobs: x.refused}}
			}
			if x.none { // as a run that refuses everything: nobody waits
				r = &result.Run{Jobs: result.JobCounts{Submitted: 200, Refused: 200}, Refusals: []result.Refusal{
					{Reason: "no such queue", Jobs: 150}, {Reason: "too large", Jobs: 50},
				}}
				out.Runs[s] = append(out.Runs[s], r)
				continue
			}
			r.Fairness.JainSlowdownUsers = 0.9
			r.Metrics.Wait = result.Stats{Count: 200, Mean: 60, Median: 10, P95: at(x.wait, i, 100)}
			r.Metrics.Elapsed = result.Stats{Count: 200, Mean: 100, Median: 100, P95: at(x.elapsed, i, 1000)}
			r.Metrics.Slowdown = result.Stats{Count: 200, Mean: 3, Median: 2, P95: at(x.slowdown, i, 5)}
			r.ByQueue = []result.Group{
				{Name: "etl", Elapsed: result.Stats{Count: 50, P95: at(x.etl, i, 3600)}},
				{Name: "adhoc", Elapsed: result.Stats{Count: 150, P95: 200}},
				{Name: "rare", Elapsed: result.Stats{Count: 3, P95: 10 * at(x.wait, i, 100)}}, // too few jobs to speak of
			}
			out.Runs[s] = append(out.Runs[s], r)
		}
	}
	out.judge()
	return out
}

func TestHeadline(t *testing.T) {
	base := seen{wait: []float64{100, 110, 90, 105, 95}}
	for name, c := range map[string]struct {
		seeds int
		of    []seen
		want  string
	}{
		"one run": {1, []seen{{}},
			"Half of the jobs wait at most 10 s for their first container, and 95 % at most 1.7 min; on average 50.0 % of the cluster is in use."},
		"one run without waits": {1, []seen{{wait: []float64{0}}}, "At least 95 % of the jobs start at once; on average 50.0 % of the cluster is in use."},
		"one run without jobs":  {1, []seen{{none: true}}, "No job finished under a."},
		"a gain, nothing random": {1, []seen{{}, {wait: []float64{0.7}}},
			"b brings the 95th-percentile wait from 1.7 min to 0.7 s. Nothing shown gets noticeably worse; the makespan does not move."},
		"a gain for which a queue pays": {1, []seen{{}, {wait: []float64{0.7}, etl: []float64{4500}, elapsed: []float64{1050}}},
			"b brings the 95th-percentile wait from 1.7 min to 0.7 s. " +
				"Jobs of queue etl pay, with a 95th-percentile elapsed time of 75 min instead of 60 min; the makespan does not move."},
		"a gain for which all pay": {1, []seen{{}, {wait: []float64{50}, elapsed: []float64{1300}}},
			"b brings the 95th-percentile wait from 1.7 min to 50 s. " +
				"The 95th-percentile elapsed time goes from 16.7 min to 21.7 min; the makespan does not move."},
		"a gain in slowdown only": {1, []seen{{}, {slowdown: []float64{4}}},
			"b brings the 95th-percentile slowdown from 5 to 4. Nothing shown gets noticeably worse; the makespan does not move."},
		"the makespan pays": {1, []seen{{}, {wait: []float64{50}, makespan: []float64{7900}}},
			"b brings the 95th-percentile wait from 1.7 min to 50 s. " +
				"The makespan grows from 2 h to 2.2 h; nothing else shown gets noticeably worse."},
		"the makespan gains too": {1, []seen{{}, {wait: []float64{50}, makespan: []float64{6000}}},
			"b brings the 95th-percentile wait from 1.7 min to 50 s. Nothing shown gets noticeably worse; the makespan shrinks from 2 h to 1.7 h."},
		"only the makespan gains": {1, []seen{{}, {makespan: []float64{5400}}},
			"b brings the makespan from 2 h to 90 min. Nothing shown gets noticeably worse."},
		"the better of two": {1, []seen{{}, {wait: []float64{50}}, {wait: []float64{40}}},
			"c brings the 95th-percentile wait from 1.7 min to 40 s. Nothing shown gets noticeably worse; the makespan does not move."},
		"one that refuses jobs is not judged": {1, []seen{{}, {wait: []float64{50}}, {wait: []float64{1}, refused: 30}},
			"b brings the 95th-percentile wait from 1.7 min to 50 s. Nothing shown gets noticeably worse; the makespan does not move. " +
				"c cannot be judged against a, for they finish different jobs: under c 30 of 200 jobs do not finish, under a all finish."},
		"a gain by refusing is none": {1, []seen{{}, {wait: []float64{50}, refused: 30}},
			"b cannot be judged against a, for they finish different jobs: under b 30 of 200 jobs do not finish, under a all finish."},
		"the first refuses": {1, []seen{{refused: 2}, {wait: []float64{50}, refused: 30}},
			"b cannot be judged against a, for they finish different jobs: under b 30 of 200 jobs do not finish, under a 2 do not."},
		"both refuse the same jobs": {1, []seen{{refused: 2, left: []int64{4, 9}}, {wait: []float64{50}, refused: 2, left: []int64{4, 9}}},
			"b brings the 95th-percentile wait from 1.7 min to 50 s. Nothing shown gets noticeably worse; the makespan does not move."},
		"both refuse as many, but others": {1, []seen{{refused: 2, left: []int64{4, 9}}, {wait: []float64{50}, refused: 2, left: []int64{4, 8}}},
			"b cannot be judged against a, for they finish different jobs: under b 2 of 200 jobs do not finish, under a 2 do not."},
		"less than a second": {1, []seen{{wait: []float64{0.9}}, {wait: []float64{0.1}}}, "There is no noticeable difference between a and b."},
		"the same":           {1, []seen{{}, {}, {}}, "a, b and c give the same figures throughout."},
		"only worse": {1, []seen{{}, {wait: []float64{150}}},
			"Nothing shown gets noticeably better than under a. With b the 95th-percentile wait goes from 1.7 min to 2.5 min."},
		"only a longer makespan": {1, []seen{{}, {makespan: []float64{10800}}},
			"Nothing shown gets noticeably better than under a. With b the makespan goes from 2 h to 3 h."},
		"nobody finishes":            {1, []seen{{}, {none: true}}, "No job finished under b, so there is nothing to compare."},
		"nobody finishes with seeds": {3, []seen{{}, {none: true}}, "No job finished under b, so there is nothing to compare."},
		"nobody finishes under two":  {1, []seen{{}, {none: true}, {none: true}}, "No job finished under b or c, so there is nothing to compare."},
		"the first finishes nothing": {1, []seen{{none: true}, {wait: []float64{50}}}, "No job finished under a, so there is nothing to compare with."},
		"one of two finishes nothing": {1, []seen{{}, {wait: []float64{50}, etl: []float64{4500}}, {none: true}},
			"b brings the 95th-percentile wait from 1.7 min to 50 s. Jobs of queue etl pay, with a 95th-percentile elapsed time of 75 min " +
				"instead of 60 min; the makespan does not move. No job finished under c."},
		"a gain over seeds": {5, []seen{base, {wait: []float64{52, 54, 44, 53, 47}}},
			"b brings the 95th-percentile wait from 1.7 min to 50 s (48 to 52 % less, with 95 % confidence from 5 seeds). " +
				"Nothing shown gets noticeably worse; the makespan does not move."},
		"the surer gain": {5, []seen{base, {wait: []float64{90, 5, 40, 2, 70}}, {wait: []float64{52, 54, 44, 53, 47}}},
			"c brings the 95th-percentile wait from 1.7 min to 50 s (48 to 52 % less, with 95 % confidence from 5 seeds). " +
				"Nothing shown gets noticeably worse; the makespan does not move."},
		"seeds do not agree": {5, []seen{base, {wait: []float64{190, 30, 150, 40, 60}}},
			"There is no noticeable difference between a and b that 5 seeds make clear."},
		"the makespan is not clear": {5, []seen{base, {wait: []float64{52, 54, 44, 53, 47}, makespan: []float64{9000, 6000, 9500, 7000, 7300}}},
			"b brings the 95th-percentile wait from 1.7 min to 50 s (48 to 52 % less, with 95 % confidence from 5 seeds). " +
				"Nothing shown gets noticeably worse; whether the makespan moves is not clear."},
		"seeds without randomness": {3, []seen{{}, {wait: []float64{50}, etl: []float64{5400}}},
			"b brings the 95th-percentile wait from 1.7 min to 50 s. " +
				"Jobs of queue etl pay, with a 95th-percentile elapsed time of 90 min instead of 60 min; the makespan does not move."},
	} {
		if got := comparisonOf(c.seeds, c.of...).Headline; got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}

func TestHeadlineIsTheFirstVerdictOfAReport(t *testing.T) {
	c := comparisonOf(1, seen{}, seen{wait: []float64{50}})
	d := c.Report(plan(t, random, 1, "fifo").Cluster)
	if len(d.Verdicts) != 1+len(c.Rows) || d.Verdicts[0] != c.Headline || !strings.HasPrefix(d.Verdicts[1], "median wait: ") {
		t.Errorf("%q", d.Verdicts)
	}
}
