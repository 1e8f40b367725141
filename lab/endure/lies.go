package endure

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/lab/hadoop"
	"github.com/yardmaster/yardmaster/lab/proc"
	"github.com/yardmaster/yardmaster/lab/steerer"
)

// Told is one lie, or one refusal, and what came of it.
type Told struct {
	Case   string   `json:"case"`
	Where  string   `json:"where"`    // "REST", or "file"
	Looks  int      `json:"looks"`    // while it lasted
	Writes []string `json:"writes"`   // what was to be written in that time; "" stands for unset
	Line   string   `json:"line"`     // the first line that tells of it
	Ended  bool     `json:"ended"`    // the steerer ended by itself
	Again  int64    `json:"again_ms"` // from its end to the next change; -1: none
	Miss   string   `json:"miss,omitempty"`
}

// lies has the real ResourceManager's answers altered on their way, one way after another, and files that cannot be written.
func (s *Study) lies(ctx context.Context) error {
	t := sheet[Told]{Head: s.head("lies")}
	if err := s.liesREST(ctx, &t); err != nil {
		return err
	}
	if err := s.liesFile(ctx, &t); err != nil {
		return err
	}
	for i, r := range t.Rows {
		t.Rows[i].Line = strings.ReplaceAll(r.Line, s.Work, "WORK") // the records are kept
		if r.Miss != "" {
			t.Sum.miss("%s: %s", r.Case, r.Miss)
		}
	}
	return t.save(s.Dir)
}

func (s *Study) liesREST(ctx context.Context, t *sheet[Told]) error {
	y, err := s.open(ctx, "lies-rest", hadoop.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = y.Down() }()
	l := &load{c: y.Cluster, queue: queue, apps: 60, hold: 6000}
	if err := l.begin(ctx, y.rm); err != nil {
		return err
	}
	defer l.cancel()
	x, err := NewProxy(y.RM())
	if err != nil {
		return err
	}
	defer x.Close()
	for _, c := range tales() {
		if s.Brief && !c.brief {
			continue
		}
		row, err := s.tell(ctx, y, x, c)
		if err != nil {
			return err
		}
		s.say("%s: %s %s", row.Case, row.Line, row.Miss)
		t.Rows = append(t.Rows, row)
	}
	if err := y.set.set(ctx, y.set.wide()); err != nil {
		return err
	}
	if t.Sum.Fate, err = l.end(ctx); err != nil {
		return err
	}
	if t.Sum.Fate.lost() {
		t.Sum.miss("%d of %d applications have not ended well", t.Sum.Fate.Submitted-t.Sum.Fate.Succeeded, t.Sum.Fate.Submitted)
	}
	return nil
}

// tell tells one lie to a steerer that has begun to work, or is about to.
func (s *Study) tell(ctx context.Context, y *yard, x *Proxy, c tale) (Told, error) {
	row := Told{Case: c.name, Where: "REST", Again: -1}
	miss := func(format string, a ...any) {
		if row.Miss == "" {
			row.Miss = fmt.Sprintf(format, a...)
		}
	}
	if c.first {
		x.Tell(&c.lie)
	}
	p, err := s.steer(y, x.URL, lively("300ms"))
	if err != nil {
		return row, err
	}
	defer p.End()
	if !c.first {
		if !p.Await(ctx, 20*time.Second, 0, "taken") {
			miss("it changed nothing while all was well: %s", p.Last())
		}
		x.Tell(&c.lie)
		time.Sleep(300 * time.Millisecond) // what was asked before has been answered
	}
	p.Fresh()
	x.Asked()
	long := c.long
	if long == 0 {
		long = 4 * time.Second
		if s.Brief {
			long /= 2
		}
	}
	proc.Await(ctx, long, 50*time.Millisecond, func() bool { return !p.Alive() })
	lines, asked := p.Fresh(), x.Asked()
	row.Ended = !p.Alive()
	row.Writes = values(asked)
	for _, line := range lines {
		if k := line.Kind(); k == "decided" || k == "blind" {
			row.Looks++
		}
	}
	row.Line, _ = telling(lines)
	if row.Line == "" && row.Ended {
		row.Line = p.Last()
	}
	if row.Line == "" {
		miss("no line tells of it")
	}
	refused := c.lie.Status != nil && changes(asked) > 0 // it may ask for what is refused
	for _, v := range row.Writes {
		if v != "" && v != y.set.configured && !refused { // otherwise it is put back
			miss("it changed something: %q", v)
		}
	}
	x.Tell(nil)
	cleared := time.Now()
	if !row.Ended {
		if p.Await(ctx, 60*time.Second, p.Count("taken"), "taken") {
			row.Again = time.Since(cleared).Milliseconds()
		} else {
			miss("it did not go on afterwards: %s", p.Last())
		}
		if _, ok := p.Stop(40 * time.Second); !ok {
			miss("it does not end")
		}
	}
	if !y.set.original(ctx) || !y.set.obeyed(ctx) {
		now, _ := y.set.read(ctx)
		miss("the setting is not as found: %s", now)
	}
	if open := openJournal(y.journal); open != "" {
		miss("%s", open)
	}
	if row.Miss != "" {
		p.Keep(filepath.Join(s.Work, "lie "+c.name+".log"))
	}
	return row, nil
}

// telling is the first line that says what is wrong.
func telling(list []steerer.Line) (string, bool) {
	for _, want := range [][]string{{"blind", "refused", "unverified", "foreign", "restore-failed", "dead-man"}, {"decided"}} {
		for _, l := range list {
			for _, k := range want {
				if l.Kind() != k || k == "decided" && l.Field("decision") != "refuse" {
					continue
				}
				why := l.Field("why")
				if e := l.Field("error"); e != "" && !strings.Contains(why, e) {
					why += ": " + e
				}
				return k + ": " + strings.TrimPrefix(why, ": "), true
			}
		}
	}
	return "", false
}
