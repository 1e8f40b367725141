package report

import (
	"bytes"
	"math"
	"strings"
	"testing"
)

func sheet() Sheet {
	nan := math.NaN()
	return Sheet{
		Title: "A sheet <b>", Subtitle: "of something", Headline: "all is well", Notices: []string{"one run failed"}, Version: "v1", Seeds: []uint64{1, 2, 3},
		Commands: []string{"yardmaster reproduce toy", ""}, Lists: []SheetList{{"assumed", []string{"this", "that takes 1230 s"}}, {"nothing", nil}},
		Parts: []SheetPart{
			{
				Title: "First", Text: []string{"</script><script>alert(1)</script>"},
				Tables: []SheetTable{{
					Caption: "A table", Cards: true, Columns: []SheetColumn{{Text: "what"}, {Text: "how much", Figures: true}, {Text: "says", Wide: true}},
					Rows: [][]SheetCell{{{Text: "a"}, {Text: "12", Small: "± 1"}, {Text: "PASS", Mark: Good, Below: []string{"below"}, Fold: []string{"in detail here"}}}},
				}},
				Charts: []SheetChart{{
					Title: "A chart", Kind: "effects", Unit: "%", Categories: []string{"x", "</script>"},
					Series: []SheetSeries{{Name: "ours", Points: []SheetPoint{{1, 0, 2}, {nan, nan, nan}}}, {Name: "source", Paper: true, Points: []SheetPoint{{3, 3, 3}, {4, 4, 4}}}},
				}},
			},
			{Title: "Second", Folded: true, Text: []string{"folded"}},
		},
	}
}

func TestSheet(t *testing.T) {
	var a, b bytes.Buffer
	if err := WriteSheet(&a, sheet()); err != nil {
		t.Fatal(err)
	}
	if err := WriteSheet(&b, sheet()); err != nil {
		t.Fatal(err)
	}
	html := a.String()
	if !strings.Contains(html, "takes 1230\u00a0s") {
		t.Error("a number is parted from its unit")
	}
	keep(t, "sheet", html)
	if html != b.String() {
		t.Error("the same sheet gave other bytes")
	}
	at := 0
	for _, want := range []string{
		"A sheet &lt;b&gt;", "of something", "one run failed", "all is well", "First", "&lt;/script&gt;&lt;script&gt;alert(1)", `id="chart-e0-0"`, "A table", `class="n">how much`,
		"<small>± 1</small>", `data-l="says"`, "below", "in detail here", `<details class="part" id="p1"><summary>Second`, "folded", "<dt>assumed</dt>", "<span>toy</span>", "1–3", "yardmaster v1",
	} {
		i := strings.Index(html[at:], want)
		if i < 0 {
			t.Fatalf("%q is missing, or comes too early", want)
		}
		at += i
	}
	for _, not := range []string{"<dt>nothing</dt>", "alert(1)</script>", "Partial result"} {
		if strings.Contains(html, not) {
			t.Errorf("the page has %q", not)
		}
	}
	charts := pageData(t, html)["charts"].([]any)
	series := charts[0].(map[string]any)["series"].([]any)
	if points := series[0].(map[string]any)["points"].([]any); len(charts) != 1 || len(points) != 2 || points[1] != nil {
		t.Errorf("the page's data: %v", charts)
	}
}

func TestSheetWithUnequalSeries(t *testing.T) {
	s := sheet()
	s.Parts[0].Charts[0].Categories = []string{"x"}
	if err := WriteSheet(&bytes.Buffer{}, s); err == nil || !strings.Contains(err.Error(), "1 categories, and 2 points of ours") {
		t.Errorf("%v", err)
	}
}

func TestSheetWithWhiskers(t *testing.T) {
	s := sheet()
	c := &s.Parts[0].Charts[0]
	c.Kind = "boxes"
	c.Series[0].Reach = []SheetPoint{{1, -1, 4}, {math.NaN(), 0, 0}}
	var b bytes.Buffer
	if err := WriteSheet(&b, s); err != nil {
		t.Fatal(err)
	}
	chart := pageData(t, b.String())["charts"].([]any)[0].(map[string]any)
	reach := chart["series"].([]any)[0].(map[string]any)["reach"].([]any)
	if chart["kind"] != "boxes" || len(reach) != 2 || reach[0].([]any)[2] != 4.0 || reach[1] != nil {
		t.Errorf("the page's data: %v", chart)
	}
	c.Series[0].Reach = c.Series[0].Reach[:1]
	if err := WriteSheet(&bytes.Buffer{}, s); err == nil || !strings.Contains(err.Error(), "2 categories, and 1 whiskers of ours") {
		t.Errorf("%v", err)
	}
}
