package gantt

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/unit"
)

const s = unit.Second

func TestFigures(t *testing.T) {
	x := Timeline{
		Ready: 2 * s, End: 20 * s,
		Executors: []Executor{{Added: 3 * s, Removed: -1}, {Added: 5 * s, Removed: 10 * s}, {Added: 10 * s, Removed: 30 * s}},
		Tasks: []Task{
			{Start: 4 * s, End: 6 * s}, {Start: 5 * s, End: 8 * s}, {Start: 6 * s, End: 7 * s, Executor: 1, Failed: true}, {Start: 12 * s, End: 15 * s, Stage: 1, Executor: -1},
		},
		Stages: []Stage{{4 * s, 8 * s}, {11 * s, 15 * s}, {-1, -1}},
	}
	f := x.Figures()
	got := fmt.Sprint(f.Elapsed, f.DriverOnly, f.Tasks, f.Failed, f.Worked, f.Held, f.Busy, f.Peak, f.Work)
	want := fmt.Sprint(20*s, (2+3+5)*s, 3, 1, 9*s, (17+5+10)*s, 5*s, 2, []unit.Time{6 * s, 3 * s, 0})
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A task goes into the first free lane; no more lanes than slots.
func TestLanes(t *testing.T) {
	at := func(from, to unit.Time) Task { return Task{Start: from * s, End: to * s} }
	for _, x := range []struct {
		name  string
		slots int
		tasks []Task
		want  string
	}{
		{"one after another", 2, []Task{at(5, 6), at(0, 5)}, "[[0-5 5-6]]"},
		{"side by side", 2, []Task{at(0, 5), at(0, 3), at(3, 4), at(5, 6)}, "[[0-3 3-4 5-6] [0-5]]"},
		{"more than slots", 2, []Task{at(0, 5), at(0, 3), at(2, 4)}, "[[0-3 2-4] [0-5]]"},
		{"no executor", 1, []Task{{Start: 0, End: s, Executor: -1}}, "[]"},
	} {
		line := Timeline{Executors: make([]Executor, 1), Tasks: x.tasks, Slots: x.slots}
		var got []string
		for _, l := range line.lanes()[0] {
			var bars []string
			for _, b := range l {
				bars = append(bars, fmt.Sprintf("%d-%d", b.from/s, b.to/s))
			}
			got = append(got, fmt.Sprint(bars))
		}
		if fmt.Sprint(got) != x.want {
			t.Errorf("%s: %v, want %s", x.name, got, x.want)
		}
	}
}

// Of too many executors the first are drawn; no executor has more lanes than a picture.
func TestTooManyExecutors(t *testing.T) {
	for _, x := range []struct{ executors, slots, shown int }{{maxRows + 7, 1, maxRows}, {maxRows, 4, maxRows / 4}, {3, math.MaxInt32, 1}} {
		line := Timeline{Executors: make([]Executor, x.executors), Slots: x.slots, Stages: make([]Stage, 1)}
		for i := range line.Executors {
			line.Tasks = append(line.Tasks, Task{End: s, Executor: int32(i)})
		}
		if rows := line.lanes(); len(rows) != x.shown || len(rows[x.shown-1]) != 1 {
			t.Errorf("%d executors: %d rows", x.executors, len(rows))
		}
		if got := draw(t, &Chart{Stages: []string{"a"}, Panels: []Panel{{"observed", line}}}); !strings.Contains(got, "only the first "+unit.Number(int64(x.shown))+" executors of ") {
			t.Errorf("%d executors: the picture does not say what it leaves out", x.executors)
		}
	}
}

// Bars of one stage are merged when they are near, others when they are short; the longest gives the colour.
func TestMerge(t *testing.T) {
	lane := []bar{{0, 10, 0, false}, {11, 12, 1, false}, {13, 40, 1, false}, {50, 60, 1, false}, {61, 62, 1, true}, {63, 90, 2, false}}
	for within, want := range map[unit.Time]string{
		0:  "[{0 10 0 false} {11 12 1 false} {13 40 1 false} {50 60 1 false} {61 62 1 true} {63 90 2 false}]",
		2:  "[{0 12 0 false} {13 40 1 false} {50 60 1 false} {61 62 1 true} {63 90 2 false}]",
		30: "[{0 60 1 false} {61 62 1 true} {63 90 2 false}]",
	} {
		if got := fmt.Sprint(merge(slices.Clone(lane), within)); got != want {
			t.Errorf("within %d: %s\nwant %s", within, got, want)
		}
	}
}

// chart has n tasks of alternating stages in each of a few executors.
func chart(executors, n int, name string) *Chart {
	c := &Chart{Title: name, Subtitle: name, Axis: "since " + name, Between: name, Stages: []string{name, name + "2"}}
	for _, panel := range []string{"observed", "simulated"} {
		line := Timeline{Ready: s, End: unit.Time(n) * s, Slots: 1, Stages: make([]Stage, 2)}
		for i := range executors {
			line.Executors = append(line.Executors, Executor{Name: name, Added: s, Removed: -1, Lost: true})
			for k := range n {
				line.Tasks = append(line.Tasks, Task{Start: unit.Time(k) * s, End: unit.Time(k)*s + s/2, Stage: int32(k % 2), Executor: int32(i), Failed: k == 3})
			}
		}
		c.Panels = append(c.Panels, Panel{panel, line})
	}
	return c
}

func draw(t *testing.T, c *Chart) string {
	t.Helper()
	var out bytes.Buffer
	if err := c.SVG(&out); err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(bytes.NewReader(out.Bytes())); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return out.String()
		}
		if err != nil {
			t.Fatalf("no well-formed XML: %v", err)
		}
		if e, ok := token.(xml.StartElement); ok && !slices.Contains([]string{"svg", "rect", "text", "title", "path", "g"}, e.Name.Local) {
			t.Fatalf("the picture has an element %s", e.Name.Local)
		}
	}
}

