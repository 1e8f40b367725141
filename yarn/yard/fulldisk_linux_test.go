package yard

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/steer/drive"
)

// smallDisk is a folder on a file system of its own, of 64 KiB.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=64k,mode=755"); err != nil {
		t.Skip("mounting is not permitted:", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill takes all the space that is left.
func fill(t *testing.T, dir string) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "fill"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for {
		if _, err := f.Write(make([]byte, 512)); errors.Is(err, syscall.ENOSPC) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// A disk that fills up between a change and its end must not keep the old value from coming back: not even where the old content needs a block
// more than the new one.
func TestPutBackOnAFullDisk(t *testing.T) {
	dir := smallDisk(t)
	file := filepath.Join(dir, "fair-scheduler.xml")
	for name, length := range map[string]int{"short": 0, "a block more": 4096 + 3} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(plainFair, "<weight>", "<maxAMShare>0.123456789</maxAMShare><weight>", 1)
			text = strings.Replace(text, "<allocations>", "<allocations><!--"+strings.Repeat("x", max(length-len(text)-len("<!---->"), 0))+"-->", 1)
			save(t, file, text)
			y := newManager("3.4.2", true).open(t, Options{File: file})
			ctx, k := t.Context(), y.Knob()
			found, err := y.Read(ctx, k)
			if err != nil {
				t.Fatal(err)
			}
			if err := y.Write(ctx, k, y.Value(k, 0.5)); err != nil {
				t.Fatal(err)
			}
			if length > 0 && (len(text) <= 4096 || len(content(t, file)) > 4096) {
				t.Fatalf("%d bytes before and %d after: no block is given back", len(text), len(content(t, file)))
			}
			fill(t, dir)
			defer os.Remove(filepath.Join(dir, "fill"))
			old := time.Now().Add(-time.Hour)
			if err := os.Chtimes(file, old, old); err != nil {
				t.Fatal(err)
			}
			if err := y.Write(ctx, k, found); err != nil {
				t.Error(err)
			}
			if content(t, file) != text {
				t.Errorf("not as it was: %d bytes of %d", len(content(t, file)), len(text))
			}
		})
	}
}

// What does not fit is refused, and the file is whole.
func TestChangeOnAFullDisk(t *testing.T) {
	dir := smallDisk(t)
	file := filepath.Join(dir, "fair-scheduler.xml")
	text := strings.Replace(plainFair, "<allocations>", "<allocations><!--"+strings.Repeat("x", 4096-len(plainFair)-len("<!---->"))+"-->", 1)
	save(t, file, text)
	fill(t, dir)
	y := newManager("3.4.2", true).open(t, Options{File: file})
	err := y.Write(t.Context(), y.Knob(), y.Value(y.Knob(), 0.5))
	if !errors.Is(err, syscall.ENOSPC) || errors.Is(err, drive.ErrOutcomeUnknown) || !strings.Contains(err.Error(), "not changed: ") {
		t.Error(err)
	}
	if content(t, file) != text {
		t.Errorf("not as it was: %d bytes of %d", len(content(t, file)), len(text))
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Error(left, err)
	}
}
