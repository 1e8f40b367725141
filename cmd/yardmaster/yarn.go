package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/internal/suggest"
	"github.com/yardmaster/yardmaster/internal/term"
	"github.com/yardmaster/yardmaster/steer/marp"
)

func newYarn() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "yarn",
		Short: "Steer a live YARN cluster",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return unknownVerb(cmd, args[0])
		},
	}
	cmd.AddCommand(newYarnSteer(), newYarnRestore(), newYarnPolicies())
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
			names := marp.Names()
			if len(args) == 1 {
				names = args
			}
			if asJSON {
				return policiesJSON(cmd, names)
			}
			t := term.Table{Left: 3}
			for _, name := range names {
				t.Add(name, "", marp.Title(name))
				s := marp.Defaults(name, "")
				for _, p := range marp.Params() {
					if p.Concerns(name) {
						t.Add("  "+p.Name, p.Get(&s), p.Help+" ("+p.Value+")")
					}
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
		e := entry{Name: name, Title: marp.Title(name)}
		s := marp.Defaults(name, "")
		for _, p := range marp.Params() {
			if p.Concerns(name) {
				e.Settings = append(e.Settings, param{p.Name, p.Value, p.Get(&s), p.Help})
			}
		}
		entries = append(entries, e)
	}
	enc := json.NewEncoder(cmd.OutOrStdout())
	enc.SetIndent("", "  ")
	return enc.Encode(entries)
}

// policyWords are the policies for a shell's completion.
func policyWords() []string {
	var words []string
	for _, n := range marp.Names() {
		words = append(words, n+"\t"+marp.Title(n))
	}
	return words
}

func knownPolicy(name string) error {
	for _, n := range marp.Names() {
		if n == name {
			return nil
		}
	}
	return misuse("The policies are "+strings.Join(marp.Names(), ", ")+"; \"yardmaster yarn policies\" explains them.",
		"there is no steering policy %q%s", name, suggest.Hint(name, marp.Names()))
}

// settingsOf lays NAME=VALUE pairs over a policy's settings.
func settingsOf(policy string, s marp.Settings, pairs []string) (marp.Settings, error) {
	see := "See \"yardmaster yarn policies " + policy + "\"."
	var names []string
	for _, p := range marp.Params() {
		if p.Concerns(policy) {
			names = append(names, p.Name)
		}
	}
	seen := map[string]bool{}
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		switch {
		case !ok:
			return s, misuse(see, "--set %s: say NAME=VALUE", pair)
		case seen[name]:
			return s, misuse(see, "--set %s is given twice", name)
		}
		seen[name] = true
		if err := s.Set(policy, name, value); err != nil {
			next := see
			if c, ok := suggest.Closest(name, names); ok && c != name {
				next = "Did you mean " + c + "? " + see
			}
			return s, misuse(next, "--set: %v", err)
		}
	}
	if policy == "static" && !seen["value"] {
		return s, misuse("", "static needs the share it is to write: --set value=0.25")
	}
	if err := s.Check(policy); err != nil {
		return s, misuse(see, "%v", err)
	}
	return s, nil
}
