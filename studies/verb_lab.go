package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/studies/conform"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop/sls"
	"github.com/yardmaster/yardmaster/studies/lab/proc"
	"github.com/yardmaster/yardmaster/studies/lab/spark"
)

// clusters are the verbs that start and stop daemons.
var clusters = []verb{
	{"lab up hadoop", "", "bring a ResourceManager, NodeManagers, HDFS and the history server up", "Brings real Hadoop daemons up on loopback and returns when they answer.", upHadoop},
	{"lab status", "", "list processes, their resource usage and their addresses", "Lists processes, their resource usage and their addresses.", status},
	{"lab down", "", "stop everything that was brought up", "Stops every process of the run, also after a crash. Logs and data stay unless --clean is given.", down},
	{"lab fetch hadoop", "", "only fetch the jars", "Fetches the jars with Maven, unless they are already there.", fetchHadoop},
	{"lab fetch spark", "", "only fetch Spark", "Installs PySpark with pip into the lab's cache, unless it is already there.", fetchSpark},
	{"lab unmanaged", "", "run a workload file of unmanaged AMs on a lab that is up", "Runs a workload on a lab that is up. A workload has one application per line:\n" +
		`  {"id":"a","user":"alice","queue":"prod","submit":0,"containers":[{"count":3,"mb":512,"hold":[2000,3000]}]}`, ams},
	{"lab up sls", "", "bring a real ResourceManager with hundreds of simulated nodes up", "Starts Hadoop's Scheduler Load Simulator: a real ResourceManager with simulated nodes, and optionally a load of jobs.\n" +
		"It answers REST, including changes of its queues, until it is taken down.", upSLS},
}

// settings are repeated flags of the form name=value.
type settings map[string]string

func (s settings) String() string { return "" }

func (s settings) Set(v string) error {
	key, value, ok := strings.Cut(v, "=")
	if !ok {
		return errors.New("want name=value")
	}
	s[key] = value
	return nil
}

// runFolder adds --dir, the run folder, by default in the lab's home. That of "up sls" is beside that of
// "up hadoop": both may be up.
func runFolder(f *flag.FlagSet, name string) *string {
	d := ""
	if home, err := hadoop.Home(); err == nil {
		d = filepath.Join(home, name)
	}
	return f.String("dir", d, "run `folder`: configuration, logs, records, data")
}

func upHadoop(f *flag.FlagSet, out io.Writer) action {
	o := hadoop.Options{Log: out, Site: settings{}, Mapred: settings{}}
	dir := runFolder(f, "run")
	f.StringVar(&o.Version, "version", hadoop.Default, "of Hadoop: "+strings.Join(hadoop.Versions(), " or "))
	f.StringVar(&o.Scheduler, "scheduler", "capacity", "capacity or fair")
	xml := f.String("queues", "", "`file` with capacity-scheduler.xml or fair-scheduler.xml (default: prod, batch, adhoc)")
	f.StringVar(&o.ConfStore, "store", "", "store of the CapacityScheduler's configuration: memory, file, fs, leveldb or zk (default memory)")
	f.IntVar(&o.Nodes, "nodes", 3, "number of NodeManagers")
	f.IntVar(&o.NodeMB, "node-mb", 8192, "memory per node, in MB")
	f.IntVar(&o.NodeVcores, "node-vcores", 32, "vcores per node")
	f.DurationVar(&o.Heartbeat, "heartbeat", time.Second, "heartbeat interval of the NodeManagers")
	f.BoolVar(&o.HDFS, "hdfs", true, "start a NameNode and a DataNode")
	f.BoolVar(&o.History, "history", true, "start the history server; only with HDFS")
	f.BoolVar(&o.Timeline, "timeline", false, "start the timeline server")
	f.Var(settings(o.Site), "site", "`name=value` for yarn-site.xml; may be repeated")
	f.Var(settings(o.Mapred), "mapred", "`name=value` for mapred-site.xml; may be repeated")
	debug := f.String("debug", "", "comma-separated `loggers` at DEBUG; beats, ticks and places stand for those of the ResourceManager")
	return func(ctx context.Context) error {
		o.Dir = *dir
		o.History = o.History && o.HDFS
		b, err := queuesOf(*xml)
		if err != nil {
			return err
		}
		o.SchedulerXML = string(b)
		sets := map[string][]string{"": nil, "beats": hadoop.DebugBeats, "ticks": hadoop.DebugTicks, "places": hadoop.DebugPlace}
		for name := range strings.SplitSeq(*debug, ",") {
			set, ok := sets[name]
			if !ok {
				set = []string{name}
			}
			o.Debug = append(o.Debug, set...)
		}
		began := time.Now()
		c, err := hadoop.Up(ctx, o)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%6.1f s  up\n\n", time.Since(began).Seconds())
		addresses(out, c)
		fmt.Fprintf(out, "\ntake it down   go run ./studies lab down --dir %s\n", c.Dir)
		return nil
	}
}

// queuesOf reads a scheduler's file, if one is named.
func queuesOf(file string) ([]byte, error) {
	if file == "" {
		return nil, nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the queues: %w", err)
	}
	return b, nil
}

