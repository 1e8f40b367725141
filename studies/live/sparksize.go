package live

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/studies/evidence"
	"github.com/yardmaster/yardmaster/studies/harness"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/studies/lab/spark"
	"github.com/yardmaster/yardmaster/studies/lab/steerer"
	sparklog "github.com/yardmaster/yardmaster/workload/spark"
)

// SparkSize is a study of numbers of executors: three Spark applications run with two executors; `spark size` predicts from their logs alone how long they would
// take with others; then they run with those.
type SparkSize struct {
	Small bool
}

// sizeCounts are the numbers of executors, that of the first run first.
var sizeCounts = []int64{2, 1, 3, 4, 6}

// sizeApps are the applications. They begin apart, as each is to run alone: the cluster has room for all.
var sizeApps = []spark.Application{
	{ID: "join", User: "ana", Queue: "prod", Kind: "join", Tasks: 40, Mean: 2200, Seed: 101},
	{ID: "skew", User: "ana", Queue: "prod", Kind: "skew", Tasks: 40, Mean: 2200, Seed: 102},
	{ID: "cache", User: "ana", Queue: "prod", Kind: "cache", Tasks: 24, Mean: 1800, Seed: 103},
}

const sizeApart = 45 * time.Second

// SizeRecord is a run with one number of executors.
type SizeRecord struct {
	Executors  int64
	Repetition int
	At         time.Time
	Elapsed    map[string]float64 // by application, from launch to end, by its log
	// Predicted are, of the first run, what `spark size` says, by application and number of executors.
	Predicted map[string]map[int64]float64 `json:",omitempty"`
}

//go:embed sparksize.md.tmpl
var sparkSizePage string

//go:embed sparksize.svg.tmpl
var sparkSizePicture string

// Study declares it.
func (s *SparkSize) Study() *harness.Study[SizeRecord] {
	way := func(n int64) string { return fmt.Sprint(n) }
	h := &harness.Study[SizeRecord]{
		Options: harness.Options{Repetitions: 2}, Folder: "spark-size", First: way(sizeCounts[0]), Resume: true, Nice: -18, Command: true, Run: s.run, Series: "run",
		Key:      func(r *SizeRecord) (string, int) { return way(r.Executors), r.Repetition },
		Template: sparkSizePage, Small: func() { s.Small = true },
		Lab: func() hadoop.Options {
			return hadoop.Options{SchedulerXML: queues("spark"), Nodes: sparkNodes, NodeMB: 8192, NodeVcores: 32, Site: map[string]string{"yarn.scheduler.minimum-allocation-mb": "128"}}
		},
	}
	for _, n := range sizeCounts {
		h.Ways = append(h.Ways, way(n))
	}
	h.Facts = func(_ context.Context, runs []evidence.Run, records []*SizeRecord) (map[string]any, template.FuncMap, error) {
		return sizeData(h.Dir, runs, records)
	}
	return h
}

func (s *SparkSize) run(ctx context.Context, now *harness.Run) (*SizeRecord, string, error) {
	rec := &SizeRecord{Repetition: now.Repetition, At: time.Now().UTC().Truncate(time.Second), Elapsed: map[string]float64{}}
	if _, err := fmt.Sscan(now.Way, &rec.Executors); err != nil {
		return nil, "", err
	}
	apps := slices.Clone(sizeApps)
	if s.Small {
		apps = apps[:1]
	}
	for i := range apps {
		a := &apps[i]
		a.Submit, a.Conf = hadoop.Millis(i)*hadoop.Millis(sizeApart/time.Millisecond), static(int(rec.Executors)).Conf
		if s.Small {
			a.Tasks, a.Mean = 8, 500
		}
	}
	events := filepath.Join(now.Cluster.Dir, fmt.Sprintf("events-%d-%d", rec.Executors, rec.Repetition))
	if err := spark.Run(ctx, now.Cluster, apps, events); err != nil {
		return nil, "", err
	}
	if err := rec.read(ctx, now, events); err != nil {
		return nil, "", err
	}
	if len(rec.Elapsed) != len(apps) {
		return nil, "", fmt.Errorf("%d logs of %d applications", len(rec.Elapsed), len(apps))
	}
	var words []string
	for _, a := range apps {
		words = append(words, fmt.Sprintf("%s %.1f s", a.ID, rec.Elapsed[a.ID]))
	}
	return rec, strings.Join(words, ", "), nil
}

