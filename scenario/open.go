package scenario

import (
	"os"
	"path/filepath"

	"github.com/yardmaster/yardmaster/internal/suggest"
	"github.com/yardmaster/yardmaster/policy/all"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/jobfile"
	"github.com/yardmaster/yardmaster/workload/trace"
)

// loadPolicy finds a scheduler by what was typed. A name or parameter that is not known cannot be meant; a broken file is
// a failure like any other.
func loadPolicy(name string) (NamedPolicy, error) {
	fresh, _, err := all.Load(name)
	if err != nil {
		if _, file := XML(name); file {
			return NamedPolicy{}, err
		}
		return NamedPolicy{}, &MisuseError{err}
	}
	return NamedPolicy{Name: name, New: fresh}, nil
}

// TraceOptions are the options to read traces with. What is said of all traces is said to each reader in its own words.
func (s *Scenario) TraceOptions() trace.Options {
	opt := s.Trace
	opt.Google.FinishedOnly = opt.Rumen.DropFailed
	if opt.SWIM.Ask != defaults.Trace.SWIM.Ask {
		opt.Rumen.Ask, opt.SLS.Ask = opt.SWIM.Ask, opt.SWIM.Ask
	}
	if opt.SWIM.Master != defaults.Trace.SWIM.Master {
		opt.Rumen.Master, opt.SLS.Master = opt.SWIM.Master, opt.SWIM.Master
	}
	if opt.SWIM.SlowStart != defaults.Trace.SWIM.SlowStart {
		if opt.Rumen.SlowStart = opt.SWIM.SlowStart; opt.Rumen.SlowStart == 0 {
			opt.Rumen.SlowStart = -1 // its way to say none
		}
	}
	return opt
}

// trace opens the workload's files. They are the same for every seed.
func (s *Scenario) trace(uint64) (workload.Source, error) {
	return trace.Open(s.Workload, s.TraceOptions())
}

// count is the number of jobs of a workload, where that can be told without reading it; else 0.
func (s *Scenario) count(src workload.Source) int64 {
	w, ok := src.(*trace.Workload)
	if !ok || w.Format != trace.Parquet {
		return 0
	}
	var n int64
	for _, path := range s.Workload {
		f, err := jobfile.Open(path)
		if err != nil {
			return 0
		}
		n += f.Jobs()
		_ = f.Close() // it was only looked at
	}
	return n
}

// beside names a file in the same folder that was perhaps meant.
func beside(path string) string {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) > 10_000 {
		return ""
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return suggest.Hint(filepath.Base(path), names)
}
