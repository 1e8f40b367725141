//go:build unix

package spark

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Whoever may write into a folder of logs can stop neither the listing nor the reading of the others.
func TestLocal(t *testing.T) {
	dir := t.TempDir()
	for _, err := range []error{
		os.WriteFile(filepath.Join(dir, "good"), report(t), 0o600), os.Symlink("good", filepath.Join(dir, "link")), os.Symlink("nowhere", filepath.Join(dir, "dangling")),
		os.Symlink(".", filepath.Join(dir, "loop")), os.WriteFile(filepath.Join(dir, "swapped"), nil, 0o600), syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	logs, err := Local(dir).Logs(t.Context())
	if err != nil || len(logs) != 4 {
		t.Fatal(logs, err)
	}
	if err := os.Rename(filepath.Join(dir, "pipe"), filepath.Join(dir, "swapped")); err != nil {
		t.Fatal(err)
	}
	for _, l := range logs {
		name := filepath.Base(l.Name)
		if a, err := l.Read(t.Context(), nil); (err == nil) != (name == "good" || name == "link") || err == nil && a.End == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
