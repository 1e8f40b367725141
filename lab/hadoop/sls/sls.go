// Package sls runs Hadoop's Scheduler Load Simulator: the real ResourceManager with its real scheduler in one JVM, nodes and
// application masters simulated by timers. It is the second truth, besides real daemons, that the simulator is held against:
// hundreds of nodes fit on a laptop, and everything that reaches the scheduler can be seen with its instant.
//
// SLS runs on the wall clock. A trace of two minutes takes two minutes, and what the computer does meanwhile shows: a
// heartbeat that comes 50 ms late may change who gets the next container. So a run is returned as a Record of every
// heartbeat, scheduling pass, call of a master, preemption round and container, together with how late heartbeats were.
//
// The stock runner of Hadoop 3.4 (SLSRunner) builds its ResourceManager without yarn-site.xml, cannot read its own traces,
// loses applications in races and may never exit. The few classes in java/ start it around all that. They subclass the
// schedulers to write one line for each event that reaches them, and change nothing about what they decide.
//
// A run is warmed up: the first seconds of a JVM are slow, so a trace should begin with a throw-away job at 0 and the jobs
// that count at 10 s or later.
package sls

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/lab/hadoop"
	"github.com/yardmaster/yardmaster/lab/proc"
)

//go:embed java/*.java
var sources embed.FS

// Options is one run.
type Options struct {
	Name  string // of the scenario; kept in the record
	Trace string // a fingerprint of what is run; kept in the record
	Jobs  []Job
	Racks []Rack
	// Capacity is a capacity-scheduler.xml, Fair a fair-scheduler.xml: give one.
	Capacity, Fair []byte
	Site           map[string]string // further properties of yarn-site.xml
	Heartbeat      time.Duration     // of nodes and masters; 0: 1 s
	Dir            string            // for configuration, log and output; must be empty or new
	HeapMB         int               // 0: 384
	Lib            string            // folder with Hadoop's jars; "": fetched
	// Limit ends a run that does not end by itself. 0: five minutes after the last submission, plus what the tasks take
	// one after another on one container of every node.
	Limit time.Duration
	Log   io.Writer // progress; nil: silent
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
	o.Heartbeat, o.HeapMB, o.Log, o.Limit = cmp.Or(o.Heartbeat, time.Second), cmp.Or(o.HeapMB, 384), cmp.Or(o.Log, io.Discard), cmp.Or(o.Limit, limit(o))
	return nil
}

func limit(o *Options) time.Duration {
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

// Run runs SLS to the end of all jobs and returns what happened. The JVM is gone when it returns, also on errors and when ctx
// ends. Applications that SLS lost are in Record.Lost; that is no error.
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
	rec := &Record{Scenario: o.Name, Trace: o.Trace, Hadoop: hadoop.Default, Scheduler: o.scheduler(), Beat: o.Heartbeat.Milliseconds()}
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
		return nil, fmt.Errorf("sls: %s: %w; its last words:\n%s", o.Name, err, lastWords(o.Dir))
	}
	rec.Machine.Wall, rec.Machine.Load, rec.Machine.LoadMax = wall.Seconds(), load.mean(), load.max
	if len(rec.Jobs) != len(o.Jobs) {
		return nil, fmt.Errorf("sls: %s: %d of %d jobs were submitted; its last words:\n%s", o.Name, len(rec.Jobs), len(o.Jobs), lastWords(o.Dir))
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

// start writes the run's files and starts the JVM; jobs is how many applications it waits for, 0: it stays.
func start(ctx context.Context, o *Options, jobs int) (*proc.Process, error) {
	java, err := hadoop.FindJava(ctx, hadoop.Default)
	if err != nil {
		return nil, err
	}
	if o.Lib == "" {
		if o.Lib, err = hadoop.Fetch(ctx, hadoop.Default, o.Log); err != nil {
			return nil, err
		}
	}
	if o.Dir, err = proc.Folder(o.Dir); err != nil {
		return nil, err
	}
	classes, err := hadoop.Classes(ctx, hadoop.Default, sources, "java")
	if err != nil {
		return nil, err
	}
	if err := o.write(); err != nil {
		return nil, fmt.Errorf("sls: writing the run's files: %w", err)
	}
	conf := filepath.Join(o.Dir, "conf")
	args := append(java.Options(o.HeapMB),
		"-Xms"+fmt.Sprint(o.HeapMB)+"m", "-Xss512k", "-Djava.io.tmpdir="+filepath.Join(o.Dir, "tmp"),
		fmt.Sprintf("-Dyard.jobs=%d", jobs), fmt.Sprintf("-Dyard.linger=%d", 3*o.Heartbeat.Milliseconds()/2),
		"-Dyard.log="+logFile(o.Dir), "-cp", strings.Join([]string{conf, classes, filepath.Join(o.Lib, "*")}, string(filepath.ListSeparator)), "yardmaster.Main",
		"-tracetype", "SLS", "-tracelocation", filepath.Join(o.Dir, "trace.json"), "-nodes", filepath.Join(o.Dir, "nodes.json"),
		"-output", filepath.Join(o.Dir, "out"))
	// It needs little of the processor, but at its instants: it goes before others where that is allowed. Its own priority
	// stays if not.
	path := java.Java
	if nice, err := exec.LookPath("nice"); err == nil {
		path, args = nice, append([]string{"-n", "-20", java.Java}, args...)
	}
	// HADOOP_CONF_DIR of the person who runs this must not reach it.
	return proc.Start(o.Dir, proc.Command{Name: process, Path: path, Args: args, Env: []string{"HADOOP_CONF_DIR=" + conf}})
}

// wait waits for the end and watches the computer's load.
func wait(ctx context.Context, o *Options, p *proc.Process) (load loads, err error) {
	limit := time.NewTimer(o.Limit)
	defer limit.Stop()
	every := time.NewTicker(2 * time.Second)
	defer every.Stop()
	for {
		select {
		case <-p.Done():
			if err := p.Err(); err != nil {
				return load, fmt.Errorf("sls: %s: the JVM ended: %w; its last words:\n%s", o.Name, err, lastWords(o.Dir))
			}
			return load, nil
		case <-every.C:
			load.sample()
		case <-limit.C:
			return load, fmt.Errorf("sls: %s did not end within %v; its last words:\n%s", o.Name, o.Limit, lastWords(o.Dir))
		case <-ctx.Done():
			return load, ctx.Err()
		}
	}
}

// lastWords is the end of what the JVM wrote besides its events.
func lastWords(dir string) string {
	b, err := os.ReadFile(proc.Log(dir, process))
	if err != nil || len(b) == 0 {
		return "(none)"
	}
	lines := bytes.Split(bytes.TrimSpace(b), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-15):], []byte("\n")))
}

