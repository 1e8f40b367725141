package scenario

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/internal/suggest"
	"github.com/yardmaster/yardmaster/policy/all"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/jobfile"
	"github.com/yardmaster/yardmaster/workload/trace"
)

// loadPolicy finds a scheduler by what was typed. A name or parameter that is not known cannot be meant; a broken file is
// a failure like any other.
func loadPolicy(name string) (NamedPolicy, error) {
	if _, known := all.Policies.Find(name); !known {
		if st, err := os.Stat(name); err == nil && st.IsDir() {
			return NamedPolicy{}, fmt.Errorf("scheduler: %s is a folder: name the file in it", name)
		}
	}
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
		opt.Rumen.Master, opt.SLS.Master, opt.Synth.Master = opt.SWIM.Master, opt.SWIM.Master, opt.SWIM.Master
	} else if slices.Contains(s.Given, "master") { // 0,0
		opt.SLS.NoMaster, opt.Synth.NoMaster = true, true
	}
	if opt.SWIM.SlowStart != defaults.Trace.SWIM.SlowStart {
		if opt.Rumen.SlowStart = opt.SWIM.SlowStart; opt.Rumen.SlowStart == 0 {
			opt.Rumen.SlowStart = -1 // its way to say none
		}
	}
	return opt
}

// CheckTrace refuses settings of the reading of traces that were given but cannot act on a workload of this format ("" when
// it is made up). What a result says of itself would not be true otherwise.
func (s *Scenario) CheckTrace(format, name string) error {
	for i := range Settings {
		set := &Settings[i]
		if len(set.For) == 0 || !slices.Contains(s.Given, set.Name) || slices.Contains(set.For, format) {
			continue
		}
		switch format {
		case "":
			return misuse("--%s belongs to the reading of raw traces, and %s is made up: leave it out", set.Name, name)
		case trace.Parquet:
			return misuse("--%s belongs to the reading of raw traces, and %s is imported already: give it to yardmaster import", set.Name, name)
		}
		return misuse("--%s acts on traces of the format %s, and %s is %s: leave it out", set.Name, strings.Join(set.For, " or "), name, format)
	}
	return nil
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
