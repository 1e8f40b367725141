package spark

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// walk reads a value as a tree, with the methods that events are read with.
func walk(s *scan) any {
	switch s.peek() {
	case '{':
		m := map[string]any{}
		for s.enter('{'); s.more('}'); {
			k := string([]rune(string(s.key()))) // as encoding/json replaces invalid bytes
			m[k] = walk(s)
		}
		return m
	case '[':
		list := []any{}
		for s.enter('['); s.more(']'); {
			list = append(list, walk(s))
		}
		return list
	case '"':
		return string(s.bytes())
	case 't', 'f':
		return s.bool()
	case 'n':
		s.skip()
		return nil
	}
	from := s.i
	s.skip()
	return json.Number(bytes.TrimSpace(s.b[from:s.i]))
}

func same(a, b any) bool { return fmt.Sprintf("%#v", a) == fmt.Sprintf("%#v", b) }

// What is valid JSON is read as encoding/json reads it, walked or skipped; everything else ends without a panic.
func FuzzScan(f *testing.F) {
	log, err := os.ReadFile("testdata/report.log")
	if err != nil {
		f.Fatal(err)
	}
	for line := range bytes.Lines(log) {
		f.Add(line)
	}
	for _, text := range []string{`{"a":"\u00e9\\\"","b":[1,-2.5e3,true,null,{}],"\u0061":[]}`, `[[[`, `{"a" 1}`, `{"a":"x`, "\"\xff\"", `{"a":1,}`, `[,,]`, ``, `}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		_ = newApp().line(line, func(*Task) {})
		s := scan{b: line}
		s.skip()
		skipped := s.bad
		if !json.Valid(line) || bytes.Count(line, []byte("["))+bytes.Count(line, []byte("{")) > 1000 {
			return
		}
		d := json.NewDecoder(bytes.NewReader(line))
		d.UseNumber()
		var want any
		if err := d.Decode(&want); err != nil {
			t.Fatal(err)
		}
		s = scan{b: line}
		if got := walk(&s); s.bad || skipped || !same(got, want) || s.peek() != 0 {
			t.Errorf("%q: %#v, bad %v, skipped %v; want %#v", line, got, s.bad, skipped, want)
		}
	})
}

func TestNumbers(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "-7": -7, "1795045774065": 1795045774065, `"12"`: 12, "1.0": 1, "2.9e3": 2900, "1e400": 0, "true": 0, "null": 0, `"x"`: 0, "{}": 0,
		"999999999999999999": 999999999999999999, "99999999999999999999": 0, strings.Repeat("1", 100): 0,
	} {
		if s := (scan{b: []byte(text)}); s.int() != want || s.bad || s.i != len(text) {
			t.Errorf("%s is not read as %d", text, want)
		}
	}
}

// The dominant line of a real log, with all its metrics.
func BenchmarkTaskEnd(b *testing.B) {
	line := []byte(taskEnd)
	a := newApp()
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		a.line(line, nil)
		a.tasks, a.stages[17].lengths = 0, a.stages[17].lengths[:0]
	}
}
