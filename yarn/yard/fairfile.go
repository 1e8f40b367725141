package yard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/yardmaster/yardmaster/steer/drive"
)

// The FairScheduler polls its file, and reloads it once it has not changed for a while.
const (
	youngest   = 5 * time.Second  // a file younger than this is not reloaded
	pollEvery  = 10 * time.Second // polling interval
	reloadedBy = youngest + pollEvery + time.Second
	shownBy    = time.Minute // after this, a limit that still disagrees with the file means nothing
)

// fairFile changes fair-scheduler.xml. No further call is needed.
type fairFile struct {
	editedFile
	mu   sync.Mutex
	last map[drive.Knob]*fileShare
}

// fileShare is a queue's setting in the file.
type fileShare struct {
	info      fs.FileInfo
	number    float64
	age       time.Duration // of the file
	taken     bool          // the scheduler uses it, or must have read it
	before    float64       // its former value, if that was in force
	hadBefore bool
}

func (f *fairFile) describe() string {
	return "set in " + f.path + ", which the ResourceManager reads 5 to 15 s after a change"
}

func (f *fairFile) spacing() time.Duration { return youngest }

// look reads a queue's setting if the file has changed since.
func (f *fairFile) look(k drive.Knob) (fileShare, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	data, info, err := f.editedFile.read()
	if err != nil {
		return fileShare{}, err
	}
	s := f.last[k]
	if s == nil || !info.ModTime().Equal(s.info.ModTime()) || info.Size() != s.info.Size() {
		v, err := f.of(k.Property).meaning(data, k.Queue)
		if err != nil {
			return fileShare{}, err
		}
		switch {
		case s == nil:
			s = &fileShare{}
			if f.last == nil {
				f.last = map[drive.Knob]*fileShare{}
			}
			f.last[k] = s
		case v.Number != s.number:
			if s.taken || !s.hadBefore {
				s.before, s.hadBefore = s.number, true
			}
			s.taken = false
		}
		s.info, s.number = info, v.Number
	}
	out := *s
	out.age = max(time.Since(info.ModTime()), 0)
	return out, nil
}

// take notes that the scheduler uses the file's value.
func (f *fairFile) take(k drive.Knob) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last[k].taken = true
}

func (f *fairFile) read(_ context.Context, k drive.Knob) (drive.Value, error) {
	data, _, err := f.editedFile.read()
	if err != nil {
		return drive.Value{}, err
	}
	return f.of(k.Property).value(data, k.Queue)
}

// write changes the file, no sooner than five seconds after its last change: another one would delay its reload.
func (f *fairFile) write(ctx context.Context, k drive.Knob, was *drive.Value, v drive.Value) error {
	for changed := 1; ; {
		wait, err := f.try(k, was, v)
		if errors.Is(err, errChanged) {
			if changed++; changed > tries {
				return fmt.Errorf("%s: not changed: %w, again and again", f.path, err)
			}
			wait, err = time.Millisecond, nil // then wait until it is old enough
		}
		if err != nil || wait <= 0 {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return fmt.Errorf("%s: not changed: %w", f.path, ctx.Err())
		}
	}
}

func (f *fairFile) try(k drive.Knob, was *drive.Value, v drive.Value) (wait time.Duration, err error) {
	o, err := f.open()
	if err != nil {
		return 0, err
	}
	defer func() { _ = o.Close() }() // already synced
	out, err := f.of(k.Property).change(o.data, k.Queue, was, v)
	if err != nil {
		return 0, err
	}
	if string(out) == string(o.data) {
		return 0, nil
	}
	// A time further ahead is from another clock: waiting for it could delay a restore.
	if age := time.Since(o.info.ModTime()); age < youngest && age > -youngest {
		return youngest - max(age, 0), nil
	}
	if _, err := f.look(k); err != nil { // to record the former value
		return 0, err
	}
	return 0, o.replace(out)
}
