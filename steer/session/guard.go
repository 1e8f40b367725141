package session

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/yardmaster/yardmaster/internal/securefile"
	"github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/steer/drive/live"
)

// A guard is a second process that restores when the steerer ends without having done so. It reads a pipe whose other end only
// the steerer holds: the kernel closes it however the steerer ends. The steerer's last message says what state it was in. A steerer that misses its
// heartbeats is killed first, so that it cannot resume later: nothing else takes its journal from it.
const (
	signOfLife = "beat\n"
	standDown  = "done\n" // clean exit: there is nothing to do
	hasLock    = "lock\n" // it holds ZooKeeper's lock, which outlives it by some seconds
	noLock     = "none\n" // it no longer holds that lock: somebody else may
)

// GuardFile names the guard's process, in the journal's folder.
const GuardFile = "guard"

const (
	guardTimeout = 24 * time.Hour   // how long a guard keeps trying
	guardWait    = 30 * time.Second // how long a steerer waits for an active guard
	killedWithin = 10 * time.Second // how long a killed process may take to end; one that waits for a disk may take for ever
	HolderLeaves = time.Second      // a process that was killed may hold its lock a moment longer
	strangerWait = 3 * time.Second  // how long a restore waits for a process of another account that holds the machine's lock
	heirWait     = 5 * time.Minute  // how long a guard waits for the next steerer to restore: longer than that one tries
)

// guard is the running guard, as the steerer sees it.
type guard struct {
	dir    string
	args   []string
	notice func(format string, args ...any)

	each time.Duration // between two heartbeats

	mu      sync.Mutex
	beaten  time.Time // time of the last heartbeat
	cmd     *exec.Cmd
	pipe    *os.File
	word    string        // the last message sent
	ended   chan struct{} // closed when cmd has exited
	leaving bool
}

// startGuard starts this program a second time, with arguments that make it the guard of a journal. A guard that exits early is
// replaced.
func startGuard(dir string, args []string, stalled time.Duration, notice func(format string, args ...any)) (*guard, error) {
	stalled = max(stalled, time.Second)
	g := &guard{dir: dir, args: append(args, "--stalled-after="+stalled.String()), each: stalled / beatsWithin, notice: notice}
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.start(); err != nil {
		return nil, err
	}
	return g, nil
}

func (g *guard) pid() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.cmd.Process.Pid
}

func (g *guard) start() error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("cannot find this program to start its guard: %w", err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("cannot start the guard: %w", err)
	}
	cmd := exec.Command(self, g.args...)
	cmd.Stdin, cmd.Stderr = r, os.Stderr
	standApart(cmd)
	err = cmd.Start()
	r.Close()
	if err == nil {
		err = notePID(g.dir, cmd.Process.Pid)
	}
	if err != nil {
		w.Close() // one that has started has nothing to do
		return fmt.Errorf("cannot start the guard: %w", securefile.Cause(err))
	}
	g.cmd, g.pipe, g.ended = cmd, w, make(chan struct{})
	_ = g.tell(g.word) // it has just started
	go g.watch(cmd, g.ended)
	return nil
}

// say tells the guard the steerer's state.
func (g *guard) say(word string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	_ = g.tell(word) // a replacement gets the message again
}

// beat sends a heartbeat, unless there was one a moment ago. It does not wait for a guard that does not read.
func (g *guard) beat() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now := time.Now(); now.Sub(g.beaten) >= g.each/2 {
		g.beaten = now
		_ = g.write(signOfLife) // as below
	}
}

// tell sends the guard a message. A guard that has exited is replaced, and gets the message then; so is one that has not read for so long that the pipe is full.
func (g *guard) tell(word string) error {
	if g.word = word; word == "" {
		return nil
	}
	err := g.write(word)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		_ = g.cmd.Process.Kill() // it may have exited meanwhile
	}
	return err
}

// write does not wait for a guard that does not read.
func (g *guard) write(text string) error {
	_ = g.pipe.SetWriteDeadline(time.Now().Add(10 * time.Millisecond)) // pipes support deadlines
	_, err := io.WriteString(g.pipe, text)
	return err
}

// watch waits for a guard to exit, and replaces it if the steerer is still running.
func (g *guard) watch(cmd *exec.Cmd, ended chan struct{}) {
	err := cmd.Wait()
	close(ended)
	pause := time.Second // do not restart a crashing guard in a tight loop
	for told := false; ; pause = 10 * time.Second {
		time.Sleep(pause)
		left, again := g.replace()
		switch {
		case left:
			return
		case again == nil:
			g.notice("The guard has ended (%v): process %d stands guard now.", err, g.pid())
			return
		case !told:
			g.notice("The guard has ended (%v), and no other can be started: %v. Trying again.", err, again)
			told = true
		}
	}
}

// replace starts another guard, unless the steerer is exiting.
func (g *guard) replace() (left bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.leaving {
		return true, nil
	}
	g.pipe.Close() // closing twice is harmless
	return false, g.start()
}

