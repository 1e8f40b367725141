package endure

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/yardmaster/yardmaster/steer/drive/live"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/studies/lab/proc"
	"github.com/yardmaster/yardmaster/studies/lab/steerer"
)

// nobody is an account without write access to the lab's files. Only root can become it; for others the file modes alone must refuse.
func nobody() *syscall.Credential {
	if os.Getuid() != 0 {
		return nil
	}
	return &syscall.Credential{Uid: 65534, Gid: 65534}
}

// fileFaults tests a FairScheduler whose file or folder is not writable, or is written concurrently by someone else.
func (s *Study) fileFaults(ctx context.Context, t *sheet) error {
	y, err := s.open(ctx, "lies-file", queue, hadoop.Options{Scheduler: "fair", SchedulerXML: fairQueues(named)})
	if err != nil {
		return err
	}
	defer func() { _ = y.Down() }()
	if err := os.Mkdir(y.journal, 0o700); err != nil {
		return err
	}
	f := &filer{s: s, y: y, folder: filepath.Dir(y.set.file)}
	cases := []fileCase{
		{"the file and its folder are read-only", true, f.readOnly}, {"somebody changes another part of the file", false, f.elsewhere},
		{"the file is half written by somebody", false, f.broken}, {"the folder becomes read-only after a change", true, f.lostRight},
	}
	if s.Brief {
		cases = cases[:1]
	}
	for i, c := range cases {
		row, err := f.try(ctx, c, i > 0)
		if err != nil {
			return err
		}
		s.addFault(t, &row)
	}
	return nil
}

// fileCase is a fault of the file while a steerer runs, as nobody or as this account.
type fileCase struct {
	name   string
	nobody bool
	then   func(ctx context.Context, p *steerer.Process, row *FaultResult) error
}

// try starts a steerer and injects the fault; with taken, after its first change.
func (f *filer) try(ctx context.Context, c fileCase, taken bool) (FaultResult, error) {
	row := FaultResult{Case: c.name, Where: "file", Again: -1}
	defer func() { _ = f.modes(0o755, 0o644) }()
	defer func() { _ = give(nil, f.folder) }()
	var as *syscall.Credential
	if c.nobody {
		as = nobody()
	}
	owned, err := []string{f.y.journal}, error(nil)
	if taken { // writable at first
		owned = append(owned, f.folder)
	} else {
		err = f.modes(0o555, 0o444)
	}
	if err == nil {
		err = give(as, owned...)
	}
	if err != nil {
		return row, err
	}
	p, err := f.y.steer(f.s.bin, "", as, still(0.3)...)
	if err != nil {
		return row, err
	}
	defer p.End()
	if taken && !p.Await(ctx, 40*time.Second, 0, "taken") {
		row.Miss = "nothing was changed: " + p.Last()
	}
	return row, c.then(ctx, p, &row)
}

// filer runs the file faults.
type filer struct {
	s      *Study
	y      *yard
	folder string
}

// give makes an account, or root, the owner of what it is to write: the steerer rejects files that others can write.
func give(as *syscall.Credential, paths ...string) error {
	if os.Getuid() != 0 {
		return nil
	}
	owner := 0
	if as != nil {
		owner = int(as.Uid)
	}
	for _, path := range paths {
		inside, err := filepath.Glob(filepath.Join(path, "*"))
		if err != nil {
			return err
		}
		for _, p := range append(inside, path) {
			if err := os.Lchown(p, owner, owner); err != nil {
				return err
			}
		}
	}
	return nil
}

// open is the number of open settings in the journal. It reads a copy: the journal may belong to another account.
func (f *filer) open() (int, error) {
	dir, err := os.MkdirTemp("", "yardmaster-endure-journal-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // a copy
	data, err := os.ReadFile(filepath.Join(f.y.journal, journalFile))
	if os.IsNotExist(err) {
		return 0, nil
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, journalFile), data, 0o600)
	}
	if err != nil {
		return 0, err
	}
	_, open, err := live.ReadJournal(dir)
	return len(open), err
}

// modes sets the modes of the folder and the file.
func (f *filer) modes(folder, file os.FileMode) error {
	if err := os.Chmod(f.folder, folder); err != nil {
		return err
	}
	return os.Chmod(f.y.set.file, file)
}

