package securefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// tempDir is a folder of the test's own that passes CheckDir whatever the umask is.
func tempDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{filepath.Dir(dir), dir} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	dir, err := Resolve(dir)
	if err != nil {
		t.Skip("no safe folder for temporary files here:", err)
	}
	return dir
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestWriteFile(t *testing.T) {
	dir := tempDir(t)
	target := write(t, filepath.Join(dir, "target"), "target")
	path := filepath.Join(dir, "a[b")
	if err := os.Symlink(target, path); err != nil {
		t.Skip(err)
	}
	if err := WriteFile(path, []byte("new"), 0o640); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm() != 0o640 && os.PathSeparator == '/' {
		t.Error(info.Mode(), err)
	}
	if read(t, path) != "new" || read(t, target) != "target" {
		t.Error("what a symbolic link led to was written")
	}
	if left := Leftovers(path); len(left) != 0 {
		t.Error(left)
	}
	if err := WriteFile(filepath.Join(dir, "no", "folder"), nil, 0o600); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestTempIsPrivateAndRandom(t *testing.T) {
	path := filepath.Join(tempDir(t), "a[b")
	first, err := NewTemp(path)
	if err != nil {
		t.Fatal(err)
	}
	second, err := NewTemp(path)
	if err != nil {
		t.Fatal(err)
	}
	if first.Name() == second.Name() {
		t.Error(first.Name())
	}
	if info, err := first.Stat(); err != nil || os.PathSeparator == '/' && info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
	if left := Leftovers(path); len(left) != 2 {
		t.Errorf("%v, want two", left)
	}
	first.Discard()
	if _, err := second.WriteString("text"); err != nil {
		t.Fatal(err)
	}
	if err := second.Commit(); err != nil {
		t.Fatal(err)
	}
	second.Discard()
	if left := Leftovers(path); len(left) != 0 || read(t, path) != "text" {
		t.Errorf("left %v", left)
	}
}

func TestLeftoversOfAnotherFile(t *testing.T) {
	path := filepath.Join(tempDir(t), "out")
	other, err := NewTemp(path + ".html")
	if err != nil {
		t.Fatal(err)
	}
	users := write(t, filepath.Join(filepath.Dir(path), ".out.backup.tmp"), "not from Create")
	RemoveLeftovers(path)
	if err := other.Commit(); err != nil {
		t.Error("the temporary file of out.html went with those of out:", err)
	}
	read(t, users)
}

// What is at a path is cut only once it is known to be a file of ours.
func TestOpenDoesNotFollowOrTruncate(t *testing.T) {
	dir := tempDir(t)
	target, link := write(t, filepath.Join(dir, "target"), "target"), filepath.Join(dir, "link")
	if err := os.Symlink(target, link); err != nil {
		t.Skip(err)
	}
	for _, flag := range []int{os.O_RDONLY, os.O_RDWR, os.O_WRONLY | os.O_CREATE | os.O_TRUNC, os.O_WRONLY | os.O_CREATE | os.O_APPEND} {
		if f, err := OpenRegular(link, flag, 0o600); err == nil {
			f.Close()
			t.Errorf("flags %#x: a symbolic link was followed", flag)
		}
	}
	if read(t, target) != "target" {
		t.Error("what it leads to was written")
	}
	f, err := Open(target, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if got := read(t, target); got != "" {
		t.Errorf("%q after O_TRUNC", got)
	}
}
