package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"time"

	"github.com/yardmaster/yardmaster/lab/hadoop"
)

func init() {
	verbs = append(verbs, verb{"masters", "run a workload file of unmanaged masters on a lab that is up", masters})
}

func masters(ctx context.Context, args []string, out io.Writer) error {
	f := flags("masters", "Runs a workload on a lab that is up. A workload has one application a line:\n"+
		`  {"id":"a","user":"alice","queue":"prod","submit":0,"containers":[{"count":3,"mb":512,"hold":[2000,3000]}]}`)
	dir := runFolder(f)
	file := f.String("workload", "", "the workload's `file`")
	var o hadoop.MastersOptions
	f.BoolVar(&o.Start, "start", false, "start a process in each container")
	f.DurationVar(&o.Heartbeat, "heartbeat", time.Second, "of the masters")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *file == "" {
		return errors.New("masters: say which workload: --workload FILE")
	}
	in, err := os.Open(*file)
	if err != nil {
		return fmt.Errorf("opening the workload: %w", err)
	}
	defer in.Close()
	apps, err := hadoop.ReadWorkload(in)
	if err != nil {
		return err
	}
	c, err := hadoop.Open(ctx, *dir)
	if err != nil {
		return fmt.Errorf("%w; bring one up with: go run ./lab up hadoop", err)
	}
	res, err := c.Masters(ctx, apps, o)
	if err != nil {
		return err
	}
	sort.Slice(res.Apps, func(i, j int) bool { return res.Apps[i].App < res.Apps[j].App })
	fmt.Fprintf(out, "%-34s %-10s %-10s %10s %10s %10s  %s\n", "application", "user", "queue", "submit", "containers", "end", "state")
	for _, a := range res.Apps {
		fmt.Fprintf(out, "%-34s %-10s %-10s %8.1f s %10d %8.1f s  %s %s\n", a.App, a.User, a.Queue, (a.Submit - res.Zero).Duration().Seconds(),
			len(a.Containers), (a.End - res.Zero).Duration().Seconds(), a.State, a.Why)
	}
	fmt.Fprintf(out, "\n%.1f s, of them %.1f s of the clients' processor time\n", res.Cost.Wall.Seconds(), res.Cost.CPU.Seconds())
	return nil
}
