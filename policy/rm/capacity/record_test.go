package capacity

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/policy/rm"
)

var (
	record = flag.String("record", "", "folder to write settings and random calls to, for Recorder.java to play to Hadoop")
	seed   = flag.Uint64("seed", 1, "of the random calls")
	seeds  = flag.Uint64("seeds", 1, "how many, each in a folder of its own")
)

// With -record, it makes up queues, settings and calls, and writes them with our answers (ours.log).
func TestRecord(t *testing.T) {
	if *record == "" {
		return // nothing is tested here: see TestAnswersOfHadoop
	}
	for i := *seed; i < *seed+*seeds; i++ {
		g := &script{Rand: rand.New(rand.NewPCG(i, 11))}
		g.settings()
		g.p = newPlayer(t, g.conf.String())
		g.calls()
		dir := filepath.Join(*record, fmt.Sprint("seed", i))
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"conf": g.conf.String(), "script": g.text.String(), "ours.log": g.p.out.String()} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// script makes up settings and calls.
type script struct {
	*rand.Rand
	conf, text strings.Builder
	leaves     []string
	p          *player
	racks      []int
	now, n     int
	preempt    bool
}

func pick[T any](g *script, of ...T) T { return of[g.IntN(len(of))] }

func (g *script) set(key string, v any) { fmt.Fprintf(&g.conf, "%s=%v\n", key, v) }

func (g *script) settings() {
	const pre = "yarn.scheduler.capacity."
	if g.IntN(2) == 0 {
		g.set(pre+"resource-calculator", "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator")
	}
	g.set("yarn.scheduler.minimum-allocation-mb", pick(g, 128, 512, 1024))
	g.set("yarn.cluster.max-application-priority", 10)
	g.set(pre+"node-locality-delay", pick(g, 0, 1, 3, 40))
	g.set(pre+"rack-locality-additional-delay", pick(g, -1, -1, 0, 2))
	g.set(pre+"rack-locality-full-reset", pick(g, true, false))
	g.set(pre+"per-node-heartbeat.multiple-assignments-enabled", pick(g, true, true, false))
	g.set(pre+"per-node-heartbeat.maximum-container-assignments", pick(g, 100, 10, 2))
	g.set(pre+"per-node-heartbeat.maximum-offswitch-assignments", 1+g.IntN(5))
	g.set(pre+"reservations-continue-look-all-nodes", pick(g, true, false))
	g.set(pre+"maximum-am-resource-percent", pick(g, 0.1, 0.3, 1.0))
	if g.IntN(2) == 0 {
		g.set("yarn.resourcemanager.scheduler.monitor.enable", true)
		g.preempt = true
		const m = "yarn.resourcemanager.monitor.capacity.preemption."
		g.set(m+"max_wait_before_kill", pick(g, 0, 3000, 15000))
		g.set(m+"total_preemption_per_round", pick(g, 0.1, 0.5, 1.0))
		g.set(m+"natural_termination_factor", pick(g, 0.2, 1.0))
		g.set(m+"max_ignored_over_capacity", pick(g, 0.0, 0.1))
	}
	g.queues(pre+"root", "root", 1, pick(g, "percent", "weight", "absolute"), 9*8192, 9*5)
}

// queues makes the children of a queue that has about so much.
func (g *script) queues(key, path string, level int, kind string, mem, cores int) {
	names := []string{"a", "b", "c", "d"}[:2+g.IntN(3)]
	g.set(key+".queues", strings.Join(names, ","))
	if g.IntN(3) == 0 {
		g.set(key+".ordering-policy", "priority-utilization")
	}
	left := 100
	for i, n := range names {
		k := key + "." + n
		part := left
		if i < len(names)-1 {
			part = g.IntN(left/(len(names)-i) + 10)
			part = min(part, left)
		}
		left -= part
		switch kind {
		case "percent":
			g.set(k+".capacity", part)
		case "weight":
			g.set(k+".capacity", fmt.Sprint(pick(g, 1, 2, 3, 5), "w"))
		default:
			g.set(k+".capacity", fmt.Sprintf("[memory=%d,vcores=%d]", mem*part/100, cores*part/100))
		}
		if g.IntN(2) == 0 {
			if kind == "absolute" {
				g.set(k+".maximum-capacity", fmt.Sprintf("[memory=%d,vcores=%d]", mem*(part+10)/100+4096, cores*(part+10)/100+4))
			} else {
				g.set(k+".maximum-capacity", max(part, pick(g, 30, 60, 90)))
			}
		}
		g.set(k+".priority", g.IntN(3))
		if g.preempt && g.IntN(6) == 0 {
			g.set(k+".disable_preemption", true)
		}
		if level < 3 && g.IntN(3) == 0 {
			g.queues(k, path+"."+n, level+1, kind, mem*part/100, cores*part/100)
			continue
		}
		g.leaves = append(g.leaves, path+"."+n)
		g.set(k+".minimum-user-limit-percent", pick(g, 25, 50, 100))
		g.set(k+".user-limit-factor", pick(g, "0.5", "1", "2", "4", "-1"))
		g.set(k+".ordering-policy", pick(g, "fifo", "fifo", "fair"))
		if g.IntN(2) == 0 {
			g.set(k+".maximum-am-resource-percent", pick(g, 0.1, 0.3, 1.0))
		}
	}
}

func (g *script) do(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	g.text.WriteString(line + "\n")
	g.p.play(line)
}

func (g *script) calls() {
	for i := range 3 + g.IntN(7) {
		g.racks = append(g.racks, i%3)
		g.do("node %d %d %d %d", i, i%3, pick(g, 8192, 8192, 12288, 16384, 9000), 4+g.IntN(5))
	}
	for range 700 {
		p := g.p
		switch k := g.IntN(24); {
		case k < 2 && len(p.ids) < 30 || len(p.ids) == 0:
			g.submit()
		case k < 6:
			g.ask(p.ids[g.IntN(len(p.ids))])
		case k < 18:
			g.beat(g.IntN(len(g.racks)))
		case k == 18:
			g.do("state")
		case k == 19:
			g.do("limits")
		case k == 20:
			g.release()
		case k == 21 && g.IntN(2) == 0:
			g.do("remove %s", p.ids[g.IntN(len(p.ids))])
		case g.preempt && k >= 22:
			g.now += 1000 + g.IntN(4000)
			g.do("time %d", g.now)
			g.do("round")
		}
	}
	g.do("state")
}

func (g *script) submit() {
	g.n++
	m, v := pick(g, 512, 1024, 2000), 1
	if g.IntN(3) == 0 {
		m, v = 0, 0
	}
	id := fmt.Sprint("j", g.n)
	g.do("add %s %s u%d %d %d %d", id, pick(g, g.leaves...), g.IntN(4), pick(g, 0, 0, 0, 2, 5), m, v)
	if a := g.p.apps[id]; a != nil && m > 0 {
		g.do("ask %s 0:*:1:%d:%d", id, m, v)
	}
}

func (g *script) ask(id string) {
	a := g.p.s.apps[g.p.apps[id].Index]
	if !a.AM.IsZero() && !a.hasAM {
		return
	}
	pr, c, m, v := 1+g.IntN(3), g.IntN(8), 300+g.IntN(5000), 1+g.IntN(3)
	switch g.IntN(4) {
	case 0:
		m, v = 1024*(1+g.IntN(2)), 1
	case 1:
		m, v = 1024*(5+g.IntN(4)), 1+g.IntN(4)
	}
	if g.IntN(2) == 0 {
		g.do("ask %s %d:*:%d:%d:%d", id, pr, c, m, v)
		return
	}
	line := ""
	racks := map[int]bool{}
	for range 1 + g.IntN(3) {
		h := g.IntN(len(g.racks))
		line += fmt.Sprintf(" %d:n%d:%d:%d:%d", pr, h, 1+g.IntN(c+1), m, v)
		racks[g.racks[h]] = true
	}
	for r := range 3 {
		if racks[r] {
			line += fmt.Sprintf(" %d:r%d:%d:%d:%d", pr, r, 1+g.IntN(c+1), m, v)
		}
	}
	g.do("ask %s%s %d:*:%d:%d:%d", id, line, pr, c, m, v)
}

// beat reports some launches and ends; what was preempted while it ran ends soon after.
func (g *script) beat(i int) {
	var launched, ended []string
	for k, c := range g.p.all {
		if c == nil || int(c.Node.Index) != i || c.Slot == freed {
			continue
		}
		switch {
		case c.Gone && g.IntN(2) == 0, !c.Gone && g.IntN(12) == 0 && (!c.AM || g.IntN(8) == 0):
			ended = append(ended, fmt.Sprint(k))
		case !c.Gone && !c.Launched && g.IntN(2) == 0:
			launched = append(launched, fmt.Sprint(k))
		}
	}
	line := fmt.Sprint("beat ", i)
	if len(launched) > 0 {
		line += " L:" + strings.Join(launched, ",")
	}
	if len(ended) > 0 {
		line += " E:" + strings.Join(ended, ",")
	}
	g.do("%s", line)
}

func (g *script) release() {
	var mine []*rm.Container
	id := g.p.ids[g.IntN(len(g.p.ids))]
	list := ""
	for k, c := range g.p.all {
		if c != nil && c.App.ID == id && !c.Gone && !c.AM && len(mine) < 2 {
			mine = append(mine, c)
			list += fmt.Sprint(" ", k)
		}
	}
	if len(mine) > 0 {
		g.do("release %s%s", id, list)
	}
}
