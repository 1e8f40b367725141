package live

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/yardmaster/yardmaster/internal/flock"
	"github.com/yardmaster/yardmaster/internal/securefile"
)

// takeLock locks a folder for this process and records the holder in the lock file. The OS releases the lock when the process ends, however it
// ends.
func takeLock(dir string) (*os.File, error) {
	path := filepath.Join(dir, lockFile)
	for range 10 {
		f, err := securefile.Open(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, fmt.Errorf("journal: %w", err)
		}
		err = flock.Try(f)
		if errors.Is(err, flock.ErrHeld) {
			held := readHolder(dir)
			f.Close()
			return nil, held
		}
		if errors.Is(err, errors.ErrUnsupported) { // two drivers of one queue would undo each other's changes
			err = errors.New("steering needs a system with file locks")
		}
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("journal: cannot lock %s: %w", path, err)
		}
		mine, err := f.Stat()
		now, errNow := os.Stat(path)
		if err != nil || errNow != nil || !os.SameFile(mine, now) { // somebody removed it in between
			f.Close()
			continue
		}
		host, _ := os.Hostname() // empty is fine
		word, _ := json.Marshal(HeldError{PID: os.Getpid(), Host: host, Since: time.Now().UTC().Truncate(time.Second)})
		if err := f.Truncate(0); err == nil {
			_, _ = f.WriteAt(append(word, '\n'), 0) // only for the message to whoever is refused
		}
		return f, nil
	}
	return nil, fmt.Errorf("journal: %s keeps disappearing: does somebody remove it?", path)
}

// readHolder finds out who holds the lock: the holder is recorded shortly after the lock is taken.
func readHolder(dir string) *HeldError {
	held := &HeldError{Dir: dir}
	if word, err := securefile.ReadFile(filepath.Join(dir, lockFile), 4096); err == nil {
		_ = json.Unmarshal(word, held) // unknown then
	}
	return held
}

func dropLock(f *os.File) error {
	if f == nil {
		return nil
	}
	_ = f.Truncate(0) // nobody holds it now
	return f.Close()
}
