package steering

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/internal/yamlfile"
	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/studies/experiment"
)

//go:embed study.yaml
var studyText []byte

// With fewer repetitions, or changes, a check is recorded and not judged.
const (
	minRepetitions = 5
	minChanges     = 10
)

// Checks are the checks of the scheduler's batches.
func (f *facts) Checks() []experiment.CheckFinding {
	t := yamlfile.Decode[experiment.Texts](studyText)
	t.Words = map[string]string{"wait": text(f.size.waits("cbt", f.Scheduler)["after-increase"].Seconds()), "low": "4.95", "high": "15.05"} // the log line comes a moment after the file
	only := []string{"E4", "E16"}
	if f.Scheduler == "capacity" {
		t.Words["low"], t.Words["high"], only = "0", "3", []string{"E5-gap"}
	}
	own := map[string]func([]string, []experiment.Quantity) experiment.Judge{
		"alike": func(_ []string, q []experiment.Quantity) experiment.Judge { return alike(q[0], q[1]) },
	}
	t.Checks = slices.DeleteFunc(t.Judged(own), func(c experiment.Check) bool { return slices.Contains(only, c.ID) })
	for i := range t.Checks {
		t.Checks[i].Text = strings.NewReplacer("$low", t.Words["low"], "$high", t.Words["high"]).Replace(t.Checks[i].Text)
	}
	checks, d := t.Found(f.runs()).Checks, f.changed(0)
	changes := map[string]int{"E19-idle": len(d.Idle), "E19-busy": len(d.Busy) + d.Lost}
	for i := range checks {
		c := &checks[i]
		n, counted := changes[c.ID]
		if few := c.Seeds < minRepetitions || counted && n < minChanges; few && c.Verdict != experiment.NotRun {
			c.Verdict = experiment.Record
		}
	}
	return checks
}

// alike holds when two arms do not differ significantly and noise would not hide a difference of a tenth.
func alike(a, b experiment.Quantity) experiment.Judge {
	return experiment.Judge{Rule: "no significant difference between " + a.Name + " and " + b.Name + ", which noise of less than 10 % would hide", Of: func(r *experiment.Runs) experiment.Judgement {
		var diffs, shares []float64
		va, vb := a.Values(r), b.Values(r)
		for i := range va {
			if d := vb[i] - va[i]; !math.IsNaN(d) {
				diffs, shares = append(diffs, d), append(shares, d/va[i])
			}
		}
		d, s := result.Mean(diffs), result.Mean(shares)
		j := experiment.Judgement{Value: d.Mean, Lo: d.Low, Hi: d.High, Ours: fmt.Sprintf("%+.1f s (%+.1f to %+.1f), %+.1f %%", d.Mean, d.Low, d.High, 100*s.Mean)}
		if j.Holds = d.Low <= 0 && d.High >= 0 && s.Half() <= 0.1; s.Half() > 0.1 {
			j.Note = "too much noise"
		}
		return j
	}}
}

// runs are the figures of the arms, and of all of them together, by repetition.
func (f *facts) runs() *experiment.Runs {
	var seeds []uint64
	for _, b := range f.all() {
		if r := uint64(b.Repetition); !slices.Contains(seeds, r) {
			seeds = append(seeds, r)
		}
	}
	slices.Sort(seeds)
	metrics := map[string][]experiment.Metrics{"all": make([]experiment.Metrics, len(seeds))}
	for i, r := range seeds {
		metrics["all"][i] = f.changed(int(r)).figures()
	}
	for _, b := range f.all() {
		if metrics[b.Arm] == nil {
			metrics[b.Arm] = make([]experiment.Metrics, len(seeds))
		}
		i := slices.Index(seeds, uint64(b.Repetition))
		metrics[b.Arm][i] = b.figures()
		metrics[b.Arm][i]["at-once"] = float64(b.maxAMs(f.size.ContainerMB))
		in, over := b.overs()
		metrics["all"][i]["in"] += float64(in)
		metrics["all"][i]["over"] += float64(over)
	}
	var gaps []float64 // too few in one repetition
	for _, b := range f.batches["cbt"] {
		_, work := b.gaps()
		gaps = append(gaps, work...)
	}
	for _, m := range metrics["cbt"] {
		if len(gaps) > 0 && m != nil {
			m["gap"] = median(gaps)
		}
	}
	return experiment.NewRuns(seeds, metrics)
}

// figures are the figures of a batch: makespan and idle time, in (core-)seconds; for a controller, how many jobs ran before the first admission, and
// the min time between two admissions.
func (b *Batch) figures() experiment.Metrics {
	m := experiment.Metrics{"span": b.span(), "idle": b.idle(), "writes": float64(len(b.Writes)), "first": 0, "spacing": math.Inf(1)}
	in := b.admitted()
	for _, j := range b.Jobs {
		if len(in) > 0 && j.Launched >= 0 && j.Launched < in[0] {
			m["first"]++
		}
	}
	for i := 1; i < len(in); i++ {
		m["spacing"] = min(m["spacing"], float64(in[i]-in[i-1])/1000)
	}
	return m
}

// delays are the times until changes took effect, in seconds.
type delays struct {
	Idle, Busy   []float64 // on an idle and on a busy cluster
	Own          []float64 // as the controller itself measured it
	Room         []float64 // from a decision to the launch of the next AM
	Unseen, Lost int       // overwritten, or the same when rounded, before they showed; never in effect
}

// changed are the delays of a repetition; 0: of all.
func (f *facts) changed(repetition int) (d delays) {
	high := int64(15_050)
	if f.Scheduler == "capacity" {
		high = 3000
	}
	for _, b := range f.all() {
		if repetition > 0 && b.Repetition != repetition {
			continue
		}
		if b.Set != nil {
			d.Idle = append(d.Idle, float64(b.Set.Took)/1000)
		}
		for i, w := range b.Writes {
			until := int64(b.span() * 1000) // when sampling ends, or it is overwritten
			if w.Asked > until {
				continue
			}
			if i+1 < len(b.Writes) {
				until = min(until, b.Writes[i+1].Asked)
			}
			switch {
			case w.Took < 0 && until-w.Asked > high && f.limit(w.New) != f.limit(w.Old):
				d.Lost++
			case w.Took < 0:
				d.Unseen++
			default:
				d.Busy = append(d.Busy, float64(w.Took)/1000)
			}
			if w.Said >= 0 {
				d.Own = append(d.Own, float64(w.Said)/1000)
			}
		}
		l, _ := b.gaps()
		d.Room = append(d.Room, l...)
	}
	return d
}

func (d delays) figures() experiment.Metrics {
	m := experiment.Metrics{"lost": float64(d.Lost)}
	for name, list := range map[string][]float64{"set": d.Idle, "took": d.Busy} {
		if len(list) > 0 {
			m[name+"-least"], m[name+"-most"] = slices.Min(list), slices.Max(list)
		}
	}
	return m
}

// limit is the scheduler's limit for a share.
func (f *facts) limit(share float64) int {
	mb := int(math.Ceil(share*float64(f.size.QueueMB()) - 1e-6))
	if f.Scheduler == "capacity" {
		mb = (mb + f.size.MinMB - 1) / f.size.MinMB * f.size.MinMB
	}
	return mb
}