func TestHostileNames(t *testing.T) {
	for _, name := range []string{`</text><script>alert(1)</script>`, `" onload="alert(1)`, "\x00\x1b[31m\u202e\xff", "]]><![CDATA[", strings.Repeat("ab&", 1000)} {
		for _, n := range []int{3, 2000} { // with and without tooltips
			if got := draw(t, chart(2, n, name)); strings.Contains(got, `"alert`) || strings.Contains(got, "\u202e") || len(got) > 1<<20 {
				t.Errorf("%.20q: %d bytes: %.2000s", name, len(got), got)
			}
		}
	}
}

func TestLargePicturesSayWhatTheyMerge(t *testing.T) {
	c := chart(10, 20_000, "large")
	got := draw(t, c)
	if !strings.Contains(got, "drawn as one bar") || len(got) > 2<<20 {
		t.Errorf("%d bytes, without a note", len(got))
	}
	if got != draw(t, c) {
		t.Error("the same chart gave another picture")
	}
	if small := draw(t, chart(2, 10, "small")); strings.Contains(small, "drawn as one bar") || !strings.Contains(small, "<title>stage small") {
		t.Error("a small picture merges, or has no tooltips")
	}
	if got := draw(t, &Chart{Panels: []Panel{{}}}); !strings.Contains(got, "</svg>") {
		t.Error("nothing gives no picture")
	}
}

func TestTicks(t *testing.T) {
	for end, want := range map[unit.Time]string{
		1: "[0 s]", 7 * s: "[0 s 1 s 2 s 3 s 4 s 5 s 6 s 7 s]", 107 * s: "[0 s 15 s 30 s 45 s 60 s 75 s 90 s 105 s]", 9 * unit.Minute: "[0 min 2 min 4 min 6 min 8 min]",
		100 * unit.Day: "[0 d 20 d 40 d 60 d 80 d 100 d]",
	} {
		var got []string
		for _, m := range ticks(end) {
			got = append(got, m.name)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%v: %v, want %s", end, got, want)
		}
	}
}
