package endure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/yardmaster/yardmaster/lab/hadoop"
	"github.com/yardmaster/yardmaster/steer/drive"
)

// nobody is an account that may write nothing of the lab's. Only root can become it; anybody else is refused by the modes alone.
func nobody() *syscall.Credential {
	if os.Getuid() != 0 {
		return nil
	}
	return &syscall.Credential{Uid: 65534, Gid: 65534}
}

// liesFile has a FairScheduler whose file, or its folder, cannot be written, or is written by somebody else at the same time.
func (s *Study) liesFile(ctx context.Context, t *sheet[Told, ToldSum]) error {
	y, err := s.open(ctx, "lies-file", hadoop.Options{Scheduler: "fair", SchedulerXML: fairQueues(named)})
	if err != nil {
		return err
	}
	defer func() { _ = y.Down() }()
	f := &filer{s: s, y: y, folder: filepath.Dir(y.set.file)}
	cases := []func(context.Context) (Told, error){f.readOnly, f.elsewhere, f.broken, f.lostRight}
	if s.Brief {
		cases = cases[:1]
	}
	for _, c := range cases {
		row, err := c(ctx)
		if err != nil {
			return err
		}
		row.Where = "file"
		s.say("%s: %s %s", row.Case, row.Line, row.Miss)
		t.Rows = append(t.Rows, row)
	}
	return nil
}

// filer has the cases of files.
type filer struct {
	s       *Study
	y       *yard
	folder  string
	journal string // of the account that steered last
}

func (f *filer) steer(as *syscall.Credential, value float64) (*steerer, error) {
	f.journal = f.y.journal
	if as != nil { // a journal is refused where another account could write it
		f.journal += "-nobody"
		if err := os.MkdirAll(f.journal, 0o700); err != nil {
			return nil, err
		}
	}
	if err := give(as, f.journal); err != nil {
		return nil, err
	}
	return start(f.s.Binary, f.y.Dir, as, steerArgs(f.y.RM(), queue, f.journal, append(still(value), f.y.actuator()...)...)...)
}

// give hands files to an account; nil: they stay ours.
func give(as *syscall.Credential, files ...string) error {
	if as == nil {
		return nil
	}
	for _, file := range files {
		if err := os.Chown(file, int(as.Uid), int(as.Gid)); err != nil {
			return err
		}
	}
	return nil
}

// modes lets only the owner write, or nobody.
func (f *filer) modes(folder, file os.FileMode) error {
	if err := os.Chmod(f.folder, folder); err != nil {
		return err
	}
	return os.Chmod(f.y.set.file, file)
}

// as tells if the file is not as it must be, or the journal open.
func (f *filer) as(want string, row *Told) {
	if now, err := os.ReadFile(f.y.set.file); err != nil || string(now) != want {
		row.Miss = fmt.Sprintf("the file is not as it must be (%v):\n%s", err, now)
	}
	if _, open, err := drive.ReadJournal(f.journal); err != nil || len(open) > 0 {
		row.Miss = fmt.Sprintf("the journal is still open (%v)", err)
	}
}

// readOnly gives a steerer a file that it may not write.
func (f *filer) readOnly(ctx context.Context) (Told, error) {
	row := Told{Case: "the file and its folder are read-only", Again: -1}
	if err := f.modes(0o555, 0o444); err != nil {
		return row, err
	}
	defer func() { _ = f.modes(0o755, 0o644) }()
	p, err := f.steer(nobody(), 0.3)
	if err != nil {
		return row, err
	}
	defer p.kill()
	await(ctx, 15*time.Second, 50*time.Millisecond, func() bool { return !p.alive() || p.count("refused") > 0 })
	f.tell(p, &row)
	p.stop(30 * time.Second)
	f.as(f.y.set.configured, &row)
	return row, nil
}

func (f *filer) tell(p *steerer, row *Told) {
	p.keep(filepath.Join(f.s.Work, "lie "+row.Case+".log"))
	row.Ended = !p.alive()
	for _, l := range p.lines() {
		if k := l.kind(); k == "decided" || k == "blind" {
			row.Looks++
		}
	}
	if row.Line, _ = telling(p.lines()); row.Line == "" {
		row.Line = lastLine(p)
	}
	if row.Line == "(nothing)" {
		row.Miss = "no line tells of it"
	}
}

