//go:build unix

package history

import (
	"io"
	"os"
	"syscall"
)

// lockFile holds a file for this process. The system gives it back when the process ends, however it ends.
func lockFile(path string) (io.Closer, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close() // nothing was written
		return nil, err
	}
	return f, nil
}
