// Package bare starts ResourceManagers and NodeManagers whose configuration is out of the ordinary: under Kerberos, or in pairs. It
// has only what those labs share: a run folder, the settings every small YARN needs on one machine, and daemons that count
// as up when they answer at all, for a secured one answers a stranger with 401.
package bare

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/yardmaster/yardmaster/lab/hadoop"
	"github.com/yardmaster/yardmaster/lab/proc"
)

// Yard is a run folder with the programs to start in it.
type Yard struct {
	Dir  string
	Lib  string // of jars
	Java hadoop.Java
	// JavaOptions are given to every daemon, besides those that keep it small.
	JavaOptions []string

	log   io.Writer
	began time.Time
}

// New prepares an empty run folder, fetching Hadoop if it is not there yet. The log is told what happens; it may be nil.
func New(ctx context.Context, dir string, log io.Writer) (*Yard, error) {
	if log == nil {
		log = io.Discard
	}
	lib, err := hadoop.Fetch(ctx, hadoop.Default, log)
	if err != nil {
		return nil, err
	}
	java, err := hadoop.FindJava(ctx, hadoop.Default)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(dir, "conf"), 0o755); err != nil {
		return nil, fmt.Errorf("preparing the lab: %w", err)
	}
	if dir, err = proc.Folder(dir); err != nil {
		return nil, err
	}
	return &Yard{Dir: dir, Lib: lib, Java: java, log: log, began: time.Now()}, nil
}

// Say tells the log when something happened.
func (y *Yard) Say(format string, args ...any) {
	fmt.Fprintf(y.log, "%6.1f s  %s\n", time.Since(y.began).Seconds(), fmt.Sprintf(format, args...))
}

// Conf is the configuration folder.
func (y *Yard) Conf() string { return filepath.Join(y.Dir, "conf") }

// Ports asks the kernel for n different free ports.
func Ports(n int) ([]int, error) {
	var list []int
	for range n {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("asking for a free port: %w", err)
		}
		defer func() { _ = l.Close() }() // all are held until the last is found
		list = append(list, l.Addr().(*net.TCPAddr).Port)
	}
	return list, nil
}

// Write writes a file of the configuration folder.
func (y *Yard) Write(name, text string) error {
	if err := os.WriteFile(filepath.Join(y.Conf(), name), []byte(text), 0o644); err != nil {
		return fmt.Errorf("writing the lab's configuration: %w", err)
	}
	return nil
}

// WriteSite writes settings as a Hadoop configuration file.
func (y *Yard) WriteSite(name string, settings map[string]string) error {
	var b bytes.Buffer
	b.WriteString("<configuration>\n")
	for _, k := range slices.Sorted(maps.Keys(settings)) {
		b.WriteString("<property><name>" + k + "</name><value>")
		if err := xml.EscapeText(&b, []byte(settings[k])); err != nil {
			return err
		}
		b.WriteString("</value></property>\n")
	}
	b.WriteString("</configuration>\n")
	return y.Write(name, b.String())
}

// Local is an address of this machine by its name: Kerberos knows hosts by name.
func Local(port int) string { return "localhost:" + strconv.Itoa(port) }

