//go:build linux

package docs_test

import (
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
)

// queues of the cluster that the pages speak to.
const queues = `<configuration>
<property><name>yarn.scheduler.capacity.root.queues</name><value>prod,batch,default</value></property>
<property><name>yarn.scheduler.capacity.root.prod.capacity</name><value>50</value></property>
<property><name>yarn.scheduler.capacity.root.batch.capacity</name><value>30</value></property>
<property><name>yarn.scheduler.capacity.root.default.capacity</name><value>20</value></property>
<property><name>yarn.scheduler.capacity.root.default.maximum-capacity</name><value>100</value></property>
<property><name>yarn.scheduler.capacity.maximum-am-resource-percent</name><value>0.5</value></property>
</configuration>`

// Pages that speak to a cluster work as typed, with real daemons at http://rm:8088, http://jhs:19888 and http://nn:9870. A steerer without
// --for is interrupted after a while, as a person would.
func TestLabCommands(t *testing.T) {
	if os.Getenv("YARDMASTER_LAB_TESTS") == "" {
		t.Skip("YARDMASTER_LAB_TESTS is not set")
	}
	c, err := hadoop.Up(t.Context(), hadoop.Options{Dir: t.TempDir(), History: true, SchedulerXML: queues})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Down(); err != nil {
			t.Error(err)
		}
	})
	_, err = c.Jobs(t.Context(), []hadoop.Job{
		{ID: "a", Kind: "sleep", User: "alice", Queue: "prod", Maps: 3, Reduces: 1, MapTime: 1000, ReduceTime: 500},
		{ID: "b", Kind: "sleep", User: "bob", Queue: "batch", Maps: 2, MapTime: 1000},
		{ID: "c", Kind: "sleep", User: "carol", Queue: "default", Maps: 3, Reduces: 1, MapTime: 500, ReduceTime: 500},
	}, true)
	if err != nil {
		t.Fatal(err)
	}
	forward(t, "127.0.0.1:8088", c.RM())
	forward(t, "127.0.0.1:19888", c.History())
	forward(t, "127.0.0.1:9870", c.NameNode())

	r := newReader(t)
	if err := os.RemoveAll(filepath.Join(r.brings, "mycluster")); err != nil { // the pages import it
		t.Fatal(err)
	}
	hosts := filepath.Join(t.TempDir(), "hosts")
	if err := os.WriteFile(hosts, []byte("127.0.0.1 localhost rm jhs nn\n"), 0o644); err != nil { //nolint:gosec // as /etc/hosts
		t.Fatal(err)
	}
	named := "mount --bind " + quote(hosts) + ` /etc/hosts && exec "$@"`
	patience := `yardmaster() { case "$*" in "yarn steer"*) timeout --foreground --preserve-status -s INT 15 yardmaster "$@" ;; *) command yardmaster "$@" ;; esac; }` + "\n"
	seen := 0
	for _, page := range pages(t) {
		script := r.script(t, page)
		if !script.live {
			continue
		}
		seen++
		t.Run(strings.ReplaceAll(page, "/", "-"), func(t *testing.T) {
			r.run(t, r.folder(t, script), patience+script.text, "unshare", "--map-root-user", "--mount", "sh", "-c", named, "sh")
		})
	}
	if seen < 2 {
		t.Errorf("%d pages speak to a cluster", seen)
	}
}

// forward lets a server be reached at another address.
func forward(t *testing.T, at, to string) {
	t.Helper()
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer in.Close()
				out, err := net.Dial("tcp", u.Host)
				if err != nil {
					return
				}
				defer out.Close()
				go func() { _, _ = io.Copy(out, in) }()
				_, _ = io.Copy(in, out)
			}()
		}
	}()
}
