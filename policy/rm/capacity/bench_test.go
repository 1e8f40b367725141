package capacity

import (
	"fmt"
	"testing"

	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/unit"
)

// BenchmarkEndAndBeat is the end of a container and the report of its node, with 2,000 applications that want more in 200
// queues on 600 full nodes.
func BenchmarkEndAndBeat(b *testing.B) {
	var settings []string
	names := ""
	for i := range 200 {
		names += fmt.Sprintf("q%d,", i)
		settings = append(settings, fmt.Sprintf("root.q%d.capacity=0.5", i), fmt.Sprintf("root.q%d.maximum-capacity=100", i),
			fmt.Sprintf("root.q%d.user-limit-factor=-1", i), fmt.Sprintf("root.q%d.maximum-am-resource-percent=1", i))
	}
	settings = append(settings, "root.queues="+names[:len(names)-1], "per-node-heartbeat.maximum-offswitch-assignments=100")
	w := build(b, nil, 600, mb(32768), settings...)
	for i := range 2000 {
		id := fmt.Sprint("j", i)
		w.submit(id, fmt.Sprint("u", i%50), fmt.Sprintf("root.q%d", i%200), unit.Resources{})
		w.anywhere(id, 1e9, mb(1024))
	}
	var live []*rm.Container
	for _, n := range w.nodes {
		live = append(live, w.s.Beat(n, 0)...)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		c := live[i%len(live)]
		w.s.Ended(c, 0)
		if got := w.s.Beat(c.Node, 0); len(got) == 1 {
			live[i%len(live)] = got[0]
		} else {
			b.Fatalf("%d containers for one that ended", len(got))
		}
		i += 7
	}
}
