// Package input opens workload files: plain or gzipped, from disk or standard input, always in
// bounded memory. Trace files are untrusted: a decompression bomb and an endless line
// are errors rather than out of memory.
package input

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/yardmaster/yardmaster/unit"
)

// PeekSize is the maximum of Peek.
const PeekSize = 64 << 10

// Limits bounds decompression. A zero field takes its value from DefaultLimits.
type Limits struct {
	Bytes unit.Bytes // of decompressed data in all
	Ratio int64      // decompressed bytes per compressed byte
	Grace unit.Bytes // decompressed bytes before Ratio is checked: short runs of equal bytes are no attack
}

// DefaultLimits are what Open uses.
func DefaultLimits() Limits { return Limits{Bytes: 64 * unit.GiB, Ratio: 200, Grace: unit.MiB} }

func (l Limits) withDefaults() Limits {
	d := DefaultLimits()
	l.Bytes = unit.Positive(l.Bytes, d.Bytes)
	l.Ratio = unit.Positive(l.Ratio, d.Ratio)
	l.Grace = unit.Positive(l.Grace, d.Grace)
	return l
}

// File is an open input, decompressed. Errors that it returns name the file.
type File struct {
	Name    string // as given; "standard input" for "-"
	Gzipped bool

	buf   *bufio.Reader
	under io.Closer // nil: nothing to close
}

// Open opens a file, or standard input for "-". A gzipped one is recognised by its first bytes, whatever it is called.
func Open(path string) (*File, error) {
	if path == "-" {
		return NewFile(os.Stdin, "standard input", Limits{})
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err // it already names the operation and the file
	}
	if st, err := f.Stat(); err == nil && st.IsDir() {
		_ = f.Close()
		return nil, fmt.Errorf("%s is a folder: name the files in it", path)
	}
	in, err := NewFile(f, path, Limits{})
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	in.under = f
	return in, nil
}

// NewFile reads a stream as Open reads a file. Closing the File does not close r.
func NewFile(r io.Reader, name string, limits Limits) (*File, error) {
	f := &File{Name: name}
	lim := limits.withDefaults()
	front := bufio.NewReaderSize(r, PeekSize)
	magic, err := front.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	g := &guard{r: front, name: name, lim: lim}
	if len(magic) == 2 && magic[0] == 0x1f && magic[1] == 0x8b {
		packed := &Counter{R: front}
		z, err := gzip.NewReader(packed)
		if err != nil {
			return nil, g.explain(err)
		}
		f.Gzipped, g.r, g.packed = true, z, packed
	}
	f.buf = bufio.NewReaderSize(g, PeekSize)
	return f, nil
}

// Read implements io.Reader.
func (f *File) Read(p []byte) (int, error) { return f.buf.Read(p) }

// Peek returns the next n bytes (at most PeekSize) without consuming them; fewer at the end of the input, without an
// error. The slice is valid until the next read.
func (f *File) Peek(n int) ([]byte, error) {
	p, err := f.buf.Peek(min(n, PeekSize))
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return p, err
}

// Close closes the file.
func (f *File) Close() error {
	if f.under == nil {
		return nil
	}
	return f.under.Close()
}

// Counter counts compressed bytes consumed, not buffered: it is an io.ByteReader, so
// that the decompressor reads no more than it needs.
type Counter struct {
	R *bufio.Reader
	N int64
}

// Read implements io.Reader.
func (c *Counter) Read(p []byte) (int, error) {
	n, err := c.R.Read(p)
	c.N += int64(n)
	return n, err
}

// ReadByte implements io.ByteReader.
func (c *Counter) ReadByte() (byte, error) {
	b, err := c.R.ReadByte()
	if err == nil {
		c.N++
	}
	return b, err
}

// Guard passes on what a decompressor yields of what it has consumed until it exceeds a limit.
func (l Limits) Guard(r io.Reader, packed *Counter, name string) io.Reader {
	return &guard{r: r, packed: packed, name: name, lim: l.withDefaults()}
}

// guard passes on decompressed data until it exceeds a limit.
type guard struct {
	r      io.Reader
	packed *Counter // nil: not compressed
	name   string
	lim    Limits
	n      int64
	err    error // sticky
}

func (g *guard) Read(p []byte) (int, error) {
	if g.err != nil {
		return 0, g.err
	}
	n, err := g.r.Read(p)
	g.n += int64(n)
	switch {
	case g.n > int64(g.lim.Bytes):
		g.err = fmt.Errorf("%s holds more than %v of data: refused; cut it into parts", g.name, g.lim.Bytes)
	case g.packed != nil && g.n > int64(g.lim.Grace) && g.n/g.lim.Ratio > g.packed.N:
		g.err = fmt.Errorf("%s expands more than %d times: refused; if you trust it, unpack it first", g.name, g.lim.Ratio)
	case err != nil && !errors.Is(err, io.EOF):
		g.err = g.explain(err)
	default:
		return n, err
	}
	return 0, g.err
}

func (g *guard) explain(err error) error {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fmt.Errorf("%s: the gzip data ends early; the file is cut off: %w", g.name, io.ErrUnexpectedEOF)
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader):
		return fmt.Errorf("%s: the gzip data is damaged: %w", g.name, err)
	}
	return fmt.Errorf("read %s: %w", g.name, err)
}

// Bounded passes on Left bytes of a stream, and then fails with Err.
type Bounded struct {
	R    io.Reader
	Left int
	Err  error
}

// Read implements io.Reader.
func (b *Bounded) Read(p []byte) (int, error) {
	if b.Left <= 0 {
		return 0, b.Err
	}
	n, err := b.R.Read(p[:min(len(p), b.Left)])
	b.Left -= n
	return n, err
}
