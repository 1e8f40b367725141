package endure

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/studies/lab/proc"
	"github.com/yardmaster/yardmaster/studies/lab/steerer"
	"github.com/yardmaster/yardmaster/studies/soak"
)

//go:embed month.yaml
var month string

// days rehearses steering for many virtual days. The times of its samples are virtual.
func (s *Study) days(ctx context.Context, t *sheet) error {
	dir, err := s.folder("days")
	if err != nil {
		return err
	}
	scenario, log := filepath.Join(dir, "month.yaml"), filepath.Join(dir, "samples.log")
	if err := errors.Join(os.WriteFile(scenario, []byte(month), 0o644), os.WriteFile(filepath.Join(dir, "capacity-scheduler.xml"), []byte(capacityQueues), 0o644)); err != nil {
		return err
	}
	p, err := steerer.Start(s.bin, dir, nil, "simulate", scenario, "--scale-length", fmt.Sprint(float64(s.Days)/7), "--steer-log", log, "--out", filepath.Join(dir, "out"))
	if err != nil {
		return err
	}
	defer p.End()
	limits, every := soak.Flat, time.Second
	if s.Brief {
		limits, every = soak.Loose, 20*time.Millisecond
	}
	// at is the virtual time that it has reached.
	at := func(log string) (t float64, ok bool) {
		last, _ := exec.CommandContext(ctx, "sh", "-c", "tail -n 1 "+log).Output()
		_, err := fmt.Sscanf(string(last), "t=%f", &t)
		return t, err == nil
	}
	r := &soak.Record{What: fmt.Sprintf("simulate, %d virtual days", s.Days), Began: p.Began.UTC(), Asked: 86400 * float64(s.Days), Limits: limits, Counts: map[string]float64{}, Misses: []string{}}
	proc.Await(ctx, 2*time.Hour, every, func() bool {
		t, ok := at(dir + "/.samples.log*.tmp") // its name until it is complete
		own, err := soak.Measure("simulate", p.Pid, "", "")
		if err == nil && ok {
			own.At, r.Lasted = t, t
			r.Samples = append(r.Samples, own)
		}
		return !p.Alive()
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	r.Counts["seconds of real time"] = time.Since(p.Began).Seconds()
	if t, ok := at(log); ok {
		r.Lasted = t
	}
	if !p.State().Success() || r.Lasted < 0.9*r.Asked {
		r.Misses = append(r.Misses, fmt.Sprintf("it ended after %.1f virtual days: %s", r.Lasted/86400, strings.ReplaceAll(p.Last(), s.work, "WORK")))
	}
	r.Judge()
	t.Rows, t.Sum.Misses = append(t.Rows, r), append(t.Sum.Misses, r.Misses...)
	return nil
}
