package capacity

import (
	"fmt"

	x "github.com/yardmaster/yardmaster/experiment"
)

// ordersSection shows which reading of the order of queues gives what.
func ordersSection(r *x.Runs) (x.Section, bool) {
	s := x.Section{
		Title: "Which order of queues gives what",
		Text: []string{"What the source reports of unequal queues without a maximum-capacity does not follow from the rule it describes: serving " +
			"the queue with the lowest running/capacity first holds backlogged queues at their capacities. Beside it stand three other readings: the queue " +
			"with the fewest running tasks first, whatever its share; the most loaded queue first; and the rule as written, but with queues sorted once a heartbeat.",
			"The fewest running tasks first, that is, an order that forgets the capacities, gives what the source reports of E09 to E16: equal makespans, close to the " +
				"printed ones, and short jobs of the 70 % queue that wait longer than those of the 30 % queue in E12 and E15. But it favours the short queues of E25 to E32, " +
				"which the source sees starve; the most loaded queue first starves them. Sorting once a heartbeat gives delayed map execution. No order gives all of it. With a " +
				"maximum-capacity the order hardly matters."},
	}
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
				spans.Rows = append(spans.Rows, append(span, x.Number(b.published().makespan[name][i])))
				if b.pattern != separate || q < 2 {
					waits.Rows = append(waits.Rows, wait)
				}
			}
		}
	}
	s.Tables = []x.Table{waits, spans}
	return s, found
}
