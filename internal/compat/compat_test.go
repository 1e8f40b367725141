// Package compat reads what releases have written. testdata has a folder for each minor version, made by its first release and never changed; docs/compatibility.md
// says what they promise.
package compat

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/yardmaster/yardmaster/internal/parq"
	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/scenario"
	"github.com/yardmaster/yardmaster/steer/drive/live"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/trace"
)

func TestReleases(t *testing.T) {
	releases, err := filepath.Glob("testdata/v*")
	if err != nil || len(releases) == 0 {
		t.Fatal(releases, err)
	}
	for _, dir := range releases {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			in := func(name string) string { return filepath.Join(dir, name) }
			if jobs := read(t, in("workload.parquet")); len(jobs) != 150 {
				t.Errorf("%d jobs", len(jobs))
			}
			if jobs := read(t, in("executors.parquet")); len(jobs) != 1 || jobs[0].Keep == nil || len(jobs[0].Stages) == 0 {
				t.Errorf("the Spark application: %+v", jobs)
			}
			s, err := scenario.Load(in("scenario.yaml"))
			if err == nil {
				_, err = s.Resolve()
			}
			if err != nil {
				t.Error(err)
			}
			rows(t, in("run/jobs.parquet"))
			table(t, in("run/timeline.parquet"))
			var figures struct {
				Jobs    struct{ Finished int }
				Metrics map[string]struct{ P95 float64 }
			}
			text, err := os.ReadFile(in("run/result.json"))
			if err == nil {
				err = json.Unmarshal(text, &figures)
			}
			if err != nil || figures.Jobs.Finished != 150 || len(figures.Metrics) < 3 {
				t.Errorf("%+v: %v", figures, err)
			}
			journal(t, in("journal"))
		})
	}
}

func read(t *testing.T, path string) (jobs []*workload.Job) {
	t.Helper()
	w, err := trace.Open([]string{path}, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for {
		j, err := w.Next()
		if errors.Is(err, io.EOF) {
			return jobs
		}
		if err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, j)
	}
}

// rows of the jobs of a run.
func rows(t *testing.T, path string) {
	t.Helper()
	r, err := result.OpenJobs(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if r.Rows() != 150 {
		t.Errorf("%d rows", r.Rows())
	}
}

func table(t *testing.T, path string) {
	t.Helper()
	r, err := parq.OpenTable(path)
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
}

// journal has one knob that was changed twice before the steerer was killed: what has to be put back is known.
func journal(t *testing.T, from string) {
	t.Helper()
	dir := t.TempDir()
	text, err := os.ReadFile(filepath.Join(from, "journal.jsonl"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "journal.jsonl"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	entries, open, err := live.ReadJournal(dir)
	if err != nil || len(entries) != 4 || len(open) != 1 || open[0].Original == nil || open[0].Original.Text != "0.050" {
		t.Errorf("%d entries, open: %+v: %v", len(entries), open, err)
	}
	j, err := live.OpenJournal(dir) // a newer version takes it over
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}
