package apply

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/internal/securefile"
	"github.com/yardmaster/yardmaster/internal/term"
	"github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/steer/session"
	"github.com/yardmaster/yardmaster/whatif/goal"
	"github.com/yardmaster/yardmaster/whatif/watch"
)

// Trial is one change to be tried.
type Trial struct {
	Dir      string // of the journal, for the record
	Length   time.Duration
	Silence  time.Duration
	Keep     bool               // the change stays if a signal ends the watch
	Goals    []goal.Goal        // to measure
	Bounds   []goal.Bound       // of some of them
	Expected map[string]float64 // relative changes, by goal
	Reason   string             // of the change, for the journal

	// List lists applications that were submitted from a time on.
	List func(ctx context.Context, from time.Time) ([]watch.App, error)
	// Version is that of the scheduler's configuration; 0: unknown.
	Version func(ctx context.Context) int64
	Say     func(format string, args ...any) // a line
	Table   func(term.Table)
	Flush   func()

	record  Record
	watch   *watch.Watch
	version int64
	change  *drive.Trial // nil: not begun
}

// Record is what is kept of a change: what was expected, and what came.
type Record struct {
	At       time.Time          `json:"at"`
	Cluster  string             `json:"cluster"`
	Changes  []Changed          `json:"changes"`
	Outcome  string             `json:"outcome"`
	Why      string             `json:"why,omitempty"`
	Watched  float64            `json:"watched_s,omitempty"`
	Expected map[string]float64 `json:"expected,omitempty"` // relative changes, by goal
	Figures  []watch.Figure     `json:"figures,omitempty"`
	Alone    []string           `json:"one_user,omitempty"` // bounds that one user's applications alone broke
	Others   bool               `json:"others,omitempty"`   // somebody else changed other settings meanwhile
}

// Changed is one setting of a change.
type Changed struct {
	Setting string `json:"setting"`
	Old     string `json:"old"`
	New     string `json:"new"`
}

// Before measures the goals before the change. A bound that nothing can be concluded about protects nothing, so it is an error.
func (t *Trial) Before(ctx context.Context) error {
	if len(t.Goals) == 0 {
		return nil
	}
	list, err := t.List(ctx, time.Time{})
	if err != nil {
		return err
	}
	t.watch = watch.New(t.Length, list)
	for _, g := range t.Goals {
		f, err := t.watch.Measure(g)
		if err != nil {
			return err
		}
		t.Say("Now: %s is %s, over %d applications.", f.Name(), seconds(f.Before), f.AppsBefore)
		if f.AppsBefore < watch.MinApps && slices.ContainsFunc(t.Bounds, func(b goal.Bound) bool { return b.Goal == g }) {
			return fmt.Errorf("%q cannot be judged: %d applications have succeeded in the last day, and %d are needed: leave that --keep out, or name all", g, f.AppsBefore, watch.MinApps)
		}
	}
	return nil
}

// Begin is the change of some settings, for session.Try: from the old ones, as they were planned with, to the new ones. It is recorded before it is made.
func (t *Trial) Begin(ctx context.Context, e drive.Engine, old, now []drive.Setting) (*drive.Trial, error) {
	k, v, err := drive.Together(now)
	if err != nil {
		return nil, err
	}
	present, err := e.Read(ctx, k) // as the configuration spells it
	if err != nil {
		return nil, err
	}
	if s, differs := k.Differing(present, old); differs {
		return nil, fmt.Errorf("somebody else has changed %s to %s meanwhile: try again", s.Name(), s)
	}
	t.record = Record{At: time.Now().UTC(), Cluster: e.Identity(), Expected: t.Expected}
	for i, s := range now {
		t.record.Changes = append(t.record.Changes, Changed{s.Name(), old[i].String(), s.String()})
	}
	if err := t.note("started", ""); err != nil {
		return nil, fmt.Errorf("nothing is changed, because it cannot be recorded: %w", err)
	}
	t.change = &drive.Trial{Knob: k, Old: present, New: v, Length: t.Length, Samples: watch.Looks, Silence: t.Silence, Keep: t.Keep, Reason: t.Reason}
	return t.change, nil
}

// Observe says what the trial's events mean to the operator; true: nothing else has to.
func (t *Trial) Observe(ctx context.Context, e *drive.Event) bool {
	switch e.Kind {
	case drive.Taken:
		t.tell("Changed, and in force.")
		if t.Length > 0 {
			t.version = t.Version(ctx)
		}
	case drive.Blind:
		t.tell("Not seen: %v", e.Err)
		return true
	}
	return false
}

// Measure measures the goals after a time, and says which bound is broken.
func (t *Trial) Measure(ctx context.Context, since time.Duration) (broken string, err error) {
	list, err := t.List(ctx, t.watch.From())
	if err != nil {
		return "", err
	}
	if v := t.Version(ctx); v != t.version && v > 0 && t.version > 0 && !t.record.Others {
		t.tell("Somebody else has changed other settings: the figures include that.")
		t.record.Others = true
	}
	t.watch.Add(list, since)
	t.record.Figures = nil
	for _, g := range t.Goals {
		f, err := t.watch.Measure(g)
		if err != nil {
			t.Say("%v", err)
			continue
		}
		t.record.Figures = append(t.record.Figures, f)
		if f.Enough {
			t.tell("%s: %s, %s of %d pairs", f.Name(), seconds(f.Since), percent(f.Change), f.Pairs)
		} else {
			t.tell("%s: %s", f.Name(), f.Told())
		}
		for _, b := range t.Bounds {
			if b.Goal == g {
				broken = cmp.Or(broken, t.verdict(b, &f))
			}
		}
	}
	return broken, nil
}

