package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/yardmaster/yardmaster/internal/suggest"
)

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "yardmaster",
		Short: "Rehearse a scheduling change on your cluster's own history",
		Long: `Yardmaster runs the history of a shared data cluster (MapReduce, Spark, any staged batch work) through a simulator,
under the scheduler you have and under the one you think of, and shows who would have waited how long.`,
		Example: `  yardmaster demo -o demo.html
  yardmaster import swim TRACE.tsv -o jobs.parquet
  yardmaster simulate --workload jobs.parquet --cluster 600x6/30 --scheduler fair
  yardmaster compare --workload jobs.parquet --cluster 600x6/30 --scheduler fifo --scheduler ./capacity-scheduler.xml --seeds 5 --report cmp.html`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return unknownVerb(cmd, args[0])
		},
	}
	cobra.EnableCommandSorting = false // verbs in the order in which they are met
	root.SetFlagErrorFunc(flagError)
	root.SetUsageFunc(showUsage)
	root.SetHelpFunc(help)
	root.AddCommand(newDemo(), newImport(), newSimulate(), newCompare(), newSchedulers(), newBench(), newVersion(), newMan())
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	return root
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
	next := "The verbs are " + strings.Join(verbs(cmd), ", ") + "."
	if c, ok := suggest.Closest(verb, verbs(cmd)); ok {
		next = "Did you mean \"" + cmd.CommandPath() + " " + c + "\"?"
	}
	return misuse(next, "there is no verb %q", verb)
}

// flagError turns what pflag says into an error of use that names the nearest flag.
func flagError(cmd *cobra.Command, err error) error {
	var missing *pflag.NotExistError
	if !errors.As(err, &missing) {
		return &usageError{err: err, next: "See \"" + cmd.CommandPath() + " --help\"."}
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	next := "See \"" + cmd.CommandPath() + " --help\"."
	if c, ok := suggest.Closest(missing.GetSpecifiedName(), names); ok {
		next = "Did you mean --" + c + "?"
	}
	return &usageError{err: err, next: next}
}

// exactly wants a number of arguments, each with a name for the message.
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
