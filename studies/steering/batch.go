package steering

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/studies/lab/host"
	"github.com/yardmaster/yardmaster/studies/lab/proc"
	"github.com/yardmaster/yardmaster/studies/lab/steerer"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// bench is the cluster that batches run on.
type bench struct {
	size   Size
	c      *hadoop.Cluster
	rm     *rest.Client
	share  float64 // configured AM share
	binary string
	log    io.Writer
	number int               // of batches
	conf   map[string]string // of the jobs
}

const user = "ann"

// batchTimeout is the timeout of a batch. Hadoop 3.4.2 sometimes loses an AM: the container is allocated before the attempt waits for
// it, and is never launched.
const batchTimeout = 5 * time.Minute

var errStuck = errors.New("the batch timed out")

// batch runs one batch and returns its record.
func (n *bench) batch(ctx context.Context, a Arm, repetition, place int) (*Batch, error) {
	n.number++
	b := &Batch{
		Scheduler: n.c.Scheduler, Arm: a.Name, Repetition: repetition, Place: place, At: time.Now().UTC().Truncate(time.Second), Hadoop: n.c.Version,
		Load: host.LoadAverage(host.OneMinute), Preset: a.Share,
	}
	if err := n.empty(ctx); err != nil {
		return nil, err
	}
	if a.Share != n.share {
		w, err := set(ctx, n.c, n.rm, n.share, a.Share)
		if err != nil {
			return nil, err
		}
		b.Set, n.share = w, a.Share
	}
	if err := n.settled(ctx); err != nil {
		return nil, err
	}
	w := newWatch(n.rm)
	watching, stop := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() { w.run(watching); close(watched) }()
	defer func() { stop(); <-watched }()

	var p *steerer.Process
	if a.Policy != "" {
		var err error
		if p, b.Command, err = n.steer(ctx, a, repetition); err != nil {
			return nil, err
		}
		defer p.End()
	}
	inTime, cancel := context.WithTimeout(ctx, batchTimeout)
	defer cancel()
	res, err := n.c.Jobs(inTime, n.jobs(), true)
	if err != nil {
		if inTime.Err() != nil && ctx.Err() == nil {
			err = fmt.Errorf("%w: %w", errStuck, err)
		}
		return nil, err
	}
	for _, j := range res {
		if j.State != "SUCCEEDED" {
			return nil, fmt.Errorf("job %s: %s %s", j.ID, j.State, j.Why)
		}
	}
	if !proc.Await(ctx, 30*time.Second, 200*time.Millisecond, func() bool { return w.ended() == len(res) }) {
		return nil, errors.New("the ResourceManager does not show all jobs as ended within 30 s")
	}
	over := time.Now()
	if p != nil {
		if err := end(p); err != nil {
			return nil, err
		}
		b.After = time.Since(over).Round(time.Millisecond)
	}
	stop()
	<-watched
	if err := w.fill(b); err != nil {
		return nil, err
	}
	if p != nil {
		if n.c.Scheduler == "fair" {
			list, err := reloads(n.c.RMLog(), w.from)
			if err != nil {
				return nil, err
			}
			for _, at := range list {
				b.Reloads = append(b.Reloads, at.UnixMilli()-b.Zero)
			}
		}
		b.fill(p)
	}
	if err := n.tasks(ctx, b); err != nil {
		return nil, err
	}
	if err := n.clean(ctx); err != nil {
		return nil, err
	}
	return b, b.whole(n.size.Jobs)
}

// jobs are the batch's: identical, submitted together by one user.
func (n *bench) jobs() []hadoop.Job {
	list := make([]hadoop.Job, n.size.Jobs)
	for i := range list {
		list[i] = hadoop.Job{
			ID: fmt.Sprintf("batch-%d-%d", n.number, i+1), Kind: "wordcount", User: user, Queue: queue, Maps: n.size.Maps, Reduces: n.size.Reduces, Bytes: n.size.Bytes, Conf: n.conf,
		}
	}
	return list
}

// empty waits until the AMs of the previous batch are gone: they stay some seconds after the end of their jobs.
func (n *bench) empty(ctx context.Context) error {
	return hadoop.Poll(ctx, time.Minute, "waiting for an empty cluster", func() (bool, error) {
		m, err := n.rm.Metrics(ctx)
		if err == nil && m.ContainersAllocated+m.AppsRunning+m.AppsPending > 0 {
			err = fmt.Errorf("%d containers, %d jobs running, %d waiting", m.ContainersAllocated, m.AppsRunning, m.AppsPending)
		}
		return false, err
	})
}

// settled waits until the Fair Scheduler must have read its file, whoever wrote it last: a controller that ended has restored the share and
// does not wait for it.
func (n *bench) settled(ctx context.Context) error {
	if n.c.Scheduler != "fair" {
		return nil
	}
	info, err := os.Stat(filepath.Join(n.c.Conf(), "fair-scheduler.xml"))
	if err != nil {
		return err
	}
	return host.Sleep(ctx, time.Until(info.ModTime().Add(n.size.FileWait+2*time.Second)))
}

