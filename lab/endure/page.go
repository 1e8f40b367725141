package endure

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// killCount is what the blows have hit.
type killCount struct {
	all, both, none, open, between, changed int
	by                                      map[string]int
	back, inForce                           []int64
}

func countKills(rows []Kill, only ...string) killCount {
	c := killCount{by: map[string]int{}}
	for _, k := range rows {
		if len(only) > 0 && k.Scheduler != only[0] {
			continue
		}
		c.all++
		for _, x := range []struct {
			yes bool
			n   *int
		}{{k.Guard == "killed", &c.both}, {k.Guard == "none", &c.none}, {k.Open, &c.open}, {k.Between, &c.between}, {k.Changed, &c.changed}} {
			if x.yes {
				*x.n++
			}
		}
		if k.By != "" {
			c.by[k.By]++
		}
		if k.By == "guard" && k.Back >= 0 {
			c.back = append(c.back, k.Back)
		}
		if k.By == "guard" && k.InForce > 0 {
			c.inForce = append(c.inForce, k.InForce)
		}
	}
	slices.Sort(c.back)
	slices.Sort(c.inForce)
	return c
}

// spread is the middle and the end of sorted milliseconds.
func spread(list []int64) string {
	if len(list) == 0 {
		return ""
	}
	return fmt.Sprintf("%s, at most %s (n = %d)", seconds(list[len(list)/2]), seconds(list[len(list)-1]), len(list))
}

func seconds(ms int64) string {
	switch {
	case ms < 0:
		return ""
	case ms < 1000:
		return fmt.Sprintf("%d ms", ms)
	}
	return fmt.Sprintf("%.1f s", float64(ms)/1000)
}

func (r *records) killsPage(w *writer) {
	w.line("## kill -9 of the steerer")
	w.line("")
	w.line("The steerer looks every 50 ms and writes as often as it may. It is killed at a random moment from 5 ms to 3 s after its")
	w.line("start (FairScheduler: to 8 s, as its file is written every 5 s at most), or, every fourth time, as soon after that as its journal has grown. Every third time its guard is killed in the same instant: then the next start, or `yarn restore`,")
	w.line("chosen by lot, finds the journal open and puts back. Half of the blows begin with a queue that names no share, the other half with one whose share is written `0.10`.")
	runsTable(w, r.kills.heads())
	w.line("| | CapacityScheduler, REST | FairScheduler, file |")
	w.line("|---|---|---|")
	all := r.kills.rows()
	a, b := countKills(all, "capacity"), countKills(all, "fair")
	for _, l := range []struct {
		name string
		f    func(c killCount) any
	}{
		{"blows", func(c killCount) any { return c.all }},
		{"with the guard, too", func(c killCount) any { return c.both }},
		{"before there was a guard", func(c killCount) any { return c.none }},
		{"the journal was open", func(c killCount) any { return c.open }},
		{"between a change's first and second entry", func(c killCount) any { return c.between }},
		{"the value was not the one found", func(c killCount) any { return c.changed }},
		{"put back by the guard", func(c killCount) any { return c.by["guard"] }},
		{"put back by the next start", func(c killCount) any { return c.by["next start"] }},
		{"put back by `yarn restore`", func(c killCount) any { return c.by["restore"] }},
		{"guard: until it was configured as found", func(c killCount) any { return spread(c.back) }},
		{"guard: until the scheduler went by it", func(c killCount) any { return spread(c.inForce) }},
	} {
		w.line("| %s | %v | %v |", l.name, l.f(a), l.f(b))
	}
	var capacity, fair Fate
	for i := range r.kills {
		sum := &r.kills[i].Sum
		capacity.Submitted, capacity.Succeeded = capacity.Submitted+sum.Capacity.Submitted, capacity.Succeeded+sum.Capacity.Succeeded
		fair.Submitted, fair.Succeeded = fair.Submitted+sum.Fair.Submitted, fair.Succeeded+sum.Fair.Succeeded
	}
	w.line("| applications, and those that ended well | %d, %d | %d, %d |", capacity.Submitted, capacity.Succeeded, fair.Submitted, fair.Succeeded)
	for i := range r.kills {
		w.line("")
		w.line("Last looks of run %d: %s.", r.kills[i].Head.run.Number(), strings.Join(r.kills[i].Sum.Final, "; "))
	}
}

func gapTable(w *writer, l gapSeries) {
	runsTable(w, l.heads())
	w.line("| run | | store | value before | after | no answer for | then without nodes for | looks, of them blind | writes in that time | first write after |")
	w.line("|---|---|---|---|---|---|---|---|---|---|")
	var said []string
	for i := range l {
		for _, g := range l[i].Rows {
			w.line("| %d | %s %d | %s | %s | %s | %s | %s | %d, %d | %d | %s |", l[i].Head.run.Number(), g.Kind, g.N, g.Store, g.Before, g.After, seconds(g.Away), seconds(g.Empty), g.Looks, g.Blind,
				g.Writes, seconds(g.Acted))
			if g.Why != "" && !slices.Contains(said, g.Why) {
				said = append(said, g.Why)
			}
		}
	}
	for i := range l {
		w.line("")
		w.line("Last looks of run %d: %s.", l[i].Head.run.Number(), strings.Join(l[i].Sum.Final, "; "))
	}
	if len(said) > 0 {
		w.line("")
		w.line("What the steerer said meanwhile, for example:")
		w.line("")
		for _, s := range said[:min(len(said), 4)] {
			w.line("    %s", oneLine(s))
		}
	}
}

