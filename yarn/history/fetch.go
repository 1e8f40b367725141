package history

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"sync"
	"time"

	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/yarn/jhist"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

type importer struct {
	Options
	store *store
	names *names
	build builder
	apps  map[key]*app // that have ended
	site  site
	said  workload.Notes // of this call only: what is unavailable now
	new   int64

	running    map[key]*app
	unfinished workload.Slice // jobs of running applications. The store does not hold them: the next call knows more about them

	mu      sync.Mutex
	damaged leftOut
	denied  int64
	wrong   leftOut // files that are not what the servers know of their jobs

	listed map[key]*rest.Job // by the history server

	logs    map[key][]Entry // event logs, by the application in their names
	refused leftOut
}

// leftOut counts what is left out, with one reason: that of the smallest name, as workers come in any order.
type leftOut struct {
	n    int
	name string
	err  error
}

func (l *leftOut) add(name string, err error) {
	if l.n++; l.n == 1 || name < l.name {
		l.name, l.err = name, fmt.Errorf("%s: %w", name, err)
	}
}

// fetch reads all sources into the store.
func (im *importer) fetch(ctx context.Context) error {
	im.build.names = im.names
	for _, source := range []struct {
		asked bool
		read  func(context.Context) error
	}{
		{im.Logs != nil, im.listLogs},
		{im.RM, im.askManager}, {im.History, im.listHistory}, {im.Files != nil, im.readFiles}, {im.History, im.askHistory},
		{im.Logs != nil, im.readLogs}, {im.RM, im.takeOthers},
	} {
		if source.asked {
			if err := source.read(ctx); err != nil {
				return err
			}
		}
	}
	im.tellDamaged()
	im.tellCuts()
	im.store.state.cover(im.Since, im.until())
	return nil
}

// until is the end of the requested period.
func (im *importer) until() time.Time {
	if im.Until.IsZero() {
		return im.Now
	}
	return im.Until
}

// within reports whether an application that finished then is requested; 0: unknown.
func (im *importer) within(ms int64) bool {
	return ms <= 0 || (im.Since.IsZero() || ms >= im.Since.UnixMilli()) && (im.Until.IsZero() || ms <= im.Until.UnixMilli())
}

// overlap is how long before the end of the last call files may still have appeared: the history server moves files with a delay.
const overlap = 48 * time.Hour

// from is the first day to scan: all that were requested, or only the newest if earlier calls covered the others.
func (im *importer) from() time.Time {
	st := &im.store.state
	if st.Until > 0 && im.Since.UnixMilli() >= st.From && (st.From > 0 || !im.Since.IsZero()) || st.Until > 0 && st.From == 0 {
		if from := time.UnixMilli(st.Until).Add(-overlap); from.After(im.Since) {
			return from
		}
	}
	return im.Since
}

// readFiles reads the new history files, a few at a time.
func (im *importer) readFiles(ctx context.Context) error {
	im.progress(-1, "looking for history files")
	if !im.Check {
		im.tell("the history files are taken as they are: they were not checked against a history server's list")
	}
	dirs, err := folders(ctx, im.Files, im.from())
	if err != nil {
		if (closed(err) || gone(err)) && im.History {
			im.tell("the history files cannot be read%s: the history server is asked for every job instead", im.because(err))
			return nil
		}
		return err
	}
	reader := func() func(context.Context, ref) error {
		var p jhist.Parser // caches what files have in common
		return func(ctx context.Context, r ref) error { return im.readFile(ctx, &p, r) }
	}
	odd := 0
	err = parallel(ctx, im.Parallel, reader, func(do func(ref) bool) error {
		for i, dir := range dirs {
			list, n, err := files(ctx, im.Files, dir, im.want)
			if err != nil {
				return err
			}
			odd += n
			for k, r := range list {
				if !do(r) {
					return nil
				}
				share := (float64(i) + float64(k)/float64(len(list))) / float64(len(dirs))
				im.progress(share, fmt.Sprintf("%d jobs", im.store.count()))
			}
		}
		return nil
	})
	im.note(odd, "history files whose names do not say what they hold were read to find out")
	return err
}

