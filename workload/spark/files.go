package spark

import (
	"archive/zip"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/internal/securefile"
	"github.com/yardmaster/yardmaster/unit"
)

// File is one file of a place that keeps logs.
type File struct {
	Name string // with its folders, separated by slashes
	Size int64
	Open func(context.Context) (io.ReadCloser, error)
}

// Source lists the files of a place that keeps logs.
type Source func(context.Context) iter.Seq2[File, error]

// maxFiles bounds how many files of logs are taken at once.
const maxFiles = 1 << 22

// Logs finds all logs of a place.
func (s Source) Logs(ctx context.Context) ([]Log, error) {
	var files []File
	for f, err := range s(ctx) {
		if err != nil {
			return nil, err
		}
		if files = append(files, f); len(files) > maxFiles {
			return nil, fmt.Errorf("more than %d files of logs: name a folder with fewer", maxFiles)
		}
	}
	return Logs(files), nil
}

// Log is the log of one application: one file, or the files of a rolling log in their order.
type Log struct {
	Name      string
	Files     []File
	Compacted bool // the history server has dropped events of Spark jobs that had ended
}

// Size is how many bytes its files have.
func (l *Log) Size() (n int64) {
	for _, f := range l.Files {
		n += f.Size
	}
	return n
}

const rolling = "eventlog_v2_"

// Logs puts files together to logs. Later attempts of an application come first, and complete logs before those in progress. Files whose
// names are not those of logs are left out.
func Logs(files []File) []Log {
	logs := map[string]*Log{}
	for _, f := range files {
		dir, base := path.Split(f.Name)
		name := f.Name
		if strings.HasPrefix(path.Base(dir), rolling) {
			if !strings.HasPrefix(base, "events_") {
				continue
			}
			name = path.Clean(dir)
		}
		if strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || strings.HasPrefix(base, "appstatus_") || strings.HasSuffix(base, ".crc") {
			continue
		}
		if logs[name] == nil {
			logs[name] = &Log{Name: name}
		}
		logs[name].Files = append(logs[name].Files, f)
	}
	names := slices.SortedFunc(maps.Keys(logs), func(x, y string) int {
		return cmp.Or(strings.Compare(strings.TrimSuffix(y, ".inprogress"), strings.TrimSuffix(x, ".inprogress")), strings.Compare(x, y))
	})
	var all []Log
	for _, name := range names {
		l := logs[name]
		l.roll()
		all = append(all, *l)
	}
	return all
}

// roll sorts the files of a rolling log by their numbers. A compacted file stands for all up to its number.
func (l *Log) roll() {
	slices.SortStableFunc(l.Files, func(x, y File) int {
		return cmp.Or(cmp.Compare(order(x.Name), order(y.Name)), strings.Compare(x.Name, y.Name))
	})
	for i, f := range slices.Backward(l.Files) {
		if strings.HasSuffix(f.Name, ".compact") {
			l.Compacted, l.Files = true, l.Files[i:]
			return
		}
	}
}

// order is the number in events_N_...; 0 for other files.
func order(name string) int64 {
	n, _, _ := strings.Cut(strings.TrimPrefix(path.Base(name), "events_"), "_")
	v, err := strconv.ParseInt(n, 10, 64)
	if err != nil {
		return 0
	}
	return v
}

// Read reads a log. See the function Read.
func (l *Log) Read(ctx context.Context, each func(*Task)) (*App, error) {
	if len(l.Files) == 1 && strings.HasSuffix(l.Name, ".zip") {
		return l.readZip(ctx, each)
	}
	c := &chain{ctx: ctx, name: l.Name, files: l.Files}
	defer c.close()
	a, err := Read(c, l.Name, each)
	if a != nil && l.Compacted {
		a.tally.compacted++
	}
	return a, err
}

// chain reads files one after another, decompressed.
type chain struct {
	ctx   context.Context
	name  string // of the log
	files []File
	r     io.Reader
	done  func()
	n     unit.Bytes // read of all files
}

// maxLog is the size of a log, decompressed: entries of an archive may share their data.
const maxLog = 64 * unit.GiB

func (c *chain) close() {
	if c.done != nil {
		c.done()
	}
	c.r, c.done = nil, nil
}

func (c *chain) Read(p []byte) (int, error) {
	for {
		switch {
		case c.ctx.Err() != nil:
			return 0, c.ctx.Err()
		case c.n > maxLog:
			return 0, fmt.Errorf("%s holds more than %v of data: refused", c.name, maxLog)
		case c.r == nil && len(c.files) == 0:
			return 0, io.EOF
		case c.r == nil:
			if err := c.open(c.files[0]); err != nil {
				return 0, err
			}
			c.files = c.files[1:]
		}
		n, err := c.r.Read(p)
		c.n += unit.Bytes(n)
		if !errors.Is(err, io.EOF) {
			return n, err
		}
		c.close()
		if n > 0 {
			return n, nil
		}
	}
}

