package rumen

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/internal/endless"
)

func seed(f *testing.F, path string) {
	data, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
}

func FuzzRumen(f *testing.F) {
	seed(f, "testdata/jobs.json")
	f.Add([]byte(`[{"jobID":"a","submitTime":1,"reduceTasks":[{"attempts":[{"result":"SUCCESS","startTime":1,"finishTime":2}]}]}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		Sniff(data)
		for _, opt := range []Options{{}, {Missing: Observed, TrackerClock: true, Others: true}} {
			r := NewReader(bytes.NewReader(data), "f", opt)
			var tasks int64
			for {
				j, err := r.Next()
				if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
					break
				}
				if err != nil {
					if !strings.HasPrefix(err.Error(), "f:") {
						t.Fatalf("does not name the file: %v", err)
					}
					break
				}
				if err := j.Validate(); err != nil {
					t.Fatal(err)
				}
				check(t, j)
				tasks += j.Tasks()
			}
			if tasks > int64(len(data)) {
				t.Fatalf("%d tasks out of %d bytes", tasks, len(data))
			}
			r.Notes()
		}
	})
}

func check(t *testing.T, j *workload.Job) {
	for i := range j.Stages {
		s := &j.Stages[i]
		if s.Input < 0 || s.Output < 0 || s.Tasks == 0 {
			t.Fatalf("stage %+v", s)
		}
		if s.Hosts == nil {
			continue
		}
		if int64(len(s.Hosts.Of)) > s.Tasks {
			t.Fatalf("hosts of %d tasks for %d", len(s.Hosts.Of), s.Tasks)
		}
		for _, row := range s.Hosts.Of {
			for _, h := range row {
				if int(h) >= len(s.Hosts.Names) || h < 0 {
					t.Fatalf("host %d of %d", h, len(s.Hosts.Names))
				}
			}
		}
	}
}

func FuzzTopology(f *testing.F) {
	seed(f, "testdata/topology.json")
	f.Fuzz(func(t *testing.T, data []byte) {
		SniffTopology(data)
		c, err := ReadTopology(bytes.NewReader(data), "f", cluster.Unit)
		if err != nil {
			return
		}
		if err := c.Validate(); err != nil {
			t.Fatal(err)
		}
		if len(c.Nodes) > len(data) {
			t.Fatalf("%d nodes out of %d bytes", len(c.Nodes), len(data))
		}
	})
}

// A job that never ends, on one line, is refused in bounded memory: the most that can be kept of one job is small.
func TestEndlessJob(t *testing.T) {
	for name, c := range map[string]struct{ head, body, want string }{
		"tasks": {
			`{"jobID":"a","mapTasks":[{}`, `,{"attempts":[],"preferredLocations":[{"layers":["r","n"]},{"layers":["r","m"]}]}`,
			"f.json:1: record 1: \"mapTasks\": more than 500000 elements",
		},
		"attempts": {`{"jobID":"a","mapTasks":[{"attempts":[{}`, `,{}`, "an array of more than 5000000 elements"},
		"text":     {`{"jobID":"`, `job_`, "text of more than 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			w := endless.New(c.head, c.body)
			_, err := NewReader(w, "f.json", Options{}).Next()
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
			t.Logf("heap at most %d MiB", w.Peak>>20)
			if w.Peak > 150<<20 {
				t.Errorf("heap of %d bytes", w.Peak)
			}
		})
	}
}
