package hadoop

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/yardmaster/yardmaster/studies/lab/proc"
)

// Millis is a number of milliseconds: a length of time, or an instant since 1970.
type Millis int64

// Duration is the length of time.
func (m Millis) Duration() time.Duration { return time.Duration(m) * time.Millisecond }

// Time is the instant, in UTC.
func (m Millis) Time() time.Time { return time.UnixMilli(int64(m)).UTC() }

// Cost is the resource usage of a client.
type Cost struct {
	Wall time.Duration
	CPU  time.Duration
	RSS  int64 // bytes, peak
}

// WriteLines writes one JSON object per line.
func WriteLines[T any](w io.Writer, list []T) error {
	enc := json.NewEncoder(w)
	for _, v := range list {
		if err := enc.Encode(v); err != nil {
			return err
		}
	}
	return nil
}

// client runs one of the lab's own classes with a list as its first argument, and reads its output: JSON, one value per line. Its
// log goes to log/NAME.log of the run; the list and the output are kept beside it.
func client[In, Out any](ctx context.Context, c *Cluster, name string, heapMB int, class string, list []In, args ...string) (answers []Out, cost Cost, err error) {
	classes, err := Classes(ctx, c.Version, sources, "files/java")
	if err != nil {
		return nil, cost, err
	}
	in, err := os.CreateTemp(filepath.Join(c.Dir, "log"), name+"-*.in")
	if err != nil {
		return nil, cost, err
	}
	base := strings.TrimSuffix(in.Name(), ".in")
	log, err1 := os.Create(base + ".log")
	out, err2 := os.Create(base + ".out")
	defer func() { _, _, _ = in.Close(), log.Close(), out.Close() }()
	if err := errors.Join(err1, err2, WriteLines(in, list)); err != nil {
		return nil, cost, fmt.Errorf("writing the list for %s: %w", class, err)
	}
	cmd := c.javaWith(ctx, heapMB, classes, class, append([]string{in.Name()}, args...)...)
	cmd.Stderr = log
	cmd.WaitDelay = 5 * time.Second
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return nil, cost, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, cost, fmt.Errorf("running %s: %w", class, err)
	}
	var readErr error
	for d := json.NewDecoder(io.TeeReader(pipe, out)); readErr == nil; {
		var v Out
		if readErr = d.Decode(&v); readErr == nil {
			answers = append(answers, v)
		}
	}
	if errors.Is(readErr, io.EOF) {
		readErr = nil
	} else {
		_ = cmd.Process.Kill()
	}
	err = cmd.Wait()
	cost = Cost{Wall: time.Since(began), CPU: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		cost.RSS = u.Maxrss << 10
	}
	switch {
	case readErr != nil:
		return answers, cost, fmt.Errorf("reading the output of %s: %w; see %s", class, readErr, base+".out")
	case err != nil && ctx.Err() != nil:
		return answers, cost, ctx.Err()
	case err != nil:
		b, _ := os.ReadFile(log.Name())
		return answers, cost, fmt.Errorf("running %s: %w; the last lines of %s:\n%s", class, err, log.Name(), LastLines(string(b), 12))
	}
	return answers, cost, nil
}

// LogDir is the folder of the logs of the lab's processes.
func (c *Cluster) LogDir() string { return filepath.Dir(proc.Log(c.Dir, "x")) }

// Job is a MapReduce job to run.
type Job struct {
	ID      string `json:"id"`   // its name; unique in a list
	Kind    string `json:"kind"` // sleep, wordcount, pi, teragen, terasort (which makes its input with a teragen first)
	User    string `json:"user"`
	Queue   string `json:"queue"`
	Submit  Millis `json:"submit"` // after the start of the list
	Maps    int    `json:"maps"`
	Reduces int    `json:"reduces"`

	MapTime    Millis `json:"map_ms,omitempty"`    // of each map of a sleep
	ReduceTime Millis `json:"reduce_ms,omitempty"` // of each reduce of a sleep
	Bytes      int64  `json:"bytes,omitempty"`     // of each map's input (wordcount) or output (teragen)
	Points     int    `json:"points,omitempty"`    // of each map of a pi

	MapMB    int `json:"-"` // sizes of containers; 0: the lab's own: 256, 256, 512
	ReduceMB int `json:"-"`
	AMMB     int `json:"-"`

	Conf map[string]string `json:"conf,omitempty"` // further settings of the job
}