func addresses(out io.Writer, c *hadoop.Cluster) {
	for _, l := range [][2]string{
		{"version", "Hadoop " + c.Version + ", " + c.Scheduler}, {"ResourceManager", c.RM()}, {"history", c.History()},
		{"WebHDFS", c.NameNode()}, {"timeline", c.Timeline()}, {"configuration", c.Conf()}, {"logs", filepath.Join(c.Dir, "log")},
	} {
		if l[1] != "" {
			fmt.Fprintf(out, "%-16s %s\n", l[0], l[1])
		}
	}
	for _, n := range c.Nodes {
		fmt.Fprintf(out, "%-16s %s  %s\n", n.Name, n.URL, n.Rack)
	}
}

func status(f *flag.FlagSet, out io.Writer) action {
	dir := runFolder(f, "run")
	return func(ctx context.Context) error {
		list, err := hadoop.Usages(*dir)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			fmt.Fprintf(out, "nothing is up in %s\n", *dir)
			return nil
		}
		fmt.Fprintf(out, "%-18s %8s %10s %10s %10s\n", "process", "pid", "up", "memory", "cpu")
		var total int64
		for _, u := range list {
			if !u.Running {
				fmt.Fprintf(out, "%-18s %8s   has ended; see %s\n", u.Name, "-", proc.Log(*dir, u.Name))
				continue
			}
			total += u.RSS
			fmt.Fprintf(out, "%-18s %8d %8.0f s %6d MiB %8.1f s\n", u.Name, u.PID, time.Since(u.At).Seconds(), u.RSS>>20, u.CPU.Seconds())
		}
		fmt.Fprintf(out, "%-18s %8s %10s %6d MiB\n\n", "together", "", "", total>>20)
		c, err := hadoop.Open(ctx, *dir)
		if errors.Is(err, fs.ErrNotExist) { // not Hadoop daemons
			return nil
		}
		if err != nil {
			return err
		}
		addresses(out, c)
		return nil
	}
}

func down(f *flag.FlagSet, out io.Writer) action {
	dir := runFolder(f, "run")
	clean := f.Bool("clean", false, "remove the run folder too")
	return func(ctx context.Context) error {
		began := time.Now()
		n, err := hadoop.Down(*dir)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%6.1f s  %d processes ended\n", time.Since(began).Seconds(), n)
		if *clean {
			return os.RemoveAll(*dir)
		}
		return nil
	}
}

func fetchHadoop(f *flag.FlagSet, out io.Writer) action {
	version := f.String("version", hadoop.Default, "of Hadoop: "+strings.Join(hadoop.Versions(), " or "))
	return func(ctx context.Context) error {
		began := time.Now()
		lib, err := hadoop.Fetch(ctx, *version, out)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%6.1f s  %s\n", time.Since(began).Seconds(), lib)
		return nil
	}
}

func fetchSpark(_ *flag.FlagSet, out io.Writer) action {
	return func(ctx context.Context) error {
		began := time.Now()
		jars, err := spark.Fetch(ctx, out)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%6.1f s  %s\n", time.Since(began).Seconds(), jars)
		return nil
	}
}

func ams(f *flag.FlagSet, out io.Writer) action {
	dir := runFolder(f, "run")
	file := f.String("workload", "", "the workload's `file`")
	var o hadoop.AMsOptions
	f.BoolVar(&o.Start, "start", false, "start a process in each container")
	f.DurationVar(&o.Heartbeat, "heartbeat", time.Second, "heartbeat interval of the AMs")
	return func(ctx context.Context) error {
		if *file == "" {
			return errors.New("unmanaged: --workload FILE is required")
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
			return fmt.Errorf("%w; bring one up with: go run ./studies lab up hadoop", err)
		}
		res, err := c.AMs(ctx, apps, o)
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
}

func upSLS(f *flag.FlagSet, out io.Writer) action {
	dir := runFolder(f, "run-sls")
	nodes := f.Int("nodes", 500, "simulated nodes of 10 GB and 10 vcores, 25 in a rack")
	jobs := f.Int("jobs", 0, "jobs to run, in the queues prod, batch and adhoc")
	over := f.Duration("over", 10*time.Minute, "period over which they are submitted")
	fair := f.Bool("fair", false, "use the FairScheduler")
	queues := f.String("queues", "", "`file` with capacity-scheduler.xml or fair-scheduler.xml (default: prod, batch, adhoc)")
	heap := f.Int("heap", 768, "heap of the JVM, in MB")
	return func(ctx context.Context) error {
		o := conform.Live(*nodes, *jobs, *over, *fair)
		o.Dir, o.HeapMB, o.Log = *dir, *heap, out
		b, err := queuesOf(*queues)
		switch {
		case err != nil:
			return err
		case b != nil && *fair:
			o.Fair = b
		case b != nil:
			o.Capacity = b
		}
		began := time.Now()
		live, err := sls.Up(ctx, o)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%6.1f s  up\n\nResourceManager  %s\ntake it down     go run ./studies lab down --dir %s\n", time.Since(began).Seconds(), live.URL, live.Dir)
		return nil
	}
}
