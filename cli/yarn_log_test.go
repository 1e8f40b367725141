package cli

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/steer/drive"
)

// Whoever does not read the lines keeps nobody from working, and hears later how many were left out.
func TestAReaderWhoDoesNotRead(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	out := newConsole(w)
	l := newLog(out, "text", false)
	began := time.Now()
	for range 3 * linesWait {
		l.event(&drive.Event{Kind: drive.Blind, At: began})
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Fatalf("%v", took)
	}
	read := make(chan string)
	go func() {
		text, _ := io.ReadAll(r)
		read <- string(text)
	}()
	for len(l.lines) > linesWait/2 {
		time.Sleep(time.Millisecond)
	}
	l.event(&drive.Event{Kind: drive.Stopped, At: began})
	l.end()
	w.Close()
	text := <-read
	if got := strings.Count(text, "\n"); got > 2*linesWait || !strings.Contains(text, `msg="left out" lines=`) || !strings.Contains(text, "msg=stopped") {
		t.Errorf("%d lines, the last %s", got, text[max(0, len(text)-300):])
	}

	_, w = io.Pipe() // nobody ever reads
	out = newConsole(w)
	l = newLog(out, "text", false)
	for range 3 {
		l.event(&drive.Event{Kind: drive.Stopped, At: began})
	}
	began = time.Now()
	l.end()
	if err := out.Flush(); err != nil || time.Since(began) > 10*lastLines {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}
