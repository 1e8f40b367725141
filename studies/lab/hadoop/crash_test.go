package hadoop_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/studies/lab/proc"
)

// TestLabCrash kills the process that brought a lab up and runs containers in it. Another process must be able to clean up.
func TestLabCrash(t *testing.T) {
	if dir := os.Getenv("YARDMASTER_LAB_CRASH"); dir != "" {
		crash(t, dir)
		return
	}
	needLab(t)
	dir := filepath.Join(t.TempDir(), "run")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, "-test.run=^TestLabCrash$", "-test.v")
	cmd.Env = append(os.Environ(), "YARDMASTER_LAB_CRASH="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { checkDown(t, dir) }()
	said := false
	for s := bufio.NewScanner(out); !said && s.Scan(); {
		said = strings.Contains(s.Text(), "containers run")
		if !said {
			t.Log(s.Text())
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if !said {
		t.Fatal("the lab did not come up")
	}
	list, err := proc.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	if n := sleeping(dir); len(list) != 2 || n != 3 {
		t.Errorf("after the crash %d daemons are recorded and %d containers run, want 2 and 3", len(list), n)
	}
	// Without its NodeManager only the lab can end a container.
	node, err := proc.Find(dir, "nodemanager-1")
	if err != nil {
		t.Fatal(err)
	}
	node.Signal(syscall.SIGKILL)
	for end := time.Now().Add(10 * time.Second); node.Alive() && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
	}
	if n := sleeping(dir); n != 3 {
		t.Errorf("without the NodeManager %d containers run, want 3", n)
	}
}

func crash(t *testing.T, dir string) {
	c, err := hadoop.Up(t.Context(), hadoop.Options{Dir: dir, Nodes: 1})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			if sleeping(dir) == 3 {
				fmt.Println("containers run")
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	}()
	_, _ = c.AMs(ctx, []hadoop.Application{{ID: "long", User: "alice", Queue: "prod",
		Containers: []hadoop.Group{{Count: 3, MB: 128, Hold: hadoop.Holds{600_000}}}}}, hadoop.AMsOptions{Start: true})
}

// sleeping counts the containers' running processes.
func sleeping(dir string) int {
	n := 0
	for _, pid := range proc.Marked(dir) {
		if b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); string(b) == "sleep\n" {
			n++
		}
	}
	return n
}

// TestLabPortTaken: another process takes a port of the ResourceManager's before it starts. The admin port is the worst: the ResourceManager
// listens on it last, when it already answers over REST.
func TestLabPortTaken(t *testing.T) {
	needLab(t)
	dir, tries := filepath.Join(t.TempDir(), "run"), 0
	c, err := hadoop.Up(t.Context(), hadoop.Options{Dir: dir, Nodes: 1, Version: hadoop.Second, Prepare: func(_ context.Context, c *hadoop.Cluster) error {
		if tries++; tries > 1 {
			return nil
		}
		l, err := net.Listen("tcp4", c.Ports.At("rm-admin"))
		if err == nil {
			t.Cleanup(func() { _ = l.Close() })
		}
		return err
	}})
	defer func() { checkDown(t, dir) }()
	if err != nil {
		t.Fatal(err)
	}
	if tries != 2 {
		t.Errorf("up after %d attempts, want 2", tries)
	}
	if err := c.Down(); err != nil {
		t.Error(err)
	}
}
