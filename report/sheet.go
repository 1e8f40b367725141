package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
)

// Sheet is a report of texts, tables and charts of estimates, in the style of the report on runs: one self-contained HTML file.
// Empty parts are omitted.
type Sheet struct {
	Title, Subtitle, Size string
	Partial               bool
	Notices               []string // what a reader must know before any figure
	Headline              string
	Parts                 []SheetPart
	Lists                 []SheetList // of "what this rests on"
	Commands              []string    // that reproduce this
	Version               string
	Seeds                 []uint64
}

// SheetList is a labelled list.
type SheetList struct {
	Label string
	Items []string
}

// SheetPart is a part of a sheet. A folded one shows only its title until opened.
type SheetPart struct {
	Title, Note string
	Top         bool // the parts up to the next such one belong to it
	Folded      bool
	Text        []string
	Tables      []SheetTable
	Charts      []SheetChart
	Legend      string
}

// SheetTable is a table.
type SheetTable struct {
	Caption   string
	ID, Class string // of its element; no class: that of sheets
	NoHeads   bool   // the first cell of a row does not name it
	Cards     bool   // on a narrow screen each row becomes a card: for rows of text
	// Filters are buttons that show the rows with a tag only. Tags has the tags of each row, with blanks between them.
	Filters []SheetFilter
	Tags    []string
	Columns []SheetColumn
	Rows    [][]SheetCell
}

// SheetFilter is a button of a table.
type SheetFilter struct{ Label, Tag string }

// SheetColumn is a column of a table.
type SheetColumn struct {
	Text    string
	Figures bool // set right, never broken
	Wide    bool // text that needs room
}

// SheetCell is a cell of a table.
type SheetCell struct {
	Text  string
	Full  string   // of a name that may be cut
	Hue   int      // of a scheduler's colour; 0: none
	Small string   // beside it, smaller
	Below []string // under it, a line each
	Fold  []string // under that, a list that is shown when asked for
	Mark  Mark
}

// Mark is how a cell stands out.
type Mark string

// The marks.
const (
	Good   Mark = "good"
	Bad    Mark = "bad"
	Strong Mark = "strong"
)

// SheetChart is a chart of estimates over categories. Each series has a point, which is a mean with its interval, for each category; NaN
// leaves it out.
type SheetChart struct {
	Title string `json:"-"`
	// Kind is "bars", "points", "boxes", "lines", or lying: "effects" (with a line at zero), "spans" (bars from low to high, darker up to the mean).
	Kind       string        `json:"kind"`
	Unit       string        `json:"unit"`
	Log        bool          `json:"log"`
	Categories []string      `json:"categories"`
	Series     []SheetSeries `json:"series"`
}

// SheetSeries is a series of a chart; one of the source's own values is drawn as hollow marks.
type SheetSeries struct {
	Name   string       `json:"name"`
	Paper  bool         `json:"paper"`
	Points []SheetPoint `json:"points"`
	Reach  []SheetPoint `json:"reach,omitempty"` // of boxes: the same, of the whiskers
}

// SheetPoint is mean, low and high.
type SheetPoint [3]float64

var sheetScripts = []string{"format.js", "frame.js", "estimates.js", "sheet.js"}

var sheetPage = parse("sheet.html")

// WriteSheet writes the report.
func WriteSheet(w io.Writer, s Sheet) error {
	v := &sheetView{Sheet: s}
	drawings := []drawn{} // none is [] to the page, not null
	for i, p := range s.Parts {
		part := sheetPart{SheetPart: p, ID: fmt.Sprintf("p%d", i)}
		for k, c := range p.Charts {
			if err := c.check(); err != nil {
				return fmt.Errorf("writing the report %q: %w", s.Title, err)
			}
			c.Categories, c.Series = append([]string{}, c.Categories...), append([]SheetSeries{}, c.Series...)
			part.Drawn = append(part.Drawn, drawn{SheetChart: c, ID: fmt.Sprintf("e%d-%d", i, k), Height: c.height(), Aria: c.aria()})
		}
		v.Shown = append(v.Shown, part)
		drawings = append(drawings, part.Drawn...)
	}
	v.shell = newShell(s.Commands, s.Seeds, []string{"page.css", "sheet.css"}, sheetScripts, script(map[string]any{"charts": drawings}))
	return execute(sheetPage, w, s.Title, v)
}

type sheetView struct {
	Sheet
	shell
	Shown []sheetPart
}

type sheetPart struct {
	SheetPart
	ID    string
	Drawn []drawn
}

// NewTable makes a table whose first column is text and whose others are figures.
func NewTable(caption string, head []string, rows ...[]string) SheetTable {
	t := SheetTable{Caption: caption}
	for i, h := range head {
		t.Columns = append(t.Columns, SheetColumn{Text: h, Figures: i > 0})
	}
	for _, cells := range rows {
		t.add(SheetCell{Text: cells[0]}, cells[1:]...)
	}
	return t
}

// add appends a row.
func (t *SheetTable) add(name SheetCell, figures ...string) {
	row := []SheetCell{name}
	for _, f := range figures {
		row = append(row, SheetCell{Text: f})
	}
	t.Rows = append(t.Rows, row)
}

// Style is the class of a table's element.
func (t SheetTable) Style() string {
	if t.Class == "" && t.Cards {
		return "sheet cards"
	}
	return cmp.Or(t.Class, "sheet")
}

// Tag is the tags of a table's row.
func (t SheetTable) Tag(row int) string {
	if row < len(t.Tags) {
		return t.Tags[row]
	}
	return ""
}

// drawn is a chart and its element in the page.
type drawn struct {
	ID string `json:"id"`
	SheetChart
	Height int    `json:"-"`
	Aria   string `json:"-"`
}

func (c *SheetChart) check() error {
	for _, s := range c.Series {
		if len(s.Points) != len(c.Categories) {
			return fmt.Errorf("the chart %q has %d categories, and %d points of %s", c.Title, len(c.Categories), len(s.Points), s.Name)
		}
		if len(s.Reach) > 0 && len(s.Reach) != len(c.Categories) {
			return fmt.Errorf("the chart %q has %d categories, and %d whiskers of %s", c.Title, len(c.Categories), len(s.Reach), s.Name)
		}
	}
	return nil
}

// height is in pixels: horizontal charts grow with their lines.
func (c *SheetChart) height() int {
	if c.Kind != "effects" && c.Kind != "spans" {
		return 280
	}
	return 56 + len(c.Categories)*max(24, 12*len(c.Series)+8)
}

// aria is a chart's text alternative; the figures are in tables.
func (c *SheetChart) aria() string {
	names := make([]string, len(c.Series))
	for i, s := range c.Series {
		names[i] = s.Name
	}
	if c.Kind == "lines" && len(c.Categories) > 0 {
		return fmt.Sprintf("%s: %s over %s to %s.", c.Title, strings.Join(names, ", "), c.Categories[0], c.Categories[len(c.Categories)-1])
	}
	return fmt.Sprintf("%s: %s over %s.", c.Title, strings.Join(names, ", "), strings.Join(c.Categories, ", "))
}

// MarshalJSON writes null where there is no mean.
func (p SheetPoint) MarshalJSON() ([]byte, error) {
	if math.IsNaN(p[0]) {
		return []byte("null"), nil
	}
	return json.Marshal([3]rounded{{p[0], 5}, {p[1], 5}, {p[2], 5}})
}
