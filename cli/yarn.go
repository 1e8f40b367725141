package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/internal/suggest"
	"github.com/yardmaster/yardmaster/internal/term"
	"github.com/yardmaster/yardmaster/scenario"
	"github.com/yardmaster/yardmaster/steer"
)

func newYarn(known *scenario.Catalogue) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "yarn",
		Short: "Ask and steer a live YARN cluster",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return unknownVerb(cmd, args[0])
		},
	}
	cmd.AddCommand(newYarnEta(known), newYarnWhy(known), newYarnSteer(known.Steering), newYarnApply(), newYarnPrepare(), newYarnRestore(), newYarnPolicies(known.Steering))
	return cmd
}

func newYarnPolicies(known steer.Registry) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "policies [NAME]",
		Short: "List the steering policies and their settings",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return misuse("", "policies: too many arguments: %q", args[1])
			}
			if len(args) == 1 {
				return knownPolicy(known, args[0])
			}
			return nil
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return policyWords(known), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			names := known.Names()
			if len(args) == 1 {
				names = args
			}
			if asJSON {
				return policiesJSON(cmd, known, names)
			}
			t := term.Table{Left: 3}
			for _, name := range names {
				e := known.Find(name)
				t.Add(name, "", e.Title)
				for _, p := range e.Params {
					t.Add("  "+p.Name, p.Default, p.Help+" ("+p.Value+")")
				}
			}
			fmt.Fprint(cmd.OutOrStdout(), draw(t))
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write as JSON")
	return cmd
}

func policiesJSON(cmd *cobra.Command, known steer.Registry, names []string) error {
	type param struct {
		Name    string `json:"name"`
		Value   string `json:"value"`
		Default string `json:"default"`
		Help    string `json:"help"`
	}
	type entry struct {
		Name     string  `json:"name"`
		Title    string  `json:"title"`
		Settings []param `json:"settings"`
	}
	var entries []entry
	for _, name := range names {
		policy := known.Find(name)
		e := entry{Name: name, Title: policy.Title}
		for _, p := range policy.Params {
			e.Settings = append(e.Settings, param(p))
		}
		entries = append(entries, e)
	}
	return writeJSON(cmd.OutOrStdout(), entries)
}

// policyWords are the policies for shell completion.
func policyWords(known steer.Registry) []string {
	return wordsOf(known, func(e *steer.Entry) (string, string) { return e.Name, e.Title })
}

func knownPolicy(known steer.Registry, name string) error {
	if known.Find(name) != nil {
		return nil
	}
	return misuse("The policies are "+strings.Join(known.Names(), ", ")+"; \"yardmaster yarn policies\" explains them.",
		"there is no steering policy %q%s", name, suggest.Hint(name, known.Names()))
}

// newPolicy makes the requested policy.
func newPolicy(known steer.Registry, name string, setup *steer.Setup) (steer.Steerer, error) {
	see := "See \"yardmaster yarn policies " + name + "\"."
	seen := map[string]bool{}
	for _, pair := range setup.Set {
		key, _, ok := strings.Cut(pair, "=")
		key = strings.TrimSpace(key)
		switch {
		case !ok:
			return nil, misuse(see, "--set %s: say NAME=VALUE", pair)
		case seen[key]:
			return nil, misuse(see, "--set %s is given twice", key)
		}
		seen[key] = true
	}
	p, err := known.New(name, setup)
	if wrong, ok := errors.AsType[*steer.SettingError](err); ok {
		if c, ok := suggest.Closest(wrong.Name, known.Find(name).ParamNames()); ok && c != wrong.Name {
			see = "Did you mean " + c + "? " + see
		}
		err = fmt.Errorf("--set: %w", err)
	}
	if err != nil {
		return nil, misuse(see, "%v", err)
	}
	return p, nil
}

func policyList(known steer.Registry) string {
	var out strings.Builder
	for _, e := range known {
		fmt.Fprintf(&out, "  %-10s %s\n", e.Name, e.Title)
	}
	return out.String()
}
