package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/steer/drive/live"
	"github.com/yardmaster/yardmaster/steer/session"
)

const unitFile = "../deploy/systemd/yardmaster-steer@.service"

// unitCommand is what systemd runs for a setting of the unit.
func unitCommand(t *testing.T, setting string, env map[string]string) *exec.Cmd {
	t.Helper()
	for line := range strings.Lines(readText(t, unitFile)) {
		rest, is := strings.CutPrefix(strings.TrimSpace(line), setting+"=/usr/local/bin/yardmaster ")
		if !is {
			continue
		}
		var args []string
		for _, word := range strings.Fields(rest) {
			if name, whole := strings.CutPrefix(word, "$"); whole && !strings.HasPrefix(name, "{") {
				args = append(args, strings.Fields(env[name])...) // a word of its own is split
				continue
			}
			args = append(args, os.Expand(word, func(name string) string { return env[name] }))
		}
		return exec.Command("yardmaster", args...)
	}
	t.Fatalf("no %s in %s", setting, unitFile)
	return nil
}

// Everything in the unit's control group is killed at once, guard included: what systemd runs then puts back. It is no failure where there is nothing to
// put back.
func TestUnitRestoresWhenTheGroupIsKilled(t *testing.T) {
	t.Parallel()
	rm := newSteeredRM(t, "")
	rm.set(func() { rm.conf = "0.15" })
	state := t.TempDir()
	env := map[string]string{"STATE_DIRECTORY": state,
		"YARDMASTER_STEER": "--rm " + rm.URL + " --queue root.default --user u --policy static --set value=0.3 --set interval=1s --listen off"}
	post := func() {
		t.Helper()
		if out, err := unitCommand(t, "ExecStopPost", env).CombinedOutput(); err != nil || rm.setting() != "0.15" {
			t.Errorf("%q is set, %v %s", rm.setting(), err, out)
		}
	}
	post() // nothing has been started yet
	c := unitCommand(t, "ExecStart", env)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); rm.setting() != "0.3"; time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatal("it does not act")
		}
	}
	guard, err := strconv.Atoi(strings.TrimSpace(readText(t, filepath.Join(state, session.GuardFile))))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(guard, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // it was killed
	if got := rm.setting(); got != "0.3" {
		t.Fatalf("nobody should have put it back: %q", got)
	}
	post()
	post()
}

// The unit says what systemd understands, and confines the steerer.
func TestUnitIsSoundAndConfined(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	path := filepath.Join(t.TempDir(), filepath.Base(unitFile))
	text := strings.ReplaceAll(readText(t, unitFile), "/usr/local/bin/yardmaster", "/bin/true") // it must be there
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(analyze, "verify", "--man=no", path).CombinedOutput(); err != nil || strings.Contains(string(out), filepath.Base(path)) {
		t.Errorf("%v %s", err, out)
	}
	const most = 20 // in tenths: below "OK", where systemd's own services mostly are
	if out, err := exec.Command(analyze, "security", "--offline=yes", "--threshold="+strconv.Itoa(most), path).CombinedOutput(); err != nil {
		t.Errorf("%v %s", err, out)
	} else {
		t.Logf("%s", out[strings.LastIndex(strings.TrimSpace(string(out)), "\n")+1:])
	}
}

// The image has no shell and no root: the command alone, linked statically, under a number, with its journal on a volume of that number.
func TestImage(t *testing.T) {
	text := strings.ReplaceAll(readText(t, "../deploy/container/Dockerfile"), "\\\n", "")
	var final []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "FROM ") {
			final = nil
		}
		final = append(final, strings.TrimSpace(line))
	}
	last := strings.Join(final, "\n")
	for _, want := range []string{"FROM scratch", "\nUSER 65532:65532", "\nVOLUME /var/lib/yardmaster", "--chown=65532:65532 /out/state /var/lib/yardmaster",
		`ENTRYPOINT ["/usr/local/bin/yardmaster"]`, "XDG_STATE_HOME=/var/lib/yardmaster", "STOPSIGNAL SIGTERM"} {
		if !strings.Contains(last, want) {
			t.Errorf("the image has no %q:\n%s", want, last)
		}
	}
	if strings.Contains(last, "\nRUN ") || strings.Contains(text, "\nADD ") {
		t.Error("it runs or fetches something")
	}
	version := ""
	for line := range strings.Lines(readText(t, "../go.mod")) {
		if v, is := strings.CutPrefix(line, "go "); is {
			version = strings.Join(strings.SplitN(strings.TrimSpace(v), ".", 3)[:2], ".")
		}
	}
	if !strings.Contains(text, "FROM golang:"+version+" AS build") {
		t.Errorf("it is not built with Go %s", version)
	}
}

