package live

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/unit"
)

// An answer about several applications is a table, one about a named one sentences; an instant that no simulation reaches is null for programs.
func TestEtaAnswer(t *testing.T) {
	v := &View{Epoch: time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC), Now: unit.Minute, Cluster: &cluster.Cluster{Nodes: make([]cluster.Node, 2)}, Notes: []string{"a\nnote"}}
	v.Apps = []App{{ID: "a1", User: "ann", Queue: "root.q", Held: []Container{{AM: true, Since: 0}}}, {ID: "a2", Name: "etl", User: "bob", Queue: "root.q"}, {ID: "a3"}}
	soon, late := Interval{2 * unit.Minute, 3 * unit.Minute, 4 * unit.Minute}, Interval{5 * unit.Minute, unit.Never, unit.Never}
	e := &eta{View: v, past: &History{guess: true}, o: Options{Draws: 19, Calibration: &Calibration{}}, forecasts: []Forecast{
		{App: &v.Apps[0], Started: true, End: soon}, {App: &v.Apps[1], Start: soon, End: late}, {App: &v.Apps[2], Refused: "no queue"},
	}}
	text := func() string {
		var b strings.Builder
		e.Text(&b, 0)
		return b.String()
	}
	for _, want := range []string{"not measured", "running", "2 min  60 s to 3 min", "waiting", "not foreseen  4 min to later", "refused", "3 applications on 2 nodes", "Note: a\\nnote."} {
		if got := text(); !strings.Contains(strings.Join(strings.Fields(got), " "), strings.Join(strings.Fields(want), " ")) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	doc, err := json.Marshal(e.JSON())
	if want := `"start":{"low":"2026-11-18T12:02:00Z","median":"2026-11-18T12:03:00Z","high":"2026-11-18T12:04:00Z"},"end":{"low":"2026-11-18T12:05:00Z","median":null,"high":null}`; err != nil || !strings.Contains(string(doc), want) {
		t.Errorf("%v: %s", err, doc)
	}
	for i, want := range []string{"a1 (without a name) of ann in root.q runs since 12:00:00.\nIt ends in", "a2 (etl) of bob in root.q waits. It starts in 2 min (not measured: 60 s to 3 min), at about 12:03:00.\nIts end is not foreseen", "would be refused: no queue"} {
		one := *e
		one.single, one.forecasts = true, e.forecasts[i:]
		var b strings.Builder
		if one.Text(&b, 0); !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
}
