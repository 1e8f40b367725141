package input

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/unit"
)

func zipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// same yields n bytes of value c.
type same struct {
	c byte
	n int64
}

func (s *same) Read(p []byte) (int, error) {
	if s.n == 0 {
		return 0, io.EOF
	}
	k := int(min(int64(len(p)), s.n))
	for i := range k {
		p[i] = s.c
	}
	s.n -= int64(k)
	return k, nil
}

func TestOpenPlainAndGzipped(t *testing.T) {
	dir := t.TempDir()
	text := []byte("one\ntwo\n")
	two := append(zipped(t, text), zipped(t, text)...)
	for name, c := range map[string]struct {
		data   []byte
		want   string
		zipped bool
	}{
		"plain":   {text, "one\ntwo\n", false},
		"empty":   {nil, "", false},
		"a byte":  {[]byte{0x1f}, "\x1f", false},
		"gzip":    {zipped(t, text), "one\ntwo\n", true},
		"two zip": {two, "one\ntwo\none\ntwo\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, "f")
			if err := os.WriteFile(path, c.data, 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			p, err := f.Peek(3)
			if err != nil || !strings.HasPrefix(c.want, string(p)) || len(p) != min(3, len(c.want)) {
				t.Errorf("Peek: %q, %v", p, err)
			}
			got, err := io.ReadAll(f)
			if err != nil || string(got) != c.want || f.Gzipped != c.zipped {
				t.Errorf("got %q, gzipped %v, %v", got, f.Gzipped, err)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	good := zipped(t, []byte(strings.Repeat("hello world ", 1000)))
	bad := bytes.Clone(good)
	bad[len(bad)-6] ^= 0xff // the checksum
	for name, c := range map[string]struct {
		r    io.Reader
		lim  Limits
		want string
	}{
		"cut off":    {bytes.NewReader(good[:len(good)-9]), Limits{}, "x: the gzip data ends early"},
		"header cut": {bytes.NewReader(good[:5]), Limits{}, "x: the gzip data ends early"},
		"damaged":    {bytes.NewReader(bad), Limits{}, "x: the gzip data is damaged"},
		"too large":  {&same{'a', 2000}, Limits{Bytes: 1000}, "x holds more than 1000 B of data: refused"},
		"bomb": {
			bytes.NewReader(zipped(t, bytes.Repeat([]byte{0}, 1<<20))), Limits{Ratio: 500, Grace: unit.KiB},
			"x expands more than 500 times: refused; if you trust it, unpack it first",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := NewFile(c.r, "x", c.lim)
			if err == nil {
				_, err = io.Copy(io.Discard, f)
			}
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
	if _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "is a folder") {
		t.Errorf("folder: %v", err)
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
}

// A real bomb under the real limits: a megabyte that would become a gigabyte.
func TestGzipBomb(t *testing.T) {
	pr, pw := io.Pipe()
	go func() {
		w := gzip.NewWriter(pw)
		_, err := io.Copy(w, &same{0, 1 << 30})
		if err == nil {
			err = w.Close()
		}
		pw.CloseWithError(err)
	}()
	f, err := NewFile(pr, "bomb.gz", Limits{})
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, f)
	pr.CloseWithError(io.ErrClosedPipe)
	if err == nil || err.Error() != "bomb.gz expands more than 200 times: refused; if you trust it, unpack it first" {
		t.Errorf("after %d bytes: %v", n, err)
	}
	if n > 200<<20 {
		t.Errorf("read %d bytes before refusing", n)
	}
}

func TestLines(t *testing.T) {
	long := strings.Repeat("x", 200_000)
	edge := strings.Repeat("y", MaxLine)
	l := NewLines(strings.NewReader("a\r\n\n"+long+"\n"+edge+"\nlast"), "f")
	for i, want := range []string{"a", "", long, edge, "last"} {
		if !l.Next() || string(l.Bytes()) != want || l.Line() != int64(i+1) {
			t.Fatalf("line %d: %d bytes, number %d, err %v", i+1, len(l.Bytes()), l.Line(), l.Err())
		}
	}
	if l.Next() || l.Err() != nil || l.Line() != 5 {
		t.Errorf("at the end: line %d, %v", l.Line(), l.Err())
	}
	l = NewLines(strings.NewReader("a\n"+edge+"yy\n"), "f")
	l.Next()
	if l.Next() || l.Err() == nil || l.Err().Error() != "f:2: line longer than 1 MiB" {
		t.Errorf("long line: %v", l.Err())
	}
}

func TestLinesKeepsReadError(t *testing.T) {
	z := zipped(t, []byte(strings.Repeat("a line of text\n", 1000)))
	f, err := NewFile(bytes.NewReader(z[:len(z)-12]), "cut.gz", Limits{})
	if err != nil {
		t.Fatal(err)
	}
	l := f.Lines()
	for l.Next() {
	}
	if !errors.Is(l.Err(), io.ErrUnexpectedEOF) {
		t.Errorf("got %v", l.Err())
	}
}

// One line of a gigabyte must be refused without holding it.
func TestOneLineOfAGigabyte(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f, err := NewFile(&same{'7', 1 << 30}, "one.tsv", Limits{})
	if err != nil {
		t.Fatal(err)
	}
	l := f.Lines()
	if l.Next() || l.Err() == nil || l.Err().Error() != "one.tsv:1: line longer than 1 MiB" {
		t.Errorf("got %v", l.Err())
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 16<<20 {
		t.Errorf("allocated %d bytes", used)
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nb"))
	f.Add([]byte("\r\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := NewFile(bytes.NewReader(data), "f", Limits{Bytes: 1 << 20})
		if err != nil {
			return
		}
		l := file.Lines()
		n := int64(0)
		for l.Next() {
			n++
			if l.Line() != n || len(l.Bytes()) > MaxLine {
				t.Fatalf("line %d: numbered %d", n, l.Line())
			}
		}
	})
}
