package yardstick

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"

	"github.com/yardmaster/yardmaster/lab/evidence"
)

//go:embed ns3/shuffle.cpp
var ns3Source string

var ns3 = program{
	name: "ns-3", source: ns3Source, header: "ns3/internet-module.h", packages: "g++ libns3-dev",
	options: []string{"-lns3-applications", "-lns3-internet", "-lns3-point-to-point", "-lns3-traffic-control", "-lns3-network", "-lns3-core"},
}

// simulatedLimit is in seconds: a flow that has not ended by then will not.
const simulatedLimit = 30

// PacketRun is a shuffle that ns-3 has played.
type PacketRun struct {
	Fetches
	Events, Drops int64
	Took          float64 // seconds of processor time
	Spans         []Span  // by flow; End -1: it did not end
}

// Packets plays a shuffle in ns-3.
func Packets(ctx context.Context, f Fetches) (PacketRun, error) {
	run := PacketRun{Fetches: f, Spans: make([]Span, len(f.Flows))}
	out, took, err := ns3.run(ctx, nil, func(w io.Writer) error { return f.write(w, simulatedLimit) })
	if err != nil {
		return run, fmt.Errorf("%s: %w", f.Name, err)
	}
	run.Took = took
	lines := bufio.NewReader(bytes.NewReader(out))
	_, err = fmt.Fscanf(lines, "shuffle %d %d\n", &run.Events, &run.Drops)
	for i := range run.Spans {
		if err != nil {
			break
		}
		s := &run.Spans[i]
		_, err = fmt.Fscanf(lines, "%g %g %d %d\n", &s.Start, &s.End, &s.Timeouts, &s.Recoveries)
	}
	if err != nil {
		return run, fmt.Errorf("reading ns-3's answer for %s: %w", f.Name, err)
	}
	return run, nil
}

// RecordPackets plays the study's shuffles in ns-3, each for at most the given time, and keeps them in dir. They run side by side,
// as many as there are processors.
func RecordPackets(ctx context.Context, dir string, most time.Duration, log io.Writer) error {
	list := append([]Fetches{Single(1e5), Single(1e6), Single(1e7), Single(1e8)}, Shuffles()...)
	if _, err := ns3.built(ctx); err != nil {
		return err
	}
	began := evidence.Begin(evidence.Here())
	runs, failed := make([]PacketRun, len(list)), make([]error, len(list))
	var all sync.WaitGroup
	free := make(chan struct{}, runtime.NumCPU())
	told := sync.Mutex{}
	for i, f := range list {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			within, cancel := context.WithTimeout(ctx, most)
			defer cancel()
			if runs[i], failed[i] = Packets(within, f); failed[i] != nil {
				return
			}
			told.Lock()
			defer told.Unlock()
			fmt.Fprintf(log, "%-28s %9d events, %6.1f s of processor time: the last flow ended at %.3f s\n",
				f.Name, runs[i].Events, runs[i].Took, latest(runs[i].Spans))
		})
	}
	all.Wait()
	if err := errors.Join(failed...); err != nil {
		return err
	}
	_, err := began.KeepJSON(dir, packetsSeries, runs)
	return err
}
