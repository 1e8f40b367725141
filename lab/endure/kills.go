package endure

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/yardmaster/yardmaster/lab/hadoop"
	"github.com/yardmaster/yardmaster/lab/proc"
	"github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/steer/drive/live"
)

// Kill is one blow.
type Kill struct {
	N         int    `json:"n"`
	Scheduler string `json:"scheduler"`
	Original  string `json:"original"` // "0.10" or "unset"
	Policy    string `json:"policy"`
	After     int64  `json:"after_ms"`        // after the start of the process
	Aimed     bool   `json:"aimed,omitempty"` // it fell as soon as the journal had grown
	Guard     string `json:"guard"`           // "lives", "killed" with it, or "none" yet
	Entries   int    `json:"entries"`         // of the journal, by this process
	Open      bool   `json:"open"`            // the journal said that something had to be put back
	Between   bool   `json:"between"`         // the blow fell after a change's first entry and before its second
	Changed   bool   `json:"changed"`         // the setting was not as found when the blow had fallen
	Back      int64  `json:"back_ms"`         // until it was as found again; -1: not seen by itself
	By        string `json:"by"`              // what put it back: "guard", "restore", "next start"; "" when there was nothing to do
	InForce   int64  `json:"in_force_ms,omitempty"`
	Miss      string `json:"miss,omitempty"`
}

// backWithin is how long the guard may take to put the setting back.
const backWithin = 10 * time.Second

// kills takes turns: two thirds of the blows with the CapacityScheduler over REST, a third with the FairScheduler's file.
func (s *Study) kills(ctx context.Context) error {
	t := sheet[Kill]{Head: s.head("kills")}
	random := rand.New(rand.NewPCG(s.Seed, 6))
	fair := s.Kills / 3
	for _, half := range []struct {
		scheduler string
		n         int
		fate      *Fate
	}{{"capacity", s.Kills - fair, &t.Sum.Capacity}, {"fair", fair, &t.Sum.Fair}} {
		if half.n == 0 {
			continue
		}
		f, err := s.killsOf(ctx, half.scheduler, half.n, random, &t)
		if err != nil {
			return err
		}
		*half.fate = f
		if f.lost() {
			t.Sum.miss("%s: %d of %d applications have not ended well", half.scheduler, f.Submitted-f.Succeeded, f.Submitted)
		}
	}
	return t.save(s.Dir)
}

func (s *Study) killsOf(ctx context.Context, scheduler string, n int, random *rand.Rand, t *sheet[Kill]) (Fate, error) {
	o := hadoop.Options{Scheduler: scheduler}
	if scheduler == "fair" {
		o.SchedulerXML = fairQueues(unnamed)
	}
	y, err := s.open(ctx, "kills-"+scheduler, o)
	if err != nil {
		return Fate{}, err
	}
	defer func() { _ = y.Down() }()
	l := &load{c: y.Cluster, queue: queue, apps: min(60, 4*n), hold: 3000}
	if err := l.begin(ctx, y.rm); err != nil {
		return Fate{}, err
	}
	defer l.cancel()
	for half, original := range []string{unnamed, named} {
		count := n / 2
		if half == 1 {
			count = n - n/2
			if err := y.rename(ctx); err != nil {
				return Fate{}, err
			}
		}
		k := &killer{s: s, y: y, scheduler: scheduler, original: original, random: random}
		for range count {
			if err := k.blow(ctx, len(t.Rows)+1); err != nil {
				return Fate{}, err
			}
			t.Rows = append(t.Rows, k.last...)
			k.last = nil
		}
		t.Rows = append(t.Rows, k.settle(ctx)...)
		t.Sum.Final = append(t.Sum.Final, k.final(ctx, &t.Sum))
		for i := range t.Rows {
			if t.Rows[i].Miss != "" && t.Rows[i].Scheduler == scheduler && t.Rows[i].Original == original {
				t.Sum.miss("kill %d (%s, %s): %s", t.Rows[i].N, scheduler, original, t.Rows[i].Miss)
			}
		}
	}
	// What is left may end: there is room for all masters now.
	if err := y.set.set(ctx, y.set.wide()); err != nil {
		return Fate{}, err
	}
	f, err := l.end(ctx)
	if err != nil {
		return f, err
	}
	all, other, err := ended(ctx, y.rm)
	if all != f.Submitted || len(other) > 0 {
		f.Other = append(f.Other, fmt.Sprintf("the ResourceManager lists %d", all))
		f.Other = append(f.Other, other...)
	}
	return f, err
}

// rename gives the queue a share of its own to begin with.
func (y *yard) rename(ctx context.Context) error {
	text := named
	if y.set.file != "" {
		text = fairQueues(named)
	}
	if err := y.set.set(ctx, text); err != nil {
		return err
	}
	// The FairScheduler takes some seconds; its limit does not change by it.
	set, err := newSetting(ctx, y.rm, queue, y.set.file)
	if err != nil {
		return err
	}
	set.inForce = y.set.inForce
	y.set = set
	return nil
}

// killer deals blows.
type killer struct {
	s                   *Study
	y                   *yard
	scheduler, original string
	random              *rand.Rand
	wait                []Kill // not put back yet
	last                []Kill // done with
	n, seen             int
}

