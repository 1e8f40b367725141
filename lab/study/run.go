package study

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/lab/evidence"
	"github.com/yardmaster/yardmaster/lab/hadoop"
	"github.com/yardmaster/yardmaster/lab/host"
)

// Masters is a study of masters.
type Masters struct {
	Size Size
	Runs int    // beside those that are kept
	Dir  string // of the records and the report
	Work string // of the daemons; "": a temporary folder
	Log  io.Writer
}

// Record runs the workload on real daemons and keeps a record of each run.
func (m *Masters) Record(ctx context.Context) error {
	end, _ := host.First(-18) // where it is not allowed all run as others do
	defer end()
	apps := m.Size.made()
	settings := site(m.Size.NodeMB, 512)
	c, down, err := bring(ctx, m.Work, hadoop.Options{
		SchedulerXML: mastersQueues(), ConfStore: "file", Nodes: m.Size.Nodes, NodeMB: m.Size.NodeMB, NodeVcores: 1024, Site: settings,
		Debug: append(append([]string{}, hadoop.DebugBeats...), hadoop.DebugTicks...), RMHeapMB: 768, Log: m.Log,
	})
	if err != nil {
		return err
	}
	defer down()
	siteXML := hadoop.Properties("", settings)
	if err := sameSite(c, siteXML); err != nil {
		return err
	}
	fmt.Fprintf(m.Log, "a few applications to warm the daemons up\n")
	if _, err := c.Masters(ctx, warm(), hadoop.MastersOptions{}); err != nil {
		return err
	}
	program := evidence.Here()
	for run := 1; run <= m.Runs; run++ {
		began := evidence.Begin(program)
		res, err := c.Masters(ctx, apps, hadoop.MastersOptions{})
		if err != nil {
			return err
		}
		rec := &Record{
			Hadoop: c.Version, At: time.Now().UTC().Truncate(time.Second), Load: [2]float64{began.Load[0], host.LoadAverage(host.OneMinute)}, Site: siteXML, Queues: mastersQueues(), Workload: apps,
		}
		for _, n := range c.Nodes {
			name, port, _ := strings.Cut(n.ID, ":")
			p, err := strconv.Atoi(port)
			if err != nil {
				return fmt.Errorf("the id of node %s: %w", n.ID, err)
			}
			rec.Nodes = append(rec.Nodes, NodeRecord{Name: name, Port: int32(p), Rack: n.Rack, MB: m.Size.NodeMB})
		}
		if err := rec.fill(c, &res); err != nil {
			return fmt.Errorf("run %d: %w", run, err)
		}
		if _, err := began.KeepJSON(m.Dir, mastersSeries, rec); err != nil {
			return err
		}
		fmt.Fprintf(m.Log, "run %d: %d applications, %d containers in %.0f s; load %.1f\n", run, len(rec.Apps), len(rec.Containers),
			res.Cost.Wall.Seconds(), rec.Load[1])
	}
	return nil
}

// mastersSeries is what the records are called.
const mastersSeries = "run"

// warm is a workload that makes the daemons compile what they need.
func warm() []hadoop.Application {
	s := Mini
	s.Apps, s.Containers, s.Over, s.Hold = 20, 120, 4000, [2]hadoop.Millis{500, 2500}
	return s.made()
}

// bring brings a lab up, in a temporary folder unless one is named.
func bring(ctx context.Context, work string, o hadoop.Options) (c *hadoop.Cluster, down func(), err error) {
	dir, clean, err := host.Folder(work, "study")
	if err != nil {
		return nil, nil, err
	}
	o.Dir = dir
	c, err = hadoop.Up(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	return c, func() {
		if err := c.Down(); err != nil {
			fmt.Fprintln(o.Log, "taking the lab down:", err)
			return
		}
		clean()
	}, nil
}

// processors answers how large a share of the processors' time anybody used from now on; 0 where that is not told.
func processors() func() float64 {
	look := func() (used, all int64) {
		spent, _ := host.Ticks() // not told: nothing
		for i, v := range spent {
			if all += v; i != 3 && i != 4 { // idle, and waiting for a disk
				used += v
			}
		}
		return used, all
	}
	u, a := look()
	return func() float64 {
		v, b := look()
		if b <= a {
			return 0
		}
		return float64(v-u) / float64(b-a)
	}
}
