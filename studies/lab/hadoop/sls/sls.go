// Package sls runs Hadoop's Scheduler Load Simulator: the real ResourceManager with its real scheduler in one JVM, nodes and
// AMs simulated by timers. It is the second reference for the simulator, besides real daemons:
// hundreds of nodes fit on a laptop, and every event that reaches the scheduler is logged with its instant.
//
// SLS runs on the wall clock. A trace of two minutes takes two minutes, and other load on the computer shows: a
// heartbeat that comes 50 ms late may change who gets the next container. So a run is returned as a Record of every
// heartbeat, scheduling pass, AM call, preemption round and container, together with how late heartbeats were.
//
// The stock runner of Hadoop 3.4 (SLSRunner) builds its ResourceManager without yarn-site.xml, cannot read its own traces,
// loses applications in races and may never exit. The few classes in java/ work around all that. They subclass the
// schedulers to write one line for each event that reaches them, and do not change their decisions.
//
// The first seconds of a JVM are slow, so a trace should begin with a throw-away warm-up job at 0 and the jobs
// that count at 10 s or later.
package sls

import (
	"cmp"
	"context"
	"embed"
	_ "embed"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/studies/lab/host"
	"github.com/yardmaster/yardmaster/studies/lab/proc"
)

//go:embed java/*.java
var sources embed.FS

// Options configure one run.
type Options struct {
	Name  string // of the scenario; kept in the record
	Jobs  []Job
	Racks []Rack
	// Capacity is a capacity-scheduler.xml, Fair a fair-scheduler.xml: exactly one is required.
	Capacity, Fair []byte
	Site           map[string]string // further properties of yarn-site.xml
	Dir            string            // for configuration, log and output; must be empty or new
	HeapMB         int               // 0: 384
	Log            io.Writer         // progress; nil: silent
}

// beat is how often nodes and AMs call, in ms.
const beat = 1000

// Digest is a fingerprint of a run's input; it is stored in the record.
func (o *Options) Digest() string {
	h := fnv.New64a()
	_ = WriteTrace(h, o.Jobs) // a hash does not fail
	_ = WriteNodes(h, o.Racks)
	_, _ = h.Write(o.Capacity)
	_, _ = h.Write(o.Fair)
	_, _ = io.WriteString(h, hadoop.Properties("", o.Site))
	return fmt.Sprintf("%016x", h.Sum64())
}

func (o *Options) withDefaults(ends bool) error {
	if ends && len(o.Jobs) == 0 || len(o.Racks) == 0 {
		return fmt.Errorf("sls: a run needs jobs and nodes")
	}
	if (o.Capacity == nil) == (o.Fair == nil) {
		return fmt.Errorf("sls: give either a capacity-scheduler.xml or a fair-scheduler.xml")
	}
	if o.Dir == "" {
		return fmt.Errorf("sls: a run needs a folder")
	}
	o.HeapMB = cmp.Or(o.HeapMB, 384)
	return nil
}

// limit is the timeout of a run: five minutes after the last submission, plus the time of all tasks run sequentially on
// one container per node.
func (o *Options) limit() time.Duration {
	var last, work int64
	for i := range o.Jobs {
		last = max(last, o.Jobs[i].Start)
		for _, t := range o.Jobs[i].Tasks {
			work += t.Duration * max(t.Count, 1)
		}
	}
	return 5*time.Minute + time.Duration(last+work/int64(max(o.nodes(), 1)))*time.Millisecond
}

// process is the name under which the JVM is recorded in the run's folder.
const process = "sls"

// Run runs SLS to the end of all jobs and returns the record. The JVM has ended when it returns, also on errors and when ctx
// ends. Applications that SLS lost are in Record.Lost; that is not an error.
func Run(ctx context.Context, o Options) (*Record, error) {
	if err := o.withDefaults(true); err != nil {
		return nil, err
	}
	began := time.Now()
	p, err := start(ctx, &o, len(o.Jobs))
	if err != nil {
		return nil, err
	}
	defer func() { _, _ = proc.Down(o.Dir, 0) }()
	load, err := wait(ctx, &o, p)
	if err != nil {
		return nil, err
	}
	wall := time.Since(began)
	rec := &Record{Scenario: o.Name, Trace: o.Digest(), Hadoop: hadoop.Default, Scheduler: o.scheduler(), Beat: beat}
	for i := range o.Racks {
		for _, n := range o.Racks[i].Nodes {
			rec.Nodes = append(rec.Nodes, NodeRecord{Name: n.Name, Rack: o.Racks[i].Name, Phase: -1})
		}
	}
	f, err := os.Open(logFile(o.Dir))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := parse(f, rec); err != nil {
		return nil, fmt.Errorf("sls: %s: %w; the end of its output:\n%s", o.Name, err, lastOutput(o.Dir))
	}
	rec.Machine.Wall, rec.Machine.Load, rec.Machine.LoadMax = wall.Seconds(), result.Mean(load).Mean, slices.Max(load)
	if len(rec.Jobs) != len(o.Jobs) {
		return nil, fmt.Errorf("sls: %s: %d of %d jobs were submitted; the end of its output:\n%s", o.Name, len(rec.Jobs), len(o.Jobs), lastOutput(o.Dir))
	}
	return rec, nil
}

func (o *Options) scheduler() string {
	if o.Fair != nil {
		return "fair"
	}
	return "capacity"
}

func logFile(dir string) string { return filepath.Join(dir, "events.log") }

