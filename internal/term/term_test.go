package term

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"
)

func TestProgressIsSilentOffATerminal(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	p := NewProgress(f, "run")
	p.Set(0.5, "half")
	p.End()
	if b, _ := os.ReadFile(f.Name()); len(b) != 0 {
		t.Errorf("wrote %q to a file", b)
	}
}

func TestProgressDrawsAtMostTenTimesASecond(t *testing.T) {
	var out bytes.Buffer
	clock := time.Unix(0, 0)
	p := &Progress{w: &out, width: 70, label: "run", now: func() time.Time { return clock }}
	p.started = clock
	for i := range 1000 {
		clock = clock.Add(4 * time.Millisecond) // 4 s in all
		p.Set(float64(i+1)/2000, "")
	}
	if n := strings.Count(out.String(), "\r"); n < 35 || n > 41 {
		t.Errorf("drawn %d times in 4 s", n)
	}
	lines := strings.Split(out.String(), "\r")
	last := strings.TrimSuffix(lines[len(lines)-1], "\x1b[K")
	if want := "run  [===========             ]  49 %  about 5 s left"; last != want {
		t.Errorf("last line %q, want %q", last, want)
	}
	p.End()
	if !strings.HasSuffix(out.String(), "\r\x1b[K") {
		t.Error("the line was not wiped")
	}
	n := out.Len()
	p.Set(1, "")
	if out.Len() != n {
		t.Error("drew after the end")
	}
}

func TestLeft(t *testing.T) {
	for d, want := range map[time.Duration]string{300 * time.Millisecond: "1 s", 80 * time.Second: "80 s", 5 * time.Minute: "5 min", 2 * time.Hour: "2.0 h"} {
		if got := left(d); got != want {
			t.Errorf("left(%v) = %q, want %q", d, got, want)
		}
	}
}

func TestTable(t *testing.T) {
	tab := Table{Head: []string{"metric", "fifo", "fair"}}
	tab.Add("p95 wait", "2.1 h", "3.4 min")
	tab.Add("makespan", "24 h", "24.2 h")
	want := "metric     fifo     fair\n" +
		"------------------------\n" +
		"p95 wait  2.1 h  3.4 min\n" +
		"makespan   24 h   24.2 h\n"
	if got := tab.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestInkIsOffInFiles(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	if got := InkFor(f).Bold("x"); got != "x" {
		t.Errorf("coloured a file: %q", got)
	}
	if got := (Ink{on: true}).Bold("x"); got != "\x1b[1mx\x1b[0m" {
		t.Errorf("Bold = %q", got)
	}
}

func TestWrap(t *testing.T) {
	if got := Wrap("one two three four", "  ", 11); got != "  one two\n  three\n  four\n" {
		t.Errorf("Wrap = %q", got)
	}
	if got := Wrap("from 49 to 67 % less", "", 13); got != "from 49 to\n67 % less\n" {
		t.Errorf("a number is parted from its unit: %q", got)
	}
}

func TestCommand(t *testing.T) {
	for width, want := range map[int]string{
		80: "  yardmaster compare --workload jobs.parquet --seeds 5 --json\n",
		40: "  yardmaster compare \\\n      --workload jobs.parquet \\\n      --seeds 5 --json\n",
	} {
		if got := Command("yardmaster compare --workload jobs.parquet --seeds 5 --json", "  ", width); got != want {
			t.Errorf("at %d: got\n%swant\n%s", width, got, want)
		}
	}
}

func TestFlow(t *testing.T) {
	const text = "One two three\nfour five.\n\n  swim     tab-separated lines of jobs\n  x        y"
	const want = "One two three four\nfive.\n\n  swim     tab-separated\n           lines of jobs\n  x        y\n"
	if got := Flow(text, 25); got != strings.Replace(want, "four\nfive", "four five", 1) {
		t.Errorf("got\n%s", got)
	}
	if got := Flow("One two three\nfour five.", 20); got != "One two three four\nfive.\n" {
		t.Errorf("got\n%s", got)
	}
}

func TestTableNarrow(t *testing.T) {
	text := Table{Left: 2, Width: 30}
	text.Add("swim", "tab-separated lines of jobs")
	text.Add("a", "b")
	if got := text.String(); got != "swim  tab-separated lines of\n      jobs\na     b\n" {
		t.Errorf("got\n%s", got)
	}
	figures := Table{Head: []string{"", "fifo", "fair", "", "capacity", ""}, Width: 26}
	figures.Add("wait", "10 s", "5 s", "-50 %", "8 s", "-20 %")
	const want = "      fifo  fair\n-----------------------\nwait  10 s   5 s  -50 %\n\n      capacity\n---------------------\nwait       8 s  -20 %\n"
	if got := figures.String(); got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestColumns(t *testing.T) {
	t.Setenv("COLUMNS", "60")
	if n, known := Columns(nil); n != 60 || !known {
		t.Error(n, known)
	}
	t.Setenv("COLUMNS", "wide")
	if n, known := Columns(nil); n != 0 || known || Width(nil) != 80 {
		t.Error(n, known, Width(nil))
	}
}
