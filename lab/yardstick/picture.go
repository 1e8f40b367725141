package yardstick

import (
	"bytes"
	"fmt"
	"math"
)

// drawPackets plots the end of each flow in packets against its end in the fluid, a panel for each network and way to fetch.
func drawPackets(facts []packetFacts) []byte {
	const side, gap, left, top = 260.0, 70.0, 60.0, 60.0
	type place struct{ racks, copiers int }
	panels := map[place]int{}
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" font-family="sans-serif" font-size="12">`+"\n",
		left+2*side+gap+20, top+2*(side+gap)-20, left+2*side+gap+20)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="#fff"/>`+"\n")
	legend := func(x float64, mark, text string) {
		fmt.Fprintf(&b, `<circle cx="%.0f" cy="18" r="3.5" fill="%s"/><text x="%.0f" y="22">%s</text>`+"\n", x, mark, x+8, text)
	}
	legend(left, plain, "100 packets a port")
	legend(left+150, waited, "the same, met a timer")
	legend(left+310, roomy, "1,000 packets a port")
	most := map[place]float64{}
	for i := range facts {
		f := &facts[i]
		if at := (place{f.Racks, f.Copiers}); len(f.Flows) > 1 {
			most[at] = max(most[at], f.Packets, f.FluidEnd)
		}
	}
	for _, late := range []bool{true, false} { // the smaller ports on top
		for i := range facts {
			f := &facts[i]
			if len(f.Flows) == 1 || late != (f.Queue > 100) {
				continue
			}
			at := place{f.Racks, f.Copiers}
			n, drawn := panels[at]
			if !drawn {
				n = len(panels)
				panels[at] = n
			}
			p := panel{x0: left + float64(n%2)*(side+gap), y0: top + float64(n/2)*(side+gap), side: side, most: most[at]}
			if !drawn {
				p.frame(&b, f.Network()+", "+f.Fetched())
			}
			dots := map[string]*bytes.Buffer{plain: {}, waited: {}, roomy: {}}
			for k, s := range f.Spans {
				if s.End < 0 {
					continue
				}
				mark := plain
				switch {
				case late:
					mark = roomy
				case f.metTimer(k):
					mark = waited
				}
				fmt.Fprintf(dots[mark], "M%.1f %.1fh0", p.x(f.fluidSpans[k].End), p.y(s.End))
			}
			for _, mark := range []string{roomy, waited, plain} {
				if dots[mark].Len() > 0 { // a line of no length with round ends is a dot
					fmt.Fprintf(&b, `<path d="%s" stroke="%s" stroke-width="4.4" stroke-linecap="round"/>`+"\n", dots[mark], mark)
				}
			}
		}
	}
	fmt.Fprintln(&b, "</svg>")
	return b.Bytes()
}

const (
	plain  = "#1f6fb2"
	waited = "#d1540f"
	roomy  = "#b8b8b8"
)

// panel is one plot with the same scale both ways.
type panel struct{ x0, y0, side, most float64 }

func (p panel) x(v float64) float64 { return p.x0 + v/p.most*p.side }
func (p panel) y(v float64) float64 { return p.y0 + p.side - v/p.most*p.side }

func (p *panel) frame(b *bytes.Buffer, title string) {
	step := math.Pow(10, math.Floor(math.Log10(p.most)))
	for p.most/step < 4 {
		step /= 2
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="middle" font-weight="bold">%s</text>`+"\n", p.x(p.most/2), p.y0-8, title)
	for v := 0.0; v <= p.most; v += step {
		fmt.Fprintf(b, `<path d="M%.1f %.1fV%.1fM%.1f %.1fH%.1f" stroke="#e4e4e4"/>`, p.x(v), p.y(0), p.y(p.most), p.x(0), p.y(v), p.x(p.most))
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="middle">%.4g</text><text x="%.1f" y="%.1f" text-anchor="end">%.4g</text>`+"\n",
			p.x(v), p.y(0)+15, v, p.x(0)-5, p.y(v)+4, v)
	}
	fmt.Fprintf(b, `<path d="M%.1f %.1fL%.1f %.1f" stroke="#666"/>`+"\n", p.x(0), p.y(0), p.x(p.most), p.y(p.most))
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="middle">end in the fluid, s</text>`, p.x(p.most/2), p.y(0)+32)
	fmt.Fprintf(b, `<text transform="translate(%.1f %.1f) rotate(-90)" text-anchor="middle">end in packets, s</text>`+"\n", p.x0-40, p.y(p.most/2))
}
