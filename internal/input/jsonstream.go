package input

import (
	"bytes"
	"fmt"
	"io"
)

// Limits on JSON streams: anything larger is refused.
const (
	MaxJSONToken    = 1 << 20   // bytes of one string or number, or of white space between two values
	MaxJSONDepth    = 64        // nesting depth
	MaxJSONElements = 5_000_000 // elements of one array, members of one object
	maxName         = 256       // bytes of a member's name that are compared
)

// JSON reads records from a stream of concatenated JSON values (as Jackson writes them) or from one
// array. It holds one token at a time: a caller names the fields it wants, and everything else is validated and
// skipped without being built, which encoding/json cannot do (it builds tokens even when they are discarded, and
// buffers all white space before a token). It accepts what encoding/json accepts, within the limits above;
// encoding/json still decodes strings with escapes, and is the oracle of the fuzz test.
//
// An error names the file, the line and the record: FILE:LINE: record N: what is wrong. After an error the stream is
// unusable.
//
// null reads as empty: no text, no number, an object or array without elements.
type JSON struct {
	r         io.Reader
	name      string
	buf       []byte
	pos, end  int
	err       error // from r
	line      int64
	record    int64
	depth     int
	inArray   bool // records are the elements of an array
	elements  bool // that array had an element already
	unread    bool // the value that the caller was offered has not been read
	tok       []byte
	escapes   bool                     // tok holds backslashes
	keys      [MaxJSONDepth + 1][]byte // the member that is being read, by depth; empty in arrays
	atStart   bool
	skipField func([]byte) error
	skipItem  func(int) error
}

// NewJSON reads JSON from r; name is what errors call it.
func NewJSON(r io.Reader, name string) *JSON {
	return &JSON{
		r: r, name: name, buf: make([]byte, PeekSize), line: 1, atStart: true,
		skipField: func([]byte) error { return nil },
		skipItem:  func(int) error { return nil },
	}
}

// Records is how many records were begun.
func (j *JSON) Records() int64 { return j.record }

// Errorf makes an error that names the current position.
func (j *JSON) Errorf(format string, args ...any) error {
	return fmt.Errorf("%s:%d: record %d: %w", j.name, j.line, j.record, fmt.Errorf(format, args...))
}

// Record advances to the next record; io.EOF itself after the last. An unread record is skipped.
func (j *JSON) Record() error {
	if j.unread {
		if err := j.Skip(); err != nil {
			return err
		}
	}
	for {
		c, err := j.peek()
		if err == io.EOF && !j.inArray { //nolint:errorlint // peek returns io.EOF itself
			return io.EOF
		}
		if err != nil {
			return j.cut(err)
		}
		switch {
		case !j.inArray && c == '[':
			j.pos++
			j.inArray, j.elements, j.depth = true, false, 1
			j.keys[1] = j.keys[1][:0]
			continue
		case j.inArray && c == ']':
			j.pos++
			j.inArray, j.depth = false, 0
			continue
		case j.inArray && j.elements:
			if c != ',' {
				return j.Errorf("%s where a comma or ] should be", show(c))
			}
			j.pos++
			if c, err = j.peek(); err != nil {
				return j.cut(err)
			}
		}
		j.elements, j.unread = true, true
		j.record++
		return j.begins(c)
	}
}

// Only reads the one record that the stream holds; what is what it should be, for errors.
func (j *JSON) Only(what string, read func() error) error {
	err := j.Record()
	if err == io.EOF { //nolint:errorlint // Record returns io.EOF itself
		return fmt.Errorf("%s: empty; %s is one JSON object", j.name, what)
	}
	if err == nil {
		err = read()
	}
	if err != nil {
		return err
	}
	switch err = j.Record(); err {
	case io.EOF: //nolint:errorlint // as above
		return nil
	case nil:
		return j.Errorf("a second object: %s is one", what)
	}
	return err
}

// Object reads an object: field is called for each member with the member's name (valid during the call) and
// may read the value; an unread value is skipped.
func (j *JSON) Object(field func(name []byte) error) error {
	return j.container('{', "an object", func(int) error {
		c, err := j.peek()
		if err != nil {
			return j.cut(err)
		}
		if c != '"' {
			return j.Errorf("%s where the name of a member should be", show(c))
		}
		if err := j.scanString(true); err != nil {
			return err
		}
		name, err := j.decoded()
		if err != nil {
			return err
		}
		j.keys[j.depth] = append(j.keys[j.depth][:0], name[:min(len(name), maxName)]...)
		if c, err = j.peek(); err != nil {
			return j.cut(err)
		}
		if c != ':' {
			return j.Errorf("%s where a colon should be", show(c))
		}
		j.pos++
		j.unread = true
		return field(j.keys[j.depth])
	})
}

