// Package ha runs two ResourceManagers, of which one is active, with the ZooKeeper that elects it and a NodeManager, for tests.
// Applications and the scheduler's configuration are kept in ZooKeeper, so that they outlive the one that took them.
package ha

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/lab/hadoop/bare"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// Admin is who may change the scheduler's configuration.
const Admin = "yardmaster"

// Names are the ResourceManagers', as the configuration and the processes are called.
var Names = []string{"rm1", "rm2"}

// Lab is the pair.
type Lab struct {
	*bare.Yard
	web map[string]string
}

// Options of a pair; the zero value of a field is its default.
type Options struct {
	Session time.Duration // hadoop.zk.timeout-ms: a dead leader keeps its office for so long; 4 s, ZooKeeper's least here
	Pause   time.Duration // of nodes between two tries to find the active one; 1 s (Hadoop's default: 30 s)
	Log     io.Writer     // told what happens; may be nil
}

// Up brings the pair up in the folder and waits until one is active and has its node. What fails is taken down; the logs stay.
func Up(ctx context.Context, dir string, o Options) (*Lab, error) {
	if o.Session == 0 {
		o.Session = 4 * time.Second
	}
	if o.Pause == 0 {
		o.Pause = time.Second
	}
	y, err := bare.New(ctx, dir, o.Log)
	if err != nil {
		return nil, err
	}
	if err := y.Down(); err != nil { // what a crash has left
		return nil, err
	}
	l := &Lab{y, map[string]string{}}
	if err := l.up(ctx, o); err != nil {
		_ = y.Down()
		return nil, err
	}
	return l, nil
}

func (l *Lab) up(ctx context.Context, o Options) error {
	ports, err := bare.Ports(1 + 5*len(Names))
	if err != nil {
		return err
	}
	if err := l.WriteCommon(nil, l.yarn(o, ports)); err != nil {
		return err
	}
	if err := l.startZooKeeper(ctx, ports[0]); err != nil {
		return err
	}
	for _, name := range Names {
		if err := l.start(name); err != nil {
			return err
		}
	}
	if err := l.Start("nodemanager", 256, nil, bare.NodeManager); err != nil {
		return err
	}
	for _, name := range Names {
		if err := l.Answers(ctx, name, l.URL(name)+"/ws/v1/cluster/info"); err != nil {
			return err
		}
	}
	c, err := rest.New(rest.Options{RM: l.URLs(), RMRate: -1, Retries: -1, Auth: rest.User(Admin)})
	if err != nil {
		return err
	}
	defer c.CloseIdle()
	return l.Until(ctx, "nodemanager", "one is active and has its node", func() error {
		m, err := c.Metrics(ctx)
		if err == nil && m.ActiveNodes < 1 {
			err = fmt.Errorf("no node is active")
		}
		return err
	})
}

func (l *Lab) startZooKeeper(ctx context.Context, port int) error {
	data := filepath.Join(l.Dir, "zookeeper")
	if err := os.RemoveAll(data); err != nil { // of an earlier run
		return err
	}
	if err := os.MkdirAll(data, 0o755); err != nil {
		return err
	}
	settings := []string{"clientPortAddress=127.0.0.1", "clientPort=" + strconv.Itoa(port), "dataDir=" + data, "tickTime=2000",
		"admin.enableServer=false", "maxClientCnxns=0", ""}
	if err := l.Write("zoo.cfg", strings.Join(settings, "\n")); err != nil {
		return err
	}
	if err := l.Start("zookeeper", 96, nil, "org.apache.zookeeper.server.ZooKeeperServerMain", filepath.Join(l.Conf(), "zoo.cfg")); err != nil {
		return err
	}
	return l.Until(ctx, "zookeeper", "zookeeper answers", func() error {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			return err
		}
		return c.Close()
	})
}

func (l *Lab) start(name string) error {
	// Both are on one host, so that neither can tell from the addresses which one it is.
	return l.Start(name, 384, []string{"YARDMASTER_RM=" + name}, bare.ResourceManager)
}

// StartRM starts a ResourceManager that was killed or stopped, and waits until it answers.
func (l *Lab) StartRM(ctx context.Context, name string) error {
	if err := l.start(name); err != nil {
		return err
	}
	return l.Answers(ctx, name, l.URL(name)+"/ws/v1/cluster/info")
}

// URL is the web address of one.
func (l *Lab) URL(name string) string { return l.web[name] }

// URLs are the web addresses of both.
func (l *Lab) URLs() []string {
	var list []string
	for _, n := range Names {
		list = append(list, l.URL(n))
	}
	return list
}

// Roles are the names of the active and the other one; an error if none is active now.
func (l *Lab) Roles(ctx context.Context) (active, other string, err error) {
	c, err := rest.New(rest.Options{RM: l.URLs(), RMRate: -1, Retries: -1})
	if err != nil {
		return "", "", err
	}
	defer c.CloseIdle()
	for i, w := range c.Infos(ctx) {
		if w.Err == nil && w.Info.HAState == "ACTIVE" {
			return Names[i], Names[1-i], nil
		}
	}
	return "", "", rest.ErrNoActive
}

func (l *Lab) yarn(o Options, ports []int) map[string]string {
	ms := func(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
	m := map[string]string{
		"yarn.resourcemanager.ha.enabled":                                  "true",
		"yarn.resourcemanager.cluster-id":                                  "pair",
		"yarn.resourcemanager.ha.rm-ids":                                   strings.Join(Names, ","),
		"yarn.resourcemanager.ha.id":                                       "${env.YARDMASTER_RM:-" + Names[0] + "}",
		"hadoop.zk.address":                                                fmt.Sprintf("127.0.0.1:%d", ports[0]),
		"hadoop.zk.timeout-ms":                                             ms(o.Session),
		"yarn.client.failover-sleep-base-ms":                               ms(o.Pause),
		"yarn.client.failover-sleep-max-ms":                                ms(o.Pause),
		"yarn.resourcemanager.recovery.enabled":                            "true",
		"yarn.resourcemanager.store.class":                                 "org.apache.hadoop.yarn.server.resourcemanager.recovery.ZKRMStateStore",
		"yarn.resourcemanager.work-preserving-recovery.scheduling-wait-ms": "1000",
		"yarn.scheduler.configuration.store.class":                         "zk",
		"yarn.admin.acl":                                                   Admin,
	}
	for i, name := range Names {
		p := ports[1+5*i:]
		m["yarn.resourcemanager.hostname."+name] = "localhost"
		for j, what := range []string{"webapp.", "", "scheduler.", "resource-tracker.", "admin."} {
			m["yarn.resourcemanager."+what+"address."+name] = bare.Local(p[j])
		}
		l.web[name] = "http://" + bare.Local(p[0])
	}
	return m
}
