package whatif

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
	"github.com/yardmaster/yardmaster/result"
)

// seen is what one scheduler's runs show, one value a seed; what is not set is 100 s, or the same for all.
type seen struct {
	wait, slowdown, elapsed, makespan []float64
	medianWait, median, fairness      []float64 // median: of elapsed
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
			r.Fairness.JainSlowdownUsers = at(x.fairness, i, 0.9)
			r.Metrics.Wait = result.Stats{Count: 200, Mean: 60, Median: at(x.medianWait, i, 10), P95: at(x.wait, i, 100)}
			r.Metrics.Elapsed = result.Stats{Count: 200, Mean: 100, Median: at(x.median, i, 100), P95: at(x.elapsed, i, 1000)}
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
		"a gain for which a queue pays": {1, []seen{{}, {wait: []float64{0.7}, etl: []float64{4500}}},
			"b brings the 95th-percentile wait from 1.7 min to 0.7 s. " +
				"Jobs of queue etl pay, with a 95th-percentile elapsed time of 75 min instead of 60 min; the makespan does not move."},
		"a gain for which all pay": {1, []seen{{}, {wait: []float64{50}, elapsed: []float64{1300}}},
			"b raises the 95th-percentile elapsed time from 16.7 min to 21.7 min. It brings the 95th-percentile wait from 1.7 min to 50 s. " +
				"Nothing else shown gets noticeably worse; the makespan does not move."},
		"a gain in slowdown only": {1, []seen{{}, {slowdown: []float64{4}}},
			"b brings the 95th-percentile slowdown from 5 to 4. Nothing shown gets noticeably worse; the makespan does not move."},
		"the makespan pays": {1, []seen{{}, {wait: []float64{50}, makespan: []float64{7900}}},
			"b raises the makespan from 2 h to 2.2 h. It brings the 95th-percentile wait from 1.7 min to 50 s. " +
				"Nothing else shown gets noticeably worse."},
		"the makespan gains too": {1, []seen{{}, {wait: []float64{50}, makespan: []float64{6000}}},
			"b brings the makespan from 2 h to 1.7 h. Nothing shown gets noticeably worse."},
		"elapsed time and makespan gain": {1, []seen{{}, {elapsed: []float64{500}, makespan: []float64{6000}}},
			"b brings the 95th-percentile elapsed time from 16.7 min to 8.3 min. Nothing shown gets noticeably worse; the makespan shrinks from 2 h to 1.7 h."},
		"fairness does not excuse fifo": {1, []seen{
			{medianWait: []float64{0.1}, median: []float64{132}, slowdown: []float64{3.14}, fairness: []float64{0.692}},
			{medianWait: []float64{1596}, median: []float64{1776}, slowdown: []float64{52.4}, fairness: []float64{0.794}},
		}, "b raises the 95th-percentile slowdown from 3.14 to 52.4. It brings the fairness between users (1 is even) from 0.692 to 0.794. " +
			"The median wait goes from 0.1 s to 26.6 min; the makespan does not move."},
		"a shorter wait does not excuse twice the makespan": {1, []seen{
			{medianWait: []float64{23.6}}, {medianWait: []float64{10.1}, makespan: []float64{14400}},
		}, "b raises the makespan from 2 h to 4 h. It brings the median wait from 23.6 s to 10.1 s. Nothing else shown gets noticeably worse."},
		"harm in two ways": {1, []seen{{}, {wait: []float64{50}, elapsed: []float64{1300}, makespan: []float64{7900}}},
			"b raises the 95th-percentile elapsed time from 16.7 min to 21.7 min. It brings the 95th-percentile wait from 1.7 min to 50 s. " +
				"The makespan grows from 2 h to 2.2 h; nothing else shown gets noticeably worse."},
		"the gain of one that does no harm": {1, []seen{{}, {elapsed: []float64{900}}, {elapsed: []float64{500}, makespan: []float64{9000}}},
			"c raises the makespan from 2 h to 2.5 h. b brings the 95th-percentile elapsed time from 16.7 min to 15 min. " +
				"Nothing shown gets noticeably worse; the makespan does not move."},
		"harm of many": {1, []seen{{}, {elapsed: []float64{1500}}, {makespan: []float64{14400}}, {median: []float64{120}}, {slowdown: []float64{6}}},
			"c raises the makespan from 2 h to 4 h, and b the 95th-percentile elapsed time from 16.7 min to 25 min; d and e do harm too. " +
				"Nothing shown gets noticeably better than under a."},
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
			"With b the 95th-percentile wait goes from 1.7 min to 2.5 min. Nothing shown gets noticeably better than under a."},
		"only a longer makespan": {1, []seen{{}, {makespan: []float64{10800}}},
			"b raises the makespan from 2 h to 3 h. Nothing shown gets noticeably better than under a."},
		"nobody finishes":            {1, []seen{{}, {none: true}}, "No job finished under b, so there is nothing to compare."},
		"nobody finishes with seeds": {3, []seen{{}, {none: true}}, "No job finished under b, so there is nothing to compare."},
		"nobody finishes under two":  {1, []seen{{}, {none: true}, {none: true}}, "No job finished under b or c, so there is nothing to compare."},
		"the first finishes nothing": {1, []seen{{none: true}, {wait: []float64{50}}}, "No job finished under a, so there is nothing to compare with."},
		"one of two finishes nothing": {1, []seen{{}, {wait: []float64{50}, etl: []float64{4500}}, {none: true}},
			"b brings the 95th-percentile wait from 1.7 min to 50 s. Jobs of queue etl pay, with a 95th-percentile elapsed time of 75 min " +
				"instead of 60 min; the makespan does not move. No job finished under c."},
		"a gain over seeds": {5, []seen{base, {wait: []float64{52, 54, 44, 53, 47}}},
			"b brings the 95th-percentile wait from 1.7 min to 50 s (48 to 52 % less, 95 % interval over 5 seeds). " +
				"Nothing shown gets noticeably worse; the makespan does not move."},
		"the surer gain": {5, []seen{base, {wait: []float64{90, 5, 40, 2, 70}}, {wait: []float64{52, 54, 44, 53, 47}}},
			"c brings the 95th-percentile wait from 1.7 min to 50 s (48 to 52 % less, 95 % interval over 5 seeds). " +
				"Nothing shown gets noticeably worse; the makespan does not move."},
		"seeds do not agree": {5, []seen{base, {wait: []float64{190, 30, 150, 40, 60}}},
			"There is no noticeable difference between a and b that 5 seeds make clear."},
		"the makespan is not clear": {5, []seen{base, {wait: []float64{52, 54, 44, 53, 47}, makespan: []float64{9000, 6000, 9500, 7000, 7300}}},
			"b brings the 95th-percentile wait from 1.7 min to 50 s (48 to 52 % less, 95 % interval over 5 seeds). " +
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
	d := c.Report(plan(t, random, 1, "fifo").Variants[0].Cluster)
	if len(d.Verdicts) != 1+len(c.Rows) || d.Verdicts[0] != c.Headline || !strings.HasPrefix(d.Verdicts[1], "median wait: ") {
		t.Errorf("%q", d.Verdicts)
	}
}

