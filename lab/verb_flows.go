package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/yardmaster/yardmaster/lab/yardstick"
)

func init() {
	verbs = append(verbs,
		verb{"flows", "hold the flow network against SimGrid: every end, and the speed", flowsVerb},
		verb{"packets", "play a shuffle in ns-3, with packets, beside the flow network", packetsVerb},
	)
}

func flowsVerb(ctx context.Context, args []string, out io.Writer) error {
	f := flags("flows", "Gives SimGrid and the flow network the same lists of flows, compares when each flow ends, measures the speed of both, and writes\n"+
		"the study's page. With --offline it takes the records that are kept. Needs g++ and SimGrid (Debian: apt-get install g++ libsimgrid-dev).")
	dir := f.String("dir", filepath.Join("docs", "studies", "flow-network"), "`folder` of the records; the page is beside it")
	small := f.Bool("small", false, "only compare what the tests do, and keep nothing")
	offline := f.Bool("offline", false, "take the records")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *small {
		_, err := yardstick.CompareFlows(ctx, yardstick.Mini, out)
		return err
	}
	if !*offline {
		if err := yardstick.RecordFlows(ctx, *dir, yardstick.Full, out); err != nil {
			return err
		}
	}
	return writePage(*dir, out)
}

func packetsVerb(ctx context.Context, args []string, out io.Writer) error {
	f := flags("packets", "Plays shuffles of 20 nodes in ns-3, keeps when each flow ended, and writes the study's page, which has the flow network beside it.\n"+
		"With --offline it takes the records that are kept. Needs g++ and ns-3 (Debian: apt-get install g++ libns3-dev).")
	dir := f.String("dir", filepath.Join("docs", "studies", "flow-network"), "`folder` of the records; the page is beside it")
	most := f.Duration("most", 10*time.Minute, "time for each shuffle")
	offline := f.Bool("offline", false, "take the records")
	if err := f.Parse(args); err != nil {
		return err
	}
	if !*offline {
		if err := yardstick.RecordPackets(ctx, *dir, *most, out); err != nil {
			return err
		}
	}
	return writePage(*dir, out)
}

func writePage(dir string, out io.Writer) error {
	text, err := yardstick.WritePage(dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s\nwritten to %s.md\n", text, dir)
	return nil
}
