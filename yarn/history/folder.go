package history

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/yardmaster/yardmaster/workload/spark"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// Folder is a tree of history files. Paths have slashes and start at its root, which is "".
type Folder interface {
	List(ctx context.Context, path string) iter.Seq2[Entry, error]
	Open(ctx context.Context, path string) (io.ReadCloser, error)
	String() string
}

// Entry is a file or a folder.
type Entry struct {
	Name  string
	Dir   bool
	Owner string // as HDFS knows; "": on this machine it may be whoever copied it
}

// Local is a folder on this machine: a copy of the history server's done directory, or files collected by hand.
func Local(dir string) Folder { return local(dir) }

type local string

func (l local) String() string { return string(l) }

func (l local) List(_ context.Context, p string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		entries, err := os.ReadDir(filepath.Join(string(l), filepath.FromSlash(p)))
		if err != nil {
			yield(Entry{}, fmt.Errorf("history files: %w", err))
			return
		}
		for _, e := range entries {
			dir := e.IsDir()
			if e.Type()&os.ModeSymlink != 0 {
				if st, err := os.Stat(filepath.Join(string(l), filepath.FromSlash(p), e.Name())); err == nil {
					dir = st.IsDir()
				}
			}
			if !yield(Entry{e.Name(), dir, ""}, nil) {
				return
			}
		}
	}
}

func (l local) Open(_ context.Context, p string) (io.ReadCloser, error) {
	return os.Open(filepath.Join(string(l), filepath.FromSlash(p)))
}

// WebHDFS is the history server's done directory (mapreduce.jobhistory.done-dir) in HDFS.
func WebHDFS(files *rest.Files, root string) Folder { return &webhdfs{files, root} }

type webhdfs struct {
	files *rest.Files
	root  string
}

func (w *webhdfs) String() string { return w.root }

func (w *webhdfs) List(ctx context.Context, p string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for s, err := range w.files.List(ctx, path.Join(w.root, p)) {
			if !yield(Entry{s.Name, s.IsDir(), s.Owner}, err) || err != nil {
				return
			}
		}
	}
}

func (w *webhdfs) Open(ctx context.Context, p string) (io.ReadCloser, error) {
	return w.files.Open(ctx, path.Join(w.root, p))
}

// gone reports that a file does not exist (any more): the history server moves and removes them.
func gone(err error) bool { return errors.Is(err, os.ErrNotExist) || errors.Is(err, rest.ErrNotFound) }

// closed reports that access was denied.
func closed(err error) bool {
	return errors.Is(err, os.ErrPermission) || errors.Is(err, rest.ErrForbidden) || errors.Is(err, rest.ErrUnauthenticated)
}

// Logs presents a place of event logs as a folder: single files, and rolling logs as folders. A place with several of a name has the last one.
func Logs(src spark.Source, name string) Folder { return &logFolder{src: src, name: name} }

type logFolder struct {
	src  spark.Source
	name string
	logs map[string]map[string]spark.File // the files of each; that of a single one has no name
}

func (l *logFolder) String() string { return l.name }

func (l *logFolder) List(ctx context.Context, p string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if p != "" {
			for name := range l.logs[p] {
				if !yield(Entry{Name: name}, nil) {
					return
				}
			}
			return
		}
		l.logs = map[string]map[string]spark.File{}
		n := 0
		for f, err := range l.src(ctx) {
			if n++; n > maxApps {
				err = fmt.Errorf("%s has more than %d files: name a part of it", l.name, maxApps)
			}
			if err != nil {
				yield(Entry{}, err)
				return
			}
			log, name := path.Split(f.Name)
			if log = path.Base(log); !strings.HasPrefix(log, "eventlog_v2_") {
				log, name = name, ""
			}
			if l.logs[log] == nil {
				l.logs[log] = map[string]spark.File{}
			}
			l.logs[log][name] = f
		}
		for log, files := range l.logs {
			if !yield(Entry{Name: log, Dir: files[""].Open == nil}, nil) {
				return
			}
		}
	}
}

func (l *logFolder) Open(ctx context.Context, p string) (io.ReadCloser, error) {
	log, name := path.Split(p)
	if log == "" {
		log, name = name, ""
	}
	f, ok := l.logs[path.Clean(log)][name]
	if !ok {
		return nil, os.ErrNotExist
	}
	return f.Open(ctx)
}
