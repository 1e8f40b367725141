//go:build !unix

package yard

import (
	"io/fs"
	"os"
)

func sameOwner(*os.File, fs.FileInfo) error { return nil }

func linked(fs.FileInfo) bool { return false }

func inPlace(error) bool { return true }
