package endure

import (
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/yardmaster/yardmaster/studies/evidence"
)

// Misses are all misses of the newest run of each part.
func Misses(dir string) ([]string, error) {
	r, err := read(dir)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, p := range r.verdicts() {
		for _, m := range p.Misses[len(p.Misses)-1] {
			all = append(all, p.name+": "+m)
		}
	}
	return all, nil
}

// records are the raw data of all runs of all parts.
type records struct {
	Kills, Knobs        series[Kill]
	Apply               series[Apply]
	Restarts, Failovers series[Gap]
	Kerberos            series[Secured]
	Faults              series[FaultResult]
	Size                series[Size]
}

func read(dir string) (*records, error) {
	r := &records{}
	for name, load := range map[string]func(dir, part string) error{
		"kills": r.Kills.load, "knobs": r.Knobs.load, "apply": r.Apply.load, "restarts": r.Restarts.load, "failovers": r.Failovers.load, "kerberos": r.Kerberos.load, "lies": r.Faults.load, "size": r.Size.load,
	} {
		if err := load(dir, name); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// verdict is one line of the page's head, over all runs of a part.
type verdict struct {
	name, Text string
	Heads      []Head
	Misses     [][]string // by run
}

// Word says in which runs every check held.
func (v verdict) Word() string {
	var missed []string
	for i := range v.Misses {
		if len(v.Misses[i]) > 0 {
			missed = append(missed, fmt.Sprint(v.Heads[i].Run.Number()))
		}
	}
	if len(missed) > 0 {
		return fmt.Sprintf("MISSED in run %s of %d", strings.Join(missed, " and "), len(v.Heads))
	}
	return "MET"
}

func (r *records) verdicts() []verdict {
	k, killed := countKills(r.Kills, ""), r.Kills.appTotals()
	turns, turnedApps := countKills(r.Knobs, ""), r.Knobs.appTotals()
	ends := map[string]int{} // of "yarn apply": "old" and "new" configurations, and kills that came too late
	for _, a := range r.Apply.rows() {
		if a.Ended {
			a.Final = "ended"
		}
		ends[a.Final]++
	}
	var longest float64
	var most int64
	for _, s := range r.Size.rows() {
		longest, most = max(longest, s.Most, s.First), max(most, s.RSS)
	}
	var all []verdict
	for _, p := range []struct {
		name string
		of   interface{ held() ([]Head, [][]string) }
		text string
	}{
		{"kills", r.Kills, fmt.Sprintf("%d times kill -9, %d of them with the guard: the value found is in place after each, and %d applications have all ended well.",
			k.All, k.Both, killed.Capacity.Submitted+killed.Fair.Submitted)},
		{"knobs", r.Knobs, fmt.Sprintf("%d times kill -9 while several knobs were turned, %d of them with the guard: every property of every queue and the queue and priority of every application are as found after each, and %d applications have all ended well.",
			turns.All, turns.Both, turnedApps.Capacity.Submitted+turnedApps.Fair.Submitted)},
		{"apply", r.Apply, fmt.Sprintf("%d times kill -9 of `yarn apply`: in the end the configuration is the old one %d times and the new one %d times, each as the journal says; %d applications have all ended well. (%d more times it had ended before it was killed.)",
			ends["old"]+ends["new"], ends["old"], ends["new"], r.Apply.appTotals().Apps.Submitted, ends["ended"])},
		{"restarts", r.Restarts, fmt.Sprintf("%d restarts of the ResourceManager: nothing is written before all nodes are back, the steerer goes on, the value found is in place at the end, and %d applications have all ended well.",
			len(r.Restarts.rows()), r.Restarts.appTotals().Apps.Submitted)},
		{"failovers", r.Failovers, fmt.Sprintf("%d failovers: the same, with %d applications.", len(r.Failovers.rows()), r.Failovers.appTotals().Apps.Submitted)},
		{"kerberos", r.Kerberos, fmt.Sprintf("%d cases on a secured ResourceManager, with a keytab: the value found is in place after each.", len(r.Kerberos.rows()))},
		{"lies", r.Faults, fmt.Sprintf("%d lies and refusals: no harmful change, one clear line each.", len(r.Faults.rows()))},
		{"size", r.Size, fmt.Sprintf("one look under 1 s (the longest: %.0f ms), under 100 MB (the most: %d MB), as many requests with the longest list as with the shortest.", longest, most>>20)},
	} {
		if heads, misses := p.of.held(); len(heads) > 0 {
			all = append(all, verdict{p.name, p.text, heads, misses})
		}
	}
	return all
}

//go:embed endurance.md.tmpl
var pageText string

// Report writes the page from the raw data.
func Report(dir, page string) (string, error) {
	r, err := read(dir)
	if err != nil {
		return "", err
	}
	return r.page(page)
}

func (r *records) page(file string) (string, error) {
	totals := r.Kills.appTotals()
	totals.Apps = r.Faults.appTotals().Apps
	var paths []string
	if rows := r.Size.rows(); len(rows) > 1 {
		paths = rows[len(rows)-2].Paths
	}
	return evidence.Page(pageText, file, struct {
		*records
		Verdicts           []verdict
		Totals, KnobTotals Sum
		Paths              []string
	}{r, r.verdicts(), totals, r.Knobs.appTotals(), paths}, template.FuncMap{
		"list": func(all ...any) []any { return all }, "counts": counts, "lastOf": func(l series[Kill]) []string { return l[len(l)-1].Sum.Tried },
		"kills": countKills, "guards": func(l series[Apply]) string { return tally(l, func(a *Apply) string { return a.Guard }) },
		"states": func(l series[Apply]) string {
			return tally(l, func(a *Apply) string {
				return fmt.Sprintf("%s (journal open: %v), then %s (restored by: %s):", a.Left, a.Open, a.Final, cmp.Or(a.By, "nobody"))
			})
		}, "spread": spread, "seconds": seconds, "said": said, "asked": asked, "oneLine": oneLine, "short": short, "cell": cell, "trim": strings.TrimSpace, "mb": func(bytes int64) int64 { return bytes >> 20 },
	})
}

// said are up to four messages of the steerer while the ResourceManager was away.
func said(l series[Gap]) (list []string) {
	for _, g := range l.rows() {
		if g.Why != "" && !slices.Contains(list, g.Why) && len(list) < 4 {
			list = append(list, g.Why)
		}
	}
	return list
}

// killCount counts kills by what they hit.
type killCount struct {
	All, Both, None, Open, Between, Changed int
	By, Held                                map[string]int
	Back, InForce                           []int64
}

// countKills counts those of all runs with a scheduler; "": with both.
func countKills(list series[Kill], scheduler string) killCount {
	c := killCount{By: map[string]int{}, Held: map[string]int{}}
	for _, k := range list.rows() {
		if scheduler != "" && k.Scheduler != scheduler {
			continue
		}
		c.All++
		for n, yes := range map[*int]bool{&c.Both: k.Guard == "killed", &c.None: k.Guard == "none", &c.Open: k.Open, &c.Between: k.Between, &c.Changed: k.Changed} {
			if yes {
				*n++
			}
		}
		if k.By != "" {
			c.By[k.By]++
		}
		for knob, n := range k.Held {
			c.Held[knob] += n
		}
		if k.By == "guard" && k.Back >= 0 {
			c.Back = append(c.Back, k.Back)
		}
		if k.By == "guard" && k.InForce > 0 {
			c.InForce = append(c.InForce, k.InForce)
		}
	}
	slices.Sort(c.Back)
	slices.Sort(c.InForce)
	return c
}

// tally counts the kills of "yarn apply" by one of their properties.
func tally(list series[Apply], of func(*Apply) string) string {
	m := map[string]int{}
	for _, a := range list.rows() {
		if !a.Ended {
			m[of(&a)]++
		}
	}
	return counts(m)
}

// counts formats numbers by name.
func counts(m map[string]int) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		all = append(all, fmt.Sprintf("%s %d", name, m[name]))
	}
	return strings.Join(all, ", ")
}

// spread is the median and the maximum of sorted milliseconds.
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

// asked formats changes briefly.
func asked(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	words := make([]string, len(list))
	for i, v := range list {
		words[i] = cmp.Or(v, "unset")
	}
	if len(words) > 4 {
		return fmt.Sprintf("%s ... (%d)", strings.Join(words[:3], ", "), len(words))
	}
	return strings.Join(words, ", ")
}

// oneLine is a message on one line, with placeholders for what is specific to the lab: the address of its ResourceManager and its folder.
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
