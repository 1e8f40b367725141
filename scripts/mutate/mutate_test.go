package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// Every entry of the list fits the program as it is: the line is there, and the mutated file parses.
func TestListFits(t *testing.T) {
	l, err := read("../..", "mutants.txt")
	if err != nil {
		t.Fatal(err)
	}
	if len(l.mutants) < 300 {
		t.Errorf("%d mutants: want at least 300", len(l.mutants))
	}
}

const program = `package small

func Larger(a, b int) int {
	if a > b {
		return a
	}
	return b
}

func (c *counter) Next() bool {
	c.n++ // twice
	c.n++ // twice
	return true
}

type counter struct{ n int }
`

// folder is a module with a package that has a test of Larger only.
func folder(t *testing.T, entries string) (list string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":         "module small\n\ngo 1.26\n",
		"small/small.go": program,
		"small/small_test.go": "package small\n\nimport \"testing\"\n\n" +
			"func TestLarger(t *testing.T) {\n\tif Larger(1, 2) != 2 {\n\t\tt.Fail()\n\t}\n}\n",
		"scripts/mutate/m.txt": entries,
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	return "scripts/mutate/m.txt"
}

func TestLocate(t *testing.T) {
	l, err := read(".", folder(t, "small/small.go counter.Next 2\n- c.n++ // twice\n+\n= nobody counts\n"))
	if err != nil {
		t.Fatal(err)
	}
	m := l.mutants[0]
	without := strings.Replace(program, "\tc.n++ // twice\n\treturn", "\n\treturn", 1)
	if m.line != 12 || m.reason != "nobody counts" || string(m.src) != without {
		t.Errorf("line %d, reason %q:\n%s", m.line, m.reason, m.src)
	}
}

func TestStaleEntries(t *testing.T) {
	for entry, want := range map[string]string{
		"small/small.go Larger\n- if a < b {\n+ if a > b {\n":   "0 lines with this text",
		"small/small.go Smaller\n- if a > b {\n+ if a < b {\n":  "0 lines with this text",
		"small/small.go counter.Next 3\n- c.n++ // twice\n+\n":  "2 lines with this text",
		"small/small.go Larger\n- if a > b {\n+ if a > b {\n":   "changes nothing",
		"small/small.go Larger\n- if a > b {\n+ if a > {\n":     "expected",
		"small/other.go Larger\n- if a > b {\n+ if a < b {\n":   "no such file",
		"small/small.go Larger x\n- if a > b {\n+ if a < b {\n": "invalid syntax",
		"Larger\n": "want FILE FUNCTION",
		strings.Repeat("small/small.go Larger\n- if a > b {\n+ if a < b {\n", 2): "listed twice",
	} {
		if _, err := read(".", folder(t, entry)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", entry, err, want)
		}
	}
}

func TestOutcomes(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the compiler")
	}
	l, err := read(".", folder(t, `
small/small.go Larger
- if a > b {
+ if a < b {

small/small.go Larger
- if a > b {
+ if a >= b {
= equivalent

small/small.go Larger
- if a > b {
+ for { continue

small/small.go Larger
- return b
+ return c

small/small.go counter.Next
- return true
+ return false
`))
	if err != nil {
		t.Fatal(err)
	}
	l.tests["small"][0].once.Do(func() { l.tests["small"][0].limit = 2 * time.Second })
	got := map[string]outcome{}
	results := l.run(t.Context(), t.TempDir(), regexp.MustCompile(""), 2)
	for _, r := range results {
		got[r.new] = r.outcome
	}
	want := map[string]outcome{"if a < b {": killed, "if a >= b {": survived, "for { continue": timedOut,
		"return c": invalid, "return false": survived}
	for to, o := range want {
		if got[to] != o {
			t.Errorf("%s: %s; want %s", to, got[to], o)
		}
	}
	s := summarise(results)
	if s.all.mutants != 5 || s.all.survived != 2 {
		t.Errorf("%+v", s.all)
	}
	if err := s.verdict(); err == nil || !strings.Contains(err.Error(), "1 mutants are invalid") {
		t.Error(err)
	}
}

func TestVerdict(t *testing.T) {
	results := func(killed_, survived_ int, reason string) (out []result) {
		for range killed_ {
			out = append(out, result{mutant: &mutant{file: "a/b.go"}, outcome: killed})
		}
		for range survived_ {
			out = append(out, result{mutant: &mutant{file: "a/b.go", reason: reason}, outcome: survived})
		}
		return out
	}
	for _, c := range []struct {
		killed, survived int
		reason, want     string
	}{{85, 15, "equivalent", ""}, {85, 15, "", "15 survivors have no reason"},
		{84, 16, "equivalent", "below the bar"}, {0, 0, "", "below"}} {
		err := summarise(results(c.killed, c.survived, c.reason)).verdict()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// Runs are added to those that the page already has.
func TestPage(t *testing.T) {
	m := &mutant{file: "a/b.go", function: "F", old: "x++", reason: "nobody looks."}
	s := summarise([]result{{mutant: m, outcome: survived}})
	first, err := s.page("", "", time.Now(), 2)
	if err != nil {
		t.Fatal(err)
	}
	page, err := s.page(first, "", time.Now(), 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{" | 2 | ", " | 3 | ", "| a | 1 | 0 | 0 | 1 | 0 % |\n",
		"- a/b.go, F: `x++` deleted. nobody looks.\n"} {
		if !strings.Contains(page, want) {
			t.Errorf("want %q in\n%s", want, page)
		}
	}
	if n := strings.Count(page, "\n| "); n != 5 { // two headings, two runs, one package
		t.Errorf("%d rows:\n%s", n, page)
	}
}

// What is drawn fits, is as long as asked for, and is the same every time.
func TestCandidates(t *testing.T) {
	file := folder(t, "")
	var first, again bytes.Buffer
	for _, w := range []*bytes.Buffer{&first, &again} {
		if err := candidates(w, []string{"-seed", "7", "-count", "5", "small"}); err != nil {
			t.Fatal(err)
		}
	}
	if first.String() != again.String() {
		t.Error("a second draw is another")
	}
	if err := os.WriteFile(file, first.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if l, err := read(".", file); err != nil || len(l.mutants) != 5 {
		t.Errorf("%v:\n%s", err, first.String())
	}
}
