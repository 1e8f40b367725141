package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const module = `package %s

import "testing"

func TestPasses(t *testing.T) { t.Log("a quiet line") }
func TestSkips(t *testing.T)  { t.Skip("a reason") }
`

const failing = `
func TestFails(t *testing.T) {
	t.Run("inner", func(t *testing.T) { t.Error("what is wrong") })
	t.Run("fine", func(t *testing.T) { t.Log("another quiet line") })
}

func TestPanics(t *testing.T) { panic("a cause") }
`

// What go test prints is printed: a line for each package, and failures in full.
func TestPrintsAsGoTestDoes(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":           "module example.com/m\n\ngo 1.26\n",
		"good/a_test.go":   strings.Replace(module, "%s", "good", 1),
		"bad/a_test.go":    strings.Replace(module, "%s", "bad", 1) + failing,
		"broken/a_test.go": "package broken\n\nvar x int = \"text\"\n",
		"none/a.go":        "package none\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) string {
		t.Helper()
		c := exec.Command("go", append([]string{"test", "-vet=off"}, args...)...)
		c.Dir = dir
		out, _ := c.Output() // some fail
		return string(out)
	}
	var quiet, verbose, times bytes.Buffer
	recorded := run("-json", "./...")
	if err := show(strings.NewReader(recorded), &quiet, &times, false); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"ok  \texample.com/m/good\t", "FAIL\texample.com/m/bad\t", "FAIL\texample.com/m/broken [build failed]\n", "?   \texample.com/m/none\t[no test files]\n",
		"--- FAIL: TestFails/inner", "what is wrong\n", "--- FAIL: TestPanics", "panic: a cause", "goroutine ", "a_test.go:3:13: cannot use \"text\"",
	} {
		if !strings.Contains(quiet.String(), part) {
			t.Errorf("no %q", part)
		}
	}
	if regexp.MustCompile(`quiet line|a reason|=== |PASS|SKIP`).MatchString(quiet.String()) {
		t.Error("more than go test prints")
	}
	if t.Failed() {
		t.Logf("printed:\n%s", &quiet)
	}
	got := regexp.MustCompile(`(?m)^[0-9.]+\t`).ReplaceAllString(times.String(), "")
	if want := "example.com/m/bad\tTestFails\n"; !strings.Contains(got, want) || strings.Contains(got, "inner") || !strings.Contains(got, "example.com/m/good\tTestPasses\n") {
		t.Errorf("times:\n%s", &times)
	}
	if err := show(strings.NewReader(run("-json", "-v", "-p", "2", "./good", "./bad")), &verbose, &times, true); err != nil {
		t.Fatal(err)
	}
	// Packages are not mixed: all lines of one come before all lines of the other.
	ends := regexp.MustCompile(`(?m)^(ok  |FAIL)\texample.com/m/`).FindAllStringIndex(verbose.String(), -1)
	if len(ends) != 2 || strings.Count(verbose.String()[:ends[0][0]], "=== RUN   TestPasses") != 1 || strings.Count(verbose.String(), "a quiet line") != 2 {
		t.Errorf("verbose:\n%s", &verbose)
	}
}

// A package that ends while another one speaks waits for it, and what it had said before is printed first, whoever speaks next.
func TestPackagesAreNotMixed(t *testing.T) {
	var in strings.Builder
	for _, e := range []event{
		{Action: "output", Package: "a", Output: "a1\n"}, {Action: "output", Package: "b", Output: "b1\n"}, {Action: "output", Package: "c", Output: "c1\n"},
		{Action: "output", Package: "b", Output: "b2\n"}, {Action: "pass", Package: "b"}, {Action: "output", Package: "a", Output: "a2\n"},
		{Action: "pass", Package: "a"}, {Action: "output", Package: "c", Output: "c2\n"}, {Action: "pass", Package: "c"},
	} {
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		in.Write(append(line, '\n'))
	}
	var out strings.Builder
	if err := show(strings.NewReader(in.String()), &out, io.Discard, true); err != nil || out.String() != "a1\na2\nb1\nb2\nc1\nc2\n" {
		t.Errorf("%q, %v", &out, err)
	}
}
