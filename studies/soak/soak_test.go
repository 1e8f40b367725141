package soak

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// grown is a soak of a hundred minutes in which memory grows by so many bytes a minute after the first fifty.
func grown(bytes int64, descriptors int) *Record {
	r := &Record{What: "test", Limits: Flat, Asked: 6000, Lasted: 6000}
	for i := range 100 {
		late := max(0, i-50)
		r.Samples = append(r.Samples, Sample{At: 60 * float64(i), Name: "p", PID: 1, RSS: 30<<20 + bytes*int64(late), Descriptors: 10 + descriptors*late/50, Threads: 8})
	}
	return r
}

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		of     *Record
		misses int
	}{{grown(0, 0), 0}, {grown(100<<10, 2), 0}, {grown(200<<10, 0), 1}, {grown(200<<10, 5), 2}} {
		if c.of.Judge(); len(c.of.Misses) != c.misses {
			t.Errorf("want %d misses: %q", c.misses, c.of.Misses)
		}
	}
	x, y := []float64{0, 3600, 7200, 10800}, []float64{1, 2, 2, 3}
	if rise, half := slope(x, y); fmt.Sprintf("%.2f %.2f", rise, half) != "0.60 0.28" {
		t.Errorf("slope %.2f ± %.2f", rise, half)
	}
}

func TestRun(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("# HELP x y\ngo_goroutines 7\nmy_done_total{of=\"a\"} 2\nmy_done_total{of=\"b\"} 3\nother_total 1\n"))
	}))
	defer server.Close()
	file, done := filepath.Join(t.TempDir(), "soak.jsonl"), 0
	p := &Plan{
		What: "test", For: 3 * time.Second, Limits: Loose, File: file, Log: t.Logf,
		Measure: func() ([]Sample, error) {
			s, err := Measure("self", os.Getpid(), strings.TrimPrefix(server.URL, "http://"), "my_")
			return []Sample{s}, err
		},
		Churn: []Churn{{Kind: "fails", First: time.Second, Every: time.Hour, Do: func(int) (string, error) { done++; return "text", errors.New("broken") }}},
	}
	r, err := p.Run(t.Context())
	if err != nil || done != 1 || len(r.Misses) != 1 || len(r.Samples) < 2 || r.Samples[0].Work["done"] != 5 || len(r.Samples[0].Work) != 1 || r.Samples[0].Goroutines != 7 {
		t.Fatalf("%+v, %v", r, err)
	}
	if b, err := os.ReadFile(file); err != nil || strings.Count(string(b), "\n") != 2+len(r.Samples) {
		t.Errorf("%s, %v", b, err)
	}
	for _, show := range []func() (string, error){func() (string, error) { return Text(r) }, func() (string, error) {
		err := Picture(file+".svg", r)
		b, _ := os.ReadFile(file + ".svg")
		return string(b), err
	}} {
		if text, err := show(); err != nil || !strings.Contains(text, "goroutines") {
			t.Error(text, err)
		}
	}
	p.Measure = func() ([]Sample, error) { return nil, errors.New("gone") }
	if r, err := p.Run(t.Context()); err != nil || len(r.Misses) != 2 || !strings.Contains(r.Misses[1], "cut off") {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestTruncate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	appending, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer appending.Close()
	other, err := os.OpenFile(file, os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for _, c := range []struct {
		to   *os.File
		want bool
	}{{appending, true}, {other, true}, {other, false}} { // at first, its offset is 0
		_, err := Truncate(file, func() error { _, err := c.to.WriteString("line\n"); return err })
		if (err == nil) != c.want {
			t.Error(err)
		}
	}
}

// A program whose clock is stepped says another time, and monotonic time goes on.
func TestBuildStepped(t *testing.T) {
	if os.Getenv("YARDMASTER_LAB_TESTS") == "" {
		t.Skip("compiles the standard library; set YARDMASTER_LAB_TESTS=1")
	}
	dir := t.TempDir()
	text := "package main\nimport (\"fmt\"; \"time\")\nfunc main() { a := time.Now(); fmt.Println(a.Unix()); fmt.Scanln(); fmt.Println(time.Now().Unix(), time.Since(a) < time.Minute); fmt.Scanln() }\n"
	for name, text := range map[string]string{"main.go": text, "go.mod": "module example.org/clock\n\ngo 1.26\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	path, err := BuildStepped(t.Context(), t.TempDir(), "example.org/clock")
	if err != nil {
		t.Fatal(err)
	}
	clock := Clock{File: filepath.Join(dir, "clock")}
	if err := clock.Set(-300); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path)
	cmd.Env = append(os.Environ(), ClockVariable+"="+clock.File)
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	var first, second int64
	var monotonic bool
	_, err = fmt.Fscan(out, &first)
	_, err1 = clock.Step(0, cmd.Process.Pid, func() error { time.Sleep(time.Second); return nil })
	_, err2 = fmt.Fprintln(in)
	_, err3 := fmt.Fscan(out, &second, &monotonic)
	_, err4 := fmt.Fprintln(in)
	if err := errors.Join(err, err1, err2, err3, err4, cmd.Wait()); err != nil || second-first < 590 || !monotonic {
		t.Errorf("%d, then %d, monotonic %v: %v", first, second, monotonic, err)
	}
}