// JobResult is the outcome of a job. A terasort has two: one for the job that makes its input.
type JobResult struct {
	ID    string `json:"id"`
	Kind  string `json:"kind"`
	User  string `json:"user"`
	Queue string `json:"queue"`
	App   string `json:"app"`
	Job   string `json:"job"`

	Submit    Millis `json:"submit"`    // the client began
	Submitted Millis `json:"submitted"` // the client saw it accepted
	Started   Millis `json:"started"`   // as the ResourceManager saw it; not without waiting
	End       Millis `json:"end"`
	State     string `json:"state"` // SUCCEEDED, FAILED, KILLED; REFUSED if submission failed; empty without waiting
	Why       string `json:"why"`
}

// Jobs submits jobs on schedule, all from one JVM. With wait it returns when all have ended, in the order in which they did;
// otherwise when all are submitted. A failed job is not an error; see its result. Needs HDFS.
func (c *Cluster) Jobs(ctx context.Context, jobs []Job, wait bool) ([]JobResult, error) {
	if c.NameNode() == "" {
		return nil, errors.New("MapReduce jobs need HDFS; bring the lab up with it")
	}
	list := make([]Job, len(jobs))
	seen := map[string]bool{}
	for i, j := range jobs {
		switch {
		case j.ID == "" || j.User == "" || j.Queue == "":
			return nil, fmt.Errorf("job %d: id, user and queue must be given", i)
		case seen[j.ID]:
			return nil, fmt.Errorf("job %s is in the list twice", j.ID)
		}
		seen[j.ID] = true
		list[i] = j.withSizes()
	}
	mode := "submit"
	if wait {
		mode = "wait"
	}
	results, _, err := client[Job, JobResult](ctx, c, "jobs", 256, "Jobs", list, mode)
	return results, err
}

// withSizes sets the sizes as MapReduce properties. The heaps stay small: they are real memory.
func (j Job) withSizes() Job {
	conf := maps.Clone(j.Conf)
	if conf == nil {
		conf = map[string]string{}
	}
	for name, mb := range map[string]int{
		"mapreduce.map.memory.mb": j.MapMB, "mapreduce.reduce.memory.mb": j.ReduceMB, "yarn.app.mapreduce.am.resource.mb": j.AMMB,
	} {
		if _, set := conf[name]; mb > 0 && !set {
			conf[name] = strconv.Itoa(mb)
		}
	}
	j.Conf = conf
	return j
}

// Application is one application of a workload: an unmanaged AM, which takes no container itself, and its requests.
// A workload file has one per line, as JSON.
type Application struct {
	ID         string   `json:"id"`
	User       string   `json:"user"`
	Queue      string   `json:"queue"`
	Submit     Millis   `json:"submit"` // after the start of the workload
	Priority   int      `json:"priority,omitempty"`
	Tags       []string `json:"tags,omitempty"`     // a ResourceManager turns them into lower case
	Type       string   `json:"type,omitempty"`     // UNMANAGED
	Tracking   string   `json:"tracking,omitempty"` // URL of its web server; none
	Containers []Group  `json:"containers"`
}

// Group is a number of containers of one size and priority. All groups of an application at one priority have the same size:
// a ResourceManager supports only one size per priority.
type Group struct {
	Count    int      `json:"count"`
	MB       int      `json:"mb"`
	Vcores   int      `json:"vcores,omitempty"`   // 1
	Priority int      `json:"priority,omitempty"` // 1; smaller goes first
	Hold     Holds    `json:"hold"`
	Nodes    []string `json:"nodes,omitempty"` // addresses of preferred nodes, with relaxed locality
}

// Holds are the hold times of containers, in allocation order: one for all, or one for each, cycling
// if there are more containers. In JSON it is a number or a list.
type Holds []Millis

// UnmarshalJSON reads a number or a list.
func (h *Holds) UnmarshalJSON(b []byte) error {
	var one Millis
	if json.Unmarshal(b, &one) == nil {
		*h = Holds{one}
		return nil
	}
	var list []Millis
	if err := json.Unmarshal(b, &list); err != nil {
		return errors.New("hold must be a number of milliseconds or a list of them")
	}
	*h = list
	return nil
}

// ReadWorkload reads a workload file, which WriteLines writes, and checks it.
func ReadWorkload(r io.Reader) ([]Application, error) {
	var list []Application
	s := bufio.NewScanner(r)
	s.Buffer(nil, 64<<20)
	for n := 1; s.Scan(); n++ {
		if len(s.Bytes()) == 0 {
			continue
		}
		var a Application
		err := json.Unmarshal(s.Bytes(), &a)
		if err == nil {
			err = a.check()
		}
		if err != nil {
			return nil, fmt.Errorf("reading the workload: line %d: %w", n, err)
		}
		list = append(list, a)
	}
	return list, s.Err()
}

