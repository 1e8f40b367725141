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

func verdict(met bool) string {
	if met {
		return "MET"
	}
	return "MISSED"
}

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
		"MostDifference": maxDifference, "LeastRatio": minRatio, "FastAlive": fastAlive, "Settings": "    " + strings.Join(Settings, "\n    "), "Bundles": newBundling(UnevenBundles()),
		"Picture": filepath.Base(dir) + "/" + pictureName, "FlowRuns": flowRuns, "Flows": flows, "PacketRuns": packetRuns,
	}
	addSum(data, flows)
	addPackets(data, facts)
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

// addSum adds the summary of the comparisons with SimGrid.
func addSum(data map[string]any, flows []*FlowRecord) {
	ends, fast, worst, lists, ratio := true, true, Difference{}, 0, math.Inf(1)
	for _, r := range flows {
		e, f := r.Met()
		ends, fast = ends && e, fast && f
		for _, c := range r.Cases {
			worst, lists = worst.and(c.Difference), lists+c.Lists
		}
		for _, s := range r.Speeds {
			if s.Alive == fastAlive {
				ratio = min(ratio, s.Ratio())
			}
		}
	}
	data["Ends"], data["Fast"], data["Worst"], data["Lists"], data["Ratio"] = verdict(ends), verdict(fast), worst, lists, ratio
}

var caseTexts = map[string]string{
	"small":      "networks of up to 10 links and 40 flows drawn from seeds: common starts, equal sizes, caps, links that lose capacity",
	"star":       "24 nodes on a switch; half of the flows go to one of them",
	"leaf-spine": "6 leaves, 4 spines, 24 nodes; some flows capped, spine links lose capacity",
	"ties":       "all to all between 30 nodes in 5 racks, equal sizes, one start",
	"shuffle":    "all to all between 40 nodes in 10 racks, uneven sizes, sources one after another",
	"bundles":    "a shuffle with one to six like flows between each two nodes; ours once flow by flow, once as one flow with a weight",
}

// What describes the case.
func (c *CaseRecord) What() string {
	what := caseTexts[c.Name]
	if n, ok := strings.CutPrefix(c.Name, "racks-"); ok {
		what = "30 racks with 20 nodes, 250 Mbit/s a node, 1 Gbit/s a rack; " + n + " random flows under way"
	}
	if c.Lists > 1 {
		what = fmt.Sprintf("%d %s", c.Lists, what)
	}
	return what
}

// addPackets adds the shuffles, and the numbers that the page's text refers to.
func addPackets(data map[string]any, facts []packetFacts) {
	type bounds struct{ Least, Most float64 }
	var x struct {
		Tight, Roomy          float64 // flows that met a timer, with small and with large buffers at the ports, in percent
		Unheard, Undone       int
		Last, Middle, Untimed bounds
		Below, Above          float64 // of Jain's index
	}
	widen := func(b *bounds, v float64) {
		if b.Most == 0 {
			b.Least = v
		}
		b.Least, b.Most = min(b.Least, v), max(b.Most, v)
	}
	var singles, shuffles []*packetFacts
	var firstShuffle, small, large *packetFacts
	timers, flows, took := map[int]int{}, map[int]int{}, 0.0
	for i := range facts {
		f := &facts[i]
		took += f.Took
		if len(f.Flows) == 1 {
			if large = f; small == nil {
				small = f
			}
			singles = append(singles, f)
			continue
		}
		if firstShuffle == nil {
			firstShuffle = f
		}
		shuffles = append(shuffles, f)
		widen(&x.Untimed, median(f.Untimed))
		widen(&x.Last, f.Ratio())
		widen(&x.Middle, median(f.Ends))
		fairer := f.FairnessPackets - f.FairnessFluid
		x.Below, x.Above = max(x.Below, -fairer), max(x.Above, fairer)
		timers[f.Queue] += f.Waited
		flows[f.Queue] += len(f.Flows)
		x.Undone, x.Unheard = x.Undone+f.Undone, x.Unheard+f.Unheard
	}
	x.Tight, x.Roomy = 100*float64(timers[100])/float64(flows[100]), 100*float64(timers[1000])/float64(flows[1000])
	share := float64(segment) / onTheWire
	data["First"], data["Small"], data["Large"], data["Lessons"], data["Singles"], data["Shuffles"] = firstShuffle, small, large, x, singles, shuffles
	data["Segment"], data["OnTheWire"], data["Share"], data["Early"], data["Took"], data["SimulatedLimit"] = segment, onTheWire, 100*share, 100*(1-share), took, simulatedLimit
}

// MB is the size of the first flow.
func (f *packetFacts) MB() float64 { return float64(f.Flows[0].Bytes) / 1e6 }

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

// Network and Fetched describe what was played.
func (f *packetFacts) Network() string {
	if f.Racks > 1 {
		return "two racks"
	}
	return "star"
}

func (f *packetFacts) Fetched() string {
	if f.Copiers > 0 {
		return fmt.Sprintf("%d at a time", f.Copiers)
	}
	return "all at once"
}

//go:embed packets.svg.tmpl
var pictureText string

// panel is one plot with the same scale on both axes.
type panel struct{ x0, y0, Most float64 }

// X and Y are the coordinates of a value, plus an offset.
func (p panel) X(v, by float64) string { return fmt.Sprintf("%.1f", p.x0+v/p.Most*260+by) }
func (p panel) Y(v, by float64) string { return fmt.Sprintf("%.1f", p.y0+260-v/p.Most*260+by) }

// Half is the middle of the axes.
func (p panel) Half() float64 { return p.Most / 2 }

// shuffleDots are a shuffle's flows in its panel; the first shuffle of a panel also draws the frame.
type shuffleDots struct {
	panel
	Title string // "": the frame exists
	Ticks []float64
	Dots  []dots
}

// dots of a colour are zero-length lines with round caps.
type dots struct{ Ink, Path string }

// drawPackets plots the end of each flow in packets against its end in the fluid, one panel per network and fetch mode, and writes that to file unless it is "".
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
			s.Dots = []dots{{Ink: "#b8b8b8"}, {Ink: "#d1540f"}, {Ink: "#1f6fb2"}}
			for k, x := range f.Spans {
				at := &s.Dots[2]
				switch {
				case x.End < 0:
					continue
				case roomy:
					at = &s.Dots[0]
				case f.metTimer(k):
					at = &s.Dots[1]
				}
				at.Path += "M" + s.X(f.fluidSpans[k].End, 0) + " " + s.Y(x.End, 0) + "h0"
			}
			all = append(all, s)
		}
	}
	return evidence.Page(pictureText, file, all, nil)
}
