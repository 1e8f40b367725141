// Package hadoop runs real Hadoop daemons on this machine, for tests and for measurements: a ResourceManager with the
// Capacity or the Fair scheduler, NodeManagers in two racks, and, if wanted, HDFS, the history server and the timeline server.
//
// Nothing is mocked. The jars are those that Apache publishes, fetched by Maven (Fetch); each daemon is a separate process
// with a small heap (Up); applications are real ones: MapReduce jobs (Cluster.Jobs), and unmanaged
// AMs, many in one JVM, that request containers, hold them and release them (Cluster.AMs). The
// ResourceManager's decisions are in its log; package rmlog parses it.
//
// # How many nodes share one machine
//
// Node i has the loopback address 127.0.0.(i+2). All daemons read one configuration folder; nodes differ in their
// address, which Hadoop's Configuration takes from the environment. Ports are chosen by the kernel, free on every address,
// so that labs can run beside one another; if another process takes one before the daemon does, Up starts over.
//
// # Ending
//
// Everything runs under package proc: recorded by process id and start time, marked by the run folder, and ended by Down, from
// any process, even if the one that brought it up is gone.
package hadoop

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/yardmaster/yardmaster/studies/lab/host"
	"github.com/yardmaster/yardmaster/studies/lab/proc"
)

// Up brings a lab up and returns when all of it answers. On failure everything started is taken down again; the logs
// stay. A folder with a lab that is still up is refused; the remains of a crashed one are taken down first.
func Up(ctx context.Context, o Options) (*Cluster, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	fresh, err := newCluster(ctx, o.Dir, o.Version, o.Log)
	if err != nil {
		return nil, err
	}
	fresh.Scheduler, fresh.javaOptions = o.Scheduler, o.JavaOptions
	if r, err := proc.Find(fresh.Dir, o.RMs[0]); err == nil && r.Alive() {
		return nil, fmt.Errorf("there is a lab up in %s; take it down first", fresh.Dir)
	}
	if err := fresh.Down(); err != nil { // remains of a crash
		return nil, err
	}
	// Another process may take a port between our choice and the daemon's start. Then start over.
	const attempts = 3
	for i := 1; ; i++ {
		c := *fresh
		err := c.up(ctx, o)
		if err == nil {
			return &c, nil
		}
		if e := c.Down(); e != nil {
			return nil, errors.Join(err, e)
		}
		if i == attempts || !errors.Is(err, errPortTaken) {
			return nil, err
		}
		fmt.Fprintln(o.Log, "a port was taken in the meantime; once more with other ports")
	}
}

// UpIn brings a lab up in work, which is kept, or else in a temporary folder; down takes it down.
func UpIn(ctx context.Context, work string, o Options) (c *Cluster, down func(), err error) {
	dir, clean, err := host.Folder(work, "lab")
	if err != nil {
		return nil, nil, err
	}
	o.Dir = dir
	c, err = Up(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	return c, func() {
		if err := c.Down(); err != nil {
			c.Say("taking the lab down: %v", err)
			return
		}
		clean()
	}, nil
}

func (c *Cluster) up(ctx context.Context, o Options) error {
	var err error
	if c.Ports, err = freePorts(o.Ports...); err != nil {
		return err
	}
	c.began = time.Now()
	if o.Prepare != nil {
		if err := o.Prepare(ctx, c); err != nil {
			return err
		}
	}
	if err := writeConf(o, c.Dir, c.Lib, c.Ports); err != nil {
		return err
	}
	if port := c.Ports["zookeeper"]; port > 0 {
		if err := c.ZooKeeper(ctx, port); err != nil {
			return err
		}
	}
	c.plan(o)
	if err := c.save(); err != nil {
		return fmt.Errorf("bringing the lab up: %w", err)
	}
	await := func(d daemon) error { return c.await(ctx, d) }
	active := func(d daemon) error { return c.WaitNodes(ctx, len(c.Nodes)) }
	format := func(daemon) error { return c.format(ctx) }
	prepare := func(daemon) error { return c.prepareHDFS(ctx) }
	for _, step := range []struct {
		role string // roles that the lab does not have are skipped
		do   func(daemon) error
	}{
		{"resourcemanager", c.start}, {"namenode", format}, {"namenode", c.start}, {"timeline", c.start}, {"namenode", await}, {"datanode", c.start}, {"resourcemanager", await},
		{"nodemanager", c.start}, {"datanode", await}, {"namenode", prepare}, {"historyserver", c.start}, {"nodemanager", await}, {"resourcemanager", active},
		{"historyserver", await}, {"timeline", await},
	} {
		for _, d := range c.Daemons {
			if d.Role == step.role {
				if err := step.do(d); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// plan lists the daemons and nodes.
func (c *Cluster) plan(o Options) {
	add := func(role, name, class string, heap int, host, port, path string) (url string) {
		url = fmt.Sprintf("http://%s:%d", host, c.Ports[port])
		c.Daemons = append(c.Daemons, daemon{role, name, class, heap, host, url + path})
		return url
	}
	if o.HDFS {
		const path = "/jmx?qry=java.lang:type=Runtime"
		add("namenode", "namenode", "org.apache.hadoop.hdfs.server.namenode.NameNode", 256, loopback, "namenode-web", path)
		add("datanode", "datanode", "org.apache.hadoop.hdfs.server.datanode.DataNode", 192, address(0), "datanode-web", path)
	}
	if o.Timeline {
		add("timeline", "timeline", "org.apache.hadoop.yarn.server.applicationhistoryservice.ApplicationHistoryServer", 256, loopback, "timeline-web", "/ws/v1/applicationhistory/about")
	}
	for _, name := range o.RMs {
		add("resourcemanager", name, rmPackage+"ResourceManager", o.RMHeapMB, loopback, webPort(name), "/ws/v1/cluster/info")
	}
	for i := range o.Nodes {
		name := fmt.Sprintf("nodemanager-%d", i+1)
		url := add("nodemanager", name, "org.apache.hadoop.yarn.server.nodemanager.NodeManager", o.NMHeapMB, address(i), "nm-web", "/ws/v1/node/info")
		c.Nodes = append(c.Nodes, Node{Name: name, ID: fmt.Sprintf("%s:%d", address(i), c.Ports["nm"]), Rack: rack(i, o.Nodes), URL: url})
	}
	if o.History {
		add("historyserver", "historyserver", "org.apache.hadoop.mapreduce.v2.hs.JobHistoryServer", 256, loopback, "history-web", "/ws/v1/history/info")
	}
}

// format creates an empty file system, unless the folder has one from an earlier run.
func (c *Cluster) format(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(c.Dir, "nn", "current")); err == nil {
		return nil
	}
	cmd := c.Java(ctx, 128, "org.apache.hadoop.hdfs.server.namenode.NameNode", "-format", "-nonInteractive", "-force")
	out, err := cmd.CombinedOutput()
	if e := os.WriteFile(proc.Log(c.Dir, "format"), out, 0o644); e != nil && err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("formatting the NameNode: %w; its last lines:\n%s", err, LastLines(string(out), 12))
	}
	return nil
}

// Options say what to bring up. The zero value of a field is its default.
type Options struct {
	Version string // of Hadoop; Default
	Dir     string // run folder: configuration, logs, records, data; must be given

	Scheduler    string // "capacity" (default) or "fair"
	SchedulerXML string // capacity-scheduler.xml or fair-scheduler.xml; default: the queues prod, batch and adhoc
	ConfStore    string // where the CapacityScheduler keeps its configuration: memory (default), file, fs, leveldb, zk

	Nodes      int           // NodeManagers; 3. The first half is in /rack-a, the rest in /rack-b
	NodeMB     int           // memory of each; 8192
	NodeVcores int           // 32
	Heartbeat  time.Duration // of the NodeManagers; 1 s

	HDFS     bool // a NameNode and a DataNode; MapReduce needs it
	History  bool // the history server of MapReduce; brings HDFS with it
	Timeline bool // the timeline server, which keeps every container's times

	Site, Mapred map[string]string // override the lab's settings: yarn-site.xml and mapred-site.xml

	Debug    []string // loggers (classes or packages) at DEBUG, in every daemon
	RMHeapMB int      // the ResourceManager's heap; 512
	NMHeapMB int      // a NodeManager's heap; 256

	// For special clusters: several ResourceManagers, Kerberos.
	RMs         []string                                    // processes and YARN's ids of the ResourceManagers; "resourcemanager". Each has its name in YARDMASTER_RM
	Ports       []string                                    // names of further ports; "zookeeper" also starts one
	Over        string                                      // template of settings (see Settings) that override the lab's; it gets the ports and With
	With        any                                         // for Over
	JavaOptions []string                                    // of every daemon, besides those that limit its size
	Prepare     func(ctx context.Context, c *Cluster) error `json:"-"` // called before the configuration is written

	Log io.Writer // progress; may be nil
}

// Loggers that, at DEBUG, make the ResourceManager log every heartbeat of a node and call of an AM, and the node of each
// container; see package rmlog.
var (
	DebugBeats = []string{rmPackage + "rmnode.RMNodeImpl", rmPackage + "scheduler.AbstractYarnScheduler"}
	DebugTicks = []string{rmPackage + "rmapp.attempt.RMAppAttemptImpl"}
	DebugPlace = []string{rmPackage + "scheduler.common.fica.FiCaSchedulerApp", rmPackage + "scheduler.fair.FSAppAttempt",
		rmPackage + "scheduler.fair.FSSchedulerNode"}
)

const rmPackage = "org.apache.hadoop.yarn.server.resourcemanager."

// maxNodes is the maximum number of loopback addresses; a machine is full long before.
const maxNodes = 200

// complete fills in the defaults and validates.
func (o Options) complete() (Options, error) {
	o.Version, o.Scheduler, o.Heartbeat, o.Log = cmp.Or(o.Version, Default), cmp.Or(o.Scheduler, "capacity"), cmp.Or(o.Heartbeat, time.Second), cmp.Or(o.Log, io.Discard)
	o.Nodes, o.NodeMB, o.NodeVcores = cmp.Or(o.Nodes, 3), cmp.Or(o.NodeMB, 8192), cmp.Or(o.NodeVcores, 32)
	o.RMHeapMB, o.NMHeapMB = cmp.Or(o.RMHeapMB, 512), cmp.Or(o.NMHeapMB, 256)
	o.HDFS = o.HDFS || o.History
	if o.RMs == nil {
		o.RMs = []string{"resourcemanager"}
	}
	switch o.Scheduler {
	case "capacity":
		o.ConfStore, o.SchedulerXML = cmp.Or(o.ConfStore, "memory"), cmp.Or(o.SchedulerXML, capacityXML)
	case "fair":
		if o.ConfStore != "" && o.ConfStore != "file" {
			return o, errors.New("the FairScheduler reads its configuration from a file only; leave the store out")
		}
		o.ConfStore, o.SchedulerXML = "file", cmp.Or(o.SchedulerXML, fairXML)
	default:
		return o, fmt.Errorf("unknown scheduler %q; choose capacity or fair", o.Scheduler)
	}
	stores := []string{"memory", "file", "fs", "leveldb", "zk"}
	switch {
	case o.Dir == "":
		return o, errors.New("a lab needs a run folder")
	case strings.ContainsAny(o.Dir, ":,; \t\n*"):
		return o, fmt.Errorf("the run folder %q has a character that Java's class path does not allow; choose another", o.Dir)
	case !slices.Contains(stores, o.ConfStore):
		return o, fmt.Errorf("unknown configuration store %q; choose one of %s", o.ConfStore, strings.Join(stores, ", "))
	case o.Nodes < 1 || o.Nodes > maxNodes:
		return o, fmt.Errorf("%d nodes: want 1 to %d", o.Nodes, maxNodes)
	case o.Heartbeat < 10*time.Millisecond:
		return o, fmt.Errorf("a heartbeat of %v is shorter than 10 ms", o.Heartbeat)
	case o.NodeMB < 1 || o.NodeVcores < 1:
		return o, errors.New("a node needs memory and a vcore")
	}
	return o, nil
}

// userName is the account of the daemons, which makes it the superuser of HDFS and an administrator of YARN.
func userName() string {
	u, err := user.Current()
	if err != nil {
		return "yardmaster" // Hadoop gets the same name, so that the two agree
	}
	return u.Username
}

var (
	//go:embed files/capacity-scheduler.xml
	capacityXML string
	//go:embed files/fair-scheduler.xml
	fairXML string
	//go:embed files/log4j.properties
	log4j string
	//go:embed files/site.conf
	siteText string
	//go:embed files/zoo.cfg
	zooKeeperText string

	// TwoQueues is a capacity-scheduler.xml with the queues prod and batch, administered only by YARN's administrators.
	//go:embed files/two-queues.xml
	TwoQueues string
)

const (
	hostVariable = "YARDMASTER_HOST" // carries a daemon's address; Configuration substitutes it in the settings
	loopback     = "127.0.0.1"
)

// address is the address of node i.
func address(i int) string { return fmt.Sprintf("127.0.0.%d", i+2) }

// rack is the rack of node i of n: one for the first half, one for the rest.
func rack(i, n int) string {
	if i < (n+1)/2 {
		return "/rack-a"
	}
	return "/rack-b"
}

// writeConf writes the configuration folder.
func writeConf(o Options, dir, lib string, p ports) error {
	conf := filepath.Join(dir, "conf")
	var table, loggers strings.Builder
	for i := range o.Nodes {
		fmt.Fprintf(&table, "%s %s\n", address(i), rack(i, o.Nodes))
	}
	for _, l := range o.Debug {
		fmt.Fprintf(&loggers, "log4j.logger.%s=DEBUG\n", l)
	}
	class := rmPackage + "scheduler.capacity.CapacityScheduler"
	if o.Scheduler == "fair" {
		class = rmPackage + "scheduler.fair.FairScheduler"
	}
	site, err := Settings(siteText, struct {
		Options
		ports
		Dir, Lib, Class, User string
	}{o, p, dir, lib, class, userName()})
	if err != nil {
		return err
	}
	over, err := Settings(o.Over, struct {
		ports
		With any
	}{p, o.With})
	if err != nil {
		return err
	}
	files := map[string]string{"log4j.properties": log4j + loggers.String(), "topology.table": table.String()}
	for name, more := range map[string]map[string]string{"core-site.xml": nil, "yarn-site.xml": o.Site, "hdfs-site.xml": nil, "mapred-site.xml": o.Mapred} {
		maps.Copy(site[name], over[name])
		maps.Copy(site[name], more)
		files[name] = Properties("", site[name])
	}
	files[o.Scheduler+"-scheduler.xml"] = o.SchedulerXML
	// Maven's hadoop-hdfs has no web pages, and its daemons do not start without the folders. Their REST is not in there.
	for _, w := range []string{"hdfs", "datanode", "secondary"} {
		files["webapps/"+w+"/WEB-INF/web.xml"] = `<web-app version="2.4" xmlns="http://java.sun.com/xml/ns/j2ee"/>` + "\n"
	}
	return WriteFiles(conf, files)
}

// WriteFiles writes files into a folder.
func WriteFiles(dir string, files map[string]string) error {
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("writing the lab's configuration: %w", err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return fmt.Errorf("writing the lab's configuration: %w", err)
		}
	}
	return nil
}

// Settings executes a template and returns its settings by file: "[FILE]" begins a file, any other line is a name and a value.
func Settings(text string, data any) (map[string]map[string]string, error) {
	t, err := template.New("settings").Option("missingkey=error").Parse(text)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		return nil, err
	}
	all, file := map[string]map[string]string{}, ""
	for line := range strings.Lines(b.String()) {
		name, value, _ := strings.Cut(strings.TrimRight(line, "\n"), " ")
		switch {
		case name == "" || name[0] == '#':
		case name[0] == '[':
			file = strings.Trim(name, "[]")
			all[file] = map[string]string{}
		default:
			all[file][name] = value
		}
	}
	return all, nil
}

// Properties writes settings as Hadoop XML, sorted by name, with prefix before each name.
func Properties(prefix string, m map[string]string) string {
	var b bytes.Buffer
	b.WriteString("<?xml version=\"1.0\"?>\n<configuration>\n")
	for _, k := range slices.Sorted(maps.Keys(m)) {
		b.WriteString("  <property><name>")
		_ = xml.EscapeText(&b, []byte(prefix+k)) // a Buffer never fails
		b.WriteString("</name><value>")
		_ = xml.EscapeText(&b, []byte(m[k]))
		b.WriteString("</value></property>\n")
	}
	b.WriteString("</configuration>\n")
	return b.String()
}

// portNames are all ports of a configuration. Nodes use the same number on different addresses.
var portNames = []string{"rm-client", "rm-scheduler", "rm-tracker", "rm-admin", "rm-web", "nm", "nm-localizer", "nm-web",
	"nm-collector", "namenode-rpc", "namenode-web", "datanode", "datanode-web", "datanode-ipc", "history-rpc", "history-admin",
	"history-web", "timeline-rpc", "timeline-web"}

type ports map[string]int

// freePorts finds a port for each name.
func freePorts(more ...string) (ports, error) {
	names := slices.Concat(portNames, more)
	list, err := Ports(len(names))
	p := ports{}
	for i := range list {
		p[names[i]] = list[i]
	}
	return p, err
}

// Ports finds n different ports that are free on every address. They are below those that the kernel gives to outgoing
// connections, so that no client takes one before its daemon listens.
func Ports(n int) (list []int, err error) {
	const first, last, attempts = 10240, 32768, 1000
	for range attempts {
		if len(list) == n {
			return list, nil
		}
		l, err := net.Listen("tcp4", fmt.Sprintf("0.0.0.0:%d", first+rand.IntN(last-first)))
		if err != nil {
			continue // in use
		}
		defer func() { _ = l.Close() }() // all stay open until the last is found
		list = append(list, l.Addr().(*net.TCPAddr).Port)
	}
	return nil, fmt.Errorf("finding %d free ports: found %d in %d attempts", n, len(list), attempts)
}

// At is a port on the loopback address, Local the same by host name, as Kerberos needs it, Here one on the address of the node that reads it.
func (p ports) At(name string) string    { return net.JoinHostPort(loopback, strconv.Itoa(p[name])) }
func (p ports) Local(name string) string { return "localhost:" + strconv.Itoa(p[name]) }
func (p ports) Here(name string) string {
	return "${env." + hostVariable + ":-" + loopback + "}:" + strconv.Itoa(p[name])
}
