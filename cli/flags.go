package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/yardmaster/yardmaster/internal/input"
	"github.com/yardmaster/yardmaster/internal/suggest"
	"github.com/yardmaster/yardmaster/internal/yamlfile"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/scenario"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload/synth"
)

// typed is a flag that keeps the text; a scenario's settings parse it.
type typed struct {
	set    *scenario.Setting
	values []string
	shown  string // default, for help
}

var _ pflag.Value = (*typed)(nil)

func (t *typed) String() string { return t.shown }
func (t *typed) Type() string {
	return cmp.Or(t.set.Value, "bool")
}

func (t *typed) Set(v string) error {
	if v == "" {
		return errors.New("a value is missing")
	}
	t.values = append(t.values, v)
	return nil
}

// single is a flag that takes one value: a second one is an error, instead of silently overriding the first.
type single struct {
	pflag.Value
	flag  *pflag.Flag
	typed string
}

// repeatedError is single's error for a second value.
type repeatedError struct{ first string }

func (e *repeatedError) Error() string { return "it takes one value, and has " + e.first }

func (s *single) Set(v string) error {
	if s.flag.Changed {
		return &repeatedError{s.typed}
	}
	s.typed = v
	return s.Value.Set(v)
}

// refuseRepeats wraps every flag of a command and its subcommands that does not take a list in a single.
func refuseRepeats(cmd *cobra.Command) {
	once := func(f *pflag.Flag) {
		if t, ok := f.Value.(*typed); ok && t.set.Many {
			return
		}
		if _, list := f.Value.(pflag.SliceValue); !list {
			f.Value = &single{Value: f.Value, flag: f}
		}
	}
	cmd.Flags().VisitAll(once)
	cmd.PersistentFlags().VisitAll(once)
	for _, sub := range cmd.Commands() {
		refuseRepeats(sub)
	}
}

// repeated says what to do instead of giving a flag twice.
func repeated(cmd *cobra.Command, f *pflag.Flag, first, second string) error {
	next := "Give it once."
	if _, known := scenario.Find(f.Name); known && cmd.Name() == "compare" {
		next = "Compare values of it with variants: --variant \"" + f.Name + "=" + second + "\"."
	}
	if f.Name == "seed" && cmd.Flags().Lookup("seeds") != nil {
		next = "--seeds N runs N seeds, from SEED on."
	}
	return misuse(next, "--%s was given twice (%s, then %s) but takes one value", f.Name, first, second)
}

// scenarioFlags are the flags of a verb that takes a scenario, one for each setting.
type scenarioFlags struct {
	known *scenario.Catalogue
	flags []*typed
}

var sectionHeading = map[string]string{"": inScenario, "model": inModel, "trace": inTraces, "yarn": inClock, "kubernetes": inKube, "steering": inSteering}

// add gives a command the flags of all settings that want selects.
func (f *scenarioFlags) add(cmd *cobra.Command, want func(*scenario.Setting) bool) {
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(cmp.Or(scenario.Renamed[name], name))
	})
	plain := f.known.Default()
	for i := range scenario.Settings {
		set := &scenario.Settings[i]
		if !want(set) {
			continue
		}
		t := &typed{set: set}
		if d := set.Get(&plain); len(d) == 1 && set.Value != "" {
			t.shown = d[0]
		}
		help := set.Help
		if set.Many {
			help += " (repeatable)"
		}
		fs.Var(t, set.Name, help)
		if set.Value == "" {
			fs.Lookup(set.Name).NoOptDefVal = "true"
		}
		setGroup(fs, sectionHeading[set.In], set.Name)
		f.flags = append(f.flags, t)
	}
	complete(cmd, "scheduler", func() []string {
		return wordsOf(f.known.Policies, func(e *policy.Entry) (string, string) { return e.Name, e.Title })
	}, cobra.ShellCompDirectiveDefault)
	complete(cmd, "steer", f.known.Steering.Names, cobra.ShellCompDirectiveNoFileComp)
	complete(cmd, "cluster", func() []string {
		return []string{"40x8/4\t40 nodes of 8 containers in 4 racks", "600x6/30\t600 nodes of 6 containers in 30 racks", "3000x20/150\t3000 nodes of 20 containers in 150 racks"}
	}, cobra.ShellCompDirectiveDefault)
	complete(cmd, "workload", func() []string {
		return wordsOf(synth.Presets(), func(p *struct{ Name, About string }) (string, string) { return "synth:" + p.Name, p.About })
	}, cobra.ShellCompDirectiveDefault)
}

