package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/jobfile"
	"github.com/yardmaster/yardmaster/workload/spark"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// The event log of a Spark application is written by its owner's process, into a folder where everybody may write. So the ResourceManager says what
// the application is, who owns it, when it ran and how much it held; the log says only what it did with that. A log that contradicts the
// ResourceManager is refused, and its application stays totals.

var logName = regexp.MustCompile(`^(?:eventlog_v2_)?(application_[0-9]+_[0-9]+)(?:_[0-9]+)?(?:\.(?:lz4|lzf|snappy|zstd|gz|zip))?(?:\.inprogress)?$`)

// listLogs lists the event logs by the applications in their names: only those are held back for a log.
func (im *importer) listLogs(ctx context.Context) error {
	im.progress(-1, "looking for Spark event logs")
	im.logs = map[key][]Entry{}
	listed, odd := 0, 0
	for e, err := range im.Logs.List(ctx, "") {
		if err != nil {
			return fmt.Errorf("spark event logs: %w", err)
		}
		if listed++; listed > maxApps {
			return fmt.Errorf("spark event logs: %s has more than %d files: name a folder with fewer", im.Logs, maxApps)
		}
		m := logName.FindStringSubmatch(e.Name)
		k, ok := parseKey(append(m, "", "")[1])
		if !ok {
			odd++
			continue
		}
		im.logs[k] = append(im.logs[k], Entry{strings.Clone(e.Name), e.Dir, strings.Clone(e.Owner)})
	}
	if len(im.logs) == 0 {
		im.tell("there are no event logs of Spark applications on YARN where --spark-logs says")
	}
	im.note(odd, "files or folders among the Spark event logs do not have the name of a log of an application on YARN: left out")
	return nil
}

// waits says whether an application's log is to be read.
func (im *importer) waits(k key, a *app) bool { return len(im.logs[k]) > 0 && a.Type != "MAPREDUCE" }

// readLogs reads the logs of applications that the ResourceManager lists, a few at a time.
func (im *importer) readLogs(ctx context.Context) error {
	var list []*app
	for k, a := range im.apps {
		if im.waits(k, a) && !im.store.has(k) {
			list = append(list, a)
		}
	}
	slices.SortFunc(list, func(a, b *app) int { return cmp.Or(cmp.Compare(a.Finished, b.Finished), cmp.Compare(a.ID, b.ID)) })
	err := parallel(ctx, im.Parallel, func() func(context.Context, *app) error { return im.readLog }, func(do func(*app) bool) error {
		for i, a := range list {
			if !do(a) {
				break
			}
			im.progress(float64(i)/float64(len(list)), fmt.Sprintf("%d jobs", im.store.count()))
		}
		return nil
	})
	im.note(im.refused.n, "Spark applications stay totals, because their event logs cannot be used%s", im.because(im.refused.err))
	return err
}

// openLog reads the log of an application. HDFS vouches for who wrote a file: what is not of the application's owner is not its log.
func (im *importer) openLog(ctx context.Context, k key, a *app) (*spark.App, error) {
	logs := slices.DeleteFunc(slices.Clone(im.logs[k]), func(e Entry) bool { return e.Owner != "" && e.Owner != a.User })
	logs = slices.DeleteFunc(logs, func(e Entry) bool { // a copy of the folder may have both
		return slices.ContainsFunc(logs, func(whole Entry) bool { return whole.Name+".inprogress" == e.Name })
	})
	switch len(logs) {
	case 0:
		return nil, errors.New("its log was written by another user")
	case 1:
	default:
		return nil, errors.New("there are several logs of it, or of several attempts")
	}
	var files []spark.File
	add := func(name string) {
		files = append(files, spark.File{Name: name, Open: func(ctx context.Context) (io.ReadCloser, error) { return im.Logs.Open(ctx, name) }})
	}
	if !logs[0].Dir {
		add(logs[0].Name)
	} else {
		for e, err := range im.Logs.List(ctx, logs[0].Name) {
			if err != nil {
				return nil, err
			}
			if add(path.Join(logs[0].Name, e.Name)); len(files) > maxLogFiles {
				return nil, fmt.Errorf("its log has more than %d files", maxLogFiles)
			}
		}
	}
	whole := spark.Logs(files)
	if len(whole) != 1 {
		return nil, errors.New("its log has no events")
	}
	return whole[0].Read(ctx, nil)
}

// maxLogFiles is the number of files of a rolling log.
const maxLogFiles = 100_000

