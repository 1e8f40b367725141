// Package docs_test builds and runs what the pages say.
package docs_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// codeBlock returns the n-th block of Go of a page.
func codeBlock(t *testing.T, page string, n int) string {
	t.Helper()
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(b), "```go\n")
	if len(parts) <= n+1 {
		t.Fatalf("%s has %d blocks of Go, want block %d", page, len(parts)-1, n)
	}
	code, _, ok := strings.Cut(parts[n+1], "```")
	if !ok {
		t.Fatalf("%s: block %d does not end", page, n)
	}
	return code
}

// The page add-a-policy.md, followed to the letter, gives a working policy: one new file and one registry line.
func TestAddAPolicy(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the command")
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	put := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	registry := filepath.Join(root, "policy", "all", "all.go")
	old, err := os.ReadFile(registry)
	if err != nil {
		t.Fatal(err)
	}
	line := codeBlock(t, "add-a-policy.md", 1)
	changed := strings.Replace(string(old), "\tfifo.Entry,\n", "\tfifo.Entry,\n"+line, 1)
	changed = strings.Replace(changed, "import (\n", "import (\n\t\"github.com/yardmaster/yardmaster/policy/fewest\"\n", 1)
	if strings.Count(changed, "fewest") != 2 {
		t.Fatalf("the registry does not have the form that the page describes:\n%s", changed)
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {
		filepath.Join(root, "policy", "fewest", "fewest.go"): put("fewest.go", codeBlock(t, "add-a-policy.md", 0)),
		registry: put("all.go", changed),
	}})
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "yardmaster")
	run := func(name string, args ...string) string {
		cmd := exec.Command(name, args...)
		cmd.Dir = root
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	over := put("overlay.json", string(overlay))
	run("go", "build", "-overlay", over, "-o", bin, "./cmd/yardmaster")
	if out := run(bin, "schedulers"); !strings.Contains(out, "fewest") {
		t.Errorf("yardmaster schedulers does not list it:\n%s", out)
	}
	out := run(bin, "compare", "--workload", "synth:demo", "--cluster", "40x8/4", "--scheduler", "fifo", "--scheduler", "fewest", "--report", filepath.Join(dir, "fewest.html"))
	if !strings.Contains(out, "fewest") || !strings.Contains(out, "against fifo") {
		t.Errorf("compare says:\n%s", out)
	}
	run("go", "test", "-overlay", over, "-vet=off", "./sim", "-run", "Property", "-rapid.checks=20")
}
