package input

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

// walk reads every record of a stream, the member "a" as a number and the member "t" as text.
func walk(r io.Reader) (out []string, err error) {
	j := NewJSON(r, "f.json")
	for {
		err := j.Record()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		if err := j.Object(func(name []byte) error {
			switch string(name) {
			case "a":
				v, ok, err := j.Int(-5, 1<<40)
				out = append(out, fmt.Sprint("a=", v, ok))
				return err
			case "t":
				s, err := j.Text()
				out = append(out, "t="+s)
				return err
			case "f":
				v, ok, err := j.Float()
				out = append(out, fmt.Sprint("f=", v, ok))
				return err
			case "list":
				return j.Array(3, func(int) error {
					v, _, err := j.Int(0, 9)
					out = append(out, fmt.Sprint(v))
					return err
				})
			}
			return nil // everything else is skipped
		}); err != nil {
			return out, err
		}
	}
}

func TestJSON(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"empty":          {"", ""},
		"blank":          {" \n\t ", ""},
		"mark":           {"\xef\xbb\xbf{\"a\":1}", "a=1 true"},
		"stream":         {`{"a":1} {"a":2}{"a":3}`, "a=1 true a=2 true a=3 true"},
		"array":          {`[{"a":1}, {"a":2}]`, "a=1 true a=2 true"},
		"arrays":         {`[] [{"a":1}] {"a":2}`, "a=1 true a=2 true"},
		"skips":          {`{"x":{"a":7,"y":[1,-2.5e3,"\"}]",true,false,null,{}]},"a":1}`, "a=1 true"},
		"null":           {`{"a":null,"t":null,"f":null,"list":null}`, "a=0 false t= f=0 false"},
		"quoted number":  {`{"a":" 12 ","f":"1.5"}`, "a=12 true f=1.5 true"},
		"whole float":    {`{"a":1e3}`, "a=1000 true"},
		"escapes":        {`{"t":"a\\.b\u00e9\n"}`, "t=a\\.b\u00e9\n"},
		"escaped name":   {`{"\u0061":3}`, "a=3 true"},
		"not UTF-8":      {"{\"t\":\"\xff\"}", "t=\uFFFD"},
		"list":           {`{"list":[1,2,3]}`, "1 2 3"},
		"record unread":  {`5 "x" {"a":1}`, "should be an object, not a number"},
		"cut":            {"{\"a\":1}\n{\"a\":", "f.json:2: record 2: the data ends inside a value; the file is cut off"},
		"cut text":       {`{"t":"abc`, "f.json:1: record 1: the data ends inside a value"},
		"cut array":      {`[{"a":1}`, "f.json:1: record 1: the data ends inside a value"},
		"wrong type":     {"\n\n{\"a\":\n[1]}", `f.json:4: record 1: "a": should be a number, not an array`},
		"text for list":  {`{"list":"x"}`, `"list": should be an array, not text`},
		"too small":      {`{"a":-6}`, `"a": -6 is not between -5 and 1099511627776`},
		"too large":      {`{"a":1e300}`, `"a": "1e300" is not a whole number`},
		"fraction":       {`{"a":1.5}`, `"a": "1.5" is not a whole number`},
		"word":           {`{"a":"one"}`, `"a": "one" is not a number`},
		"too many":       {`{"list":[1,2,3,4]}`, `"list": more than 3 elements`},
		"bad number":     {`{"x":01}`, `"01" is not a number`},
		"bad literal":    {`{"x":nil}`, `"i" where "null" should be`},
		"no colon":       {`{"x" 1}`, `"1" where a colon should be`},
		"no comma":       {`{"x":1 "y":2}`, `"\"" where a comma or } should be`},
		"comma too much": {`{"x":[1,]}`, `is not a number`},
		"unquoted name":  {`{x:1}`, `"x" where the name of a member should be`},
		"line in text":   {"{\"t\":\"a\nb\"}", "byte 0x0a inside text: is a quote missing?"},
		"bad escape":     {`{"t":"\q"}`, `\ before "q" inside text`},
		"not JSON":       {"job1\t0\t1", `f.json:1: record 1: "j" where a value should begin`},
		"deep":           {`{"x":` + strings.Repeat("[", 70), "more than 64 deep: refused"},
		"deep objects":   {strings.Repeat(`{"x":`, 70), "more than 64 deep: refused"},
	} {
		t.Run(name, func(t *testing.T) {
			for how, r := range map[string]io.Reader{
				"whole":        strings.NewReader(c.in),
				"byte by byte": iotest.OneByteReader(strings.NewReader(c.in)),
			} {
				out, err := walk(r)
				got := strings.Join(out, " ")
				if err != nil {
					got = err.Error()
				}
				if got != c.want && (err == nil || !strings.Contains(got, c.want)) {
					t.Errorf("%s: got %q, want %q", how, got, c.want)
				}
			}
		})
	}
}

