package cli

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/yardmaster/yardmaster/steer/drive"
)

// eventLog writes one line per event. A slow reader must not block the driver, least of all its restores: lines are queued,
// and dropped if the queue is full.
type eventLog struct {
	line    bytes.Buffer // of the handler
	handler slog.Handler
	changes bool
	lines   chan []byte
	left    int // lines dropped since the last one queued
	written chan struct{}
	out     io.Writer
}

const (
	linesWait = 2000
	lastLines = 2 * time.Second // how long end waits for a reader
)

func newLog(out io.Writer, format string, changes bool) *eventLog {
	l := &eventLog{changes: changes, out: out, lines: make(chan []byte, linesWait), written: make(chan struct{})}
	if format == "json" {
		l.handler = slog.NewJSONHandler(&l.line, nil)
	} else {
		l.handler = slog.NewTextHandler(&l.line, nil)
	}
	go func() {
		defer close(l.written)
		for line := range l.lines {
			_, _ = out.Write(line) // errors of standard output are kept for the end
			if len(l.lines) == 0 {
				show(out)
			}
		}
	}()
	return l
}

// end waits until the lines are written, or until the reader is given up.
func (l *eventLog) end() {
	close(l.lines)
	select {
	case <-l.written:
	case <-time.After(lastLines):
		if c, ok := l.out.(*console); ok {
			c.abandon()
		}
	}
}

func (l *eventLog) event(e *drive.Event) {
	if l.changes && (e.Kind == drive.Decided && decision(e) == "wait" || e.Kind == drive.Kept) {
		return
	}
	if l.left > 0 && len(l.lines) < cap(l.lines)-1 {
		r := slog.NewRecord(e.At, slog.LevelWarn, "left out", 0)
		r.AddAttrs(slog.Int("lines", l.left), slog.String("why", "nobody has read them"))
		l.left = 0
		l.put(r)
	}
	r := slog.NewRecord(e.At, e.Level(), e.Kind.String(), 0)
	r.AddAttrs(e.Attrs...)
	l.put(r)
}

func (l *eventLog) put(r slog.Record) {
	l.line.Reset()
	_ = l.handler.Handle(context.Background(), r) // into memory
	_, _ = l.Write(l.line.Bytes())                // never fails
}

// Write queues one line, like those of events. It neither blocks nor fails.
func (l *eventLog) Write(line []byte) (int, error) {
	select {
	case l.lines <- bytes.Clone(line):
	default:
		l.left++
	}
	return len(line), nil
}

func decision(e *drive.Event) string {
	for _, a := range e.Attrs {
		if a.Key == "decision" {
			return a.Value.String()
		}
	}
	return ""
}
