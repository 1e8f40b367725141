// Package scenario describes what to run: a workload on a cluster under one or several schedulers, the assumptions
// about them, and a seed. It is written as one YAML file or as flags.
//
// Both come from one table of settings (see Settings), so every key of the file is a flag of the same name, and a flag
// overrides the file:
//
//	workload: jobs.parquet          # or a raw trace, a list of files, or synth:demo
//	cluster: 600x6/30               # or a file
//	scheduler: [fifo, fair]         # names, or paths of capacity-scheduler.xml and fair-scheduler.xml
//	seed: 1
//	seeds: 5                        # repetitions in compare
//	model:                          # what is assumed about the cluster
//	  heartbeat: 1s
//	yarn:                           # simulate a YARN cluster with its heartbeats and delays
//	  clock: hadoop
//	steering:                       # change a setting of the scheduler while jobs run
//	  steer: cbtws
//	trace:                          # defaults for a trace without task lengths
//	  block: 128MB
//
// An unknown key or invalid value is rejected with its file, line and column, and a suggestion. Paths in a
// file are relative to the file's folder.
package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/internal/suggest"
	"github.com/yardmaster/yardmaster/internal/yamlfile"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/all"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/am"
	"github.com/yardmaster/yardmaster/sim/kube"
	"github.com/yardmaster/yardmaster/sim/mapreduce/modelfile"
	"github.com/yardmaster/yardmaster/steer"
	steerall "github.com/yardmaster/yardmaster/steer/all"
	"github.com/yardmaster/yardmaster/workload/synth"
	"github.com/yardmaster/yardmaster/workload/trace"
	"github.com/yardmaster/yardmaster/yarn/edit"
)

// Catalogue is what scenarios can name.
type Catalogue struct {
	Policies policy.Registry // dispatch policies
	Steering steer.Registry  // steering policies
	Traces   trace.Formats
}

// BuiltIn is what this repository has; nobody changes it.
var BuiltIn = &Catalogue{all.Policies, steerall.Policies, trace.BuiltIn}

// Scenario is what to run.
type Scenario struct {
	Known       *Catalogue
	Workload    []string // files, or one synth:NAME
	Cluster     string   // shorthand or file
	Nodes       string   // how many nodes it has instead; "": as many as it says
	RackLosses  []sim.Loss
	Moves       []Move // jobs submitted to other queues
	Gangs       []Move // jobs whose tasks start together; their To is empty
	Executors   []Executors
	Schedulers  []string
	Place       string // a placement for all schedulers that name none
	Seed        uint64
	Seeds       int              // repetitions: seeds Seed, Seed+1, ...; 0: as many as fit
	Resampling  synth.Resampling // a sample of the jobs, other submit times
	ScaleLoad   float64          // factor on the number of jobs in the same time
	ScaleLength float64          // factor on the length
	Deadlines   run.Deadlines
	Model       sim.Model
	Data        Data
	Clock       string
	Yarn        Yarn
	Kubernetes  kube.Timing
	Steering    Steering
	Trace       trace.Options // how traces are read, and the defaults for what they lack
	Edits       []edit.Change // of the scheduler's file
	Variants    []Variant     // in compare
	Label       string        // of a variant
	Given       []string      // names of the settings that were given, even if equal to the default; sorted
}

// Default is an empty scenario with the default settings, of what this repository has.
func Default() Scenario { return BuiltIn.Default() }

// Default is an empty scenario with the default settings.
func (c *Catalogue) Default() Scenario {
	return Scenario{Known: c, Seed: 1, ScaleLoad: 1, ScaleLength: 1, Model: sim.Model{Application: am.Hadoop}, Data: Data{Tolerance: defaultTolerance, Congested: 1}, Clock: Ideal, Yarn: idealYarn(), Kubernetes: kube.Measured(), Steering: nobodySteers(), Trace: trace.Defaults()}
}

// markGiven notes that a setting was given.
func (s *Scenario) markGiven(name string) {
	if at, there := slices.BinarySearch(s.Given, name); !there {
		s.Given = slices.Insert(slices.Clone(s.Given), at, name)
	}
}

// without rejects settings of a section that were given, except one, although what they belong to was not requested.
func (s *Scenario) without(in, but, belongs string) error {
	for i := range Settings {
		if set := &Settings[i]; set.In == in && set.Name != but && slices.Contains(s.Given, set.Name) {
			return misuse("--%s belongs to %s, or leave it out", set.Name, belongs)
		}
	}
	return nil
}

// FileName is the name of a folder's scenario file.
const FileName = "scenario.yaml"

// Load reads a scenario file, or that of a folder, of what this repository has.
func Load(path string) (Scenario, error) { return BuiltIn.Load(path) }

// Load reads a scenario file, or that of a folder.
func (c *Catalogue) Load(path string) (Scenario, error) {
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		path = filepath.Join(path, FileName)
	}
	root, err := yamlfile.Open(path)
	if placed := (*yamlfile.Error)(nil); errors.As(err, &placed) {
		return Scenario{}, err
	}
	if err != nil {
		return Scenario{}, fmt.Errorf("scenario: %w", err)
	}
	s, err := c.read(root)
	if err != nil {
		return Scenario{}, err
	}
	s.resolvePaths(filepath.Dir(path))
	return s, nil
}

