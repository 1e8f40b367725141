//go:build !unix

package securefile

import (
	"errors"
	"io/fs"
	"os"
)

func openNoFollow(path string, flag int, perm fs.FileMode) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, &fs.PathError{Op: "open", Path: path, Err: errors.New("it is a symbolic link")}
	}
	return os.OpenFile(path, flag, perm)
}

func checkDir(string, fs.FileInfo, bool) error { return nil }

func checkEntry(string, fs.FileInfo, fs.FileInfo) error { return nil }

func checkFile(string, fs.FileInfo) error { return nil }

func copyOwner(*os.File, fs.FileInfo) error { return nil }

func syncDir(*os.File) error { return nil } // a folder cannot be synced there
