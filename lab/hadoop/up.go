package hadoop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/lab/proc"
)

// Up brings a lab up and returns when all of it answers. If something fails, what was started is taken down again; the logs
// stay. A folder that holds a lab which is still up is refused; what a crashed one has left is taken down first.
func Up(ctx context.Context, o Options) (*Cluster, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	lib, err := Fetch(ctx, o.Version, o.Log)
	if err != nil {
		return nil, err
	}
	java, err := FindJava(ctx, o.Version)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(o.Dir, "log"), 0o755); err != nil {
		return nil, fmt.Errorf("bringing the lab up: %w", err)
	}
	dir, err := proc.Folder(o.Dir)
	if err != nil {
		return nil, err
	}
	if r, err := proc.Find(dir, "resourcemanager"); err == nil && r.Alive() {
		return nil, fmt.Errorf("there is a lab up in %s; take it down first", dir)
	}
	if _, err := Down(dir); err != nil { // what a crash has left
		return nil, err
	}
	// A port may be taken by somebody else between our choice and the daemon's start. Then all is begun anew.
	const attempts = 3
	for i := 1; ; i++ {
		c := &Cluster{Dir: dir, Version: o.Version, Scheduler: o.Scheduler, Lib: lib, java: java}
		err := c.up(ctx, o)
		if err == nil {
			return c, nil
		}
		if _, e := Down(dir); e != nil {
			return nil, errors.Join(err, e)
		}
		if i == attempts || !errors.Is(err, errPortTaken) {
			return nil, err
		}
		fmt.Fprintln(o.Log, "a port was taken in the meantime; once more with other ports")
	}
}

func (c *Cluster) up(ctx context.Context, o Options) error {
	var err error
	if c.Ports, err = freePorts(); err != nil {
		return err
	}
	if err := writeConf(o, c.Dir, c.Lib, c.Ports); err != nil {
		return err
	}
	c.plan(o)
	if err := c.save(); err != nil {
		return fmt.Errorf("bringing the lab up: %w", err)
	}
	began := time.Now()
	say := func(what string) { fmt.Fprintf(o.Log, "%6.1f s  %s\n", time.Since(began).Seconds(), what) }
	started := map[string]*proc.Process{}
	start := func(d daemon) (err error) {
		started[d.Name], err = c.start(d)
		return err
	}
	await := func(d daemon) error {
		err := c.await(ctx, d, started[d.Name])
		if err == nil {
			say(d.Name + " answers")
		}
		return err
	}
	active := func(daemon) error {
		err := c.WaitNodes(ctx, len(c.Nodes))
		if err == nil {
			say(fmt.Sprintf("%d nodes active", len(c.Nodes)))
		}
		return err
	}
	format := func(daemon) error { return c.format(ctx) }
	prepare := func(daemon) error { return c.prepareHDFS(ctx) }
	for _, step := range []struct {
		of string // daemons by the beginning of their names; those that the lab does not have are passed over
		do func(daemon) error
	}{
		{"resourcemanager", start}, {"namenode", format}, {"namenode", start}, {"timeline", start}, {"namenode", await}, {"datanode", start}, {"resourcemanager", await},
		{"nodemanager", start}, {"datanode", await}, {"namenode", prepare}, {"historyserver", start}, {"nodemanager", await}, {"resourcemanager", active},
		{"historyserver", await}, {"timeline", await},
	} {
		for _, d := range c.Daemons {
			if strings.HasPrefix(d.Name, step.of) {
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
	at := func(port, path string) string { return "http://" + c.Ports.At(port) + path }
	if o.HDFS {
		c.Daemons = append(c.Daemons,
			daemon{"namenode", "org.apache.hadoop.hdfs.server.namenode.NameNode", 256, master, at("namenode-web", "/jmx?qry=java.lang:type=Runtime")},
			daemon{"datanode", "org.apache.hadoop.hdfs.server.datanode.DataNode", 192, host(0),
				fmt.Sprintf("http://%s:%d/jmx?qry=java.lang:type=Runtime", host(0), c.Ports["datanode-web"])})
	}
	if o.Timeline {
		c.Daemons = append(c.Daemons, daemon{"timeline", "org.apache.hadoop.yarn.server.applicationhistoryservice.ApplicationHistoryServer",
			256, master, at("timeline-web", "/ws/v1/applicationhistory/about")})
	}
	c.Daemons = append(c.Daemons, daemon{"resourcemanager", rmPackage + "ResourceManager", o.RMHeapMB, master,
		at("rm-web", "/ws/v1/cluster/info")})
	for i := range o.Nodes {
		name, url := fmt.Sprintf("nodemanager-%d", i+1), fmt.Sprintf("http://%s:%d", host(i), c.Ports["nm-web"])
		c.Daemons = append(c.Daemons, daemon{name, "org.apache.hadoop.yarn.server.nodemanager.NodeManager", o.NMHeapMB, host(i),
			url + "/ws/v1/node/info"})
		c.Nodes = append(c.Nodes, Node{Name: name, ID: fmt.Sprintf("%s:%d", host(i), c.Ports["nm"]), Rack: rack(i, o.Nodes), URL: url})
	}
	if o.History {
		c.Daemons = append(c.Daemons, daemon{"historyserver", "org.apache.hadoop.mapreduce.v2.hs.JobHistoryServer", 256, master,
			at("history-web", "/ws/v1/history/info")})
	}
}

// format makes an empty file system, unless the folder has one from an earlier run.
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
		return fmt.Errorf("formatting the NameNode: %w; its last lines:\n%s", err, lastLines(string(out), 12))
	}
	return nil
}
