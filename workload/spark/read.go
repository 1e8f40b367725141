package spark

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
)

// MaxLine is the length of a line beyond which it is left out.
const MaxLine = 64 << 20

// Read reads the events of one log, decompressed: all of its parts, one after another. each, if not nil, is called for every
// attempt of a task that ended, in the order of the ends; the Task is reused. Data that ends early or is damaged is no
// error, but a note of the job: a log is written as the application runs.
func Read(r io.Reader, name string, each func(*Task)) (*App, error) {
	a := newApp()
	l := lines{r: bufio.NewReaderSize(r, 256<<10)}
	events := false
	for n := int64(1); ; n++ {
		b, err := l.next()
		switch {
		case len(b) == 0:
		case a.line(b, each):
			events = true
		default:
			a.tally.damaged++
		}
		switch {
		case errors.Is(err, io.EOF):
			return a.complete(name, events, l.long)
		case errors.Is(err, errDamaged), errors.Is(err, io.ErrUnexpectedEOF):
			a.tally.truncated = err
			return a.complete(name, events, l.long)
		case err != nil:
			return nil, err // it names the file
		case !events && n >= maxPreface:
			return nil, fmt.Errorf("%s: %w", name, ErrNoLog)
		}
	}
}

// Errors of reading.
var (
	ErrNoLog    = errors.New("this is no Spark event log: it does not begin with events")
	ErrNoAnswer = errors.New("no answer") // of the place that keeps the logs: it says nothing about any
)

// maxPreface is how many lines may come before the first event of a log.
const maxPreface = 100

func (a *App) complete(name string, events bool, long int64) (*App, error) {
	a.tally.long = long
	switch {
	case !events && a.tally.truncated != nil:
		return nil, fmt.Errorf("%s: %w", name, a.tally.truncated)
	case !events:
		return nil, fmt.Errorf("%s: %w", name, ErrNoLog)
	}
	a.ID = cmp.Or(a.ID, a.settings["spark.app.id"])
	return a, nil
}

// lines reads lines of up to MaxLine bytes. Of longer ones than its buffer it keeps only those whose event is wanted.
type lines struct {
	r    *bufio.Reader
	buf  []byte
	long int64 // lines left out
}

// next returns the next line without its end; it is empty for one that was passed over. At the end of the data the error comes
// with what there is of a last line.
func (l *lines) next() ([]byte, error) {
	part, err := l.r.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return bytes.TrimRight(part, "\r\n"), err
	}
	name, told := eventName(part)
	keep := told && wanted(name) || !told && part[0] == '{'
	l.buf = l.buf[:0]
	for {
		if keep {
			if keep = len(l.buf)+len(part) <= MaxLine; !keep {
				l.long++
			} else {
				l.buf = append(l.buf, part...)
			}
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			break
		}
		part, err = l.r.ReadSlice('\n')
	}
	if !keep {
		l.buf = l.buf[:0]
	}
	return bytes.TrimRight(l.buf, "\r\n"), err
}