// Whatever else is said, the first sentence names every scheduler that makes a core metric worse.
func TestPropertyHarmIsSaidFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seeds := rapid.SampledFrom([]int{1, 2, 5}).Draw(t, "seeds")
		figures := func(name string, from, to float64) []float64 {
			return rapid.SliceOfN(rapid.Float64Range(from, to), seeds, seeds).Draw(t, name)
		}
		all := make([]seen, rapid.IntRange(2, 5).Draw(t, "schedulers"))
		for i := range all {
			all[i] = seen{
				wait: figures("wait", 0, 300), medianWait: figures("median wait", 0, 30), fairness: figures("fairness", 0.1, 1), etl: figures("etl", 1000, 4000),
				elapsed: figures("elapsed", 900, 1100), median: figures("median elapsed", 90, 110), slowdown: figures("slowdown", 4, 6), makespan: figures("makespan", 7000, 7400),
			}
		}
		c := comparisonOf(seeds, all...)
		first, _, _ := strings.Cut(c.Headline, ". ")
		for _, row := range c.Rows {
			switch strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(row.Metric, "median "), "mean "), "p95 ") {
			case "elapsed", "slowdown", "makespan":
			default:
				continue
			}
			for s, cell := range row.Cells[1:] {
				worse := cell.Judgement == Worse || cell.Judgement == Unjudged && cell.Diff > 0
				if !worse || cell.Change < 1 || row.Unit == Seconds && cell.Diff < 1 {
					continue
				}
				name := c.Schedulers[s+1]
				if !strings.Contains(first, " raises ") || !slices.Contains(strings.FieldsFunc(first, func(r rune) bool { return r == ' ' || r == ',' }), name) {
					t.Fatalf("%s under %s is worse (%+.1f %%), and the headline begins %q", row.Metric, name, cell.Change, first)
				}
			}
		}
	})
}

// Console, JSON and report have the headline from one function.
func TestHeadlineIsTheSameEverywhere(t *testing.T) {
	c := comparisonOf(1, seen{}, seen{wait: []float64{50}, makespan: []float64{14400}})
	var b strings.Builder
	if err := c.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var j struct{ Headline string }
	if err := json.Unmarshal([]byte(b.String()), &j); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(c.Headline, "b raises the makespan") || j.Headline != c.Headline || c.Report(plan(t, random, 1, "fifo").Variants[0].Cluster).Verdicts[0] != c.Headline {
		t.Errorf("%q, in JSON %q", c.Headline, j.Headline)
	}
}
