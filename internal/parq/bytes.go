package parq

import (
	"encoding/binary"
	"fmt"
)

// profile reports a valid file in an unsupported profile.
func profile(text string, args ...any) error {
	return fmt.Errorf("%w: %s; write it with Snappy, data pages of version 2 and no dictionaries", ErrOther,
		fmt.Sprintf(text, args...))
}

// levelRuns decodes values levels in Parquet's RLE/bit-packing hybrid and yields them in runs of equal levels.
func levelRuns(b []byte, width int, values int64, yield func(level byte, n int64)) error {
	left := values
	for len(b) > 0 {
		if left == 0 {
			return damaged("a page has more levels than values")
		}
		u, n := binary.Uvarint(b)
		if n <= 0 {
			return damaged("a page's levels cannot be read")
		}
		b = b[n:]
		count := u >> 1
		if count == 0 || count > maxPage {
			return damaged("a page has a run of %d levels", count)
		}
		if u&1 == 0 { // a run of one level
			if len(b) == 0 || int64(count) > left {
				return damaged("a page has more levels than values")
			}
			yield(b[0], int64(count))
			left -= int64(count)
			b = b[1:]
			continue
		}
		size := int(count) * width // eight levels take width bytes
		if size > len(b) || int64(count)*8 >= left+8 {
			return damaged("a page has more levels than values")
		}
		mask := uint64(1)<<width - 1
		for i := 0; i < int(count)*8 && left > 0; i++ {
			bit := i * width
			v := uint64(b[bit/8])
			if bit/8+1 < size {
				v |= uint64(b[bit/8+1]) << 8
			}
			yield(byte(v>>(bit%8)&mask), 1)
			left--
		}
		b = b[size:]
	}
	if left != 0 {
		return damaged("a page has fewer levels than values")
	}
	return nil
}

// Limits on a Thrift structure.
const (
	maxThriftDepth   = 12
	maxThriftStructs = 150_000 // elements of lists of structures; the library needs up to 700 bytes for each
)

// checkThrift walks one structure in Thrift's compact protocol without building anything, and returns its length. The
// library allocates a list before it has read an element, so the list's size must be validated.
func checkThrift(b []byte) (int, error) {
	w := thriftWalk{b: b, structs: maxThriftStructs}
	if !w.structure(0) {
		return 0, damaged("a structure cannot be read at byte %d", w.at)
	}
	return w.at, nil
}

type thriftWalk struct {
	b       []byte
	at      int
	structs int
}

func (w *thriftWalk) byte() (byte, bool) {
	if w.at >= len(w.b) {
		return 0, false
	}
	w.at++
	return w.b[w.at-1], true
}

func (w *thriftWalk) varint() (uint64, bool) {
	v, n := binary.Uvarint(w.b[w.at:])
	if n <= 0 {
		return 0, false
	}
	w.at += n
	return v, true
}

func (w *thriftWalk) skip(n uint64) bool {
	if n > uint64(len(w.b)-w.at) {
		return false
	}
	w.at += int(n)
	return true
}

func (w *thriftWalk) structure(depth int) bool {
	if depth > maxThriftDepth {
		return false
	}
	for {
		h, ok := w.byte()
		if !ok {
			return false
		}
		if h == 0 {
			return true
		}
		if h>>4 == 0 {
			if _, ok := w.varint(); !ok {
				return false
			}
		}
		if kind := h & 15; kind > 2 && !w.value(kind, depth) { // 1 and 2 are true and false: no bytes follow
			return false
		}
	}
}

func (w *thriftWalk) value(kind byte, depth int) bool {
	switch kind {
	case 1, 2, 3: // in a list, a bool takes a byte, as a small integer does
		return w.skip(1)
	case 4, 5, 6:
		_, ok := w.varint()
		return ok
	case 7:
		return w.skip(8)
	case 8:
		n, ok := w.varint()
		return ok && w.skip(n)
	case 9, 10:
		return w.list(depth)
	case 12:
		return w.structure(depth + 1)
	}
	return false // maps do not occur in Parquet
}

func (w *thriftWalk) list(depth int) bool {
	h, ok := w.byte()
	if !ok || depth > maxThriftDepth {
		return false
	}
	n, kind := uint64(h>>4), h&15
	if n == 15 {
		if n, ok = w.varint(); !ok {
			return false
		}
	}
	if n > uint64(len(w.b)-w.at) { // every element takes a byte at least
		return false
	}
	if kind >= 8 { // takes more memory than bytes
		if w.structs -= int(n); w.structs < 0 {
			return false
		}
	}
	for range n {
		if !w.value(kind, depth+1) {
			return false
		}
	}
	return true
}
