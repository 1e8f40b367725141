//go:build !unix

package yard

import "io/fs"

func linked(fs.FileInfo) bool { return false }

func inPlace(error) bool { return true }