// reading hands out a file. What fails is not the end of its data, though the error may say that a connection ended.
type reading struct{ io.Reader }

func (r reading) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && err != io.EOF { // an error that wraps it is none of a file's end
		err = brokenError{err}
	}
	return n, err
}

// brokenError is an error of opening or reading a file, which says nothing about its data.
type brokenError struct{ err error }

func (e brokenError) Error() string { return e.err.Error() }

func (e brokenError) Is(target error) bool {
	return target != io.EOF && target != io.ErrUnexpectedEOF && errors.Is(e.err, target) // the targets themselves
}

func (c *chain) open(f File) error {
	r, err := f.Open(c.ctx)
	if err != nil {
		return brokenError{err}
	}
	plain, done, err := decompress(reading{r}, f.Name)
	if err != nil {
		_ = r.Close()
		return err
	}
	c.r, c.done = plain, func() {
		done()
		_ = r.Close() // read-only
	}
	return nil
}

// Limits of an archive, and of its directory, of which the library keeps all in several times the memory.
const (
	maxArchive   = 4 << 30
	maxDirectory = 4 << 20
)

// directory is an archive of which no more is read than its directory may have.
type directory struct {
	io.ReaderAt
	left int
}

func (d *directory) ReadAt(p []byte, at int64) (int, error) {
	if d.left -= len(p); d.left < 0 {
		return 0, errors.New("it lists too many files: unpack it and name the folder")
	}
	return d.ReaderAt.ReadAt(p, at)
}

// readZip reads what a history server gives for download: the log of the application, or those of all its attempts, of
// which it takes the last.
func (l *Log) readZip(ctx context.Context, each func(*Task)) (*App, error) {
	r, err := l.Files[0].Open(ctx)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	file, local := r.(*os.File)
	if !local {
		if file, err = os.CreateTemp("", "yardmaster-*.zip"); err != nil {
			return nil, err
		}
		defer func() {
			_ = file.Close()
			_ = os.Remove(file.Name())
		}()
		if _, err := io.Copy(file, io.LimitReader(r, maxArchive+1)); err != nil {
			return nil, fmt.Errorf("%s: %w", l.Name, err)
		}
	}
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	d := &directory{file, maxDirectory}
	z, err := zip.NewReader(d, size)
	switch {
	case size > maxArchive:
		return nil, fmt.Errorf("%s is larger than 4 GiB: unpack it and name the folder", l.Name)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", l.Name, err)
	}
	d.left = math.MaxInt
	var files []File
	for _, f := range z.File {
		if !f.FileInfo().IsDir() && !strings.HasSuffix(f.Name, ".zip") {
			files = append(files, File{path.Clean(f.Name), int64(f.UncompressedSize64), func(context.Context) (io.ReadCloser, error) { return f.Open() }})
		}
	}
	logs := Logs(files)
	if len(logs) == 0 {
		return nil, fmt.Errorf("%s holds no event log", l.Name)
	}
	return logs[0].Read(ctx, each)
}

// Local lists a file, or a folder with all below it.
func Local(root string) Source {
	return func(ctx context.Context) iter.Seq2[File, error] {
		return func(yield func(File, error) bool) {
			if to, err := filepath.EvalSymlinks(root); err == nil {
				root = to
			}
			err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
				switch {
				case ctx.Err() != nil:
					return ctx.Err()
				case err != nil && p == root:
					return err
				case err == nil && d.IsDir():
					return nil
				}
				f := File{Name: filepath.ToSlash(p), Open: func(context.Context) (io.ReadCloser, error) { return openLocal(p) }}
				if st, err := os.Stat(p); err == nil { // through links
					if f.Size = st.Size(); !d.IsDir() && !st.Mode().IsRegular() {
						return nil
					}
				}
				if !yield(f, nil) { // even if it cannot be read: the others can
					return fs.SkipAll
				}
				return nil
			})
			if err != nil {
				yield(File{}, err)
			}
		}
	}
}

// openLocal opens a regular file, through links. By now it may be another kind, for whose data one would wait without end.
func openLocal(p string) (io.ReadCloser, error) {
	p, err := filepath.EvalSymlinks(p)
	if err != nil {
		return nil, err
	}
	return securefile.OpenRegular(p, os.O_RDONLY, 0)
}
