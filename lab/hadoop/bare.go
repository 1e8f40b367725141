package hadoop

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/yardmaster/yardmaster/lab/proc"
)

// Yard is a run folder for daemons whose configuration is out of the ordinary: under Kerberos, or in pairs. It has only what those labs share: the settings
// every small YARN needs on one machine, and daemons that count as up when they answer at all, for a secured one answers a stranger with 401.
type Yard struct {
	*Cluster

	log   io.Writer
	began time.Time
}

// NewYard prepares an empty run folder, fetching Hadoop if it is not there yet, and ends what a crash has left in it. The log is told what
// happens; it may be nil.
func NewYard(ctx context.Context, dir string, log io.Writer) (*Yard, error) {
	log = cmp.Or(log, io.Discard)
	if err := os.MkdirAll(filepath.Join(dir, "conf"), 0o755); err != nil {
		return nil, fmt.Errorf("preparing the lab: %w", err)
	}
	c, err := Clients(ctx, dir, log)
	if err != nil {
		return nil, err
	}
	return &Yard{c, log, time.Now()}, c.Down()
}

// Say tells the log when something happened.
func (y *Yard) Say(format string, args ...any) {
	fmt.Fprintf(y.log, "%6.1f s  %s\n", time.Since(y.began).Seconds(), fmt.Sprintf(format, args...))
}

// Local is an address of this machine by its name: Kerberos knows hosts by name.
func Local(port int) string { return "localhost:" + strconv.Itoa(port) }

var (
	//go:embed files/bare.conf
	bareText string
	//go:embed files/zoo.cfg
	zooKeeperText string
)

// Configure writes what such labs have in common: two queues, a log format and the settings of a single small node, with a lab's own (see
// Settings) laid over them.
func (y *Yard) Configure(own string, data any) error {
	ports, err := Ports(4)
	if err != nil {
		return err
	}
	files, err := Settings(bareText, map[string]any{"Dir": y.Dir, "Ports": ports})
	if err != nil {
		return err
	}
	over, err := Settings(own, data)
	if err != nil {
		return err
	}
	texts := map[string]string{"log4j.properties": log4j}
	for name, m := range files {
		maps.Copy(m, over[name])
		texts[name] = Properties("", m)
	}
	return writeFiles(y.Conf(), texts)
}

// StartRM and StartNode start a ResourceManager and a NodeManager; env is added to the environment.
func (y *Yard) StartRM(name string, env ...string) error {
	_, err := y.Start(name, 384, env, rmPackage+"ResourceManager")
	return err
}

func (y *Yard) StartNode() error {
	_, err := y.Start("nodemanager", 256, nil, nodeManager)
	return err
}

// Until polls until f is content, the daemon has died, or patience or the context ends.
func (y *Yard) Until(ctx context.Context, name, what string, f func() error) error {
	err := Poll(ctx, "waiting for: "+what, func() (bool, error) {
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
	plain := *web
	plain.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return y.Until(ctx, name, name+" answers", func() error {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		resp, err := plain.Do(r)
		if err != nil {
			return err
		}
		return resp.Body.Close()
	})
}

// Listens waits until somebody listens on a port and, if something is asked, answers it as wanted.
func (y *Yard) Listens(ctx context.Context, name string, port int, ask, answer string) error {
	return y.Until(ctx, name, name+" answers", func() error {
		c, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", port), time.Second)
		if err != nil {
			return err
		}
		defer func() { _ = c.Close() }() // it was only asked
		if ask == "" {
			return nil
		}
		if err := c.SetDeadline(time.Now().Add(time.Second)); err != nil {
			return err
		}
		if _, err := io.WriteString(c, ask); err != nil {
			return err
		}
		b, err := io.ReadAll(io.LimitReader(c, 1<<16))
		if err == nil && !bytes.HasPrefix(b, []byte(answer)) {
			err = fmt.Errorf("it says %q", b)
		}
		return err
	})
}

// ZooKeeper starts an empty one and waits until it serves: it listens before that, and a session that is asked for meanwhile may
// never be answered nor closed.
func (y *Yard) ZooKeeper(ctx context.Context, port int) error {
	data := filepath.Join(y.Dir, "zookeeper")
	if err := errors.Join(os.RemoveAll(data), os.MkdirAll(data, 0o755)); err != nil { // of an earlier run
		return err
	}
	if err := writeFiles(y.Conf(), map[string]string{"zoo.cfg": fmt.Sprintf(zooKeeperText, port, data)}); err != nil {
		return err
	}
	if _, err := y.Start("zookeeper", 96, nil, "org.apache.zookeeper.server.ZooKeeperServerMain", filepath.Join(y.Conf(), "zoo.cfg")); err != nil {
		return err
	}
	return y.Listens(ctx, "zookeeper", port, "srvr", "Zookeeper version")
}
