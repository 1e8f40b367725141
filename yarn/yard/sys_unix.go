//go:build unix

package yard

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// sameOwner gives a file the owner and group of another; without the right to it, the file stays as it is when they are the same already.
func sameOwner(f *os.File, of fs.FileInfo) error {
	want, ok := of.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if has, ok := info.Sys().(*syscall.Stat_t); ok && has.Uid == want.Uid && has.Gid == want.Gid {
		return nil
	}
	return f.Chown(int(want.Uid), int(want.Gid))
}

// linked reports whether a file has further names, which a rename would leave with the old content.
func linked(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && s.Nlink > 1
}

// inPlace reports whether an error of a replacement means that the file itself may still be written: it is a mount of its own, or its folder
// is not ours.
func inPlace(err error) bool {
	return errors.Is(err, syscall.EBUSY) || errors.Is(err, syscall.EXDEV) || errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EROFS)
}
