package evidence

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func none(string) bool { return false }

// A second record of a series gets the next number and leaves the first as it is; both are in the ledger with program and load.
func TestKeepNeverOverwrites(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "study")
	for i, text := range []string{"first", "second"} {
		r, err := Begin("v"+text).Keep(dir, "kills", ".jsonl", []byte(text))
		if err != nil || r.Number() != i+1 {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	// A file put there by hand is not overwritten either.
	if err := os.WriteFile(filepath.Join(dir, "kills-3.jsonl"), []byte("foreign"), 0o644); err != nil {
		t.Fatal(err)
	}
	if r, err := Begin("").Keep(dir, "kills", ".jsonl", []byte("third")); err != nil || r.Number() != 4 {
		t.Errorf("%+v, %v", r, err)
	}
	for name, want := range map[string]string{"kills-1.jsonl": "first", "kills-2.jsonl": "second", "kills-3.jsonl": "foreign", "kills-4.jsonl": "third"} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	runs, err := Series(dir, "kills", ".jsonl")
	if err != nil || len(runs) != 3 {
		t.Fatalf("%+v, %v", runs, err)
	}
	if r := runs[1]; r.ProgramText() != "vsecond" || len(r.Load) != 2 || r.At.IsZero() || strings.Contains(r.LoadText(), "unknown") {
		t.Errorf("%+v", r)
	}
	if err := verify(dir, none); err == nil || !strings.Contains(err.Error(), "kills-3.jsonl has 7 bytes and the ledger accounts for 0") {
		t.Errorf("a record that is not in the ledger: %v", err)
	}
}

func TestSeriesAreToldApart(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"locality", "locality-small", "locality"} {
		if _, err := Begin("").KeepJSON(dir, name, name); err != nil {
			t.Fatal(err)
		}
	}
	runs, texts, err := ReadSeries[string](dir, "locality")
	if err != nil || len(runs) != 2 || *texts[1] != "locality" || runs[1].File != "locality-2.json.gz" {
		t.Errorf("%+v, %v", runs, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "locality-1.json.gz"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := ReadSeries[string](dir, "locality"); err == nil || !strings.Contains(err.Error(), "not the record that was stored") {
		t.Errorf("a record that was replaced is read: %v", err)
	}
}

// Changes to what a ledger vouches for are detected.
func TestVerify(t *testing.T) {
	for name, c := range map[string]struct {
		harm func(dir string) error
		want string
	}{
		"nothing":           {func(string) error { return nil }, ""},
		"a record replaced": {func(dir string) error { return os.WriteFile(filepath.Join(dir, "a-1.txt"), []byte("uno"), 0o644) }, "a-1.txt is not the record"},
		"a record removed":  {func(dir string) error { return os.Remove(filepath.Join(dir, "a-1.txt")) }, "no such file"},
		"an appended record replaced": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "batches"), []byte("oneTWO"), 0o644)
		}, "batches is not the record"},
		"the last appended record cut": {func(dir string) error { return os.Truncate(filepath.Join(dir, "batches"), 4) }, "batches is not the record"},
		"bytes without a line": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "batches"), []byte("onetwothree"), 0o644)
		}, "batches has 11 bytes"},
		"a file of a folder replaced": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "run-1", "deep", "x"), []byte("y"), 0o644)
		}, "run-1 is not the record"},
		"a file of a folder added": {func(dir string) error { return os.WriteFile(filepath.Join(dir, "run-1", "z"), nil, 0o644) }, "run-1 is not the record"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, from := t.TempDir(), t.TempDir()
			if err := os.MkdirAll(filepath.Join(from, "deep"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(from, "deep", "x"), []byte("x"), 0o644); err != nil {
				t.Fatal(err)
			}
			r := Begin("")
			if _, err := r.Keep(dir, "a", ".txt", []byte("one")); err != nil {
				t.Fatal(err)
			}
			for _, text := range []string{"one", "two"} {
				if _, err := r.Append(dir, "batches", []byte(text)); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := r.KeepTree(dir, "run", from); err != nil {
				t.Fatal(err)
			}
			if err := c.harm(dir); err != nil {
				t.Fatal(err)
			}
			err := verify(dir, none)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// Every record of every study matches its ledger; a folder of records without a ledger is not allowed.
func TestKeptRecordsAreUntouched(t *testing.T) {
	studies := filepath.Join("..", "..", "docs", "studies")
	entries, err := os.ReadDir(studies)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range entries {
		if !e.IsDir() {
			if filepath.Ext(e.Name()) != ".md" {
				t.Errorf("%s: a record belongs in its study's folder", e.Name())
			}
			continue
		}
		dir := filepath.Join(studies, e.Name())
		runs, err := Runs(dir)
		if err != nil || len(runs) == 0 {
			t.Errorf("%s: %d runs in its ledger, %v", dir, len(runs), err)
		}
		for _, r := range runs {
			if r.Program == "" && r.Commit == "" {
				t.Errorf("%s, %s: neither a program nor a commit", dir, r.File)
			}
		}
		n += len(runs)
		if err := verify(dir, func(name string) bool { return strings.HasSuffix(name, ".svg") || strings.HasSuffix(name, ".md") }); err != nil {
			t.Error(err)
		}
	}
	if n < 120 { // the number when ledgers were introduced; it can only grow
		t.Errorf("%d runs: records were removed", n)
	}
}

func TestPrograms(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"", self} {
		if s, err := Program(t.TempDir(), file); err != nil || !strings.Contains(s, "commit") {
			t.Errorf("%q, %v", s, err)
		}
	}
	if s, err := Program(t.TempDir(), "/does/not/exist"); err == nil {
		t.Errorf("%q", s)
	}
	r := Run{Commit: "abc"}
	if s := r.ProgramText(); s != "unknown (record of commit abc)" || r.LoadText() != "unknown" {
		t.Errorf("%q", s)
	}
}

// A record in a repository names a commit in its history: a commit that only a branch had, and changes that no commit has, are refused.
func TestProgramsOfRecordsAreInTheHistory(t *testing.T) {
	dir := t.TempDir()
	run := func(name string, args ...string) string {
		t.Helper()
		c := exec.Command(name, args...)
		c.Dir = dir
		c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=true -trimpath", "GIT_CONFIG_GLOBAL=/dev/null",
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v %s", name, args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	run("git", "init", "-q", "-b", "main")
	write("go.mod", "module example.com/m\n\ngo 1.26\n")
	write("main.go", "package main\n\nfunc main() {}\n")
	write(".gitignore", "/prog-*\n/records/\n")
	run("git", "add", ".")
	run("git", "commit", "-q", "-m", "first")
	run("go", "build", "-o", "prog-clean", ".")
	run("git", "checkout", "-q", "-b", "branch")
	run("git", "commit", "-q", "--allow-empty", "-m", "second")
	run("go", "build", "-o", "prog-branch", ".")
	write("main.go", "package main\n\nfunc main() { println() }\n")
	run("go", "build", "-o", "prog-changed", ".")
	run("git", "checkout", "-q", "-f", "main")
	records := filepath.Join(dir, "records")
	if s, err := Program(records, filepath.Join(dir, "prog-clean")); err != nil || !strings.HasSuffix(s, ", commit "+run("git", "rev-parse", "HEAD")[:12]) {
		t.Errorf("%q, %v", s, err)
	}
	for _, name := range []string{"prog-branch", "prog-changed"} {
		if s, err := Program(records, filepath.Join(dir, name)); err == nil || !strings.Contains(err.Error(), "is not in the history of") {
			t.Errorf("%s: %q, %v", name, s, err)
		}
		if _, err := Program(t.TempDir(), filepath.Join(dir, name)); err != nil { // no evidence: a trial
			t.Errorf("%s outside the repository: %v", name, err)
		}
	}
}

// Every record names a commit in the history, except those that were recorded before that was demanded: their pages say so.
func TestRecordsNameCommits(t *testing.T) {
	if out, err := exec.Command("git", "rev-parse", "--is-shallow-repository").Output(); err != nil || strings.TrimSpace(string(out)) != "false" {
		t.Skip("needs the history")
	}
	out, err := exec.Command("git", "rev-list", "HEAD").Output()
	if err != nil {
		t.Fatal(err)
	}
	history := "\n" + string(out)
	ledgers, err := filepath.Glob(filepath.Join("..", "..", "docs", "studies", "*", Ledger))
	if err != nil || len(ledgers) == 0 {
		t.Fatalf("%v, %v", ledgers, err)
	}
	named := map[string]bool{}
	for _, ledger := range ledgers {
		runs, err := Runs(filepath.Dir(ledger))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range runs {
			commit := r.commit()
			named[commit] = true
			exists := commit != "" && strings.Contains(history, "\n"+commit)
			if !exists && !slices.Contains(lost, commit) {
				t.Errorf("%s, %s: %q is not in the history", ledger, r.File, r.ProgramText())
			}
			if exists == strings.Contains(r.ProgramText(), "(not in the history)") {
				t.Errorf("%s, %s: in the history: %v, but a page says %q", ledger, r.File, exists, r.ProgramText())
			}
		}
	}
	for _, commit := range lost {
		if !named[commit] {
			t.Errorf("no record names %s", commit)
		}
	}
}

// verify reports errors in a folder of records: a record that does not match its ledger, a missing one, bytes that no run
// accounts for. Files that derived names are computed from records and may change.
func verify(dir string, derived func(name string) bool) error {
	runs, err := Runs(dir)
	if err != nil {
		return err
	}
	var wrong []error
	known := map[string]int64{} // bytes accounted for, by file
	for _, r := range runs {
		if err := r.check(dir); err != nil {
			wrong = append(wrong, err)
		} else if r.From != known[r.File] {
			wrong = append(wrong, fmt.Errorf("%s: a record begins at byte %d, the one before it ends at %d", r.File, r.From, known[r.File]))
		}
		known[r.File] += r.Size
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == Ledger || derived(e.Name()) {
			continue
		}
		size, _, err := digest(filepath.Join(dir, e.Name()), 0, -1)
		if err != nil || size != known[e.Name()] {
			wrong = append(wrong, fmt.Errorf("%s has %d bytes and the ledger accounts for %d (%v)", filepath.Join(dir, e.Name()), size, known[e.Name()], err))
		}
	}
	return errors.Join(wrong...)
}
