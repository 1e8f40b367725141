package cli

import (
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/yardmaster/yardmaster/internal/suggest"
	"github.com/yardmaster/yardmaster/scenario"
)

func newRoot(known *scenario.Catalogue) *cobra.Command {
	var version bool
	root := &cobra.Command{
		Use:           "yardmaster",
		Short:         "Rehearse a scheduling change on your cluster's own history",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if version {
				showVersion(cmd.OutOrStdout())
				return nil
			}
			if len(args) == 0 {
				return cmd.Help()
			}
			return unknownVerb(cmd, args[0])
		},
	}
	cobra.EnableCommandSorting = false // verbs in the order of registration
	root.SetFlagErrorFunc(flagError)
	root.SetUsageFunc(showUsage)
	root.SetHelpFunc(help)
	root.AddCommand(newDemo(known), newImport(known), newSimulate(known), newCompare(known), newTune(known), newSweep(known), newSize(known), newPlan(known), newSpark(known), newYarn(known), newSchedulers(known), newBench(), newVersion(), newMan())
	root.Flags().BoolVar(&version, "version", false, "print the version and build")
	root.SetHelpCommand(newHelp())
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.HasSubCommands() && !c.Runnable() { // completion: an unknown shell is not a request for help
			c.Args = cobra.ArbitraryArgs
			c.RunE = func(cmd *cobra.Command, args []string) error {
				if len(args) == 0 {
					return cmd.Help()
				}
				return unknownVerb(cmd, args[0])
			}
		}
	}
	refuseRepeats(root)
	describe(root, strings.NewReplacer("{{formats}}", formatWords(known).list(), "{{measurements}}", measurementWords().list(), "{{policies}}", policyList(known.Steering)))
	return root
}

//go:embed verbs.txt
var verbTexts string

// describe gives a command and its subcommands their descriptions and examples from verbs.txt.
func describe(cmd *cobra.Command, lists *strings.Replacer) {
	for text := range strings.SplitSeq(strings.TrimSpace(verbTexts), "\n# ") {
		if path, text, _ := strings.Cut(strings.TrimPrefix(text, "# "), "\n"); path == cmd.CommandPath() {
			long, example, _ := strings.Cut("\n"+text, "\nExamples:\n")
			cmd.Long, cmd.Example = lists.Replace(strings.TrimPrefix(long, "\n")), example
		}
	}
	for _, sub := range cmd.Commands() {
		describe(sub, lists)
	}
}

func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show help for a command",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return verbs(cmd.Root()), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			at := cmd.Root()
		words:
			for _, word := range args {
				for _, sub := range at.Commands() {
					if sub.Name() == word {
						at = sub
						continue words
					}
				}
				if !at.HasSubCommands() {
					return misuse("See \""+at.CommandPath()+" --help\".", "help: %s has no subcommands, so there is no %q", at.Name(), word)
				}
				return unknownVerb(at, word)
			}
			return at.Help()
		},
	}
}

// verbs are the names of the subcommands that help shows.
func verbs(cmd *cobra.Command) []string {
	var names []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return names
}

func unknownVerb(cmd *cobra.Command, verb string) error {
	next := "The commands are " + strings.Join(verbs(cmd), ", ") + "."
	if c, ok := suggest.Closest(verb, verbs(cmd)); ok {
		next = "Did you mean \"" + cmd.CommandPath() + " " + c + "\"?"
	}
	return misuse(next, "unknown command %q", verb)
}

// flagError turns an error of pflag into a usage error that says what to do.
func flagError(cmd *cobra.Command, err error) error {
	see := "See \"" + cmd.CommandPath() + " --help\"."
	if wrong, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		why := wrong.Unwrap()
		if twice := (*repeatedError)(nil); errors.As(why, &twice) {
			return repeated(cmd, wrong.GetFlag(), twice.first, wrong.GetValue())
		}
		switch wrong.GetFlag().Value.Type() {
		case "int", "int64":
			why = fmt.Errorf("%q is not a whole number", wrong.GetValue())
		case "bool":
			why = fmt.Errorf("%q is neither true nor false", wrong.GetValue())
		}
		return misuse(see, "--%s: %v", wrong.GetFlag().Name, why)
	}
	var missing *pflag.NotExistError
	if !errors.As(err, &missing) {
		return &usageError{err: err, next: see}
	}
	name := missing.GetSpecifiedName()
	if name == "seeds" && cmd.Name() == "simulate" {
		return misuse("\"yardmaster compare\" runs several, and says how sure the figures are.", "simulate runs one seed: --seed N")
	}
	next := see
	if c, ok := suggest.Closest(name, flagNames(cmd)); ok {
		next = "Did you mean --" + c + "?"
	}
	for _, other := range cmd.Root().Commands() {
		if name != "" && !other.Hidden && other.Flags().Lookup(name) != nil {
			next = "--" + name + " is a flag of \"" + other.CommandPath() + "\". " + see
			break
		}
	}
	return &usageError{err: err, next: next}
}

func flagNames(cmd *cobra.Command) []string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return names
}

// exactly requires a number of arguments, each with a name for the message.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == len(names) {
			return nil
		}
		see := "See \"" + cmd.CommandPath() + " --help\"."
		if len(args) > len(names) {
			return misuse(see, "%s: too many arguments: %q", cmd.Name(), args[len(names)])
		}
		return misuse(see, "%s: %s is missing", cmd.Name(), names[len(args)])
	}
}
