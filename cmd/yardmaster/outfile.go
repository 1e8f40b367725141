package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/yardmaster/yardmaster/internal/securefile"
)

// outFile is a file that a verb will write. It is made before any work is done, so that a place that cannot be written to is
// told at once and not after an hour, and it gets its name when it is whole. A nil *outFile is one that nobody asked for.
type outFile struct {
	path string
	f    *os.File
	temp *securefile.Temp // nil: a device or a pipe, which is written in place
	left *leftovers
	done bool
}

// prepare makes ready to write path; nil for "".
func prepare(ctx context.Context, path string) (*outFile, error) {
	if path == "" {
		return nil, nil
	}
	st, err := os.Stat(path)
	switch {
	case err == nil && st.IsDir():
		return nil, fmt.Errorf("%s is a folder: name a file in it", path)
	case err == nil && !st.Mode().IsRegular():
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, cannotWrite(path, err)
		}
		return &outFile{path: path, f: f}, nil
	}
	securefile.RemoveLeftovers(path) // of a command that was killed
	temp, err := securefile.Create(path, 0o666)
	if err != nil {
		return nil, cannotWrite(path, err)
	}
	o := &outFile{path: path, f: temp.File, temp: temp, left: leftoversOf(ctx)}
	o.left.add(path)
	return o, nil
}

// outFiles are the files that a verb will write, by the flag that names them.
type outFiles map[string]*outFile

// prepareAll makes ready to write files, each given as its flag and its path; "" is none.
func prepareAll(ctx context.Context, files ...[2]string) (outFiles, error) {
	out, seen := outFiles{}, map[string]string{}
	for _, f := range files {
		flag, path := f[0], f[1]
		if path == "" {
			continue
		}
		if other, taken := seen[filepath.Clean(path)]; taken {
			out.discard()
			return nil, misuse("", "--%s and --%s name the same file: %s", other, flag, path)
		}
		seen[filepath.Clean(path)] = flag
		var err error
		if out[flag], err = prepare(ctx, path); err != nil {
			out.discard()
			return nil, fmt.Errorf("%s: %w", flag, err)
		}
	}
	return out, nil
}

func (o outFiles) discard() {
	for _, f := range o {
		f.discard()
	}
}

// cannotWrite names the file that was asked for, not the one it is written under meanwhile.
func cannotWrite(path string, err error) error {
	if dir := filepath.Dir(path); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot write %s: there is no folder %s", path, dir)
	}
	return fmt.Errorf("cannot write %s: %w", path, reason(err))
}

// reason is what the system said, without the operation and the path.
func reason(err error) error {
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &p):
		return p.Err
	case errors.As(err, &l):
		return l.Err
	}
	return err
}

// write writes the file as a whole or not at all.
func (o *outFile) write(write func(io.Writer) error) error {
	if o == nil {
		return nil
	}
	w := bufio.NewWriterSize(o.f, 1<<16)
	err := write(w)
	if err == nil {
		err = w.Flush()
	}
	switch {
	case err != nil:
	case o.temp == nil:
		err = o.f.Close()
	default:
		if err = o.temp.Commit(); errors.Is(err, securefile.ErrNotDurable) {
			err = nil // it can be made again
		}
	}
	if err != nil {
		o.discard()
		var p *fs.PathError
		var l *os.LinkError
		if errors.As(err, &p) && p.Path == o.f.Name() || errors.As(err, &l) {
			return cannotWrite(o.path, err)
		}
		return err // of what was to be written
	}
	o.done = true
	o.left.forget(o.path)
	return nil
}

// discard gives up: nothing stays behind. After write it does nothing.
func (o *outFile) discard() {
	if o == nil || o.done {
		return
	}
	o.done = true
	if o.temp == nil {
		_ = o.f.Close() // what was written is not wanted
		return
	}
	o.temp.Discard()
	o.left.forget(o.path)
}

// leftovers are the files that a command is about to write, so that even one that is told to end at once leaves no halves of them.
type leftovers struct {
	mu    sync.Mutex
	paths map[string]bool
}

type leftoversKey struct{}

func contextWith(ctx context.Context, l *leftovers) context.Context {
	return context.WithValue(ctx, leftoversKey{}, l)
}

// leftoversOf is where the verbs of a context note the files that they are about to write.
func leftoversOf(ctx context.Context) *leftovers {
	if l, ok := ctx.Value(leftoversKey{}).(*leftovers); ok {
		return l
	}
	return &leftovers{}
}

func (l *leftovers) add(paths ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.paths == nil {
		l.paths = map[string]bool{}
	}
	for _, p := range paths {
		l.paths[p] = true
	}
}

func (l *leftovers) forget(path string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.paths, path)
}

func (l *leftovers) remove() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for p := range l.paths {
		securefile.RemoveLeftovers(p)
	}
}
