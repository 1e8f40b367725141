//go:build linux

// Package smoke_test follows the pages that are typed on Kubernetes, on a real node, whose containers run and finish.
package smoke_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/yardmaster/yardmaster/kube/lab"
)

func TestMain(m *testing.M) {
	lab.Private()
	lab.Main(m, lab.WithControllers(), lab.WithScheduler())
}

// busybox is an image with nothing but /bin/sleep.
func busybox(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", filepath.Join(dir, "sleep"), "./testdata/sleep")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	program, err := os.ReadFile(filepath.Join(dir, "sleep"))
	check(t, err)
	type file struct {
		name string
		text []byte
	}
	pack := func(to io.Writer, files ...file) {
		w := tar.NewWriter(to)
		for _, f := range files {
			check(t, w.WriteHeader(&tar.Header{Name: f.name, Mode: 0o755, Size: int64(len(f.text)), Typeflag: tar.TypeReg}))
			_, err := w.Write(f.text)
			check(t, err)
		}
		check(t, w.Close())
	}
	var layer bytes.Buffer
	pack(&layer, file{"bin/sleep", program})
	encode := func(v any) []byte {
		text, err := json.Marshal(v)
		check(t, err)
		return text
	}
	type object = map[string]any
	config := encode(object{
		"architecture": runtime.GOARCH, "os": "linux", "config": object{"Entrypoint": []string{"/bin/sleep"}},
		"rootfs": object{"type": "layers", "diff_ids": []string{fmt.Sprintf("sha256:%x", sha256.Sum256(layer.Bytes()))}},
	})
	manifest := encode([]object{{"Config": "config.json", "RepoTags": []string{"docker.io/library/busybox:latest"}, "Layers": []string{"layer.tar"}}})
	archive, err := os.Create(filepath.Join(dir, "busybox.tar"))
	check(t, err)
	pack(archive, file{"layer.tar", layer.Bytes()}, file{"config.json", config}, file{"manifest.json", manifest})
	check(t, archive.Close())
	return archive.Name()
}

// script is what the page has its reader type and write, with the pauses of a person: jobs of the same second have no order.
func script(page string) string {
	var s strings.Builder
	typed := strings.NewReplacer("\\\n", "\\\v", "\n  ", "\v  ", "\ndone", "\vdone") // a command of several lines
	for _, b := range regexp.MustCompile("(?ms)^```(\\w*) ?([^\n]*)\n(.*?)^```$").FindAllStringSubmatch(page, -1) {
		switch lang, file, text := b[1], b[2], b[3]; {
		case file != "":
			fmt.Fprintf(&s, "cat >%s <<'END_OF_FILE'\n%sEND_OF_FILE\n", file, text)
		case lang == "sh":
			for command := range strings.SplitSeq(strings.TrimSpace(typed.Replace(text)), "\n") {
				fmt.Fprintf(&s, "sleep 1.1; cat <<'END_OF_COMMAND'\n$ %[1]s\nEND_OF_COMMAND\n%[1]s\n", strings.ReplaceAll(command, "\v", "\n"))
			}
		}
	}
	return s.String()
}

// What the pages say happens as they say.
func TestPages(t *testing.T) {
	l := lab.Shared(t)
	root, err := filepath.Abs("../..")
	check(t, err)
	build := exec.CommandContext(t.Context(), "make", "-C", root, "images", "IMAGES=yardmaster")
	out, err := build.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	containerd := l.Node(t, "node-0", "docker.io/library/busybox:latest", busybox(t), filepath.Join(root, "bin/yardmaster.tar"))
	bin := t.TempDir() // kubectl is the one of the lab
	check(t, os.Symlink(filepath.Join(l.Programs, "kubectl"), filepath.Join(bin, "kubectl")))
	check(t, os.Symlink(filepath.Join(root, "bin/yardmaster"), filepath.Join(bin, "yardmaster")))
	typed := func(t *testing.T, dir, text string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", text)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "KUBECONFIG="+l.Kubeconfig, "CONTAINERD_ADDRESS="+containerd, "IMAGES=yardmaster-controller")
		out, err := cmd.CombinedOutput()
		t.Logf("%s", out)
		check(t, err)
	}
	read := func(t *testing.T, page string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(root, "docs", page))
		check(t, err)
		return string(text)
	}

	// The installation runs on the node, jobs wait in the policy's order, and nothing is held when it is gone.
	t.Run("first use", func(t *testing.T) {
		dir := t.TempDir()
		check(t, os.Symlink(root, filepath.Join(dir, "yardmaster")))
		typed(t, dir, "git() { :; }\n"+script(read(t, "schedule-on-kubernetes.md")))
	})

	// One pod's process is killed, its index runs again, and the merged file is that of one machine.
	t.Run("sweep", func(t *testing.T) {
		dir := t.TempDir()
		for _, d := range []string{dir, filepath.Dir(dir)} {
			check(t, os.Chmod(d, 0o755)) //nolint:gosec // the pods have an account of their own
		}
		check(t, os.WriteFile(filepath.Join(dir, "capacity-scheduler.xml"), []byte(read(t, "examples/capacity-scheduler.xml")), 0o644)) //nolint:gosec // as above
		check(t, os.WriteFile(filepath.Join(dir, "volume.yaml"), fmt.Appendf(nil, `{apiVersion: v1, kind: PersistentVolume, metadata: {name: sweep},
  spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteMany], storageClassName: "", hostPath: {path: %q}}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: sweep},
  spec: {resources: {requests: {storage: 1Gi}}, accessModes: [ReadWriteMany], storageClassName: "", volumeName: sweep}}
`, dir), 0o600))
		page, _, _ := strings.Cut(read(t, "sweep-on-a-cluster.md"), "\n## YARN")
		ctx, end := context.WithCancel(t.Context())
		defer end()
		go func() {
			for ; ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
				if begun, _ := filepath.Glob(filepath.Join(dir, "parts/.2.jsonl.*.tmp")); begun == nil {
					continue
				}
				files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
				for _, file := range files {
					line, _ := os.ReadFile(file) //nolint:gosec // of /proc
					if bytes.Contains(line, []byte("\x00--shard\x002/4\x00")) {
						pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
						_ = syscall.Kill(pid, syscall.SIGKILL)
						return
					}
				}
			}
		}()
		typed(t, dir, "kubectl apply -f volume.yaml\n"+script(page))
		end()
		job, err := l.Client.BatchV1().Jobs("default").Get(t.Context(), "sweep", metav1.GetOptions{})
		check(t, err)
		if job.Status.Failed != 1 || job.Status.Succeeded != 4 {
			t.Errorf("%d pods failed, want the killed one; %d succeeded, want 4", job.Status.Failed, job.Status.Succeeded)
		}
		if parts, _ := os.ReadDir(filepath.Join(dir, "parts")); len(parts) != 4 {
			t.Errorf("the killed pod has left something: %v", parts)
		}
	})
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
