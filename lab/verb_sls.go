package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/yardmaster/yardmaster/lab/conform"
	"github.com/yardmaster/yardmaster/lab/hadoop"
	"github.com/yardmaster/yardmaster/lab/hadoop/sls"
)

func init() {
	verbs = append(verbs, verb{"up sls", "bring a real ResourceManager with hundreds of simulated nodes up", upSLS})
}

// slsFolder is beside that of "up hadoop": both may be up.
func slsFolder() string {
	home, err := hadoop.Home()
	if err != nil {
		return ""
	}
	return filepath.Join(home, "run-sls")
}

func upSLS(ctx context.Context, args []string, out io.Writer) error {
	f := flags("up sls", "Starts Hadoop's Scheduler Load Simulator: a real ResourceManager with simulated nodes, and a load of jobs if wanted.\n"+
		"It answers REST, changes of its queues included, until it is taken down.")
	dir := f.String("dir", slsFolder(), "run `folder`: configuration, log, records")
	nodes := f.Int("nodes", 500, "simulated nodes of 10 GB and 10 vcores, 25 in a rack")
	jobs := f.Int("jobs", 0, "jobs to run, in the queues prod, batch and adhoc")
	over := f.Duration("over", 10*time.Minute, "time within which they are submitted")
	fair := f.Bool("fair", false, "FairScheduler")
	queues := f.String("queues", "", "`file` with capacity-scheduler.xml or fair-scheduler.xml (default: prod, batch, adhoc)")
	heap := f.Int("heap", 768, "of the JVM, in MB")
	if err := f.Parse(args); err != nil {
		return err
	}
	o := conform.Live(*nodes, *jobs, *over, *fair)
	o.Dir, o.HeapMB, o.Log = *dir, *heap, out
	if *queues != "" {
		b, err := os.ReadFile(*queues)
		if err != nil {
			return fmt.Errorf("reading the queues: %w", err)
		}
		if *fair {
			o.Fair = b
		} else {
			o.Capacity = b
		}
	}
	began := time.Now()
	live, err := sls.Up(ctx, o)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%6.1f s  up\n\nResourceManager  %s\ntake it down     go run ./lab down --dir %s\n", time.Since(began).Seconds(), live.URL, live.Dir)
	return nil
}
