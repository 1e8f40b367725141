package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/avro"

	"github.com/yardmaster/yardmaster/yarn/jhist"
)

// Recording is a real job history file that was read to be copied, for tests of scale: the same events under another job's id and at another time.
type Recording struct {
	name   jhist.FileName
	id     string // 1700000000000_0007
	header []byte
	schema *avro.Schema
	asJSON bool
	events []any
}

// ReadRecording takes a finished history file apart.
func ReadRecording(name string, data []byte) (*Recording, error) {
	parsed, err := jhist.ParseFileName(name)
	if err != nil {
		return nil, err
	}
	f := &Recording{name: parsed, id: strings.TrimPrefix(parsed.JobID, "job_")}
	first := bytes.IndexByte(data, '\n')
	second := first + 1 + bytes.IndexByte(data[first+1:], '\n')
	if first < 0 || second <= first {
		return nil, errors.New("recording: the file has no header")
	}
	f.header = data[:second+1]
	f.asJSON = strings.TrimSpace(string(data[:first])) == "Avro-Json"
	if f.schema, err = avro.Parse(string(data[first+1 : second])); err != nil {
		return nil, err
	}
	rest := data[second+1:]
	if f.asJSON {
		d := json.NewDecoder(bytes.NewReader(rest))
		d.UseNumber()
		for d.More() {
			var v any
			if err := d.Decode(&v); err != nil {
				return nil, err
			}
			f.events = append(f.events, v)
		}
		return f, nil
	}
	for len(rest) > 0 {
		var v any
		if rest, err = f.schema.Decode(rest, &v, avro.TaggedUnions()); err != nil {
			return nil, err
		}
		f.events = append(f.events, v)
	}
	return f, nil
}

// Submit is when the job was submitted.
func (f *Recording) Submit() time.Time { return time.UnixMilli(int64(f.name.Submit)) }

// Finish is when it finished.
func (f *Recording) Finish() time.Time { return time.UnixMilli(int64(f.name.Finish)) }

// JobID is its id.
func (f *Recording) JobID() string { return f.name.JobID }

// Copy is the file of the same job under another id (CLUSTER_NUMBER) and so much later. It returns where a history server would keep it, below its done
// directory, and its content.
func (f *Recording) Copy(id string, later time.Duration) (where string, data []byte, err error) {
	shift := later.Milliseconds()
	data = append([]byte(nil), f.header...)
	for _, e := range f.events {
		v := f.changed(e, "", id, shift)
		var b []byte
		if f.asJSON {
			if b, err = json.Marshal(v); err == nil {
				b = append(append([]byte("\n"), b...), '\n')
			}
		} else {
			b, err = f.schema.Encode(v)
		}
		if err != nil {
			return "", nil, fmt.Errorf("recording: %w", err)
		}
		data = append(data, b...)
	}
	_, number, _ := strings.Cut(id, "_")
	n, err := strconv.Atoi(number)
	if err != nil {
		return "", nil, err
	}
	m := f.name
	day := time.UnixMilli(int64(m.Finish) + shift)
	esc := func(s string) string { // as FileNameIndexUtils does: what parts the name is escaped
		return strings.NewReplacer("%", "%25", "-", "%2D", " ", "+", "/", "%2F").Replace(s)
	}
	name := fmt.Sprintf("job_%s-%d-%s-%s-%d-%d-%d-%s-%s-%d.jhist", id, int64(m.Submit)+shift, esc(m.User), esc(m.JobName), int64(m.Finish)+shift,
		m.Maps, m.Reduces, m.Status, esc(m.Queue), int64(m.Start)+shift)
	return path.Join(day.Format("2006/01/02"), fmt.Sprintf("%09d", n)[:6], name), data, nil
}

// changed copies a value with other ids and times.
func (f *Recording) changed(v any, key, id string, shift int64) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			out[k] = f.changed(x, k, id, shift)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = f.changed(x, key, id, shift)
		}
		return out
	case string:
		return strings.ReplaceAll(v, f.id, id)
	case int64:
		if strings.HasSuffix(key, "Time") && v > 1e12 {
			return v + shift
		}
	case json.Number:
		if n, err := v.Int64(); err == nil && strings.HasSuffix(key, "Time") && n > 1e12 {
			return json.Number(strconv.FormatInt(n+shift, 10))
		}
	}
	return v
}

// A copy says the same of the job as the file it is made from, under its own id and time.
func TestRecordingCopy(t *testing.T) {
	paths, err := filepath.Glob("../jhist/testdata/recorded/*.jhist")
	if err != nil || len(paths) == 0 {
		t.Fatal(err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := ReadRecording(filepath.Base(path), data)
		if err != nil {
			t.Fatal(err)
		}
		where, made, err := f.Copy("1700000000000_12345", 36*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		name, err := jhist.ParseFileName(filepath.Base(where))
		if err != nil {
			t.Fatal(err)
		}
		was, err := new(jhist.Parser).Parse(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		is, err := new(jhist.Parser).Parse(bytes.NewReader(made))
		if err != nil {
			t.Fatal(err)
		}
		const later = jhist.Millis(36 * 3600 * 1000)
		if is.ID != "job_1700000000000_12345" || is.Submit != was.Submit+later || is.Finish != name.Finish || is.User != name.User || is.Name != name.JobName {
			t.Errorf("%s: %+v", where, is)
		}
		moved := cmp.Comparer(func(a, b jhist.Millis) bool { return a == b || a+later == b || b+later == a })
		if diff := cmp.Diff(was, is, moved, cmpopts.IgnoreFields(jhist.Job{}, "ID"), cmpopts.IgnoreFields(jhist.AM{}, "Container")); diff != "" {
			t.Error(diff)
		}
	}
}
