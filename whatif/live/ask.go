package live

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/yardmaster/yardmaster/scenario"
	"github.com/yardmaster/yardmaster/sim/yarn"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/yarn/conf"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// Inquiry asks one live cluster about its applications.
type Inquiry struct {
	Client  *rest.Client
	Known   *scenario.Catalogue // for the history
	History string              // folder of "yardmaster import yarn", from which the work of applications is drawn; "": running applications show it
	File    string              // the scheduler's settings, as a file of this machine; "": as the ResourceManager shows them
	Seed    uint64

	view *View // nil until the cluster is read
	past *History
}

// Answer is what an Inquiry finds out.
type Answer interface {
	Text(w io.Writer, columns int) // for people; 0 columns: not a terminal
	JSON() any                     // the document for programs
}

// Simulating says whether the cluster has been read, so that time goes into simulations.
func (q *Inquiry) Simulating() bool { return q.view != nil }

// read reads the history and the cluster.
func (q *Inquiry) read(ctx context.Context, first func(*rest.App) bool) error {
	jobs, timing, err := q.load()
	if err != nil {
		return err
	}
	v, err := Read(ctx, q.Client, first)
	if err != nil {
		return err
	}
	if q.File != "" {
		text, err := os.ReadFile(q.File)
		if err != nil {
			return err
		}
		if err := v.SetFile(q.File, text); err != nil {
			return err
		}
	}
	if timing != nil {
		v.Timing = *timing
	}
	if q.view, q.past = v, Learn(jobs); q.past.Empty() {
		q.past = Guess(v)
	}
	return nil
}

// load reads the jobs of the history, and the delays that were learned from it.
func (q *Inquiry) load() (workload.Slice, *yarn.Timing, error) {
	if q.History == "" {
		return nil, nil, nil
	}
	s, err := q.Known.Load(q.History)
	if err != nil {
		return nil, nil, err
	}
	setup, err := s.Resolve()
	if err != nil {
		return nil, nil, err
	}
	jobs, err := setup.Workload.Read(s.Seed)
	return jobs, setup.Timing, err
}

// Selection says which applications are asked about: one by its id, those of a queue, or all.
type Selection struct {
	ID, Queue string
	All       bool
}

func (s *Selection) names(id, queue string) bool {
	return id == s.ID || s.Queue != "" && conf.QueueNamesMatch(queue, s.Queue)
}

// Eta predicts when applications start and end.
func (q *Inquiry) Eta(ctx context.Context, which Selection, draws int, noArrivals bool) (Answer, error) {
	if err := q.read(ctx, func(a *rest.App) bool { return which.names(a.ID, a.Queue) }); err != nil {
		return nil, err
	}
	if which.ID != "" && q.view.Find(which.ID) == nil {
		return nil, fmt.Errorf("the ResourceManager lists no application %s that has not ended: \"yardmaster yarn eta --all\" shows those that have not", which.ID)
	}
	e := &eta{View: q.view, past: q.past, single: which.ID != "", o: Options{
		Draws: draws, Seed: q.Seed, NoArrivals: noArrivals,
		Only: func(a *App) bool { return which.All || which.names(a.ID, a.Queue) },
	}}
	var err error
	if e.o.Calibration, err = Calibrate(ctx, q.view, q.past, e.o); err != nil {
		return nil, err
	}
	e.forecasts, err = Predict(ctx, q.view, q.past, e.o)
	return e, err
}

// Why explains why an application waits.
func (q *Inquiry) Why(ctx context.Context, id string) (Answer, error) {
	if err := q.read(ctx, func(a *rest.App) bool { return a.ID == id }); err != nil {
		return nil, err
	}
	y := &why{View: q.view, Explanation: &Explanation{App: q.view.Find(id)}}
	if y.App == nil {
		ended, err := q.Client.App(ctx, id)
		if err != nil {
			return nil, err
		}
		y.ended, y.state = true, ended.State
		y.App = &App{ID: id, Name: ended.Name, User: ended.User, Queue: ended.Queue, Unmanaged: ended.Unmanaged, Diagnostics: ended.Diagnostics}
	}
	var err error
	if !y.ended || y.refused() {
		y.Explanation, err = Explain(ctx, q.view, q.past, y.App, Options{Seed: q.Seed})
	}
	return y, err
}