func TestJSONReadErrors(t *testing.T) {
	_, err := walk(iotest.DataErrReader(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(`{"a":1}`)))))
	if !errors.Is(err, iotest.ErrTimeout) || !strings.HasPrefix(err.Error(), "f.json:1: record 1: ") {
		t.Errorf("got %v", err)
	}
	z := zipped(t, []byte(strings.Repeat(`{"a":1}`+"\n", 1000)))
	f, err := NewFile(bytes.NewReader(z[:len(z)-12]), "f.json", Limits{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = walk(f)
	if !errors.Is(err, io.ErrUnexpectedEOF) || strings.Count(err.Error(), "f.json") != 1 || !strings.Contains(err.Error(), "record ") {
		t.Errorf("got %v", err)
	}
}

// endless yields head, then body repeatedly up to n bytes.
type endless struct {
	head, body string
	n          int64
	at         int
}

func (e *endless) Read(p []byte) (int, error) {
	if e.head != "" {
		n := copy(p, e.head)
		e.head = e.head[n:]
		return n, nil
	}
	if e.n <= 0 {
		return 0, io.EOF
	}
	n := 0
	for n < len(p) {
		k := copy(p[n:], e.body[e.at:])
		e.at = (e.at + k) % len(e.body)
		n += k
	}
	e.n -= int64(n)
	return n, nil
}

// One line of a gigabyte, of every make: refused early, and without memory.
func TestJSONLineOfAGigabyte(t *testing.T) {
	for name, c := range map[string]struct{ head, body, want string }{
		"text":         {`{"t":"`, "aaaaaaaaaaaaaaaa", "text of more than 1048576 bytes: refused"},
		"unused text":  {`{"x":"`, "aaaaaaaaaaaaaaaa", "text of more than 1048576 bytes: refused"},
		"escapes":      {`{"x":"`, `\u0041`, "text of more than 1048576 bytes: refused"},
		"name":         {`{"`, "aaaaaaaaaaaaaaaa", "text of more than 1048576 bytes: refused"},
		"digits":       {`{"a":`, "7777777777777777", "a number of more than 1048576 bytes: refused"},
		"white space":  {`{"a":`, "                ", "bytes of white space: refused"},
		"empty lines":  {`{"a":1}`, "\n\n\n\n\n\n\n\n", "bytes of white space: refused"},
		"brackets":     {`{"x":`, "[[[[[[[[[[[[[[[[", "more than 64 deep: refused"},
		"elements":     {`{"x":[0`, ",0,0,0,0,0,0,0,0", "an array of more than 5000000 elements: refused"},
		"members":      {`{"x":{"a":0`, `,"b":0,"c":0`, "an object of more than 5000000 elements: refused"},
		"zeros":        {"", "\x00\x00\x00\x00\x00\x00\x00\x00", "byte 0x00 where a value should begin"},
		"plain letter": {"", "aaaaaaaaaaaaaaaa", `"a" where a value should begin`},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := walk(&endless{head: c.head, body: c.body, n: 1 << 30})
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "f.json:") {
				t.Errorf("got %v", err)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 16<<20 {
				t.Errorf("allocated %d bytes", used)
			}
		})
	}
}

func TestJSONKeys(t *testing.T) {
	got := JSONKeys([]byte(`{"num.nodes":3} {"job.id":"x","job.tasks":[{"container.host":"a`))
	if len(got) != 3 || !got["num.nodes"] || !got["job.id"] || !got["job.tasks"] {
		t.Errorf("got %v", got)
	}
	if got := JSONKeys([]byte("job1\t0\t0")); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}

// FuzzJSON holds the scanner against encoding/json: the same streams are accepted, with the same values.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"a":1}{"a":2}`, `[{"t":"\u00e9\ud83d\ude00"},{"t":"x"}]`, `{"x":[1,2,{"y":null}],"f":-1.5e-3}`, "[]", `{"a":01}`, "\xef\xbb\xbf{}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		j := NewJSON(bytes.NewReader(data), "f")
		var got []string
		var err error
		for {
			if err = j.Record(); err != nil {
				if errors.Is(err, io.EOF) {
					err = nil
				}
				break
			}
			var c byte
			if c, err = j.Kind(); err != nil {
				break
			}
			if c == '"' {
				var s string
				s, err = j.Text()
				got = append(got, s)
			} else {
				err = j.Skip()
				got = append(got, "")
			}
			if err != nil {
				break
			}
		}
		if bytes.HasPrefix(data, []byte{0xef}) || err != nil && strings.Contains(err.Error(), "refused") {
			return
		}
		var want []string
		dec := json.NewDecoder(bytes.NewReader(data))
		var werr error
		for {
			var v any
			if werr = dec.Decode(&v); werr != nil {
				break
			}
			if _, bare := v.(float64); bare {
				return // 00 is two records for encoding/json and a bad number for us
			}
			list, isList := v.([]any)
			if !isList {
				list = []any{v}
			}
			for _, v := range list {
				s, _ := v.(string)
				want = append(want, s)
			}
		}
		var tooLarge *json.UnmarshalTypeError // 1e999: valid JSON, no float64
		if errors.As(werr, &tooLarge) {
			return
		}
		if (err == nil) != (werr == io.EOF) {
			t.Fatalf("ours: %v, encoding/json: %v", err, werr)
		}
		if err == nil && len(got) != len(want) {
			t.Fatalf("ours: %q, encoding/json: %q", got, want)
		}
		for i := range got {
			if err == nil && got[i] != want[i] && !strings.Contains(want[i], "\uFFFD") {
				t.Fatalf("ours: %q, encoding/json: %q", got[i], want[i])
			}
		}
	})
}
