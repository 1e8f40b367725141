package live

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"time"

	"github.com/yardmaster/yardmaster/studies/harness"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/studies/lab/host"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/whatif/live"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/yarn/history"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// ETA asks a real ResourceManager when its applications will end, and compares.
type ETA struct {
	Earlier int    // applications that run first and are imported: the history; 0: one of 200 is made up
	Apps    int    // that are asked about
	Seed    uint64 // of the applications
}

//go:embed eta.md.tmpl
var etaPage string

// ETARecord is one run.
type ETARecord struct {
	Hadoop   string           `json:"hadoop"`
	History  int              `json:"history"`         // applications
	MadeUp   bool             `json:"made_up"`         // the history is not imported
	Warning  string           `json:"warning"`         // of the first answer
	Measured live.Calibration `json:"measured"`        // by the program itself, on the history
	Answers  []ETAAnswer      `json:"answers"`         // before the last quarter of the submissions: later nothing more would arrive
	Moments  int              `json:"moments"`         // at which it was asked
	Took     []float64        `json:"took_s,omitzero"` // by each answer, calibration included
}

// ETAAnswer is a prediction of an end, and the end. Instants are ms since the run began.
type ETAAnswer struct {
	App               string
	Asked             int64
	Low, Median, High int64
	End               int64
}

// Inside says whether the end is inside the interval.
func (a *ETAAnswer) Inside() bool { return a.Low <= a.End && a.End <= a.High }

// Counts are the shares of ends inside, before and after their intervals, and the medians of the error and of the width, relative to the time to go.
func (r *ETARecord) Counts() (c struct{ Inside, Early, Late, Off, Width float64 }) {
	var off, width []float64
	n := float64(max(len(r.Answers), 1))
	for i := range r.Answers {
		a := &r.Answers[i]
		switch {
		case a.Inside():
			c.Inside += 1 / n
		case a.End < a.Low:
			c.Early += 1 / n
		default:
			c.Late += 1 / n
		}
		off = append(off, math.Abs(float64(a.End-a.Median))/float64(max(a.End-a.Asked, 1000)))
		width = append(width, float64(a.High-a.Low)/float64(max(a.End-a.Asked, 1000)))
	}
	if len(off) > 0 {
		slices.Sort(off)
		slices.Sort(width)
		c.Off, c.Width = off[len(off)/2], width[len(width)/2]
	}
	return c
}

// Study declares it.
func (s *ETA) Study() *harness.Study[ETARecord] {
	return &harness.Study[ETARecord]{
		Folder: "eta-live", Series: "eta", Lab: func() hadoop.Options { return fastLab(queues("a"), 2, 12) }, Template: etaPage,
		Flags: func(f *flag.FlagSet) {
			f.IntVar(&s.Earlier, "history", 60, "number of applications that run first and are the history; 0: 200 are made up")
			f.IntVar(&s.Apps, "apps", 60, "number of applications that are asked about")
			f.Uint64Var(&s.Seed, "seed", 1, "seed of the applications")
		},
		Run: func(ctx context.Context, now *harness.Run) (*ETARecord, string, error) {
			rec, err := s.run(ctx, now.Cluster)
			if err != nil {
				return nil, "", err
			}
			return rec, fmt.Sprintf("%d ends, %.1f %% inside", len(rec.Answers), 100*rec.Counts().Inside), nil
		},
	}
}

func (s *ETA) run(ctx context.Context, c *hadoop.Cluster) (*ETARecord, error) {
	rm, err := client(c)
	if err != nil {
		return nil, err
	}
	defer rm.CloseIdle()
	info, err := rm.Info(ctx)
	if err != nil {
		return nil, err
	}
	rec := &ETARecord{Hadoop: info.HadoopVersion, MadeUp: s.Earlier == 0}
	var earlier workload.Slice
	if rec.MadeUp { // as an import of MapReduce's history files would give them
		earlier, err = jobs(etaApps(200, s.Seed+1))
		for _, j := range earlier {
			j.Name = j.ID
		}
	} else if _, err = c.AMs(ctx, etaApps(s.Earlier, s.Seed+1), hadoop.AMsOptions{}); err == nil {
		earlier, err = s.imported(ctx, rm)
	}
	if err != nil {
		return nil, err
	}
	rec.History = len(earlier)
	past, apps := live.Learn(earlier), etaApps(s.Apps, s.Seed)
	asking, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- rec.ask(asking, rm, past, apps[len(apps)*3/4].ID) }()
	res, err := c.AMs(ctx, apps, hadoop.AMsOptions{})
	stop()
	if err := errors.Join(<-done, err); err != nil {
		return nil, err
	}
	ended, err := succeeded(apps, res.Apps)
	if err != nil {
		return nil, err
	}
	for i := range rec.Answers {
		a := &rec.Answers[i]
		a.End = ended[a.App].End.Time().UnixMilli()
		for _, t := range []*int64{&a.Asked, &a.Low, &a.Median, &a.High, &a.End} {
			*t -= res.Zero.Time().UnixMilli()
		}
	}
	return rec, nil
}

