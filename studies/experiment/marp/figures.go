package marp

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/yardmaster/yardmaster/result"
	control "github.com/yardmaster/yardmaster/steer/marp"
	x "github.com/yardmaster/yardmaster/studies/experiment"
	"github.com/yardmaster/yardmaster/unit"
)

// figures adds the figures of one run to its experiment's, under a name:
//
//	makespan/NAME    seconds until the last client returns
//	idle/NAME        idle seconds, as if all processors idled together; wait/NAME: waiting for the disk
//	disk/NAME        peak disk use, GB
//	rate/NAME        progress of a running job per 10 s, in points: mean over the batch's samples
//	raises/NAME      number of raises of the share
func (o *Outcome) figures(m x.Metrics, name string) {
	m["makespan/"+name] = o.Makespan
	cpu := o.cpu(0, o.Makespan)
	m["idle/"+name], m["wait/"+name] = cpu.Idle, cpu.Wait
	m["disk/"+name] = o.PeakDisk / 1e9
	m["rate/"+name] = mean(o.rates())
	m["raises/"+name] = float64(len(o.raises()))
}

// cpu is CPU time by state between two instants, in seconds of all processors together.
func (o *Outcome) cpu(from, to float64) (sum CPU) {
	before := 0.0
	for i := range o.Seconds {
		s := &o.Seconds[i]
		if span := min(s.At, to) - max(before, from); span > 0 {
			sum.Idle += span * s.CPU.Idle
			sum.Wait += span * s.CPU.Wait
			sum.Busy += span * s.CPU.Busy
		}
		before = s.At
	}
	return sum
}

// idleShare is the idle share of CPU time between two instants.
func (o *Outcome) idleShare(from, to float64) float64 {
	c := o.cpu(from, to)
	return c.Idle / (to - from)
}

// sampling is the sampling interval of the source's curves.
const sampling = 10.0

// at is the last sample at or before an instant.
func (o *Outcome) at(t float64) *Second {
	n := sort.Search(len(o.Seconds), func(i int) bool { return o.Seconds[i].At > t })
	return &o.Seconds[max(n-1, 0)]
}

// rates are the points of progress per job in each sample, averaged over the jobs that were running at its end or ended in
// it; NaN in samples without any.
func (o *Outcome) rates() []float64 {
	var all []float64
	for t := sampling; t <= o.Makespan+sampling/2; t += sampling {
		a, b := o.at(t-sampling), o.at(t)
		sum, n := 0.0, 0
		for k := range b.Progress {
			if a.Progress[k] < 100 && b.Started[k] {
				sum += b.Progress[k] - a.Progress[k]
				n++
			}
		}
		all = append(all, sum/float64(n)) // 0/0 is NaN
	}
	return all
}

// curve adds a series of samples to the figures, "name/0010" and so on.
func curve(m x.Metrics, name string, values []float64) {
	for i, v := range values {
		if !math.IsNaN(v) {
			m[fmt.Sprintf("%s/%04d", name, int(sampling)*(i+1))] = v
		}
	}
}

// sampled is a series of one reading.
func (o *Outcome) sampled(of func(*Second) float64) []float64 {
	var all []float64
	for t := sampling; t <= o.Makespan+sampling/2; t += sampling {
		all = append(all, of(o.at(t)))
	}
	return all
}

// gantt adds the bars of a Gantt chart: "gantt/NAME/1/start" of the first job to start, and its half and end.
func (o *Outcome) gantt(m x.Metrics, name string) {
	for i, s := range o.Jobs {
		at := fmt.Sprintf("gantt/%s/%d/", name, i+1)
		m[at+"start"], m[at+"half"], m[at+"end"] = s.Start, s.Half, s.End
	}
}

// raises are the changes that raised the share.
func (o *Outcome) raises() []Change {
	return slices.DeleteFunc(slices.Clone(o.Changes), func(c Change) bool { return c.New <= c.Old })
}

// admission is a job that a raised share admitted.
type admission struct {
	Change
	job *Span
}

// admissions match each job but the first to start with the last raise in effect by then. Jobs that took the room of others
// that had ended, with no raise since the previous job, are left out.
func (o *Outcome) admissions() []admission {
	var all []admission
	raises := o.raises()
	for i := 1; i < len(o.Jobs); i++ {
		j := &o.Jobs[i]
		for k := len(raises) - 1; k >= 0; k-- {
			if raises[k].InForce <= j.Start {
				if raises[k].InForce > o.Jobs[i-1].Start {
					all = append(all, admission{raises[k], j})
				}
				break
			}
		}
	}
	return all
}