// Array reads an array of at most limit elements (0: MaxJSONElements); element may read each, as field in Object.
func (j *JSON) Array(limit int, element func(i int) error) error {
	return j.container('[', "an array", func(i int) error {
		if limit > 0 && i >= limit {
			return j.Errorf("%smore than %d elements in an array", j.member(), limit)
		}
		j.unread = true
		return element(i)
	})
}

// container reads the elements of an object or an array, with what lies between them.
func (j *JSON) container(open byte, what string, element func(i int) error) error {
	c, err := j.value(open, what)
	if err != nil || c == 'n' {
		return err
	}
	j.pos++
	if j.depth++; j.depth > MaxJSONDepth {
		return j.Errorf("values inside one another more than %d deep: refused", MaxJSONDepth)
	}
	j.keys[j.depth] = j.keys[j.depth][:0]
	shut := open + 2 // { } and [ ] are two apart in ASCII
	for i := 0; ; i++ {
		if c, err = j.peek(); err != nil {
			return j.cut(err)
		}
		if c == shut {
			break
		}
		if i > 0 {
			if c != ',' {
				return j.Errorf("%s where a comma or %c should be", show(c), shut)
			}
			j.pos++
		}
		if i >= MaxJSONElements {
			return j.Errorf("%s of more than %d elements: refused", what, MaxJSONElements)
		}
		if err := element(i); err != nil {
			return err
		}
		if j.unread {
			if err := j.Skip(); err != nil {
				return err
			}
		}
	}
	j.pos++
	j.depth--
	j.unread = false
	return nil
}

// Skip skips a value.
func (j *JSON) Skip() error {
	c, err := j.peek()
	if err != nil {
		return j.cut(err)
	}
	j.unread = false
	switch c {
	case '{':
		return j.Object(j.skipField)
	case '[':
		return j.Array(0, j.skipItem)
	case '"':
		return j.scanString(false)
	case 't':
		return j.literal("true")
	case 'f':
		return j.literal("false")
	case 'n':
		return j.literal("null")
	}
	return j.scanNumber()
}

// Kind is the first character of the value to be read: { [ " t f n, or the digit 0 for any number.
func (j *JSON) Kind() (byte, error) {
	c, err := j.peek()
	if err != nil {
		return 0, j.cut(err)
	}
	if c == '-' || c >= '0' && c <= '9' {
		return '0', nil
	}
	return c, j.begins(c)
}

// value checks the next value: it must begin with want ('0': a number, or text that may hold one) or be null,
// which it consumes ('n').
func (j *JSON) value(want byte, what string) (byte, error) {
	c, err := j.Kind()
	if err != nil {
		return 0, err
	}
	j.unread = false
	switch {
	case c == 'n':
		return c, j.literal("null")
	case c == want, want == '0' && c == '"':
		return c, nil
	}
	is := map[byte]string{'{': "an object", '[': "an array", '"': "text", 't': "true", 'f': "false", '0': "a number"}[c]
	return 0, j.Errorf("%sshould be %s, not %s", j.member(), what, is)
}

// member names the member that is being read, if any.
func (j *JSON) member() string {
	for d := j.depth; d > 0; d-- {
		if k := j.keys[d]; len(k) > 0 {
			return quote(k) + ": "
		}
	}
	return ""
}

// JSONKeys returns the names of the members of the records that begin in prefix, the first part of a file: enough to
// tell formats apart. It is empty when prefix does not look like records of JSON.
func JSONKeys(prefix []byte) map[string]bool {
	keys := map[string]bool{}
	j := NewJSON(bytes.NewReader(prefix), "")
	for {
		if j.Record() != nil {
			return keys
		}
		if c, err := j.Kind(); err != nil || c != '{' {
			return keys
		}
		if err := j.Object(func(name []byte) error {
			keys[string(name)] = true
			return nil
		}); err != nil {
			return keys
		}
	}
}
