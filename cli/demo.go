package cli

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/scenario"
	"github.com/yardmaster/yardmaster/whatif"
)

// The demo's cluster is the one that its workload is made for.
const (
	demoWorkload = "synth:demo"
	demoCluster  = "40x8/4"
	demoSeeds    = 5
)

func newDemo(known *scenario.Catalogue) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Compare three schedulers on a synthetic workload and write the report",
		Args:  exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if file == "" {
				return misuse("", "demo: no output file: give -o FILE.html")
			}
			s := known.Default()
			s.Workload, s.Cluster, s.Schedulers, s.Seeds = []string{demoWorkload}, demoCluster, []string{"fifo", "fair", "capacity"}, demoSeeds
			setup, err := resolve(s)
			if err != nil {
				return err
			}
			out, err := prepare(cmd.Context(), file)
			if err != nil {
				return fmt.Errorf("report: %w", err)
			}
			defer out.discard()
			w := cmd.OutOrStdout()
			say(w, fmt.Sprintf("A synthetic afternoon on %s, under three schedulers, %d seeds.", setup.Cluster, s.Seeds))
			fmt.Fprintln(w)
			show(w)
			c, err := compare(cmd.Context(), "comparing", setup, whatif.Plan{Variants: setup.Runs(), Pictures: true})
			if err != nil {
				return err
			}
			if len(c.Seeds) == 0 {
				return errors.New("stopped before one seed had run under every scheduler")
			}
			showComparison(w, c, false, "the report")
			if err := writeReport(out, "A busy afternoon under "+comparisonTitle(c), s.Command("compare"), setup, c); err != nil {
				return err
			}
			where := file
			if abs, err := filepath.Abs(file); err == nil {
				where = abs
			}
			fmt.Fprintf(w, `
The report is in %s (open it in a browser).

Try next:
  yardmaster simulate --workload %s --cluster 30x8/3 --scheduler fair    the same on fewer machines
  yardmaster compare --workload %s --cluster %s --scheduler fair --scheduler fair:by=user --seeds 5
  yardmaster import swim TRACE.tsv -o jobs.parquet                            your own jobs
`, where, demoWorkload, demoWorkload, demoCluster)
			if c.Partial {
				return errPartial
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&file, "output", "o", "demo.html", "write the report to `FILE`")
	return cmd
}
