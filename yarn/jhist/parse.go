package jhist

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/twmb/avro"

	"github.com/yardmaster/yardmaster/internal/input"
)

// Parser reads history files, one after the other. It keeps the last schema, which is the same in all files of a cluster,
// and interns names. It is for one goroutine; the zero value is ready.
type Parser struct {
	text   string
	schema *avro.Schema
	blocks *blocks
	buf    []byte
	names  map[string]string
}

// Parse reads one history file.
func (p *Parser) Parse(r io.Reader) (job *Job, err error) {
	// The decoder is third-party: if it panics, that is an error of the file, not the end of the program.
	defer func() {
		if v := recover(); v != nil {
			job, err = nil, fmt.Errorf("job history: the file cannot be decoded: %v", v)
		}
	}()
	br := bufio.NewReaderSize(r, 1<<16)
	first, err := line(br, 64)
	if err != nil {
		return nil, fmt.Errorf("job history: %w", err)
	}
	format := string(bytes.TrimSpace(first))
	if format != "Avro-Binary" && format != "Avro-Json" {
		return nil, fmt.Errorf("job history: the first line is %q, not Avro-Binary or Avro-Json: is this a .jhist file?", cut(format, 40))
	}
	text, err := line(br, MaxSchema)
	if err != nil {
		return nil, fmt.Errorf("job history: its schema: %w", err)
	}
	f := &fold{p: p, job: &Job{}}
	if format == "Avro-Json" {
		err = f.json(br)
	} else {
		err = f.binary(br, text)
	}
	if err != nil {
		return nil, fmt.Errorf("job history: event %d: %w", f.job.Events+1, err)
	}
	if f.job.ID == "" {
		return nil, errors.New("job history: no event names a job")
	}
	return f.done(), nil
}

// line reads one line of at most limit bytes.
func line(br *bufio.Reader, limit int) ([]byte, error) {
	var out []byte
	for {
		part, err := br.ReadSlice('\n')
		out = append(out, part...)
		switch {
		case len(out) > limit:
			return nil, fmt.Errorf("a line of more than %d bytes", limit)
		case err == nil:
			return out, nil
		case errors.Is(err, io.EOF):
			return nil, errors.New("the file ends before its first event")
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// binary folds bare Avro records.
func (f *fold) binary(r io.Reader, text []byte) error {
	p := f.p
	if p.schema == nil || p.text != string(text) {
		s, err := avro.Parse(string(text))
		if err != nil {
			return fmt.Errorf("its schema cannot be read: %w", err)
		}
		p.text, p.schema, p.blocks = string(text), s, newBlocks(s)
	}
	const window = 1 << 18
	buf, end := p.buf[:0], false
	defer func() { p.buf = buf[:0] }()
	fill := func(atLeast int) error { // reads until the window holds that much, or the file ends
		if cap(buf) < atLeast {
			buf = append(make([]byte, 0, atLeast), buf...)
		}
		for len(buf) < atLeast && !end {
			n, err := r.Read(buf[len(buf):cap(buf)])
			buf = buf[:len(buf)+n]
			if errors.Is(err, io.EOF) {
				end = true
			} else if err != nil {
				return err
			}
		}
		return nil
	}
	pos := 0
	for {
		if !end && len(buf)-pos < window/4 {
			buf = buf[:copy(buf, buf[pos:])]
			pos = 0
			if err := fill(window); err != nil {
				return err
			}
		}
		if pos == len(buf) {
			return nil
		}
		if !p.blocks.few(buf[pos:]) {
			return fmt.Errorf("a list of it comes in more than %d parts, which Hadoop does not write", maxBlocks)
		}
		var v any
		rest, err := p.schema.Decode(buf[pos:], &v, avro.AliasInput())
		if err != nil {
			// The record may continue beyond the window, and then any error is possible.
			have := len(buf) - pos
			if end || have >= MaxRecord {
				return fmt.Errorf("it is damaged or cut off: %w", err)
			}
			buf = buf[:copy(buf, buf[pos:])]
			pos = 0
			if err := fill(min(max(2*have, window), MaxRecord)); err != nil {
				return err
			}
			continue
		}
		if len(rest) == len(buf)-pos {
			return errors.New("its schema describes events of no bytes")
		}
		pos = len(buf) - len(rest)
		top, ok := v.(map[string]any)
		if !ok {
			return errors.New("its schema does not describe a record")
		}
		if err := f.event(record(top)); err != nil {
			return err
		}
	}
}

// json folds JSON objects.
func (f *fold) json(r io.Reader) error {
	one := &input.Bounded{R: r, Left: MaxRecord, Err: fmt.Errorf("an event of more than %d bytes", MaxRecord)}
	d := json.NewDecoder(one)
	d.UseNumber()
	for {
		var top map[string]any
		err := d.Decode(&top)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("it is damaged or cut off: %w", err)
		}
		one.Left = MaxRecord
		if err := f.event(record(top)); err != nil {
			return err
		}
	}
}

// name interns s.
func (p *Parser) name(s string) string {
	if s == "" {
		return ""
	}
	if have, ok := p.names[s]; ok {
		return have
	}
	if p.names == nil || len(p.names) > 1<<16 {
		p.names = map[string]string{}
	}
	s = string([]byte(cut(s, maxText)))
	p.names[s] = s
	return s
}

// cut shortens s to at most n bytes.
func cut(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
}
