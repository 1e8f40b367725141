//go:build linux

package history_test

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/yarn/history"
)

// TestLabForgedHistory leaves a forged history "of alice" where the jobs' configurations say that histories are. It is not imported: not by default,
// because only the history server's own configuration counts, and not if the operator names that folder, because the server does not know the job.
func TestLabForgedHistory(t *testing.T) {
	needLab(t)
	c, bin := up(t), command(t)
	ran := len(runJobs(t, c))
	local := t.TempDir()
	own := doneFiles(t, c)[0]
	shell(t, c, "-get", own, local)
	data, err := os.ReadFile(filepath.Join(local, path.Base(own)))
	if err != nil {
		t.Fatal(err)
	}
	f, err := history.ReadRecording(path.Base(own), data)
	if err != nil {
		t.Fatal(err)
	}
	where, data, err := f.Copy("1700000000000_0042", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	made := filepath.Join(local, filepath.Base(where))
	if err := os.WriteFile(made, data, 0o644); err != nil {
		t.Fatal(err)
	}
	shell(t, c, "-mkdir", "-p", forgedDir)
	defer shell(t, c, "-rm", "-r", forgedDir)
	shell(t, c, "-put", made, forgedDir+"/")

	for name, args := range map[string][]string{"default": nil, "named": {"--done-dir", forgedDir}} {
		dir := filepath.Join(t.TempDir(), name)
		out := yardmaster(t, bin, append(importArgs(c, dir), args...)...)
		jobs := readJobs(t, filepath.Join(dir, "jobs.parquet"))
		for _, j := range jobs {
			if j.ID == "job_1700000000000_0042" {
				t.Errorf("%s: the forged history was imported: %s", name, out)
			}
		}
		if left := strings.Contains(out, "are not what the servers know"); len(jobs) != ran || left != (name == "named") {
			t.Errorf("%s: %d jobs, %d were run: %s", name, len(jobs), ran, out)
		}
	}
}
