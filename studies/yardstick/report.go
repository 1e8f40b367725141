package yardstick

import (
	_ "embed"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/yardmaster/yardmaster/studies/evidence"
)

//go:embed flow-network.md.tmpl
var pageText string

// WritePage computes the study's page and its picture from the records in dir. The page is beside dir and has its name.
func WritePage(dir string) (string, error) {
	text, _, err := page(dir, dir+".md", filepath.Join(dir, pictureName))
	return text, err
}

const pictureName = "packets.svg"

// page is what WritePage writes.
func page(dir, file, pictureFile string) (text, picture string, err error) {
	flowRuns, flows, err := evidence.ReadSeries[FlowRecord](dir, flowsSeries)
	if err != nil {
		return "", "", err
	}
	packetRuns, packets, err := evidence.ReadSeries[[]PacketRun](dir, packetsSeries)
	if err != nil {
		return "", "", err
	}
	if len(flows) == 0 || len(packets) == 0 {
		return "", "", fmt.Errorf("%s has %d records of SimGrid and %d of ns-3: run both once without --offline first", dir, len(flows), len(packets))
	}
	var facts []packetFacts
	newest := 0 // the first of the last run
	for i := range packets {
		newest = len(facts)
		for k := range *packets[i] {
			f := newPacketFacts(&(*packets[i])[k])
			f.Run = packetRuns[i].Number()
			facts = append(facts, f)
		}
	}
	data := map[string]any{
		"MaxDifference": maxDifference, "MinRatio": minRatio, "FastAlive": fastAlive, "Settings": "    " + strings.Join(Settings, "\n    "), "Bundles": newBundling(UnevenBundles()),
		"Picture": filepath.Base(dir) + "/" + pictureName, "FlowRuns": flowRuns, "Flows": flows, "Sum": summarise(flows...), "PacketRuns": packetRuns, "Packets": learn(facts),
		"Segment": segment, "OnTheWire": onTheWire, "Share": 100 * headersLeave, "Early": 100 * (1 - headersLeave), "SimulatedLimit": simulatedLimit,
	}
	text, err = evidence.Page(pageText, file, data, template.FuncMap{
		"trim": strings.TrimPrefix, "span": func(v []float64) string {
			return fmt.Sprintf("%.3f (%.3f to %.3f)", median(v), quantile(v, 0.05), quantile(v, 0.95))
		},
	})
	if err == nil {
		picture, err = drawPackets(facts[newest:], pictureFile)
	}
	return text, picture, err
}

// lessons are the numbers of all shuffles that the page's text refers to.
type lessons struct {
	Singles, Shuffles     []*packetFacts
	Small, Large, First   *packetFacts // the first and the last single flow, and the first shuffle
	Tight, Roomy          float64      // flows that met a timer, with small and with large buffers at the ports, in percent
	Unheard, Undone       int
	Last, Middle, Untimed []float64 // by shuffle: packets over fluid
	Below, Above          float64   // of Jain's index
	Took                  float64
}

func learn(facts []packetFacts) lessons {
	var x lessons
	timers, flows := map[int]int{}, map[int]int{}
	for i := range facts {
		f := &facts[i]
		x.Took += f.Took
		if len(f.Flows) == 1 {
			x.Singles = append(x.Singles, f)
			continue
		}
		x.Shuffles = append(x.Shuffles, f)
		x.Last, x.Middle, x.Untimed = append(x.Last, f.Ratio()), append(x.Middle, median(f.Ends)), append(x.Untimed, median(f.Untimed))
		fairer := f.FairnessPackets - f.FairnessFluid
		x.Below, x.Above = max(x.Below, -fairer), max(x.Above, fairer)
		timers[f.Queue] += f.Waited
		flows[f.Queue] += len(f.Flows)
		x.Undone, x.Unheard = x.Undone+f.Undone, x.Unheard+f.Unheard
	}
	x.Small, x.Large, x.First = x.Singles[0], x.Singles[len(x.Singles)-1], x.Shuffles[0]
	x.Tight, x.Roomy = 100*float64(timers[100])/float64(flows[100]), 100*float64(timers[1000])/float64(flows[1000])
	return x
}

// MeanMB is the mean size of the flows.
func (f *packetFacts) MeanMB() (mean float64) {
	for _, x := range f.Flows {
		mean += float64(x.Bytes) / float64(len(f.Flows)) / 1e6
	}
	return mean
}

// Ratio is when the last flow ended in packets, over the fluid's; Longer is by how much that is longer, in percent.
func (f *packetFacts) Ratio() float64  { return f.Packets / f.FluidEnd }
func (f *packetFacts) Longer() float64 { return 100 * (f.Ratio() - 1) }

//go:embed packets.svg.tmpl
var pictureText string

// panel is one plot with the same scale on both axes: the flows of one shuffle. The first shuffle of a panel also draws the frame, with ticks.
type panel struct {
	*packetFacts
	x0, y0, Max float64
	Ticks       []float64
	Dots        [3]string // paths of zero-length lines with round caps: with large buffers; with small ones, those that met a timer and the others
}

// X and Y are the coordinates of a value, plus an offset.
func (p *panel) X(v, by float64) string { return fmt.Sprintf("%.1f", p.x0+v/p.Max*260+by) }
func (p *panel) Y(v, by float64) string { return fmt.Sprintf("%.1f", p.y0+260-v/p.Max*260+by) }

// Half is the middle of the axes.
func (p *panel) Half() float64 { return p.Max / 2 }

// drawPackets plots the end of each flow in packets against its end in the fluid, one panel per network and fetch mode, and writes that to file unless it is "".
func drawPackets(facts []packetFacts, file string) (string, error) {
	type place struct{ racks, copiers int }
	largest, panels := map[place]float64{}, map[place]int{}
	for i := range facts {
		f := &facts[i]
		if k := (place{f.Racks, f.Copiers}); len(f.Flows) > 1 {
			largest[k] = max(largest[k], f.Packets, f.FluidEnd)
		}
	}
	var all []*panel
	for _, roomy := range []bool{true, false} { // the smaller ports on top
		for i := range facts {
			f := &facts[i]
			if len(f.Flows) == 1 || roomy != (f.Queue > 100) {
				continue
			}
			k := place{f.Racks, f.Copiers}
			n, drawn := panels[k]
			if !drawn {
				n = len(panels)
				panels[k] = n
			}
			p := &panel{packetFacts: f, x0: 60 + float64(n%2)*330, y0: 60 + float64(n/2)*330, Max: largest[k]}
			if !drawn {
				step := math.Pow(10, math.Floor(math.Log10(p.Max)))
				for p.Max/step < 4 {
					step /= 2
				}
				for v := 0.0; v <= p.Max; v += step {
					p.Ticks = append(p.Ticks, v)
				}
			}
			for flow, x := range f.Spans {
				colour := 2
				switch {
				case x.End < 0:
					continue
				case roomy:
					colour = 0
				case f.metTimer(flow):
					colour = 1
				}
				p.Dots[colour] += "M" + p.X(f.fluidSpans[flow].End, 0) + " " + p.Y(x.End, 0) + "h0"
			}
			all = append(all, p)
		}
	}
	return evidence.Page(pictureText, file, all, nil)
}