// readLog makes a job of an application and its log. If that fails the application stays as it is: see takeOthers.
func (im *importer) readLog(ctx context.Context, a *app) error {
	k, _ := parseKey(a.ID)
	var t tally
	var j *workload.Job
	log, err := im.openLog(ctx, k, a)
	if err == nil {
		if log.End == 0 && im.Now.Sub(time.UnixMilli(a.Finished)) < lateHistory {
			a.late = true // what the driver wrote last is not there yet
			return nil
		}
		j, err = im.build.spark(a, log, &t)
	}
	switch {
	case err == nil:
		return im.take(j, &t)
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, rest.ErrUnavailable) || errors.Is(err, rest.ErrUnauthenticated) || errors.Is(err, spark.ErrNoAnswer):
		return err // the next import reads it
	}
	im.leaveOut(&im.refused, a.ID, err)
	return nil
}

// spark makes a job of what the ResourceManager knows of an application, and its event log.
func (b *builder) spark(a *app, log *spark.App, t *tally) (*workload.Job, error) {
	if err := contradicts(a, log); err != nil {
		return nil, err
	}
	j, notes, err := log.Job(spark.Options{Running: true}) // it has ended, whatever its log says
	if err != nil {
		return nil, err
	}
	j.ID, j.Name, j.User, j.Queue = a.ID, b.names.job(a.Name), b.names.user(a.User), b.names.queue(a.Queue)
	j.Submit, j.Priority = unit.Time(a.Started)*unit.Millisecond, int(a.Priority)
	j.Observed = observed(j.Submit, unit.Time(a.Finished)*unit.Millisecond, a.Status)
	for i := range j.Stages {
		j.Stages[i].Pool = b.names.short("p", j.Stages[i].Pool)
		if b.names.on() {
			j.Stages[i].Name = fmt.Sprint(i) // it names files of the program
		}
	}
	if j.Keep.Start, err = b.executorStart(a, j, log); err != nil {
		return nil, err
	}
	if requests(j, a, log); j.AMStart > 0 {
		sample(&t.Samples.DriverStart, int64(j.AMStart/unit.Millisecond))
	}
	if err := cmp.Or(idles(j, a), jobfile.Check(j)); err != nil {
		return nil, err
	}
	t.FromLogs = 1
	t.ended(a.Status)
	for _, n := range notes {
		t.logged(n.Text, n.Count)
	}
	return j, nil
}

// Clocks of a cluster's machines differ by less than skew. A driver in client mode starts before it submits its application: it has at most
// spark.Early to find and upload what it needs.
const skew = 60_000 // ms

// contradicts says what in a log is not what the ResourceManager knows.
func contradicts(a *app, log *spark.App) error {
	switch {
	case log.ID != a.ID:
		return fmt.Errorf("the log is of %.40q", log.ID)
	case log.User != a.User:
		return fmt.Errorf("the log names user %.40q, the ResourceManager %.40q", log.User, a.User)
	case !a.launched():
		return errors.New("the ResourceManager does not say when its first container started")
	case log.Start == 0 || log.First < a.Started-spark.Early || log.Last > a.Finished+skew:
		return errors.New("the log's times are not those of the ResourceManager")
	}
	for i := range log.Executors {
		if x := &log.Executors[i]; x.Added < a.Launch-skew {
			return errors.New("the log has executors from before the application's first container")
		}
	}
	return nil
}

// idles says whether the driver's own work, without the tasks', takes longer than the application ran.
func idles(j *workload.Job, a *app) error {
	until := make([]unit.Time, len(j.Stages))
	var longest unit.Time
	for i := range j.Stages {
		for _, e := range j.Stages[i].After {
			until[i] = max(until[i], until[e.From])
		}
		until[i] += j.Stages[i].Delay
		longest = max(longest, until[i])
	}
	if longest += j.Keep.Tail; longest > unit.Time(a.Finished-a.Launch+skew)*unit.Millisecond {
		return fmt.Errorf("by its log its driver worked for %v, which is longer than it ran", longest)
	}
	return nil
}

const (
	// A Spark AM's process ends soon after its application; compare linger.
	sparkLinger = 600 // ms
	// A simulated executor is held longer than its start and its tasks take: until its AM hears of it, and until its process has ended.
	aroundExecutor = 750 // ms
	// requestDelay is how long it takes at best from the driver's being ready until a simulated AM hears of its first containers.
	requestDelay = 1000 // ms
	// maxRequest is how much longer it may take because the AM requests late. What takes even longer is a wait for room.
	maxRequest = 4000 // ms
	// maxExecutorStart is the longest that executors may have been held on average without being registered.
	maxExecutorStart = 5 * 60.0 // s
)

