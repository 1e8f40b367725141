package timeline

import (
	"cmp"
	"fmt"
	"io"

	"github.com/yardmaster/yardmaster/internal/term"
	"github.com/yardmaster/yardmaster/report/gantt"
	"github.com/yardmaster/yardmaster/unit"
)

// title names the application.
func (c *Comparison) title() string {
	return cmp.Or(c.App.Name, c.App.ID, "an application without a name")
}

func (c *Comparison) about() string {
	s := c.App.ID
	if c.App.Version != "" {
		s += ", Spark " + c.App.Version
	}
	return s + ": observed, and simulated " + c.How
}

func change(a, b unit.Time) string {
	if a <= 0 {
		return ""
	}
	return fmt.Sprintf("%+.1f %%", 100*(b.Seconds()/a.Seconds()-1))
}

// whole is a sum of times in whole seconds.
func whole(t unit.Time) string { return unit.Number(int64(t.Seconds() + 0.5)) }

// figures is the table of the figures of both timelines.
func (c *Comparison) figures() term.Table {
	t := term.Table{Head: []string{"", "observed", "simulated", "change"}}
	a, b := c.Observed.Figures(), c.Simulated.Figures()
	times := func(name string, x, y unit.Time) {
		in := unit.ColumnOf([]float64{x.Seconds(), y.Seconds()})
		t.Add(name, in.Format(x.Seconds()), in.Format(y.Seconds()), change(x, y))
	}
	seconds := func(name string, x, y unit.Time) { t.Add(name, whole(x), whole(y), change(x, y)) }
	counts := func(name string, x, y int64) { t.Add(name, unit.Number(x), unit.Number(y), "") }
	times("elapsed", a.Elapsed, b.Elapsed)
	if c.AM >= 0 {
		t.Add("waited for its AM", "-", c.AM.String(), "")
	}
	times("driver alone", a.DriverOnly, b.DriverOnly)
	counts("tasks", a.Tasks, b.Tasks)
	if failed := a.Failed + c.failed; failed+b.Failed > 0 {
		counts("failed or killed attempts", failed, b.Failed)
	}
	seconds("task-seconds", a.Worked, b.Worked)
	seconds("executor-seconds held", a.Held, b.Held)
	seconds("executor-seconds busy", a.Busy, b.Busy)
	counts("executors at a time, at most", int64(a.Peak), int64(b.Peak))
	counts("executors in all", int64(len(c.Observed.Executors)), int64(len(c.Simulated.Executors)))
	return t
}

// Text writes the figures.
func (c *Comparison) Text(w io.Writer, columns int, ink term.Ink) {
	say := func(s string) { fmt.Fprint(w, term.Sentence(s, columns)) }
	fmt.Fprintln(w, ink.Bold(term.Name(c.title())))
	say(c.about())
	t := c.figures()
	t.Ink, t.Width = ink, columns
	fmt.Fprintf(w, "\n%s\n", t.String())
	say("Times count " + c.Axis + ".")
	for _, n := range c.notes {
		say(fmt.Sprintf("note: %s: %s", n.Text, unit.Number(n.Count)))
	}
}

// SVG writes the picture: what was observed above what was simulated.
func (c *Comparison) SVG(w io.Writer) error {
	a, b := c.Observed.Figures(), c.Simulated.Figures()
	chart := gantt.Chart{
		Title: c.title(), Subtitle: c.about(), Axis: c.Axis, Stages: c.names,
		Between: fmt.Sprintf("observed / simulated: elapsed %s / %s (%s) · tasks %s / %s · executor-seconds held %s / %s, busy %s / %s · executors at most %d / %d",
			a.Elapsed, b.Elapsed, change(a.Elapsed, b.Elapsed), unit.Number(a.Tasks), unit.Number(b.Tasks),
			whole(a.Held), whole(b.Held), whole(a.Busy), whole(b.Busy), a.Peak, b.Peak),
		Panels: []gantt.Panel{{Name: "observed", Timeline: c.Observed}, {Name: "simulated", Timeline: c.Simulated}},
	}
	return chart.SVG(w)
}
