package gantt

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"io"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yardmaster/yardmaster/unit"
)

// Chart is a picture of one or several timelines of the same application.
type Chart struct {
	Title, Subtitle string
	Axis            string   // what the zero of the time axis is
	Stages          []string // their names
	Panels          []Panel
	Between         string // a line between the first panel and the next
}

// Panel is one timeline.
type Panel struct {
	Name string
	Timeline
}

// Positions in a picture.
const (
	width       = 1120.0
	left, right = 150.0, 1100.0
	panelHeight = 420.0 // roughly, of a panel's lanes
	driverRow   = 12.0
)

// hues are the colours of the stages that worked longest; other stages share the last. A failed attempt is red.
var hues = []string{
	"#3b7dd8", "#e69f00", "#009e73", "#cc79a7", "#a89f00", "#56b4e9", "#8c5a3c", "#6b4fa0", "#7fb069", "#d88c6a", "#b8c0cc",
}

const failedHue = "#d1242f"

// SVG writes the chart. Its text is escaped.
func (c *Chart) SVG(w io.Writer) error {
	p := &picture{Chart: c}
	for _, panel := range c.Panels {
		p.end = max(p.end, panel.End)
		for _, t := range panel.Tasks { // a log may end before its last task
			p.end = max(p.end, t.End)
		}
	}
	p.end = max(p.end, 1)
	p.colour()
	p.plan()
	p.draw()
	_, err := fmt.Fprintf(w, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" font-family=\"sans-serif\" font-size=\"12\">\n"+
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n%s</svg>\n", width, p.y+14, width, &p.out)
	return err
}

type picture struct {
	*Chart
	end    unit.Time
	hue    []string // by stage
	rows   [][]row
	notes  []string
	tall   float64 // height of a lane
	space  float64 // between executors
	titled bool    // bars few enough to have a tooltip each
	out    bytes.Buffer
	y      float64
}

// colour gives the stages that worked longest, in any panel, a colour of their own.
func (p *picture) colour() {
	work := make([]unit.Time, len(p.Stages))
	order := make([]int, len(p.Stages))
	for i := range order {
		order[i] = i
	}
	for i := range p.Panels {
		for s, t := range p.Panels[i].Figures().Work {
			work[s] = max(work[s], t)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(work[b], work[a]) })
	p.hue = make([]string, len(p.Stages))
	for rank, s := range order {
		p.hue[s] = hues[min(rank, len(hues)-1)]
	}
}

// plan decides what is drawn, and how tall.
func (p *picture) plan() {
	lanes, executors := 1, 1 // of the largest panel
	for i := range p.Panels {
		rows, all := p.Panels[i].lanes(), len(p.Panels[i].Executors)
		if len(rows) < all {
			p.notes = append(p.notes, fmt.Sprintf("%s: only the first %s executors of %s are drawn", p.Panels[i].Name, unit.Number(int64(len(rows))), unit.Number(int64(all))))
		}
		n := 0
		for _, r := range rows {
			n += max(len(r), 1)
		}
		lanes, executors = max(lanes, n), max(executors, len(rows))
		p.rows = append(p.rows, rows)
	}
	bars, merged := thin(p.rows, p.end)
	if merged {
		p.notes = append(p.notes, fmt.Sprintf("adjacent short tasks of a lane are drawn as one bar: there are more than %s", unit.Number(maxBars)))
	}
	p.titled = bars <= 2000
	p.tall = min(max(panelHeight/float64(lanes), 1), 14)
	p.space = min(panelHeight/3/float64(executors), 4)
}

// text is a name as the picture shows it.
func text(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '\ufffd'
	}, s)
	if r := []rune(s); len(r) > most {
		s = string(r[:most-1]) + "…"
	}
	return html.EscapeString(s)
}

func (p *picture) add(format string, args ...any) { fmt.Fprintf(&p.out, format, args...) }

func (p *picture) x(t unit.Time) float64 {
	return left + (right-left)*float64(min(max(t, 0), p.end))/float64(p.end)
}

// say adds a line of text, its parts escaped.
func (p *picture) say(x float64, style, s string, most int) {
	p.add("<text x=\"%.1f\" y=\"%.1f\"%s>%s</text>\n", x, p.y, style, text(s, most))
}

func (p *picture) draw() {
	p.y = 24
	p.say(14, ` font-size="16" font-weight="bold"`, p.Title, 110)
	p.y += 19
	p.say(14, ` fill="#555"`, p.Subtitle, 190)
	p.y += 20
	p.legend()
	for i := range p.Panels {
		if i == 1 {
			p.y += 18
			p.say(14, ` fill="#222"`, p.Between, 190)
			p.y += 8
		}
		p.y += 22
		p.panel(&p.Panels[i].Timeline, p.Panels[i].Name, p.rows[i])
	}
	p.y += 26
	p.say((left+right)/2, ` text-anchor="middle" fill="#555"`, p.Axis, 150)
	for _, n := range p.notes {
		p.y += 17
		p.say(14, ` fill="#555"`, n, 190)
	}
}