// imported is the history as an operator would have it.
func (s *ETA) imported(ctx context.Context, rm *rest.Client) (workload.Slice, error) {
	dir, clean, err := host.Folder("", "eta")
	if err != nil {
		return nil, err
	}
	defer clean()
	if _, err := history.Run(ctx, history.Options{Client: rm, RM: true, Now: time.Now(), Dir: dir, Jobs: jobsFile}); err != nil {
		return nil, err
	}
	return readJobs(filepath.Join(dir, jobsFile))
}

// ask asks every three seconds until an application is there.
func (r *ETARecord) ask(ctx context.Context, rm *rest.Client, past *live.History, last string) error {
	var calibration *live.Calibration
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(3 * time.Second):
		}
		began := time.Now()
		v, err := live.Read(ctx, rm, nil)
		if err != nil {
			return ignoreEnd(ctx, err)
		}
		v.Timing.AMHeartbeat = unit.Second
		if slices.ContainsFunc(v.Apps, func(a live.App) bool { return a.Name == last }) {
			return nil
		}
		if len(v.Apps) == 0 {
			continue
		}
		o := live.Options{Seed: uint64(len(r.Answers)), Calibration: calibration}
		if calibration == nil {
			if calibration, err = live.Calibrate(ctx, v, past, o); err != nil {
				return ignoreEnd(ctx, err)
			}
			o.Calibration, r.Measured, r.Warning = calibration, *calibration, calibration.Warning()
		}
		list, err := live.Predict(ctx, v, past, o)
		if err != nil {
			return ignoreEnd(ctx, err)
		}
		at := func(x unit.Time) int64 {
			return v.Epoch.Add(time.Duration(min(x, 1000*unit.Day)) * time.Microsecond).UnixMilli()
		}
		for _, f := range list {
			r.Answers = append(r.Answers, ETAAnswer{App: f.App.Name, Asked: at(v.Now), Low: at(f.End.Low), Median: at(f.End.Median), High: at(f.End.High)})
		}
		r.Moments++
		r.Took = append(r.Took, time.Since(began).Seconds())
	}
}

// ignoreEnd is the error, unless nothing more is asked.
func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the question is withdrawn
	}
	return err
}

// etaApps are applications of six families that come again with other sizes and lengths, in three queues.
func etaApps(n int, seed uint64) (apps []hadoop.Application) {
	r := rand.New(rand.NewPCG(seed, 17))
	at := 0.0
	for i := range n {
		k := r.IntN(6)
		tasks := max(1, int(float64(2+5*k)*math.Exp(0.4*r.NormFloat64())))
		length := 0.4 * float64(9-k) * math.Exp(0.3*r.NormFloat64())
		g := hadoop.Group{Count: tasks, MB: 1024, Priority: 1}
		work := 0.0
		for range tasks {
			l := 1000 * length * math.Exp(0.3*r.NormFloat64())
			g.Hold, work = append(g.Hold, hadoop.Millis(l)), work+l
		}
		queue := []string{"root.adhoc", "root.batch", "root.prod"}[k%3]
		apps = append(apps, hadoop.Application{ID: fmt.Sprintf("job-%c-%d", 'a'+k, i), User: []string{"ann", "ben"}[k%2], Queue: queue, Submit: hadoop.Millis(at), Containers: []hadoop.Group{g}})
		at += r.ExpFloat64() * work / 24 / 0.9
	}
	return apps
}
