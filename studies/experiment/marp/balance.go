package marp

import (
	"context"
	"fmt"

	x "github.com/yardmaster/yardmaster/studies/experiment"
)

// balance is a host on which tasks compute more or less, or the disk suffers more from concurrent streams, than on the study's host. Like
// the study's host, each was calibrated on nothing but the mean of six jobs at once.
type balance struct {
	ID, Host string
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
			fmt.Sprintf("%s-%.0f-%.0f", b.Short, reduceByte, request/1e3),
			fmt.Sprintf("%s, MRPERF's, %g a byte of a reduce, %.0f kB", b.Name, reduceByte, request/1e3), c, false,
		})
	}
	other := func(b *bench, what string, reduces, copies int64, cached float64) {
		c := *b
		c.reduces, c.replication, c.cached = reduces, copies, cached
		all = append(all, balance{fmt.Sprintf("%s-%d-%d", b.Short, reduces, copies), fmt.Sprintf("%s, as measured, but %s", b.Name, what), &c, true})
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

// smallRequest is Linux's read-ahead, the minimum of diskRequest.
const smallRequest = 128 << 10

// balanced runs six jobs on each of these hosts and, for TeraSort, the four of E2.
func balanced(ctx context.Context, seed uint64, m x.Metrics) error {
	for i := range balances {
		h := &balances[i]
		for _, name := range append([]string{"prj", "ahead"}, steered...) {
			if err := h.batch(six, seed).under(name, Fair).time(ctx, seed, m, h.ID+"/"+name); err != nil {
				return err
			}
		}
		for _, name := range []string{"fifo", "prj"} {
			if h.Experiment != "E7" {
				continue
			}
			if err := h.batch(4, seed).under(name, Fair).time(ctx, seed, m, h.ID+"/four-"+name); err != nil {
				return err
			}
		}
	}
	return nil
}

// span is the makespan of an experiment's variant.
func span(experiment, name string) x.Quantity { return x.Of(experiment, "makespan/"+name) }

// ownJudges are the judges that the study adds to those of package experiment.
var ownJudges = map[string]func(words []string, q []x.Quantity) x.Judge{
	// balances holds when on one of the hosts CBTwS is faster than all at once and than CBT.
	"balances": func([]string, []x.Quantity) x.Judge {
		var parts []x.Judge
		for _, b := range balances {
			if !b.otherJobs {
				parts = append(parts, x.Labelled(b.Host, x.All(x.Less(span("E22", b.ID+"/cbtws"), span("E22", b.ID+"/prj")), x.Less(span("E22", b.ID+"/cbtws"), span("E22", b.ID+"/cbt")))))
			}
		}
		return x.Any(parts...)
	},
}
