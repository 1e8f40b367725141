package main

import (
	"os"
	"strings"
	"testing"
)

// The licences of all that is linked are in the repository, and of nothing else.
func TestLicences(t *testing.T) {
	t.Chdir("../..")
	want, err := licences("./cmd/yardmaster")
	if err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadFile("THIRD_PARTY_LICENSES")
	if err != nil {
		t.Fatal(err)
	}
	if string(have) == want {
		return
	}
	lines := map[string]bool{}
	for line := range strings.Lines(string(have)) {
		lines[line] = true
	}
	for line := range strings.Lines(want) {
		if !lines[line] {
			t.Errorf("lacks %q", strings.TrimSpace(line))
		}
	}
	t.Error(`THIRD_PARTY_LICENSES is not what is linked: run "make licences"`)
}
