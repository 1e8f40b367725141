package proc

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestStartAndStop(t *testing.T) {
	run := t.TempDir()
	p, err := Start(run, Command{Name: "one", Path: "/bin/sh", Args: []string{"-c", "echo hello; sleep 60"}})
	if err != nil {
		t.Fatal(err)
	}
	defer Down(run, 0)
	if !p.Alive() {
		t.Error("not alive after its start")
	}
	if _, err := Start(run, Command{Name: "one", Path: "/bin/true"}); err == nil {
		t.Error("a second process of the same name was started")
	}
	other := p.Record
	other.Ticks++
	if other.Alive() {
		t.Error("a process that was started at another instant is taken for ours")
	}
	other.Signal(syscall.SIGKILL)
	if !p.Alive() {
		t.Error("a signal reached a process that was not the recorded one")
	}
	if !Await(t.Context(), 5*time.Second, 10*time.Millisecond, func() bool { b, _ := os.ReadFile(Log(run, "one")); return string(b) == "hello\n" }) {
		t.Error("nothing in its log")
	}
	if err := Stop(run, "one", time.Second); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	if _, err := Find(run, "one"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its record stayed: %v", err)
	}
	if err := Stop(run, "one", 0); err != nil {
		t.Errorf("stopping what is stopped: %v", err)
	}
}

// A process that ignores SIGTERM, one that has left its group and lost its parent, and one that has lost its record must all end.
func TestDown(t *testing.T) {
	run := t.TempDir()
	work := filepath.Join(run, "work", "node")
	if err := os.MkdirAll(work, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, script := range map[string]string{
		"stubborn": "trap '' TERM; while :; do sleep 1; done",
		"leaver":   "setsid sleep 61 & exit 0",
		"stripped": "cd work/node && env -i setsid sleep 62 & exit 0",
		"lost":     "sleep 63",
	} {
		if _, err := Start(run, Command{Name: name, Path: "/bin/sh", Args: []string{"-c", script}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(run, "pid", "lost")); err != nil {
		t.Fatal(err)
	}
	bystander := exec.Command("sleep", "64")
	if err := bystander.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bystander.Process.Kill(); _ = bystander.Wait() }()
	if !Await(t.Context(), 5*time.Second, 10*time.Millisecond, func() bool { return len(Marked(run)) >= 4 }) {
		t.Fatalf("only %v are marked", Marked(run))
	}
	n, err := Down(run, 100*time.Millisecond)
	if err != nil || n < 4 {
		t.Errorf("ended %d, %v", n, err)
	}
	if left := Marked(run); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
	if st, err := stat(bystander.Process.Pid); err != nil || st.ended() {
		t.Error("a process of somebody else was ended")
	}
	if list, err := List(run); err != nil || len(list) > 0 {
		t.Errorf("records left: %v, %v", list, err)
	}
	if n, err := Down(run, 0); n != 0 || err != nil {
		t.Errorf("a second time: %d, %v", n, err)
	}
	if n, err := Down(filepath.Join(run, "none"), 0); n != 0 || err != nil {
		t.Errorf("a run that never was: %d, %v", n, err)
	}
}

func TestParseStat(t *testing.T) {
	st, err := parseStat("7 (a) b (c) S 3 7 7 0 -1 4194304 100 0 0 0 12 34 0 0 20 0 1 0 5555 1000000 77 18446744073709551615 1 1")
	if err != nil || st != (status{state: 'S', parent: 3, utime: 12, stime: 34, ticks: 5555, pages: 77}) {
		t.Errorf("got %+v, %v", st, err)
	}
	for _, bad := range []string{"", "7 (a S 3", "7 (a) S 3", "7 (a) S x 7 7 0 -1 4194304 100 0 0 0 12 34 0 0 20 0 1 0 5555 1000000 77"} {
		if _, err := parseStat(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add("7 (a) b (c) S 3 7 7 0 -1 4194304 100 0 0 0 12 34 0 0 20 0 1 0 5555 1000000 77 18446744073709551615 1 1")
	f.Fuzz(func(_ *testing.T, s string) { _, _ = parseStat(s) })
}
