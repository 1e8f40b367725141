//go:build !unix

package flock

import (
	"errors"
	"os"
)

// Try is unsupported here: the error is [errors.ErrUnsupported].
func Try(*os.File) error { return errors.ErrUnsupported }
