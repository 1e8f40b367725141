package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/yardmaster/yardmaster/internal/term"
)

// console is standard output. It is buffered, and the first error is kept for the end: the verbs
// print without checking, their files are written all the same, and the command fails. Text from servers and files is sanitised here, whoever
// prints it.
type console struct {
	w    *bufio.Writer
	safe *term.Screen // before it
	err  error
	lost atomic.Bool
}

func newConsole(w io.Writer) *console {
	b := bufio.NewWriterSize(w, 1<<16)
	f, _ := w.(*os.File) // not a terminal otherwise
	return &console{w: b, safe: term.NewScreen(b, term.InkFor(f))}
}

func (c *console) Write(p []byte) (int, error) {
	if c.err == nil {
		_, c.err = c.safe.Write(p)
	}
	return len(p), nil
}

// abandon drops the buffer: a write is stuck.
func (c *console) abandon() { c.lost.Store(true) }

// Flush writes the buffer, and returns the first error so far.
func (c *console) Flush() error {
	if c.lost.Load() {
		return nil
	}
	if c.err == nil {
		c.err = c.w.Flush()
	}
	return c.err
}

// show flushes what is printed so far, before work that takes a while.
func show(w io.Writer) {
	if c, ok := w.(*console); ok {
		_ = c.Flush() // the error is kept for the end
	}
}

// noticesTo makes a function that writes one line: text from a server cannot make a second one.
func noticesTo(w io.Writer) func(format string, args ...any) {
	return func(format string, args ...any) {
		fmt.Fprintln(w, term.Line(fmt.Sprintf(format, args...)))
	}
}
