//go:build unix

package cli

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/steer/drive/live"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/yard"
)

// leftBehind is a journal with one change in it that nobody has put back, and a ResourceManager that goes by it.
func leftBehind(t *testing.T) (rm *steeredRM, dir string) {
	rm = newSteeredRM(t, "")
	rm.conf = "0.3"
	dir = t.TempDir()
	k := &knobFlags{queues: []string{"root.default"}}
	k.rm, k.user = []string{rm.URL}, "u"
	y, client, _, err := k.open(t.Context(), yard.Options{CPU: "none"})
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdle()
	j, err := openJournal(t.Context(), dir, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = live.Run(ctx, live.Options{Engine: y, Rules: drive.Rules{Act: true, Journal: j.Journal, Restore: time.Millisecond,
		New: func() (steer.Steerer, error) { return &once{y.Knob()}, nil }},
		Observe: func(e drive.Event) {
			if e.Kind == drive.Taken {
				rm.set(func() { rm.down = true }) // so that it stays
				cancel()
			}
		}})
	if err == nil || len(j.Open()) != 1 {
		t.Fatal(err, j.Open())
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	rm.set(func() { rm.down = false })
	if got := rm.setting(); got != "0.4" {
		t.Fatalf("%q is set", got)
	}
	return rm, dir
}

// once writes 0.4.
type once struct{ k drive.Knob }

func (o *once) Step(seen *steer.Snapshot) (do []steer.Action, again unit.Time) {
	if seen.Queues[0].AMShare != 0.4 {
		do = []steer.Action{{Kind: o.k.Kind, Queue: o.k.Queue, Property: o.k.Property, Value: 0.4}}
	}
	return do, 1_000_000
}

// A steerer that had ZooKeeper's lock when it died is put right at once, under that lock. One that had lost it, or never got it, is not: another
// steerer may be at work, so that the lock has to be waited for.
func TestGuardGoesByTheLockOfTheDead(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // ZooKeeper is away
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for _, held := range []time.Duration{time.Second, 0} {
		rm, dir := leftBehind(t)
		j, err := openJournal(t.Context(), dir, t.Logf)
		if err != nil {
			t.Fatal(err)
		}
		k := &knobFlags{queues: []string{"root.default"}, zk: []string{silent.Addr().String()}}
		k.rm, k.user = []string{rm.URL}, "u"
		var out strings.Builder
		r := &recovery{k: k, j: j, log: newLog(&out, "text", false), notice: func(string, ...any) {}}
		limit := time.Minute
		if held == 0 {
			limit = 2 * time.Second // it waits for ZooKeeper for as long as it may
		}
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		err = r.runForDead(ctx, held)
		cancel()
		if got := rm.setting(); held > 0 && (err != nil || got != "0.3") || held == 0 && (err == nil || got != "0.4") {
			t.Errorf("held %v: %q is set, %v\n%s", held, got, err, &out)
		}
		_ = j.Close()
	}
}

// The guard of a dead steerer leaves the next one to put back, and takes over only if that goes without having done so.
func TestGuardInheritsWhatTheNextSteererLeaves(t *testing.T) {
	t.Parallel()
	for _, restores := range []bool{true, false} {
		rm, dir := leftBehind(t)
		next, err := openJournal(t.Context(), dir, t.Logf) // the next steerer
		if err != nil {
			t.Fatal(err)
		}
		type heir struct {
			j   *live.DiskJournal
			err error
		}
		got := make(chan heir, 1)
		go func() {
			j, err := inherit(t.Context(), dir, heirWait, t.Logf)
			got <- heir{j, err}
		}()
		select {
		case <-got:
			t.Fatal("it did not wait")
		case <-time.After(1500 * time.Millisecond):
		}
		if restores {
			k := &knobFlags{queues: []string{"root.default"}}
			k.rm, k.user = []string{rm.URL}, "u"
			r := &recovery{k: k, j: next, log: newLog(&strings.Builder{}, "text", false), notice: t.Logf}
			if err := r.run(t.Context(), false); err != nil {
				t.Fatal(err)
			}
		} else if err := next.Close(); err != nil {
			t.Fatal(err)
		}
		h := <-got
		if h.err != nil || restores != (h.j == nil) || !restores && len(h.j.Open()) != 1 {
			t.Errorf("restores %v: %v", restores, h)
		}
		_ = next.Close()
		if h.j != nil {
			_ = h.j.Close()
		}
	}
}

// A guard that was started in place of another is told what that one knew.
func TestGuardIsToldAgain(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	g := &guard{pipe: w, dir: t.TempDir()}
	g.say(hasLock)
	if g.word != hasLock {
		t.Errorf("%q", g.word)
	}
	g.end(false)
	text := make([]byte, 64)
	n, err := r.Read(text)
	if err != nil || string(text[:n]) != hasLock+noLock {
		t.Errorf("%q %v", text[:n], err)
	}
	if claim(g.dir); !guarded(g.dir, os.Getpid()) {
		t.Error("not claimed", readText(t, filepath.Join(g.dir, guardFile)), strconv.Itoa(os.Getpid()))
	}
}

// Whoever restores later may be in another folder and have another PATH.
func TestRestoreFindsTheRefreshCommand(t *testing.T) {
	dir := t.TempDir()
	script, blank := filepath.Join(dir, "refresh"), filepath.Join(dir, "a b")
	if err := os.Mkdir(blank, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{script, filepath.Join(blank, "refresh")} {
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	check := func(typed, want string) {
		t.Helper()
		k := &knobFlags{refresh: typed}
		if got := k.args(); !slices.Contains(got, "--refresh-command="+want) {
			t.Errorf("%q: %q", typed, got)
		}
	}
	check("./refresh  -q x", script+" -q x")
	check("no-such-command x", "no-such-command x")
	t.Setenv("PATH", dir)
	check("refresh", script)
	t.Chdir(blank)
	check("./refresh", "./refresh")
}

func TestPasswordsAreNotShown(t *testing.T) {
	for cpu, want := range map[string]string{"": "allocation", "rm:cores=4": "rm:cores=4", "host": "host", "prometheus=http://me:secret@host?query=x": "prometheus"} {
		if got := sourceName(cpu); got != want {
			t.Errorf("%q: %q", cpu, got)
		}
	}
}

// A queue that was removed meanwhile has nothing to be put back: it is not waited for until the end of days.
func TestRestoreOfARemovedQueue(t *testing.T) {
	t.Parallel()
	rm, dir := leftBehind(t)
	rm.set(func() { rm.leaf = "other" })
	j, err := openJournal(t.Context(), dir, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	k := &knobFlags{queues: []string{"default"}}
	k.rm, k.user = []string{rm.URL}, "u"
	var out strings.Builder
	r := &recovery{k: k, j: j, log: newLog(&out, "text", false), notice: t.Logf, removed: 500 * time.Millisecond}
	err = r.run(t.Context(), false)
	r.log.end()
	if err != nil || len(j.Open()) > 0 || !strings.Contains(out.String(), "it is not there any more") {
		t.Errorf("%v, %v, %s", err, j.Open(), &out)
	}
}

// A journal whose only line was damaged on the disk: neither "yarn restore" nor the next steerer takes it for one that is closed, again and again
// until a person has looked.
func TestDamagedJournalIsNotClosed(t *testing.T) {
	t.Parallel()
	rm, dir := leftBehind(t)
	path := filepath.Join(dir, "journal.jsonl")
	data := []byte(strings.SplitAfter(readText(t, path), "\n")[0]) // the change was written down, and made
	data[len(data)/2] ^= 4
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	aside := filepath.Join(dir, "journal.damaged.1.jsonl")
	for range 2 {
		for _, args := range [][]string{{"restore", "--list"}, {"restore"}, {"steer", "--queue", "default", "--policy", "static", "--set", "value=0.2", "--listen", "off", "--for", "2s", "--act"}} {
			out, err := exec.Command("yardmaster", append([]string{"yarn", args[0], "--rm", rm.URL, "--user", "u", "--journal", dir}, args[1:]...)...).CombinedOutput()
			if err == nil || strings.Contains(string(out), "nothing to restore") || !strings.Contains(string(out), "is damaged") {
				t.Errorf("%v: %v %s", args, err, out)
			}
		}
	}
	if got := readText(t, aside); got != string(data) {
		t.Errorf("kept: %s", got)
	}
	if got := rm.setting(); got != "0.4" {
		t.Errorf("%q is set", got)
	}
	if err := os.Remove(aside); err != nil {
		t.Fatal(err)
	}
	rm.set(func() { rm.mark = "" })
	if out, err := exec.Command("yardmaster", "yarn", "restore", "--rm", rm.URL, "--user", "u", "--journal", dir).CombinedOutput(); err != nil {
		t.Errorf("after a person has looked: %v %s", err, out)
	}
}

// What is noted beside a journal may name a command: where others can write it, it is not gone by, and nothing is done.
func TestRestoreGoesByNoNoteOfOthers(t *testing.T) {
	t.Parallel()
	rm, dir := leftBehind(t)
	note := filepath.Join(dir, live.ArgsFile)
	restore := func() (string, error) {
		out, err := exec.Command("yardmaster", "yarn", "restore", "--journal", dir).CombinedOutput()
		return string(out), err
	}
	if err := noteHow(dir, []string{"--rm=" + rm.URL, "--user=u", "--queue=root.default"}); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(note, 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := restore(); err == nil || !strings.Contains(out, "others may write "+note) || rm.setting() != "0.4" {
		t.Errorf("%v %s", err, out)
	}
	if err := os.Chmod(note, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := restore(); err != nil || rm.setting() != "0.3" {
		t.Errorf("%v %s", err, out)
	}
}

// Two steerers of one queue would each take what the other wrote for what was there before: the second is refused, whatever journal it has.
func TestOneSteererOfAQueueOnAMachine(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("nobody is kept away here")
	}
	rm := newSteeredRM(t, "")
	act := func(journal, value string) *command {
		return steered(t, rm, "--policy", "static", "--set", "value="+value, "--set", "interval=1s", "--act", "--journal", journal)
	}
	mine := t.TempDir()
	first := act(mine, "0.3")
	first.until(t, "msg=taken")
	second := act(t.TempDir(), "0.4")
	if code := second.ends(t); code != 1 || !strings.Contains(second.err.String(), fmt.Sprintf("process %d of account ", first.Process.Pid)) {
		t.Errorf("a second one: %d %s", code, second.err)
	}
	if got := rm.setting(); got != "0.3" {
		t.Errorf("%q is set", got)
	}
	// Nor is anything put back under its hands, from the journal of one that ended earlier.
	other := t.TempDir()
	data := readText(t, filepath.Join(mine, "journal.jsonl"))
	if err := os.WriteFile(filepath.Join(other, "journal.jsonl"), []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("yardmaster", "yarn", "restore", "--journal", other, "--rm", rm.URL, "--user", "u").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "with another journal") || rm.setting() != "0.3" {
		t.Errorf("%v %s", err, out)
	}
	if err := first.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := first.ends(t); code != 0 || rm.setting() != "" {
		t.Errorf("%d, %q is set", code, rm.setting())
	}
}

// Under the wrong account nothing is put back, and that is an error.
func TestRestoreUnderTheWrongAccount(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root to give a folder away")
	}
	rm, dir := leftBehind(t)
	if err := os.Chown(dir, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("yardmaster", "yarn", "restore", "--journal", dir, "--rm", rm.URL, "--user", "u").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "belongs to uid 65534") || rm.setting() != "0.4" {
		t.Errorf("%v %s", err, out)
	}
}

// A steerer that is stopped, and neither ends nor goes on, is noticed: the guard ends it, so that it can never go on, and puts back.
func TestGuardNoticesAFrozenSteerer(t *testing.T) {
	t.Parallel()
	rm := newSteeredRM(t, "")
	rm.set(func() { rm.conf = "0.15" })
	journal := t.TempDir()
	c := steered(t, rm, "--policy", "static", "--set", "value=0.3", "--set", "interval=1s", "--act", "--journal", journal, "--stalled-after", "2s")
	c.until(t, "msg=taken")
	if err := c.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); rm.setting() != "0.15"; time.Sleep(50 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatalf("%q is set: %s", rm.setting(), c.err)
		}
	}
	_ = c.Process.Signal(syscall.SIGCONT) // there is nobody left who could go on
	code := c.ends(t)
	if text := c.err.String(); code != -1 || !strings.Contains(text, "sent no heartbeat for 2s: killing it") || !strings.Contains(text, "msg=restored") {
		t.Errorf("%d %s", code, text)
	}
	rm.set(func() {
		if got := strings.Join(rm.puts, " "); got != "0.3 0.15" {
			t.Errorf("written: %s", got)
		}
	})
	if _, open, err := live.ReadJournal(journal); err != nil || len(open) > 0 {
		t.Errorf("the journal: %v, %v", open, err)
	}
}

// Nobody reads standard error any more, as when it goes to a pager, and it is full: the guard ends a frozen steerer and puts back all the same.
func TestGuardWhoseMessagesNobodyReads(t *testing.T) {
	t.Parallel()
	rm := newSteeredRM(t, "")
	rm.set(func() { rm.conf = "0.15" })
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	journal := t.TempDir()
	c := startedTo(t, w, &said{}, "yarn", "steer", "--rm", rm.URL, "--queue", "root.default", "--listen", "off", "--user", "u",
		"--policy", "static", "--set", "value=0.3", "--set", "interval=1s", "--act", "--journal", journal, "--stalled-after", "2s")
	c.until(t, "msg=taken")
	fill(w)
	if err := c.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		if _, open, err := live.ReadJournal(journal); err == nil && len(open) == 0 && rm.setting() == "0.15" {
			break
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("%q is set", rm.setting())
		}
	}
}

// A guard that is stopped keeps a steerer neither from ending nor from going on: one that does not read any more is replaced.
func TestGuardThatIsStopped(t *testing.T) {
	t.Parallel()
	rm := newSteeredRM(t, "")
	journal := t.TempDir()
	c := steered(t, rm, "--policy", "static", "--set", "value=0.3", "--set", "interval=1s", "--act", "--journal", journal)
	c.until(t, "msg=taken")
	pid, err := strconv.Atoi(strings.TrimSpace(readText(t, filepath.Join(journal, guardFile))))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	resume := time.AfterFunc(3*killedWithin, func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := c.ends(t); !resume.Stop() || code != 0 || rm.setting() != "" {
		t.Errorf("%d, %q is set, or the guard was waited for: %s", code, rm.setting(), c.err)
	}

	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	g := &guard{pipe: w, dir: t.TempDir(), cmd: exec.Command("sleep", "60")}
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fill(w)
	g.say(hasLock)
	if err := g.cmd.Wait(); err == nil || g.cmd.ProcessState.ExitCode() != -1 {
		t.Errorf("a guard that does not read: %v", err)
	}
}

// fill writes into a pipe until there is no room.
func fill(w *os.File) {
	var pages atomic.Int64
	go func() {
		for page := make([]byte, 4096); ; pages.Add(1) {
			if _, err := w.Write(page); err != nil { // nobody can read it any more
				return
			}
		}
	}()
	for n := int64(-1); n != pages.Load(); time.Sleep(200 * time.Millisecond) {
		n = pages.Load()
	}
}

// One that has nothing to do for longer than that is alive all the same, and so is one whose ResourceManager does not answer.
func TestGuardLeavesAQuietSteererAlone(t *testing.T) {
	t.Parallel()
	rm := newSteeredRM(t, "")
	c := steered(t, rm, "--policy", "static", "--set", "value=0.3", "--set", "interval=1h", "--act", "--journal", t.TempDir(), "--stalled-after", "2s")
	c.until(t, "msg=taken")
	time.Sleep(5 * time.Second)
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := c.ends(t); code != 0 || strings.Contains(c.err.String(), "sign of life") || rm.setting() != "" {
		t.Errorf("%d %q %s", code, rm.setting(), c.err)
	}
}

// A steerer that hangs in the kernel cannot be ended, and keeps its locks. It was killed: what it changed is put back without them, and the journal
// stays open until it can be had.
func TestGuardOfASteererThatCannotEnd(t *testing.T) {
	t.Parallel()
	rm, dir := leftBehind(t)
	stuck, err := openJournal(t.Context(), dir, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	defer stuck.Close()
	j, err := live.ViewJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	k := &knobFlags{queues: []string{"root.default"}}
	k.rm, k.user = []string{rm.URL}, "u"
	host, err := hostLock(t.Context(), []string{stuck.Open()[0].Engine}, holderLeaves)
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	r := &recovery{k: k, j: j, log: newLog(&strings.Builder{}, "text", false), alone: true, notice: t.Logf}
	err = r.run(ctx, false)
	if got := rm.setting(); got != "0.3" || err == nil {
		t.Errorf("%q is set, %v", got, err)
	}
	if _, open, err := live.ReadJournal(dir); err != nil || len(open) != 1 {
		t.Errorf("the journal: %v, %v", open, err)
	}
}

// The ResourceManager is away while a steerer cannot end: when it is back, it is put right though the steerer has the journal still.
func TestGuardTriesAgainWithoutTheJournal(t *testing.T) {
	defer func(d time.Duration) { withoutJournalTries = d }(withoutJournalTries)
	withoutJournalTries = 1500 * time.Millisecond
	rm, dir := leftBehind(t)
	stuck, err := openJournal(t.Context(), dir, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	rm.set(func() { rm.down = true })
	f := &restoreFlags{knobFlags: knobFlags{queues: []string{"root.default"}, journal: dir}}
	f.rm, f.user = []string{rm.URL}, "u"
	log := newLog(io.Discard, "text", false)
	defer log.end()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	back := time.AfterFunc(4*time.Second, func() { rm.set(func() { rm.down = false }) }) // the first pass is over
	defer back.Stop()
	go func() {
		for rm.setting() != "0.3" && wait(ctx, 50*time.Millisecond) == nil {
		}
		_ = stuck.Close() // it ends at last
	}()
	j, err := f.takeOver(ctx, log, os.Getpid(), t.Logf)
	if got := rm.setting(); err != nil || j == nil || got != "0.3" {
		t.Fatalf("%v, %v, %q is set", j, err, got)
	}
	_ = j.Close()
}

// A kill of the steerer's whole process group does not reach the guard.
func TestGuardOutlivesTheGroup(t *testing.T) {
	t.Parallel()
	rm := newSteeredRM(t, "")
	c := steered(t, rm, "--policy", "static", "--set", "value=0.3", "--set", "interval=1s", "--act", "--journal", t.TempDir())
	c.until(t, "msg=taken")
	if err := syscall.Kill(-c.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = c.ends(t)
	if got := rm.setting(); got != "" {
		t.Errorf("left behind %q: %s", got, c.err)
	}
}

// A steerer whose journal is out of reach, because it was on another machine, has left a mark at the ResourceManager: the next one does not take what it
// wrote for what was there before.
func TestMarkOfAnotherSteerer(t *testing.T) {
	t.Parallel()
	rm, dir := leftBehind(t)
	host, _ := os.Hostname()
	var mark string
	rm.set(func() { mark = rm.mark })
	if mark != host+":"+dir {
		t.Errorf("marked %q", mark)
	}
	c := steered(t, rm, "--policy", "static", "--set", "value=0.2", "--act", "--journal", filepath.Join(t.TempDir(), "elsewhere"))
	if code := c.ends(t); code != 1 || !strings.Contains(c.err.String(), "its journal is "+mark) || rm.setting() != "0.4" {
		t.Errorf("%d, %q is set: %s", code, rm.setting(), c.err)
	}
	if out, err := exec.Command("yardmaster", "yarn", "restore", "--journal", dir, "--rm", rm.URL, "--user", "u").CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	rm.set(func() {
		if rm.conf != "0.3" || rm.mark != "" {
			t.Errorf("%q is set, marked %q", rm.conf, rm.mark)
		}
	})
}
