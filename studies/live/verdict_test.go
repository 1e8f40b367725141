package live

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/studies/evidence"
	"github.com/yardmaster/yardmaster/studies/experiment"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
)

// An interval wider than the bar decides nothing, wherever its middle is.
func TestJudgedByInterval(t *testing.T) {
	for _, c := range []struct {
		said, low, high float64
		want            judged
	}{
		{-0.30, -0.35, -0.25, met}, {-0.30, -0.40, -0.21, met}, {0.10, 0.09, 0.197, met},
		{-0.30, -0.45, -0.15, undecided}, {-0.30, -0.30, -0.15, undecided}, {-0.30, -0.15, -0.10, missed}, {0.40, 0.10, 0.29, missed},
	} {
		if got := judge(c.said, result.Estimate{Mean: (c.low + c.high) / 2, Low: c.low, High: c.high}); got != c.want {
			t.Errorf("%+.2f, measured %+.2f to %+.2f: %s, want %s", c.said, c.low, c.high, got, c.want)
		}
	}
	runs := experiment.NewRuns(experiment.Seeds(1, 3), map[string][]experiment.Metrics{"a": {{"x": 10}, {"x": 10}, {"x": 10}}, "b": {{"x": 12}, {"x": 15}, {"x": 18}}, "one": {{"x": 12}, nil, nil}})
	if e := runs.Relative("a", "b", "x"); e.Mean < 0.4999 || e.Mean > 0.5001 || e.Half() < 0.7 || e.Half() > 0.8 { // 3 * 4.303 / sqrt(3) / 10
		t.Errorf("%+v", e)
	}
	if got := judge(0.2, runs.Relative("a", "one", "x")); got != undecided {
		t.Errorf("one run: %s", got)
	}
}

// A page shows the prediction that was recorded, not what the program would say today.
func TestRecordedPredictions(t *testing.T) {
	dir := t.TempDir()
	keep := func(series string, v any) string {
		run, err := evidence.Begin("test").KeepJSON(dir, series, v)
		if err != nil {
			t.Fatal(err)
		}
		return run.File
	}
	file := keep(predictionSeries, Prediction{Arm: "said", Replays: make([]experiment.Metrics, sizedSeeds)})
	records := []*SizedRecord{{Arm: "said", Prediction: file}, {Arm: "unsaid"}}
	rehearsed := map[string]int{}
	f, err := figures(t.Context(), dir, records, func(*SizedRecord) (experiment.Metrics, error) { return experiment.Metrics{"x": 1}, nil },
		func(r *SizedRecord, _ context.Context, _ uint64) (experiment.Metrics, error) {
			rehearsed[r.Arm]++
			return experiment.Metrics{"x": 1}, nil
		})
	if err != nil || strings.Join(f.Recomputed, " ") != "unsaid" || rehearsed["said"] != 0 || rehearsed["unsaid"] != sizedSeeds {
		t.Errorf("%v %v %v", f.Recomputed, rehearsed, err)
	}
}

// A run needs a prediction that was stored before its first arrival.
func TestPredictionsComeFirst(t *testing.T) {
	for _, c := range []struct {
		name string
		file string // of the prediction that the record names
		zero time.Duration
		want bool
	}{
		{"before", "prediction-1.json.gz", time.Minute, true}, {"after", "prediction-1.json.gz", -time.Minute, false}, {"none", "", time.Minute, false},
	} {
		dir, m := t.TempDir(), []experiment.Metrics{{"prod": 1, "batch": 1, "adhoc": 1}}
		at := time.Now()
		for _, x := range []struct {
			series string
			v      any
		}{
			{predictionSeries, Prediction{Arm: "batch capped", Repetition: 1, AsItIs: m, Replays: m}},
			{liveSeries, SizedRecord{Arm: asItIs, Repetition: 1}},
			{liveSeries, SizedRecord{Arm: "batch capped", Repetition: 1, Prediction: c.file, Zero: hadoop.Millis(at.Add(c.zero).UnixMilli())}},
		} {
			if _, err := evidence.Begin("test").KeepJSON(dir, x.series, x.v); err != nil {
				t.Fatal(err)
			}
		}
		runs, records, err := evidence.ReadSeries[SizedRecord](dir, liveSeries)
		if err != nil {
			t.Fatal(err)
		}
		list, err := liveChanges(dir, runs, records)
		if (err == nil) != c.want || c.want && len(list) != len(settingsQueues) {
			t.Errorf("%s: %d changes, %v", c.name, len(list), err)
		}
	}
}