// as reports a file that differs from want, or an open journal.
func (f *filer) as(want string, row *FaultResult) {
	if now, err := os.ReadFile(f.y.set.file); err != nil || string(now) != want {
		row.Miss = fmt.Sprintf("the file is not as it must be (%v):\n%s", err, now)
	}
	if open, err := f.open(); err != nil || open > 0 {
		row.Miss = fmt.Sprintf("the journal is still open (%v)", err)
	}
}

// readOnly tests a file that the steerer may not write.
func (f *filer) readOnly(ctx context.Context, p *steerer.Process, row *FaultResult) error {
	proc.Await(ctx, 15*time.Second, 50*time.Millisecond, func() bool { return !p.Alive() || p.Count("refused") > 0 })
	f.report(p, row)
	p.Stop(30 * time.Second)
	f.as(f.y.set.configured, row)
	return nil
}

func (f *filer) report(p *steerer.Process, row *FaultResult) {
	p.Keep(filepath.Join(f.s.work, "lie "+row.Case+".log"))
	row.Ended = !p.Alive()
	row.Samples = p.Count("decided", "blind")
	if row.Line = cmp.Or(firstReport(p.Lines()), p.Last()); row.Line == "(nothing)" {
		row.Miss = "no line tells of it"
	}
}

// elsewhere changes another part of the file concurrently: that change must survive.
func (f *filer) elsewhere(_ context.Context, p *steerer.Process, row *FaultResult) error {
	b, err := os.ReadFile(f.y.set.file)
	if err != nil {
		return err
	}
	edit := func(s string) string { return strings.Replace(s, "<weight>1</weight>", "<weight>2.5</weight>", 1) }
	if err := os.WriteFile(f.y.set.file, []byte(edit(string(b))), 0o644); err != nil {
		return err
	}
	time.Sleep(time.Second)
	f.report(p, row)
	row.Line = cmp.Or(firstReport(p.Lines()), "(none needed)")
	p.Stop(40 * time.Second)
	f.as(edit(f.y.set.configured), row)
	return os.WriteFile(f.y.set.file, []byte(f.y.set.configured), 0o644)
}

// broken leaves the file half written, and repairs it later.
func (f *filer) broken(ctx context.Context, p *steerer.Process, row *FaultResult) error {
	ours, err := os.ReadFile(f.y.set.file)
	if err != nil {
		return err
	}
	half := ours[:len(ours)/2]
	if err := os.WriteFile(f.y.set.file, half, 0o644); err != nil {
		return err
	}
	_ = p.Signal(syscall.SIGTERM) // it must restore into a file that it cannot parse
	time.Sleep(3 * time.Second)
	if now, err := os.ReadFile(f.y.set.file); err != nil || string(now) != string(half) {
		row.Miss = "it wrote over a file that it could not read"
	}
	if err := os.WriteFile(f.y.set.file, ours, 0o644); err != nil {
		return err
	}
	mended := time.Now()
	proc.Await(ctx, 60*time.Second, 50*time.Millisecond, func() bool { return !p.Alive() && f.y.set.original(ctx) })
	row.Again = time.Since(mended).Milliseconds()
	f.report(p, row)
	f.as(f.y.set.configured, row)
	return nil
}

// lostRight revokes write access: the steerer cannot restore, says so and leaves it to its guard or to yarn restore.
func (f *filer) lostRight(ctx context.Context, p *steerer.Process, row *FaultResult) error {
	if err := f.modes(0o555, 0o444); err != nil {
		return err
	}
	guards := p.Guards()
	p.Stop(60 * time.Second)
	f.report(p, row)
	if open, _ := f.open(); open == 0 {
		row.Miss = "the journal does not say that something is left to do"
	}
	if err := f.modes(0o755, 0o644); err != nil {
		return err
	}
	mended := time.Now()
	proc.Await(ctx, 40*time.Second, 10*time.Millisecond, func() bool { return proc.Gone(guards...) })
	if !f.y.set.original(ctx) {
		if err := give(nil, f.folder, f.y.journal); err != nil {
			return err
		}
		if err := f.y.restore(ctx, f.s.bin); err != nil {
			row.Miss = err.Error()
		}
	}
	row.Again = time.Since(mended).Milliseconds()
	f.as(f.y.set.configured, row)
	return nil
}
