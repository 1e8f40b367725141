package cli

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

// outFile is an output file of a verb. It is created before any work is done, so that an unwritable path fails
// immediately and not after an hour, and gets its name when it is complete. A nil *outFile is one that was not requested.
type outFile struct {
	path string
	f    *os.File
	temp *securefile.Temp // nil: a device or a pipe, which is written in place
	left *leftovers
	done bool
}

// prepare gets ready to write path; nil for "".
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
	securefile.RemoveLeftovers(path) // of a killed command
	temp, err := securefile.Create(path, 0o666)
	if err != nil {
		return nil, cannotWrite(path, err)
	}
	o := &outFile{path: path, f: temp.File, temp: temp, left: leftoversOf(ctx)}
	o.left.add(path)
	return o, nil
}

// outFiles are a verb's output files, by flag.
type outFiles map[string]*outFile

// prepareAll gets ready to write files, each given as its flag and its path; "" is none.
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

// cannotWrite names the requested file, not the temporary one.
func cannotWrite(path string, err error) error {
	if dir := filepath.Dir(path); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot write %s: there is no folder %s", path, dir)
	}
	return fmt.Errorf("cannot write %s: %w", path, securefile.Cause(err))
}

// write writes the whole file or nothing.
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
			err = nil // it can be created again
		}
	}
	if err != nil {
		o.discard()
		var p *fs.PathError
		var l *os.LinkError
		if errors.As(err, &p) && p.Path == o.f.Name() || errors.As(err, &l) {
			return cannotWrite(o.path, err)
		}
		return err // from producing the content
	}
	o.done = true
	o.left.forget(o.path)
	return nil
}

// discard removes the file unless it is complete. After write it is a no-op.
func (o *outFile) discard() {
	if o == nil || o.done {
		return
	}
	o.done = true
	if o.temp == nil {
		_ = o.f.Close() // the content is discarded
		return
	}
	o.temp.Discard()
	o.left.forget(o.path)
}

// leftovers are the files that a command is about to write, so that even one that is killed by a second signal leaves no partial files.
type leftovers struct {
	mu    sync.Mutex
	paths map[string]bool
}

type leftoversKey struct{}

func contextWith(ctx context.Context, l *leftovers) context.Context {
	return context.WithValue(ctx, leftoversKey{}, l)
}

// leftoversOf is where the verbs of a context register their output files.
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
