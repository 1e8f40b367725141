//go:build !unix

package drive

import (
	"errors"
	"os"
)

// lock cannot hold a file here, and two drivers of one queue would undo each other.
func lock(*os.File) error { return errors.New("steering needs a system with file locks") }
