package study

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/lab/hadoop"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/whatif/live"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// etaApps are applications of six families that come again with other sizes and lengths, in two queues.
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

// TestLabETA asks a real ResourceManager, again and again, when its applications will end, and compares.
func TestLabETA(t *testing.T) {
	ctx := needLab(t)
	c, down, err := hadoop.UpIn(ctx, "", hadoop.Options{
		SchedulerXML: queues("a"), Nodes: 2, NodeMB: 12 << 10, NodeVcores: 64, Heartbeat: 250 * time.Millisecond, Site: site(12<<10, 1024), Log: t.Output(),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer down()
	rm, err := rest.New(rest.Options{RM: c.RMs(), Auth: rest.User(admin), RMRate: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer rm.CloseIdle()
	apps := etaApps(30, 1)
	var yesterday workload.Slice // as an import would give it
	for _, a := range etaApps(200, 2) {
		g := a.Containers[0]
		s := workload.Stage{Kind: workload.Other, Tasks: int64(g.Count), Ask: unit.Resources{Mem: 1024, Cores: 1}, Length: workload.Lengths{Kind: workload.List}}
		for _, h := range g.Hold {
			s.Length.Values = append(s.Length.Values, unit.Time(h)*unit.Millisecond)
		}
		yesterday = append(yesterday, &workload.Job{ID: a.ID, Name: a.ID, User: a.User, Queue: a.Queue, Submit: unit.Time(a.Submit) * unit.Millisecond, Stages: []workload.Stage{s}})
	}
	past := live.Learn(yesterday)
	type asked struct {
		id                  string
		now, low, mid, high time.Time
	}
	var answers []asked
	watching, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		defer close(done)
		for watching.Err() == nil {
			time.Sleep(3 * time.Second)
			began := time.Now()
			v, err := live.Read(watching, rm, nil)
			if err != nil {
				if watching.Err() == nil {
					done <- err
				}
				return
			}
			read := time.Since(began)
			v.Timing.AMHeartbeat = unit.Second
			if slices.ContainsFunc(v.Apps, func(a live.App) bool { return a.Name == apps[len(apps)*3/4].ID }) {
				return // later there would be no arrivals, which every draw has
			}
			if len(v.Apps) == 0 {
				continue
			}
			list, err := live.Predict(watching, v, past, live.Options{Seed: uint64(len(answers))})
			if err != nil {
				if watching.Err() == nil {
					done <- err
				}
				return
			}
			at := func(x unit.Time) time.Time {
				return v.Epoch.Add(time.Duration(min(x, 1000*unit.Day)) * time.Microsecond)
			}
			for _, f := range list {
				answers = append(answers, asked{f.App.Name, at(v.Now), at(f.End.Low), at(f.End.Median), at(f.End.High)})
			}
			t.Logf("%d present, read in %v, predicted in %v; notes %q", len(v.Apps), read.Round(time.Millisecond), (time.Since(began) - read).Round(time.Millisecond), v.Notes)
		}
	}()
	res, err := c.AMs(ctx, apps, hadoop.AMsOptions{})
	stop()
	if lost := <-done; lost != nil {
		t.Fatal(lost)
	}
	if err != nil {
		t.Fatal(err)
	}
	ended, err := succeeded(apps, res.Apps)
	if err != nil {
		t.Fatal(err)
	}
	in, early, off := 0, 0, []float64(nil)
	for _, a := range answers {
		end := ended[a.id].End.Time()
		switch {
		case end.Before(a.low):
			early++
		case !end.After(a.high):
			in++
		}
		off = append(off, math.Abs(end.Sub(a.mid).Seconds())/max(1, end.Sub(a.now).Seconds()))
	}
	n := len(answers)
	if n < 50 {
		t.Fatalf("only %d predictions", n)
	}
	slices.Sort(off)
	share := float64(in) / float64(n)
	t.Logf("%d predictions: %.1f %% inside their intervals, %.1f %% ended earlier, %.1f %% later; the median is off by %.0f %% of the time to go (median)",
		n, 100*share, 100*float64(early)/float64(n), 100*float64(n-in-early)/float64(n), 100*off[n/2])
	if share < 0.65 || off[n/2] > 0.5 { // predictions of one moment stand or fall together: a short test cannot ask for 75 to 85 %
		t.Errorf("%.1f %% of the ends are inside their intervals of 80 %%; the median is off by %.0f %%", 100*share, 100*off[n/2])
	}
}
