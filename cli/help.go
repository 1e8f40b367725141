package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/yardmaster/yardmaster/internal/term"
)

// groupKey annotates a flag with the heading that help shows it under.
const groupKey = "group"

// Headings of help, each over a group of flags.
const (
	inCluster  = "Cluster"
	inPolicy   = "Policy"
	inSource   = "History source"
	inLogin    = "Authentication"
	inScenario = "Scenario"
	inModel    = "Model of the cluster"
	inClock    = "YARN clock"
	inKube     = "Kubernetes clock"
	inSteering = "Steering"
	inTraces   = "Trace defaults"
	inOutput   = "Output"
	inFlags    = "Flags"
)

var helpOrder = []string{inCluster, inPolicy, inSource, inLogin, inScenario, inModel, inClock, inKube, inSteering, inTraces, inOutput, inFlags}

func setGroup(fs *pflag.FlagSet, heading string, names ...string) {
	for _, name := range names {
		if err := fs.SetAnnotation(name, groupKey, []string{heading}); err != nil {
			panic("yardmaster: " + err.Error())
		}
	}
}

// flagGroups returns the visible flags of a command by heading.
func flagGroups(cmd *cobra.Command) map[string]*pflag.FlagSet {
	groups := map[string]*pflag.FlagSet{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		heading := "Flags"
		if g := f.Annotations[groupKey]; len(g) == 1 {
			heading = g[0]
		}
		if groups[heading] == nil {
			groups[heading] = pflag.NewFlagSet(heading, pflag.ContinueOnError)
			groups[heading].SortFlags = false
		}
		groups[heading].AddFlag(f)
	})
	return groups
}

// help writes what a verb is for, then its usage.
func help(cmd *cobra.Command, _ []string) {
	out := cmd.OutOrStdout()
	text := cmp.Or(cmd.Long, cmd.Short+".")
	fmt.Fprint(out, term.Flow(strings.TrimSpace(text), helpWidth()))
	fmt.Fprintln(out)
	writeUsage(out, cmd)
}

// helpWidth is the number of columns that help takes. Below 40, flags cannot be laid out.
func helpWidth() int { return max(40, min(term.Width(os.Stdout), 120)) }

func showUsage(cmd *cobra.Command) error {
	writeUsage(cmd.OutOrStderr(), cmd)
	return nil
}

func writeUsage(out io.Writer, cmd *cobra.Command) {
	ink := term.InkFor(os.Stdout)
	cmd.InitDefaultHelpFlag()
	line := cmd.UseLine()
	if cmd.HasAvailableSubCommands() && !cmd.Runnable() {
		line = cmd.CommandPath() + " COMMAND"
	}
	width := helpWidth()
	fmt.Fprintf(out, "%s\n%s", ink.Bold("Usage"), term.Wrap(line, "  ", width))
	if cmd.Example != "" {
		fmt.Fprintf(out, "\n%s\n", ink.Bold("Examples"))
		for _, command := range strings.Split(strings.TrimRight(cmd.Example, "\n"), "\n") {
			fmt.Fprint(out, term.Command(strings.TrimSpace(command), "  ", width))
		}
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(out, "\n%s\n", ink.Bold("Commands"))
		t := term.Table{Left: 2, Width: width}
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				t.Add("  "+c.Name(), c.Short)
			}
		}
		fmt.Fprint(out, t.String())
	}
	groups := flagGroups(cmd)
	for _, h := range helpOrder {
		if g := groups[h]; g != nil {
			fmt.Fprintf(out, "\n%s\n%s", ink.Bold(h), g.FlagUsagesWrapped(width))
		}
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(out, "\nMore on a command: %s COMMAND --help\n", cmd.CommandPath())
	}
}

// words are names with descriptions, as a shell completes them: "name\tabout".
type words []string

func wordsOf[T any](list []T, of func(*T) (name, about string)) (all words) {
	for i := range list {
		name, about := of(&list[i])
		all = append(all, name+"\t"+about)
	}
	return all
}

func (w words) names() (names []string) {
	for _, word := range w {
		name, _, _ := strings.Cut(word, "\t")
		names = append(names, name)
	}
	return names
}

// list has one line per word, for help.
func (w words) list() string {
	var out strings.Builder
	for _, word := range w {
		name, about, _ := strings.Cut(word, "\t")
		fmt.Fprintf(&out, "  %-8s %s\n", name, about)
	}
	return out.String()
}
