//go:build !unix

package flock

import (
	"errors"
	"os"
)

// Try cannot hold a file here: the error is [errors.ErrUnsupported].
func Try(*os.File) error { return errors.ErrUnsupported }
