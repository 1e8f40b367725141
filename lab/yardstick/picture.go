package yardstick

import (
	_ "embed"
	"fmt"
	"math"

	"github.com/yardmaster/yardmaster/lab/evidence"
)

//go:embed packets.svg.tmpl
var pictureText string

// panel is one plot with the same scale both ways.
type panel struct{ x0, y0, Most float64 }

// X and Y are the places of a value, moved by so much.
func (p panel) X(v, by float64) string { return fmt.Sprintf("%.1f", p.x0+v/p.Most*260+by) }
func (p panel) Y(v, by float64) string { return fmt.Sprintf("%.1f", p.y0+260-v/p.Most*260+by) }

// Half is the middle of the axes.
func (p panel) Half() float64 { return p.Most / 2 }

// shuffleDots are a shuffle's flows in its panel; the first shuffle of a panel draws its frame.
type shuffleDots struct {
	panel
	Title string // "": the frame is there
	Ticks []float64
	Dots  []struct{ Ink, Path string } // lines of no length with round ends
}

// Panel is the panel itself.
func (s shuffleDots) Panel() panel { return s.panel }

// drawPackets plots the end of each flow in packets against its end in the fluid, a panel for each network and way to fetch, and writes that to a file, if one is named.
func drawPackets(facts []packetFacts, file string) (string, error) {
	type place struct{ racks, copiers int }
	most, panels := map[place]float64{}, map[place]int{}
	for i := range facts {
		f := &facts[i]
		if at := (place{f.Racks, f.Copiers}); len(f.Flows) > 1 {
			most[at] = max(most[at], f.Packets, f.FluidEnd)
		}
	}
	var all []shuffleDots
	for _, roomy := range []bool{true, false} { // the smaller ports on top
		for i := range facts {
			f := &facts[i]
			if len(f.Flows) == 1 || roomy != (f.Queue > 100) {
				continue
			}
			at := place{f.Racks, f.Copiers}
			n, drawn := panels[at]
			if !drawn {
				n = len(panels)
				panels[at] = n
			}
			s := shuffleDots{panel: panel{60 + float64(n%2)*330, 60 + float64(n/2)*330, most[at]}}
			if !drawn {
				s.Title = f.Network() + ", " + f.Fetched()
				step := math.Pow(10, math.Floor(math.Log10(s.Most)))
				for s.Most/step < 4 {
					step /= 2
				}
				for v := 0.0; v <= s.Most; v += step {
					s.Ticks = append(s.Ticks, v)
				}
			}
			paths := map[string]string{}
			for k, x := range f.Spans {
				ink := "#1f6fb2"
				switch {
				case x.End < 0:
					continue
				case roomy:
					ink = "#b8b8b8"
				case f.metTimer(k):
					ink = "#d1540f"
				}
				paths[ink] += "M" + s.X(f.fluidSpans[k].End, 0) + " " + s.Y(x.End, 0) + "h0"
			}
			for _, ink := range []string{"#b8b8b8", "#d1540f", "#1f6fb2"} {
				if paths[ink] != "" {
					s.Dots = append(s.Dots, struct{ Ink, Path string }{ink, paths[ink]})
				}
			}
			all = append(all, s)
		}
	}
	return evidence.Page(pictureText, file, all, nil)
}
