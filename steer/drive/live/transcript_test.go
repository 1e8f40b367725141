package live

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/steer"
	. "github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/unit"
)

// TestTranscripts plays the scripts in testdata/transcripts and compares what the machines request, answer by answer, and each line of the journal, with
// what follows the script. UPDATE=1 writes it anew. A script has one command a line:
//
//	delay TIME                    between configured and in force
//	at TIME read|write|check|sample|measure fails|works|unknown
//	at TIME set VALUE             by somebody else
//	at TIME stop                  the command is told to stop
//	at TIME lose                  the lock is lost
//	at TIME break BOUND           from then on
//	kill N                        at the N-th call of the next run, as kill -9 would
//	drive EVERY VALUE...          runs a policy that wants these values; -1: it is done
//	try LENGTH SILENCE VALUE [keep]   runs a trial
//	restore                       runs a recovery
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/transcripts/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			script, want, _ := strings.Cut(string(data), divider)
			p := &player{w: newWorld(t), ctx: context.Background(), lost: make(chan struct{})}
			p.start = p.w.now
			for in := bufio.NewScanner(strings.NewReader(script)); in.Scan(); {
				if line, _, _ := strings.Cut(in.Text(), "#"); strings.TrimSpace(line) != "" {
					if err := p.command(strings.Fields(line)); err != nil {
						t.Fatalf("%s: %v", line, err)
					}
				}
			}
			p.printf("in the end: %v", p.w.conf[share])
			got := strings.ReplaceAll(p.out.String(), p.w.dir, "DIR")
			if os.Getenv("UPDATE") != "" {
				if err := os.WriteFile(path, []byte(script+divider+got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != want {
				t.Errorf("another transcript (UPDATE=1 writes it):\n%s", got)
			}
		})
	}
}

const divider = "----\n"

// player carries a script out.
type player struct {
	w      *world
	start  time.Time
	ctx    context.Context
	lost   chan struct{}
	killAt int
	lines  int // of the journal, as printed
	broken string
	out    strings.Builder
}

func (p *player) printf(format string, args ...any) { fmt.Fprintf(&p.out, format+"\n", args...) }

func (p *player) command(words []string) error {
	w := p.w
	values := func(list []string) (out []float64) {
		for _, word := range list {
			x, _ := strconv.ParseFloat(word, 64)
			out = append(out, x)
		}
		return out
	}
	span := func(word string) time.Duration {
		d, err := time.ParseDuration(word)
		if err != nil {
			w.t.Fatal(err)
		}
		return d
	}
	switch words[0] {
	case "delay":
		w.delay = span(words[1])
	case "kill":
		p.killAt, _ = strconv.Atoi(words[1])
	case "at":
		return p.at(span(words[1]), words[2], words[3:])
	case "drive":
		policy := asks(unit.Time(span(words[1]).Microseconds()), values(words[2:])...)
		p.run(strings.Join(words, " "), func(j *Journal) (*Machine, error) {
			return NewMachine(Rules{Scheme: w, New: func() (steer.Steerer, error) { return policy, nil }, Act: true, Journal: j})
		}, nil)
	case "try":
		v := values(words[3:4])[0]
		trial := &Trial{Knob: share, Old: w.conf[share], New: w.Value(share, v), Reason: "a trial", Length: span(words[1]), Samples: 5, Silence: span(words[2]), Keep: len(words) > 4}
		p.run(strings.Join(words, " "), func(j *Journal) (*Machine, error) { return NewTrial(w, j, trial), nil }, func() {
			p.printf("outcome: %s: %s", trial.Outcome, trial.Why)
		})
	case "restore":
		p.ctx = context.Background()
		p.lost = make(chan struct{})
		p.run("restore", func(j *Journal) (*Machine, error) { return NewRecovery(w, j, false, 0), nil }, nil)
	default:
		return errors.New("there is no such command")
	}
	return nil
}