// read takes the elapsed times from the logs of a run, and of the first run what `spark size` says.
func (rec *SizeRecord) read(ctx context.Context, now *harness.Run, events string) error {
	logs, err := sparklog.Local(events).Logs(ctx)
	if err != nil {
		return err
	}
	for i := range logs {
		a, err := logs[i].Read(ctx, nil)
		if err != nil {
			return err
		}
		rec.Elapsed[a.Name] = float64(a.End-a.Start) / 1000
		if rec.Executors != sizeCounts[0] {
			continue
		}
		out, err := steerer.Run(ctx, now.Bin, "", "spark", "size", logs[i].Name, "--json")
		if err != nil {
			return err
		}
		var said struct {
			Rows []struct {
				Executors int64   `json:"executors"`
				Elapsed   float64 `json:"elapsed_seconds"`
			} `json:"rows"`
		}
		if err := json.Unmarshal(out, &said); err != nil {
			return err
		}
		if rec.Predicted == nil {
			rec.Predicted = map[string]map[int64]float64{}
		}
		rec.Predicted[a.Name] = map[int64]float64{}
		for _, r := range said.Rows {
			if slices.Contains(sizeCounts, r.Executors) {
				rec.Predicted[a.Name][r.Executors] = r.Elapsed
			}
		}
	}
	return nil
}

// sizeRow is one application with one number of executors, over all repetitions.
type sizeRow struct {
	App       string
	Executors int64
	Predicted []float64
	Measured  []float64
}

// Error is the difference of the means.
func (r sizeRow) Error() float64 {
	return off(result.Mean(r.Predicted).Mean, result.Mean(r.Measured).Mean)
}

// Spread is that of the measured times around their mean: the largest difference.
func (r sizeRow) Spread() float64 {
	return (slices.Max(r.Measured) - slices.Min(r.Measured)) / result.Mean(r.Measured).Mean
}

// Met reports whether the prediction is within 15 %, or within the spread.
func (r sizeRow) Met() bool { return math.Abs(r.Error()) <= max(0.15, r.Spread()) }

// sizeData are the figures of the page. It draws the picture, too.
func sizeData(dir string, runs []evidence.Run, records []*SizeRecord) (map[string]any, template.FuncMap, error) {
	var rows []sizeRow
	met := 0
	counts := slices.Sorted(slices.Values(sizeCounts))
	for _, a := range sizeApps {
		for _, n := range counts {
			r := sizeRow{App: a.ID, Executors: n}
			for _, rec := range records {
				if v, ok := rec.Predicted[a.ID][n]; ok {
					r.Predicted = append(r.Predicted, v)
				}
				if v, ok := rec.Elapsed[a.ID]; ok && rec.Executors == n {
					r.Measured = append(r.Measured, v)
				}
			}
			if len(r.Predicted) == 0 || len(r.Measured) == 0 {
				continue
			}
			if r.Met() {
				met++
			}
			rows = append(rows, r)
		}
	}
	most := 0.0
	for _, r := range rows {
		most = max(most, slices.Max(r.Predicted), slices.Max(r.Measured))
	}
	p := plot{Most: most}
	p.scale()
	funcs := template.FuncMap{
		"mean": func(v []float64) float64 { return result.Mean(v).Mean }, "list": func(v []float64) string {
			words := make([]string, len(v))
			for i, x := range v {
				words[i] = fmt.Sprintf("%.1f", x)
			}
			return strings.Join(words, ", ")
		},
		"left": func(app string, n int64) float64 {
			return 60 + 215*float64(slices.IndexFunc(sizeApps, func(a spark.Application) bool { return a.ID == app })) + 30*float64(n)
		},
		"panel": func(i int) float64 { return 60 + 215*float64(i) }, "y": p.y,
		"of": func(app string) (list []sizeRow) {
			for _, r := range rows {
				if r.App == app {
					list = append(list, r)
				}
			}
			return list
		},
	}
	data := map[string]any{"Rows": rows, "Met": met, "First": sizeCounts[0], "Apps": sizeApps, "Ticks": p.Ticks, "Counts": counts}
	_, err := evidence.Page(sparkSizePicture, filepath.Join(dir, "curves.svg"), data, funcs)
	return data, funcs, err
}
