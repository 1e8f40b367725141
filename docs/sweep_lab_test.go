//go:build linux

package docs_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/studies/lab/proc"
)

// A sweep as a job of Hadoop's DistributedShell: one shard's process is killed, YARN runs it again, and the page's merged file is that of one machine.
func TestLabSweep(t *testing.T) {
	if os.Getenv("YARDMASTER_LAB_TESTS") == "" {
		t.Skip("YARDMASTER_LAB_TESTS is not set")
	}
	r := newReader(t)
	home := t.TempDir()
	t.Setenv("HADOOP_HOME", home) // containers have that of their NodeManager, as by default
	c, err := hadoop.Up(t.Context(), hadoop.Options{Dir: t.TempDir(), Nodes: 2, HDFS: true, SchedulerXML: queues, Site: map[string]string{
		"yarn.nodemanager.env-whitelist": "JAVA_HOME,HADOOP_CONF_DIR,YARDMASTER_RUN,HADOOP_HOME",
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Down(); err != nil {
			t.Error(err)
		}
	})
	// What Maven has of Hadoop is without the commands of its distribution: they set a class path and run Java.
	java := c.Java(t.Context(), 256, "")
	for name, text := range map[string]string{"yarn": `"$@"`, "hdfs": `org.apache.hadoop.fs.FsShell "${@:2}"`} {
		script := "#!/bin/bash\nexec env"
		for _, v := range java.Env[len(os.Environ()):] {
			script += " " + quote(v)
		}
		for _, a := range java.Args[:len(java.Args)-1] {
			script += " " + quote(a)
		}
		if err := hadoop.WriteFiles(home, map[string]string{"bin/" + name: script + " " + text + "\n"}); err != nil {
			t.Fatal(err)
		}
	}
	must(t, home, "sh", "-c", `chmod +x bin/* && mkdir -p share/hadoop && ln -s "$1" share/hadoop/yarn`, "sh", c.Lib)
	r.env = append(r.env, "HADOOP_HOME="+home, "PATH="+r.bin+":"+home+"/bin:"+os.Getenv("PATH"))

	attempts, done := make(chan int), make(chan bool)
	go func() {
		seen := map[int]bool{}
		for ticks := time.NewTicker(20 * time.Millisecond); ; {
			select {
			case <-ticks.C:
			case <-done:
				attempts <- len(seen)
				return
			}
			for _, pid := range proc.Marked(c.Dir) {
				line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
				if bytes.Contains(line, []byte("yardmaster\x00sweep")) && bytes.Contains(line, []byte("\x002/4\x00")) && !seen[pid] {
					if begun, _ := filepath.Glob(fmt.Sprintf("/proc/%d/cwd/.part.jsonl.*.tmp", pid)); begun == nil {
						continue
					}
					if seen[pid] = true; len(seen) == 1 {
						_ = syscall.Kill(pid, syscall.SIGKILL)
					}
				}
			}
		}
	}()
	s := r.script(t, "docs/sweep-on-a-cluster.md", "Kubernetes")
	r.run(t, r.folder(t, s), s.text)
	close(done)
	if n := <-attempts; n != 2 {
		t.Errorf("%d attempts of the shard that was killed; want 2", n)
	}
	if strings.Contains(s.text, "kubectl") || !strings.Contains(s.text, "cmp sweep.jsonl whole.jsonl") {
		t.Errorf("what was typed is not the section of YARN:\n%s", s.text)
	}
}