// parallel processes what feed produces with n workers. The first error ends it; do then returns false.
func parallel[T any](ctx context.Context, n int, worker func() func(context.Context, T) error, feed func(do func(T) bool) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	queue := make(chan T)
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			work := worker()
			for x := range queue {
				if err := work(ctx, x); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	err := feed(func(x T) bool {
		select {
		case queue <- x:
			return true
		case <-ctx.Done():
			return false
		}
	})
	close(queue)
	wg.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// want reports whether a file is requested and new.
func (im *importer) want(r ref) bool {
	return im.within(int64(r.name.Finish)) && !im.store.has(r.key)
}

// readFile reads one job. A file that is damaged, gone or unreadable is counted; only an error that every file would have ends
// the import.
func (im *importer) readFile(ctx context.Context, p *jhist.Parser, r ref) error {
	h, err := im.parse(ctx, p, r.path)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && gone(err):
		return nil
	case err != nil && closed(err):
		im.mu.Lock()
		im.denied++
		im.mu.Unlock()
		return nil
	case errors.Is(err, errDamaged):
		im.leaveOut(&im.damaged, path.Base(r.path), err)
		return nil
	case err != nil:
		return err
	}
	k, ok := parseKey(h.ID)
	if !ok || im.store.has(k) || !im.within(int64(h.Finish)) {
		return nil
	}
	why, err := im.mismatch(ctx, k, h)
	if err != nil {
		return err
	}
	if why != nil {
		im.leaveOut(&im.wrong, h.ID, why)
		return nil
	}
	var conf jobConf
	if !im.NoConf {
		conf, err = im.readConf(ctx, path.Join(path.Dir(r.path), h.ID+"_conf.xml"))
		if err != nil {
			return err
		}
	}
	var t tally
	return im.take(im.build.mapReduce(h, conf, im.apps[k], &t), &t)
}

// leaveOut counts a job whose history cannot be used.
func (im *importer) leaveOut(l *leftOut, name string, err error) {
	im.mu.Lock()
	defer im.mu.Unlock()
	l.add(name, err)
}

// errDamaged marks errors of a file's content.
var errDamaged = errors.New("it cannot be understood")

func (im *importer) parse(ctx context.Context, p *jhist.Parser, name string) (*jhist.Job, error) {
	for try := 1; ; try++ {
		f, err := im.Files.Open(ctx, name)
		if err != nil {
			return nil, err
		}
		reading := &watched{r: f}
		h, err := p.Parse(reading)
		_ = f.Close() // read-only
		switch {
		case err == nil:
			return h, nil
		case reading.err == nil:
			return nil, fmt.Errorf("%w: %w", errDamaged, err)
		case try == 3 || ctx.Err() != nil:
			return nil, err
		}
	}
}

// readConf reads a job's configuration; nil if there is none.
func (im *importer) readConf(ctx context.Context, name string) (jobConf, error) {
	f, err := im.Files.Open(ctx, name)
	if err != nil {
		if gone(err) || closed(err) {
			return nil, nil
		}
		return nil, err
	}
	defer f.Close()
	reading := &watched{r: f}
	c, err := jhist.ReadConf(reading, wantedConf)
	if err != nil && reading.err != nil {
		return nil, err
	}
	return c, nil // a damaged one counts as none
}

// take gives a job to the store.
func (im *importer) take(j *workload.Job, t *tally) error {
	fresh, err := im.store.add(j, t)
	if fresh {
		im.mu.Lock()
		im.new++
		im.mu.Unlock()
	}
	return err
}

func (im *importer) progress(done float64, detail string) {
	if im.Progress != nil {
		im.Progress(done, detail)
	}
}

// note adds a note about this call that concerns n records.
func (im *importer) note(n int, format string, args ...any) {
	im.said.Add(int64(n), "YARN: "+format, args...)
}

// tell adds a note about the whole import.
func (im *importer) tell(format string, args ...any) { im.said.Say("YARN: "+format, args...) }

// because is an error in brackets. Errors name hosts, files and people, so an anonymised import leaves them out.
func (im *importer) because(err error) string {
	if err == nil || im.names.on() {
		return ""
	}
	return " (" + err.Error() + ")"
}

// tellCuts says which applications and jobs were not read as the servers sent them.
func (im *importer) tellCuts() {
	if im.Client == nil {
		return
	}
	list := im.Client.Cuts(0)
	if im.names.on() {
		im.note(len(list), "applications or jobs have texts that were cut, or are too large to be read")
		return
	}
	for _, text := range list {
		im.tell("%s", text)
	}
}

func (im *importer) tellDamaged() {
	im.note(im.damaged.n, "jobs' histories could not be read or understood and are left out%s", im.because(im.damaged.err))
	im.note(im.wrong.n, "history files are not what the servers know of their jobs and are left out%s", im.because(im.wrong.err))
	im.note(int(im.denied), "history files may not be read by this user: ask as a member of the history server's group")
}

// watched remembers whether reading itself failed.
type watched struct {
	r   io.Reader
	err error
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		w.err = err
	}
	return n, err
}
