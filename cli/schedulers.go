package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/internal/term"
	"github.com/yardmaster/yardmaster/scenario"
)

// longName is the width beyond which a parameter's name gets a line of its own.
const longName = 22

func newSchedulers(known *scenario.Catalogue) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "schedulers",
		Short: "List the schedulers and their parameters",
		Args:  exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.OutOrStdout()
			if asJSON {
				type entry struct {
					Name   string            `json:"name"`
					Title  string            `json:"title"`
					Params map[string]string `json:"params"`
				}
				entries := []entry{}
				for _, e := range known.Policies {
					entries = append(entries, entry{e.Name, e.Title, e.Params})
				}
				return writeJSON(out, entries)
			}
			t := term.Table{Left: 2}
			for _, e := range known.Policies {
				t.Add(e.Name, e.Title)
				for _, p := range slices.Sorted(maps.Keys(e.Params)) {
					if name := "  " + p; len(name) <= longName {
						t.Add(name, e.Params[p])
					} else {
						t.Add(name)
						t.Add("", e.Params[p])
					}
				}
			}
			for _, e := range known.Policies {
				if e.Place != nil {
					t.Add("NAME+"+e.Name, "NAME, with the placement of "+e.Name+" ("+strings.Join(slices.Sorted(maps.Keys(e.PlaceParams)), ", ")+")")
				}
			}
			t.Add("FILE.xml", "a capacity-scheduler.xml or fair-scheduler.xml, read as it is")
			t.Add("FILE.json", "a plan of \"yardmaster plan\"")
			fmt.Fprint(out, draw(t))
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write as JSON")
	return cmd
}
