package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/internal/suggest"
	"github.com/yardmaster/yardmaster/internal/term"
	"github.com/yardmaster/yardmaster/steer"
	steerpolicy "github.com/yardmaster/yardmaster/steer/all"
)

func newYarn() *cobra.Command {
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
	cmd.AddCommand(newYarnEta(), newYarnWhy(), newYarnSteer(), newYarnApply(), newYarnPrepare(), newYarnRestore(), newYarnPolicies())
	return cmd
}

func newYarnPolicies() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "policies [NAME]",
		Short: "List the steering policies and their settings",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return misuse("", "policies: too many arguments: %q", args[1])
			}
			if len(args) == 1 {
				return knownPolicy(args[0])
			}
			return nil
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return policyWords(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			names := steerpolicy.Policies.Names()
			if len(args) == 1 {
				names = args
			}
			if asJSON {
				return policiesJSON(cmd, names)
			}
			t := term.Table{Left: 3}
			for _, name := range names {
				e := steerpolicy.Policies.Find(name)
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

func policiesJSON(cmd *cobra.Command, names []string) error {
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
		known := steerpolicy.Policies.Find(name)
		e := entry{Name: name, Title: known.Title}
		for _, p := range known.Params {
			e.Settings = append(e.Settings, param(p))
		}
		entries = append(entries, e)
	}
	return writeJSON(cmd.OutOrStdout(), entries)
}

// policyWords are the policies for shell completion.
func policyWords() []string {
	return wordsOf(steerpolicy.Policies, func(e *steer.Entry) (string, string) { return e.Name, e.Title })
}

func knownPolicy(name string) error {
	if steerpolicy.Policies.Find(name) != nil {
		return nil
	}
	return misuse("The policies are "+strings.Join(steerpolicy.Policies.Names(), ", ")+"; \"yardmaster yarn policies\" explains them.",
		"there is no steering policy %q%s", name, suggest.Hint(name, steerpolicy.Policies.Names()))
}

// newPolicy makes the requested policy.
func newPolicy(name string, setup *steer.Setup) (steer.Steerer, error) {
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
	p, err := steerpolicy.Policies.New(name, setup)
	if wrong, ok := errors.AsType[*steer.SettingError](err); ok {
		if c, ok := suggest.Closest(wrong.Name, steerpolicy.Policies.Find(name).ParamNames()); ok && c != wrong.Name {
			see = "Did you mean " + c + "? " + see
		}
		err = fmt.Errorf("--set: %w", err)
	}
	if err != nil {
		return nil, misuse(see, "%v", err)
	}
	return p, nil
}
