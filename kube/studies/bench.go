package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
)

// bench is what package lab needs of a test, outside of one. It has no other methods.
type bench struct {
	testing.TB
	ctx  context.Context
	log  io.Writer
	mu   sync.Mutex
	ends []func()
	errs []error
}

// within calls f as go test calls a test: what t fails with is the error, and what t is to clean up is cleaned up.
func within(ctx context.Context, log io.Writer, f func(t testing.TB)) error {
	ctx, cancel := context.WithCancel(ctx)
	b := &bench{ctx: ctx, log: log}
	run := func(f func()) { // Fatal ends the goroutine
		done := make(chan struct{})
		go func() {
			defer close(done)
			f()
		}()
		<-done
	}
	run(func() { f(b) })
	cancel()
	for _, end := range slices.Backward(b.ends) {
		run(end)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return errors.Join(b.errs...)
}

func (b *bench) Helper()                          {}
func (b *bench) Context() context.Context         { return b.ctx }
func (b *bench) Log(args ...any)                  { fmt.Fprintln(b.log, args...) }
func (b *bench) Logf(format string, args ...any)  { fmt.Fprintf(b.log, format+"\n", args...) }
func (b *bench) Skip(args ...any)                 { b.Fatal(args...) }
func (b *bench) Errorf(format string, arg ...any) { b.Error(fmt.Sprintf(format, arg...)) }
func (b *bench) Fatalf(format string, arg ...any) { b.Fatal(fmt.Sprintf(format, arg...)) }

func (b *bench) Error(args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.errs = append(b.errs, errors.New(fmt.Sprint(args...)))
}

func (b *bench) Fatal(args ...any) {
	b.Error(args...)
	runtime.Goexit()
}

func (b *bench) Failed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.errs) > 0
}

func (b *bench) Cleanup(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ends = append(b.ends, f)
}

func (b *bench) TempDir() string {
	dir, err := os.MkdirTemp("", "yardmaster-study-")
	check(b, err)
	b.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var built struct {
	sync.Mutex
	dir string
}

// program builds one of the commands of this module, once.
func program(t testing.TB, name string) string {
	t.Helper()
	built.Lock()
	defer built.Unlock()
	var err error
	if built.dir == "" {
		built.dir, err = os.MkdirTemp("", "yardmaster-programs-")
		check(t, err)
	}
	path := filepath.Join(built.dir, name)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", path, "github.com/yardmaster/yardmaster/kube/cmd/"+name)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", name, err, out)
	}
	return path
}

// module is the folder of this module.
func module(t testing.TB) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/yardmaster/yardmaster/kube").Output()
	check(t, err)
	return string(out[:len(out)-1])
}