// Parse parses a scenario in memory; its paths stay as they are.
func Parse(name string, data []byte) (Scenario, error) {
	root, err := yamlfile.Parse(name, data)
	if err != nil {
		return Scenario{}, err
	}
	return BuiltIn.read(root)
}

func (c *Catalogue) read(root *yamlfile.Node) (Scenario, error) {
	s := c.Default()
	top, topKeys := section(&s, "")
	for _, name := range sections {
		keys, order := section(&s, name)
		topKeys = append(topKeys, name)
		top[name] = func(n *yamlfile.Node) error { return n.Read(name, order, keys) }
	}
	return s, root.Read("a scenario", topKeys, top)
}

// sections are the groups of settings that a file indents.
var sections = []string{"model", "yarn", "kubernetes", "steering", "trace"}

// section returns the keys of one section and how each is applied to s.
func section(s *Scenario, name string) (yamlfile.Keys, []string) {
	keys := yamlfile.Keys{}
	var order []string
	for _, set := range Settings {
		if set.In != name && (set.Name != "clock" || name != "yarn") {
			keys[set.Name] = misplaced(set.In)
			continue
		}
		if set.In == name {
			order = append(order, set.Name)
		}
		keys[set.Name] = func(n *yamlfile.Node) error {
			values, err := n.Values()
			if err != nil {
				return err
			}
			if !set.Many && n.Shape == yamlfile.List {
				return n.Errorf("%s takes one value, not a list", set.Name)
			}
			if err := s.Apply(&set, nil); err != nil {
				return n.Errorf("%s: %v", set.Name, err)
			}
			for _, v := range values {
				if err := set.Set(s, v.Text); err != nil {
					return v.Errorf("%s: %v", set.Name, err)
				}
			}
			return nil
		}
	}
	for old, name := range Renamed {
		keys[old] = keys[name]
	}
	return keys, order
}

// Renamed are former names of settings, which files and flags may still use.
var Renamed = map[string]string{"master": "am", "master-heartbeat": "am-heartbeat", "master-start": "am-start"}

// misplaced rejects a key that belongs to another section.
func misplaced(section string) func(*yamlfile.Node) error {
	return func(n *yamlfile.Node) error {
		if section == "" {
			return n.Errorf("this key belongs at the top of the file, not in a section")
		}
		return n.Errorf("this key belongs under %q", section+":")
	}
}

// resolvePaths makes the relative paths of a file relative to its folder.
func (s *Scenario) resolvePaths(dir string) {
	if dir == "." {
		return
	}
	for i, w := range s.Workload {
		if w != "-" && !strings.HasPrefix(w, "synth:") {
			s.Workload[i] = join(dir, w)
		}
	}
	if s.Cluster != "" && !shorthand.MatchString(s.Cluster) {
		s.Cluster = join(dir, s.Cluster)
	}
	if s.Data.Phases != "" && s.Data.Phases != none && !slices.Contains(modelfile.Names(), s.Data.Phases) {
		s.Data.Phases = join(dir, s.Data.Phases)
	}
	if s.Yarn.Site != "" {
		s.Yarn.Site = join(dir, s.Yarn.Site)
	}
	for i, spec := range s.Schedulers {
		if s.isFile(spec) {
			s.Schedulers[i] = join(dir, spec)
		}
	}
}

var shorthand = regexp.MustCompile(`^[0-9]+x[0-9+/]+$`)

// placed are the schedulers, each with its placement.
func (s *Scenario) placed() ([]string, error) {
	if s.Place == "" {
		return s.Schedulers, nil
	}
	if _, known := s.Known.Policies.Split("+" + s.Place); known == "" {
		return nil, misuse("--place: no policy is named %s%s", s.Place, suggest.Hint(s.Place, s.Known.Policies.Names()))
	}
	list := slices.Clone(s.Schedulers)
	for i, spec := range list {
		if _, own := s.Known.Policies.Split(spec); own == "" {
			list[i] += "+" + s.Place
		}
	}
	return list, nil
}

// isFile reports whether a scheduler is the path of a Hadoop file or a plan, by its extension.
func (s *Scenario) isFile(spec string) bool {
	spec, _ = s.Known.Policies.Split(spec)
	ext := filepath.Ext(spec)
	return (strings.EqualFold(ext, ".xml") || strings.EqualFold(ext, ".json")) && all.IsFile(s.Known.Policies, spec)
}

func join(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// YAML encodes the scenario as a file that Parse reads back as the same.
func (s *Scenario) YAML() []byte {
	var out bytes.Buffer
	for _, name := range append([]string{""}, sections...) {
		first := true
		for _, set := range Settings {
			values := set.Get(s)
			if set.In != name || slices.Equal(values, set.Get(&defaults)) {
				continue
			}
			indent := ""
			if name != "" {
				if indent = "  "; first {
					fmt.Fprintf(&out, "%s:\n", name)
				}
			}
			first = false
			if len(values) == 1 {
				fmt.Fprintf(&out, "%s%s: %s\n", indent, set.Name, strconv.Quote(values[0]))
				continue
			}
			fmt.Fprintf(&out, "%s%s:\n", indent, set.Name)
			for _, v := range values {
				fmt.Fprintf(&out, "%s  - %s\n", indent, strconv.Quote(v))
			}
		}
	}
	return out.Bytes()
}

// defaults is read-only.
var defaults = Default()