// legend shows the stages that worked longest, in lines.
func (p *picture) legend() {
	x := 14.0
	key := func(hue, name string) {
		const most = 40
		wide := 24 + 6.6*float64(min(utf8.RuneCountInString(name), most))
		if x+wide > right && x > 14 {
			x, p.y = 14, p.y+17
		}
		p.add("<rect x=\"%.1f\" y=\"%.1f\" width=\"11\" height=\"11\" fill=\"%s\"/>", x, p.y-10, hue)
		p.say(x+16, "", name, most)
		x += wide + 8
	}
	others := hues[len(hues)-1]
	for i, hue := range p.hue {
		if hue != others {
			key(hue, "stage "+p.Stages[i])
		}
	}
	if slices.Contains(p.hue, others) {
		key(others, "other stages")
	}
	if slices.ContainsFunc(p.Panels, func(x Panel) bool {
		return slices.ContainsFunc(x.Tasks, func(t Task) bool { return t.Failed }) || slices.ContainsFunc(x.Executors, func(e Executor) bool { return e.Lost })
	}) {
		key(failedHue, "task failed or killed, executor lost")
	}
	x, p.y = 14, p.y+17
	key("#e9edf2", "executor registered")
	key("#cfd6df", "driver not ready yet")
	key("#4b5563", "driver alone: no stage is active")
	p.y += 6
}

// panel draws one timeline.
func (p *picture) panel(t *Timeline, name string, rows []row) {
	p.say(14, ` font-weight="bold"`, name, 150)
	p.y += 8
	top, foot := p.y, p.y+driverRow+4
	for _, r := range rows {
		foot += float64(max(len(r), 1))*p.tall + p.space
	}
	for _, tick := range ticks(p.end) {
		p.add("<path d=\"M%.1f %.1fV%.1f\" stroke=\"#e4e4e4\"/><text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" fill=\"#777\" font-size=\"10\">%s</text>\n",
			p.x(tick.at), top, foot+2, p.x(tick.at), foot+13, tick.name)
	}
	box := func(from, to unit.Time, y, tall float64) string {
		return fmt.Sprintf("M%.1f %.1fh%.1fv%.1fH%.1fz", p.x(from), y, max(p.x(to)-p.x(from), 0.8), tall, p.x(from))
	}
	p.add("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\" fill=\"#555\" font-size=\"10\">driver</text>", left-6, top+driverRow-3)
	p.add("<path fill=\"#cfd6df\" d=\"%s\"/><path fill=\"#4b5563\" d=\"", box(0, max(t.Ready, 0), top+2, driverRow-4))
	for _, g := range t.driverOnly() {
		p.add("%s", box(g.from, g.to, top+2, driverRow-4))
	}
	p.add("\"/>\n")
	p.y = top + driverRow + 4
	var bars bytes.Buffer
	labelled := math.Inf(-1)
	for i, r := range rows {
		x, tall := &t.Executors[i], float64(max(len(r), 1))*p.tall
		until := t.until(x)
		p.add("<path fill=\"#e9edf2\" d=\"%s\"><title>executor %s, from %s to %s</title></path>", box(x.Added, until, p.y, tall), text(x.Name, 80), x.Added, until)
		p.add("<path stroke=\"#7a8699\" d=\"M%.1f %.1fv%.1f\"/>", p.x(x.Added), p.y, tall)
		if x.Removed >= 0 && x.Removed < t.End { // before the application's end
			ink := "#7a8699"
			if x.Lost {
				ink = failedHue
			}
			p.add("<path stroke=\"%s\" stroke-width=\"2\" d=\"M%.1f %.1fv%.1f\"/>", ink, p.x(until), p.y, tall)
		}
		if middle := p.y + tall/2 + 3.5; middle-labelled >= 10 {
			labelled = middle
			p.add("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\" fill=\"#555\" font-size=\"10\">%s</text>", left-6, middle, text(x.Name, 24))
		}
		p.add("\n")
		for k, l := range r {
			for _, b := range l {
				hue := p.hue[b.stage]
				if b.failed {
					hue = failedHue
				}
				gap := min(1, p.tall/6)
				fmt.Fprintf(&bars, "<path fill=\"%s\" d=\"%s\">", hue, box(b.from, b.to, p.y+float64(k)*p.tall+gap/2, p.tall-gap))
				if p.titled {
					fmt.Fprintf(&bars, "<title>stage %s: %s from %s</title>", text(p.Stages[b.stage], 40), b.to-b.from, b.from)
				}
				bars.WriteString("</path>\n")
			}
		}
		p.y += tall + p.space
	}
	p.add("<g stroke=\"#fff\" stroke-width=\"%.1f\">\n%s</g>\n", min(0.4, p.tall/20), &bars)
	p.y = foot + 16
}

// steps are the distances of ticks on a time axis, in a unit.
var steps = []struct {
	in   unit.Time
	name string
	by   []unit.Time
}{
	{unit.Second, "s", []unit.Time{1, 2, 5, 10, 15, 30}},
	{unit.Minute, "min", []unit.Time{1, 2, 5, 10, 15, 30}},
	{unit.Hour, "h", []unit.Time{1, 2, 3, 6, 12}},
	{unit.Day, "d", []unit.Time{1, 2, 5, 10, 20, 50, 100, 1000, 10_000, 100_000}},
}

// tick is a round instant.
type tick struct {
	at   unit.Time
	name string
}

// ticks are up to nine round instants.
func ticks(end unit.Time) (list []tick) {
	for _, s := range steps {
		for _, by := range s.by {
			if end/(by*s.in) > 8 {
				continue
			}
			for n := unit.Time(0); n*s.in <= end; n += by {
				list = append(list, tick{n * s.in, fmt.Sprintf("%d %s", n, s.name)})
			}
			return list
		}
	}
	return nil
}
