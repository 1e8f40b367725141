package steering

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/result"
)

// Colours of the pictures.
const (
	inkWait   = "#d9d9d9"
	inkMaster = "#9ecae1"
	inkMap    = "#2171b5"
	inkReduce = "#e6843a"
	inkShare  = "#b3003b"
	inkGrid   = "#e4e4e4"
)

// tick is a step for an axis that has about six of them.
func tick(most float64) float64 {
	step := math.Pow(10, math.Floor(math.Log10(most/6)))
	for _, f := range []float64{1, 2, 5, 10} {
		if most/(step*f) <= 7 {
			return step * f
		}
	}
	return step * 10
}

func open(b *bytes.Buffer, w, h float64) {
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" font-family="sans-serif" font-size="12">`+"\n"+
		`<rect width="100%%" height="100%%" fill="#fff"/>`+"\n", w, h, w)
}

// gantt shows the batches of one repetition, an arm a panel: when each job waited, started, mapped and reduced, and how many masters were
// allowed to run at once.
func (f *facts) gantt(repetition int) []byte {
	const left, width, row, strip, gap, head = 96.0, 780.0, 13.0, 34.0, 32.0, 46.0
	var list []*Batch
	most := 0.0
	for _, a := range f.arms {
		for _, b := range f.of[a.Name] {
			if b.Repetition == repetition {
				list = append(list, b)
				most = max(most, b.span())
			}
		}
	}
	if len(list) == 0 {
		return nil
	}
	panel := row*float64(f.size.Jobs) + strip
	h := head + float64(len(list))*(panel+gap) + 20
	x := func(s float64) float64 { return left + s/most*width }
	var b bytes.Buffer
	open(&b, left+width+70, h)
	at := left
	for _, l := range [][2]string{{inkWait, "waits"}, {inkMaster, "master starts or ends"}, {inkMap, "maps"}, {inkReduce, "reduce"}, {inkShare, "masters allowed"}} {
		fmt.Fprintf(&b, `<rect x="%.0f" y="12" width="14" height="10" fill="%s"/><text x="%.0f" y="21">%s</text>`, at, l[0], at+19, l[1])
		at += 40 + 7*float64(len(l[1]))
	}
	b.WriteString("\n")
	for i, r := range list {
		top := head + float64(i)*(panel+gap)
		fmt.Fprintf(&b, `<text x="%.0f" y="%.0f" text-anchor="end" font-weight="bold">%s</text><text x="%.0f" y="%.0f" text-anchor="end" fill="#555">%.0f s</text>`+"\n",
			left-8, top+14, html.EscapeString(r.Arm), left-8, top+30, r.span())
		for s := 0.0; s <= most; s += tick(most) {
			fmt.Fprintf(&b, `<path d="M%.1f %.1fv%.1f" stroke="%s"/><text x="%.1f" y="%.1f" text-anchor="middle" fill="#777" font-size="10">%.0f</text>`, x(s), top, panel, inkGrid, x(s), top+panel+12, s)
		}
		b.WriteString("\n")
		jobs := slices.Clone(r.Jobs)
		slices.SortStableFunc(jobs, func(x, y Job) int { return int(x.Launched - y.Launched) })
		for k := range jobs {
			j := &jobs[k]
			y := top + row*float64(k) + 2
			bar := func(from, to int64, ink string, height float64) {
				if to > from {
					fmt.Fprintf(&b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`, x(float64(from)/1000), y+(9-height)/2, x(float64(to)/1000)-x(float64(from)/1000), height, ink)
				}
			}
			bar(j.Came, j.Launched, inkWait, 3)
			bar(j.Launched, j.Ended, inkMaster, 9)
			for _, t := range j.Tasks {
				if !t.Reduce {
					bar(t.Start, t.End, inkMap, 9)
				}
			}
			for _, t := range j.Tasks {
				if t.Reduce {
					bar(t.Start, t.End, inkReduce, 5)
				}
			}
			b.WriteString("\n")
		}
		// The share, as a number of masters, in a strip below.
		foot := top + panel
		up := func(mb int64) float64 {
			return foot - math.Min(float64(mb)/float64(f.size.ContainerMB), float64(f.size.Jobs)+1)/float64(f.size.Jobs+1)*(strip-6)
		}
		for _, n := range []int{0, f.size.Jobs} {
			y := up(int64(n * f.size.ContainerMB))
			fmt.Fprintf(&b, `<path d="M%.1f %.1fH%.1f" stroke="%s"/><text x="%.1f" y="%.1f" text-anchor="end" fill="#777" font-size="10">%d</text>`, left, y, left+width, inkGrid, left-4, y+3, n)
		}
		path := fmt.Sprintf("M%.1f %.1f", x(0), up(int64(r.Preset*float64(f.size.QueueMB()))))
		for _, l := range r.Limits { // those before the first job came are old: the Fair Scheduler works it out only for a job that waits
			if s := float64(l.At) / 1000; s > 0 && s <= r.span() {
				path += fmt.Sprintf("H%.1fV%.1f", x(s), up(l.MB))
			}
		}
		fmt.Fprintf(&b, `<path d="%sH%.1f" fill="none" stroke="%s" stroke-width="1.5"/>`+"\n", path, x(r.span()), inkShare)
	}
	fmt.Fprintf(&b, `<text x="%.0f" y="%.0f" text-anchor="middle" fill="#555">seconds since the first job came</text>`+"\n</svg>\n", left+width/2, h-8)
	return b.Bytes()
}

// boxes is a box plot of the batch times, with every batch as a point and the simulator's mean as a cross.
func (f *facts) boxes(predicted map[string]result.Estimate) []byte {
	const left, width, row, head = 96.0, 620.0, 34.0, 20.0
	most := 0.0
	for _, a := range f.arms {
		for _, v := range f.each(a.Name, (*Batch).span) {
			most = max(most, v)
		}
		most = max(most, predicted[a.Name].Mean)
	}
	h := head + row*float64(len(f.arms)) + 44
	x := func(s float64) float64 { return left + s/(most*1.04)*width }
	var b bytes.Buffer
	open(&b, left+width+30, h)
	for s := 0.0; s <= most*1.04; s += tick(most) {
		fmt.Fprintf(&b, `<path d="M%.1f %.1fV%.1f" stroke="%s"/><text x="%.1f" y="%.1f" text-anchor="middle" fill="#555">%.0f</text>`+"\n", x(s), head, h-40, inkGrid, x(s), h-26, s)
	}
	for i, a := range f.arms {
		v := f.each(a.Name, (*Batch).span)
		y := head + row*(float64(i)+0.5)
		fmt.Fprintf(&b, `<text x="%.0f" y="%.1f" text-anchor="end">%s</text>`, left-8, y+4, html.EscapeString(a.Name))
		q1, q2, q3 := result.Quantile(v, 0.25), median(v), result.Quantile(v, 0.75)
		fmt.Fprintf(&b, `<path d="M%.1f %.1fH%.1f" stroke="#777"/><rect x="%.1f" y="%.1f" width="%.1f" height="16" fill="#c6dbef" stroke="#555"/><path d="M%.1f %.1fv16" stroke="#000" stroke-width="2"/>`+"\n",
			x(result.Quantile(v, 0)), y, x(result.Quantile(v, 1)), x(q1), y-8, max(1, x(q3)-x(q1)), x(q2), y-8)
		for _, s := range v {
			fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="2.5" fill="#08519c"/>`, x(s), y)
		}
		if e, ok := predicted[a.Name]; ok {
			fmt.Fprintf(&b, `<path d="M%.1f %.1fl8 8m0 -8l-8 8" stroke="%s" stroke-width="2"/>`, x(e.Mean)-4, y-4, inkShare)
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, `<text x="%.0f" y="%.0f" text-anchor="middle" fill="#555">time of a batch, s; points are batches, crosses what the simulator predicts</text>`+"\n</svg>\n", left+width/2, h-8)
	return b.Bytes()
}
