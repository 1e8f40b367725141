package report

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/result/verdict"
	"github.com/yardmaster/yardmaster/unit"
)

// steeringView is what a steering policy did in one run: a static SVG, and a table.
type steeringView struct {
	head
	Policy, Queue        string
	Series               string // the knob that the picture shows
	Lines                []string
	Share, Running, Wait string // paths
	Ticks                []tick
	TopShare, TopJobs    string
	Changes              *SheetTable
	More                 int64
}

type tick struct {
	X      float64
	Text   string
	Anchor string
}

// Positions in the picture.
const (
	steerLeft, steerRight = 60.0, 890.0
	shareTop, shareFoot   = 14.0, 114.0
	jobsTop, jobsFoot     = 140.0, 220.0
	maxSteerLines         = 500
)

func steeringViews(runs []Run, heads []head) []steeringView {
	var out []steeringView
	for i, r := range runs[:min(len(runs), maxChartRuns)] {
		if r.Result == nil || r.Result.Steering == nil {
			continue
		}
		out = append(out, newSteeringView(r.Result.Steering, heads[i]))
	}
	return out
}

func newSteeringView(s *result.Steering, h head) steeringView {
	v := steeringView{head: h, Policy: s.Policy, Queue: s.Queue, Series: s.SeriesName(), More: s.MoreChanges}
	var kinds []string
	for _, k := range s.Decisions {
		kinds = append(kinds, unit.Number(k.Count)+" "+k.Kind)
	}
	v.Lines = append(v.Lines, fmt.Sprintf("%s samples: %s", unit.Number(s.Looks), strings.Join(kinds, ", ")),
		fmt.Sprintf("%s: %s found, between %s and %s, %s at the end", s.SeriesName(), plain(s.Found), plain(s.Least), plain(s.Most), plain(s.Final)))
	if s.Series == result.JobKnobs {
		v.Lines[1] = fmt.Sprintf("%s: %s changes made, %s refused", s.Series, unit.Number(s.Made), unit.Number(s.Refused))
	}
	if !s.Restored {
		v.Lines = append(v.Lines, "the original values were not restored")
	}
	var times []float64
	for _, c := range s.Changes {
		times = append(times, c.Asked, c.InForce)
	}
	write := column(times, verdict.Seconds)
	table := NewTable("Changes", []string{"asked", "in force", "knob", "old", "new", "why"})
	table.NoHeads, table.Class = true, "plain"
	for i := range table.Columns {
		table.Columns[i].Figures = i != 2 && i != 5
	}
	for i, c := range s.Changes {
		if i == maxSteerLines {
			v.More += int64(len(s.Changes) - i)
			break
		}
		force, why := write(c.InForce), c.Why
		before, after := c.Values()
		if c.Failed != "" {
			force, before, why = "never", "", why+"; "+c.Failed
		}
		table.add(SheetCell{Text: write(c.Asked)}, force, c.Knob, before, after, why)
		v.Changes = &table
	}
	v.draw(s)
	return v
}

// draw draws the policy's samples as steps, and the time axis with a few ticks.
func (v *steeringView) draw(s *result.Steering) {
	if len(s.Points) == 0 {
		return
	}
	end, share, jobs := s.Points[len(s.Points)-1].At, 0.0, 1
	if n := len(s.Changes); n > 0 {
		end = max(end, s.Changes[n-1].InForce)
	}
	for _, p := range s.Points {
		share, jobs = max(share, p.Share), max(jobs, p.Running, p.Waiting)
	}
	if share = min(1, max(s.Most, share)*1.1); s.Series != "" { // not the AM share
		share = s.Most * 1.1
	}
	begin := s.Points[0].At
	x := func(t float64) float64 {
		return steerLeft + (steerRight-steerLeft)*(t-begin)/max(end-begin, 1e-9)
	}
	y := func(part, top, foot float64) float64 { return foot - (foot-top)*min(1, max(0, part)) }
	// Samples of the share lag behind; the changes give the exact time it took effect.
	line := steps{}
	line.to(x(begin), y(s.Found/max(share, 1e-9), shareTop, shareFoot))
	for _, c := range s.Changes {
		if c.Failed == "" && c.Knob == cmp.Or(s.Series, s.Changes[0].Knob) {
			line.to(x(c.InForce), y(c.New/max(share, 1e-9), shareTop, shareFoot))
		}
	}
	if s.Series != result.JobKnobs {
		v.Share = line.end(x(end))
	}
	var running, waiting steps
	for _, p := range s.Points {
		running.to(x(p.At), y(float64(p.Running)/float64(jobs), jobsTop, jobsFoot))
		waiting.to(x(p.At), y(float64(p.Waiting)/float64(jobs), jobsTop, jobsFoot))
	}
	v.Running, v.Wait = running.end(x(end)), waiting.end(x(end))
	v.TopShare, v.TopJobs = plain(math.Round(share*1000)/1000), strconv.Itoa(jobs)
	write := column([]float64{end - begin}, verdict.Seconds)
	for i, anchor := range []string{"start", "middle", "middle", "middle", "end"} {
		t := begin + (end-begin)*float64(i)/4
		v.Ticks = append(v.Ticks, tick{math.Round(x(t)*10) / 10, write(t), anchor})
	}
}

// steps is a step-function path.
type steps struct{ strings.Builder }

func (s *steps) to(x, y float64) {
	if s.Len() == 0 {
		fmt.Fprintf(s, "M%.1f %.1f", x, y)
		return
	}
	fmt.Fprintf(s, "H%.1fV%.1f", x, y)
}

func (s *steps) end(x float64) string {
	fmt.Fprintf(s, "H%.1f", x)
	return s.String()
}

func plain(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
