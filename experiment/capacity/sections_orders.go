package capacity

import (
	"fmt"

	x "github.com/yardmaster/yardmaster/experiment"
)

// ordersSection shows which reading of the order of queues gives what.
func ordersSection(r *x.Runs) (x.Section, bool) {
	s := texts().Section("orders")
	waits := x.Table{Caption: "Mean waiting time of short jobs, s", Columns: []string{"", "queue", "as written"}}
	spans := x.Table{Caption: "Makespan, s", Columns: []string{"", "queue", "as written"}}
	letters := []string{""}
	for i := range orders {
		letters = append(letters, orders[i].letter)
		waits.Columns = append(waits.Columns, orders[i].name)
		spans.Columns = append(spans.Columns, orders[i].name)
	}
	spans.Columns = append(spans.Columns, "source")
	found := false
	for _, b := range unequal {
		for i, id := range b.ids() {
			for q := range b.capacity {
				name, label := fmt.Sprintf("q%d", q+1), fmt.Sprintf("%d (%.0f %%)", q+1, b.capacity[q])
				wait, span := []string{id, label}, []string{id, label}
				for _, letter := range letters {
					found = found || letter != "" && r.Has(id+letter)
					wait = append(wait, x.Interval(r.Estimate(id+letter, "wait/short/"+name)))
					span = append(span, x.Interval(r.Estimate(id+letter, "makespan/"+name)))
				}
				spans.Rows = append(spans.Rows, append(span, x.Number(b.published().Makespan[name][i])))
				if b.pattern != separate || q < 2 {
					waits.Rows = append(waits.Rows, wait)
				}
			}
		}
	}
	s.Tables = []x.Table{waits, spans}
	return s, found
}
