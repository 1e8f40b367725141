package whatif

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/report"
	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/result/verdict"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/workload"
)

// page writes a comparison's report.
func page(t *testing.T, c *Comparison) string {
	t.Helper()
	var b bytes.Buffer
	if err := report.Write(&b, c.Report()); err != nil {
		t.Fatal(err)
	}
	html := b.String()
	return html[strings.Index(html, "<body>"):strings.Index(html, `<script type="application/json"`)]
}

func TestRefusingEverythingWinsNothing(t *testing.T) {
	for _, seeds := range []int{1, 3} {
		c := comparisonOf(seeds, seen{}, seen{none: true}, seen{wait: []float64{50}})
		if d := cmp.Diff([]string{"b"}, c.Unfinished); d != "" {
			t.Error(d)
		}
		for _, row := range c.Rows {
			if got := row.Cells[1]; got.Judgement != verdict.Missing || verdict.Format(got.Mean, row.Unit) != "–" || got.Difference(row.Unit) != "–" {
				t.Errorf("%s: %+v", row.Metric, got)
			}
		}
		if got := c.Answers[0].Text; got != "b: no job finishes, so there is nothing to compare." {
			t.Errorf("an answer: %s", got)
		}
		want := "NOTHING FINISHED under b: none of 200 jobs; 200 refused (most often: no such queue). It has no figures here, and no verdict"
		if len(c.Notes) == 0 || c.Notes[0] != want {
			t.Errorf("%q", c.Notes)
		}
		html := page(t, c)
		if strings.Contains(html, "100\u00a0%") || !strings.Contains(html, want+".") || !strings.Contains(html, "not judged") {
			t.Error("the report does not tell, or still compares")
		}
		var b bytes.Buffer
		if err := c.WriteJSON(&b); err != nil {
			t.Fatal(err)
		}
		var j struct {
			Unfinished []string
			Metrics    []struct {
				Schedulers []struct {
					Values    []*float64
					Mean      *float64
					Judgement string
				}
			}
		}
		if err := json.Unmarshal(b.Bytes(), &j); err != nil {
			t.Fatal(err)
		}
		cell := j.Metrics[0].Schedulers[1]
		if len(j.Unfinished) != 1 || cell.Values[0] != nil || cell.Mean != nil || cell.Judgement != "missing" {
			t.Errorf("%+v", j)
		}
	}
}

func TestDifferentJobsAreNotJudged(t *testing.T) {
	for name, c := range map[string]struct {
		of     []seen
		judged bool
		note   string
	}{
		"part refused": {[]seen{{}, {wait: []float64{50}, refused: 30}}, false,
			"DIFFERENT JOBS: under b 30 of 200 jobs did not finish: 30 refused (most often: no such queue); under a all finished. " +
				"Their figures are not of the same jobs, so no difference of b is called better or worse"},
		"the first alone": {[]seen{{refused: 1}, {wait: []float64{50}}}, false,
			"DIFFERENT JOBS: under b all jobs finished; under a 1 of 200 jobs did not. " +
				"Their figures are not of the same jobs, so no difference of b is called better or worse"},
		"the same set": {[]seen{{refused: 1, left: []int64{7}}, {wait: []float64{50}, refused: 1, left: []int64{7}}}, true,
			"under b 1 of 200 jobs did not finish: 1 refused (most often: no such queue); the same jobs as under a"},
	} {
		t.Run(name, func(t *testing.T) {
			c.of[0].makespan = []float64{7200, 7201} // something differs between replays
			got := comparisonOf(2, c.of...)
			if !strings.Contains(strings.Join(got.Notes, "\n"), c.note) {
				t.Errorf("notes %q", got.Notes)
			}
			for _, row := range got.Rows {
				if (row.Cells[1].Judgement != verdict.Apart) != c.judged {
					t.Errorf("%s is %v", row.Metric, row.Cells[1].Judgement)
				}
			}
			if strings.Contains(got.Answers[0].Text, "cannot be judged") == c.judged || len(got.Unfinished) > 0 {
				t.Errorf("answers %+v, unfinished %+v", got.Answers, got.Unfinished)
			}
			html := page(t, got)
			if strings.Contains(html, `class="n d good"`) != c.judged || strings.Contains(html, "not judged") == c.judged {
				t.Error("the report's colours say otherwise")
			}
		})
	}
}

