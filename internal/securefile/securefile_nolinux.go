//go:build !linux

package securefile

import (
	"errors"
	"os"
)

func copyAttributes(_, _ *os.File) error { return nil }

func exchange(a, b string) error {
	return &os.LinkError{Op: "exchange", Old: a, New: b, Err: errors.ErrUnsupported}
}
