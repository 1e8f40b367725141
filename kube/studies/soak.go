package main

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"text/template"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/yardmaster/yardmaster/kube/lab"
	"github.com/yardmaster/yardmaster/studies/evidence"
	"github.com/yardmaster/yardmaster/studies/harness"
	"github.com/yardmaster/yardmaster/studies/soak"
)

//go:embed soak.md.tmpl
var soakPage string

func init() {
	verbs = append(verbs, verb{"soak", "the controller is left running while pods come and go, servers restart and its clock is stepped: is its size flat?", func(f *flag.FlagSet, out io.Writer) func(context.Context) error {
		return soaks().Verb(f, out)
	}})
}

func soaks() *harness.Study[soak.Record] {
	small, p := false, &soak.Plan{What: "yardmaster-controller", For: 2 * time.Hour, Limits: soak.Flat}
	s := &harness.Study[soak.Record]{
		Options: harness.Options{Repetitions: 1}, Folder: folder("soak"), Series: "soak", Template: soakPage,
		Flags: func(f *flag.FlagSet) { f.DurationVar(&p.For, "for", p.For, "how long the controller is left running") },
		Small: func() { small, p.For, p.Limits = true, 24*time.Second, soak.Loose },
	}
	s.Run = func(ctx context.Context, now *harness.Run) (r *soak.Record, summary string, err error) {
		rec := newFaultRecord("controller-fbq")
		rec.Site.Nodes, rec.Site.CPU = 4, 4
		err = within(context.WithoutCancel(ctx), now.Log, func(t testing.TB) { // a soak that is cut off is recorded
			path := ""
			if !small {
				var err error
				path, err = soak.BuildStepped(ctx, t.TempDir(), "github.com/yardmaster/yardmaster/kube/cmd/yardmaster-controller")
				check(t, err)
			}
			rec.run(t, func(g *ground) { r = g.soak(ctx, p, path) })
		})
		if r == nil {
			return nil, "", err
		}
		r.Misses = append(r.Misses, rec.Misses...)
		r.Counts["pods"], r.Counts["pods finished"] = float64(rec.Pods), float64(rec.Finished)
		return r, fmt.Sprintf("%d pods, %d misses", rec.Pods, len(r.Misses)), err
	}
	s.Facts = func(_ context.Context, _ []evidence.Run, records []*soak.Record) (map[string]any, template.FuncMap, error) {
		return nil, template.FuncMap{"soaked": soak.Text}, soak.Picture(filepath.Join(s.Dir, "size.svg"), latest(records))
	}
	s.Verdict = func() error {
		_, records, err := s.Records()
		if err == nil && len(latest(records).Misses) > 0 {
			err = fmt.Errorf("missed: %q", latest(records).Misses)
		}
		return err
	}
	return s
}

// latest is the soak that began last: they may overlap.
func latest(records []*soak.Record) *soak.Record {
	return slices.MaxFunc(records, func(a, b *soak.Record) int { return a.Began.Compare(b.Began) })
}

// soak leaves the controller running, or a program in its place whose clock can be stepped.
func (g *ground) soak(ctx context.Context, p *soak.Plan, path string) *soak.Record {
	port, err := lab.FreePort()
	clock, address := soak.Clock{File: filepath.Join(g.Dir, "clock")}, fmt.Sprint("127.0.0.1:", port)
	check(g, errors.Join(err, clock.Set(0), os.Setenv(soak.ClockVariable, clock.File)))
	g.program, g.listen = cmp.Or(path, g.program), address
	g.backlog(60)
	r := g.start("soaked", false, "--leader-elect=false")
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Second):
			}
			g.backlog(60)
			for _, f := range g.which(func(f *fate) bool { return f.done && !f.gone }) {
				_ = g.Client.CoreV1().Pods(teams[0]).Delete(g.Context(), f.name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}) // next time, if the API server is away
			}
		}
	}()
	works := func() error {
		was := g.released()
		if !g.await(3*time.Minute, func() bool { return g.released() >= was+10 }) {
			return errors.New("no pods were let go for three minutes")
		}
		return nil
	}
	check(g, works())
	every := p.For / 8
	p.File, p.Log = filepath.Join(g.Dir, "soak.jsonl"), g.Logf
	p.Measure = func() ([]soak.Sample, error) {
		s, err := soak.Measure("controller", r.PID(), address, "yardmaster_")
		return []soak.Sample{s}, err
	}
	p.Churn = []soak.Churn{
		{Kind: "server killed", First: every / 2, Every: every, Do: func(n int) (string, error) {
			server, text := g.API, "the API server"
			if n%2 == 1 {
				server, text = g.Etcd, "etcd"
			}
			server.Kill()
			_ = server.Start() // a computer that is busy needs more than the minute that this waits
			return text, works()
		}},
		{Kind: "log rotated", First: every / 3, Every: 2 * every, Do: func(int) (string, error) { return soak.Truncate(r.log, works) }},
		{Kind: "clock stepped", First: every / 4, Every: every * 3 / 4, Do: func(n int) (string, error) { return clock.Step(n, r.PID(), works) }},
	}
	if path == "" {
		p.Churn = p.Churn[:2]
	}
	rec, err := p.Run(ctx)
	close(stop)
	<-stopped
	g.drain("after the soak")
	check(g, err)
	return rec
}
