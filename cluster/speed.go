package cluster

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/unit"
)

// ScaleUp is the machine kind that the hybrid policy and the hybrid block placement take for scale-up: few, fast and expensive machines.
const ScaleUp = "scale-up"

// Speed is how fast a machine runs tasks, relative to a machine of speed 1. It depends on the job: a scale-up machine gains much from its
// processors and its memory while a job's data fit, and little once they do not. With input x and the half-way point h,
//
//	speed(x) = (Small h + Large x) / (h + x)      h = cross (Even - Large) / (Small - Even)
//
// so that it is Small without input, Even at the cross point and Large for very large input. The cross point grows with what a job shuffles
// per byte of input: it is interpolated, in the logarithm, between the points of Cross and constant above the last.
type Speed struct {
	Small, Even, Large float64
	Cross              []Cross // by ascending ratio; empty: the speed is Small, whatever the job
}

// Cross is the cross point of jobs with a ratio of shuffle to input.
type Cross struct {
	Ratio float64
	Input unit.Bytes
}

// ScaleUpSpeed is the speed of a machine of 24 cores relative to one of 8 at a fifth of the price. The source measures one against five, 24
// containers against 40: up to 70 % less time on small input, up to 35 % more on large input, and equal times at 32 GB for TeraSort and 64 GB
// for WordCount. So tasks run 1/0.3 times as fast on small input and 40/24 x 0.65 times on large input. Where the times are equal it should be 40/24
// times; it is 1.55, because a last wave that is not full costs the faster machine less: with that, simulated times cross within a fifth of the two
// points. TeraSort shuffles its input; the source does not give the ratio of WordCount: 1.6 is assumed. The slope between the two also
// gives the cross points below: about 10 GB for jobs that shuffle nothing.
func ScaleUpSpeed() *Speed {
	return &Speed{
		Small: 1 / 0.3, Even: 1.55, Large: 40.0 / 24 * 0.65,
		Cross: []Cross{{1, 32 * unit.GiB}, {1.6, 64 * unit.GiB}},
	}
}

// Of is the speed for the tasks of a job.
func (s *Speed) Of(input, shuffle unit.Bytes) float64 {
	if len(s.Cross) == 0 || input <= 0 {
		return s.Small
	}
	x := float64(input)
	h := s.crossAt(float64(shuffle)/x) * (s.Even - s.Large) / (s.Small - s.Even)
	return (s.Small*h + s.Large*x) / (h + x)
}

// crossAt is the cross point for a ratio of shuffle to input, in bytes.
func (s *Speed) crossAt(ratio float64) float64 {
	last := len(s.Cross) - 1
	if last == 0 || ratio >= s.Cross[last].Ratio {
		return float64(s.Cross[last].Input)
	}
	k := 1
	for ratio > s.Cross[k].Ratio {
		k++
	}
	a, b := s.Cross[k-1], s.Cross[k]
	return float64(a.Input) * math.Pow(float64(b.Input)/float64(a.Input), (ratio-a.Ratio)/(b.Ratio-a.Ratio))
}

// maxSpeed keeps the length of a task far from 0 and from overflow.
const maxSpeed = 1e4

// Validate reports invalid speeds.
func (s *Speed) Validate() error {
	valid := func(v float64) bool { return v >= 1/maxSpeed && v <= maxSpeed }
	if !valid(s.Small) {
		return fmt.Errorf("a speed of %v: want %v to %v", s.Small, 1/maxSpeed, maxSpeed)
	}
	if len(s.Cross) == 0 {
		return nil
	}
	if !valid(s.Large) || !(s.Small > s.Even && s.Even > s.Large) {
		return fmt.Errorf("speeds of %v on small input, %v at the cross point and %v on large input: each must be less than the one before", s.Small, s.Even, s.Large)
	}
	for i, c := range s.Cross {
		if !(c.Ratio >= 0 && c.Ratio <= maxSpeed) || c.Input <= 0 || i > 0 && (!(c.Ratio > s.Cross[i-1].Ratio) || c.Input < s.Cross[i-1].Input) {
			return fmt.Errorf("cross point %v for a ratio of %v: want ascending ratios, and positive sizes that do not fall as the ratio rises", c.Input, c.Ratio)
		}
	}
	return nil
}

// String is the speed as one line.
func (s *Speed) String() string {
	if len(s.Cross) == 0 {
		return fmt.Sprintf("%.4g", s.Small)
	}
	points := make([]string, len(s.Cross))
	for i, c := range s.Cross {
		points[i] = fmt.Sprintf("%v at a ratio of %v", c.Input, c.Ratio)
	}
	return fmt.Sprintf("%.4g to %.4g, %.4g at the cross point (%s)", s.Small, s.Large, s.Even, strings.Join(points, ", "))
}

// ParseCross parses "SIZE@RATIO".
func ParseCross(text string) (c Cross, err error) {
	size, ratio, ok := strings.Cut(text, "@")
	if ok {
		if c.Ratio, err = strconv.ParseFloat(strings.TrimSpace(ratio), 64); err == nil {
			c.Input, err = unit.ParseBytes(strings.TrimSpace(size))
		}
	}
	if !ok || err != nil {
		return c, fmt.Errorf("%q is not SIZE@RATIO, as in 32GB@1", text)
	}
	return c, nil
}

// Speeds lists the distinct speeds of a cluster's nodes, and for each node the index of its own; -1: speed 1. Both are nil if all are 1.
func (c *Cluster) Speeds() (speeds []*Speed, speedOf []int32) {
	for i := range c.Nodes {
		s := c.Nodes[i].Speed
		if s == nil {
			continue
		}
		if speedOf == nil {
			speedOf = slices.Repeat([]int32{-1}, len(c.Nodes))
		}
		k := slices.IndexFunc(speeds, func(o *Speed) bool { return reflect.DeepEqual(o, s) })
		if k < 0 {
			k, speeds = len(speeds), append(speeds, s)
		}
		speedOf[i] = int32(k)
	}
	return speeds, speedOf
}

// KindOf reports whether any node is of a kind.
func (c *Cluster) KindOf(kind string) bool {
	return slices.ContainsFunc(c.Nodes, func(n Node) bool { return n.Kind == kind })
}

// Cost is the price of all nodes.
func (c *Cluster) Cost() (sum float64) {
	for i := range c.Nodes {
		sum += c.Nodes[i].Cost
	}
	return sum
}