// blow starts a steerer, lets it work for a while and kills it.
func (k *killer) blow(ctx context.Context, n int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	k.n++
	longest := 3 * time.Second
	if k.scheduler == "fair" { // it may be written every 5 s only
		longest = 8 * time.Second
	}
	after := 5*time.Millisecond + time.Duration(k.random.Int64N(int64(longest-5*time.Millisecond)))
	policy, args := "cbt", lively("50ms")
	if k.random.IntN(4) == 0 {
		policy, args = "static", still(0.2+0.6*k.random.Float64())
	}
	row := Kill{N: n + len(k.wait), Scheduler: k.scheduler, Original: k.original, Policy: policy, After: after.Milliseconds(), Back: -1}
	before, _, _ := live.ReadJournal(k.y.journal) // none yet: no entries
	p, err := k.y.steer(k.s.Binary, "", nil, args...)
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
	switch {
	case len(guards) == 0:
		row.Guard = "none"
		p.End()
	case k.n%3 == 0:
		row.Guard = "killed"
		p.End(guards...)
	default:
		row.Guard = "lives"
		for _, g := range guards { // it is held for a moment, so that what the blow has left can be read
			_ = syscall.Kill(g, syscall.SIGSTOP)
		}
		p.End()
	}
	fell := time.Now()
	entries, open, err := live.ReadJournal(k.y.journal)
	if err != nil {
		row.Miss = "the journal cannot be read: " + err.Error()
	}
	row.Entries, row.Open = len(entries)-len(before), len(open) > 0
	row.Between = len(entries) > 0 && entries[len(entries)-1].What == drive.Before // a change has no second entry
	row.Changed = !k.y.set.original(ctx)
	for _, g := range guards {
		_ = syscall.Kill(g, syscall.SIGCONT)
	}
	if row.Changed && !row.Open {
		row.Miss = "the setting was changed and the journal does not say so"
	}
	// A start that found an open journal has put that back before anything else.
	if p.Count("restored") > 0 {
		for i := range k.wait {
			k.wait[i].By = "next start"
		}
		k.done()
	}
	k.wait = append(k.wait, row)
	switch row.Guard {
	case "lives":
		k.byGuard(ctx, fell, guards)
	case "killed", "none":
		if !row.Open && !row.Changed {
			k.done()
		} else if k.random.IntN(2) == 0 {
			k.byHand(ctx)
		}
	}
	return nil
}

// done writes off what waits: the setting was seen, or must have been, as found.
func (k *killer) done() {
	k.last = append(k.last, k.wait...)
	k.wait = nil
}

// byGuard waits until the guard has put the setting back.
func (k *killer) byGuard(ctx context.Context, fell time.Time, guards []int) {
	row := &k.wait[len(k.wait)-1]
	if !proc.Await(ctx, backWithin, 20*time.Millisecond, func() bool { return k.y.set.original(ctx) }) {
		now, err := k.y.set.read(ctx)
		row.Miss = fmt.Sprintf("not put back within %v: %.60q, %v", backWithin, now, err)
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
	if k.scheduler != "fair" || row.Changed && k.seen < 6 { // it takes long with a file: not every time
		k.seen++
		if !proc.Await(ctx, k.patience(), 50*time.Millisecond, func() bool { return k.y.set.obeyed(ctx) }) {
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
	k.done()
}

// byHand puts the setting back as an operator does.
func (k *killer) byHand(ctx context.Context) {
	row := &k.wait[len(k.wait)-1]
	began := time.Now()
	if err := k.y.restore(ctx, k.s.Binary); err != nil {
		row.Miss = "restore: " + err.Error()
		return
	}
	row.Back = time.Since(began).Milliseconds()
	if !k.y.set.original(ctx) {
		row.Miss = "restore has ended and the setting is not as found"
	}
	for i := range k.wait {
		if k.wait[i].Open {
			k.wait[i].By = "restore"
		}
	}
	k.done()
}

// patience is how long the scheduler may take to go by a setting.
func (k *killer) patience() time.Duration {
	if k.scheduler == "fair" {
		return 2 * backWithin
	}
	return backWithin
}

// settle puts back what still waits, and hands over the rows.
func (k *killer) settle(ctx context.Context) []Kill {
	if len(k.wait) > 0 {
		k.byHand(ctx)
	}
	k.last = append(k.last, k.wait...)
	return k.last
}

// final is the last look.
func (k *killer) final(ctx context.Context, sum *Sum) string {
	same := k.y.set.original(ctx)
	obeyed := proc.Await(ctx, k.patience(), 100*time.Millisecond, func() bool { return k.y.set.obeyed(ctx) })
	_, open, err := live.ReadJournal(k.y.journal)
	text := fmt.Sprintf("%s, found %s: as found %v, in force %v, journal open %v", k.scheduler, k.original, same, obeyed, len(open) > 0)
	if !same || !obeyed || len(open) > 0 || err != nil {
		sum.Misses = append(sum.Misses, text)
	}
	return text
}

// journalFile is the file of a journal that grows.
const journalFile = "journal.jsonl"

// growth returns the moment at which a file has grown, or after the given time.
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