// tasks adds the jobs' tasks from the history server, which lists a job some seconds after its end.
func (n *bench) tasks(ctx context.Context, b *Batch) error {
	for i := range b.Jobs {
		j := &b.Jobs[i]
		id := (&rest.App{ID: j.ID}).JobID()
		err := hadoop.Poll(ctx, 30*time.Second, "waiting for the history of "+id, func() (bool, error) {
			j.Tasks = nil
			for t, err := range n.rm.History().Tasks(ctx, id) {
				if err != nil {
					return false, err
				}
				j.Tasks = append(j.Tasks, Task{map[string]int64{"REDUCE": 1}[t.Type], t.StartTime - b.Zero, t.FinishTime - b.Zero})
			}
			if len(j.Tasks) != n.size.Maps+n.size.Reduces {
				return false, fmt.Errorf("%d of %d tasks", len(j.Tasks), n.size.Maps+n.size.Reduces)
			}
			return false, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// clean deletes inputs and outputs.
func (n *bench) clean(ctx context.Context) error {
	u := n.c.NameNode() + "/webhdfs/v1/tmp/jobs?" + url.Values{"op": {"DELETE"}, "recursive": {"true"}, "user.name": {user}}.Encode()
	if err := hadoop.Ask(ctx, http.DefaultClient, http.MethodDelete, u, nil, nil); err != nil {
		return fmt.Errorf("deleting the jobs' files: %w", err)
	}
	return nil
}

// The heaps and the compiler's settings of the lab.
const (
	amHeap   = "-Xmx256m"
	taskHeap = "-Xmx96m"
	smallJVM = " -XX:+UseSerialGC -XX:TieredStopAtLevel=1"
)

// archived are a job's settings with which its processes start from a class archive (class data sharing): Java loads and verifies
// thousands of classes at each start, and the archive has them ready. An archive is valid for a class path that begins with the
// one it was made for, so the jars come first and the configuration and the container's own folder after them.
func (n *bench) archived(options string) map[string]string {
	with := func(heap string) string {
		return heap + smallJVM + " " + options + " -cp " + n.c.Lib + "/*:" + n.c.Conf() + ":$PWD"
	}
	return map[string]string{
		"yarn.app.mapreduce.am.command-opts": with(amHeap), "mapreduce.map.java.opts": with(taskHeap), "mapreduce.reduce.java.opts": with(taskHeap),
	}
}

// archive makes the archive, unless an earlier run has left it: one job lists the classes it loads.
func (n *bench) archive(ctx context.Context) error {
	home, err := hadoop.Home()
	if err != nil {
		return err
	}
	file := filepath.Join(home, "classes-"+n.c.Version+".jsa")
	n.conf = n.archived("-Xshare:auto -XX:SharedArchiveFile=" + file)
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	fmt.Fprintln(n.log, "one job to learn which classes there are, for an archive of them")
	job := n.jobs()[0]
	job.ID = "classes"
	job.Conf = map[string]string{}
	lists := []string{"master", "map", "reduce"}
	for i, name := range []string{"yarn.app.mapreduce.am.command-opts", "mapreduce.map.java.opts", "mapreduce.reduce.java.opts"} {
		lists[i] = filepath.Join(n.c.Dir, "classes-"+lists[i])
		job.Conf[name] = n.archived("-XX:DumpLoadedClassList=" + lists[i])[name]
	}
	res, err := n.c.Jobs(ctx, []hadoop.Job{job}, true)
	if err != nil {
		return err
	}
	if len(res) != 1 || res[0].State != "SUCCEEDED" {
		return fmt.Errorf("the job that lists its classes: %+v", res)
	}
	if err := n.empty(ctx); err != nil { // a process writes its list at exit
		return err
	}
	all, err := union(lists, filepath.Join(n.c.Dir, "classes"))
	if err != nil {
		return err
	}
	made := file + ".new"
	java, err := hadoop.FindJava(ctx, n.c.Version)
	if err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, java.Command("java"), "-XX:+UseSerialGC", "-Xshare:dump", "-XX:SharedClassListFile="+all, "-XX:SharedArchiveFile="+made, "-cp", n.c.Lib+"/*").CombinedOutput()
	if err != nil {
		return fmt.Errorf("making the archive of classes: %w\n%s", err, out)
	}
	return os.Rename(made, file)
}

// union writes the names of all classes in the lists, without duplicates and without the lines that describe generated classes.
func union(lists []string, to string) (string, error) {
	seen := map[string]bool{}
	for _, l := range lists {
		b, err := os.ReadFile(l)
		if err != nil {
			return "", err
		}
		for s := range strings.SplitSeq(string(b), "\n") {
			if s != "" && !strings.ContainsAny(s, "#@: ") {
				seen[s] = true
			}
		}
	}
	return to, os.WriteFile(to, []byte(strings.Join(slices.Sorted(maps.Keys(seen)), "\n")+"\n"), 0o644)
}
