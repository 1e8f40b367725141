// Package securefile reads and writes files that a privileged process relies on, safe from tampering: the scheduler's configuration, a journal.
//
// The rule behind it: a path can be relied on if nobody but us and root can change what it leads to. [Resolve] and [CheckDir] establish that
// for every folder and symbolic link on the path, from the root down, so that what was checked stays true until it is used; [Open] and
// [OpenRegular] then follow no link and check the open descriptor; [Temp] replaces a file atomically, under a random name
// until then. Owner, mode, access list and labels are copied from descriptor to descriptor ([CopyAccess]), never by name.
//
// Owners and modes are checked on Unix; access lists, labels and [Exchange] are Linux only. Elsewhere those steps are no-ops or return
// [errors.ErrUnsupported].
package securefile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ErrInsecure means that somebody other than us and root could change a file or what its path leads to. The wrapping message says how to fix it.
var ErrInsecure = errors.New("not safe from other accounts")

// ErrNotDurable means that a file is in place, but a crash of the machine might still bring back the previous one.
var ErrNotDurable = errors.New("written, but perhaps not yet on disk")

const maxLinks = 40 // as Linux

// Resolve returns the absolute path of an existing file or folder without symbolic links. It fails with [ErrInsecure] unless only we and root
// can change what the path leads to: every folder on the path belongs to one of us and is not writable by others. A folder with the sticky
// bit, such as /tmp, may be on the path if what is used in it is ours or root's, but the file's own folder may not be one.
func Resolve(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	volume := filepath.VolumeName(path) + string(filepath.Separator)
	at, todo, links := volume, elements(path[len(volume):]), 0
	in, err := os.Lstat(at)
	if err != nil {
		return "", err
	}
	if err := checkDir(at, in, true); err != nil {
		return "", err
	}
	for len(todo) > 0 {
		next := filepath.Join(at, todo[0]) // .. is resolved by name: at holds no links
		todo = todo[1:]
		info, err := os.Lstat(next)
		if err != nil {
			return "", err
		}
		if err := checkEntry(next, info, in); err != nil {
			return "", err
		}
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			if links++; links > maxLinks {
				return "", &fs.PathError{Op: "resolve", Path: path, Err: errors.New("too many symbolic links")}
			}
			target, err := os.Readlink(next)
			if err != nil {
				return "", err
			}
			if filepath.IsAbs(target) {
				at = filepath.VolumeName(target) + string(filepath.Separator)
				target = target[len(at):]
			}
			todo = append(elements(target), todo...)
			info, err = os.Lstat(at)
			if err != nil {
				return "", err
			}
		case info.IsDir():
			if err := checkDir(next, info, len(todo) > 0); err != nil {
				return "", err
			}
			at = next
		case len(todo) > 0:
			return "", &fs.PathError{Op: "resolve", Path: next, Err: errors.New("not a folder")}
		default:
			return next, checkDir(at, in, false)
		}
		in = info
	}
	return at, checkDir(at, in, false)
}

func elements(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r < 128 && os.IsPathSeparator(uint8(r)) })
}

// CheckDir reports with [ErrInsecure] why a folder cannot hold a file that we rely on: somebody other than us and root could write there, or
// lead its path elsewhere. See [Resolve].
func CheckDir(dir string) error {
	path, err := Resolve(dir)
	if err != nil {
		return err
	}
	info, err := os.Lstat(path)
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "check", Path: dir, Err: errors.New("not a folder")}
	}
	return err
}

// Open opens a file of ours: [OpenRegular], and [CheckFile] of what was opened.
func Open(path string, flag int, perm fs.FileMode) (*os.File, error) {
	return open(path, flag, perm, CheckFile)
}

// OpenRegular opens a regular file as [os.OpenFile] does, but follows no symbolic link in the last element of its path, and does not wait for
// the other end of a pipe. The file is truncated ([os.O_TRUNC]) only once it is known to be a regular one.
func OpenRegular(path string, flag int, perm fs.FileMode) (*os.File, error) {
	return open(path, flag, perm, func(*os.File) error { return nil })
}

