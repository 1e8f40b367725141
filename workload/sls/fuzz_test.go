package sls

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/internal/endless"
)

// drain reads at most n jobs and checks each.
func drain(t *testing.T, src workload.Source, n int) {
	for range n {
		j, err := src.Next()
		if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return
		}
		if err != nil {
			if !strings.Contains(err.Error(), "fuzz.json") {
				t.Fatalf("does not name the file: %v", err)
			}
			return
		}
		if err := j.Validate(); err != nil {
			t.Fatal(err)
		}
		for i := range j.Stages {
			s := &j.Stages[i]
			if s.Tasks == 0 || s.Length.Draw(s.Tasks-1, 1) < 0 {
				t.Fatalf("%+v", s)
			}
			if s.Hosts == nil {
				continue
			}
			if int64(len(s.Hosts.Of)) != s.Tasks || s.Tasks > MaxTasks {
				t.Fatalf("hosts of %d tasks for %d", len(s.Hosts.Of), s.Tasks)
			}
			for _, row := range s.Hosts.Of {
				for _, h := range row {
					if h < 0 || int(h) >= len(s.Hosts.Names) {
						t.Fatalf("host %d of %d", h, len(s.Hosts.Names))
					}
				}
			}
		}
	}
}

func FuzzSLS(f *testing.F) {
	f.Add(file(f, "testdata/jobs.json"))
	f.Add([]byte(`[{"job.tasks":[{"duration.ms":"5","count":3,"container.host":"a"}],"job.count":4}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		Sniff(data)
		r := NewReader(bytes.NewReader(data), "fuzz.json", Options{})
		drain(t, r, 1000)
		r.Notes()
	})
}

func FuzzSynth(f *testing.F) {
	f.Add(file(f, "testdata/synth.json"))
	f.Add(file(f, "testdata/synth-old.json"))
	f.Fuzz(func(t *testing.T, data []byte) {
		SniffSynth(data)
		r := NewSynthReader(bytes.NewReader(data), "fuzz.json", SynthOptions{})
		drain(t, r, 100)
		if len(r.story) > MaxJobs {
			t.Fatalf("%d jobs", len(r.story))
		}
		r.Notes()
	})
}

func FuzzNodes(f *testing.F) {
	f.Add(file(f, "testdata/nodes.json"))
	f.Add([]byte(`{"num.nodes":7,"num.racks":2}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		SniffNodes(data)
		c, err := ReadNodes(bytes.NewReader(data), "fuzz.json")
		if err != nil {
			return
		}
		if err := c.Validate(); err != nil {
			t.Fatal(err)
		}
		if len(c.Nodes) > maxNodes {
			t.Fatalf("%d nodes", len(c.Nodes))
		}
	})
}

// A record that never ends, on one line, is refused in bounded memory.
func TestEndless(t *testing.T) {
	for name, c := range map[string]struct{ head, body, want string }{
		"tasks": {
			`{"job.id":"a","job.tasks":[{"duration.ms":1}`, `,{"duration.ms":1,"container.host":"/r/n"},{"duration.ms":2}`,
			`"job.tasks": more than 500000 elements`,
		},
		"lists": {`{"job.id":"a"`, `,"job.tasks":[{"duration.ms":1,"container.host":"/r/n"},{"duration.ms":2}]`, "a job lists more than 500000 tasks"},
		"text":  {`{"job.id":"`, "job_", "text of more than 1048576 bytes"},
		"nodes": {`{"nodes":[{"node":"a"}`, `,{"node":"abc"}`, `"nodes": more than 250000 elements`},
	} {
		t.Run(name, func(t *testing.T) {
			w := endless.New(c.head, c.body)
			var err error
			if name == "nodes" {
				_, err = ReadNodes(w, "f.json")
			} else {
				_, err = NewReader(w, "f.json", Options{}).Next()
			}
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