var (
	//go:embed sls.conf
	settings string
	// log4j writes our events and the lives of containers to a file with milliseconds since the start of the JVM, and warnings
	// of everything else to the console.
	//go:embed log4j.properties
	log4j []byte
)

// write writes everything that the JVM reads.
func (o *Options) write() error {
	for _, d := range []string{"conf", "tmp", "out"} {
		if err := os.MkdirAll(filepath.Join(o.Dir, d), 0o755); err != nil {
			return err
		}
	}
	site, err := hadoop.Settings(settings, struct {
		*Options
		Pool int
	}{o, min(10+o.nodes()/10, 60)})
	if err != nil {
		return err
	}
	maps.Copy(site["yarn-site.xml"], o.Site)
	files := map[string][]byte{"conf/log4j.properties": log4j, "conf/capacity-scheduler.xml": o.Capacity}
	if o.Fair != nil {
		files = map[string][]byte{"conf/log4j.properties": log4j, "conf/fair-scheduler.xml": o.Fair}
	}
	for name, m := range site {
		files["conf/"+name] = []byte(hadoop.Properties("", m))
	}
	var trace, nodes bytes.Buffer
	if err := WriteTrace(&trace, o.Jobs); err != nil {
		return err
	}
	if err := WriteNodes(&nodes, o.Racks); err != nil {
		return err
	}
	files["trace.json"], files["nodes.json"] = trace.Bytes(), nodes.Bytes()
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(o.Dir, name), b, 0o644); err != nil {
			return err
		}
	}
	return nil
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

// Up starts SLS and leaves it running until Down, from this process or another. The jobs of the trace run from then on; none
// are needed. Applications that come over REST get a container for their master and nothing is run in it. Unless Site says
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
		port, err = webPort(logFile(o.Dir))
		select {
		case <-p.Done():
			err = fmt.Errorf("the JVM ended: %w", cmp.Or(p.Err(), errors.New("without an error")))
		default:
		}
		return port != "" || err != nil
	})
	if port == "" || err != nil {
		err = cmp.Or(err, ctx.Err(), errors.New("not up after three minutes"))
		return nil, errors.Join(fmt.Errorf("sls: %w; its last words:\n%s", err, lastWords(o.Dir)), Down(o.Dir))
	}
	return &Live{URL: "http://127.0.0.1:" + port, Dir: o.Dir}, nil
}

// Down ends what runs in a folder.
func Down(dir string) error {
	_, err := proc.Down(dir, 0)
	return err
}

// webPort finds where the RM answers REST; it is written when everything is up, and empty before.
func webPort(log string) (string, error) {
	b, err := os.ReadFile(log)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if f := webPorts.FindSubmatch(b); f != nil {
		return string(f[1]), err
	}
	return "", err
}

var webPorts = regexp.MustCompile(`(?m) y web (\d+)$`)

// loads samples how busy the computer is.
type loads struct {
	sum, max float64
	n        int
}

// sample takes the number of runnable threads of the whole computer (fourth field of /proc/loadavg), this one apart: the
// averages of the kernel look a minute back, too far for a run of two.
func (l *loads) sample() {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return
	}
	f := strings.Fields(string(b))
	if len(f) < 4 {
		return
	}
	running, _, _ := strings.Cut(f[3], "/")
	n, err := strconv.Atoi(running)
	if err != nil {
		return
	}
	v := float64(max(n-1, 0))
	l.sum, l.max, l.n = l.sum+v, max(l.max, v), l.n+1
}

func (l *loads) mean() float64 {
	if l.n == 0 {
		return 0
	}
	return l.sum / float64(l.n)
}
