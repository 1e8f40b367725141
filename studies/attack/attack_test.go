package attack

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// The page is what the list and the newest record say.
func TestPage(t *testing.T) {
	want, err := Page(DefaultDir(root), "")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(DefaultPage(root)); err != nil || string(got) != want {
		t.Errorf("docs/attacks.md is out of date (%v): run go run ./studies attack --offline", err)
	}
}

// Every attack has a name of its own, and steps or a test that exist.
func TestList(t *testing.T) {
	names := map[string]bool{}
	for _, x := range list.Attacks {
		switch {
		case names[x.Name]:
			t.Errorf("%s is in the list twice", x.Name)
		case x.Tries == "" || x.Holds == "" || x.Actor == "":
			t.Errorf("%s lacks a sentence", x.Name)
		case (x.Steps == nil) != (x.Test != ""):
			t.Errorf("%s: want steps or the name of a test", x.Name)
		case x.Test != "":
			out, _ := exec.CommandContext(t.Context(), "grep", "-rl", "--include=*_test.go", "^func "+x.Test+"(", root).Output() // exit 1: none
			if len(out) == 0 {
				t.Errorf("%s: there is no test %s", x.Name, x.Test)
			}
		}
		names[x.Name] = true
		dry := &trial{arena: &arena{}}
		for _, words := range append(slices.Clone(x.Steps), x.Each) {
			dry.expand(words)
		}
		for _, words := range x.Steps {
			if files[words[0]] == nil && steps[words[0]] == nil {
				t.Errorf("%s: unknown step %v", x.Name, words)
			}
		}
		if dry.err != nil {
			t.Errorf("%s: %v", x.Name, dry.err)
		}
	}
}

// TestLabAttacks makes every attack that is not long.
func TestLabAttacks(t *testing.T) {
	if os.Getenv("YARDMASTER_LAB_TESTS") == "" {
		t.Skip("needs Hadoop and two minutes; set YARDMASTER_LAB_TESTS=1")
	}
	var log strings.Builder
	s := Study{Short: true, Log: &log}
	if keep := os.Getenv("YARDMASTER_LAB_KEEP"); keep != "" {
		s.Work = filepath.Join(keep, "attack")
	}
	run, err := s.Run(t.Context())
	t.Log("\n" + log.String())
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range run.Harms() {
		t.Error(h)
	}
}
