package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/internal/term"
	"github.com/yardmaster/yardmaster/scenario"
	"github.com/yardmaster/yardmaster/whatif/live"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// liveFlags say which live cluster is asked, and from which history the work of its applications is drawn.
type liveFlags struct {
	login
	known         *scenario.Catalogue
	history, file string
	seed          uint64
	json          bool
}

func (f *liveFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.SortFlags = false
	f.addRM(cmd)
	f.addWho(cmd)
	fs.StringVar(&f.history, "history", "", "`DIR` that \"yardmaster import yarn\" has written: what is not known of an application is drawn from jobs like it")
	fs.StringVar(&f.file, "file", "", "the ResourceManager's capacity-scheduler.xml or fair-scheduler.xml, as `FILE` of this machine, if it does not show its settings")
	fs.Uint64Var(&f.seed, "seed", 1, "`N` from which the draws are made; the same number gives the same draws")
	fs.BoolVar(&f.json, "json", false, "write as JSON")
	f.addTimeout(cmd, 2*time.Minute, "max `TIME` until the answer")
	setGroup(fs, inCluster, "rm", "history", "file", "timeout")
	setGroup(fs, inOutput, "json")
}

// answer asks within the time limit, and writes the answer. If time runs out, the error says what took so long and what to do.
func (f *liveFlags) answer(cmd *cobra.Command, ask func(context.Context, *live.Inquiry) (live.Answer, error)) error {
	if len(f.rm) == 0 {
		return misuse("See \""+cmd.CommandPath()+" --help\".", "%s: no cluster: give --rm URL", cmd.Name())
	}
	client, err := f.client(rest.Options{Timeout: 10 * time.Second, Retries: 2, RMRate: -1})
	if err != nil {
		return labelled(cmd.Name(), err)
	}
	defer client.CloseIdle()
	ctx, stop := context.WithTimeout(cmd.Context(), f.timeout)
	defer stop()
	q := live.Inquiry{Client: client, Known: f.known, History: f.history, File: f.file, Seed: f.seed}
	a, err := ask(ctx, &q)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		if err = tooSlow(f.timeout, err); q.Simulating() {
			err = fmt.Errorf("the simulations were not done within %v: --timeout gives them more time, and a question about one application takes less", f.timeout)
		}
	}
	if err != nil {
		return labelled(cmd.Name(), asUsage(err))
	}
	if f.json {
		return writeJSON(cmd.OutOrStdout(), a.JSON())
	}
	columns, _ := term.Columns(os.Stdout)
	a.Text(cmd.OutOrStdout(), columns)
	return nil
}

func newYarnEta(known *scenario.Catalogue) *cobra.Command {
	f := liveFlags{known: known}
	var which live.Selection
	var noArrivals bool
	var draws int
	cmd := &cobra.Command{
		Use:   "eta APPLICATION | --queue NAME | --all",
		Short: "Predict when applications will start and end",
		Args: func(cmd *cobra.Command, args []string) error {
			help := "See \"" + cmd.CommandPath() + " --help\"."
			given := slices.DeleteFunc([]bool{len(args) > 0, which.All, which.Queue != ""}, func(given bool) bool { return !given })
			switch {
			case len(args) > 1:
				return misuse(help, "eta: too many arguments: %q", args[1])
			case len(given) != 1:
				return misuse(help, "eta: say which applications: an id, --queue NAME or --all")
			case draws < 9 || draws > 999:
				return misuse(help, "eta: --draws is from 9 to 999, not %d", draws)
			}
			which.ID = strings.Join(args, "")
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.answer(cmd, func(ctx context.Context, q *live.Inquiry) (live.Answer, error) {
				return q.Eta(ctx, which, draws, noArrivals)
			})
		},
	}
	f.add(cmd)
	fs := cmd.Flags()
	fs.StringVar(&which.Queue, "queue", "", "all applications of the queue `NAME`")
	fs.BoolVar(&which.All, "all", false, "all applications that have not ended")
	fs.BoolVar(&noArrivals, "no-arrivals", false, "assume that no job arrives any more, as at the end of a batch")
	fs.IntVar(&draws, "draws", live.Draws, "`N` simulations")
	return cmd
}