// end releases the guard, if there is nothing left for it to do, and waits for it. Otherwise the guard starts to restore; the error is that there is no
// guard to do so.
func (g *guard) end(done bool) (err error) {
	g.mu.Lock()
	g.leaving = true
	if g.tell(map[bool]string{true: standDown, false: noLock}[done]) != nil && !done { // it is needed now
		g.pipe.Close()
		err = g.start()
	}
	g.pipe.Close() // closing twice is harmless
	g.mu.Unlock()
	if done {
		select {
		case <-g.ended:
		case <-time.After(killedWithin): // it may be suspended
			_ = g.cmd.Process.Kill() // it may have exited meanwhile
		}
		_ = os.Remove(filepath.Join(g.dir, GuardFile))
	}
	return err
}

// guarded reports whether a process is the guard of a journal.
func guarded(dir string, pid int) bool {
	text, err := securefile.ReadFile(filepath.Join(dir, GuardFile), 64)
	n, bad := strconv.Atoi(strings.TrimSpace(string(text)))
	return err == nil && bad == nil && n == pid
}

// notePID records which process is the guard of a journal.
func notePID(dir string, pid int) error {
	return securefile.WriteFile(filepath.Join(dir, GuardFile), []byte(strconv.Itoa(pid)+"\n"), 0o600)
}

// OpenJournal opens a journal. If a guard holds it, openJournal waits: the guard is restoring, and will exit.
func OpenJournal(ctx context.Context, dir string, notice func(format string, args ...any)) (*live.DiskJournal, error) {
	begin, told := time.Now(), false
	for {
		j, err := live.OpenJournal(dir)
		var held *live.HeldError
		if !errors.As(err, &held) {
			return j, err
		}
		timeout := HolderLeaves
		if guarded(dir, held.PID) {
			if timeout = guardWait; !told {
				notice("A guard is restoring what a steerer left behind: waiting for it.")
				told = true
			}
		}
		if time.Since(begin) > timeout {
			if timeout == guardWait {
				err = fmt.Errorf("a guard is still restoring what a steerer left behind: see its messages, or end it with kill -9 %d and try again: %w", held.PID, err)
			}
			return nil, err
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// standGuard waits for the steerer to end, and returns its last message. A steerer that stops sending heartbeats, once it has sent one, is
// killed; stuck says that even so it has not ended. No signal ends the guard: a service manager sends the same ones to the steerer, which may need the
// guard after that.
func standGuard(stalled time.Duration, tell func(format string, args ...any)) (word string, killed, stuck bool) {
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	pid := os.Getppid()
	steerer, err := os.FindProcess(pid) // a handle: safe against PID reuse
	if err != nil || os.Getppid() != pid || pid == 1 {
		steerer = nil // it has ended, or nobody in its container can kill it
	}
	words := make(chan string)
	go func() {
		defer close(words)
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			words <- in.Text() + "\n"
		}
	}()
	// Silence is counted in ticks of our own: a guard that was suspended together with the steerer has not waited.
	tick := time.NewTicker(max(stalled, time.Second) / beatsWithin)
	defer tick.Stop()
	silent, beats := 0, false
	var end <-chan time.Time
	for {
		select {
		case said, more := <-words:
			if !more {
				return word, end != nil, false
			}
			silent = 0
			if said == signOfLife {
				beats = true
			} else {
				word = said
			}
		case <-tick.C:
			if silent++; !beats || silent <= beatsWithin || steerer == nil || end != nil {
				continue
			}
			tell("the steerer, process %d, has sent no heartbeat for %v: killing it", pid, stalled)
			if err := steerer.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
				tell("it cannot be killed: %v", err)
				silent = 0
				continue
			}
			end = time.After(killedWithin)
		case <-end:
			return word, true, true
		}
	}
}

// inherit opens the journal of a steerer that has ended. If the next steerer is already running, that one restores first: inherit waits until
// it has, within its timeout, and takes over if it could not. It returns nothing if there is nothing left to do.
func inherit(ctx context.Context, dir string, within time.Duration, tell func(format string, args ...any)) (*live.DiskJournal, error) {
	_, left, _ := live.ReadJournal(dir) // damage is reported when it is opened
	var last int64
	for i := range left {
		last = max(last, left[i].Seq)
	}
	for end := time.Now().Add(within); ; {
		j, err := OpenJournal(ctx, dir, func(string, ...any) {})
		var held *live.HeldError
		if !errors.As(err, &held) || ctx.Err() != nil {
			return j, err
		}
		_, open, _ := live.ReadJournal(dir)
		put := !slices.ContainsFunc(open, func(e drive.Entry) bool { return e.Seq <= last })
		if !put && time.Now().Before(end) {
			continue
		}
		if !put {
			tell("process %d holds the journal and restores", held.PID)
		}
		return nil, nil
	}
}

// claim records this process as the active guard.
func claim(dir string) {
	_ = notePID(dir, os.Getpid()) // without it, a new steerer waits less long
}