func open(path string, flag int, perm fs.FileMode, check func(*os.File) error) (*os.File, error) {
	f, err := openNoFollow(path, flag&^os.O_TRUNC, perm)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf("%w: it is not a regular file", ErrInsecure)}
	}
	if err == nil {
		err = check(f)
	}
	if err == nil && flag&os.O_TRUNC != 0 {
		err = f.Truncate(0)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// CheckFile reports with [ErrInsecure] that an open file is not one that we rely on: it belongs to somebody other than us and root, or others
// may write it. Further names (hard links) do no harm: in a folder that passed [CheckDir] only we and root can have made one, and elsewhere whoever
// reaches the file could make one to have it refused.
func CheckFile(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return checkFile(f.Name(), info)
}

// Temp is a new file that replaces another atomically. Either Commit or Discard ends it; Discard after Commit is a no-op.
type Temp struct {
	*os.File
	path string
	done bool
}

// NewTemp is [Create] of a file that only we can read.
func NewTemp(path string) (*Temp, error) { return Create(path, 0o600) }

// Create creates a file with a random name in the folder of path, which it is to replace: .NAME.RANDOM.tmp. The mode is subject to the umask.
func Create(path string, perm fs.FileMode) (*Temp, error) {
	for try := 0; ; try++ {
		name := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%s.tmp", filepath.Base(path), rand.Text()))
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm) // with O_EXCL no link is followed
		switch {
		case err == nil:
			return &Temp{File: f, path: path}, nil
		case try > 3 || !errors.Is(err, fs.ErrExist):
			return nil, err
		}
	}
}

// random matches [rand.Text], and so nothing with a dot in it: .out.html.RANDOM.tmp is of out.html, not of out.
var random = strings.Repeat("[A-Z2-7]", 26)

// Leftovers lists files that [Create] made for a path and that were never committed or discarded, because the process was killed or is still running.
func Leftovers(path string) []string {
	left, _ := filepath.Glob(filepath.Join(escape(filepath.Dir(path)), "."+escape(filepath.Base(path))+"."+random+".tmp")) // the pattern is sound
	return left
}

// RemoveLeftovers deletes the [Leftovers] of a path, as far as permitted: they only take space. No other process should be writing the file.
func RemoveLeftovers(path string) {
	for _, f := range Leftovers(path) {
		_ = os.Remove(f) // it may have its name by now, or be somebody else's
	}
}

func escape(path string) string {
	if os.PathSeparator == '\\' {
		return path // Glob has no escape character there
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// Commit puts the file in place, atomically and durably. On error nothing has changed, unless it is
// [ErrNotDurable].
func (t *Temp) Commit() error {
	err := errors.Join(t.Sync(), t.Close())
	if err == nil {
		err = os.Rename(t.Name(), t.path)
	}
	if err != nil {
		t.Discard()
		return err
	}
	t.done = true
	return SyncDir(filepath.Dir(t.path))
}

// Discard removes the file.
func (t *Temp) Discard() {
	if t.done {
		return
	}
	t.done = true
	_ = t.Close()           // it may be closed already
	_ = os.Remove(t.Name()) // nothing refers to it
}

// WriteFile writes a file atomically and durably. It replaces what was there, a symbolic
// link itself rather than its target.
func WriteFile(path string, data []byte, perm fs.FileMode) error {
	t, err := NewTemp(path)
	if err != nil {
		return err
	}
	defer t.Discard()
	if _, err := t.Write(data); err != nil {
		return err
	}
	if err := t.Chmod(perm); err != nil {
		return err
	}
	return t.Commit()
}

// SyncDir makes renames in a folder durable. Its error is an [ErrNotDurable].
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err == nil {
		err = errors.Join(syncDir(d), d.Close())
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotDurable, err)
	}
	return nil
}

// CopyAccess copies owner, group, mode, access list and labels from another file. It fails without permission to change the owner,
// unless the owners are the same already.
func CopyAccess(to, from *os.File) error {
	info, err := from.Stat()
	if err != nil {
		return err
	}
	if err := copyOwner(to, info); err != nil {
		return err
	}
	if err := copyAttributes(to, from); err != nil {
		return err
	}
	return to.Chmod(info.Mode().Perm()) // last: with an access list, its group bits are the list's mask
}

// Reserve preallocates disk space for the first size bytes of a file, without growing it, so that it can be overwritten with that much
// later even if the disk is full. No-op if the file system does not support it.
func Reserve(f *os.File, size int64) error { return reserve(f, size) }

// Exchange swaps two files of one folder atomically. If the system or the file system cannot, the error is an [errors.ErrUnsupported].
func Exchange(a, b string) error { return exchange(a, b) }

// Cause is the reason of an error about a file whose name is said already.
func Cause(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	if l, ok := errors.AsType[*os.LinkError](err); ok {
		return l.Err
	}
	return err
}
