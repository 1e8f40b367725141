package session

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/steer/drive/live"
)

// desk is a scheduler with one knob.
type desk struct {
	mu         sync.Mutex
	id         string
	text       string
	down, gone bool
}

var weight = drive.Knob{Kind: steer.SetQueue, Queue: "root.default", Property: "weight"}

func text(s string) drive.Value {
	x, _ := strconv.ParseFloat(s, 64)
	return drive.Value{Text: s, Set: true, Number: x}
}

func (d *desk) set(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
}

func (d *desk) setting() (s string) {
	d.set(func() { s = d.text })
	return s
}

func (d *desk) ask() error {
	switch {
	case d.down:
		return errors.New("connection refused")
	case d.gone:
		return drive.ErrGone
	}
	return nil
}

func (d *desk) Identity() string                                     { return d.id }
func (d *desk) Identities() []string                                 { return []string{d.id} }
func (d *desk) Queues() []string                                     { return []string{"root.default"} }
func (d *desk) Marks(context.Context) ([]drive.Mark, error)          { return nil, nil }
func (d *desk) Value(drive.Knob, float64) drive.Value                { return drive.Value{} }
func (d *desk) Spacing(drive.Knob) time.Duration                     { return 0 }
func (d *desk) Snapshot(context.Context) (s steer.Snapshot, _ error) { return s, nil }
func (d *desk) Read(context.Context, drive.Knob) (v drive.Value, err error) {
	d.set(func() { v, err = text(d.text), d.ask() })
	return v, err
}

func (d *desk) Write(_ context.Context, _ drive.Knob, v drive.Value) (err error) {
	d.set(func() {
		if err = d.ask(); err == nil {
			d.text = v.Text
		}
	})
	return err
}

func (d *desk) InForce(_ context.Context, _ drive.Knob, v drive.Value) (is bool, err error) {
	d.set(func() { is, err = d.text == v.Text, d.ask() })
	return is, err
}

// recovery restores on the desk.
func (d *desk) recovery(t *testing.T, j *live.DiskJournal) *Recovery {
	return &Recovery{Program: Program{Restore: "yardmaster yarn restore", Server: "the desk"}, Journal: j, Notice: t.Logf, Open: func(context.Context, []string) (Engine, func(), error) {
		var err error
		d.set(func() {
			if d.down {
				err = d.ask()
			}
		})
		return d, func() {}, err
	}}
}