// pattern adds how jobs were admitted:
//
//	first/NAME      maximum number of jobs running before the first raise took effect
//	spacing/NAME    minimum time between two raises, s
//	gap/NAME        from a raise to the first map of the job that it admitted, mean over the batch, s
//	latency/NAME    from a raise until it takes effect, s
//	begun/NAME      progress of the first job at the first raise, points
//	gap-busy/NAME   busy processors in the gaps, percent
func (o *Outcome) pattern(m x.Metrics, name string) {
	raises := o.raises()
	if len(raises) == 0 {
		return
	}
	most := 0
	for i := range o.Seconds {
		if s := &o.Seconds[i]; s.At < raises[0].InForce {
			most = max(most, s.Running)
		}
	}
	m["first/"+name] = float64(most)
	seen := o.at(raises[0].Asked)
	for k := range seen.Progress {
		if seen.Started[k] {
			m["begun/"+name] = max(m["begun/"+name], seen.Progress[k])
		}
	}
	spacing := math.Inf(1)
	for i := 1; i < len(raises); i++ {
		spacing = min(spacing, raises[i].Asked-raises[i-1].Asked)
	}
	if !math.IsInf(spacing, 1) {
		m["spacing/"+name] = spacing
	}
	var gaps, busy, latency []float64
	for _, a := range o.admissions() {
		gaps = append(gaps, a.job.FirstMap-a.Asked)
		busy = append(busy, 100*o.cpu(a.Asked, a.job.FirstMap).Busy/(a.job.FirstMap-a.Asked))
	}
	for _, c := range o.Changes {
		latency = append(latency, c.InForce-c.Asked)
	}
	m["gap/"+name], m["gap-busy/"+name], m["latency/"+name] = mean(gaps), mean(busy), mean(latency)
}

// over counts the jobs that started although the share in effect did not admit so many AMs.
func (o *Outcome) over(b *Batch) float64 {
	n := 0
	all := unit.Resources{Mem: b.Node.Mem * int64(b.Nodes), Cores: b.Node.Cores * int64(b.Nodes)}
	for i := range o.Jobs {
		t := o.Jobs[i].Start
		share := b.Share
		for _, c := range o.Changes {
			if c.InForce <= t {
				share = c.New
			}
		}
		running := int64(0)
		for _, s := range o.Jobs {
			if s.Start <= t && t < s.End {
				running++
			}
		}
		if running > b.Scheduler.Rule().Slots(all, b.Jobs[0].AM, sourceMin, share) {
			n++
		}
	}
	return float64(n)
}

// series are the mean progress at each sample of cbtws or cbtwat.
func (o *Outcome) series() (means []float64) {
	for _, d := range o.Decisions {
		if d.Sampled && !math.IsNaN(d.Mean) {
			means = append(means, d.Mean)
		}
	}
	return means
}

// smoothed are the signals of the two smoothing methods for one series of means: by how much the moving average rose, and by how
// much the last difference exceeds the one before.
func smoothed(means []float64, s *control.Settings) (ema, sma []float64) {
	var p, raw, d float64
	for _, v := range means {
		next := v - p
		sma = append(sma, next-raw)
		e := control.Smooth(next, d, s.Current, s.Previous)
		ema = append(ema, e-d)
		p, raw, d = v, next, e
	}
	return ema, sma
}

// mean ignores NaN.
func mean(vs []float64) float64 {
	sum, n := 0.0, 0
	for _, v := range vs {
		if !math.IsNaN(v) {
			sum += v
			n++
		}
	}
	return sum / float64(n)
}

// box holds the statistics of a box plot. Whiskers reach to the last values within 1.5 times the interquartile range;
// values beyond are outliers. Extremes are the whiskers' ends.
type box struct {
	n                       int
	Lower, Median, Upper    float64
	LowExtreme, HighExtreme float64
	outliers                []float64
	Mean                    result.Estimate // Student's t, 95 %
}

// IQR is the interquartile range.
func (b *box) IQR() float64 { return b.Upper - b.Lower }

// boxOf computes them and ignores NaN. Quartiles are interpolated between the order statistics (as R and numpy do by default).
func boxOf(values []float64) box {
	vs := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	slices.Sort(vs)
	b := box{n: len(vs), Mean: result.Mean(vs)}
	if b.n == 0 {
		nan := math.NaN()
		b.Lower, b.Median, b.Upper, b.LowExtreme, b.HighExtreme = nan, nan, nan, nan, nan
		return b
	}
	b.Lower, b.Median, b.Upper = result.Quantile(vs, 0.25), result.Quantile(vs, 0.5), result.Quantile(vs, 0.75)
	from, to := b.Lower-1.5*b.IQR(), b.Upper+1.5*b.IQR()
	b.LowExtreme, b.HighExtreme = math.NaN(), math.NaN()
	for _, v := range vs {
		switch {
		case v < from || v > to:
			b.outliers = append(b.outliers, v)
		case math.IsNaN(b.LowExtreme):
			b.LowExtreme, b.HighExtreme = v, v
		default:
			b.HighExtreme = v
		}
	}
	return b
}

// OutlierText lists the outliers.
func (b *box) OutlierText() string {
	if len(b.outliers) == 0 {
		return "-"
	}
	texts := make([]string, len(b.outliers))
	for i, v := range b.outliers {
		texts[i] = x.Number(v)
	}
	return strings.Join(texts, "; ")
}

// gains are the improvements over a base that the source tables, as shares: 1 - t/base, of means, medians and extremes.
func gains(base, b *box) [6]float64 {
	g := func(t, of float64) float64 { return 1 - t/of }
	return [6]float64{
		g(b.Mean.Mean, base.Mean.Mean), g(b.Median, base.Median), g(b.HighExtreme, base.HighExtreme), g(b.LowExtreme, base.LowExtreme),
		g(b.LowExtreme, base.HighExtreme), g(b.HighExtreme, base.LowExtreme),
	}
}

var gainNames = [6]string{"mean", "median", "worst vs worst", "best vs best", "PRJ worst vs its best", "PRJ best vs its worst"}
