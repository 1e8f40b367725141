package conform

import (
	_ "embed"
	"fmt"
	"io"
	"strings"
	"text/template"
	"time"
)

//go:embed conformance.md.tmpl
var pageText string

var page = template.Must(template.New("conformance").Funcs(template.FuncMap{"line": line, "limits": limits, "runs": runs}).Parse(pageText))

// Write writes docs/conformance.md: what was compared and how, the table, and what limits what is missed. The speed is apart
// (WriteSpeed): it is different each time.
func Write(w io.Writer, rows []Row) error {
	var x struct {
		Runs string
		Met  int
		Rows []*Row
	}
	least, most := len(rows[0].Runs), 0
	for i := range rows {
		x.Rows = append(x.Rows, &rows[i])
		if rows[i].Met {
			x.Met++
		}
		least, most = min(least, len(rows[i].Runs)), max(most, len(rows[i].Runs))
	}
	x.Runs = fmt.Sprintf("%d of each scenario", most)
	if least < most {
		x.Runs = fmt.Sprintf("%d to %d of each scenario", least, most)
	}
	return page.Execute(w, x)
}

func percent(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }

// String is median, p95 and mean error, and how many are within 5 %.
func (d Distance) String() string { return errorsOf(&d) }

func errorsOf(d *Distance) string {
	s := fmt.Sprintf("%s / %s / %s, %.0f %%", percent(d.Median), percent(d.P95), percent(d.MeanAbs), 100*d.Within5)
	if d.Missing > 0 {
		s += fmt.Sprintf(" (%d jobs missing)", d.Missing)
	}
	return s
}

func orderOf(d *Distance) string { return fmt.Sprintf("%d/%d %.2f", d.Order, d.Jobs, d.Tau) }

func firstOf(d *Distance) string {
	if d.First < 0 {
		return fmt.Sprintf("none of %d", d.Total)
	}
	return fmt.Sprintf("after %d of %d, %.1f s", d.First, d.Total, d.FirstAt)
}

func line(r *Row) string {
	jobs, containers := r.Scenario.Counted()
	p, e, s := r.phased(), r.exact(), &r.Spread
	spread, order, place := "-", "-", "-"
	if r.Twice {
		spread, order, place = errorsOf(s), orderOf(s), percent(s.Placed)
	}
	verdict := "**missed**: " + r.Why
	if r.Met {
		verdict = "met " + r.Why
	}
	return fmt.Sprintf("| %s | %d | %d | %s | %s | %s | %s; %s; %s | %s; %s; %s | %s | %s |\n", r.Scenario.Name, jobs, containers,
		errorsOf(&p), errorsOf(&e), spread, orderOf(&p), orderOf(&e), order, percent(p.Placed), percent(e.Placed), place, firstOf(&e), verdict)
}

// limits says of each scenario that is missed whether it is the scheduler or the clock: with the logged instants only
// the scheduler is compared.
func limits(rows []*Row) string {
	text := ""
	for _, r := range rows {
		if r.Met {
			continue
		}
		e := r.exact()
		within := "it is not within the bar either"
		if e.passes() {
			within = "it is within the bar"
		}
		var late []string
		for k := range r.Runs {
			late = append(late, fmt.Sprintf("%d ms", r.Runs[k].SLS.SlipP95))
		}
		text += fmt.Sprintf("- **%s**: with the logged instants %s (%s; first difference: %s). Heartbeats were late by %s (p95, by run).\n", r.Scenario.Name, within, errorsOf(&e),
			firstOf(&e), strings.Join(late, " and "))
	}
	return text
}

// runs are the lines of a scenario's runs.
func runs(row *Row) string {
	text, name, about := "", row.Scenario.Name, row.Scenario.About
	for i := range row.Runs {
		r := &row.Runs[i]
		lost := ""
		if len(r.Lost) > 0 {
			lost = "; SLS lost " + strings.Join(r.Lost, ", ")
		}
		text += fmt.Sprintf("| %s | %s | %d%s | %s | %d, %d, %d ms | %.1f | %d, %d | %s | %s |\n", name, about, r.Number(), lost, r.ProgramText(),
			r.SLS.SlipP50, r.SLS.SlipP95, r.SLS.SlipMax, r.SLS.Load, r.Reserved, r.Kills, errorsOf(&r.Phases), errorsOf(&r.Instants))
		name, about = "", ""
	}
	return text
}

// WriteSpeed writes how long SLS and the simulator took for the same traces, start-up of the JVM included and apart.
func WriteSpeed(w io.Writer, rows []Row) {
	var (
		wall, start, cpu float64
		ours             cost
		runs             int
	)
	for i := range rows {
		for k := range rows[i].Runs {
			r := &rows[i].Runs[k]
			wall, start, cpu = wall+r.SLS.Wall, start+r.SLS.StartUp, cpu+r.SLS.CPU
			ours = ours.plus(r.cost)
			runs++
		}
	}
	if ours.wall <= 0 || ours.cpu <= 0 {
		return
	}
	fmt.Fprintf(w, "\n## Speed\n\nThe same %d runs, one after another, reading the trace included:\n\n| | wall | CPU |\n|---|---|---|\n", runs)
	fmt.Fprintf(w, "| SLS | %.0f s (of these %.0f s until the JVM is up) | %.0f s |\n", wall, start, cpu)
	fmt.Fprintf(w, "| simulator | %v | %v |\n", ours.wall.Round(time.Millisecond), ours.cpu.Round(time.Millisecond))
	fmt.Fprintf(w, "| ratio | %.0f (without start-up %.0f) | %.0f |\n", wall/ours.wall.Seconds(), (wall-start)/ours.wall.Seconds(), cpu/ours.cpu.Seconds())
}
