package endure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/studies/lab/host"
	"github.com/yardmaster/yardmaster/studies/lab/proc"
	"github.com/yardmaster/yardmaster/studies/lab/steerer"
	"github.com/yardmaster/yardmaster/studies/soak"
)

// soak leaves a steerer running on a ResourceManager with applications that come and go, while the ResourceManager restarts, the log is rotated and the steerer's clock is
// stepped.
func (s *Study) soak(ctx context.Context, t *sheet) error {
	dir, err := s.folder("soak")
	if err != nil {
		return err
	}
	bin := s.bin
	if !s.Brief {
		if bin, err = soak.BuildStepped(ctx, dir, "github.com/yardmaster/yardmaster/"+host.Product); err != nil {
			return err
		}
	}
	clock, log, wrapper := soak.Clock{File: filepath.Join(dir, "clock")}, filepath.Join(dir, "steerer.log"), filepath.Join(dir, "steerer.sh")
	// As a service's, the output goes to a file that is opened once, for appending.
	script := fmt.Appendf(nil, "#!/bin/sh\nexec %s \"$@\" >>%s 2>&1\n", bin, log)
	if err := errors.Join(os.WriteFile(wrapper, script, 0o755), clock.Set(0), os.Setenv(soak.ClockVariable, clock.File)); err != nil {
		return err
	}
	site := recovering(dir)
	site["yarn.resourcemanager.max-completed-applications"] = "200"
	y, err := s.open(ctx, "soak/yard", queue, hadoop.Options{ConfStore: "fs", Site: site})
	if err != nil {
		return err
	}
	defer func() { _ = y.Down() }()
	l, limits := &load{c: y.Cluster, queue: queue, apps: 24, hold: 15000, runs: true}, soak.Flat
	if s.Brief {
		l.hold, limits = 5000, soak.Loose
	}
	if err := l.begin(ctx, y.rm); err != nil {
		return err
	}
	defer l.cancel()
	ports, err := hadoop.Ports(1)
	if err != nil {
		return err
	}
	y.listen = fmt.Sprintf("127.0.0.1:%d", ports[0])
	p, err := y.steer(wrapper, "", nil, lively("500ms")...)
	if err != nil {
		return err
	}
	defer p.End()
	works := func() error {
		writes := func() float64 { return soak.Metrics(y.listen)["yardmaster_steer_writes_total"] }
		was := writes()
		if !proc.Await(ctx, 3*time.Minute, 200*time.Millisecond, func() bool { return writes() >= was+3 }) {
			return errors.New("the steerer has changed nothing for three minutes")
		}
		return nil
	}
	if err := works(); err != nil {
		return err
	}
	every := s.SoakFor / 8
	plan := &soak.Plan{
		What: "yarn steer", For: s.SoakFor, Limits: limits, File: filepath.Join(s.work, "soak.jsonl"), Log: s.say,
		Measure: func() ([]soak.Sample, error) { return measure(y, p) },
		Churn: []soak.Churn{
			{Kind: "restart of the ResourceManager", First: every / 2, Every: every, Do: func(n int) (text string, err error) {
				text = "SIGTERM"
				if n%2 == 1 {
					text, err = "kill -9", y.Kill("resourcemanager")
				}
				return text, cmp.Or(err, y.Restart(ctx, "resourcemanager"), works())
			}},
			{Kind: "log rotated", First: every / 3, Every: 2 * every, Do: func(n int) (string, error) {
				if n > 0 {
					return soak.Truncate(log, works)
				}
				return "renamed, and back: further lines go to the renamed file", cmp.Or(os.Rename(log, log+".1"), works(), os.Rename(log+".1", log))
			}},
			{Kind: "clock stepped", First: every / 4, Every: every * 3 / 4, Do: func(n int) (string, error) { return clock.Step(n, p.Pid, works) }},
		},
	}
	if s.Brief {
		plan.Churn = plan.Churn[:2] // the clock is the computer's
	}
	r, err := plan.Run(ctx)
	if err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // a soak that is cut off is recorded
	t.ends(ctx, y, p, "soak")
	if err := y.set.set(ctx, "1"); err != nil {
		return err
	}
	if t.Sum.Apps, err = l.end(ctx); t.Sum.Apps.lost() {
		r.Misses = append(r.Misses, fmt.Sprintf("%d of %d applications have not ended well (%v)", t.Sum.Apps.Submitted-t.Sum.Apps.Succeeded, t.Sum.Apps.Submitted, err))
	}
	t.Rows, t.Sum.Misses = append(t.Rows, r), append(t.Sum.Misses, r.Misses...)
	return nil
}

// ends stops a steerer and checks what it leaves.
func (t *sheet) ends(ctx context.Context, y *yard, p *steerer.Process, name string) {
	took, ok := p.Stop(40 * time.Second)
	same, obeyed := y.set.original(ctx), proc.Await(ctx, 10*time.Second, 50*time.Millisecond, func() bool { return y.set.obeyed(ctx) })
	text := fmt.Sprintf("%s: ended %.1f s after SIGTERM, as found %v, in force %v %s", name, took.Seconds(), same, obeyed, openJournal(y.journal))
	t.Sum.Final = append(t.Sum.Final, strings.TrimSpace(text))
	if !ok || !same || !obeyed || openJournal(y.journal) != "" {
		t.Sum.miss("%s; its last words: %s", text, p.Last())
	}
}

// measure samples a steerer, with its journal, and its guard.
func measure(y *yard, p *steerer.Process) ([]soak.Sample, error) {
	own, err := soak.Measure("steerer", p.Pid, y.listen, "yardmaster_steer_")
	files, _ := filepath.Glob(filepath.Join(y.journal, "journal*.jsonl"))
	for _, file := range files {
		if info, err := os.Stat(file); err == nil {
			own.Disk += info.Size()
		}
	}
	list := []soak.Sample{own}
	for _, pid := range p.Guards() {
		if s, err := soak.Measure("guard", pid, "", ""); err == nil {
			list = append(list, s)
		}
	}
	return list, err
}
