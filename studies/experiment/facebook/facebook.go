// Package facebook provides studies with the Facebook traces of 2009 and 2010, which their authors published with SWIM
// (https://github.com/SWIMProjectUCB/SWIM/wiki/Workloads-repository). They are not part of this project.
package facebook

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/swim"
	"github.com/yardmaster/yardmaster/workload/synth"
)

// Folder is the environment variable that names the folder with the traces, or one that has them in a folder swim.
const Folder = "YARDMASTER_TRACES"

// The traces: a day of 2010, and one of the same year with the paths of inputs.
const (
	FB2010      = "FB-2010_samples_24_times_1hr_0.tsv"
	FB2010Paths = "FB-2010_samples_24_times_1hr_withInputPaths_0.tsv"
)

// Source returns jobs in order of arrival, with task counts and lengths by a model. Callers do not modify the jobs.
type Source func(swim.Model) (workload.Slice, error)

// Path is the file of a trace.
func Path(name string) (string, error) {
	dir := os.Getenv(Folder)
	if dir == "" {
		return "", fmt.Errorf("this experiment needs the trace %s: set %s to its folder (see docs/traces.md for where to get it)", name, Folder)
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		path = filepath.Join(dir, "swim", name)
	}
	return path, nil
}

// File is the source that reads a trace.
func File(name string) Source {
	return func(m swim.Model) (workload.Slice, error) {
		path, err := Path(name)
		if err != nil {
			return nil, err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("the trace of this experiment: %w", err)
		}
		return read(data, name, m)
	}
}

// Replayed gives tasks the lengths that the dissertation's figure 4.6 shows of a replay on one node, whose containers share its disks: 84 s for a map of
// 128 MiB and 115 s for a reduce of 10^9 bytes.
func Replayed(m *swim.Model) {
	m.MapRate, m.ReduceRate = float64(128*unit.MiB)/(84-m.StartUp.Seconds()), 1e9/(115-m.StartUp.Seconds())
}

// StandIn is a source for tests: the first jobs of the synthetic workload facebook, with inputs of at most a size.
func StandIn(jobs int, most unit.Bytes) Source {
	return func(m swim.Model) (workload.Slice, error) {
		c, err := synth.Preset("facebook")
		if err != nil {
			return nil, err
		}
		src, err := synth.New(c)
		if err != nil {
			return nil, err
		}
		var lines bytes.Buffer
		for range jobs {
			j, err := src.Next()
			if err != nil {
				return nil, err
			}
			in, shuffle, out := j.Stages[0].Input, unit.Bytes(0), j.Stages[len(j.Stages)-1].Output
			for i := range j.Stages {
				for _, e := range j.Stages[i].After {
					shuffle += e.Shuffle
				}
			}
			fmt.Fprintf(&lines, "%s\t%d\t0\t%d\t%d\t%d\n", j.ID, j.Submit/unit.Second, min(in, most), min(shuffle, most), min(out, most))
		}
		return read(lines.Bytes(), "stand-in", m)
	}
}

func read(data []byte, name string, m swim.Model) (workload.Slice, error) {
	r, err := swim.NewReader(bytes.NewReader(data), name, m)
	if err != nil {
		return nil, err
	}
	jobs, err := workload.ReadAll(r)
	slices.SortStableFunc(jobs, func(a, b *workload.Job) int { return cmp.Compare(a.Submit, b.Submit) })
	return jobs, err
}
