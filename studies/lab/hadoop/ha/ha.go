// Package ha runs two ResourceManagers, one of them active, with the ZooKeeper that elects it and a NodeManager, for tests.
// Applications and the scheduler's configuration are stored in ZooKeeper, so that they survive a failover.
package ha

import (
	"cmp"
	"context"
	_ "embed"
	"io"
	"time"

	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// Admin is who may change the scheduler's configuration.
const Admin = "yardmaster"

// Names are the names of the ResourceManagers, in the configuration and as processes.
var Names = []string{"rm1", "rm2"}

//go:embed ha.conf
var settings string

// Lab is the pair.
type Lab struct{ *hadoop.Cluster }

// Options of a pair; the zero value of a field is its default.
type Options struct {
	Session time.Duration // hadoop.zk.timeout-ms: how long a dead leader stays leader; 4 s, ZooKeeper's minimum here
	Pause   time.Duration // of nodes between two attempts to find the active one; 1 s (Hadoop's default: 30 s)
	Log     io.Writer     // progress; may be nil
}

// Up brings the pair up in the folder and waits until one is active and has its node. On failure all is taken down; the logs stay.
func Up(ctx context.Context, dir string, o Options) (*Lab, error) {
	ports := []string{"zookeeper"}
	for _, name := range Names {
		for _, use := range []string{"web", "client", "scheduler", "tracker", "admin"} {
			ports = append(ports, name+"-"+use)
		}
	}
	c, err := hadoop.Up(ctx, hadoop.Options{
		Dir: dir, Nodes: 1, NodeMB: 4096, NodeVcores: 16, SchedulerXML: hadoop.TwoQueues, ConfStore: "zk", RMHeapMB: 384, RMs: Names, Ports: ports, Log: o.Log,
		Over: settings, With: map[string]any{"Names": Names, "Admin": Admin, "Session": cmp.Or(o.Session, 4*time.Second), "Pause": cmp.Or(o.Pause, time.Second)},
	})
	return &Lab{c}, err
}

// Roles are the names of the active and the other one; an error if none is active now.
func (l *Lab) Roles(ctx context.Context) (active, other string, err error) {
	c, err := rest.New(rest.Options{RM: l.RMs(), RMRate: -1, Retries: -1})
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