func (a Application) check() error {
	if a.ID == "" || a.User == "" || a.Queue == "" {
		return errors.New("id, user and queue must be given")
	}
	if len(a.Containers) == 0 || a.Submit < 0 {
		return fmt.Errorf("application %s: it needs containers and a submit time of at least 0", a.ID)
	}
	sizes := map[int][2]int{}
	for _, g := range a.Containers {
		if g.Count < 1 || g.MB < 1 || len(g.Hold) == 0 || g.Vcores < 0 || g.Priority < 0 {
			return fmt.Errorf("application %s: a group needs count, mb and hold", a.ID)
		}
		p, size := max(g.Priority, 1), [2]int{g.MB, max(g.Vcores, 1)}
		if old, ok := sizes[p]; ok && old != size {
			return fmt.Errorf("application %s: two sizes at priority %d; a ResourceManager supports only one per priority", a.ID, p)
		}
		sizes[p] = size
	}
	return nil
}

// AMsOptions configure the AMs. The zero value of a field is its default.
type AMsOptions struct {
	Start     bool          // start a process (sleep) in each container; otherwise containers are only held
	Heartbeat time.Duration // between the answer to a call and the next call; 1 s
	Poll      time.Duration // interval of polling for the AM's registration token; 20 ms
	Threads   int           // 32
	HeapMB    int           // 512
	LateIDs   bool          // applications get their ids when they are submitted, as others do: a FIFO queue serves them by id
}

// AppResult is what an AM did and saw. Instants are on its own clock; what the ResourceManager did in between is in its log.
type AppResult struct {
	ID    string `json:"id"`
	App   string `json:"app"` // application ids are in the order of the workload
	User  string `json:"user"`
	Queue string `json:"queue"`

	Submit     Millis `json:"submit"`     // the submission was sent
	Submitted  Millis `json:"submitted"`  // and answered
	Accepted   Millis `json:"accepted"`   // the token was seen
	Registered Millis `json:"registered"` // the registration was answered
	Unregister Millis `json:"unregister"` // the last call was answered, all containers released
	End        Millis `json:"end"`
	State      string `json:"state"` // SUCCEEDED, FAILED, KILLED
	Why        string `json:"why"`

	Containers []ContainerResult `json:"containers"`
	Calls      []Millis          `json:"calls"` // when each call was sent; the first one carries all requests
	Took       []Millis          `json:"took"`  // until it was answered
}

// ContainerResult is one container as its AM saw it.
type ContainerResult struct {
	ID       string `json:"id"`
	Group    int    `json:"group"` // index of the last group of its priority
	Node     string `json:"node"`
	MB       int    `json:"mb"` // after the scheduler's rounding
	Vcores   int    `json:"vcores"`
	Hold     Millis `json:"hold"`
	Seen     Millis `json:"seen"`     // the answer that brought it
	Started  Millis `json:"started"`  // the NodeManager has accepted it; only with Start
	Released Millis `json:"released"` // the call that released it, or the answer that reported its end
	Exit     int    `json:"exit"`
	Lost     bool   `json:"lost"`    // preempted or failed; a replacement was requested
	Surplus  bool   `json:"surplus"` // over-allocated; released with the next call
	Error    string `json:"error"`   // the NodeManager's refusal
}

// AMsResult is the result of a workload.
type AMsResult struct {
	Zero Millis // time 0 of the submissions
	Apps []AppResult
	Cost Cost
}

// AMs runs a workload of unmanaged AMs, all in one JVM, and returns when all have ended, in the order in which they
// did. Each submits itself on schedule, registers, sends all its requests with the first call, calls at a fixed delay,
// holds each container from the answer that brought it, releases it with the first call after its hold time, and unregisters
// after the call that released the last.
func (c *Cluster) AMs(ctx context.Context, apps []Application, o AMsOptions) (AMsResult, error) {
	for _, a := range apps {
		if err := a.check(); err != nil {
			return AMsResult{}, err
		}
	}
	or := func(d, def time.Duration) string { return strconv.FormatInt(max(1, cmp.Or(d, def).Milliseconds()), 10) }
	mode, ids := "hold", "first"
	if o.Start {
		mode = "start"
	}
	if o.LateIDs {
		ids = "late"
	}
	type line struct {
		Zero Millis `json:"zero"` // in the first line, alone
		AppResult
	}
	lines, cost, err := client[Application, line](ctx, c, "masters", cmp.Or(o.HeapMB, 512), "Masters", apps,
		mode, or(o.Heartbeat, time.Second), or(o.Poll, 20*time.Millisecond), strconv.Itoa(cmp.Or(o.Threads, 32)), ids)
	res := AMsResult{Cost: cost}
	for _, l := range lines {
		if l.Zero != 0 {
			res.Zero = l.Zero
		} else {
			res.Apps = append(res.Apps, l.AppResult)
		}
	}
	return res, err
}
