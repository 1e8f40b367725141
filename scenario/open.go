package scenario

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/internal/suggest"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/all"
	"github.com/yardmaster/yardmaster/policy/plan"
	rmall "github.com/yardmaster/yardmaster/policy/rm/all"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/workload/trace"
	"github.com/yardmaster/yardmaster/yarn/conf"
	"github.com/yardmaster/yardmaster/yarn/edit"
)

// load finds a scheduler by what was typed. On a YARN clock, which has a site, the file of a YARN scheduler means that scheduler itself; otherwise
// it is the policy that emulates it in ideal time. Edits change the file's text. An unknown name or parameter is a MisuseError, a broken file an ordinary error.
func load(policies policy.Registry, name string, site *conf.Site, edits []edit.Change) (run.Scheduler, error) {
	s := run.Scheduler{Name: name}
	if order, place := policies.Split(name); place != "" {
		s, err := load(policies, order, site, edits)
		if s.Name = name; err != nil {
			return s, err
		}
		if s.RM != nil {
			return s, misuse("%s: on a YARN clock %s is YARN's own scheduler, which places its containers by its own locality delay: leave out +%s, or the clock", name, order, place)
		}
		if s.New, err = policies.Combine(order, s.New, place); err != nil {
			return s, &MisuseError{err}
		}
		return s, nil
	}
	if _, known := policies.Find(name); !known {
		if st, err := os.Stat(name); err == nil && st.IsDir() {
			return s, fmt.Errorf("scheduler: %s is a folder: name the file in it", name)
		}
	}
	if !all.IsFile(policies, name) {
		if len(edits) > 0 {
			return s, misuse("%s changes a scheduler's file, and %s is none: give --scheduler capacity-scheduler.xml", edits[0], name)
		}
		var err error
		if s.New, _, err = all.Load(policies, name); err != nil {
			return s, &MisuseError{err}
		}
		return s, nil
	}
	text, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return s, fmt.Errorf("scheduler file %s does not exist%s", name, beside(name))
	} else if err != nil {
		return s, fmt.Errorf("scheduler: %w", err)
	}
	if len(edits) > 0 {
		if text, err = edit.Apply(name, text, edits); err != nil {
			return s, &MisuseError{err}
		}
	}
	if site != nil && conf.Detect(text) != conf.Capacity1File && !plan.Is(text) {
		if s.RM, err = rmall.Read(name, text, *site); err != nil {
			return s, err
		}
		if _, err := s.RM(); err != nil {
			return s, fmt.Errorf("scheduler %s: %w", name, err)
		}
		return s, nil
	}
	s.New, err = all.Read(name, text)
	return s, err
}

// TraceOptions are the options for reading traces.
func (s *Scenario) TraceOptions() trace.Options {
	o := s.Trace.ForAll(slices.Contains(s.Given, "am")) // 0,0
	o.Known = s.Known.Traces
	return o
}

// CheckTrace rejects trace settings that were given but cannot affect a workload of this format ("" if it is synthetic). Otherwise the
// result's description of itself would be false.
func (s *Scenario) CheckTrace(format, name string) error {
	for i := range Settings {
		set := &Settings[i]
		if len(set.For) == 0 || !slices.Contains(s.Given, set.Name) || slices.Contains(set.For, format) {
			continue
		}
		switch format {
		case "":
			return misuse("--%s applies only to raw traces, and %s is synthetic: leave it out", set.Name, name)
		case trace.Parquet:
			return misuse("--%s applies only to raw traces, and %s is already imported: give it to yardmaster import", set.Name, name)
		}
		return misuse("--%s applies only to %s traces, and %s is %s: leave it out", set.Name, strings.Join(set.For, " or "), name, format)
	}
	return nil
}

// beside suggests a file in the same folder that was perhaps meant.
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
