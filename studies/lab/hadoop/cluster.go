package hadoop

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/yardmaster/yardmaster/internal/flock"
	"github.com/yardmaster/yardmaster/studies/lab/proc"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// Cluster is a running lab, brought up by this process or another.
type Cluster struct {
	Dir       string `json:"dir"`
	Version   string `json:"version"`
	Scheduler string `json:"scheduler"`
	Lib       string `json:"lib"`
	Nodes     []Node `json:"nodes"`

	Daemons []daemon `json:"daemons"` // in the order of their start
	Ports   ports    `json:"ports"`

	Auth rest.Auth `json:"-"` // authenticates to the ResourceManagers; nil: none

	javaOptions []string
	java        Java
	log         io.Writer // may be nil
	began       time.Time
}

// Say logs an event with its time.
func (c *Cluster) Say(format string, args ...any) {
	if c.log != nil {
		fmt.Fprintf(c.log, "%6.1f s  %s\n", time.Since(c.began).Seconds(), fmt.Sprintf(format, args...))
	}
}

// Node is one NodeManager.
type Node struct {
	Name string `json:"name"` // of its process
	ID   string `json:"id"`   // as the ResourceManager names it: host:port
	Rack string `json:"rack"`
	URL  string `json:"url"`
}

// daemon is one process: its command line, and the URL that answers once it is up.
type daemon struct {
	Role   string `json:"role"`
	Name   string `json:"name"` // its role, where there is only one
	Main   string `json:"main"`
	HeapMB int    `json:"heap_mb"`
	Host   string `json:"host"`
	Ready  string `json:"ready"` // URL
}

const stateFile = "lab.json"

// Open opens a lab that another process brought up. The error is fs.ErrNotExist if there is none in the folder.
func Open(ctx context.Context, dir string) (*Cluster, error) {
	dir, err := proc.Folder(dir)
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(filepath.Join(dir, stateFile))
	if err != nil {
		return nil, fmt.Errorf("opening the lab in %s: %w", dir, err)
	}
	c := &Cluster{}
	if err := json.Unmarshal(b, c); err != nil {
		return nil, fmt.Errorf("opening the lab in %s: %w", dir, err)
	}
	c.java, err = FindJava(ctx, c.Version)
	return c, err
}

// Clients is for a ZooKeeper, or clients (AMs, Java) of daemons that were configured and started elsewhere in a run folder; they read
// its conf. It has no daemons of its own. The log may be nil.
func Clients(ctx context.Context, dir string, log io.Writer) (*Cluster, error) {
	return newCluster(ctx, dir, Default, log)
}

// newCluster makes a run folder and finds the jars and a Java.
func newCluster(ctx context.Context, dir, version string, log io.Writer) (*Cluster, error) {
	c := &Cluster{Version: version, log: log, began: time.Now()}
	var err error
	if c.Lib, err = Fetch(ctx, version, log); err != nil {
		return nil, err
	}
	if c.java, err = FindJava(ctx, version); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(dir, "log"), 0o755); err != nil {
		return nil, fmt.Errorf("making the lab's folder: %w", err)
	}
	c.Dir, err = proc.Folder(dir)
	return c, err
}

func (c *Cluster) save() error {
	b, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(c.Dir, stateFile), append(b, '\n'), 0o644)
}