// executorStart is how long an executor takes to start, on average: what containers were held, by the ResourceManager's memory-seconds, beyond the
// AM and the time for which executors were registered. So the job holds what the ResourceManager counted. If the log cannot explain that, or the
// vcore-seconds, it has other containers than the application had. Of vcores, the ResourceManager counts one a container if its calculator knows
// memory only, as the simulated one does.
func (b *builder) executorStart(a *app, j *workload.Job, log *spark.App) (unit.Time, error) {
	ask, am := b.granted(j.Keep.Ask.Mem), b.granted(j.AM.Mem)
	switch {
	case len(log.Executors) == 0:
		return 0, errors.New("the log has no executor")
	case !j.Keep.Ask.Fits(b.site.MaxAllocation) || !j.AM.Fits(b.site.MaxAllocation):
		return 0, errors.New("the log has larger containers than the cluster allows")
	}
	life := float64(a.Finished+sparkLinger-a.Launch) / 1000
	end, registered := log.Ended(), 0.0
	for i := range log.Executors {
		x := &log.Executors[i]
		registered += float64(max(min(cmp.Or(x.Removed, end), end)-x.Added, 0)) / 1000
	}
	held := (float64(a.MemorySeconds) - float64(am)*life) / float64(ask) // container-seconds of executors
	each := (held - registered) / float64(len(log.Executors))
	if held < registered*0.98-float64(len(log.Executors)) || each > maxExecutorStart {
		return 0, fmt.Errorf("its executors were registered for %.0f s, and by the ResourceManager's memory-seconds they were held for %.0f s", registered, max(held, 0))
	}
	cores := held*float64(j.Keep.Ask.Cores) + life*float64(j.AM.Cores)
	if busy := float64(log.Busy) / 1000; busy > registered*float64(j.Keep.Slots)*1.1+skew/1000 {
		return 0, fmt.Errorf("by its log its tasks took %.0f s, in executors that ran %d at a time for %.0f s", busy, j.Keep.Slots, registered)
	}
	if got := float64(a.CoreSeconds); !near(got, held+life) && !near(got, cores) {
		return 0, fmt.Errorf("by its log it held %.0f vcore-seconds, by the ResourceManager %.0f", cores, got)
	}
	return unit.FromSeconds(max(each-aroundExecutor/1000.0, 0.001)), nil // 0 would mean that it is not known
}

// requests estimates when the AM requested its first executors, from when they registered. The driver is ready when it has heard that the AM is registered
// (client mode) or just before it registers (cluster mode); with dynamic allocation the log says when it asked. Executors that registered earlier
// than they can start were not all that was held: an AM may get more containers than it needs, which it returns.
func requests(j *workload.Job, a *app, log *spark.App) {
	first := j.Keep.Max
	if d := j.Keep.Dynamic; d != nil {
		first = max(d.Initial, 1)
	}
	ready := cmp.Or(log.Executors[0].Asked, log.Ready())
	if ready <= a.Launch || ready > log.Executors[0].Added {
		return
	}
	var early, all mean // from the request to registration: of the first executors, and of all whose request is known
	for i := range log.Executors {
		x := &log.Executors[i]
		if int64(i) < first {
			early.add(x.Added - ready)
		}
		if int64(i) < first || x.Asked > 0 {
			all.add(x.Added - cmp.Or(x.Asked, ready))
		}
	}
	j.Keep.Start = max(min(j.Keep.Start, unit.Time(all.value()-requestDelay)*unit.Millisecond), unit.Millisecond)
	late := early.value() - requestDelay - int64(j.Keep.Start/unit.Millisecond)
	j.AMStart = unit.Time(min(ready-a.Launch+min(max(late, 0), maxRequest), a.Finished-a.Launch)) * unit.Millisecond
}

type mean struct{ sum, n int64 }

func (m *mean) add(v int64)  { m.sum, m.n = m.sum+v, m.n+1 }
func (m *mean) value() int64 { return m.sum / m.n }

// near allows for rounding, and for what the AM's life is not exactly known.
func near(a, b float64) bool { return math.Abs(a-b) <= 0.05*b+10 }

// granted is the memory of a container for which so much was asked.
func (b *builder) granted(mem int64) int64 {
	step := b.step()
	return (max(mem, b.site.MinAllocation.Mem, 1) + step - 1) / step * step
}
