//go:build unix

package securefile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const stranger = 65534

func mkdir(t *testing.T, mode os.FileMode, elem ...string) string {
	t.Helper()
	path := filepath.Join(elem...)
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func insecure(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, ErrInsecure) {
		t.Errorf("%s: %v, want ErrInsecure", what, err)
	}
}

func TestFoldersThatOthersWrite(t *testing.T) {
	dir := tempDir(t)
	const sticky = os.ModeSticky
	for _, c := range []struct {
		name   string
		mode   os.FileMode // of the folder
		itself bool        // it may hold the file
		above  bool        // it may be above the file's folder
	}{
		{"private", 0o700, true, true},
		{"readable", 0o755, true, true},
		{"searchable", 0o711, true, true},
		{"group", 0o775, false, false},
		{"everybody", 0o777, false, false},
		{"others", 0o757, false, false},
		{"sticky", 0o777 | sticky, false, true},
		{"sticky-group", 0o770 | sticky, false, true},
		{"needlessly-sticky", 0o755 | sticky, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			at := mkdir(t, 0o755, dir, c.name)
			below := mkdir(t, 0o755, at, "below")
			file, deep := write(t, filepath.Join(at, "file"), ""), write(t, filepath.Join(below, "file"), "")
			if err := os.Chmod(at, c.mode); err != nil {
				t.Fatal(err)
			}
			for path, want := range map[string]bool{at: c.itself, file: c.itself, below: c.above, deep: c.above, below + "/../below/./file": c.above} {
				got, err := Resolve(path)
				switch {
				case want && (err != nil || got != filepath.Clean(path)):
					t.Errorf("%s: %s, %v", path, got, err)
				case !want:
					insecure(t, path, err)
				}
			}
			if err := CheckDir(at); c.itself != (err == nil) {
				t.Error(err)
			}
		})
	}
	if err := CheckDir(os.TempDir()); os.TempDir() == "/tmp" {
		insecure(t, "/tmp itself", err)
	}
	if err := CheckDir(write(t, filepath.Join(dir, "file"), "")); err == nil {
		t.Error("a file was taken for a folder")
	}
	if _, err := Resolve(filepath.Join(dir, "file", "below")); err == nil {
		t.Error("a file was taken for a folder on the way")
	}
}

func TestLinksOnTheWay(t *testing.T) {
	dir := tempDir(t)
	folder := mkdir(t, 0o755, dir, "real")
	file := write(t, filepath.Join(folder, "file"), "")
	open := mkdir(t, 0o777, dir, "open")
	link := func(target string, at ...string) string {
		path := filepath.Join(at...)
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, path := range []string{link("real", dir, "relative"), link(folder, dir, "absolute"), link("relative", dir, "again"), link("../"+filepath.Base(dir)+"/real", dir, "up")} {
		if got, err := Resolve(path + "/file"); err != nil || got != file {
			t.Errorf("%s: %s, %v", path, got, err)
		}
	}
	if got, err := Resolve(link(file, dir, "to-file")); err != nil || got != file {
		t.Errorf("%s, %v", got, err)
	}
	_, err := Resolve(link(file, open, "in-open"))
	insecure(t, "a link in a folder that others write", err)
	_, err = Resolve(link(open+"/x", dir, "through-open"))
	insecure(t, "a link through a folder that others write", errors.Join(err))
	if _, err := Resolve(link("loop", dir, "loop")); err == nil || !strings.Contains(err.Error(), "too many") {
		t.Error(err)
	}
}

// Another account's folders, files and links: only root can make them, but whoever we are, the rules are the same.
func TestStrangers(t *testing.T) {
	if us != 0 {
		t.Skip("only root can give files away")
	}
	dir := tempDir(t)
	give := func(path string) string {
		if err := os.Lchown(path, stranger, stranger); err != nil {
			t.Fatal(err)
		}
		return path
	}
	theirs := give(mkdir(t, 0o755, dir, "theirs"))
	theirFile := give(write(t, filepath.Join(dir, "their-file"), "x"))
	sticky := mkdir(t, 0o777|os.ModeSticky, dir, "sticky")
	planted := filepath.Join(sticky, "planted")
	if err := os.Symlink(dir, planted); err != nil {
		t.Fatal(err)
	}
	give(planted)
	inSticky := give(mkdir(t, 0o755, sticky, "theirs"))
	ownInSticky := mkdir(t, 0o755, sticky, "ours")

	insecure(t, "their folder", CheckDir(theirs))
	insecure(t, "a folder in theirs", CheckDir(mkdir(t, 0o755, theirs, "below")))
	insecure(t, "their link in a sticky folder", CheckDir(planted))
	insecure(t, "their folder in a sticky folder", CheckDir(inSticky))
	if err := CheckDir(ownInSticky); err != nil {
		t.Error(err)
	}
	_, err := Open(theirFile, os.O_RDONLY, 0)
	insecure(t, "their file", err)
	if f, err := OpenRegular(theirFile, os.O_RDONLY, 0); err != nil {
		t.Error(err)
	} else {
		f.Close()
	}

	// The same for an account that is not root: its own and root's are fine, others' are not.
	defer func() { us = 0 }()
	us = stranger
	for _, d := range []string{theirs, inSticky, ownInSticky} {
		if err := CheckDir(d); err != nil {
			t.Error(err)
		}
	}
	us = stranger - 1
	insecure(t, "a third account's folder", CheckDir(theirs))
}

func TestFilesThatAreNotOurs(t *testing.T) {
	dir := tempDir(t)
	file := write(t, filepath.Join(dir, "file"), "text")
	for mode, want := range map[os.FileMode]bool{0o600: true, 0o644: true, 0o664: false, 0o646: false, 0o620: false} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		f, err := Open(file, os.O_RDWR|os.O_TRUNC, 0)
		switch {
		case want && err != nil:
			t.Error(mode, err)
		case want:
			if _, err := f.WriteString("text"); err != nil {
				t.Fatal(err)
			}
		default:
			insecure(t, mode.String(), err)
			if got := read(t, file); got != "text" {
				t.Errorf("%v: refused, but %q is left", mode, got)
			}
		}
		f.Close()
	}
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(file, file+"2"); err != nil {
		t.Fatal(err)
	}
	f, err := Open(file, os.O_RDONLY, 0)
	if err != nil {
		t.Fatal("a second name, which others may be able to make, keeps us from our file:", err)
	}
	f.Close()
}

// Opening a pipe must not wait for somebody at its other end.
func TestOpenOfAPipe(t *testing.T) {
	pipe := filepath.Join(tempDir(t), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := OpenRegular(pipe, os.O_RDONLY, 0)
		done <- err
	}()
	select {
	case err := <-done:
		insecure(t, "a pipe", err)
	case <-time.After(time.Minute):
		t.Fatal("it waits")
	}
}
