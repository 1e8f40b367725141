package marp

import (
	"context"
	"fmt"

	x "github.com/yardmaster/yardmaster/experiment"
)

// balance is a host on which tasks compute more or less, or the disk suffers more from several streams, than on the study's. Each was
// set by the mean of six jobs at once alone, as the study's host was.
type balance struct {
	id, name string
	*bench
	otherJobs bool // not the source's: shown to find a reason, not judged
}

var balances = func() []balance {
	all := []balance{
		{"terasort", "TeraSort, as measured", &teraSort, false}, {"wordcount", "WordCount, as measured", &wordCount, false}, {"sort", "Sort, as measured", &sortB, false},
	}
	mrperf := func(b *bench, reduceByte, request, cached float64) {
		c := b.mrperf(reduceByte, cached)
		c.request = request
		all = append(all, balance{
			fmt.Sprintf("%s-%.0f-%.0f", b.short, reduceByte, request/1e3),
			fmt.Sprintf("%s, MRPERF's, %g a byte of a reduce, %.0f kB", b.name, reduceByte, request/1e3), c, false,
		})
	}
	other := func(b *bench, what string, reduces, copies int64, cached float64) {
		c := *b
		c.reduces, c.replication, c.cached = reduces, copies, cached
		all = append(all, balance{fmt.Sprintf("%s-%d-%d", b.short, reduces, copies), fmt.Sprintf("%s, as measured, but %s", b.name, what), &c, true})
	}
	mrperf(&teraSort, 90, diskRequest, 0.434)
	mrperf(&wordCount, 90, diskRequest, 0.625)
	mrperf(&sortB, 90, diskRequest, 0.541)
	mrperf(&teraSort, 45, diskRequest, 0.445)
	mrperf(&wordCount, 45, diskRequest, 0.589)
	mrperf(&sortB, 45, diskRequest, 0.541)
	mrperf(&teraSort, 22.5, diskRequest, 0.452)
	mrperf(&wordCount, 22.5, diskRequest, 0.578)
	mrperf(&sortB, 22.5, diskRequest, 0.541)
	mrperf(&teraSort, 90, smallRequest, 0.791)
	mrperf(&teraSort, 45, smallRequest, 0.804)
	mrperf(&teraSort, 22.5, smallRequest, 0.811)
	other(&wordCount, "one copy of its output", 1, 1, 0.232)
	other(&sortB, "one reduce", 1, 3, 0.498)
	other(&sortB, "one copy of its output", 5, 1, 0.273)
	other(&sortB, "one reduce and one copy", 1, 1, 0.221)
	return all
}()

// smallRequest is Linux's read-ahead, the least of what diskRequest may be.
const smallRequest = 128 << 10

// balanced plays six jobs on each of these hosts and, of TeraSort, the four of E2.
func balanced() runner {
	return func(ctx context.Context, seed uint64, m x.Metrics) error {
		for i := range balances {
			h := &balances[i]
			play := func(n int, under, name string) error {
				o, err := h.batch(n, seed).under(under, Fair).play(ctx, seed)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", h.name, name, err)
				}
				m["makespan/"+h.id+"/"+name] = o.Makespan
				return nil
			}
			for _, name := range append([]string{"prj", "ahead"}, steered...) {
				if err := play(six, name, name); err != nil {
					return err
				}
			}
			for _, name := range []string{"fifo", "prj"} {
				if h.experiment != "E7" {
					continue
				}
				if err := play(4, name, "four-"+name); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

func balanceChecks() []x.Check {
	var parts []x.Judge
	for i := range balances {
		id := balances[i].id
		if balances[i].otherJobs {
			continue
		}
		parts = append(parts, x.Labelled(balances[i].name, x.All(
			x.Less(span("E22", id+"/cbtws"), span("E22", id+"/prj")), x.Less(span("E22", id+"/cbtws"), span("E22", id+"/cbt")))))
	}
	return []x.Check{{
		ID: "E22-order", Strength: x.R, Paper: "CBTwS before CBT before PRJ", Judge: x.Any(parts...),
		Text: "On some host that six at once cannot tell from the study's, CBTwS beats both PRJ and CBT",
	}}
}

func balanceSection(r *x.Runs) (x.Section, bool) {
	if !r.Has("E22") {
		return x.Section{}, false
	}
	t := x.Table{
		Caption: "Improvement over PRJ, %, and the four jobs of E2, s",
		Columns: []string{"benchmark, cycles; the disk moves at a time", "PRJ, s", "CBT", "CBTwS", "CBTwAT", "ahead", "four, FIFO", "four, PRJ"},
	}
	for i := range balances {
		h := &balances[i]
		v := func(name string) float64 { return r.Point("E22", "makespan/"+h.id+"/"+name).Mean }
		row := []string{h.name, seconds(v("prj"))}
		for _, name := range append(append([]string{}, steered...), "ahead") {
			row = append(row, fmt.Sprintf("%.1f", 100*(1-v(name)/v("prj"))))
		}
		t.Rows = append(t.Rows, append(row, seconds(v("four-fifo")), seconds(v("four-prj"))))
	}
	for _, b := range benches() {
		source, fifo, prj := sourceGains[b.experiment], "-", "-"
		if b.experiment == "E7" {
			fifo, prj = "697", "442"
		}
		t.Rows = append(t.Rows, []string{b.name + ", source", seconds(b.batch6), seconds(source["cbt"][0]), seconds(source["cbtws"][0]), seconds(source["cbtwat"][0]), "-", fifo, prj})
	}
	return x.Section{
		Title: "What the gain depends on (E22)",
		Text: []string{"Six at once take the same time on hosts whose tasks compute much or little, and whose disk suffers little or much from several streams; what controllers gain on them differs. The first three " +
			"rows are the study's host. Those after them have the cycles of MRPERF, which the study took before it had its own, with reduces that compute as much as MRPERF says, half and a quarter of it, " +
			"and with a disk that moves less at a time. Each was set by the mean of six at once, and by nothing else. The more a reduce that is alone is held up by its processor, the longer the disk " +
			"stands still while other jobs are held back, and the more they are missed. The last rows are not the source's jobs; they were played to find out what takes the gain from WordCount and Sort: several reduces of a job, and " +
			"several copies of what they write on one disk, crowd the disk by themselves, so that holding other jobs back saves little. No verdict of this page but E22-order uses anything but the first three rows."},
		Tables: []x.Table{t},
	}, true
}
