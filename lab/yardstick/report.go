package yardstick

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/yardmaster/yardmaster/lab/evidence"
)

//go:embed flow-network.md.tmpl
var pageText string

var pageTemplate = template.Must(template.New("flow-network").Funcs(template.FuncMap{"span": func(v []float64) string {
	return fmt.Sprintf("%.3f (%.3f to %.3f)", median(v), quantile(v, 0.05), quantile(v, 0.95))
}}).Parse(pageText))

func verdict(met bool) string {
	if met {
		return "MET"
	}
	return "MISSED"
}

// WritePage computes the study's page and its picture from the records in dir. The page lies beside dir and has its name.
func WritePage(dir string) (string, error) {
	text, picture, err := page(dir)
	if err != nil {
		return "", err
	}
	err = errors.Join(os.WriteFile(dir+".md", text, 0o644), os.WriteFile(filepath.Join(dir, pictureName), picture, 0o644))
	if err != nil {
		return "", fmt.Errorf("writing the study: %w", err)
	}
	return string(text), nil
}

const pictureName = "packets.svg"

// page is what WritePage writes.
func page(dir string) (text, picture []byte, err error) {
	flowRuns, flows, err := evidence.ReadSeries[FlowRecord](dir, flowsSeries)
	if err != nil {
		return nil, nil, err
	}
	packetRuns, packets, err := evidence.ReadSeries[[]PacketRun](dir, packetsSeries)
	if err != nil {
		return nil, nil, err
	}
	if len(flows) == 0 || len(packets) == 0 {
		return nil, nil, fmt.Errorf("%s has %d records of SimGrid and %d of ns-3: run both once without --offline first", dir, len(flows), len(packets))
	}
	var facts []packetFacts
	newest := 0 // the first of the last run
	for i := range packets {
		newest = len(facts)
		for k := range *packets[i] {
			f := newPacketFacts(&(*packets[i])[k])
			f.run = packetRuns[i].Number()
			facts = append(facts, f)
		}
	}
	data := map[string]any{
		"MostDifference": mostDifference, "LeastRatio": leastRatio, "FastAlive": fastAlive, "Settings": "    " + strings.Join(Settings, "\n    "), "Bundles": newBundling(UnevenBundles()),
		"Picture": filepath.Base(dir) + "/" + pictureName,
	}
	addRuns(data, flowRuns, flows, packetRuns)
	addFlows(data, flowRuns, flows)
	addPackets(data, facts)
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, data); err != nil {
		return nil, nil, err
	}
	return b.Bytes(), drawPackets(facts[newest:]), nil
}

// addRuns adds the runs, and what the comparisons with SimGrid come to.
func addRuns(data map[string]any, flowRuns []evidence.Run, flows []*FlowRecord, packetRuns []evidence.Run) {
	ends, fast, worst, lists, ratio := true, true, Difference{}, 0, math.Inf(1)
	var runs []string
	for i, r := range flows {
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
		runs = append(runs, fmt.Sprintf("| %d | %s | %s | %.1f | SimGrid %s |\n", flowRuns[i].Number(), r.At.Format("2006-01-02 15:04"), flowRuns[i].ProgramText(), r.Load, r.SimGrid))
	}
	for _, r := range packetRuns {
		from := "unknown"
		if !r.At.IsZero() {
			from = r.At.Format("2006-01-02 15:04")
		}
		runs = append(runs, fmt.Sprintf("| %d | %s | %s | %s | ns-3 |\n", r.Number(), from, r.ProgramText(), r.LoadText()))
	}
	data["Ends"], data["Fast"], data["Worst"], data["Lists"], data["Ratio"], data["Runs"] = verdict(ends), verdict(fast), worst, lists, ratio, runs
}

var caseTexts = map[string]string{
	"small":      "networks of up to 10 links and 40 flows drawn from seeds: common starts, equal sizes, caps, links that lose capacity",
	"star":       "24 nodes on a switch; half of the flows go to one of them",
	"leaf-spine": "6 leaves, 4 spines, 24 nodes; some flows capped, spine links lose capacity",
	"ties":       "all to all between 30 nodes in 5 racks, equal sizes, one start",
	"shuffle":    "all to all between 40 nodes in 10 racks, uneven sizes, sources one after another",
	"bundles":    "a shuffle with one to six like flows between each two nodes; ours once flow by flow, once as one flow with a weight",
}

