// Package endless makes infinite input, for tests of readers that must refuse it in bounded memory.
package endless

import "runtime"

// Reader yields a head, then a body forever, and samples the memory in use.
type Reader struct {
	Peak uint64 // max heap in use so far, bytes

	head, body string
	at, reads  int
}

// New collects what earlier tests left behind, so that Peak is this reader's own, and returns a reader.
func New(head, body string) *Reader {
	runtime.GC()
	return &Reader{head: head, body: body}
}

func (r *Reader) Read(p []byte) (int, error) {
	if r.reads++; r.reads%64 == 0 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		r.Peak = max(r.Peak, m.HeapInuse)
	}
	n := 0
	if r.head != "" {
		n = copy(p, r.head)
		r.head = r.head[n:]
		return n, nil
	}
	for n < len(p) {
		k := copy(p[n:], r.body[r.at:])
		r.at = (r.at + k) % len(r.body)
		n += k
	}
	return n, nil
}
