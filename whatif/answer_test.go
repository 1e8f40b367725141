package whatif

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/result/verdict"
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
				{Name: "etl", Jobs: 50, Elapsed: result.Stats{Count: 50, P95: at(x.etl, i, 3600)}, Slowdown: result.Stats{Count: 50, P95: 4}},
				{Name: "adhoc", Jobs: 150, Elapsed: result.Stats{Count: 150, P95: 200}, Slowdown: result.Stats{Count: 150, P95: 4}},
				{Name: "rare", Elapsed: result.Stats{Count: 3, P95: 10 * at(x.wait, i, 100)}, Slowdown: result.Stats{Count: 3, P95: 4}}, // too few jobs to speak of
			}
			out.Runs[s] = append(out.Runs[s], r)
		}
	}
	out.judge()
	return out
}

func TestAnswers(t *testing.T) {
	base := seen{wait: []float64{100, 110, 90, 105, 95}}
	nobody := " No queue with 20 jobs or more loses or gains noticeably."
	for name, c := range map[string]struct {
		seeds   int
		of      []seen
		touched [][]verdict.Subject
		want    []string
	}{
		"one run": {1, []seen{{}}, nil, []string{
			"Half of the jobs wait at most 10 s for their first container, and 95 % at most 1.7 min; on average 50.0 % of the cluster is in use."}},
		"one run without waits": {1, []seen{{wait: []float64{0}}}, nil, []string{"At least 95 % of the jobs start at once; on average 50.0 % of the cluster is in use."}},
		"one run without jobs":  {1, []seen{{none: true}}, nil, []string{"No job finished under a."}},
		"one run that is stuck": {1, []seen{{refused: 120}}, nil, []string{"Only 80 jobs finished under a, of 200; why is below."}},
		"only a wait": {5, []seen{base, {wait: []float64{0.7}}}, nil, []string{
			"b: the cluster as a whole: jobs finish neither sooner nor later, but p95 wait 1.7 min -> 0.7 s (-99.3 %, -99.4 to -99.2)." + nobody}},
		"a gain for which a queue pays": {5, []seen{base, {elapsed: []float64{500}, etl: []float64{4500}}}, nil, []string{
			"b: queue etl loses: p95 elapsed 60 min -> 75 min (+25 %). Better for the cluster as a whole: p95 elapsed 16.7 min -> 8.3 min (-50 %)."}},
		"both sides are clear": {5, []seen{base, {wait: []float64{50}, slowdown: []float64{4}, elapsed: []float64{1300}}}, nil, []string{
			"b: mixed for the cluster as a whole: better in p95 slowdown 5 -> 4 (-20 %), worse in p95 elapsed 16.7 min -> 21.7 min (+30 %)." + nobody}},
		"harm in many ways": {5, []seen{base, {elapsed: []float64{1100}, median: []float64{150}, makespan: []float64{14400}}}, nil, []string{
			"b: worse for the cluster as a whole: median elapsed 1.7 min -> 2.5 min (+50 %), p95 elapsed 16.7 min -> 18.3 min (+10 %)." + nobody}},
		"fairness does not excuse": {5, []seen{{wait: base.wait, fairness: []float64{0.692}}, {slowdown: []float64{52.4}, fairness: []float64{0.794}}}, nil, []string{
			"b: worse for the cluster as a whole: p95 slowdown 5 -> 52.4 (+948 %)." + nobody}},
		"an answer for each": {5, []seen{base, {elapsed: []float64{500}}, {none: true}, {refused: 30}, {}}, nil, []string{
			"b: better for the cluster as a whole: p95 elapsed 16.7 min -> 8.3 min (-50 %)." + nobody,
			"c: no job finishes, so there is nothing to compare.",
			"d: cannot be judged as a whole against a, for they finish different jobs: here 30 of 200 jobs do not finish, there all 200 jobs finish.",
			"e: the cluster as a whole: no noticeable difference." + nobody}},
		"the first refuses": {5, []seen{{wait: base.wait, refused: 2}, {wait: []float64{50}, refused: 30}}, nil, []string{
			"b: cannot be judged as a whole against a, for they finish different jobs: here 30 of 200 jobs do not finish, there 2 of 200 jobs do not finish."}},
		"both refuse the same jobs": {5, []seen{{wait: base.wait, refused: 2, left: []int64{4, 9}}, {elapsed: []float64{500}, refused: 2, left: []int64{4, 9}}}, nil, []string{
			"b: better for the cluster as a whole: p95 elapsed 16.7 min -> 8.3 min (-50 %)." + nobody}},
		"less than a second":         {5, []seen{{wait: []float64{0.9, 0.8}}, {wait: []float64{0.1, 0.2}}}, nil, []string{"b: the cluster as a whole: no noticeable difference." + nobody}},
		"the first finishes nothing": {1, []seen{{none: true}, {}}, nil, []string{"No job finished under a, so there is nothing to compare with."}},
		"over seeds": {5, []seen{base, {elapsed: []float64{520, 540, 440, 530, 470}}}, nil, []string{
			"b: better for the cluster as a whole: p95 elapsed 16.7 min -> 8.3 min (-50 %, -55 to -44)." + nobody}},
		"seeds do not agree": {5, []seen{base, {wait: []float64{190, 30, 150, 40, 60}}}, nil, []string{
			"b: the cluster as a whole: no noticeable difference." + nobody}},
		"replays do not agree on a core metric": {5, []seen{base, {elapsed: []float64{1400, 700, 1300, 800, 1200}, etl: []float64{3000, 5000, 3500, 4000}}}, nil, []string{
			"b: the cluster as a whole: no difference that can be told: p95 elapsed 16.7 min -> 18 min (+8.0 %, -24.3 to +54.1). " +
				"Of no queue with 20 jobs or more can it be told that it loses or gains."}},
		"one replay": {1, []seen{{}, {elapsed: []float64{500}, etl: []float64{1800}}}, [][]verdict.Subject{nil, {{Kind: "queue", Name: "etl"}}}, []string{
			"b: one replay cannot tell a difference from chance. Queue etl in this replay: p95 elapsed 60 min -> 30 min (-50 %). " +
				"The cluster as a whole: p95 elapsed 16.7 min -> 8.3 min (-50 %), p95 slowdown 5 -> 5 (the same)."}},
		"the touched queue": {5, []seen{base, {etl: []float64{1800}}, {elapsed: []float64{1300}, etl: []float64{1800}}}, [][]verdict.Subject{nil, {{Kind: "queue", Name: "root.etl"}}, {{Kind: "queue", Name: "etl"}}}, []string{
			"b: queue etl gets better: p95 elapsed 60 min -> 30 min (-50 %). The cluster as a whole: no noticeable difference. No other queue with 20 jobs or more loses or gains noticeably.",
			"c: queue etl gets better: p95 elapsed 60 min -> 30 min (-50 %). Worse for the cluster as a whole: p95 elapsed 16.7 min -> 21.7 min (+30 %). No other queue with 20 jobs or more loses or gains noticeably."}},
		"touched, and nothing happens": {5, []seen{base, {elapsed: []float64{500}}}, [][]verdict.Subject{nil, {{Kind: "queue", Name: "adhoc"}, {Kind: "queue", Name: "rare"}, {Kind: "user", Name: "ana"}}}, []string{
			"b: queue adhoc does not change noticeably: p95 elapsed 3.3 min -> 3.3 min (the same). Queue rare has too few jobs to judge (3): p95 elapsed 16.7 min -> 16.7 min (0.00 %, -9.35 to +10.32). " +
				"User ana has no job in this workload. Better for the cluster as a whole: p95 elapsed 16.7 min -> 8.3 min (-50 %). No other queue loses or gains noticeably."}},
		"touched, and the cluster refuses others": {5, []seen{base, {refused: 30, etl: []float64{7200}}}, [][]verdict.Subject{nil, {{Kind: "queue", Name: "etl"}}}, []string{
			"b: cannot be judged as a whole against a, for they finish different jobs: here 30 of 200 jobs do not finish, there all 200 jobs finish. " +
				"Queue etl gets worse: p95 elapsed 60 min -> 2 h (+100 %)."}},
	} {
		got := comparisonOf(c.seeds, c.of...)
		got.touched = c.touched
		got.judgeAgain()
		if d := cmp.Diff(c.want, texts(got)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func texts(c *Comparison) (out []string) {
	for _, a := range c.Answers {
		out = append(out, a.Text)
	}
	return out
}

// judgeAgain judges the runs afresh.
func (out *Comparison) judgeAgain() {
	out.Rows, out.Notes, out.Unfinished, out.common = nil, nil, nil, 0
	out.judge()
}

// Of each kind, what a variant touches comes first, then who loses most, then who gains; classes that are the queues are left out.
func TestGroupsAreSortedByLoss(t *testing.T) {
	c := comparisonOf(2, seen{wait: []float64{100, 101}}, seen{})
	p95 := map[string][2]float64{"same": {100, 100}, "gains": {100, 50}, "loses": {100, 200}, "loses more": {100, 300}, "touched": {100, 90}, "few": {100, 900}}
	for s := range c.Runs {
		for _, r := range c.Runs[s] {
			r.ByQueue = nil
			for _, name := range []string{"same", "gains", "loses", "few", "loses more", "touched"} {
				n := int64(50)
				if name == "few" {
					n = groupJobs - 1
				}
				levels := []result.Level{{}, {}, {Over: 1800, Jobs: 5}, {}}
				r.ByQueue = append(r.ByQueue, result.Group{Name: name, Jobs: n, Service: levels, Elapsed: result.Stats{Count: n, P95: p95[name][s]}, Slowdown: result.Stats{Count: n, P95: 3}})
			}
			r.ByClass = r.ByQueue
			r.ByUser = []result.Group{{Name: "all", Elapsed: result.Stats{Count: 200}}}
		}
	}
	c.touched = [][]verdict.Subject{nil, {{Kind: "queue", Name: "root.a.touched"}}}
	c.judgeAgain()
	var got []string
	for _, g := range c.Groups {
		got = append(got, g.Kind+" "+g.Name)
		if g.Touched[1] != (g.Name == "touched") || g.Few != (g.Name == "few") || len(g.Rows) != 3 || g.Rows[2].Cells[0].Mean != 5/float64(g.Jobs[0]) {
			t.Errorf("%+v", g)
		}
	}
	if d := cmp.Diff([]string{"queue touched", "queue loses more", "queue loses", "queue gains", "queue same", "queue few"}, got); d != "" {
		t.Error(d)
	}
	want := "b: queue touched gets better: p95 elapsed 1.7 min -> 90 s (-10 %). " +
		"2 of 4 queues lose, loses more most: p95 elapsed 1.7 min -> 5 min (+200 %). Queue gains gains: p95 elapsed 1.7 min -> 50 s (-50 %). " +
		"The cluster as a whole: no noticeable difference."
	if d := cmp.Diff([]string{want}, texts(c)); d != "" {
		t.Error(d)
	}
}

// A variant with a larger load is judged, though its jobs are others; a note says so.
func TestAnotherWorkloadIsJudged(t *testing.T) {
	c := comparisonOf(2, seen{wait: []float64{100, 101}}, seen{elapsed: []float64{2000}})
	c.Runs[1][0].Jobs = result.JobCounts{Submitted: 240, Finished: 240}
	c.Runs[1][1].Jobs = c.Runs[1][0].Jobs
	c.other = []bool{false, true}
	c.judgeAgain()
	if d := cmp.Diff([]string{"b: worse for the cluster as a whole: p95 elapsed 16.7 min -> 33.3 min (+100 %). No queue with 20 jobs or more loses or gains noticeably."}, texts(c)); d != "" || c.Answers[0].Verdict != IsWorse {
		t.Error(d)
	}
	if c.Notes[0] != "b has 240 jobs, a has 200: their figures are of other jobs" {
		t.Errorf("%q", c.Notes)
	}
	c.Runs[1][0].Jobs = result.JobCounts{Submitted: 240, Finished: 200, Refused: 40}
	c.Runs[1][1].Jobs = c.Runs[1][0].Jobs
	c.judgeAgain()
	if !strings.Contains(c.Answers[0].Text, "cannot be judged as a whole") {
		t.Errorf("%+v", c.Answers)
	}
}

// What is called better or worse is clear in the table, in the direction that is said; and one replay says neither.
func TestPropertyVerdictsAreClear(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seeds := rapid.SampledFrom([]int{1, 2, 5, 20}).Draw(t, "seeds")
		spread := rapid.SampledFrom([]float64{0, 0.001, 0.1}).Draw(t, "spread")
		figures := func(name string, from, to float64) (out []float64) {
			mean := rapid.Float64Range(from, to).Draw(t, name)
			for range seeds {
				out = append(out, mean*(1+spread*rapid.Float64Range(-1, 1).Draw(t, "chance")))
			}
			return out
		}
		all := make([]seen, rapid.IntRange(2, 4).Draw(t, "schedulers"))
		for i := range all {
			all[i] = seen{
				wait: figures("wait", 0, 300), medianWait: figures("median wait", 0, 30), fairness: figures("fairness", 0.1, 1), etl: figures("etl", 1000, 4000),
				elapsed: figures("elapsed", 900, 1100), median: figures("median elapsed", 90, 110), slowdown: figures("slowdown", 4, 6), makespan: figures("makespan", 7000, 7400),
			}
		}
		c := comparisonOf(seeds, all...)
		c.batch = rapid.Bool().Draw(t, "batch")
		c.judgeAgain()
		for i, a := range c.Answers {
			better, worse := false, false
			for _, row := range c.Rows {
				if cell := row.Cells[i+1]; c.core(row.Metric) {
					better, worse = better || cell.Judgement == verdict.Better, worse || cell.Judgement == verdict.Worse
				}
			}
			said := map[Verdict][2]bool{IsBetter: {true, false}, IsWorse: {false, true}, IsMixed: {true, true}}[a.Verdict]
			if said[0] && !better || said[1] && !worse || strings.Contains(a.Text, "better") && !(better || strings.Contains(a.Text, "etl gets better")) {
				t.Fatalf("%v, %q: better %v, worse %v", a.Verdict, a.Text, better, worse)
			}
			if (seeds == 1 || c.alike) && (a.Verdict != NotJudged && a.Verdict != NoDifference || strings.Contains(a.Text, "loses:") || strings.Contains(a.Text, "better")) {
				t.Fatalf("one replay says %v: %q", a.Verdict, a.Text)
			}
			if (strings.Contains(a.Text, "makespan")) && !c.batch {
				t.Fatalf("the makespan of jobs that keep coming: %q", a.Text)
			}
		}
	})
}

// Of many queues that only chance tells apart, few are said to lose or gain.
func TestChanceNamesNobody(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	claims := 0
	for range 200 {
		c := comparisonOf(5, seen{}, seen{})
		for s := range c.Runs {
			for i, r := range c.Runs[s] {
				if r.ByQueue = nil; s == 0 {
					r.Metrics.Wait.P95 = float64(100 + i) // something differs between replays
				}
				for q := range 20 {
					r.ByQueue = append(r.ByQueue, result.Group{Name: string(rune('a' + q)), Jobs: 50, Elapsed: result.Stats{Count: 50, P95: 1000 * (1 + 0.05*random.NormFloat64())}, Slowdown: result.Stats{Count: 50, P95: 3}})
				}
			}
		}
		if c.judgeAgain(); strings.Contains(c.Answers[0].Text, "loses:") || strings.Contains(c.Answers[0].Text, "gains:") || strings.Contains(c.Answers[0].Text, " most: ") {
			claims++
		}
	}
	if claims > 20 { // 5 % are expected
		t.Errorf("%d of 200 comparisons of equal schedulers name a queue", claims)
	}
}

// Console, JSON and report have the answers from one function.
func TestAnswersAreTheSameEverywhere(t *testing.T) {
	c := comparisonOf(1, seen{}, seen{wait: []float64{50}, makespan: []float64{14400}})
	c.touched = [][]verdict.Subject{nil, {{Kind: "queue", Name: "etl"}}}
	c.judgeAgain()
	var b strings.Builder
	if err := c.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var j struct {
		Answers []struct {
			Scheduler, Text string
			Verdict         Verdict
			Touched         []verdict.Subject
		}
		Groups []struct {
			Kind, Name string
			Touched    []string
			Metrics    []struct{ Metric string }
		}
	}
	if err := json.Unmarshal([]byte(b.String()), &j); err != nil {
		t.Fatal(err)
	}
	if a := j.Answers[0]; len(j.Answers) != 1 || a.Text != c.Answers[0].Text || a.Scheduler != "b" || a.Verdict != NotJudged || len(a.Touched) != 1 {
		t.Errorf("%+v", j.Answers)
	}
	if g := j.Groups[0]; g.Kind != "queue" || g.Name != "etl" || !slices.Equal(g.Touched, []string{"b"}) || g.Metrics[0].Metric != "p95 elapsed" {
		t.Errorf("%+v", j.Groups)
	}
	d := c.Report()
	if !slices.Equal(d.Answers, texts(c)) || len(d.Groups) == 0 || !d.Groups[0].Marked() {
		t.Errorf("%+v", d)
	}
}

// A scheduler that looks at the network is not recommended where uplinks are not what jobs wait for.
func TestUplinks(t *testing.T) {
	for _, c := range []struct {
		second     string
		load, idle float64
		want       string
	}{
		{"nas:skip=9", 0.2, 0.3, "under fair the uplinks are 20.0 % loaded: jobs wait for containers, not for the network, and nas:skip=9 is not recommended; reduces that wait for maps or data hold 30.0 % of the container-time, which a later slow-start frees"},
		{"shufflewatcher", 0.2, 0.01, "under fair the uplinks are 20.0 % loaded: jobs wait for containers, not for the network, and shufflewatcher is not recommended"},
		{"nas", 0.5, 0.3, ""}, {"delay", 0.2, 0.3, ""},
	} {
		out := comparisonOf(2, seen{}, seen{})
		out.Schedulers = []string{"fair", c.second}
		for _, r := range out.Runs[0] {
			r.Traffic = &result.Traffic{UplinkLoad: c.load, ReduceIdle: c.idle}
		}
		if got := out.uplinks(); got != c.want {
			t.Errorf("%s at %v: %q", c.second, c.load, got)
		}
	}
	if got := comparisonOf(1, seen{}, seen{}).uplinks(); got != "" {
		t.Errorf("without a network: %q", got)
	}
}
