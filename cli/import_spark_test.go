package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/jobfile"
	"github.com/yardmaster/yardmaster/workload/spark"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// Jobs that do not fit memory come back from temporary files in order, with times from the first submission on.
func TestSparkJobsSpill(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	k := sparkKept{ids: map[string]bool{}, first: 1 << 62}
	defer k.close()
	for i, at := range []unit.Time{700, 300, 500, 300, 900} {
		j := &workload.Job{
			ID: fmt.Sprintf("j%d", i), Submit: at * unit.Second, Keep: &workload.Keep{Ask: unit.Resources{Mem: 1, Cores: 1}, Slots: 1, Max: 1},
			Stages: []workload.Stage{{Tasks: 1, Length: workload.Fixed(unit.Second)}}, Observed: &workload.Observed{Launch: at * unit.Second, Finish: (at + 1) * unit.Second},
		}
		if i%2 == 0 {
			k.weight = maxPending
		}
		if err := k.take(j, nil, nil); err != nil {
			t.Fatal(err)
		}
		if i == 1 && k.weight != jobWeight+stageWeight { // though it lists no lengths
			t.Errorf("the only job that waits weighs %d", k.weight)
		}
	}
	for _, again := range []error{nil, spark.ErrRunning, spark.ErrNoTasks, fmt.Errorf("job j0 is %w: 20 MB", jobfile.ErrTooLarge), fmt.Errorf("job j1 is %w: 30 MB", jobfile.ErrTooLarge)} {
		if err := k.take(&workload.Job{ID: "j0"}, nil, again); err != nil {
			t.Fatal(err)
		}
	}
	for _, away := range []error{context.Canceled, spark.ErrNoAnswer, rest.ErrUnavailable} { // nothing is known of the log
		if err := k.take(nil, nil, fmt.Errorf("read: %w", away)); !errors.Is(err, away) {
			t.Errorf("%v: %v", away, err)
		}
	}
	var got string
	if err := k.each(func(j *workload.Job) error {
		got += fmt.Sprintf("%s:%v-%v ", j.ID, j.Submit, j.Observed.Finish)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if want := "j1:0 s-1 s j3:0 s-1 s j2:3.3 min-3.4 min j0:6.7 min-6.7 min j4:10 min-10 min "; got != want || len(k.parts) != 3 || len(k.notes) != 4 || k.notes[3].Count != 2 {
		t.Errorf("%s from %d files, %v", got, len(k.parts), k.notes)
	}
}

// HDFS has two schemes, both through --webhdfs.
func TestSparkLogsInHDFS(t *testing.T) {
	c, err := rest.New(rest.Options{NameNodes: []string{"http://nn:9870"}})
	if err != nil {
		t.Fatal(err)
	}
	for place, want := range map[string]bool{"hdfs:///logs": true, "webhdfs://nn:9870/logs": true, "hdfs:///": false, "webhdfs://nn": false} {
		folder, err := (&yarnFlags{sparkLogs: place}).logs(c)
		if (err == nil && folder != nil) != want {
			t.Errorf("%s: %v, %v", place, folder, err)
		}
	}
}

// A rolling log in HDFS is read, whose folder is found below another, beside one that may not be read.
func TestSparkHDFS(t *testing.T) {
	log, err := os.ReadFile("../workload/spark/testdata/report.log")
	if err != nil {
		t.Fatal(err)
	}
	tree := map[string]string{
		"/logs":     `{"pathSuffix":"day","type":"DIRECTORY"},{"pathSuffix":"closed","type":"DIRECTORY"},{"pathSuffix":"README","type":"FILE","length":2}`,
		"/logs/day": `{"pathSuffix":"eventlog_v2_app","type":"DIRECTORY"}`,
		"/logs/day/eventlog_v2_app": `{"pathSuffix":"events_2_app","type":"FILE","length":9},{"pathSuffix":"events_1_app","type":"FILE","length":9},` +
			`{"pathSuffix":"appstatus_app","type":"FILE","length":0}`,
	}
	half := strings.LastIndex(string(log[:len(log)/2]), "\n") + 1
	files := map[string]string{"README": "hi", "events_1_app": string(log[:half]), "events_2_app": string(log[half:])}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/webhdfs/v1")
		if path.Base(name) == "closed" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		if r.URL.Query().Get("op") == "OPEN" {
			fmt.Fprint(w, files[path.Base(name)])
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"FileStatuses":{"FileStatus":[%s]}}`, tree[name])
	}))
	defer srv.Close()
	f := sparkFlags{webhdfs: []string{srv.URL}, parallel: 2}
	logs, err := f.logs(t.Context(), []string{"hdfs:///logs"})
	if err != nil || len(logs) != 3 {
		t.Fatal(logs, err)
	}
	var jobs, closed int
	err = spark.Ordered(t.Context(), logs, 2, func(ctx context.Context, l *spark.Log) error {
		a, err := l.Read(ctx, nil)
		if err == nil {
			_, _, err = a.Job(spark.Options{})
		}
		return err
	}, func(l *spark.Log, err error) error {
		switch {
		case err == nil:
			jobs++
		case errors.Is(err, rest.ErrForbidden):
			closed++
		case !errors.Is(err, spark.ErrNoLog):
			return err
		}
		return nil
	})
	if err != nil || jobs != 1 || closed != 1 {
		t.Errorf("%d jobs, %d may not be read, %v", jobs, closed, err)
	}
}
