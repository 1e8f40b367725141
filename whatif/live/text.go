package live

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/yardmaster/yardmaster/internal/term"
	"github.com/yardmaster/yardmaster/unit"
)

// page is written for people.
type page struct {
	io.Writer
	columns int // 0: not a terminal
}

func (p *page) say(sentence string) { fmt.Fprint(p, term.Sentence(sentence, p.columns)) }

func (p *page) notes(v *View) {
	for _, n := range v.Notes {
		p.say("Note: " + n + ".")
	}
}

// noteLines are the notes for programs.
func (v *View) noteLines() (lines []string) {
	for _, n := range v.Notes {
		lines = append(lines, term.Line(n))
	}
	return lines
}

// fromNow is an instant as time from now.
func (v *View) fromNow(t unit.Time, never string) string {
	if t == unit.Never {
		return never
	}
	return max(t-v.Now, 0).String()
}

// median is that of an interval, as time from now.
func (v *View) median(i Interval) string { return v.fromNow(i.Median, "not foreseen") }

// bounds are those of an interval, as times from now.
func (v *View) bounds(i Interval) string {
	return v.fromNow(i.Low, "later") + " to " + v.fromNow(i.High, "later")
}

// expected is an interval, and how sure it is, in words.
func (v *View) expected(i Interval, confidence string) string {
	return fmt.Sprintf("%s (%s: %s), at about %s.", v.median(i), confidence, v.bounds(i), v.clock(i.Median))
}

// clock is an instant as time of day, with the day if that is not today's.
func (v *View) clock(t unit.Time) string {
	then, now := v.date(t), v.date(v.Now)
	if then.YearDay() == now.YearDay() && then.Year() == now.Year() {
		return then.Format("15:04:05")
	}
	return then.Format("2006-01-02 15:04")
}

func (v *View) date(t unit.Time) time.Time {
	return v.Epoch.Add(time.Duration(t) * time.Microsecond)
}

// title names an application.
func (a *App) title() string {
	return fmt.Sprintf("%s (%s) of %s in %s", term.Name(a.ID), cmp.Or(term.Name(a.Name), "without a name"), term.Name(a.User), term.Name(a.Queue))
}

// running says since when an application runs.
func (v *View) running(a *App) string {
	if since, _ := a.Started(); since >= 0 {
		return a.title() + " runs since " + v.clock(since) + "."
	}
	return a.title() + " runs."
}

// utc is an instant for programs; nil: it is not known, or never comes.
func (v *View) utc(t unit.Time) *time.Time {
	if t == unit.Never || t < 0 {
		return nil
	}
	date := v.date(t).UTC()
	return &date
}

// jsonInterval is an interval for programs.
type jsonInterval struct {
	Low    *time.Time `json:"low"`
	Median *time.Time `json:"median"`
	High   *time.Time `json:"high"`
}

func (v *View) jsonInterval(i Interval) *jsonInterval {
	return &jsonInterval{v.utc(i.Low), v.utc(i.Median), v.utc(i.High)}
}

// eta answers when applications start and end.
type eta struct {
	*View
	past      *History
	forecasts []Forecast
	single    bool // of one application that was named
	o         Options
}

// Text implements Answer.
func (e *eta) Text(w io.Writer, columns int) {
	p := &page{w, columns}
	confidence := "80 %"
	if !e.o.Calibration.Ends.Enough() {
		confidence = "not measured"
	}
	if warning := e.o.Calibration.Warning(); warning != "" {
		p.say("Warning: " + warning + ".")
	}
	switch {
	case len(e.forecasts) == 0:
		p.say("There is no such application that has not ended.")
		return
	case e.single:
		e.sayOne(p, &e.forecasts[0], confidence)
	default:
		fmt.Fprint(p, e.table(columns, confidence))
	}
	fmt.Fprintln(p)
	p.say(fmt.Sprintf("%d simulations from the state at %s: %s on %s. %s", e.o.Draws, e.date(e.Now).Format("2006-01-02 15:04:05"),
		unit.Count(int64(len(e.Apps)), "application"), unit.Count(int64(len(e.Cluster.Nodes)), "node"), e.past.Covers(&e.o)))
	p.notes(e.View)
}

func (e *eta) table(columns int, confidence string) string {
	t := term.Table{Left: 4, Width: columns, Head: []string{"application", "user", "queue", "state", "starts in", confidence, "ends in", confidence}}
	for i := range e.forecasts {
		f := &e.forecasts[i]
		id, user, queue := term.Name(f.App.ID), term.Name(f.App.User), term.Name(f.App.Queue)
		switch {
		case f.Refused != "":
			t.Add(id, user, queue, "refused", "", "", "", "")
		case f.Started:
			t.Add(id, user, queue, "running", "", "", e.median(f.End), e.bounds(f.End))
		default:
			t.Add(id, user, queue, "waiting", e.median(f.Start), e.bounds(f.Start), e.median(f.End), e.bounds(f.End))
		}
	}
	return t.String()
}

func (e *eta) sayOne(p *page, f *Forecast, confidence string) {
	switch {
	case f.Refused != "":
		p.say(f.App.title() + " would be refused: " + f.Refused)
		return
	case f.Started:
		p.say(e.running(f.App))
	case f.Start.Median == unit.Never:
		p.say(f.App.title() + " waits, and no simulation starts it: see \"yardmaster yarn why\".")
	default:
		p.say(f.App.title() + " waits. It starts in " + e.expected(f.Start, confidence))
	}
	if f.End.Median != unit.Never {
		p.say("It ends in " + e.expected(f.End, confidence))
	} else {
		p.say("Its end is not foreseen: most simulations do not reach it.")
	}
}

// JSON implements Answer. An instant that no simulation reaches is null.
func (e *eta) JSON() any {
	type app struct {
		ID      string        `json:"id"`
		Name    string        `json:"name"`
		User    string        `json:"user"`
		Queue   string        `json:"queue"`
		Started bool          `json:"started"`
		Refused string        `json:"refused,omitempty"`
		Start   *jsonInterval `json:"start,omitempty"`
		End     *jsonInterval `json:"end,omitempty"`
	}
	c := e.o.Calibration
	out := struct {
		Now          time.Time    `json:"now"`
		Draws        int          `json:"draws"`
		Seed         uint64       `json:"seed"`
		Coverage     float64      `json:"coverage"` // that is aimed at
		Measured     *Calibration `json:"measured"` // on the history
		Covers       string       `json:"covers"`
		Warning      string       `json:"warning,omitempty"`
		Notes        []string     `json:"notes,omitempty"`
		Applications []app        `json:"applications"`
	}{e.date(e.Now).UTC(), e.o.Draws, e.o.Seed, coverage, c, e.past.Covers(&e.o), c.Warning(), e.noteLines(), []app{}}
	for i := range e.forecasts {
		f := &e.forecasts[i]
		x := app{ID: f.App.ID, Name: f.App.Name, User: f.App.User, Queue: f.App.Queue, Started: f.Started, Refused: f.Refused}
		if f.Refused == "" {
			x.Start, x.End = e.jsonInterval(f.Start), e.jsonInterval(f.End)
		}
		out.Applications = append(out.Applications, x)
	}
	return out
}