// elsewhere has somebody change another part of the file while a steerer is at work: that must stay.
func (f *filer) elsewhere(ctx context.Context) (Told, error) {
	row := Told{Case: "somebody changes another part of the file", Again: -1}
	p, err := f.steer(nil, 0.3)
	if err != nil {
		return row, err
	}
	defer p.kill()
	if !p.await(ctx, 40*time.Second, 0, "taken") {
		row.Miss = "nothing was changed: " + lastLine(p)
	}
	b, err := os.ReadFile(f.y.set.file)
	if err != nil {
		return row, err
	}
	edit := func(s string) string { return strings.Replace(s, "<weight>1</weight>", "<weight>2.5</weight>", 1) }
	if err := os.WriteFile(f.y.set.file, []byte(edit(string(b))), 0o644); err != nil {
		return row, err
	}
	time.Sleep(time.Second)
	f.tell(p, &row)
	if row.Line, _ = telling(p.lines()); row.Line == "" {
		row.Line = "(none needed)"
	}
	p.stop(40 * time.Second)
	f.as(edit(f.y.set.configured), &row)
	return row, os.WriteFile(f.y.set.file, []byte(f.y.set.configured), 0o644)
}

// broken has somebody leave the file half written while a steerer is at work, and mend it later.
func (f *filer) broken(ctx context.Context) (Told, error) {
	row := Told{Case: "the file is half written by somebody", Again: -1}
	p, err := f.steer(nil, 0.3)
	if err != nil {
		return row, err
	}
	defer p.kill()
	if !p.await(ctx, 40*time.Second, 0, "taken") {
		row.Miss = "nothing was changed: " + lastLine(p)
	}
	ours, err := os.ReadFile(f.y.set.file)
	if err != nil {
		return row, err
	}
	half := ours[:len(ours)/2]
	if err := os.WriteFile(f.y.set.file, half, 0o644); err != nil {
		return row, err
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it must put back into what it cannot read
	time.Sleep(3 * time.Second)
	if now, err := os.ReadFile(f.y.set.file); err != nil || string(now) != string(half) {
		row.Miss = "it wrote over a file that it could not read"
	}
	if err := os.WriteFile(f.y.set.file, ours, 0o644); err != nil {
		return row, err
	}
	mended := time.Now()
	await(ctx, 60*time.Second, 50*time.Millisecond, func() bool { return !p.alive() && f.y.set.original(ctx) })
	row.Again = time.Since(mended).Milliseconds()
	f.tell(p, &row)
	f.as(f.y.set.configured, &row)
	return row, nil
}

// lostRight takes the right to write away while a steerer is at work: it cannot put back, says so and leaves it to its guard or to restore.
func (f *filer) lostRight(ctx context.Context) (Told, error) {
	row := Told{Case: "the folder becomes read-only after a change", Again: -1}
	if err := errors.Join(f.modes(0o755, 0o644), give(nobody(), f.folder, f.y.set.file)); err != nil {
		return row, err
	}
	defer func() { _ = f.modes(0o755, 0o644) }()
	p, err := f.steer(nobody(), 0.3)
	if err != nil {
		return row, err
	}
	defer p.kill()
	if !p.await(ctx, 40*time.Second, 0, "taken") {
		row.Miss = "nothing was changed: " + lastLine(p)
	}
	if err := f.modes(0o555, 0o444); err != nil {
		return row, err
	}
	guards := p.guards()
	p.stop(60 * time.Second)
	f.tell(p, &row)
	if _, open, _ := drive.ReadJournal(f.journal); len(open) == 0 {
		row.Miss = "the journal does not say that something is left to do"
	}
	if err := f.modes(0o755, 0o644); err != nil {
		return row, err
	}
	mended := time.Now()
	gone(ctx, 40*time.Second, guards...)
	if !f.y.set.original(ctx) {
		args := append([]string{"yarn", "restore", "--rm", f.y.RM(), "--user", who, "--journal", f.journal}, f.y.actuator()...)
		r, err := start(f.s.Binary, f.y.Dir, nobody(), args...)
		if err != nil {
			return row, err
		}
		if <-r.done; r.state == nil || !r.state.Success() {
			row.Miss = "yarn restore: " + lastLine(r)
		}
	}
	row.Again = time.Since(mended).Milliseconds()
	f.as(f.y.set.configured, &row)
	return row, nil
}
