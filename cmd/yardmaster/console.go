package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"

	"github.com/yardmaster/yardmaster/internal/term"
)

// console is standard output. It is written in large pieces, and the first thing that goes wrong is kept for the end: the verbs
// print without looking back, their files are written all the same, and the command fails. Text of servers and files is cleaned here, whoever
// prints it.
type console struct {
	w    *bufio.Writer
	safe *term.Screen // before it
	err  error
	lost atomic.Bool
}

func newConsole(w io.Writer) *console {
	b := bufio.NewWriterSize(w, 1<<16)
	f, _ := w.(*os.File) // else nobody uses ink
	return &console{w: b, safe: term.NewScreen(b, term.InkFor(f))}
}

func (c *console) Write(p []byte) (int, error) {
	if c.err == nil {
		_, c.err = c.safe.Write(p)
	}
	return len(p), nil
}

// abandon gives up what is held: somebody is stuck in writing it.
func (c *console) abandon() { c.lost.Store(true) }

// Flush writes out what is held, and returns what went wrong so far.
func (c *console) Flush() error {
	if c.lost.Load() {
		return nil
	}
	if c.err == nil {
		c.err = c.w.Flush()
	}
	return c.err
}

// show lets a person see what is printed so far, before work that takes a while.
func show(w io.Writer) {
	if c, ok := w.(*console); ok {
		_ = c.Flush() // kept for the end
	}
}

// noticesTo makes a function that writes one line: text of a server cannot make a second one.
func noticesTo(w io.Writer) func(format string, args ...any) {
	return func(format string, args ...any) {
		fmt.Fprintln(w, strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", `\n`))
	}
}
