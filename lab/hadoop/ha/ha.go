// Package ha runs two ResourceManagers, of which one is active, with the ZooKeeper that elects it and a NodeManager, for tests.
// Applications and the scheduler's configuration are kept in ZooKeeper, so that they outlive the one that took them.
package ha

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"io"
	"time"

	"github.com/yardmaster/yardmaster/lab/hadoop"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// Admin is who may change the scheduler's configuration.
const Admin = "yardmaster"

// Names are the ResourceManagers', as the configuration and the processes are called.
var Names = []string{"rm1", "rm2"}

//go:embed ha.conf
var settings string

// Lab is the pair.
type Lab struct {
	*hadoop.Yard
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
	o.Session, o.Pause = cmp.Or(o.Session, 4*time.Second), cmp.Or(o.Pause, time.Second)
	y, err := hadoop.NewYard(ctx, dir, o.Log)
	if err != nil {
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
	ports, err := hadoop.Ports(1 + 5*len(Names))
	if err != nil {
		return err
	}
	own := map[string][]int{}
	for i, name := range Names {
		own[name] = ports[1+5*i:]
		l.web[name] = "http://" + hadoop.Local(own[name][0])
	}
	if err := l.Configure(settings, map[string]any{"ZooKeeper": ports[0], "Ports": own, "Names": Names, "Admin": Admin, "Session": o.Session, "Pause": o.Pause}); err != nil {
		return err
	}
	if err := l.ZooKeeper(ctx, ports[0]); err != nil {
		return err
	}
	for _, name := range Names {
		if err := l.start(name); err != nil {
			return err
		}
	}
	if err := l.StartNode(); err != nil {
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

func (l *Lab) start(name string) error {
	// Both are on one host, so that neither can tell from the addresses which one it is.
	return l.Yard.StartRM(name, "YARDMASTER_RM="+name)
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
