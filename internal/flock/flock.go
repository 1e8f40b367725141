// Package flock locks a file against other processes. The system releases a lock when its process ends, however it ends.
package flock

import "errors"

// ErrHeld means that another open file has the lock.
var ErrHeld = errors.New("another process holds it")
