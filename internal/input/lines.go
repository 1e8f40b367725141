package input

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// MaxLine is the maximum length of a line, without its end.
const MaxLine = 1 << 20

// Lines walks a stream line by line. It holds one line at a time and refuses one longer than MaxLine, so that a file
// without line ends costs no memory. Line ends are \n or \r\n.
type Lines struct {
	r    *bufio.Reader
	name string
	line int64
	long []byte // used for lines that do not fit r's buffer
	text []byte
	err  error
}

// NewLines reads lines from r; name is what errors call it.
func NewLines(r io.Reader, name string) *Lines {
	return &Lines{r: bufio.NewReaderSize(r, PeekSize), name: name}
}

// Lines walks the file's lines.
func (f *File) Lines() *Lines { return NewLines(f, f.Name) }

// Next moves to the next line; it returns false at the end or on an error.
func (l *Lines) Next() bool {
	if l.err != nil {
		return false
	}
	l.line++
	l.text = nil
	part, err := l.r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		l.long = l.long[:0]
		for errors.Is(err, bufio.ErrBufferFull) && len(l.long) <= MaxLine {
			l.long = append(l.long, part...)
			part, err = l.r.ReadSlice('\n')
		}
		l.long = append(l.long, part...)
		part = l.long
	}
	over := err != nil && len(part) == 0
	part = bytes.TrimSuffix(bytes.TrimSuffix(part, []byte{'\n'}), []byte{'\r'})
	switch {
	case len(part) > MaxLine:
		l.err = l.Errorf("line longer than 1 MiB")
	case err != nil && !errors.Is(err, io.EOF):
		l.err = err
	case over:
		l.err = io.EOF
		l.line--
	default:
		l.text = part
	}
	return l.err == nil
}

// Bytes is the current line without its end, valid until the next call of Next.
func (l *Lines) Bytes() []byte { return l.text }

// Line is the current line's number, from 1.
func (l *Lines) Line() int64 { return l.line }

// Err is what ended the walk; nil at the end of the input.
func (l *Lines) Err() error {
	if errors.Is(l.err, io.EOF) && !errors.Is(l.err, io.ErrUnexpectedEOF) {
		return nil
	}
	return l.err
}

// Errorf makes an error that names the current line: FILE:LINE: what is wrong.
func (l *Lines) Errorf(format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w", l.name, l.line, fmt.Errorf(format, args...))
}

// FirstLine is the first line of a file's beginning that is not blank, without the space at its end; nil if there is none.
func FirstLine(prefix []byte) []byte {
	for line := range bytes.Lines(prefix) {
		if line = bytes.TrimRight(line, " \t\r\n"); len(line) > 0 {
			return line
		}
	}
	return nil
}

// Clip truncates a field for an error.
func Clip(field []byte) string {
	if len(field) > 40 {
		return string(field[:40]) + "..."
	}
	return string(field)
}
