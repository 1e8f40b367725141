package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/internal/build"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/steer/drive/live"
	"github.com/yardmaster/yardmaster/web/steering"
	"github.com/yardmaster/yardmaster/yarn/yard"
)

// session is one run of the command.
type session struct {
	f       *steerFlags
	yard    *yard.Yard
	notice  func(format string, args ...any)
	log     *eventLog
	board   *steering.Board
	journal *live.DiskJournal
	host    io.Closer
	lock    live.Lock
	guard   *guard
}

// prepare does what must precede any change: it opens the journal and restores what is open in it, checks the actuator
// as far as possible, and starts a guard.
func (s *session) prepare(ctx context.Context) (err error) {
	f := s.f
	dir, err := f.journalDir(s.yard.Identity())
	if err != nil {
		return err
	}
	if s.journal, err = openJournal(ctx, dir, s.notice); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			s.leave()
		}
	}()
	if s.host, err = hostLock(ctx, s.yard.Identities(), holderLeaves); err != nil {
		return err
	}
	for _, e := range s.journal.Open() {
		if e.Engine != s.yard.Identity() {
			return fmt.Errorf("the journal %s has open changes to other queues (%s): restore them first with yardmaster yarn restore --journal %s", dir, e.Knob, dir)
		}
	}
	if open := s.journal.Open(); len(open) > 0 && len(f.zk) == 0 { // otherwise once the lock is held: the driver does it first
		s.notice("The journal says that a steerer left %s changed: restoring first.", settingsWord(len(open)))
		within, stop := context.WithTimeout(ctx, 2*time.Minute)
		n, err := live.Recover(within, s.yard, s.journal.Journal, func(e drive.Event) { s.log.event(&e) })
		stop()
		if err != nil {
			return fmt.Errorf("what a steerer left behind cannot be restored: %w", err)
		}
		s.notice("Restored %s.", settingsWord(n))
	}
	if err := errors.Join(s.journal.Damage(), leftElsewhere(dir, s.yard.Identities())); err != nil {
		return err
	}
	if len(s.journal.Open()) == 0 {
		var marks []yard.Mark
		if err := f.inTime(ctx, func(in context.Context) (err error) { marks, err = s.yard.Marks(in); return err }); err != nil {
			return err
		}
		if err := cmp.Or(lostFrom(dir, marks), removedHere(marks, s.yard.Queues())); err != nil {
			return err
		}
	}
	if f.policy == "" { // yarn apply, which reads its settings itself
	} else if err := f.inTime(ctx, s.yard.CanAct); err != nil && f.known.Find(f.policy).Needs.AMLimit {
		return fmt.Errorf("it cannot act: %w", err)
	}
	if s.lock, err = newLock(f.zk, s.yard.Identities(), func() { s.guard.say(hasLock) }); err != nil {
		return err
	}
	args := f.args()
	if err := noteHow(dir, args); err != nil {
		return err
	}
	s.guard, err = startGuard(dir, append([]string{"yarn", "restore", "--guard", "--journal=" + dir}, args...), f.stalled, s.notice)
	return err
}

// leftElsewhere fails if another journal, beside this one or at the default location, may have a knob of a queue open: a steerer of several queues
// may have left it, and the value found now would be taken for the original.
func leftElsewhere(own string, identities []string) error {
	base, _ := live.StateDir() // without one there is no other journal
	others, _ := filepath.Glob(filepath.Join(base, "*"))
	if dir := filepath.Dir(own); dir != base {
		beside, _ := filepath.Glob(filepath.Join(dir, "*"))
		others = append(others, beside...)
	}
	cluster := func(identity string) string { return identity[:strings.LastIndexByte(identity, '/')+1] }
	for _, dir := range others {
		if dir == own {
			continue
		}
		_, open, err := live.ReadJournal(dir) // not ours to judge if it is damaged or somebody else's, but what it has open counts
		for i := range open {
			names, of := queuesOf(&open[i]), cluster(open[i].Engine)
			shared := slices.ContainsFunc(names, func(q string) bool { return slices.Contains(identities, of+q) }) || slices.Contains(identities, of+open[i].Knob.Queue)
			if shared || names == nil && of == cluster(identities[0]) {
				return fmt.Errorf("%v: what a steerer left changed is in another journal: restore it first with yardmaster yarn restore --journal %s", open[i].Knob, dir)
			}
		}
		var damage *live.DamagedError
		if errors.As(err, &damage) && filepath.Dir(dir) == base {
			return err
		}
	}
	return nil
}

// leave releases the journal and the guard, or lets the guard take over.
func (s *session) leave() {
	left := len(s.journal.Open())
	if s.host != nil {
		_ = s.host.Close() // the guard needs it
	}
	if err := s.journal.Close(); err != nil {
		s.notice("The journal: %v", err)
	}
	if s.guard == nil {
		return
	}
	err := s.guard.end(left == 0)
	switch byHand := "yardmaster yarn restore --journal " + s.guard.dir; {
	case left > 0 && err != nil:
		s.notice("%s could not be restored yet, and there is no guard to keep trying (%v). By hand: %s", settingsWord(left), err, byHand)
	case left > 0:
		s.notice("%s could not be restored yet: the guard, process %d, keeps trying. By hand: %s", settingsWord(left), s.guard.pid(), byHand)
	}
}