// buildTo builds the command as CI does, so that a race build finds its packages in the cache.
func buildTo(t *testing.T, bin string) {
	t.Helper()
	build := exec.Command("go", "build", "-trimpath", "-o", bin, "../cmd/yardmaster")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
}

// As the image runs it: the binary that its instructions build, as the first process of its own process space, under its number, on a folder of that number.
// A steerer that is killed there is put back by its guard before the container ends; a container that is killed as a whole, by the next one on the volume.
func TestContainer(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds the command")
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root for a process space and another account")
	}
	root, err := os.MkdirTemp("/tmp", "container")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	bin, state := filepath.Join(root, "yardmaster"), filepath.Join(root, "state")
	buildTo(t, bin)
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	for path, mode := range map[string]os.FileMode{root: 0o755, bin: 0o755, state: 0o700} {
		if err := os.Chmod(path, mode); err != nil { //nolint:gosec // it has to be reached by another account
			t.Fatal(err)
		}
	}
	if err := os.Chown(state, 65532, 65532); err != nil {
		t.Fatal(err)
	}
	rm := newSteeredRM(t, "")
	rm.set(func() { rm.conf = "0.15" })
	start := func() *exec.Cmd {
		t.Helper()
		c := exec.Command(bin, "yarn", "steer", "--act", "--rm", rm.URL, "--queue", "root.default", "--user", "u", "--policy", "static",
			"--set", "value=0.3", "--set", "interval=1s", "--listen", "off")
		c.Env, c.Dir = []string{"HOME=" + state, "XDG_STATE_HOME=" + state}, "/"
		c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
		c.Stderr = &said{}
		if err := c.Start(); err != nil {
			t.Skip("no process space of one's own here:", err)
		}
		t.Cleanup(func() { _ = c.Process.Kill() })
		for began := time.Now(); rm.setting() != "0.3"; time.Sleep(20 * time.Millisecond) {
			if time.Since(began) > time.Minute {
				t.Fatalf("it does not act: %s", c.Stderr)
			}
		}
		return c
	}
	steerer := func(c *exec.Cmd) int {
		t.Helper()
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", c.Process.Pid)) // the pattern is well-formed
		text := ""
		for _, thread := range threads {
			text += readText(t, thread)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		return pid
	}
	ends := func(c *exec.Cmd, code int, set string) {
		t.Helper()
		stop := time.AfterFunc(2*time.Minute, func() { _ = c.Process.Kill() })
		defer stop.Stop()
		_ = c.Wait() // the code tells
		if got := c.ProcessState.ExitCode(); got != code || rm.setting() != set {
			t.Errorf("it ended with %d, not %d; %q is set: %s", got, code, rm.setting(), c.Stderr)
		}
	}
	c := start()
	if err := syscall.Kill(steerer(c), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	ends(c, 137, "0.15") // the guard was not ended with it

	c = start()
	if err := c.Process.Signal(syscall.SIGTERM); err != nil { // docker stop
		t.Fatal(err)
	}
	ends(c, 0, "0.15")

	c = start()
	if err := c.Process.Kill(); err != nil { // docker kill
		t.Fatal(err)
	}
	ends(c, -1, "0.3")
	restore := exec.Command(bin, "yarn", "restore")
	restore.Env, restore.SysProcAttr = c.Env, c.SysProcAttr
	if out, err := restore.CombinedOutput(); err != nil || rm.setting() != "0.15" {
		t.Errorf("%q is set, %v %s", rm.setting(), err, out)
	}
	dirs, err := filepath.Glob(filepath.Join(state, "yardmaster", "steer", "*"))
	if err != nil || len(dirs) != 1 {
		t.Fatal(dirs, err)
	}
	if err := os.Chown(state, 0, 0); err != nil { // a volume of another account
		t.Fatal(err)
	}
	if _, open, err := live.ReadJournal(dirs[0]); err == nil || len(open) > 0 {
		t.Errorf("root goes by the journal of the container's account: %v", open)
	}
}
