// Package swimtest reads a public trace for tests, where a person or CI has it.
package swimtest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/swim"
)

// Facebook is the SWIM project's sample of a day of Facebook in 2010. Without a folder of traces the test is skipped.
func Facebook(t testing.TB) workload.Slice {
	t.Helper()
	dir := os.Getenv("YARDMASTER_TRACES")
	if dir == "" {
		t.Skip("YARDMASTER_TRACES is not set")
	}
	path := filepath.Join(dir, "swim", "FB-2010_samples_24_times_1hr_0.tsv")
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := swim.NewReader(f, path, swim.Default())
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := workload.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return jobs
}
