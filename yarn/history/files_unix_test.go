//go:build unix

package history

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/internal/securefile"
)

// A link that somebody else has put where a temporary file might be is not followed.
func TestReplaceFollowsNoLinks(t *testing.T) {
	dir := t.TempDir()
	precious, path := filepath.Join(dir, "precious"), filepath.Join(dir, "jobs.parquet")
	if err := os.WriteFile(precious, []byte("keep this"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(precious, path+".tmp"); err != nil {
		t.Skip(err)
	}
	if err := replace(path, 0o644, func(w io.Writer) error { _, err := io.WriteString(w, "jobs"); return err }); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{precious: "keep this", path: "jobs"} {
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", file, got, err)
		}
	}
	failed := errors.New("failed")
	if err := replace(path, 0o644, func(io.Writer) error { return failed }); !errors.Is(err, failed) || len(securefile.Leftovers(path)) > 0 {
		t.Error(err, securefile.Leftovers(path))
	}
}

// A ResourceManager may name anything as its allocation file.
func TestReadNamedEnds(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "fair-scheduler.xml")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	for _, path := range []string{pipe, "/dev/zero", t.TempDir()} {
		done := make(chan error, 1)
		go func() {
			_, err := readNamed(path)
			done <- err
		}()
		select {
		case err := <-done:
			if err == nil {
				t.Errorf("%s was read", path)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s is read without end", path)
		}
	}
}
