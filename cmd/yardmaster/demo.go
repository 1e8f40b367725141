package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/scenario"
)

// The demo's cluster is the one that its workload is made for.
const (
	demoWorkload = "synth:demo"
	demoCluster  = "40x8/4"
	demoSeeds    = 5
)

func newDemo() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Compare three schedulers on a made-up workload and write the report",
		Long: `Make up a busy afternoon of a small cluster, play it under three schedulers, print what differs and write the report.
It needs no data and takes a few seconds.`,
		Example: "  yardmaster demo\n  yardmaster demo -o demo.html",
		Args:    exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s := scenario.Default()
			s.Workload, s.Cluster, s.Schedulers, s.Seeds = []string{demoWorkload}, demoCluster, []string{"fifo", "fair", "capacity"}, demoSeeds
			setup, err := resolve(s)
			if err != nil {
				return err
			}
			fmt.Printf("A made-up afternoon on %s, under three schedulers, %d seeds.\n\n", setup.Cluster, s.Seeds)
			c, err := compare(cmd.Context(), "comparing", setup, 0, true, nil)
			if err != nil {
				return err
			}
			if len(c.Seeds) == 0 {
				return errors.New("stopped before one seed had run under every scheduler")
			}
			if err := writeReport(file, "A busy afternoon under "+comparisonTitle(c), s.Command("compare"), setup, c); err != nil {
				return err
			}
			showComparison(os.Stdout, c, false)
			where := file
			if abs, err := filepath.Abs(file); err == nil {
				where = abs
			}
			fmt.Printf(`
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
