package hadoop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/lab/proc"
)

// errPortTaken is why a daemon ended when another process was faster to take its port.
var errPortTaken = errors.New("a port was taken")

// patience is how long a daemon may take to answer. A quiet machine needs some seconds, a very busy one a minute.
const patience = 5 * time.Minute

// web is how the lab looks at its own daemons: never for long, and never through a proxy.
var web = &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}}

// get reads a small JSON answer; v may be nil.
func get(ctx context.Context, url string, v any) error {
	return Ask(ctx, web, http.MethodGet, url, nil, v)
}

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

// Poll calls f until it succeeds, the context ends or patience does; then it tells f's last error.
func Poll(ctx context.Context, what string, f func() (stop bool, err error)) error {
	end := time.Now().Add(patience)
	for {
		stop, err := f()
		switch {
		case err == nil:
			return nil
		case stop:
			return err
		case time.Now().After(end):
			return fmt.Errorf("%s: not within %v: %w", what, patience, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// await waits until a daemon answers, or has ended.
func (c *Cluster) await(ctx context.Context, d daemon, p *proc.Process) error {
	return Poll(ctx, "waiting for "+d.Name, func() (bool, error) {
		err := get(ctx, d.Ready, nil)
		if err == nil {
			return false, nil
		}
		select {
		case <-p.Done():
			return true, c.died(d)
		default:
			return false, err
		}
	})
}

func (c *Cluster) died(d daemon) error {
	path := proc.Log(c.Dir, d.Name)
	b, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("%s ended: %w", d.Name, err)
	}
	text := string(b)
	if strings.Contains(text, "java.net.BindException") || strings.Contains(text, "Address already in use") {
		return fmt.Errorf("%s ended: %w; see %s", d.Name, errPortTaken, path)
	}
	return fmt.Errorf("%s ended; the last lines of %s:\n%s", d.Name, path, lastLines(text, 12))
}

// WaitNodes waits until the ResourceManager counts n active nodes.
func (c *Cluster) WaitNodes(ctx context.Context, n int) error {
	return Poll(ctx, "waiting for the nodes", func() (bool, error) {
		var m struct {
			ClusterMetrics struct{ ActiveNodes int }
		}
		if err := get(ctx, c.RM()+"/ws/v1/cluster/metrics", &m); err != nil {
			return false, err
		}
		if m.ClusterMetrics.ActiveNodes < n {
			return false, fmt.Errorf("%d of %d nodes are active", m.ClusterMetrics.ActiveNodes, n)
		}
		return false, nil
	})
}

// prepareHDFS makes the folders that every user writes to. It comes before the history server, which would make them for
// its own user alone.
func (c *Cluster) prepareHDFS(ctx context.Context) error {
	for _, dir := range []string{"/tmp", "/user", "/staging", "/staging/history", "/history", "/history/tmp", "/history/done"} {
		for _, op := range []string{"MKDIRS", "SETPERMISSION"} {
			u := c.NameNode() + "/webhdfs/v1" + dir + "?" + url.Values{"op": {op}, "permission": {"1777"}, "user.name": {userName()}}.Encode()
			// The NameNode is in safe mode for a moment after its start.
			if err := Poll(ctx, "making "+dir+" in HDFS", func() (bool, error) { return false, Ask(ctx, web, http.MethodPut, u, nil, nil) }); err != nil {
				return err
			}
		}
	}
	return Poll(ctx, "waiting for the DataNode", func() (bool, error) {
		var m struct {
			Beans []struct{ NumLiveDataNodes int }
		}
		err := get(ctx, c.NameNode()+"/jmx?qry=Hadoop:service=NameNode,name=FSNamesystemState", &m)
		if err == nil && (len(m.Beans) == 0 || m.Beans[0].NumLiveDataNodes == 0) {
			err = errors.New("no DataNode has reported")
		}
		return false, err
	})
}
