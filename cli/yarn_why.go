package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/scenario"
	"github.com/yardmaster/yardmaster/whatif/live"
)

func newYarnWhy(known *scenario.Catalogue) *cobra.Command {
	f := liveFlags{known: known}
	cmd := &cobra.Command{
		Use:   "why APPLICATION",
		Short: "Say why an application waits, and what would start it",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return misuse("See \""+cmd.CommandPath()+" --help\".", "why: give the id of one application")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.answer(cmd, func(ctx context.Context, q *live.Inquiry) (live.Answer, error) { return q.Why(ctx, args[0]) })
		},
	}
	f.add(cmd)
	return cmd
}
