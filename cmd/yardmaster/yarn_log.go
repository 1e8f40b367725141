package main

import (
	"context"
	"io"
	"log/slog"

	"github.com/yardmaster/yardmaster/steer/drive"
)

// eventLog writes one line an event.
type eventLog struct {
	out     io.Writer
	handler slog.Handler
	changes bool
}

func newLog(out io.Writer, format string, changes bool) *eventLog {
	l := &eventLog{out: out, changes: changes}
	if format == "json" {
		l.handler = slog.NewJSONHandler(out, nil)
	} else {
		l.handler = slog.NewTextHandler(out, nil)
	}
	return l
}

func (l *eventLog) event(e *drive.Event) {
	if l.changes && (e.Kind == drive.Decided && decision(e) == "wait" || e.Kind == drive.Kept) {
		return
	}
	r := slog.NewRecord(e.At, e.Level(), e.Kind.String(), 0)
	r.AddAttrs(e.Attrs...)
	_ = l.handler.Handle(context.Background(), r) // what goes wrong with standard output is kept for the end
	show(l.out)
}

func decision(e *drive.Event) string {
	for _, a := range e.Attrs {
		if a.Key == "decision" {
			return a.Value.String()
		}
	}
	return ""
}
