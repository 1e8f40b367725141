package yard

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A single file that is mounted into a container cannot be renamed over: it is written in place.
func TestReplaceOfAMountedFile(t *testing.T) {
	dir := t.TempDir()
	source, seen := filepath.Join(dir, "real.xml"), filepath.Join(dir, "conf", "fair-scheduler.xml")
	if err := os.Mkdir(filepath.Dir(seen), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{source, seen} {
		if err := os.WriteFile(f, []byte("a long old content"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mount(source, seen, "", syscall.MS_BIND, ""); err != nil {
		t.Skip("mounting is not permitted:", err)
	}
	defer func() {
		if err := syscall.Unmount(seen, 0); err != nil {
			t.Error(err)
		}
	}()
	f := editedFile{seen, allocationFile}
	o, err := f.open()
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if err := o.replace([]byte("new")); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{source, seen} {
		if data, err := os.ReadFile(f); err != nil || string(data) != "new" {
			t.Errorf("%s: %q %v", f, data, err)
		}
	}
	if left, _ := os.ReadDir(filepath.Dir(seen)); len(left) != 1 {
		t.Error(left)
	}
}
