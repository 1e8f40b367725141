package steering

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Size of the drawing; the page scales it.
const (
	chartWidth  = 1100
	chartHeight = 165
	left, right = 58, 8
	top, bottom = 10, 34 // the labels of two charts side by side are twice as large
)

// Chart shows the last hour: step lines over time.
type Chart struct {
	Lines  []Curve
	Ticks  []Tick // of the y axis
	Hours  []Tick // of the time axis
	Words  string // alternative text
	Width  int
	Height int
	Left   int
	Right  int
	Foot   int
}

// Curve is one line.
type Curve struct {
	Class, Path string
}

// Tick is a mark on an axis.
type Tick struct {
	At    string
	Label string
}

// series is what a chart draws: the class of its line, and its value at a point.
type series struct {
	class string
	of    func(*point) float64
}

// draw draws lines from zero to at least ceiling; values that are unknown or mean no limit leave a gap.
func draw(points []point, ceiling float64, label func(float64) string, lines ...series) *Chart {
	if len(points) < 2 {
		return nil
	}
	c := &Chart{Width: chartWidth, Height: chartHeight, Left: left, Right: chartWidth - right, Foot: chartHeight - 5}
	high := 0.0
	for i := range points {
		for _, l := range lines {
			if v := l.of(&points[i]); v > high && !math.IsInf(v, 0) {
				high = v
			}
		}
	}
	high = round(max(high, ceiling))
	from, to := points[0].at, points[len(points)-1].at
	span := max(to.Sub(from).Seconds(), 1)
	x := func(t time.Time) float64 { return left + t.Sub(from).Seconds()/span*(chartWidth-left-right) }
	y := func(v float64) float64 { return top + (1-v/high)*(chartHeight-top-bottom) }
	for _, l := range lines {
		var b strings.Builder
		pen, before := false, 0.0
		for i := range points {
			v := l.of(&points[i])
			switch {
			case math.IsNaN(v) || math.IsInf(v, 0) || v < 0:
				pen = false
			case !pen:
				fmt.Fprintf(&b, "M%s %s", num(x(points[i].at)), num(y(v)))
				pen, before = true, v
			case v != before || i == len(points)-1:
				fmt.Fprintf(&b, "H%sV%s", num(x(points[i].at)), num(y(v)))
				before = v
			}
		}
		c.Lines = append(c.Lines, Curve{Class: l.class, Path: b.String()})
	}
	for _, v := range []float64{0, high / 2, high} {
		c.Ticks = append(c.Ticks, Tick{At: num(y(v)), Label: label(v)})
	}
	gap := grid(span)
	for t := from.Truncate(gap).Add(gap); t.Before(to); t = t.Add(gap) {
		if at := x(t); at > left+40 && at < chartWidth-40 {
			c.Hours = append(c.Hours, Tick{At: num(at), Label: t.Format("15:04:05")})
		}
	}
	return c
}

// grid is the time between two ticks: at most seven of them.
func grid(span float64) time.Duration {
	for _, g := range []time.Duration{5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute} {
		if span/g.Seconds() <= 7 {
			return g
		}
	}
	return time.Hour
}

// round rounds up to a number whose half is easy to read.
func round(v float64) float64 {
	if v <= 0 {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 4, 6, 8, 10} {
		if v <= m*unit*(1+1e-9) {
			return m * unit
		}
	}
	return 10 * unit
}

func num(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }
