package experiment

import (
	"cmp"
	_ "embed"
	"fmt"
	"html"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"
)

//go:embed picture.svg.tmpl
var pictureText string

// claim is a change that the source states beside ours, both in percent.
type claim struct {
	Label   string
	Source  float64
	Ours    Point
	Y       float64
	Outside bool // ours is larger than what the picture shows
}

var (
	stated   = regexp.MustCompile(`([+-]?[0-9.]+) %( shorter)?`)
	measured = regexp.MustCompile(`([+-]?[0-9.]+) %(?: \(([+-]?[0-9.]+) to ([+-]?[0-9.]+)\))?`)
)

// claims are the headline checks in which both sides are changes in percent. They are read from the texts: findings that were recovered from
// a page have no other figures.
func claims(s *StudyFinding) (all []claim) {
	number := func(text string) float64 {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return math.NaN()
		}
		return v
	}
	for _, c := range s.headline() {
		source, ours := stated.FindAllStringSubmatch(c.Paper, -1), measured.FindAllStringSubmatch(c.Ours, -1)
		if len(source) == 1 {
			source = slices.Repeat(source, len(ours))
		}
		if !strings.Contains(c.Ours, " → ") || len(source) != len(ours) {
			continue
		}
		label := html.EscapeString(clip(c.ID+": "+c.Text, 88))
		for k, m := range ours {
			row := claim{Label: label, Source: number(source[k][1]), Ours: Point{number(m[1]), number(cmp.Or(m[2], m[1])), number(cmp.Or(m[3], m[1]))}}
			switch {
			case source[k][2] != "":
				row.Source = -row.Source
			case !strings.ContainsAny(source[k][1][:1], "+-"):
				continue // a share, not a change
			}
			all, label = append(all, row), ""
		}
	}
	if len(all) < 3 {
		return nil // the table says as much
	}
	return all
}

// Pictured reports whether a page of the study has a picture.
func (s *StudyFinding) Pictured() bool { return len(claims(s)) > 0 }

// WritePicture draws the claims of a study as SVG.
func (s *StudyFinding) WritePicture(w io.Writer) error {
	const left, right, top, row, widest = 590.0, 970.0, 46.0, 20.0, 150.0
	rows := claims(s)
	low, high := 0.0, 0.0
	for i := range rows {
		r := &rows[i]
		r.Y = top + row*float64(i)
		r.Outside = r.Ours.Mean > widest
		low = math.Min(low, math.Min(r.Source, r.Ours.Lo))
		high = math.Max(high, math.Max(r.Source, r.Ours.Hi))
	}
	step := 25.0
	if high-low > 5*step {
		step *= 2
	}
	low, high = math.Max(-100, step*math.Floor(low/step)), math.Min(widest, step*math.Ceil(high/step))
	var ticks []float64
	for v := low; v <= high; v += step {
		ticks = append(ticks, v)
	}
	bottom := top + row*float64(len(rows)-1) + 12
	t := template.Must(template.New("picture").Funcs(template.FuncMap{
		"x": func(v float64) string {
			v = math.Max(low, math.Min(high, v))
			return fmt.Sprintf("%.1f", left+(right-left)*(v-low)/(high-low))
		},
		"add": func(a, b float64) float64 { return a + b },
	}).Parse(pictureText))
	return t.Execute(w, map[string]any{"Rows": rows, "Ticks": ticks, "Bottom": bottom, "Foot": bottom + 16, "Height": bottom + 26})
}