// start writes the run's files and starts the JVM; jobs is how many applications it waits for, 0: it keeps running. The JVM needs little
// CPU, but on time.
func start(ctx context.Context, o *Options, jobs int) (*proc.Process, error) {
	c, err := hadoop.Clients(ctx, o.Dir, o.Log)
	if err != nil {
		return nil, err
	}
	o.Dir = c.Dir
	classes, err := hadoop.Classes(ctx, hadoop.Default, sources, "java")
	if err != nil {
		return nil, err
	}
	if err := o.write(); err != nil {
		return nil, fmt.Errorf("sls: writing the run's files: %w", err)
	}
	in := func(name string) string { return filepath.Join(o.Dir, name) }
	return c.Start(hadoop.JVM{
		Name: process, HeapMB: o.HeapMB, First: true, Classes: classes, Main: "yardmaster.Main",
		Options: []string{
			fmt.Sprintf("-Xms%dm", o.HeapMB), "-Xss512k", "-Djava.io.tmpdir=" + in("tmp"), fmt.Sprintf("-Dyard.jobs=%d", jobs),
			fmt.Sprintf("-Dyard.linger=%d", 3*beat/2), "-Dyard.log=" + logFile(o.Dir),
		},
		Args: []string{"-tracetype", "SLS", "-tracelocation", in("trace.json"), "-nodes", in("nodes.json"), "-output", in("out")},
	})
}

// wait waits for the end and samples the number of other runnable threads on the computer: the kernel's averages span a minute,
// too long for a run of two.
func wait(ctx context.Context, o *Options, p *proc.Process) (load []float64, err error) {
	limit := time.NewTimer(o.limit())
	defer limit.Stop()
	every := time.NewTicker(2 * time.Second)
	defer every.Stop()
	for {
		load = append(load, max(host.LoadAverage(host.Now)-1, 0))
		select {
		case <-p.Done():
			if err := p.Err(); err != nil {
				return load, fmt.Errorf("sls: %s: the JVM ended: %w; the end of its output:\n%s", o.Name, err, lastOutput(o.Dir))
			}
			return load, nil
		case <-every.C:
		case <-limit.C:
			return load, fmt.Errorf("sls: %s did not end within %v; the end of its output:\n%s", o.Name, o.limit(), lastOutput(o.Dir))
		case <-ctx.Done():
			return load, ctx.Err()
		}
	}
}

// lastOutput is the end of the JVM's output other than its events.
func lastOutput(dir string) string {
	b, _ := os.ReadFile(proc.Log(dir, process)) // not there: no output
	return cmp.Or(hadoop.LastLines(string(b), 15), "(none)")
}

var (
	//go:embed sls.conf
	settings string
	// log4j writes our events and container transitions to a file with milliseconds since the start of the JVM, and warnings
	// of everything else to the console.
	//go:embed log4j.properties
	log4j string
)

// write writes everything that the JVM reads.
func (o *Options) write() error {
	for _, d := range []string{"tmp", "out"} {
		if err := os.MkdirAll(filepath.Join(o.Dir, d), 0o755); err != nil {
			return err
		}
	}
	site, err := hadoop.Settings(settings, struct {
		*Options
		Beat, Pool int
	}{o, beat, min(10+o.nodes()/10, 60)})
	if err != nil {
		return err
	}
	maps.Copy(site["yarn-site.xml"], o.Site)
	files := map[string]string{"conf/log4j.properties": log4j, "conf/" + o.scheduler() + "-scheduler.xml": string(slices.Concat(o.Capacity, o.Fair))}
	for name, m := range site {
		files["conf/"+name] = hadoop.Properties("", m)
	}
	var trace, nodes strings.Builder
	if err := errors.Join(WriteTrace(&trace, o.Jobs), WriteNodes(&nodes, o.Racks)); err != nil {
		return err
	}
	files["trace.json"], files["nodes.json"] = trace.String(), nodes.String()
	return hadoop.WriteFiles(o.Dir, files)
}

// nodes counts the nodes.
func (o *Options) nodes() (n int) {
	for i := range o.Racks {
		n += len(o.Racks[i].Nodes)
	}
	return n
}

// Live is a running SLS: a ResourceManager with many simulated nodes that answers REST.
type Live struct {
	URL string // http://127.0.0.1:PORT
	Dir string
}

// Up starts SLS and leaves it running until Down, from this process or another. The jobs of the trace run from then on; the trace may be
// empty. Applications submitted over REST get a container for their AM and nothing runs in it. Unless Site says
// otherwise the queues can be changed over REST (their configuration is kept in memory).
func Up(ctx context.Context, o Options) (*Live, error) {
	if err := o.withDefaults(false); err != nil {
		return nil, err
	}
	site := map[string]string{"yarn.scheduler.configuration.store.class": "memory"}
	maps.Copy(site, o.Site)
	o.Site = site
	p, err := start(ctx, &o, 0)
	if err != nil {
		return nil, err
	}
	port := ""
	proc.Await(ctx, 3*time.Minute, 200*time.Millisecond, func() bool {
		b, _ := os.ReadFile(logFile(o.Dir)) // not there yet
		if f := webPort.FindSubmatch(b); f != nil {
			port = string(f[1])
		}
		select {
		case <-p.Done():
			err = fmt.Errorf("the JVM ended: %w", cmp.Or(p.Err(), errors.New("without an error")))
		default:
		}
		return port != "" || err != nil
	})
	if port == "" || err != nil {
		err = cmp.Or(err, ctx.Err(), errors.New("not up after three minutes"))
		return nil, errors.Join(fmt.Errorf("sls: %w; the end of its output:\n%s", err, lastOutput(o.Dir)), Down(o.Dir))
	}
	return &Live{URL: "http://127.0.0.1:" + port, Dir: o.Dir}, nil
}

// Down ends what runs in a folder.
func Down(dir string) error {
	_, err := proc.Down(dir, 0)
	return err
}

// webPort is the RM's REST port; it is written when everything is up.
var webPort = regexp.MustCompile(`(?m) y web (\d+)$`)
