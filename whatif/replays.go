package whatif

import (
	"context"
	"errors"
	"io"

	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/synth"
)

// One replay of a history is not the truth: had two jobs arrived in the other order, its 95th percentile would be another by several percent.
// So variants of a history are compared over several replays. Seed 1 replays it as it was; every other seed perturbs it a little
// (synth.Jittered), alike for every variant. A synthetic, scaled or resampled workload is drawn by the seed in any case.

// How many replays are run unless their number is asked for: as many as fit ten seconds on two processors, within these limits. Their number
// depends on the work alone, so that the same question gets the same answer on every machine.
const (
	MinReplays = 5
	MaxReplays = 20

	fitEvents = 20_000_000 // in ten seconds
)

// fit is how many seeds to run, from the events of the first one's runs.
func (c *pool) fit() int {
	var events int64
	for s := range c.runs {
		if r := c.runs[s][0]; r != nil {
			events += r.Events
		}
	}
	return min(len(c.plan.Seeds), max(MinReplays, int(min(MaxReplays, fitEvents/max(1, events)))))
}

// perturbs reports whether seeds perturb the workload: variants of a history are compared.
func (p *Plan) perturbs() bool { return len(p.Variants) > 1 && !p.Variants[0].Workload.Drawn }

// replayed returns the jobs of a seed, perturbed if the plan says so. It keeps them for the seed's other runs, unless there are too many.
func (c *cache) replayed(ctx context.Context, w *run.Workload, seed int) (*jobs, error) {
	base := c.read(ctx, w, seed)
	if base.err != nil || !c.perturb || c.seeds[seed] == 1 || base.kept == nil {
		return base, base.err
	}
	within, err := c.within(ctx)
	if err != nil {
		return nil, err
	}
	key := jobsKey{w, seed}
	c.mu.Lock()
	if c.perturbed[key] == nil {
		c.perturbed[key] = &jobs{}
	}
	js := c.perturbed[key]
	c.mu.Unlock()
	js.once.Do(func() {
		js.said = base.said
		js.kept, js.err = workload.ReadAll(synth.Jittered(base.kept.Source(), within, c.seeds[seed]-1))
	})
	return js, js.err
}

// within is how far submissions move: by the length of the first variant's history, so that all variants move alike.
func (c *cache) within(ctx context.Context) (unit.Time, error) {
	js := c.read(ctx, c.first, 0)
	c.spanned.Do(func() {
		if n := len(js.kept); n > 0 {
			c.span = js.kept[n-1].Submit - js.kept[0].Submit
		} else if js.kept == nil && js.err == nil { // too many to keep
			c.span, js.err = spanOf(c.first, c.seeds[0])
		}
	})
	return synth.Jitter(c.span), js.err
}

// spanOf reads a workload for the time between its first and its last submission.
func spanOf(w *run.Workload, seed uint64) (unit.Time, error) {
	src, err := w.Open(seed)
	if err != nil {
		return 0, err
	}
	if c, ok := src.(io.Closer); ok {
		defer c.Close()
	}
	var first, last unit.Time
	for n := 0; ; n++ {
		j, err := src.Next()
		if errors.Is(err, io.EOF) {
			return last - first, nil
		} else if err != nil {
			return 0, err
		}
		if last = j.Submit; n == 0 {
			first = last
		}
	}
}
