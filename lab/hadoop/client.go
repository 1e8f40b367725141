package hadoop

import (
	"bufio"
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

	"github.com/yardmaster/yardmaster/lab/proc"
)

// Millis is a number of milliseconds: a length of time, or an instant since 1970.
type Millis int64

// Duration is the length of time.
func (m Millis) Duration() time.Duration { return time.Duration(m) * time.Millisecond }

// Time is the instant, in UTC.
func (m Millis) Time() time.Time { return time.UnixMilli(int64(m)).UTC() }

// Cost is what a client took.
type Cost struct {
	Wall time.Duration
	CPU  time.Duration
	RSS  int64 // bytes, at most
}

// WriteLines writes one JSON object a line.
func WriteLines[T any](w io.Writer, list []T) error {
	enc := json.NewEncoder(w)
	for _, v := range list {
		if err := enc.Encode(v); err != nil {
			return err
		}
	}
	return nil
}

// client runs one of the lab's own classes with a list as its first argument, and calls line for each line of its output. Its
// log goes to log/NAME.log of the run; the list and the output are kept beside it.
func (c *Cluster) client(ctx context.Context, name string, heapMB int, class string, list func(io.Writer) error, args []string,
	line func([]byte) error,
) (Cost, error) {
	classes, err := c.own(ctx)
	if err != nil {
		return Cost{}, err
	}
	in, err := os.CreateTemp(filepath.Join(c.Dir, "log"), name+"-*.in")
	if err != nil {
		return Cost{}, err
	}
	base := strings.TrimSuffix(in.Name(), ".in")
	log, err1 := os.Create(base + ".log")
	out, err2 := os.Create(base + ".out")
	defer func() { _, _, _ = in.Close(), log.Close(), out.Close() }()
	if err := errors.Join(err1, err2, list(in)); err != nil {
		return Cost{}, fmt.Errorf("writing the list for %s: %w", class, err)
	}
	cmd := c.javaWith(ctx, heapMB, classes, class, append([]string{in.Name()}, args...)...)
	cmd.Stderr = log
	cmd.WaitDelay = 5 * time.Second
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return Cost{}, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return Cost{}, fmt.Errorf("running %s: %w", class, err)
	}
	readErr := readLines(io.TeeReader(pipe, out), line)
	if readErr != nil {
		_ = cmd.Process.Kill()
	}
	err = cmd.Wait()
	cost := Cost{Wall: time.Since(began), CPU: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		cost.RSS = u.Maxrss << 10
	}
	switch {
	case readErr != nil:
		return cost, fmt.Errorf("reading what %s tells: %w; see %s", class, readErr, base+".out")
	case err != nil && ctx.Err() != nil:
		return cost, ctx.Err()
	case err != nil:
		b, _ := os.ReadFile(log.Name())
		return cost, fmt.Errorf("running %s: %w; the last lines of %s:\n%s", class, err, log.Name(), LastLines(string(b), 12))
	}
	return cost, nil
}

func readLines(r io.Reader, f func([]byte) error) error {
	s := bufio.NewScanner(r)
	s.Buffer(nil, 64<<20)
	for s.Scan() {
		if err := f(s.Bytes()); err != nil {
			return err
		}
	}
	return s.Err()
}

// LogDir is where the logs of the lab's processes are.
func (c *Cluster) LogDir() string { return filepath.Dir(proc.Log(c.Dir, "x")) }

// Job is a MapReduce job to be run.
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
	MasterMB int `json:"-"`

	Conf map[string]string `json:"conf,omitempty"` // further settings of the job
}

// JobResult is how a job went. There are two of them for a terasort: one for the job that makes its input.
type JobResult struct {
	ID    string `json:"id"`
	Kind  string `json:"kind"`
	User  string `json:"user"`
	Queue string `json:"queue"`
	App   string `json:"app"`
	Job   string `json:"job"`

	Submit    Millis `json:"submit"`    // the client began
	Submitted Millis `json:"submitted"` // the client knew it was accepted
	Started   Millis `json:"started"`   // as the ResourceManager saw it; not without waiting
	End       Millis `json:"end"`
	State     string `json:"state"` // SUCCEEDED, FAILED, KILLED; REFUSED if it was never submitted; empty without waiting
	Why       string `json:"why"`
}

// Jobs submits jobs in time, all from one JVM. With wait it returns when all have ended, in the order in which they did;
// otherwise when all are submitted. A job that fails is no error; what comes back tells. Needs HDFS.
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
	var results []JobResult
	_, err := c.client(ctx, "jobs", 256, "Jobs", func(w io.Writer) error { return WriteLines(w, list) }, []string{mode}, func(b []byte) error {
		var r JobResult
		if err := json.Unmarshal(b, &r); err != nil {
			return err
		}
		results = append(results, r)
		return nil
	})
	return results, err
}

// withSizes puts the sizes where MapReduce looks for them. The heaps stay small: they are what the machine really gives.
func (j Job) withSizes() Job {
	conf := maps.Clone(j.Conf)
	if conf == nil {
		conf = map[string]string{}
	}
	for name, mb := range map[string]int{
		"mapreduce.map.memory.mb": j.MapMB, "mapreduce.reduce.memory.mb": j.ReduceMB, "yarn.app.mapreduce.am.resource.mb": j.MasterMB,
	} {
		if _, set := conf[name]; mb > 0 && !set {
			conf[name] = strconv.Itoa(mb)
		}
	}
	j.Conf = conf
	return j
}