func settingsWord(n int) string {
	if n == 1 {
		return "1 setting"
	}
	return fmt.Sprintf("%d settings", n)
}

// kept is what would be restored. It is called by the driver, which alone writes the journal.
func (s *session) kept() []steering.Kept {
	if s.journal == nil {
		return nil
	}
	var list []steering.Kept
	for _, e := range s.journal.Open() {
		list = append(list, steering.Kept{Knob: e.Knob.String(), Original: e.Original.String()})
	}
	return list
}

// serve starts the page. A busy port is an error only if the address was given.
func (s *session) serve(ctx context.Context) (end func(), address string) {
	if s.f.listen == "" || s.f.listen == "off" {
		return func() {}, ""
	}
	l, err := net.Listen("tcp", s.f.listen)
	if err != nil {
		s.notice("There is no status page: %v. Give another address with --listen.", reasonOfListen(err))
		return func() {}, ""
	}
	if a, ok := l.Addr().(*net.TCPAddr); ok && !a.IP.IsLoopback() {
		s.notice("Warning: --listen %s shows the status page, which has no login, to everyone who can reach this machine. For this machine only: --listen %s",
			s.f.listen, defaultListen)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx)) // it stays up during the restore
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := s.board.Serve(ctx, l); err != nil {
			s.notice("The status page ended: %v", err)
		}
	}()
	return func() { stop(); <-done }, l.Addr().String()
}

func reasonOfListen(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Addr != nil {
		return fmt.Errorf("cannot listen on %s: %w", op.Addr, op.Err)
	}
	return err
}

// look collects what there is to know at the start, for the operator.
func (s *session) look(ctx context.Context, policy steer.Steerer) ([]steering.Fact, steering.About) {
	f, y := s.f, s.yard
	tells, _ := policy.(steer.Describer)
	about := steering.About{
		Version: build.Version(), Cluster: strings.Join(f.rm, ", "), Scheduler: y.Limit().Scheduler, Queue: strings.Join(y.Queues(), ", "), Policy: f.policy, Actuator: y.Actuator(),
		CPU: sourceName(f.cpu), Act: f.act, AMShare: f.known.Find(f.policy).Needs.AMLimit, Started: time.Now(),
	}
	if f.act {
		about.Journal = s.journal.Dir()
	}
	facts := []steering.Fact{{Label: "cluster", Value: about.Cluster + " (" + about.Scheduler + ")"}, {Label: "queue", Value: about.Queue}}
	add := func(label, format string, args ...any) {
		facts = append(facts, steering.Fact{Label: label, Value: fmt.Sprintf(format, args...)})
	}
	var snap steer.Snapshot
	if err := f.inTime(ctx, func(in context.Context) (err error) { snap, err = y.Snapshot(in); return err }); err != nil {
		add("seen", "no good sample yet: %v", err)
	} else {
		s.describe(add, &snap, tells)
	}
	for _, n := range y.Notes() {
		add("note", "%s", n)
	}
	add("policy", "%s: %s", f.policy, f.known.Find(f.policy).Title)
	bounds := fmt.Sprintf("%.4g to %.4g", f.min, f.max)
	if tells != nil {
		bounds = cmp.Or(tells.Bounds(), bounds)
	}
	if f.known.Find(f.policy).Needs.Queue {
		bounds += fmt.Sprintf(", at most %d jobs after a sample", steer.MovesPerSample)
	} else {
		bounds += fmt.Sprintf(", at most %d changes an hour", f.perHour)
	}
	add("bounds", "%s", bounds)
	if f.act {
		add("journal", "%s", about.Journal)
	}
	about.Facts = facts[2:]
	return facts, about
}

// sourceName is the source of idle processors, without the address, which may contain a password: the page and the metrics show it.
func sourceName(cpu string) string {
	if name, _, is := strings.Cut(cpu, "="); is && name == "prometheus" {
		return name
	}
	return cmp.Or(cpu, "allocation")
}

// describe describes the queue in a snapshot.
func (s *session) describe(add func(label, format string, args ...any), snap *steer.Snapshot, tells steer.Describer) {
	for i := range snap.Queues {
		q := &snap.Queues[i]
		if !slices.Contains(s.f.queues, q.Name) {
			continue
		}
		of := ""
		if len(s.f.queues) > 1 {
			of = q.Name + ": "
		}
		if tells != nil && tells.Found(q) != "" {
			add("share", "%s%s", of, tells.Found(q))
		}
		add("jobs", "%s%d run, %d wait", of, q.Running, q.Waiting)
	}
	if snap.CPUIdle >= 0 {
		add("idle", "%.0f %% of the processors", snap.CPUIdle*100)
	}
}
