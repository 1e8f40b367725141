package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/internal/build"
)

func newVersion() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version and build",
		Args:  exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), build.Read())
			}
			showVersion(cmd.OutOrStdout())
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write as JSON")
	return cmd
}

func showVersion(out io.Writer) {
	info := build.Read()
	fmt.Fprintf(out, "yardmaster %s\n", build.Version())
	if info.Revision != "" {
		changed := ""
		if info.Modified {
			changed = ", with changes"
		}
		fmt.Fprintf(out, "commit     %s of %s%s\n", info.Revision, info.Time, changed)
	}
	cgo := "no CGO"
	if info.CGO {
		cgo = "with CGO"
	}
	fmt.Fprintf(out, "built with %s for %s, %s\n", info.Go, info.Platform, cgo)
}