// addFlows adds the cases, what SimGrid's precisions do, the speeds and our profiles.
func addFlows(data map[string]any, runs []evidence.Run, all []*FlowRecord) {
	var cases, speeds, profiles []string
	precise := ""
	for i, r := range all {
		n := runs[i].Number()
		for _, c := range r.Cases {
			what := caseTexts[c.Name]
			if n, ok := strings.CutPrefix(c.Name, "racks-"); ok {
				what = "30 racks with 20 nodes, 250 Mbit/s a node, 1 Gbit/s a rack; " + n + " random flows under way"
			}
			if c.Lists > 1 {
				what = fmt.Sprintf("%d %s", c.Lists, what)
			}
			judged := "| | |"
			if c.Judged {
				judged = fmt.Sprintf("| %.1e | %.1e |", c.TheirsOff, c.OursOff)
			}
			cases = append(cases, fmt.Sprintf("| %d | %s | %s | %d | %.1e | %.1e %s\n", n, c.Name, what, c.Difference.Flows, c.Difference.End, c.Difference.Length, judged))
		}
		for _, p := range r.Precise {
			precise += fmt.Sprintf("| %d | `%s` | %.1e | %.1e |\n", n, strings.TrimPrefix(p.Setting, "--cfg="), p.Off.End, p.Off.Length)
		}
		for _, s := range r.Speeds {
			ratios := s.ratios()
			speeds = append(speeds, fmt.Sprintf("| %d | %d | %d | %d | %.0f | %.0f | %.1f | %.1f, %.1f |\n", n, s.Alive, s.Ends, len(ratios), s.perSecond(s.Theirs), s.perSecond(s.Ours), s.Ratio(),
				quantile(ratios, 0), quantile(ratios, 1)))
		}
		if r.Profile != "" {
			profiles = append(profiles, fmt.Sprintf("\nWhere our time goes in run %d:\n\n```\n%s```\n", n, r.Profile))
		}
	}
	data["Cases"], data["Precise"], data["Speeds"], data["Profiles"] = cases, precise, speeds, profiles
}

// addPackets adds the shuffles, and in numbers what the page says of them in words.
func addPackets(data map[string]any, facts []packetFacts) {
	type bounds struct{ Least, Most float64 }
	var x struct {
		Tight, Roomy          float64 // flows that met a timer, of those with little and much room at the ports, in percent
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
	var singles, shuffles []string
	var firstShuffle, small, large *packetFacts
	timers, flows, took := map[int]int{}, map[int]int{}, 0.0
	for i := range facts {
		f := &facts[i]
		took += f.Took
		if len(f.Flows) == 1 {
			if large = f; small == nil {
				small = f
			}
			singles = append(singles, fmt.Sprintf("| %d | %d | %.5f s | %.5f s | %.5f s | %.3f |\n", f.run, f.Flows[0].Bytes, f.whole, f.fluid, f.packets, f.packets/f.fluid))
			continue
		}
		if firstShuffle == nil {
			firstShuffle = f
		}
		shuffles = append(shuffles, fmt.Sprintf("| %d | %s | %s | %d | %.3f | %.3f | %.3f | %.2f | %.2f, %.2f to %.2f | %.2f | %.2f | %d of %d | %d | %.2f, %.2f |\n", f.run, f.network(), f.fetches(), f.Queue,
			f.whole, f.fluid, f.packets, f.packets/f.fluid, median(f.ends), quantile(f.ends, 0.05), quantile(f.ends, 0.95),
			median(f.untimed), f.receivers, f.waited, len(f.Flows), f.Drops, f.fairnessFluid, f.fairnessPackets))
		widen(&x.Untimed, median(f.untimed))
		widen(&x.Last, f.packets/f.fluid)
		widen(&x.Middle, median(f.ends))
		fairer := f.fairnessPackets - f.fairnessFluid
		x.Below, x.Above = max(x.Below, -fairer), max(x.Above, fairer)
		timers[f.Queue] += f.waited
		flows[f.Queue] += len(f.Flows)
		x.Undone, x.Unheard = x.Undone+f.undone, x.Unheard+f.unheard
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

// Longer is by how much packets took longer than fluid, in percent.
func (f *packetFacts) Longer() float64 { return 100 * (f.packets/f.fluid - 1) }

func (f *packetFacts) network() string {
	if f.Racks > 1 {
		return "two racks"
	}
	return "star"
}

func (f *packetFacts) fetches() string {
	if f.Copiers > 0 {
		return fmt.Sprintf("%d at a time", f.Copiers)
	}
	return "all at once"
}
