package endure

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/steer/drive/live"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/studies/lab/host"
	"github.com/yardmaster/yardmaster/studies/lab/proc"
	"github.com/yardmaster/yardmaster/studies/lab/steerer"
)

// Kill is one kill of the steerer.
type Kill struct {
	N         int    `json:"n"`
	Scheduler string `json:"scheduler"`
	Original  string `json:"original"` // "0.10" or "unset"
	Policy    string `json:"policy"`
	After     int64  `json:"after_ms"`        // after the start of the process
	Aimed     bool   `json:"aimed,omitempty"` // killed as soon as the journal had grown
	Guard     string `json:"guard"`           // "lives", "killed" with it, or "none" yet
	Entries   int    `json:"entries"`         // of the journal, by this process
	Open      bool   `json:"open"`            // the journal had something to restore
	Between   bool   `json:"between"`         // killed between the two entries of a change
	Changed   bool   `json:"changed"`         // the setting differed from the original after the kill
	Back      int64  `json:"back_ms"`         // until restored; -1: not observed separately
	By        string `json:"by"`              // what restored it: "guard", "restore", "next start"; "" if there was nothing to do
	InForce   int64  `json:"in_force_ms,omitempty"`
	// Held counts the open knobs, where several kinds are turned: properties with their queue, priorities and queues of applications.
	Held map[string]int `json:"held,omitempty"`
	Miss string         `json:"miss,omitempty"`
}

// restoreTimeout is the timeout for the guard to restore the setting.
const restoreTimeout = 10 * time.Second

// restoreTimeout is longer for several knobs of one file, which is written at most every 5 s.
func (k *killer) restoreTimeout() time.Duration {
	if k.y.set.homes != nil {
		return 3 * restoreTimeout
	}
	return restoreTimeout
}

// kills runs two thirds of the kills with the CapacityScheduler over REST, a third with the FairScheduler's file.
func (s *Study) kills(ctx context.Context, t *sheet) error {
	fair := s.Kills / 3
	return s.killed(ctx, t, map[string]int{"capacity": s.Kills - fair, "fair": fair}, []string{unnamed, named}, func(_ context.Context, k *killer) error {
		k.policy = func() (string, []string) {
			if k.random.IntN(4) == 0 {
				return "static", still(0.2 + 0.6*k.random.Float64())
			}
			return "cbt", lively("50ms")
		}
		return nil
	})
}

// killed kills steerers the given number of times with each scheduler, concurrently.
func (s *Study) killed(ctx context.Context, t *sheet, times map[string]int, originals []string, begin func(context.Context, *killer) error) error {
	schedulers := []string{"capacity", "fair"}
	halves := make([]*killer, len(schedulers))
	err := host.Each(ctx, len(schedulers), len(schedulers), func(ctx context.Context, i int) error {
		k := &killer{s: s, bin: s.bin, part: t.Head.Part, scheduler: schedulers[i], random: rand.New(rand.NewPCG(s.Seed, uint64(6+i)))}
		halves[i] = k
		if times[k.scheduler] == 0 {
			return nil
		}
		return k.run(ctx, times[k.scheduler], originals, begin)
	})
	if err != nil {
		return err
	}
	for i, apps := range []*AppCounts{&t.Sum.Capacity, &t.Sum.Fair} {
		k := halves[i]
		*apps = k.sum.Apps
		for _, row := range k.done {
			t.add(&row, row.Miss, "kill %d (%s, %s)", row.N, row.Scheduler, row.Original)
		}
		t.Sum.Final, t.Sum.Tried, t.Sum.Misses = append(t.Sum.Final, k.sum.Final...), append(t.Sum.Tried, k.sum.Tried...), append(t.Sum.Misses, k.sum.Misses...)
	}
	return nil
}