// WriteCommon writes what both labs have in common: two queues, a log format, and the settings in core and yarn laid over those of
// a single small node.
func (y *Yard) WriteCommon(core, yarn map[string]string) error {
	ports, err := Ports(4)
	if err != nil {
		return err
	}
	site := map[string]string{
		"yarn.resourcemanager.scheduler.class":           "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler",
		"yarn.resourcemanager.am.max-attempts":           "2",
		"yarn.resourcemanager.connect.retry-interval.ms": "500",
		"yarn.acl.enable":                                "true",
		"yarn.cluster.max-application-priority":          "10",
		"yarn.scheduler.minimum-allocation-mb":           "128",
		"yarn.scheduler.maximum-allocation-mb":           "4096",
		// The default is a folder of /tmp named after the user, and under Kerberos after the daemon's principal.
		"yarn.node-attribute.fs-store.root-dir":                                         "file://" + filepath.Join(y.Dir, "node-attributes"),
		"yarn.nodemanager.hostname":                                                     "localhost",
		"yarn.nodemanager.address":                                                      Local(ports[0]),
		"yarn.nodemanager.localizer.address":                                            Local(ports[1]),
		"yarn.nodemanager.webapp.address":                                               Local(ports[2]),
		"yarn.nodemanager.collector-service.address":                                    Local(ports[3]),
		"yarn.nodemanager.local-dirs":                                                   filepath.Join(y.Dir, "work", "local"),
		"yarn.nodemanager.log-dirs":                                                     filepath.Join(y.Dir, "work", "logs"),
		"yarn.nodemanager.resource.memory-mb":                                           "4096",
		"yarn.nodemanager.resource.cpu-vcores":                                          "16",
		"yarn.nodemanager.pmem-check-enabled":                                           "false",
		"yarn.nodemanager.vmem-check-enabled":                                           "false",
		"yarn.nodemanager.env-whitelist":                                                "JAVA_HOME,HADOOP_CONF_DIR," + proc.Variable,
		"yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "99.9",
	}
	base := map[string]string{"fs.defaultFS": "file:///", "hadoop.tmp.dir": filepath.Join(y.Dir, "tmp")}
	maps.Copy(site, yarn)
	maps.Copy(base, core)
	queues := map[string]string{
		"yarn.scheduler.capacity.root.queues":                  "prod,batch",
		"yarn.scheduler.capacity.root.prod.capacity":           "60",
		"yarn.scheduler.capacity.root.prod.maximum-capacity":   "90",
		"yarn.scheduler.capacity.root.batch.capacity":          "40",
		"yarn.scheduler.capacity.root.acl_submit_applications": "*",
		"yarn.scheduler.capacity.root.acl_administer_queue":    " ",
		"yarn.scheduler.capacity.maximum-am-resource-percent":  "0.5",
		"yarn.scheduler.capacity.root.batch.user-limit-factor": "2",
	}
	for name, m := range map[string]map[string]string{"core-site.xml": base, "yarn-site.xml": site, "capacity-scheduler.xml": queues} {
		if err := y.WriteSite(name, m); err != nil {
			return err
		}
	}
	return y.Write("log4j.properties", strings.Join([]string{
		"log4j.rootLogger=INFO,console",
		"log4j.appender.console=org.apache.log4j.ConsoleAppender",
		"log4j.appender.console.target=System.err",
		"log4j.appender.console.layout=org.apache.log4j.PatternLayout",
		"log4j.appender.console.layout.ConversionPattern=%d{ISO8601} %p %c{2}: %m%n", ""}, "\n"))
}

// The classes of the daemons.
const (
	ResourceManager = "org.apache.hadoop.yarn.server.resourcemanager.ResourceManager"
	NodeManager     = "org.apache.hadoop.yarn.server.nodemanager.NodeManager"
)

// Start starts a daemon; env is added to its environment.
func (y *Yard) Start(name string, heapMB int, env []string, class string, args ...string) error {
	all := append(y.Java.Options(heapMB), y.JavaOptions...)
	all = append(all, "-Dyardmaster.lab="+y.Dir, "-cp", y.Conf()+":"+filepath.Join(y.Lib, "*"), class)
	_, err := proc.Start(y.Dir, proc.Command{Name: name, Path: y.Java.Java, Args: append(all, args...),
		Env: append([]string{"HADOOP_CONF_DIR=" + y.Conf()}, env...)})
	return err
}

// patience is how long a daemon may take: some seconds on a quiet machine, two minutes on a very busy one.
const patience = 5 * time.Minute

// Until polls until f is content, the daemon has died, or patience or the context ends.
func (y *Yard) Until(ctx context.Context, name, what string, f func() error) error {
	end := time.Now().Add(patience)
	for {
		err := f()
		if err == nil {
			y.Say("%s", what)
			return nil
		}
		if r, e := proc.Find(y.Dir, name); e != nil || !r.Alive() {
			return fmt.Errorf("%s ended while waiting for: %s; its log is %s", name, what, proc.Log(y.Dir, name))
		}
		if time.Now().After(end) {
			return fmt.Errorf("waiting for: %s: not within %s: %w", what, patience, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for: %s: %w", what, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
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

// Kill ends a daemon at once, as a crash would.
func (y *Yard) Kill(name string) error {
	r, err := proc.Find(y.Dir, name)
	if err != nil {
		return fmt.Errorf("killing %s: %w", name, err)
	}
	r.Signal(syscall.SIGKILL)
	return proc.Stop(y.Dir, name, 0)
}

// Stop ends a daemon politely.
func (y *Yard) Stop(name string) error { return proc.Stop(y.Dir, name, 10*time.Second) }

// Down ends everything. It works after a crash, too: hadoop.Down on the folder.
func (y *Yard) Down() error {
	_, err := hadoop.Down(y.Dir)
	return err
}

// Usage is one line of what the daemons take.
func (y *Yard) Usage() string {
	list, err := hadoop.Usages(y.Dir)
	if err != nil {
		return err.Error()
	}
	var parts []string
	for _, u := range list {
		if u.Alive {
			parts = append(parts, fmt.Sprintf("%s %d MiB", u.Name, u.RSS>>20))
		}
	}
	return strings.Join(parts, ", ")
}
