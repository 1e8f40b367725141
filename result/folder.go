package result

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/yardmaster/yardmaster/internal/securefile"
	"github.com/yardmaster/yardmaster/sim"
)

// Names of the files in a run's output folder.
const (
	JobsFile     = "jobs.parquet"
	TimelineFile = "timeline.parquet"
	ResultFile   = "result.json"
)

// Folder is a sim.Sink that writes a run's tables. Files are renamed into place when complete, so the
// folder never holds a partial one. A sink cannot fail: the first error stops the writing, and Close returns it.
type Folder struct {
	dir      string
	jobs     *pendingFile
	timeline *pendingFile
	jw       *rowWriter[JobRow]
	tw       *rowWriter[TimeRow]
	err      error
	closed   bool
}

var _ sim.Sink = (*Folder)(nil)

// NewFolder creates the folder, if missing, and starts its tables.
func NewFolder(dir string) (*Folder, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("making the output folder: %w", err)
	}
	f := &Folder{dir: dir}
	var err error
	if f.jobs, err = create(dir, JobsFile); err != nil {
		return nil, err
	}
	if f.timeline, err = create(dir, TimelineFile); err != nil {
		f.jobs.discard()
		return nil, err
	}
	f.jw, f.tw = newRowWriter[JobRow](f.jobs.w, "jobs"), newRowWriter[TimeRow](f.timeline.w, "timeline")
	return f, nil
}

// Job writes a row of jobs.parquet.
func (f *Folder) Job(r *sim.JobRecord) {
	if f.err == nil {
		f.err = f.jw.write(RowOf(r))
	}
}

// Sample writes a row of timeline.parquet for every queue.
func (f *Folder) Sample(s *sim.Sample) {
	for i := range s.Queues {
		if f.err != nil {
			return
		}
		q := &s.Queues[i]
		f.err = f.tw.write(TimeRow{
			From: s.From.Seconds(), To: s.To.Seconds(), Queue: q.Name,
			Containers: round(q.Containers), Mem: round(q.Mem), Running: q.Running, Waiting: q.Waiting, Pending: q.Pending,
		})
	}
}

// Close completes both tables and renames them into place. If anything failed, neither appears.
func (f *Folder) Close() error {
	if f.closed {
		return f.err
	}
	f.closed = true
	if f.err == nil {
		f.err = errors.Join(f.jw.close(), f.tw.close())
	}
	if f.err == nil {
		f.err = errors.Join(f.jobs.finish(), f.timeline.finish())
	}
	if f.err == nil {
		f.err = errors.Join(f.jobs.rename(), f.timeline.rename())
	}
	if f.err != nil {
		f.jobs.discard()
		f.timeline.discard()
	}
	return f.err
}

// Discard aborts: nothing of this run stays in the folder. After Close it is a no-op.
func (f *Folder) Discard() {
	if !f.closed {
		f.closed = true
		f.err = errors.New("the output folder was discarded")
		f.jobs.discard()
		f.timeline.discard()
	}
}

// WriteResult writes result.json.
func (f *Folder) WriteResult(r *Run) error {
	p, err := create(f.dir, ResultFile)
	if err != nil {
		return err
	}
	if err := errors.Join(r.WriteJSON(p.w), p.finish()); err != nil {
		p.discard()
		return err
	}
	return p.rename()
}

// pendingFile is a file not yet renamed into place.
type pendingFile struct {
	f    *securefile.Temp
	w    *bufio.Writer
	name string
}

func create(dir, name string) (*pendingFile, error) {
	path := filepath.Join(dir, name)
	securefile.RemoveLeftovers(path) // of a run that was killed
	f, err := securefile.Create(path, 0o666)
	if err != nil {
		return nil, fmt.Errorf("writing %s: %w", name, err)
	}
	return &pendingFile{f, bufio.NewWriterSize(f, 64<<10), path}, nil
}

func (p *pendingFile) finish() error {
	if err := errors.Join(p.w.Flush(), p.f.Sync()); err != nil {
		return fmt.Errorf("writing %s: %w", p.name, err)
	}
	return nil
}

func (p *pendingFile) rename() error {
	if err := p.f.Commit(); err != nil && !errors.Is(err, securefile.ErrNotDurable) { // a run can be repeated
		return fmt.Errorf("writing %s: %w", p.name, err)
	}
	return nil
}

func (p *pendingFile) discard() { p.f.Discard() }
