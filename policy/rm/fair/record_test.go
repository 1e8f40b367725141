package fair

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/yarn/conf"
)

var (
	record = flag.String("record", "", "folder to write settings and random calls to, for Recorder.java to play to Hadoop")
	seed   = flag.Uint64("seed", 1, "of the random calls")
)

// With -record, it makes up queues, settings and calls, and writes them with our answers (ours.log).
func TestRecord(t *testing.T) {
	out := *record
	if out == "" {
		return // nothing is tested here: see TestAnswersOfHadoop
	}
	g := rand.New(rand.NewPCG(*seed, 7))
	kind := []string{"fair", "drf"}[g.IntN(2)]
	leafKind := []string{kind, kind, "fifo"}[g.IntN(3)]
	zero := 1
	if kind == "fair" { // under drf a weight of 0 makes Hadoop's order depend on the shape of its search tree
		zero = g.IntN(2)
	}
	xml := fmt.Sprintf(`<allocations>
<defaultQueueSchedulingPolicy>%s</defaultQueueSchedulingPolicy>
<queue name="a"><maxResources>%d mb, %d vcores</maxResources><maxRunningApps>%d</maxRunningApps>
 <queue name="x"/><queue name="y"><schedulingPolicy>%s</schedulingPolicy><maxAMShare>0.3</maxAMShare></queue></queue>
<queue name="b"><minResources>%d mb, 3 vcores</minResources><weight>%v</weight></queue>
<queue name="c"><weight>3</weight><maxResources>%d%%</maxResources></queue>
<queue name="d"><weight>%d</weight></queue>
<userMaxAppsDefault>%d</userMaxAppsDefault>
</allocations>
`, kind, 8192+1024*g.IntN(20), 6+g.IntN(20), 2+g.IntN(5), leafKind, 2048*g.IntN(6), []float64{0.5, 1, 2.3}[g.IntN(3)],
		29+g.IntN(70), zero, 2+g.IntN(8))
	site := ""
	add := func(k string, v any) { site += fmt.Sprintf("%s=%v\n", k, v) }
	add("yarn.scheduler.fair.assignmultiple", g.IntN(2) == 0)
	add("yarn.scheduler.fair.dynamic.max.assign", g.IntN(2) == 0)
	add("yarn.scheduler.fair.max.assign", g.IntN(5)-1)
	add("yarn.scheduler.fair.sizebasedweight", g.IntN(4) == 0)
	if g.IntN(2) == 0 {
		add("yarn.scheduler.fair.locality.threshold.node", []string{"0", "0.3", "0.7"}[g.IntN(3)])
		add("yarn.scheduler.fair.locality.threshold.rack", []string{"0", "0.2", "1.0"}[g.IntN(3)])
	}
	add("yarn.scheduler.fair.reservable-nodes", []string{"0.05", "0.3", "0.5"}[g.IntN(3)])
	add("yarn.scheduler.increment-allocation-mb", []int{512, 1024}[g.IntN(2)])
	set, err := conf.ReadSite(strings.NewReader(siteXML(site)), "site")
	if err != nil {
		t.Fatal(err)
	}
	p := &player{w: newWorld(t, inside(xml), set)}
	var script strings.Builder
	do := func(format string, args ...any) {
		line := fmt.Sprintf(format, args...)
		script.WriteString(line + "\n")
		p.play(t, line)
	}
	nodes := 3 + g.IntN(6)
	for i := range nodes {
		do("node %d %d %d %d", i, i%2, 8192, 6+g.IntN(3))
	}
	now, n := 0, 0
	for range 600 {
		switch k := g.IntN(20); {
		case (k < 2 && len(p.ids) < 25) || len(p.ids) == 0:
			n++
			managed := g.IntN(3) / 2
			do("add j%d root.%s u%d %d", n, []string{"a.x", "a.y", "b", "c", "d", "e"}[g.IntN(6)], g.IntN(4), managed)
			if managed == 1 {
				do("ask j%d 0:*:1:1024:1", n)
			}
		case k < 6:
			id := p.ids[g.IntN(len(p.ids))]
			pr := 1 + g.IntN(3)
			c, m, v := g.IntN(8), 700+g.IntN(6500), 1+g.IntN(3)
			if g.IntN(2) == 0 {
				m = 1024 * (1 + g.IntN(3))
			}
			if g.IntN(2) == 0 {
				do("ask %s %d:*:%d:%d:%d", id, pr, c, m, v)
			} else {
				h := g.IntN(nodes)
				do("ask %s %d:n%d:%d:%d:%d %d:r%d:%d:%d:%d %d:*:%d:%d:%d", id, pr, h, c, m, v, pr, h%2, c, m, v, pr, c, m, v)
			}
		case k < 8:
			now += 1 + g.IntN(700)
			do("time %d", now)
			do("update")
			do("state")
		case k < 17:
			now += g.IntN(50)
			do("time %d", now)
			do("beat %d", g.IntN(nodes))
		case k < 19:
			for range 1 + g.IntN(3) {
				if ids := (&scenario{p.w}).containers(); len(ids) > 0 {
					c := p.w.all[ids[g.IntN(len(ids))]]
					do("end %s %s %d %d", c.App.ID, c.Node.Name, c.Size.Mem, c.Size.Cores)
				}
			}
		case g.IntN(2) == 0:
			do("remove %s", p.ids[g.IntN(len(p.ids))])
		}
	}
	for name, text := range map[string]string{"fair.xml": xml, "site": site, "script": script.String(), "ours.log": p.out.String()} {
		if err := os.WriteFile(filepath.Join(out, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}