// at arranges an event, in time after the start of the script.
func (p *player) at(d time.Duration, what string, args []string) error {
	w := p.w
	targets := map[string]*func() error{"read": &w.readErr, "write": &w.writeErr, "check": &w.forceErr, "sample": &w.snapErr}
	var do func()
	switch target := targets[what]; {
	case what == "stop":
		ctx, cancel := context.WithCancel(p.ctx)
		p.ctx, do = ctx, cancel
	case what == "lose":
		do = func() { close(p.lost) }
	case what == "set":
		x, err := strconv.ParseFloat(args[0], 64)
		if err != nil {
			return err
		}
		do = func() { w.set(share, w.Value(share, x)) }
	case what == "break":
		do = func() { p.broken = strings.Join(args, " ") }
	case what == "measure":
		failing := args[0] == "fails"
		do = func() {
			if w.judge = p.judge; failing {
				w.judge = func(time.Duration) (string, error) { return "", errAway }
			}
		}
	case target == nil:
		return errors.New("there is no such event")
	case args[0] == "unknown":
		do = func() { w.fate = func() (bool, bool, time.Duration) { w.fate = nil; return true, false, 0 } }
	case args[0] == "fails":
		do = func() { *target = func() error { return errAway } }
	default:
		do = func() { *target = nil }
	}
	if d == 0 {
		do()
		return nil
	}
	w.events = append(w.events, event{p.start.Add(d), do})
	return nil
}

func (p *player) judge(time.Duration) (string, error) { return p.broken, nil }

// run steps a machine, and prints what happens.
func (p *player) run(title string, create func(*Journal) (*Machine, error), end func()) {
	w := p.w
	p.printf("== %s", title)
	if w.judge == nil {
		w.judge = p.judge
	}
	killAt := p.killAt
	p.killAt = 0
	var asked *Request
	killed := w.survive(killAt, false, func() {
		j := w.journal()
		m, err := create(j.Journal)
		if err != nil {
			w.t.Fatal(err)
		}
		l := &Runner{Engine: w, Journal: j.Journal, Clock: w, Measure: w.measure, Lost: p.lost}
		for r, a := (Request{}), l.answer(p.ctx, Answer{}); ; a = l.answer(p.ctx, l.do(p.ctx, &r)) {
			if asked != nil {
				p.step(asked, &a)
				p.journal()
			}
			var more bool
			if r, more = m.Next(a); !more {
				p.printf("%s done: %v", p.clock(), m.Err())
				return
			}
			asked = &r
		}
	})
	if killed {
		p.printf("%s killed in: %s", p.clock(), textIn(asked))
		p.journal()
	} else if end != nil {
		end()
	}
}

func (p *player) clock() string { return fmt.Sprintf("%6.1fs", p.w.now.Sub(p.start).Seconds()) }

var opNames = map[Op]string{Wait: "wait", Sample: "sample", Read: "read", Write: "write", Check: "check", Log: "log", Tell: "event", Measure: "measure"}

// textIn is a request, without what its answer says.
func textIn(r *Request) string {
	text := opNames[r.Op]
	switch r.Op {
	case Write, Check:
		text += " " + r.Value.String()
		if r.Value.Mark != "" {
			text += " marked"
		}
	case Tell:
		text += " " + r.Event.String()
	case Log:
		text += " " + string(r.Entry.What)
	}
	return text
}

// step prints a request and its answer.
func (p *player) step(r *Request, a *Answer) {
	got := ""
	switch {
	case a.Err != nil:
		got = " -> " + a.Err.Error()
	case r.Op == Read:
		if got = " -> " + a.Value.String(); a.Value.Mark != "" {
			got += " marked"
		}
	case r.Op == Check:
		got = fmt.Sprintf(" -> in force: %v", a.InForce)
	case r.Op == Measure && a.Broken != "":
		got = " -> broken: " + a.Broken
	}
	if a.Stop {
		got += " (stop)"
	}
	if a.Lost {
		got += " (lock lost)"
	}
	p.printf("%s %s%s", p.clock(), textIn(r), got)
}

// journal prints lines that have been added.
func (p *player) journal() {
	entries, _, err := ReadJournal(p.w.dir)
	if err != nil {
		p.printf("        journal: %v", err)
	}
	for ; p.lines < len(entries); p.lines++ {
		e := entries[p.lines]
		text := fmt.Sprintf("%d %s", e.Seq, e.What)
		for _, part := range []struct {
			name  string
			value *Value
		}{{"original", e.Original}, {"old", e.Old}, {"new", e.New}} {
			if part.value != nil {
				text += fmt.Sprintf(" %s=%v", part.name, part.value)
			}
		}
		for _, part := range []string{e.Err, e.Why} {
			if part != "" {
				text += " (" + part + ")"
			}
		}
		p.printf("        journal: %s", text)
	}
}