// run executes n kills, equally many per original. Applications arrive in waves throughout, and all must succeed.
func (k *killer) run(ctx context.Context, n int, originals []string, begin func(context.Context, *killer) error) error {
	queues, o := queue, hadoop.Options{Scheduler: k.scheduler}
	switch {
	case k.part == "knobs":
		queues, o = knobQueues(k.scheduler)
	case k.scheduler == "fair":
		o.SchedulerXML = fairQueues(unnamed)
	}
	y, err := k.s.open(ctx, k.part+"-"+k.scheduler, queues, o)
	if err != nil {
		return err
	}
	defer func() { _ = y.Down() }()
	k.y = y
	if err := begin(ctx, k); err != nil {
		return err
	}
	l := &load{c: y.Cluster, queue: y.set.queue, apps: min(60, 4*n), hold: 3000}
	if err := l.begin(ctx, y.rm); err != nil {
		return err
	}
	defer l.cancel()
	for i, original := range originals {
		if i > 0 {
			if err := y.rename(ctx); err != nil {
				return err
			}
		}
		k.original, k.n, k.seen = original, 0, 0
		for range (n + i) / len(originals) {
			if err := k.killOne(ctx); err != nil {
				return err
			}
		}
		if len(k.wait) > 0 {
			k.byHand(ctx)
		}
		k.finish()
		k.sum.Final = append(k.sum.Final, k.final(ctx))
	}
	k.sum.Apps, err = y.leave(ctx, l, &k.sum, k.scheduler)
	return err
}

// rename starts the queue with its own share.
func (y *yard) rename(ctx context.Context) error {
	text := named
	if y.set.file != "" {
		text = fairQueues(named)
	}
	if err := y.set.set(ctx, text); err != nil {
		return err
	}
	// The FairScheduler takes some seconds; its limit stays the same.
	set, err := newSetting(ctx, y.rm, queue, y.set.file)
	if err != nil {
		return err
	}
	set.inForce = y.set.inForce
	y.set = set
	return nil
}

// killer kills steerers.
type killer struct {
	s                   *Study
	bin, part           string
	y                   *yard
	scheduler, original string
	random              *rand.Rand
	policy              func() (name string, args []string) // of the next steerer
	sum                 Sum
	wait, done          []Kill // not restored yet, and complete
	n, seen             int
}

// killOne starts a steerer, lets it work for a while and kills it.
func (k *killer) killOne(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	k.n++
	longest := 3 * time.Second
	if k.scheduler == "fair" { // written at most every 5 s
		longest = 8 * time.Second
	}
	after := 5*time.Millisecond + time.Duration(k.random.Int64N(int64(longest-5*time.Millisecond)))
	policy, args := k.policy()
	row := Kill{N: 1 + len(k.done) + len(k.wait), Scheduler: k.scheduler, Original: k.original, Policy: policy, After: after.Milliseconds(), Back: -1}
	before, _, _ := live.ReadJournal(k.y.journal) // none yet: no entries
	p, err := k.y.steer(k.bin, "", nil, args...)
	if err != nil {
		return err
	}
	time.Sleep(time.Until(p.Began.Add(after)))
	guards := p.Guards()
	if row.Aimed = k.n%4 == 1; row.Aimed {
		growth(filepath.Join(k.y.journal, journalFile), longest)
		if len(guards) == 0 {
			guards = p.Guards()
		}
	}
	if !p.Alive() {
		row.Miss = "the steerer had ended by itself: " + p.Last()
	}
	row.Guard = strike(p, guards, k.n%3 == 0)
	fell := time.Now()
	entries, open, err := live.ReadJournal(k.y.journal)
	if err != nil {
		row.Miss = "the journal cannot be read: " + err.Error()
	}
	row.Entries, row.Open, row.Held = len(entries)-len(before), len(open) > 0, heldKnobs(open, policy)
	row.Between = len(entries) > 0 && entries[len(entries)-1].What == drive.Before // a change lacks its second entry
	row.Changed = !k.y.set.original(ctx)
	send(guards, syscall.SIGCONT)
	if row.Changed && !row.Open {
		row.Miss = "the setting was changed and the journal does not say so"
	}
	// A start that finds an open journal restores first.
	if p.Count("restored") > 0 {
		for i := range k.wait {
			k.wait[i].By = "next start"
		}
		k.finish()
	}
	k.wait = append(k.wait, row)
	switch row.Guard {
	case "lives":
		k.byGuard(ctx, fell, guards)
	case "killed", "none":
		if !row.Open && !row.Changed {
			k.finish()
		} else if k.random.IntN(2) == 0 {
			k.byHand(ctx)
		}
	}
	return nil
}

