package flock_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/yardmaster/yardmaster/internal/flock"
)

func TestOneHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	first, second := open(), open()
	if err := flock.Try(first); errors.Is(err, errors.ErrUnsupported) {
		t.Skip("this system has no file locks")
	} else if err != nil {
		t.Fatal(err)
	}
	if err := flock.Try(second); !errors.Is(err, flock.ErrHeld) {
		t.Errorf("a second holder: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := flock.Try(second); err != nil {
		t.Errorf("after the first has gone: %v", err)
	}
}
