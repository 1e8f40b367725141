// Package bare starts ResourceManagers and NodeManagers whose configuration is out of the ordinary: under Kerberos, or in pairs. It
// has only what those labs share: a run folder, the settings every small YARN needs on one machine, and daemons that count
// as up when they answer at all, for a secured one answers a stranger with 401.
package bare

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/yardmaster/yardmaster/lab/hadoop"
	"github.com/yardmaster/yardmaster/lab/proc"
)

// Yard is a run folder with the programs to start in it.
type Yard struct {
	*hadoop.Cluster

	log   io.Writer
	began time.Time
}

// New prepares an empty run folder, fetching Hadoop if it is not there yet, and ends what a crash has left in it. The log is told what
// happens; it may be nil.
func New(ctx context.Context, dir string, log io.Writer) (*Yard, error) {
	log = cmp.Or(log, io.Discard)
	if err := os.MkdirAll(filepath.Join(dir, "conf"), 0o755); err != nil {
		return nil, fmt.Errorf("preparing the lab: %w", err)
	}
	c, err := hadoop.Clients(ctx, dir, log)
	if err != nil {
		return nil, err
	}
	return &Yard{c, log, time.Now()}, c.Down()
}

// Say tells the log when something happened.
func (y *Yard) Say(format string, args ...any) {
	fmt.Fprintf(y.log, "%6.1f s  %s\n", time.Since(y.began).Seconds(), fmt.Sprintf(format, args...))
}

// Write writes a file of the configuration folder.
func (y *Yard) Write(name, text string) error {
	if err := os.WriteFile(filepath.Join(y.Conf(), name), []byte(text), 0o644); err != nil {
		return fmt.Errorf("writing the lab's configuration: %w", err)
	}
	return nil
}

// Local is an address of this machine by its name: Kerberos knows hosts by name.
func Local(port int) string { return "localhost:" + strconv.Itoa(port) }

var (
	//go:embed common.conf
	common string
	//go:embed log4j.properties
	log4j string
	//go:embed zoo.cfg
	zooKeeper string
)

// Configure writes what both labs have in common: two queues, a log format and the settings of a single small node, with a lab's own (see
// hadoop.Settings) laid over them.
func (y *Yard) Configure(own string, data any) error {
	ports, err := hadoop.Ports(4)
	if err != nil {
		return err
	}
	files, err := hadoop.Settings(common, map[string]any{"Dir": y.Dir, "Ports": ports})
	if err != nil {
		return err
	}
	over, err := hadoop.Settings(own, data)
	if err != nil {
		return err
	}
	for name, m := range files {
		maps.Copy(m, over[name])
		if err := y.Write(name, hadoop.Properties("", m)); err != nil {
			return err
		}
	}
	return y.Write("log4j.properties", log4j)
}

// The classes of the daemons.
const (
	ResourceManager = "org.apache.hadoop.yarn.server.resourcemanager.ResourceManager"
	NodeManager     = "org.apache.hadoop.yarn.server.nodemanager.NodeManager"
)

// Start starts a daemon; env is added to its environment.
func (y *Yard) Start(name string, heapMB int, env []string, class string, args ...string) error {
	_, err := y.Cluster.Start(name, heapMB, env, class, args...)
	return err
}

// Until polls until f is content, the daemon has died, or patience or the context ends.
func (y *Yard) Until(ctx context.Context, name, what string, f func() error) error {
	err := hadoop.Poll(ctx, "waiting for: "+what, func() (bool, error) {
		err := f()
		if r, e := proc.Find(y.Dir, name); err != nil && (e != nil || !r.Alive()) {
			return true, fmt.Errorf("%s ended while waiting for: %s; its log is %s", name, what, proc.Log(y.Dir, name))
		}
		return false, err
	})
	if err == nil {
		y.Say("%s", what)
	}
	return err
}

// Answers waits until a daemon answers, whatever it says.
func (y *Yard) Answers(ctx context.Context, name, url string) error {
	web := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return y.Until(ctx, name, name+" answers", func() error {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		resp, err := web.Do(r)
		if err != nil {
			return err
		}
		return resp.Body.Close()
	})
}

// Listens waits until somebody listens on a port.
func (y *Yard) Listens(ctx context.Context, name string, port int) error {
	return y.Until(ctx, name, name+" answers", func() error {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			return err
		}
		return c.Close()
	})
}

// ZooKeeper starts an empty one and waits until it serves: it listens before that, and a session that is asked for meanwhile may
// never be answered nor closed.
func (y *Yard) ZooKeeper(ctx context.Context, port int) error {
	data := filepath.Join(y.Dir, "zookeeper")
	if err := os.RemoveAll(data); err != nil { // of an earlier run
		return err
	}
	if err := os.MkdirAll(data, 0o755); err != nil {
		return err
	}
	if err := y.Write("zoo.cfg", fmt.Sprintf(zooKeeper, port, data)); err != nil {
		return err
	}
	if err := y.Start("zookeeper", 96, nil, "org.apache.zookeeper.server.ZooKeeperServerMain", filepath.Join(y.Conf(), "zoo.cfg")); err != nil {
		return err
	}
	return y.Until(ctx, "zookeeper", "zookeeper answers", func() error {
		c, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", port), time.Second)
		if err != nil {
			return err
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(time.Second))
		if _, err := io.WriteString(c, "srvr"); err != nil {
			return err
		}
		answer, err := io.ReadAll(io.LimitReader(c, 1<<16))
		if err == nil && !bytes.HasPrefix(answer, []byte("Zookeeper version")) {
			err = fmt.Errorf("it says %q", answer)
		}
		return err
	})
}