// strike kills a process, with its guards or without. Those that live are stopped for a moment, to read what the kill left behind.
func strike(p *steerer.Process, guards []int, both bool) (guard string) {
	switch {
	case len(guards) == 0:
		p.End()
		return "none"
	case both:
		p.End(guards...)
		return "killed"
	}
	send(guards, syscall.SIGSTOP)
	p.End()
	return "lives"
}

func send(processes []int, s syscall.Signal) {
	for _, p := range processes {
		_ = syscall.Kill(p, s) // it may have ended
	}
}

// finish completes the waiting rows: their setting was seen, or must have been, restored.
func (k *killer) finish() {
	for i := range k.wait {
		r := &k.wait[i]
		k.s.say("%s %d: after %d ms, guard %s, open %v: back by %s after %d ms %s", r.Scheduler, r.N, r.After, r.Guard, r.Open, r.By, r.Back, r.Miss)
	}
	k.done = append(k.done, k.wait...)
	k.wait = nil
}

// byGuard waits until the guard has restored the setting.
func (k *killer) byGuard(ctx context.Context, fell time.Time, guards []int) {
	row := &k.wait[len(k.wait)-1]
	if !proc.Await(ctx, k.restoreTimeout(), 20*time.Millisecond, func() bool { return k.y.set.original(ctx) }) {
		row.Miss = fmt.Sprintf("not put back within %v: %.300s", k.restoreTimeout(), k.y.set.differs(ctx))
		return
	}
	row.Back = time.Since(fell).Milliseconds()
	if row.Open {
		for i := range k.wait {
			if k.wait[i].Open && k.wait[i].By == "" {
				k.wait[i].By = "guard"
			}
		}
	}
	if k.scheduler != "fair" || row.Changed && k.seen < 6 { // slow with a file: not every time
		k.seen++
		if !proc.Await(ctx, k.settleTimeout(), 50*time.Millisecond, func() bool { return k.y.set.obeyed(ctx) }) {
			now, err := k.y.set.tree(ctx)
			row.Miss = fmt.Sprintf("put back, but the scheduler does not go by it: %s, %v", now, err)
		}
		row.InForce = time.Since(fell).Milliseconds()
	}
	if !proc.Await(ctx, 30*time.Second, 10*time.Millisecond, func() bool { return proc.Gone(guards...) }) {
		row.Miss = "the guard does not end"
	}
	if open := openJournal(k.y.journal); open != "" {
		row.Miss = "the setting is back and " + open
	}
	k.finish()
}

// byHand restores the setting as an operator does.
func (k *killer) byHand(ctx context.Context) {
	row := &k.wait[len(k.wait)-1]
	began := time.Now()
	if err := k.y.restore(ctx, k.bin); err != nil {
		row.Miss = "restore: " + err.Error()
		return
	}
	row.Back = time.Since(began).Milliseconds()
	if d := k.y.set.differs(ctx); d != "" {
		row.Miss = "restore has ended and the setting is not as found: " + d
	}
	for i := range k.wait {
		if k.wait[i].Open {
			k.wait[i].By = "restore"
		}
	}
	k.finish()
}

// settleTimeout is the timeout for the scheduler to apply a setting.
func (k *killer) settleTimeout() time.Duration {
	if k.scheduler == "fair" {
		return 2 * restoreTimeout
	}
	return restoreTimeout
}

// final is the final check.
func (k *killer) final(ctx context.Context) string {
	same := k.y.set.original(ctx)
	obeyed := proc.Await(ctx, k.settleTimeout(), 100*time.Millisecond, func() bool { return k.y.set.obeyed(ctx) })
	_, open, err := live.ReadJournal(k.y.journal)
	text := fmt.Sprintf("%s, found %s: as found %v, in force %v, journal open %v", k.scheduler, k.original, same, obeyed, len(open) > 0)
	if !same || !obeyed || len(open) > 0 || err != nil {
		k.sum.miss("%s", text)
	}
	return text
}

// journalFile is the append-only file of a journal.
const journalFile = "journal.jsonl"

// growth returns once a file has grown, or after the limit.
func growth(file string, limit time.Duration) {
	size := func() int64 {
		if st, err := os.Stat(file); err == nil {
			return st.Size()
		}
		return 0
	}
	began, now := size(), time.Now()
	for size() == began && time.Since(now) < limit {
		time.Sleep(50 * time.Microsecond)
	}
}
