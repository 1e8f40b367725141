package term

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"queue root.größe\t✓\n":   "queue root.größe\t✓\n",
		"\x1b[2J\x1b]0;owned\x07": `\u001b[2J\u001b]0;owned\u0007`,
		"\x1b[31mred\x1b[0m":      `\u001b[31mred\u001b[0m`,
		"a\u009b2Jb\x7f":          `a\u009b2Jb\u007f`,
		"over\rwritten\b\b":       `over\u000dwritten\u0008\u0008`,
		"job_\u202e1gpj.exe":      `job_\u202e1gpj.exe`,
		"\u2066x\u2069\u200f":     `\u2066x\u2069\u200f`,
		"one\u2028two":            `one\u2028two`,
		"\x9b2J\xff":              "\ufffd2J\ufffd",
		"":                        "",
	} {
		if got := Clean(in); got != want {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
}

// A screen with ink lets the ink's own sequences through, and no others; characters may come in pieces.
func TestScreen(t *testing.T) {
	const text = "\x1b[1mbold\x1b[0m größe \x1b[8mhidden\x1b[0;5m \u202e"
	for ink, want := range map[bool]string{
		true:  "\x1b[1mbold\x1b[0m größe \\u001b[8mhidden\\u001b[0;5m \\u202e",
		false: Clean(text),
	} {
		var whole, pieces bytes.Buffer
		s := NewScreen(&whole, Ink{on: ink})
		if n, err := s.Write([]byte(text)); n != len(text) || err != nil {
			t.Error(n, err)
		}
		if whole.String() != want {
			t.Errorf("ink %v: %q, want %q", ink, whole.String(), want)
		}
		s = NewScreen(&pieces, Ink{})
		for i := range len(text) {
			_, _ = s.Write([]byte(text[i : i+1]))
		}
		if pieces.String() != Clean(text) {
			t.Errorf("in pieces: %q", pieces.String())
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("\x1b[2J", 1)
	f.Add("größe\x9b\u202e", 6)
	f.Fuzz(func(t *testing.T, text string, cut int) {
		got := Clean(text)
		if !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool { return harmful(r) || unicode.IsControl(r) && r != '\n' && r != '\t' }) {
			t.Errorf("%q gives %q", text, got)
		}
		if Clean(got) != got {
			t.Errorf("%q is not clean", got)
		}
		if utf8.ValidString(text) {
			var out bytes.Buffer
			s := NewScreen(&out, Ink{})
			cut = min(max(cut, 0), len(text))
			_, _ = s.Write([]byte(text[:cut]))
			_, _ = s.Write([]byte(text[cut:]))
			if out.String() != got {
				t.Errorf("in two pieces %q, whole %q", out.String(), got)
			}
			quoted, _ := json.Marshal(text)
			var back string
			if err := json.Unmarshal([]byte(Clean(string(quoted))), &back); err != nil || back != text {
				t.Errorf("JSON of %q reads as %q after cleaning: %v", text, back, err)
			}
		}
	})
}

// A name is one line, short, and quoted if it could pass as something else.
func TestName(t *testing.T) {
	for in, want := range map[string]string{
		"etl-1":                  "etl-1",
		"größe_ü@EXAMPLE.COM":    "größe_ü@EXAMPLE.COM",
		"":                       "",
		"word count":             `"word count"`,
		"a\nWould start now":     `"a\nWould start now"`,
		"x) of root":             `"x) of root"`,
		"\x1b[2J\u202e\u2028":    `"\x1b[2J\u202e\u2028"`,
		"\xff":                   `"\xff"`,
		strings.Repeat("q", 200): strings.Repeat("q", 120) + "...",
		strings.Repeat("q.", 60): strings.Repeat("q.", 60),
	} {
		if got := Line(Name(in)); got != want {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
	for _, word := range strings.Split(Wrap("it is "+Name("a b c d e f")+" that waits", "", 8), "\n") {
		if strings.HasPrefix(word, "c") {
			t.Errorf("a name is broken: %q", word)
		}
	}
	table := Table{Head: []string{"name"}}
	table.Add("a\nb")
	if got := table.String(); got != "name\n----\na\\nb\n" {
		t.Errorf("a cell breaks its table: %q", got)
	}
}
