package hadoop

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/studies/lab/proc"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// errPortTaken: a daemon ended because another process took its port first.
var errPortTaken = errors.New("a port was taken")

// answerTimeout is the timeout for a daemon to answer. An idle machine needs some seconds, a very busy one a minute.
const answerTimeout = 5 * time.Minute

// web is the lab's client for its own daemons: short timeouts, no proxy.
var web = &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}}

// Ask sends a value as JSON and reads the answer; either may be nil.
func Ask(ctx context.Context, web *http.Client, method, url string, body, answer any) error {
	var in io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return err
		}
		in = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, in)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	resp, err := web.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	switch {
	case err != nil:
		return err
	case resp.StatusCode/100 != 2:
		return fmt.Errorf("%s %s: %s: %.300s", method, url, resp.Status, b)
	case answer == nil:
		return nil
	}
	return json.Unmarshal(b, answer)
}

// Poll calls f until it succeeds, f says stop, the context ends or the limit is reached; then it returns f's last error.
func Poll(ctx context.Context, limit time.Duration, what string, f func() (stop bool, err error)) error {
	var stop bool
	var err error
	if proc.Await(ctx, limit, 100*time.Millisecond, func() bool { stop, err = f(); return stop || err == nil }) {
		return err
	}
	return fmt.Errorf("%s: not within %v: %w", what, limit, cmp.Or(ctx.Err(), err))
}

// until polls until f succeeds; it returns early if the daemon ends.
func (c *Cluster) until(ctx context.Context, name string, f func() error) error {
	err := Poll(ctx, answerTimeout, "waiting for "+name, func() (bool, error) {
		err := f()
		if r, e := proc.Find(c.Dir, name); err != nil && (e != nil || !r.Alive()) {
			return true, c.died(name)
		}
		return false, err
	})
	if err == nil {
		c.Say("%s answers", name)
	}
	return err
}

// await waits until a daemon answers. A secured one answers 401 without credentials.
func (c *Cluster) await(ctx context.Context, d daemon) error {
	return c.until(ctx, d.Name, func() error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.Ready, nil)
		if err != nil {
			return err
		}
		resp, err := web.Do(req)
		if err == nil && resp.StatusCode/100 != 2 && resp.StatusCode != http.StatusUnauthorized {
			err = errors.New(resp.Status)
		}
		if resp != nil {
			_ = resp.Body.Close()
		}
		return err
	})
}

// Listens waits until a process listens on a port and, if ask is not "", gives the wanted answer.
func (c *Cluster) Listens(ctx context.Context, name string, port int, ask, answer string) error {
	return c.until(ctx, name, func() error {
		conn, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", port), time.Second)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }() // it was only asked
		if ask == "" {
			return nil
		}
		_, err = io.WriteString(conn, ask)
		if err := errors.Join(err, conn.SetDeadline(time.Now().Add(time.Second))); err != nil {
			return err
		}
		b, err := io.ReadAll(io.LimitReader(conn, 1<<16))
		if err == nil && !bytes.HasPrefix(b, []byte(answer)) {
			err = fmt.Errorf("it says %q", b)
		}
		return err
	})
}

// ZooKeeper starts an empty one and waits until it serves: it listens before that, and a session requested meanwhile may
// never be answered nor closed.
func (c *Cluster) ZooKeeper(ctx context.Context, port int) error {
	data := filepath.Join(c.Dir, "zookeeper")
	if err := errors.Join(os.RemoveAll(data), os.MkdirAll(data, 0o755)); err != nil { // of an earlier run
		return err
	}
	if err := WriteFiles(c.Conf(), map[string]string{"zoo.cfg": fmt.Sprintf(zooKeeperText, port, data)}); err != nil {
		return err
	}
	if _, err := c.Start(JVM{Name: "zookeeper", HeapMB: 96, Main: "org.apache.zookeeper.server.ZooKeeperServerMain", Args: []string{filepath.Join(c.Conf(), "zoo.cfg")}}); err != nil {
		return err
	}
	return c.Listens(ctx, "zookeeper", port, "srvr", "Zookeeper version")
}

func (c *Cluster) died(name string) error {
	path := proc.Log(c.Dir, name)
	b, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("%s ended: %w", name, err)
	}
	text := string(b)
	if strings.Contains(text, "java.net.BindException") || strings.Contains(text, "Address already in use") {
		return fmt.Errorf("%s ended: %w; see %s", name, errPortTaken, path)
	}
	return fmt.Errorf("%s ended; the last lines of %s:\n%s", name, path, LastLines(text, 12))
}

// WaitNodes waits until the active ResourceManager counts n active nodes.
func (c *Cluster) WaitNodes(ctx context.Context, n int) error {
	client, err := rest.New(rest.Options{RM: c.RMs(), Auth: c.Auth, RMRate: -1, Retries: -1})
	if err != nil {
		return err
	}
	defer client.CloseIdle()
	err = Poll(ctx, answerTimeout, "waiting for the nodes", func() (bool, error) {
		m, err := client.Metrics(ctx)
		if err == nil && m.ActiveNodes < int64(n) {
			err = fmt.Errorf("%d of %d nodes are active", m.ActiveNodes, n)
		}
		if err != nil {
			if gone := c.rmsDied(); gone != nil {
				return true, gone
			}
		}
		return false, err
	})
	if err == nil {
		c.Say("%d nodes active", n)
	}
	return err
}

// rmsDied is nil while a ResourceManager runs. One whose admin port is taken answers over REST for a moment before it ends.
func (c *Cluster) rmsDied() (err error) {
	for _, d := range c.Daemons {
		if d.Role != "resourcemanager" {
			continue
		}
		if r, e := proc.Find(c.Dir, d.Name); e == nil && r.Alive() {
			return nil
		}
		err = cmp.Or(err, c.died(d.Name))
	}
	return err
}

// prepareHDFS makes the folders that every user writes to. It runs before the history server, which would make them for
// its own user alone.
func (c *Cluster) prepareHDFS(ctx context.Context) error {
	for _, dir := range []string{"/tmp", "/user", "/staging", "/staging/history", "/history", "/history/tmp", "/history/done"} {
		for _, op := range []string{"MKDIRS", "SETPERMISSION"} {
			u := c.NameNode() + "/webhdfs/v1" + dir + "?" + url.Values{"op": {op}, "permission": {"1777"}, "user.name": {userName()}}.Encode()
			// The NameNode is in safe mode for a moment after its start.
			if err := Poll(ctx, answerTimeout, "making "+dir+" in HDFS", func() (bool, error) { return false, Ask(ctx, web, http.MethodPut, u, nil, nil) }); err != nil {
				return err
			}
		}
	}
	return Poll(ctx, answerTimeout, "waiting for the DataNode", func() (bool, error) {
		var m struct {
			Beans []struct{ NumLiveDataNodes int }
		}
		err := Ask(ctx, web, http.MethodGet, c.NameNode()+"/jmx?qry=Hadoop:service=NameNode,name=FSNamesystemState", nil, &m)
		if err == nil && (len(m.Beans) == 0 || m.Beans[0].NumLiveDataNodes == 0) {
			err = errors.New("no DataNode has reported")
		}
		return false, err
	})
}