// complete offers values for a flag, if the command has it.
func complete(cmd *cobra.Command, flag string, values func() []string, directive cobra.ShellCompDirective) {
	if cmd.Flags().Lookup(flag) == nil {
		return
	}
	err := cmd.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return values(), directive
	})
	if err != nil {
		panic("yardmaster: " + err.Error())
	}
}

// apply applies the flags to a scenario.
func (f *scenarioFlags) apply(s *scenario.Scenario) error {
	for _, t := range f.flags {
		if len(t.values) == 0 {
			continue
		}
		if err := s.Apply(t.set, t.values); err != nil {
			return misuse("", "--%s: %v", t.set.Name, err)
		}
	}
	return nil
}

// scenario reads the scenario file, if one is given, and applies the flags to it.
func (f *scenarioFlags) scenario(args []string) (scenario.Scenario, error) {
	s := f.known.Default()
	if len(args) == 1 {
		var err error
		if s, err = f.known.Load(args[0]); err != nil {
			if _, ok := errors.AsType[*yamlfile.Error](err); ok {
				return s, &usageError{err: err}
			}
			return s, err
		}
	}
	return s, f.apply(&s)
}

// oneScenario accepts at most one argument, a scenario file.
func (f *scenarioFlags) oneScenario(cmd *cobra.Command, args []string) error {
	if len(args) < 1 {
		return nil
	}
	see := "See \"" + cmd.CommandPath() + " --help\"."
	if len(args) > 1 {
		return misuse(see, "%s: too many arguments: %q", cmd.Name(), args[1])
	}
	st, err := os.Stat(args[0])
	switch {
	case errors.Is(err, os.ErrNotExist) && !strings.ContainsAny(args[0], "./"): // probably meant as a value
		return misuse(see, "%s: %q is not a scenario file%s", cmd.Name(), args[0], suggest.Hint(args[0], f.known.Policies.Names()))
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("there is no scenario file %q", args[0])
	case err == nil && st.IsDir():
		if _, err := os.Stat(filepath.Join(args[0], scenario.FileName)); err != nil {
			return fmt.Errorf("the folder %s holds no %s: name a scenario file", args[0], scenario.FileName)
		}
	case err == nil && st.Mode().IsRegular():
		return noScenario(f.known, args[0])
	}
	return nil
}

// noScenario recognises files that are given instead of a scenario but have a flag of their own.
func noScenario(known *scenario.Catalogue, path string) error {
	f, err := input.Open(path)
	if err != nil {
		return nil // reading it reports what is wrong
	}
	defer func() { _ = f.Close() }() // read-only
	prefix, err := f.Peek(input.PeekSize)
	if err != nil {
		return nil
	}
	if format, err := known.Traces.Recognise(prefix, path); err == nil {
		return misuse("Give it with --workload "+path, "%s is a workload (%s), not a scenario file", path, format.About)
	}
	if strings.HasPrefix(strings.TrimSpace(string(prefix)), "<") {
		return misuse("Give it with --scheduler "+path, "%s is XML, not a scenario file", path)
	}
	return nil
}

// resolve opens a scenario's parts; conflicting options are a usage error.
func resolve(s scenario.Scenario) (*scenario.Setup, error) {
	setup, err := s.Resolve()
	return setup, asUsage(err)
}

// asUsage makes conflicting options a usage error.
func asUsage(err error) error {
	if _, ok := errors.AsType[*scenario.MisuseError](err); ok {
		return &usageError{err: err}
	}
	return err
}

// hide keeps internal flags out of the help.
func hide(fs *pflag.FlagSet, names ...string) {
	for _, name := range names {
		if err := fs.MarkHidden(name); err != nil {
			panic("yardmaster: " + err.Error())
		}
	}
}

// duration parses the time of a flag; "" leaves it as it is.
func duration(flag, text string, least time.Duration, into *time.Duration) error {
	if text == "" {
		return nil
	}
	d, err := unit.ParseTime(text)
	if err != nil {
		return misuse("", "--%s: %v", flag, err)
	}
	if *into = time.Duration(d) * time.Microsecond; *into < least {
		return misuse("", "--%s: %s is too short", flag, text)
	}
	return nil
}
