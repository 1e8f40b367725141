package lab

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Process is a program of the control plane, or one beside it.
type Process struct {
	name, path string
	args       []string
	log        string
	ready      func(context.Context) error // nil: ready at once
	cmd        *exec.Cmd
	exited     chan struct{}
}

func (l *Lab) process(name, path string, args ...string) *Process {
	p := &Process{name: name, path: path, args: args, log: filepath.Join(l.Dir, name+".log")}
	l.processes = append(l.processes, p)
	return p
}

// Run starts another program, which ends with the lab at the latest. Its log is NAME.log in the lab's folder.
func (l *Lab) Run(t testing.TB, name, path string, args ...string) *Process {
	t.Helper()
	p := l.process(name, path, args...)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

// starts runs on a thread that lives as long as the tests: the kernel kills our children when the thread that made them ends, so that nothing survives a panic.
var starts = make(chan func())

func init() {
	go func() {
		runtime.LockOSThread()
		for f := range starts {
			f()
		}
	}()
}

// Start runs the program, again if it ran before, and waits until it is ready.
func (p *Process) Start() error {
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	p.cmd = exec.Command(p.path, p.args...)
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.SysProcAttr = log, log, withParent()
	done := make(chan error)
	starts <- func() { done <- p.cmd.Start() }
	if err := <-done; err != nil {
		return err
	}
	exited := make(chan struct{})
	p.exited = exited
	go func(cmd *exec.Cmd) { _ = cmd.Wait(); close(exited) }(p.cmd)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for p.ready != nil && p.ready(ctx) != nil {
		select {
		case <-exited:
			return fmt.Errorf("%s ended before it was ready; its log ends:\n%s", p.name, p.tail())
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready after a minute; its log ends:\n%s", p.name, p.tail())
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil
}

// Kill ends the program as a power cut would.
func (p *Process) Kill() { p.Signal(syscall.SIGKILL) }

// Signal sends a signal that ends the program, and waits for the end.
func (p *Process) Signal(signal os.Signal) {
	if p.exited == nil {
		return
	}
	_ = p.cmd.Process.Signal(signal)
	<-p.exited
}

// Exited is closed when the program has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// PID is the id of the process since the last start.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// CPU is the processor time used since the last start.
func (p *Process) CPU() (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	// The second field is the name, in brackets; user and system time are the 14th and 15th, in hundredths of a second.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	user, err1 := strconv.Atoi(fields[11])
	system, err2 := strconv.Atoi(fields[12])
	if err1 != nil || err2 != nil {
		return 0, fmt.Errorf("%s: %q", p.name, stat)
	}
	return time.Duration(user+system) * 10 * time.Millisecond, nil
}

func (p *Process) tail() string {
	text, _ := os.ReadFile(p.log)
	return string(text[max(0, len(text)-2000):])
}
