package endure

import (
	"context"
	_ "embed"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/steer/drive/live"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/studies/lab/proc"
	"github.com/yardmaster/yardmaster/studies/lab/steerer"
)

// Apply is one kill of "yarn apply".
type Apply struct {
	N       int    `json:"n"`
	After   int64  `json:"after_ms"`        // after the start of the process
	Aimed   bool   `json:"aimed,omitempty"` // killed as soon as the journal had grown
	Guard   string `json:"guard"`           // "lives", "killed" with it, "none" yet or any more, or "done" with the command
	Ended   bool   `json:"ended,omitempty"` // the command had done its work before the kill
	Open    bool   `json:"open"`
	Between bool   `json:"between"` // killed between the two entries of a change
	Left    string `json:"left"`    // configuration right after the kill: "old" or "new"
	Final   string `json:"final"`   // when nothing is open any more
	By      string `json:"by"`      // what restored the old one: "guard", "restore", "next start"; "" if there was nothing to do
	Back    int64  `json:"back_ms"`
	Miss    string `json:"miss,omitempty"`
}

//go:embed apply-scheduler.xml
var applyQueues string

var marks = regexp.MustCompile(`(?m)^[^\n]*\.yardmaster\.journal[^\n]*(\n|$)`)

// applier kills "yarn apply".
type applier struct {
	s        *Study
	y        *yard
	old, new string   // configurations
	change   []string // from old to new, as typed
	random   *rand.Rand
}

// swap makes the present configuration the old one, and exchanges the capacities of two queues in the new one.
func (a *applier) swap(text string) {
	const prod, batch = "root.prod.capacity=", "root.batch.capacity="
	value := func(name string) string {
		_, v, _ := strings.Cut(text, name)
		v, _, _ = strings.Cut(v, "\n")
		return v
	}
	x, y := value(prod), value(batch)
	a.change = []string{prod + y, batch + x}
	a.old, a.new = text, strings.NewReplacer(prod+x, a.change[0], batch+y, a.change[1]).Replace(text)
}

func (s *Study) applies(ctx context.Context, t *sheet) error {
	y, err := s.open(ctx, "apply", queue, hadoop.Options{Scheduler: "capacity", SchedulerXML: applyQueues})
	if err != nil {
		return err
	}
	defer func() { _ = y.Down() }()
	l := &load{c: y.Cluster, queue: queue, apps: 10, hold: 2000}
	if err := l.begin(ctx, y.rm); err != nil {
		return err
	}
	defer l.cancel()
	a := &applier{s: s, y: y, random: rand.New(rand.NewPCG(s.Seed, 11))}
	a.swap(y.set.found)
	for n, killed := 1, 0; killed < s.Applies; n++ {
		row, err := a.kill(ctx, n)
		if err != nil {
			return err
		}
		t.add(&row, row.Miss, "kill %d", n)
		if !row.Ended { // otherwise there was nothing to kill
			killed++
		}
		s.say("apply %d: after %d ms, guard %s, open %v: left %s, now %s by %s after %d ms %s", n, row.After, row.Guard, row.Open, row.Left, row.Final, row.By, row.Back, row.Miss)
	}
	t.Sum.Apps, err = y.leave(ctx, l, &t.Sum, "apply")
	return err
}

// is says which configuration is in place, marks aside unless all is said to be closed.
func (a *applier) is(ctx context.Context, closed bool) string {
	_, now, err := a.y.set.all(ctx)
	if !closed {
		now = strings.TrimSuffix(marks.ReplaceAllString(now, ""), "\n")
	}
	switch {
	case err != nil:
		return err.Error()
	case now == a.old:
		return "old"
	case now == a.new:
		return "new"
	}
	return "neither: " + now
}

func (a *applier) args(more ...string) []string {
	return slices.Concat([]string{"yarn", "apply", "--rm", a.y.address, "--journal", a.y.journal, "--act"}, a.y.login, a.change, more)
}

// kill starts the command, kills it at a random moment, and sees to it that nothing stays open.
func (a *applier) kill(ctx context.Context, n int) (row Apply, err error) {
	const longest = 2500 * time.Millisecond // it ends after about 2.3 s
	row = Apply{N: n, After: 5 + a.random.Int64N(longest.Milliseconds()-5), Aimed: n%4 == 1}
	if row.Aimed {
		row.After /= 3
	}
	p, err := steerer.Start(a.s.bin, a.y.Dir, nil, a.args("--goal", "mean elapsed of all", "--watch", "2s")...)
	if err != nil {
		return row, err
	}
	time.Sleep(time.Until(p.Began.Add(time.Duration(row.After) * time.Millisecond)))
	if row.Aimed {
		growth(filepath.Join(a.y.journal, journalFile), longest)
	}
	guards := p.Guards()
	row.Ended = !p.Alive()
	if row.Guard = strike(p, guards, n%3 == 0 && !row.Ended); row.Ended {
		row.Guard = "done"
	}
	fell := time.Now()
	entries, open, err := live.ReadJournal(a.y.journal)
	if err != nil {
		row.Miss = "the journal cannot be read: " + err.Error()
	}
	row.Open, row.Left = len(open) > 0, a.is(ctx, false)
	var last drive.Entry
	if len(entries) > 0 {
		last = entries[len(entries)-1]
	}
	row.Between = last.What == drive.Before
	if row.Left == "new" && !row.Open && (last.What != drive.Closed || last.Why != "kept") {
		row.Miss = "the new configuration is in place and the journal does not say so"
	}
	send(guards, syscall.SIGCONT)
	switch {
	case !row.Open:
	case row.Guard == "lives":
		row.By = "guard"
	case a.random.IntN(2) == 0:
		row.By = "restore"
		if err := a.y.restore(ctx, a.s.bin); err != nil {
			row.Miss = "restore: " + err.Error()
		}
	default: // it says what it found, restores, and makes the change again
		row.By = "next start"
		out, err := steerer.Run(ctx, a.s.bin, a.y.Dir, a.args()...)
		if err != nil || !strings.Contains(string(out), "Unfinished:") {
			row.Miss = fmt.Sprintf("the next start: %v: %.300s", err, out)
		}
	}
	if !proc.Await(ctx, 2*restoreTimeout, 20*time.Millisecond, func() bool {
		_, open, err := live.ReadJournal(a.y.journal)
		return err == nil && len(open) == 0 && len(a.is(ctx, true)) == len("old") && proc.Gone(guards...)
	}) {
		row.Miss = fmt.Sprintf("%s; %s", a.is(ctx, true), openJournal(a.y.journal))
	}
	row.Back, row.Final = time.Since(fell).Milliseconds(), a.is(ctx, true)
	if want := map[string]string{"": row.Left, "guard": "old", "restore": "old", "next start": "new"}[row.By]; row.Final != want && row.Miss == "" {
		row.Miss = "the configuration is the " + row.Final + " one"
	}
	if row.Final == "new" {
		a.swap(a.new)
	}
	return row, nil
}
