package steering

import (
	_ "embed"
	"fmt"
	"math"
	"text/template"

	"github.com/yardmaster/yardmaster/lab/evidence"
)

var (
	//go:embed gantt.svg.tmpl
	ganttText string
	//go:embed boxes.svg.tmpl
	boxesText string
)

// ticks are those of an axis that has about six of them.
func ticks(most, to float64) (list []float64) {
	step := math.Pow(10, math.Floor(math.Log10(most/6)))
	for _, f := range []float64{1, 2, 5, 10} {
		if most/(step*f) <= 7 {
			step *= f
			break
		}
	}
	for v := 0.0; v <= to; v += step {
		list = append(list, v)
	}
	return list
}

// moved is a place, moved by so much, with so many digits.
func moved(at, by float64, digits int) string { return fmt.Sprintf("%.*f", digits, at+by) }

// panel is a batch of a picture: its jobs in the order of their launches, and below them a strip that has how many masters were allowed to run at once.
type panel struct {
	*Batch
	Top, Foot, Span float64
	Jobs            []Job
	Marks           []mark
	Path            string
}

type mark struct {
	Y       float64
	Masters int
}

// gantt shows the batches of one repetition, an arm a panel: when each job waited, started, mapped and reduced, and how many masters were allowed to run at once.
func (f *facts) gantt(repetition int, file string) error {
	const left, width, row, strip, gap, head = 96.0, 780.0, 13.0, 34.0, 32.0, 46.0
	height, most := row*float64(f.size.Jobs)+strip, 0.0
	var panels []*panel
	for _, a := range f.Arms {
		for _, b := range f.of[a.Name] {
			if b.Repetition == repetition {
				top := head + float64(len(panels))*(height+gap)
				panels = append(panels, &panel{Batch: b, Top: top, Foot: top + height, Span: b.span(), Jobs: b.byLaunch()})
				most = max(most, b.span())
			}
		}
	}
	x := func(s float64) float64 { return left + s/most*width }
	for _, p := range panels {
		up := func(mb int64) float64 {
			return p.Foot - math.Min(float64(mb)/float64(f.size.ContainerMB), float64(f.size.Jobs)+1)/float64(f.size.Jobs+1)*(strip-6)
		}
		for _, n := range []int{0, f.size.Jobs} {
			p.Marks = append(p.Marks, mark{up(int64(n * f.size.ContainerMB)), n})
		}
		p.Path = fmt.Sprintf("M%.1f %.1f", x(0), up(int64(p.Preset*float64(f.size.QueueMB()))))
		for _, l := range p.Limits { // those before the first job came are old: the Fair Scheduler works it out only for a job that waits
			if s := float64(l.At) / 1000; s > 0 && s <= p.Span {
				p.Path += fmt.Sprintf("H%.1fV%.1f", x(s), up(l.MB))
			}
		}
	}
	_, err := evidence.Page(ganttText, file, map[string]any{"Panels": panels, "Ticks": ticks(most, most), "Panel": moved(height, 0, 1), "Height": head + float64(len(panels))*(height+gap) + 20}, template.FuncMap{
		"x": func(s float64) string { return moved(x(s), 0, 1) }, "y": moved, "row": func(top float64, k int) float64 { return top + row*float64(k) + 2 },
		"bar": func(y float64, from, to int64, ink string, height float64) string {
			if to <= from {
				return ""
			}
			a, b := x(float64(from)/1000), x(float64(to)/1000)
			return fmt.Sprintf(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`, a, y+(9-height)/2, b-a, height, ink)
		},
	})
	return err
}

// boxes is a box plot of the batch times, with every batch as a point and the simulator's mean as a cross.
func (t *told) boxes(file string) error {
	type line struct {
		Name      string
		Y         float64
		Times     []float64
		Predicted float64
	}
	var rows []line
	most := 0.0
	for i, a := range t.Arms {
		rows = append(rows, line{Name: a.Name, Y: 20 + 34*(float64(i)+0.5), Times: t.Measured.Of(a.Name, "span")})
		if t.Simulated.Runs != nil {
			rows[i].Predicted = t.Simulated.Estimate(a.Name, "span").Mean
		}
		for _, v := range append(rows[i].Times, rows[i].Predicted) {
			most = max(most, v)
		}
	}
	x := func(s float64) float64 { return 96 + s/(most*1.04)*620 }
	_, err := evidence.Page(boxesText, file, map[string]any{"Rows": rows, "Ticks": ticks(most, most*1.04), "Height": 64 + 34*float64(len(t.Arms))}, template.FuncMap{
		"x": func(s, by float64) string { return moved(x(s), by, 1) }, "y": moved, "wide": func(from, to float64) string { return moved(max(1, x(to)-x(from)), 0, 1) },
	})
	return err
}
