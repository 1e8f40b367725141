//go:build !linux

package hostlock

import "io"

// Take is a no-op here.
func Take(string) (io.Closer, error) { return io.NopCloser(nil), nil }