func (r *records) restartsPage(w *writer) {
	w.line("## Restarts of the ResourceManager")
	w.line("")
	w.line("The ResourceManager recovers its applications from a file store. With the store `memory` it forgets the changes of its")
	w.line("queues, so that the value found is in place again; with `fs` it keeps them.")
	gapTable(w, r.restarts)
}

func (r *records) failoversPage(w *writer) {
	w.line("## Failovers")
	w.line("")
	w.line("Two ResourceManagers and ZooKeeper; the active one is killed with kill -9 each time. The new one answers at once and has no")
	w.line("nodes for a while: nothing may be written on that.")
	gapTable(w, r.failovers)
}

func (r *records) kerberosPage(w *writer) {
	w.line("## Kerberos")
	w.line("")
	w.line("A private KDC; ResourceManager and NodeManager ask for tickets on every way. The steerer has a keytab.")
	runsTable(w, r.kerberos.heads())
	w.line("| run | ended by | as | value while it steered | put back by | after | what it said |")
	w.line("|---|---|---|---|---|---|---|")
	for i := range r.kerberos {
		for _, k := range r.kerberos[i].Rows {
			w.line("| %d | %s | %s | %s | %s | %s | %s |", r.kerberos[i].Head.run.Number(), k.Case, k.As, k.Value, k.By, seconds(k.Back), cell(k.Line))
		}
	}
}

func (r *records) liesPage(w *writer) {
	w.line("## Lies and refusals")
	w.line("")
	w.line("A proxy in front of the real ResourceManager alters its answers for some seconds, after the steerer has made a first change")
	submitted, succeeded := 0, 0
	for i := range r.lies {
		submitted, succeeded = submitted+r.lies[i].Sum.Fate.Submitted, succeeded+r.lies[i].Sum.Fate.Succeeded
	}
	w.line("(or from the start). Afterwards the steerer must go on, and leave the value found when it ends. Of %d applications in the queue %d have ended well.", submitted, succeeded)
	runsTable(w, r.lies.heads())
	w.line("| run | what is wrong | changes asked for meanwhile | the line | goes on after |")
	w.line("|---|---|---|---|---|")
	for i := range r.lies {
		for _, l := range r.lies[i].Rows {
			after := seconds(l.Again)
			if l.Ended && l.Again < 0 {
				after = "it ended"
			}
			w.line("| %d | %s | %s | %s | %s |", r.lies[i].Head.run.Number(), cell(l.Case), cell(asked(l.Writes)), cell(l.Line), after)
		}
	}
}

// asked tells changes in a few words.
func asked(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	var words []string
	for _, v := range list {
		if v == "" {
			v = "unset"
		}
		words = append(words, v)
	}
	if len(words) > 4 {
		return fmt.Sprintf("%s ... (%d)", strings.Join(words[:3], ", "), len(words))
	}
	return strings.Join(words, ", ")
}

func (r *records) sizePage(w *writer) {
	w.line("## At size")
	w.line("")
	w.line("A real ResourceManager with simulated nodes (SLS) under load, and a longer and longer list of applications: a fifth of them comes to the steered")
	w.line("queue, a fifth to another, the rest has ended. Requests are counted and timed in a proxy.")
	runsTable(w, r.size.heads())
	w.line("| run | mode | nodes | applications listed | waiting, running in the queue | first look | a look, median | longest | requests a look | most in one | answered a look | changes | most memory | load of the computer |")
	w.line("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|")
	for i := range r.size {
		for _, s := range r.size[i].Rows {
			w.line("| %d | %s | %d | %d | %d, %d | %.0f ms | %.0f ms | %.0f ms | %.2f | %d | %.0f KB | %d | %d MB | %s |", r.size[i].Head.run.Number(), s.Mode, s.Nodes, s.Listed, s.Waiting, s.Running,
				s.First, s.Median, s.Most, s.Requests, s.Greatest, s.Bytes/1e3, s.Changes, s.RSS>>20, known(s.Load))
		}
	}
	if rows := r.size.rows(); len(rows) > 1 {
		w.line("")
		w.line("A look asks: %s.", strings.Join(code(rows[len(rows)-2].Paths), ", "))
	}
}

func code(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = "`" + strings.TrimSpace(s) + "`"
	}
	return out
}

// oneLine is a message on one line, with a name for what is the laboratory's own: the address of its ResourceManager and its folder.
func oneLine(s string) string {
	s = addresses.ReplaceAllString(s, "http://rm:8088")
	return folders.ReplaceAllString(strings.Join(strings.Fields(s), " "), "")
}

var (
	addresses = regexp.MustCompile(`http://(?:127\.0\.0\.1|localhost):\d+`)
	folders   = regexp.MustCompile(`\bWORK/(?:[\w.-]+/)*`)
)

func short(s string, n int) string {
	if len(s) > n {
		return s[:n] + "..."
	}
	return s
}

// cell is a text within a table.
func cell(s string) string {
	return strings.ReplaceAll(short(oneLine(s), 300), "|", "\\|")
}

// known is a number, or that it was not taken.
func known(x float64) string {
	if x == 0 {
		return "unknown"
	}
	return fmt.Sprintf("%.0f", x)
}