// tell says something with the time, at once.
func (t *Trial) tell(format string, args ...any) {
	t.Say(time.Now().Format(time.TimeOnly)+"  "+format, args...)
	t.Flush()
}

func seconds(s float64) string { return fmt.Sprintf("%.4g s", s) }

func percent(x float64) string { return fmt.Sprintf("%+.1f %%", 100*x) }

// note appends the record: one line when a change begins, one when it ends.
func (t *Trial) note(outcome, why string) error {
	t.record.Outcome, t.record.Why = outcome, why
	f, err := securefile.Open(filepath.Join(t.Dir, session.RecordFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(json.NewEncoder(f).Encode(t.record), f.Sync(), f.Close())
}

// End prints and records the outcome, given the error of session.Try. It is an error if the change is not in force.
func (t *Trial) End(failed error) error {
	c := t.change
	if c == nil {
		return failed
	}
	if c.Outcome == drive.NotMade {
		return errors.Join(fmt.Errorf("not changed: %w", failed), t.note(string(c.Outcome), c.Why))
	}
	conclusion := t.figures()
	var err error
	switch {
	case failed != nil:
		err = fmt.Errorf("%s; the old settings are not back yet: %w", c.Why, failed)
	case c.Outcome == drive.Stays:
		t.Say("Kept: the new settings stay.%s", conclusion)
	case c.Outcome == drive.Overridden:
		err = errors.New(c.Why)
	default:
		err = fmt.Errorf("rolled back: the old settings are in force again: %s", c.Why)
	}
	t.record.Watched = time.Since(t.record.At).Round(time.Second).Seconds()
	err = errors.Join(err, t.note(string(c.Outcome), c.Why))
	t.Say("Record: %s", filepath.Join(t.Dir, session.RecordFile))
	return err
}

// figures prints the last figures, and says what can be concluded from them.
func (t *Trial) figures() (conclusion string) {
	table := term.Table{Head: []string{"", "before", "since", "change", "interval", "expected", "pairs", "applications"}, Left: 1}
	var told []string
	switch {
	case len(t.Goals) == 0:
		conclusion = " Nothing was watched."
	case len(t.record.Alone) > 0:
		conclusion = " " + strings.Join(t.record.Alone, ". ") + "."
	case len(t.Bounds) > 0:
		conclusion = " No bound was broken by more than noise."
	}
	for _, f := range t.record.Figures {
		expected, before, since, diff, within := "-", "-", "-", "-", "-"
		if x, ok := t.record.Expected[f.Goal]; ok {
			expected = percent(x)
		}
		if f.Enough {
			before, since, diff, within = seconds(f.Before), seconds(f.Since), percent(f.Change), percent(f.Low)+" to "+percent(f.High)
		} else {
			conclusion = " With too few pairs nothing is concluded."
		}
		told = append(told, fmt.Sprintf("%s: %s", f.Name(), f.Told()))
		count := fmt.Sprintf("%d, %d", f.AppsBefore, f.Apps)
		if f.Unfinished > 0 {
			count += fmt.Sprintf(" (%d unfinished)", f.Unfinished)
		}
		if f.Failed > 0 {
			count += fmt.Sprintf(" and %d failed", f.Failed)
		}
		table.Add(f.Name(), before, since, diff, within, expected, strconv.Itoa(f.Pairs), count)
	}
	if len(table.Rows) > 0 {
		t.Table(table)
	}
	for _, line := range told {
		t.Say("%s.", line)
	}
	return conclusion
}

// verdict says why a bound is broken, and by whose applications; "": it is not, or one user alone would have it so.
func (t *Trial) verdict(b goal.Bound, f *watch.Figure) string {
	v := t.watch.Judge(b, f)
	switch {
	case v.Alone:
		note := fmt.Sprintf("%s is broken by the applications of %.40q only: one user alone does not decide", b, v.User)
		if !slices.Contains(t.record.Alone, note) {
			t.tell("%s.", note)
			t.record.Alone = append(t.record.Alone, note)
		}
		return ""
	case v.Rejects:
		return fmt.Sprintf("%s: %d applications of %s failed or were rejected (%s)", b, f.Failed, b.Queue, users(&v, func(u *watch.User) bool { return u.Failed > 0 }))
	case v.Broken:
		return fmt.Sprintf("%s: the %s went from %s to %s, %s or more (%s)", b, f.Statistic, seconds(f.Before), seconds(f.Since), percent(f.Low),
			users(&v, func(u *watch.User) bool { return u.Seconds > 0 }))
	}
	return ""
}

// users names those that a verdict is based on.
func users(v *watch.Verdict, counts func(*watch.User) bool) string {
	var names []string
	others := 0
	for i := range v.Users {
		switch u := &v.Users[i]; {
		case !counts(u):
		case len(names) == 5:
			others++
		case v.Rejects:
			names = append(names, fmt.Sprintf("%.40q: %d", u.Name, u.Failed))
		default:
			names = append(names, fmt.Sprintf("%.40q", u.Name))
		}
	}
	text := strings.Join(names, ", ")
	if others > 0 {
		text += fmt.Sprintf(" and %d others", others)
	}
	if v.Sole {
		text += fmt.Sprintf("; %.40q runs nearly everything there", v.User)
	}
	return text
}
