//go:build unix

package securefile

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

func openNoFollow(path string, flag int, perm fs.FileMode) (*os.File, error) {
	return os.OpenFile(path, flag|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, perm) // O_CLOEXEC is os.OpenFile's own
}

// us is the account that we trust besides root.
var us = os.Geteuid()

// ours reports whether root or this process's account owns a file.
func ours(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && (s.Uid == 0 || int(s.Uid) == us)
}

func owner(info fs.FileInfo) string {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprintf("uid %d", s.Uid)
	}
	return "somebody"
}

// shared reports whether the mode lets others write. With an access list the group's bits are the most that the list gives anybody.
func shared(info fs.FileInfo) bool { return info.Mode().Perm()&0o022 != 0 }

func checkDir(path string, info fs.FileInfo, onTheWay bool) error {
	switch {
	case !ours(info):
		return fmt.Errorf("%w: the folder %s belongs to %s: run this as that account, or use a folder of your own", ErrInsecure, path, owner(info))
	case shared(info) && (!onTheWay || info.Mode()&fs.ModeSticky == 0):
		return fmt.Errorf("%w: others may write to the folder %s (%s): chmod go-w it, or use another", ErrInsecure, path, info.Mode())
	}
	return nil
}

// checkEntry checks an entry of a folder that passed checkDir. In one with the sticky bit others can add entries, and remove only
// their own.
func checkEntry(path string, info, in fs.FileInfo) error {
	if shared(in) && !ours(info) {
		return fmt.Errorf("%w: %s belongs to %s, in a folder that others may write to (%s)", ErrInsecure, path, owner(info), in.Mode())
	}
	return nil
}

func checkFile(path string, info fs.FileInfo) error {
	switch {
	case !ours(info):
		return fmt.Errorf("%w: %s belongs to %s", ErrInsecure, path, owner(info))
	case shared(info):
		return fmt.Errorf("%w: others may write %s (%s): chmod go-w it if you trust what it says", ErrInsecure, path, info.Mode())
	}
	return nil
}

func copyOwner(to *os.File, from fs.FileInfo) error {
	want, ok := from.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	info, err := to.Stat()
	if err != nil {
		return err
	}
	if has, ok := info.Sys().(*syscall.Stat_t); ok && has.Uid == want.Uid && has.Gid == want.Gid {
		return nil
	}
	return to.Chown(int(want.Uid), int(want.Gid))
}

func syncDir(d *os.File) error { return d.Sync() }
