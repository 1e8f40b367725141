package jhisttest

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/yardmaster/yardmaster/yarn/jhist"
)

// A copy says the same of the job as the file it is made from, under its own id and time.
func TestCopy(t *testing.T) {
	paths, err := filepath.Glob("../testdata/recorded/*.jhist")
	if err != nil || len(paths) == 0 {
		t.Fatal(err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := Read(filepath.Base(path), data)
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
		if diff := cmp.Diff(was, is, moved, cmpopts.IgnoreFields(jhist.Job{}, "ID", "Diagnostics"), cmpopts.IgnoreFields(jhist.Master{}, "Container")); diff != "" {
			t.Error(diff)
		}
	}
}
