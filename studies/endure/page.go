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

	"github.com/yardmaster/yardmaster/studies/soak"
)

// records are all runs, by part.
type records map[string]series

func recordsOf(list []*sheet) records {
	r := records{}
	for _, t := range list {
		r[t.Head.Part] = append(r[t.Head.Part], t)
	}
	return r
}

// misses are all misses of the newest run of each part.
func (r records) misses() (all []string) {
	for _, p := range parts {
		if runs := r[p.name]; len(runs) > 0 {
			for _, m := range runs[len(runs)-1].Sum.Misses {
				all = append(all, p.name+": "+m)
			}
		}
	}
	return all
}

// verdict is one line of the page's head, over all runs of a part.
type verdict struct {
	Text string
	Runs series
}

// Word says in which runs every check held.
func (v verdict) Word() string {
	var missed []string
	for _, t := range v.Runs {
		if len(t.Sum.Misses) > 0 {
			missed = append(missed, fmt.Sprint(t.Head.Run.Number()))
		}
	}
	if len(missed) > 0 {
		return fmt.Sprintf("MISSED in run %s of %d", strings.Join(missed, " and "), len(v.Runs))
	}
	return "MET"
}

func (r records) verdicts() (all []verdict) {
	add := func(part, format string, args ...any) {
		if len(r[part]) > 0 {
			all = append(all, verdict{fmt.Sprintf(format, args...), r[part]})
		}
	}
	killed := func(part, format string) {
		k, apps := countKills(r[part], ""), r[part].appTotals()
		add(part, format, k.All, k.Both, apps.Capacity.Submitted+apps.Fair.Submitted)
	}
	ends := map[string]int{} // of "yarn apply": "old" and "new" configurations, and kills that came too late
	for _, a := range rows[Apply](r["apply"]) {
		if a.Ended {
			ends["ended"]++
		} else {
			ends[a.Final]++
		}
	}
	var longest float64
	var most int64
	for _, s := range rows[Size](r["size"]) {
		longest, most = max(longest, s.Most, s.First), max(most, s.RSS)
	}
	killed("kills", "%d times kill -9, %d of them with the guard: the value found is in place after each, and %d applications have all ended well.")
	killed("knobs", "%d times kill -9 while several knobs were turned, %d of them with the guard: every property of every queue and the queue and priority of every application are as found after each, and %d applications have all ended well.")
	add("apply", "%d times kill -9 of `yarn apply`: in the end the configuration is the old one %d times and the new one %d times, each as the journal says; %d applications have all ended well. (%d more times it had ended before it was killed.)",
		ends["old"]+ends["new"], ends["old"], ends["new"], r["apply"].appTotals().Apps.Submitted, ends["ended"])
	add("restarts", "%d restarts of the ResourceManager: nothing is written before all nodes are back, the steerer goes on, the value found is in place at the end, and %d applications have all ended well.",
		len(rows[Gap](r["restarts"])), r["restarts"].appTotals().Apps.Submitted)
	add("failovers", "%d failovers: the same, with %d applications.", len(rows[Gap](r["failovers"])), r["failovers"].appTotals().Apps.Submitted)
	add("kerberos", "%d cases on a secured ResourceManager, with a keytab: the value found is in place after each.", len(rows[Secured](r["kerberos"])))
	add("lies", "%d lies and refusals: no harmful change, one clear line each.", len(rows[FaultResult](r["lies"])))
	add("size", "one look under 1 s (the longest: %.0f ms), under 100 MB (the most: %d MB), as many requests with the longest list as with the shortest.", longest, most>>20)
	var lasted float64 // of all runs
	for _, r := range rows[soak.Record](r["soak"]) {
		lasted += r.Lasted
	}
	add("upgrades", "%d changes of the version that steers: the next one knows the value found, it is in place at the end, and %d applications have all ended well.",
		len(rows[Upgrade](r["upgrades"])), r["upgrades"].appTotals().Apps.Submitted)
	add("soak", "%.1f hours in all with restarts, rotated logs and a clock that is stepped: memory and descriptors are flat, and %d applications, as many as were counted, have all ended well.",
		lasted/3600, r["soak"].appTotals().Apps.Submitted)
	add("days", "memory is flat in a rehearsal of 30 virtual days.")
	return all
}

//go:embed endurance.md.tmpl
var pageText string

// data is what the page shows: the runs of each part by its name, and what is counted over them.
func (r records) data() map[string]any {
	totals := r["kills"].appTotals()
	totals.Apps = r["lies"].appTotals().Apps
	data := map[string]any{"Verdicts": r.verdicts(), "Totals": totals, "KnobTotals": r["knobs"].appTotals()}
	if sizes := rows[Size](r["size"]); len(sizes) > 1 {
		data["Paths"] = sizes[len(sizes)-2].Paths
	}
	for part, runs := range r {
		data[part] = runs
	}
	return data
}

var pageFuncs = template.FuncMap{
	"list": func(all ...any) []any { return all }, "counts": counts, "lastOf": func(l series) []string { return l[len(l)-1].Sum.Tried },
	"kills": countKills, "soaked": soak.Text, "guards": func(l series) string { return tally(l, func(a *Apply) string { return a.Guard }) },
	"states": func(l series) string {
		return tally(l, func(a *Apply) string {
			return fmt.Sprintf("%s (journal open: %v), then %s (restored by: %s):", a.Left, a.Open, a.Final, cmp.Or(a.By, "nobody"))
		})
	}, "spread": spread, "seconds": seconds, "said": said, "asked": asked, "oneLine": oneLine, "short": short, "cell": cell, "trim": strings.TrimSpace, "mb": func(bytes int64) int64 { return bytes >> 20 },
}

// said are up to four messages of the steerer while the ResourceManager was away.
func said(l series) (list []string) {
	for _, g := range rows[Gap](l) {
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
func countKills(list series, scheduler string) killCount {
	c := killCount{By: map[string]int{}, Held: map[string]int{}}
	for _, k := range rows[Kill](list) {
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
func tally(list series, of func(*Apply) string) string {
	m := map[string]int{}
	for _, a := range rows[Apply](list) {
		if !a.Ended {
			m[of(a)]++
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
