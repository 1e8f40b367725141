package cli

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/yardmaster/yardmaster/internal/build"
)

// newMan writes manual pages from the command tree, so that they match the help.
func newMan() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write manual pages into a folder",
		Hidden: true,
		Args:   exactly("the folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return fmt.Errorf("man: %w", err)
			}
			var write func(c *cobra.Command) error
			write = func(c *cobra.Command) error {
				name := strings.ReplaceAll(c.CommandPath(), " ", "-")
				if err := os.WriteFile(filepath.Join(args[0], name+".1"), []byte(manPage(c)), 0o644); err != nil {
					return fmt.Errorf("man: %w", err)
				}
				for _, sub := range c.Commands() {
					if !sub.Hidden && sub.Name() != "help" {
						if err := write(sub); err != nil {
							return err
						}
					}
				}
				return nil
			}
			return write(cmd.Root())
		},
	}
}

func manPage(c *cobra.Command) string {
	name := strings.ReplaceAll(c.CommandPath(), " ", "-")
	var out strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	p(`.TH "%s" "1" "" "yardmaster %s" "Yardmaster"`, strings.ToUpper(name), roff(build.Version()))
	p(".SH NAME\n%s \\- %s", roff(name), roff(c.Short))
	use := c.UseLine()
	if c.HasAvailableSubCommands() && !c.Runnable() {
		use = c.CommandPath() + " COMMAND"
	}
	p(".SH SYNOPSIS\n.B %s", roff(use))
	text := cmp.Or(c.Long, c.Short+".")
	p(".SH DESCRIPTION")
	for i, para := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			p(".PP")
		}
		if strings.HasPrefix(para, "  ") {
			p(".nf\n%s\n.fi", roff(para))
		} else {
			p("%s", roff(para))
		}
	}
	groups := flagGroups(c)
	for _, h := range helpOrder {
		if g := groups[h]; g != nil {
			p(".SH %s", strings.ToUpper(h))
			g.VisitAll(func(f *pflag.Flag) { p(".TP\n%s", manFlag(f)) })
		}
	}
	if c.Example != "" {
		p(".SH EXAMPLES\n.nf\n%s\n.fi", roff(strings.TrimRight(c.Example, "\n")))
	}
	p(".SH EXIT STATUS\n0 when the work is done, 1 when it failed or was cut short, 2 when the command was used wrongly.")
	var see []string
	if c.HasParent() {
		see = append(see, strings.ReplaceAll(c.Parent().CommandPath(), " ", "-"))
	}
	for _, sub := range c.Commands() {
		if !sub.Hidden && sub.Name() != "help" {
			see = append(see, name+"-"+sub.Name())
		}
	}
	for i, s := range see {
		see[i] = ".BR " + roff(s) + " (1)"
	}
	p(".SH SEE ALSO\n%s", strings.Join(see, ",\n"))
	return out.String()
}

func manFlag(f *pflag.Flag) string {
	value, text := pflag.UnquoteUsage(f)
	s := "\\fB" + roff("--"+f.Name) + "\\fR"
	if f.Shorthand != "" {
		s = "\\fB" + roff("-"+f.Shorthand) + "\\fR, " + s
	}
	if value != "" {
		s += " \\fI" + roff(value) + "\\fR"
	}
	return s + "\n" + roff(text)
}

// roff escapes text for troff.
func roff(s string) string {
	s = strings.ReplaceAll(s, `\`, `\e`)
	s = strings.ReplaceAll(s, "-", `\-`)
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}
