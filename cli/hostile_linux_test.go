package cli

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Files that are made to fill the memory, or that are cut, are refused by the command itself in little memory.
func TestHostileFiles(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("writes half a gigabyte")
	}
	dir := t.TempDir()
	bin := filepath.Join(dir, "yardmaster")
	buildTo(t, bin)
	path := func(name string) string { return filepath.Join(dir, name) }
	const mib = 1 << 20

	oneLine := func(name, begin string) {
		f, err := os.Create(path(name))
		if err != nil {
			t.Fatal(err)
		}
		w := bufio.NewWriterSize(f, mib)
		_, _ = w.WriteString(begin)
		chunk := bytes.Repeat([]byte("x"), mib)
		for range 256 { // more than it may take
			if _, err := w.Write(chunk); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	oneLine("line.tsv", "job1\t1\t1\t1\t1\t1\t")
	oneLine("line.json", `{"jobID":"job_1_1","mapTasks":[{"taskID":"`)

	// Eight hundred members of 8 MiB of the same job each: six gigabytes in six megabytes or less.
	var member bytes.Buffer
	z, _ := gzip.NewWriterLevel(&member, gzip.BestCompression)
	line := []byte("job1\t1\t1\t1\t1\t1\n")
	for range 8 * mib / len(line) {
		_, _ = z.Write(line)
	}
	_ = z.Close()
	if err := os.WriteFile(path("bomb.tsv.gz"), bytes.Repeat(member.Bytes(), 800), 0o600); err != nil {
		t.Fatal(err)
	}
	var zeros bytes.Buffer
	z, _ = gzip.NewWriterLevel(&zeros, gzip.BestCompression)
	for range 8 {
		_, _ = z.Write(make([]byte, mib))
	}
	_ = z.Close()
	if err := os.WriteFile(path("zeros.gz"), bytes.Repeat(zeros.Bytes(), 800), 0o600); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(path("small.tsv"), bytes.Repeat([]byte("job\t1\t1\t1000000\t1000\t10\n"), 2000), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(bin, "import", "swim", path("small.tsv"), "-o", path("whole.parquet")).CombinedOutput(); err != nil {
		t.Fatalf("import: %v\n%s", err, out)
	}
	whole, err := os.ReadFile(path("whole.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path("cut.parquet"), whole[:len(whole)*2/3], 0o600); err != nil {
		t.Fatal(err)
	}

	for _, c := range []struct{ file, says string }{
		{"line.tsv", "line longer than"},
		{"line.json", "line.json"},
		{"bomb.tsv.gz", "expands more than"},
		{"zeros.gz", "zeros.gz"},
		{"cut.parquet", "cut.parquet"},
	} {
		cmd := exec.Command(bin, "simulate", "--workload", path(c.file), "--cluster", "10x4/2", "--scheduler", "fifo")
		out, err := cmd.CombinedOutput()
		rss := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss / 1024
		if err == nil || cmd.ProcessState.ExitCode() != 1 {
			t.Errorf("%s: ended with %v", c.file, err)
		}
		text := strings.TrimSpace(string(out))
		if !strings.Contains(text, c.says) || strings.Contains(text, "goroutine") || strings.Count(text, "\n") > 3 {
			t.Errorf("%s: says %q", c.file, text)
		}
		if rss > 200 {
			t.Errorf("%s: took %d MB", c.file, rss)
		}
		t.Logf("%-12s %3d MB  %s", c.file, rss, strings.ReplaceAll(text, dir+"/", ""))
	}
}