func opened(t *testing.T, dir string) *live.DiskJournal {
	t.Helper()
	j, err := OpenJournal(t.Context(), dir, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// leftBehind is a journal with one change in it that nobody has put back, and a scheduler that goes by it.
func leftBehind(t *testing.T) (d *desk, dir string) {
	d, dir = &desk{id: "desk:" + t.Name() + "/root.default", text: "0.3"}, t.TempDir()
	j := opened(t, dir)
	r := &live.Runner{Engine: d, Journal: j.Journal}
	if err := r.Run(t.Context(), drive.NewSet(d, j.Journal, weight, text("0.3"), text("0.4"), "test")); err != nil || len(j.Open()) != 1 || d.setting() != "0.4" {
		t.Fatal(err, j.Open(), d.setting())
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	return d, dir
}

// away is a lock that nobody gives.
type away struct{}

func (away) Acquire(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
func (away) Lost() <-chan struct{}             { return nil }
func (away) Release() error                    { return nil }

// A steerer that had ZooKeeper's lock when it died is put right at once, under that lock. One that had lost it, or never got it, is not: another
// steerer may be at work, so that the lock has to be waited for.
func TestGuardGoesByTheLockOfTheDead(t *testing.T) {
	t.Parallel()
	locks := &Locks{New: func([]string, func()) (live.Lock, error) { return away{}, nil }}
	for _, held := range []time.Duration{time.Second, 0} {
		d, dir := leftBehind(t)
		j := opened(t, dir)
		r := d.recovery(t, j)
		r.Locks = locks
		limit := time.Minute
		if held == 0 {
			limit = 2 * time.Second // it waits for ZooKeeper for as long as it may
		}
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		err := r.runForDead(ctx, held)
		cancel()
		if got := d.setting(); held > 0 && (err != nil || got != "0.3") || held == 0 && (err == nil || got != "0.4") {
			t.Errorf("held %v: %q is set, %v", held, got, err)
		}
		_ = j.Close()
	}
}

// The guard of a dead steerer leaves the next one to put back, and takes over only if that goes without having done so.
func TestGuardInheritsWhatTheNextSteererLeaves(t *testing.T) {
	t.Parallel()
	for _, restores := range []bool{true, false} {
		d, dir := leftBehind(t)
		next := opened(t, dir) // the next steerer
		type heir struct {
			j   *live.DiskJournal
			err error
		}
		got := make(chan heir, 1)
		go func() {
			j, err := inherit(t.Context(), dir, heirWait, t.Logf)
			got <- heir{j, err}
		}()
		select {
		case <-got:
			t.Fatal("it did not wait")
		case <-time.After(1500 * time.Millisecond):
		}
		if restores {
			if err := d.recovery(t, next).Run(t.Context()); err != nil {
				t.Fatal(err)
			}
		} else if err := next.Close(); err != nil {
			t.Fatal(err)
		}
		h := <-got
		if h.err != nil || restores != (h.j == nil) || !restores && len(h.j.Open()) != 1 {
			t.Errorf("restores %v: %v", restores, h)
		}
		_ = next.Close()
		if h.j != nil {
			_ = h.j.Close()
		}
	}
}

// A guard that was started in place of another is told what that one knew.
func TestGuardIsToldAgain(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	g := &guard{pipe: w, dir: t.TempDir()}
	g.say(hasLock)
	if g.word != hasLock {
		t.Errorf("%q", g.word)
	}
	g.end(false)
	text := make([]byte, 64)
	n, err := r.Read(text)
	if err != nil || string(text[:n]) != hasLock+noLock {
		t.Errorf("%q %v", text[:n], err)
	}
	if claim(g.dir); !guarded(g.dir, os.Getpid()) {
		t.Error("not claimed", filepath.Join(g.dir, GuardFile), strconv.Itoa(os.Getpid()))
	}
}

// A queue that was removed meanwhile has nothing to be put back: it is not waited for until the end of days.
func TestRestoreOfARemovedQueue(t *testing.T) {
	t.Parallel()
	d, dir := leftBehind(t)
	d.set(func() { d.gone = true })
	j := opened(t, dir)
	defer j.Close()
	var out strings.Builder
	r := d.recovery(t, j)
	r.gone, r.Observe = 500*time.Millisecond, func(e drive.Event) { out.WriteString(e.String()) }
	err := r.Run(t.Context())
	if err != nil || len(j.Open()) > 0 || !strings.Contains(out.String(), "it is not there any more") {
		t.Errorf("%v, %v, %s", err, j.Open(), &out)
	}
}

// A steerer that hangs in the kernel cannot be ended, and keeps its locks. It was killed: what it changed is put back without them, and the journal
// stays open until it can be had.
func TestGuardOfASteererThatCannotEnd(t *testing.T) {
	t.Parallel()
	d, dir := leftBehind(t)
	stuck := opened(t, dir)
	defer stuck.Close()
	j, err := live.ViewJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	host, err := HostLock(t.Context(), []string{stuck.Open()[0].Engine}, HolderLeaves)
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	r := d.recovery(t, j)
	r.alone = true
	err = r.Run(ctx)
	if got := d.setting(); got != "0.3" || err == nil {
		t.Errorf("%q is set, %v", got, err)
	}
	if _, open, err := live.ReadJournal(dir); err != nil || len(open) != 1 {
		t.Errorf("the journal: %v, %v", open, err)
	}
}

// The ResourceManager is away while a steerer cannot end: when it is back, it is put right though the steerer has the journal still.
func TestGuardTriesAgainWithoutTheJournal(t *testing.T) {
	defer func(d time.Duration) { withoutJournalTries = d }(withoutJournalTries)
	withoutJournalTries = 1500 * time.Millisecond
	d, dir := leftBehind(t)
	stuck := opened(t, dir)
	d.set(func() { d.down = true })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	back := time.AfterFunc(4*time.Second, func() { d.set(func() { d.down = false }) }) // the first pass is over
	defer back.Stop()
	go func() {
		for d.setting() != "0.3" && wait(ctx, 50*time.Millisecond) == nil {
		}
		_ = stuck.Close() // it ends at last
	}()
	j, err := d.recovery(t, nil).takeOver(ctx, dir, os.Getpid())
	if got := d.setting(); err != nil || j == nil || got != "0.3" {
		t.Fatalf("%v, %v, %q is set", j, err, got)
	}
	_ = j.Close()
}

// Names of folders stay apart, and short enough.
func TestFolderNames(t *testing.T) {
	long := "yarn:cluster," + strings.Repeat("resourcemanager.of.a.long.domain:8088,", 8)
	names := map[string]bool{}
	for _, id := range []string{"yarn:a/b", "yarn:a_2fb", "yarn:a,b", long, long + "x"} {
		name := FileName(id)
		if len(name) > 255 || strings.ContainsAny(name, "/:,") {
			t.Errorf("%q", name)
		}
		names[name] = true
	}
	if len(names) != 5 {
		t.Errorf("%v", names)
	}
}

// What a steerer of several queues has left changed keeps a steerer of one of them from taking it for what is to be put back.
func TestLeftElsewhere(t *testing.T) {
	p := &Program{Restore: "yardmaster yarn restore"}
	base := t.TempDir()
	t.Setenv("XDG_STATE_HOME", base)
	dir := filepath.Join(base, "yardmaster", "steer", "ab")
	j, err := live.OpenJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	v := drive.Value{Text: "0.3", Set: true, Number: 0.3}
	err = j.Append(drive.Entry{At: time.Now(), What: drive.Before, Engine: "yarn:rm:8088/root.a,root.b", Knob: drive.Knob{Kind: steer.SetQueue, Queue: "root.a", Property: "weight"}, Original: &v, New: &v})
	if err != nil || j.Close() != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		own, identity string
		left          bool
	}{
		{"", "yarn:rm:8088/root.b", true}, {"", "yarn:rm:8088/root.c", false}, {"", "yarn:other:8088/root.b", false}, {dir, "yarn:rm:8088/root.b", false},
	} {
		err := p.LeftElsewhere(c.own, []string{"yarn:rm:8088/root.z", c.identity})
		if (err != nil) != c.left || c.left && !strings.Contains(err.Error(), "yarn restore --journal "+dir) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	// Journals lie side by side elsewhere, too, and a list of queues may be too long for an identity: then any queue may be meant.
	beside := t.TempDir()
	many := filepath.Join(beside, "many")
	if j, err = live.OpenJournal(many); err != nil {
		t.Fatal(err)
	}
	err = j.Append(drive.Entry{At: time.Now(), What: drive.Before, Engine: "yarn:rm2:8088/90-" + strings.Repeat("5", 64), Knob: drive.Knob{Kind: steer.SetPriority, Job: "application_1_0001"}, Original: &v, New: &v})
	if err != nil || j.Close() != nil {
		t.Fatal(err)
	}
	for identity, left := range map[string]bool{"yarn:rm2:8088/root.x": true, "yarn:rm3:8088/root.x": false} {
		if err := p.LeftElsewhere(filepath.Join(beside, "own"), []string{identity}); (err != nil) != left {
			t.Errorf("%s: %v", identity, err)
		}
	}
	if got := QueuesOf(&drive.Entry{Engine: "yarn:rm2:8088/90-" + strings.Repeat("5", 64)}); got != nil {
		t.Error(got)
	}
	if got := QueuesOf(&drive.Entry{Engine: "yarn:http://rm:8088/root.a,root.b"}); len(got) != 2 || got[1] != "root.b" {
		t.Error(got)
	}
}

// A guard that does not read any more is replaced.
func TestGuardThatDoesNotRead(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	g := &guard{pipe: w, dir: t.TempDir(), cmd: exec.Command("sleep", "60")}
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for err == nil { // until there is no room
		_ = w.SetWriteDeadline(time.Now().Add(200 * time.Millisecond))
		_, err = w.Write(make([]byte, 4096))
	}
	g.say(hasLock)
	if err := g.cmd.Wait(); err == nil || g.cmd.ProcessState.ExitCode() != -1 {
		t.Errorf("a guard that does not read: %v", err)
	}
}
