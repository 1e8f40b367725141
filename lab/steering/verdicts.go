package steering

import (
	"fmt"
	"math"
	"strings"

	"github.com/yardmaster/yardmaster/result"
)

// verdict is what an experiment showed.
type verdict struct {
	name, where, asks, shows, says string
}

// fewest batches of an arm that a verdict is given on.
const fewest = 5

// said is the verdict's word, on so many batches.
func said(pass bool, batches int) string {
	switch {
	case batches < fewest:
		return fmt.Sprintf("RECORD (%d batches)", batches)
	case pass:
		return "PASS"
	}
	return "FAIL"
}

// verdicts judges a scheduler's records.
func (f *facts) verdicts() []verdict {
	var all []verdict
	add := func(name, asks, shows, says string) {
		all = append(all, verdict{name, f.scheduler, asks, shows, says})
	}
	have := func(arms ...string) bool {
		for _, a := range arms {
			if len(f.of[a]) == 0 {
				return false
			}
		}
		return true
	}
	if have("fifo", "prj") {
		one, six := result.Mean(f.each("fifo", (*Batch).idle)), result.Mean(f.each("prj", (*Batch).idle))
		d, _ := f.against("fifo", "prj", (*Batch).idle)
		add("E1", "one job at a time leaves more processor time idle than all at once, and all at once leaves some",
			fmt.Sprintf("fifo %s core-s idle, prj %s; difference %s", interval(one, 0), interval(six, 0), interval(d, 0)), said(d.Known && d.Low > 0 && six.Mean > 0, d.N))
		a, b := f.each("fifo", (*Batch).span), f.each("prj", (*Batch).span)
		_, r := f.against("prj", "fifo", (*Batch).span)
		add("E2", "all at once is at least 20 % faster, and varies more",
			fmt.Sprintf("prj %s faster; standard deviation prj %.1f s, fifo %.1f s", percent(negated(r)), math.Sqrt(result.Variance(b)), math.Sqrt(result.Variance(a))),
			fmt.Sprintf("faster: %s; varies more: %s", said(r.Mean <= -0.20, r.N), said(result.Variance(b) > result.Variance(a), r.N)))
	}
	if have("prj", "0.9", "prj-2") {
		d, r := f.against("0.9", "prj", (*Batch).span)
		var list []string
		for _, a := range []string{"fifo", "prj-2", "prj", "0.9"} {
			if have(a) {
				list = append(list, fmt.Sprintf("%s %.0f s", a, result.Mean(f.each(a, (*Batch).span)).Mean))
			}
		}
		add("E4", "with six jobs, times are equal within noise from the share on that lets all six in (the other half, 24 jobs, does not fit this computer)",
			fmt.Sprintf("%s; 0.9 against prj %s s (%s)", strings.Join(list, ", "), interval(d, 1), percent(r)), equal(d, r))
	}
	if have("cbt") {
		all = append(all, f.pattern())
	}
	if have("prj") {
		all = append(all, f.gains())
	}
	if f.scheduler == "capacity" {
		in, over, writes, batches := 0, 0, 0, 0
		for _, a := range f.arms {
			for _, b := range f.of[a.Name] {
				i, o := b.overs()
				in, over = in+i, over+o
				if a.Policy != "" {
					writes, batches = writes+len(b.Writes), batches+1
				}
			}
		}
		add("E16", "the controllers work on the Capacity Scheduler, and masters are let in by its rule",
			fmt.Sprintf("%d batches under controllers, all jobs ended, %d writes; masters let in %d times, %d times beyond the limit that was read", batches, writes, in, over), said(over == 0, batches))
	}
	return append(all, f.delays()...)
}

// pattern is E5.
func (f *facts) pattern() verdict {
	alone, spaced, early := 0, 0, 0
	least := math.Inf(1)
	var launch, work []float64
	wait := f.size.waits("cbt", f.scheduler)["after-increase"].Seconds()
	for _, b := range f.of["cbt"] {
		rs := b.admitted()
		if len(rs) > 0 {
			n := 0
			for _, j := range b.Jobs {
				if j.Launched >= 0 && j.Launched < rs[0] {
					n++
				}
			}
			if n == 1 {
				alone++
			}
		}
		for i := 1; i < len(rs); i++ {
			gap := float64(rs[i]-rs[i-1]) / 1000
			least = min(least, gap)
			if spaced++; gap < wait {
				early++
			}
		}
		l, w := b.gaps()
		launch, work = append(launch, l...), append(work, w...)
	}
	band := "no band is given"
	in := true
	if f.scheduler == "fair" {
		band = "from 15 to 45 s"
		in = median(work) >= 15 && median(work) <= 45
	}
	n := len(f.of["cbt"])
	says := said(alone == n && early == 0 && in, n)
	if spaced == 0 || len(work) == 0 {
		says = "RECORD (nothing to measure)"
	}
	return verdict{"E5", f.scheduler, fmt.Sprintf("cbt: one job runs until the first is let in; no two are let in within %.1f s; from the decision to the first map, %s", wait, band),
		fmt.Sprintf("one job until then in %d of %d batches; %d of %d pairs closer, the least %.1f s; from the decision to the launch of the next master %s s, to its first map %s s (median, least to most)",
			alone, n, early, spaced, least, spread(launch), spread(work)), says}
}