func TestFewMissingJobsChangeNothing(t *testing.T) {
	for lost, judged := range map[int64]bool{1: true, 9: true, 10: false, 11: false} {
		c := comparisonOf(1, seen{}, seen{wait: []float64{50}})
		c.Runs[0][0].Jobs = result.JobCounts{Submitted: 10_000, Finished: 10_000}
		c.Runs[1][0].Jobs = result.JobCounts{Submitted: 10_000, Finished: 10_000 - lost, Failed: lost}
		c.judgeAgain()
		if got := !c.apart(1); got != judged {
			t.Errorf("%d of 10,000 jobs: judged %v", lost, got)
		}
		if judged != strings.Contains(c.Notes[0], "fewer than 1 job in 1,000") {
			t.Errorf("%d: %q", lost, c.Notes)
		}
	}
}

// seeded is a workload that says which seed it is of.
type seeded struct {
	workload.Source
	seed uint64
}

func (s seeded) Assumptions() []string { return []string{fmt.Sprintf("made up with seed %d", s.seed)} }
func (s seeded) Notes() []workload.Note {
	return []workload.Note{{Text: "lines without a length", Count: 12345}, {Text: "sizes in bytes"}}
}

func TestEverySeedHasItsOwnAssumptions(t *testing.T) {
	for _, inMemory := range []int{0, -1} {
		p := plan(t, random, 3, "fifo", "fair")
		s := jobsOf(random)
		work := &run.Workload{Drawn: true, InMemory: inMemory, Open: func(seed uint64) (workload.Source, error) { return seeded{s.Source(), seed}, nil }}
		p.each(func(s *run.Spec) { s.Workload, s.Assumptions = work, []string{"no task fails"} })
		c, err := Compare(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		for _, runs := range c.Runs {
			for i, r := range runs {
				want := []string{fmt.Sprintf("made up with seed %d", i+1), "no task fails", "workload: lines without a length (12,345)", "workload: sizes in bytes"}
				if d := cmp.Diff(want, r.Assumptions); d != "" {
					t.Errorf("in memory %d, seed %d: %s", inMemory, i+1, d)
				}
			}
		}
		d := c.Report()
		if diff := cmp.Diff([]string{"made up with seed 1 (of the first seed; each has its own)", "no task fails"}, d.Assumptions); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"workload: lines without a length (12,345)", "workload: sizes in bytes"}, d.Read); diff != "" {
			t.Error(diff)
		}
		if d.Size != "31 jobs in 2 queues, 3 replays" {
			t.Errorf("size %q", d.Size)
		}
	}
}

func TestTheReportSaysWhyThereIsNoInterval(t *testing.T) {
	for _, c := range []struct {
		length    workload.Lengths
		seeds     int
		want, not string
	}{
		{random, 1, "one replay: nothing tells a difference from chance", "seed 1 of"},
		{random, 3, "intervals are 95\u00a0% over 3 replays that move each submission", "no interval"},
	} {
		p := plan(t, c.length, c.seeds, "fifo", "fair")
		p.Pictures = true
		got, err := Compare(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		html := page(t, got)
		if !strings.Contains(html, c.want) || strings.Contains(html, c.not) {
			t.Errorf("want %q and not %q", c.want, c.not)
		}
		if n := strings.Count(html, "<small>seed 1 of 3"); len(got.Seeds) == 3 && n != 2 {
			t.Errorf("%d headings name their seed", n)
		}
	}
}