// Down ends every process of the lab in dir, including what its containers left behind, and returns how many there were. It
// works from any process, after a crash, and for a lab that is already down. Configuration, logs and data stay.
func Down(dir string) (int, error) {
	// A NodeManager with containers takes over ten seconds to shut down gracefully; nothing of it is needed any more.
	n, err := proc.Down(dir, 3*time.Second)
	if err != nil {
		return n, err
	}
	if err := os.Remove(filepath.Join(dir, stateFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return n, fmt.Errorf("taking the lab in %s down: %w", dir, err)
	}
	return n, nil
}

// Down ends the lab.
func (c *Cluster) Down() error {
	_, err := Down(c.Dir)
	return err
}

// RM is the address of the ResourceManager's REST interface.
func (c *Cluster) RM() string { return c.web("resourcemanager", "rm-web") }

// RMs are the addresses of all ResourceManagers, by this machine's name.
func (c *Cluster) RMs() (list []string) {
	for _, d := range c.Daemons {
		if d.Role == "resourcemanager" {
			list = append(list, c.URL(d.Name))
		}
	}
	return list
}

// URL is the address of one ResourceManager.
func (c *Cluster) URL(name string) string { return "http://" + c.Ports.Local(webPort(name)) }

// webPort is the name of the port of a ResourceManager's REST interface.
func webPort(name string) string {
	if name == "resourcemanager" {
		return "rm-web"
	}
	return name + "-web"
}

// History is the address of MapReduce's history server; empty without one.
func (c *Cluster) History() string { return c.web("historyserver", "history-web") }

// NameNode is the address of WebHDFS; empty without one.
func (c *Cluster) NameNode() string { return c.web("namenode", "namenode-web") }

// Timeline is the address of the timeline server; empty without one.
func (c *Cluster) Timeline() string { return c.web("timeline", "timeline-web") }

func (c *Cluster) web(name, port string) string {
	if _, ok := c.daemon(name); !ok {
		return ""
	}
	return "http://" + c.Ports.At(port)
}

// Conf is the configuration folder that every daemon and client reads.
func (c *Cluster) Conf() string { return filepath.Join(c.Dir, "conf") }

// RMLog is the ResourceManager's log.
func (c *Cluster) RMLog() string { return proc.Log(c.Dir, "resourcemanager") }

func (c *Cluster) daemon(name string) (daemon, bool) {
	for _, d := range c.Daemons {
		if d.Name == name {
			return d, true
		}
	}
	return daemon{}, false
}

// Kill kills a daemon with SIGKILL, as a crash would.
func (c *Cluster) Kill(name string) error {
	r, err := proc.Find(c.Dir, name)
	if err != nil {
		return fmt.Errorf("killing %s: %w", name, err)
	}
	r.Signal(syscall.SIGKILL)
	return proc.Stop(c.Dir, name, 0)
}

// JVM is a Java process to be started.
type JVM struct {
	Name    string
	HeapMB  int
	First   bool     // raised priority, where permitted
	Env     []string // added to its environment
	Options []string // of the JVM, besides those that limit its size
	Classes string   // folder ahead of Hadoop's own on the class path; may be empty
	Main    string
	Args    []string
}

// Start starts a process of the run.
func (c *Cluster) Start(p JVM) (*proc.Process, error) {
	path, args := c.java.Command("java"), slices.Concat(c.java.Options(p.HeapMB), p.Options, []string{"-Dproc_" + p.Name, "-cp", c.classpath(p.Classes), p.Main}, p.Args)
	if nice, err := exec.LookPath("nice"); err == nil && p.First {
		path, args = nice, append([]string{"-n", "-20", path}, args...)
	}
	return proc.Start(c.Dir, proc.Command{Name: p.Name, Path: path, Args: args, Env: append(c.env(), p.Env...)})
}

func (c *Cluster) start(d daemon) error {
	_, err := c.Start(JVM{Name: d.Name, HeapMB: d.HeapMB, Env: []string{hostVariable + "=" + d.Host, "YARDMASTER_RM=" + d.Name}, Options: c.javaOptions, Main: d.Main})
	return err
}

// Restart stops a daemon, gracefully if it runs, starts it with the same configuration and waits until it answers.
// Callers wait for nodes to rejoin a new ResourceManager with WaitNodes.
func (c *Cluster) Restart(ctx context.Context, name string) error {
	d, ok := c.daemon(name)
	if !ok {
		return fmt.Errorf("restarting %s: the lab has no such daemon", name)
	}
	if err := proc.Stop(c.Dir, name, 10*time.Second); err != nil {
		return fmt.Errorf("restarting %s: %w", name, err)
	}
	if err := c.start(d); err != nil {
		return err
	}
	return c.await(ctx, d)
}

// Java is a client of the lab to run: a class of Hadoop's or of the lab's own, with the lab's configuration. It belongs
// to the run, so that Down ends it too.
func (c *Cluster) Java(ctx context.Context, heapMB int, class string, args ...string) *exec.Cmd {
	return c.javaWith(ctx, heapMB, "", class, args...)
}

func (c *Cluster) javaWith(ctx context.Context, heapMB int, classes, class string, args ...string) *exec.Cmd {
	return c.javaOver(ctx, heapMB, c.classpath(classes), class, args...)
}

// JavaOn is a client with other jars than the lab's.
func (c *Cluster) JavaOn(ctx context.Context, heapMB int, jars, class string, args ...string) *exec.Cmd {
	return c.javaOver(ctx, heapMB, c.Conf()+":"+jars, class, args...)
}

// JavaOptions are the flags of the lab's JVMs.
func (c *Cluster) JavaOptions(heapMB int) []string { return c.java.Options(heapMB) }

func (c *Cluster) javaOver(ctx context.Context, heapMB int, classpath, class string, args ...string) *exec.Cmd {
	all := append(c.java.Options(heapMB), "-cp", classpath, class)
	cmd := exec.CommandContext(ctx, c.java.Command("java"), append(all, args...)...)
	cmd.Env = append(append(os.Environ(), c.env()...), proc.Variable+"="+c.Dir)
	cmd.Dir = c.Dir
	return cmd
}

// env is the environment of daemons and clients. Containers find Java by JAVA_HOME.
func (c *Cluster) env() []string {
	return []string{"HADOOP_CONF_DIR=" + c.Conf(), "HADOOP_USER_NAME=" + userName(), "JAVA_HOME=" + c.java.Home}
}

func (c *Cluster) classpath(classes string) string {
	cp := c.Conf() + ":" + filepath.Join(c.Lib, "*")
	if classes != "" {
		cp = classes + ":" + cp
	}
	return cp
}

// Usage is the resource usage of a process.
type Usage struct {
	proc.Record
	Running bool
	RSS     int64 // bytes
	CPU     time.Duration
}

// Usages are the resource usages of all recorded processes of the lab in dir, in the order of their start.
func Usages(dir string) (list []Usage, err error) {
	records, err := proc.List(dir)
	for _, r := range records {
		u := Usage{Record: r, Running: r.Alive()}
		if u.Running {
			u.RSS, u.CPU, _ = proc.Usage(r.PID) // it may just have ended: then 0
		}
		list = append(list, u)
	}
	return list, err
}

// SharedVariable names a folder in which labs stay up for later tests, of this package or another. Whoever sets it takes
// them down: go run ./studies lab down --dir FOLDER/NAME.
const SharedVariable = "YARDMASTER_LAB_SHARED"

// Shared is a lab for a test that leaves it unchanged. With SharedVariable set, the first test that requests these options brings it up
// and one test at a time uses it; otherwise it is the test's own, in dir. done releases it.
func Shared(ctx context.Context, o Options, dir string) (c *Cluster, done func() error, err error) {
	home := os.Getenv(SharedVariable)
	if home == "" {
		o.Dir = dir
		if c, err = Up(ctx, o); err != nil {
			return nil, nil, err
		}
		return c, c.Down, nil
	}
	o.Dir, o.Log = "", nil
	key, err := json.Marshal(o)
	if err != nil {
		return nil, nil, err
	}
	o.Dir = filepath.Join(home, fmt.Sprintf("%x", sha256.Sum256(key))[:8])
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, nil, err
	}
	lock, err := os.OpenFile(filepath.Join(o.Dir, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, nil, err
	}
	proc.Await(ctx, 24*time.Hour, 200*time.Millisecond, func() bool { err = flock.Try(lock); return !errors.Is(err, flock.ErrHeld) })
	if err == nil {
		if r, e := proc.Find(o.Dir, "resourcemanager"); e == nil && r.Alive() {
			c, err = Open(ctx, o.Dir)
		} else {
			c, err = Up(ctx, o)
		}
	}
	if err != nil {
		return nil, nil, errors.Join(err, lock.Close())
	}
	return c, lock.Close, nil
}

// SharedOptions are the options that tests share, so that there is one lab per version and scheduler.
func SharedOptions(version, scheduler string) Options {
	o := Options{Version: version, Scheduler: scheduler, Nodes: 2, Heartbeat: 500 * time.Millisecond}
	for _, list := range [][]string{DebugBeats, DebugTicks, DebugPlace} {
		o.Debug = append(o.Debug, list...)
	}
	return o
}
