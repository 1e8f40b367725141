// Package flock keeps other processes away from a file. The system gives a lock back when its process ends, however it ends.
package flock

import "errors"

// ErrHeld is that another open file has the lock.
var ErrHeld = errors.New("another process holds it")