// gains is E7-small, and for the Capacity Scheduler E16's times.
func (f *facts) gains() verdict {
	name := "E7-small"
	if f.scheduler == "capacity" {
		name = "E7-small (E16)"
	}
	var list []string
	pass, pairs := true, math.MaxInt
	for _, a := range f.arms {
		if a.Policy == "" {
			continue
		}
		_, r := f.against(a.Name, "prj", (*Batch).span)
		list = append(list, a.Name+" "+percent(r))
		if strings.HasPrefix(a.Name, "cbt") {
			pass, pairs = pass && r.Mean < 0, min(pairs, r.N)
		}
	}
	if pairs == math.MaxInt {
		pairs = 0
	}
	return verdict{name, f.scheduler, "cbt, cbtws and cbtwat are faster than all at once", "against prj, pair by pair: " + strings.Join(list, ", "), said(pass, pairs)}
}

// delays is E19: from the write to the limit that the ResourceManager shows.
func (f *facts) delays() []verdict {
	asks, low, high := "read again after more than 5 and at most 15 s", 4.95, 15.05 // the log's line is a moment later than the file
	if f.scheduler == "capacity" {
		asks, low, high = "in force within 3 s", 0, 3
	}
	var idle, busy, own, room []float64
	unseen, lost := 0, 0
	for _, b := range f.all() {
		if b.Set != nil {
			idle = append(idle, float64(b.Set.Took)/1000)
		}
		for i, w := range b.Writes {
			if float64(w.Asked) > b.span()*1000 {
				continue
			}
			until := b.span() // when nobody looks any more, or it is written over
			if i+1 < len(b.Writes) {
				until = min(until, float64(b.Writes[i+1].Asked)/1000)
			}
			switch {
			case w.Took < 0 && until-float64(w.Asked)/1000 > high && f.limit(w.New) != f.limit(w.Old):
				lost++
			case w.Took < 0:
				unseen++
			default:
				busy = append(busy, float64(w.Took)/1000)
			}
			if w.Said >= 0 {
				own = append(own, float64(w.Said)/1000)
			}
		}
		l, _ := b.gaps()
		room = append(room, l...)
	}
	judge := func(list []float64, lost int) string {
		if n := len(list) + lost; n < 10 {
			return fmt.Sprintf("RECORD (%d changes)", n)
		}
		return said(result.Quantile(list, 0) >= low && result.Quantile(list, 1) <= high && lost == 0, fewest)
	}
	tell := func(list []float64) string {
		return fmt.Sprintf("%d changes: %s s (median, least to most)", len(list), spread(list))
	}
	return []verdict{
		{"E19 idle cluster", f.scheduler, asks, tell(idle), judge(idle, 0)},
		{"E19 busy cluster", f.scheduler, asks, tell(busy) + fmt.Sprintf("; as the controller itself measured it %s s; %d more were written over, or the batch ended, or the limit is rounded to the same, before they showed; %d never came into force; from the decision to the launch of the next master %s s",
			spread(own), unseen, lost, spread(room)), judge(busy, lost)},
	}
}

// limit is what the scheduler makes of a share.
func (f *facts) limit(share float64) int {
	mb := int(math.Ceil(share*float64(f.size.QueueMB()) - 1e-6))
	if f.scheduler == "capacity" {
		mb = (mb + f.size.LeastMB - 1) / f.size.LeastMB * f.size.LeastMB
	}
	return mb
}

// equal is the verdict's word for two arms that should not differ: none where the noise hides a tenth.
func equal(d, r result.Estimate) string {
	switch {
	case d.N < fewest:
		return said(false, d.N)
	case d.Low > 0 || d.High < 0:
		return "FAIL"
	case r.Half() > 0.1:
		return "UNDECIDED (too much noise)"
	}
	return "PASS"
}

func spread(list []float64) string {
	if len(list) == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f (%.1f to %.1f)", median(list), result.Quantile(list, 0), result.Quantile(list, 1))
}

func negated(e result.Estimate) result.Estimate {
	e.Mean, e.Low, e.High = -e.Mean, -e.High, -e.Low
	return e
}

func interval(e result.Estimate, digits int) string {
	if !e.Known {
		return fmt.Sprintf("%.*f", digits, e.Mean)
	}
	return fmt.Sprintf("%.*f ± %.*f", digits, e.Mean, digits, e.Half())
}

func percent(e result.Estimate) string {
	if !e.Known {
		return fmt.Sprintf("%+.1f %%", 100*e.Mean)
	}
	return fmt.Sprintf("%+.1f ± %.1f %%", 100*e.Mean, 100*e.Half())
}
