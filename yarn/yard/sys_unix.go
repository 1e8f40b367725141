//go:build unix

package yard

import (
	"errors"
	"io/fs"
	"slices"
	"syscall"
)

// linked reports whether a file has further hard links, which a rename would leave with the old content.
func linked(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && s.Nlink > 1
}

// inPlace reports whether an error of a replacement means that the file itself may still be written: it is a mount point, its folder is
// not ours, or the disk is full except for the room that the file already has.
func inPlace(err error) bool {
	return slices.ContainsFunc([]error{syscall.EBUSY, syscall.EXDEV, syscall.EPERM, syscall.EACCES, syscall.EROFS, syscall.ENOSPC, syscall.EDQUOT},
		func(e error) bool { return errors.Is(err, e) })
}
