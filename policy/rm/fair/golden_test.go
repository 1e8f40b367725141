package fair

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// The scenarios in testdata are scripts of commands and the transcripts they print; run with -rewrite to regenerate them.
//
//	config [multiple] [preemption] [reservable=F] [node=F rack=F]   the queues of a fair-scheduler.xml
//	nodes n= gb= [cores=] [racks=]
//	add ID [user=] [queue=] [AM=GB]      0: unmanaged
//	ask ID n= [gb=] [cores=] [prio=] [on=(NODE,..)]
//	at S                                     seconds: updates every half second until then
//	beat NODE ...                            nodes report, without ends
//	end c1 ... | remove ID ... | lose NODE
//	move ID QUEUE | set QUEUE PROPERTY VALUE
//	state                                    queues and applications
func TestScenarios(t *testing.T) {
	scripts, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(scripts) == 0 {
		t.Fatal("no scenarios", err)
	}
	for _, path := range scripts {
		t.Run(filepath.Base(path), func(t *testing.T) {
			s := &scenario{}
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
				out := s.run(t, d)
				s.w.check(t)
				if out = strings.TrimSuffix(out, "\n"); out == "" {
					out = "ok"
				}
				return out + "\n"
			})
		})
	}
}

type scenario struct{ w *world }

func (s *scenario) run(t *testing.T, d *datadriven.TestData) string {
	whole := func(key string, otherwise int64) int64 {
		d.MaybeScanArgs(t, key, &otherwise)
		return otherwise
	}
	text := func(key string) (v string) {
		d.MaybeScanArgs(t, key, &v)
		return v
	}
	fail := func(err error) string {
		if err != nil {
			return err.Error()
		}
		return ""
	}
	w := s.w
	switch d.Cmd {
	case "config":
		s.w = newWorld(t, d.Input, s.site(t, d))
		return ""
	case "nodes":
		gb := whole("gb", 8)
		w.addNodes(int(whole("n", 1)), int(whole("racks", 1)), r(gb<<10, whole("cores", gb)))
		return ""
	case "add":
		var am unit.Resources
		if gb := whole("am", 0); gb > 0 {
			am = mb(gb << 10)
		}
		w.now += ms
		return fail(w.add(d.CmdArgs[0].Key, text("user"), text("queue"), am))
	case "ask":
		return fail(s.ask(t, d, r(whole("gb", 1)<<10, whole("cores", 1)), whole("n", 1), int32(whole("prio", 20))))
	case "at":
		return s.at(d.CmdArgs[0].Key)
	case "beat":
		return s.beats(d.CmdArgs)
	case "end":
		for _, a := range d.CmdArgs {
			id, _ := strconv.ParseInt(a.Key[1:], 10, 64)
			w.end(w.all[id])
		}
		return ""
	case "remove":
		for _, a := range d.CmdArgs {
			w.remove(a.Key)
		}
		return ""
	case "lose":
		i, _ := strconv.Atoi(d.CmdArgs[0].Key[1:])
		for _, id := range s.containers() {
			if c := w.all[id]; c.Node == w.nodes[i] {
				w.end(c)
			}
		}
		w.s.NodeRemoved(w.nodes[i], w.now)
		return ""
	case "move":
		return fail(w.s.Move(w.apps[d.CmdArgs[0].Key], d.CmdArgs[1].Key, w.now))
	case "set":
		v, _ := strconv.ParseFloat(d.CmdArgs[2].Key, 64)
		old, err := w.s.SetQueue(d.CmdArgs[0].Key, d.CmdArgs[1].Key, v, w.now)
		return fmt.Sprintf("was %v\n", old) + fail(err)
	case "state":
		return s.state()
	}
	t.Fatalf("no command %q", d.Cmd)
	return ""
}

func (s *scenario) site(t *testing.T, d *datadriven.TestData) conf.Site {
	site := conf.DefaultSite()
	f := &site.Fair
	f.AssignMultiple, f.Preemption = d.HasArg("multiple"), d.HasArg("preemption")
	for key, v := range map[string]*float64{"reservable": &f.ReservableNodes, "node": &f.NodeThreshold, "rack": &f.RackThreshold} {
		var text string
		if d.MaybeScanArgs(t, key, &text); text != "" {
			*v, _ = strconv.ParseFloat(text, 64)
		}
	}
	return site
}

func (s *scenario) ask(t *testing.T, d *datadriven.TestData, size unit.Resources, n int64, prio int32) error {
	asks := []rm.Ask{{Priority: prio, Place: rm.Anywhere, Count: n, Size: size}}
	racks := map[int32]int64{}
	for _, a := range d.CmdArgs {
		if a.Key == "on" {
			for _, v := range a.Vals {
				i, err := strconv.Atoi(strings.TrimPrefix(v, "n"))
				if err != nil {
					t.Fatal(err)
				}
				asks = append(asks, rm.Ask{Priority: prio, Place: rm.OnNode(int32(i)), Count: n, Size: size})
				racks[s.w.nodes[i].Rack] = n
			}
		}
	}
	for k, n := range racks {
		asks = append(asks, rm.Ask{Priority: prio, Place: rm.OnRack(k), Count: n, Size: size})
	}
	return s.w.ask(d.CmdArgs[0].Key, asks...)
}

// at updates every half second, and prints what was preempted.
func (s *scenario) at(text string) string {
	until, _ := strconv.ParseFloat(text, 64)
	var b strings.Builder
	for s.w.now = (s.w.now/(500*ms) + 1) * 500 * ms; ; s.w.now += 500 * ms {
		notice := s.w.s.Round(s.w.now)
		for _, l := range []struct {
			what string
			list []*rm.Container
		}{{"warned", notice.Warned}, {"killed", notice.Killed}} {
			for _, c := range l.list {
				fmt.Fprintf(&b, "%.1f s: %s c%d of %s on %s\n", s.w.now.Seconds(), l.what, c.ID, c.App.ID, c.Node.Name)
			}
		}
		if s.w.now >= unit.FromSeconds(until) {
			return b.String()
		}
	}
}

func (s *scenario) beats(args []datadriven.CmdArg) string {
	var b strings.Builder
	for _, a := range args {
		i, _ := strconv.Atoi(a.Key[1:])
		fmt.Fprintf(&b, "%s:", a.Key)
		for _, c := range s.w.beat(i) {
			fmt.Fprintf(&b, " c%d %s %d GB %v", c.ID, c.App.ID, c.Size.Mem>>10, c.Near)
			if c.AM {
				b.WriteString(" (AM)")
			}
			b.WriteString(";")
		}
		if k := s.w.s.nodes[i].kept; k.app != nil {
			fmt.Fprintf(&b, " kept for %s;", k.app.app.ID)
		}
		for _, c := range s.w.s.nodes[i].claims {
			fmt.Fprintf(&b, " %d GB made for %s;", c.room.Mem>>10, c.app.app.ID)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func (s *scenario) containers() []int64 {
	var ids []int64
	for id := range s.w.all {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func (s *scenario) state() string {
	var b strings.Builder
	for _, q := range s.w.s.Queues {
		fmt.Fprintf(&b, "%s: %d MB used, demand %d, share %d", q.Name, q.Used.Mem, q.Demand.Mem, q.share.Mem)
		if q.Leaf {
			fmt.Fprintf(&b, "; AMs %d of %d", q.AMs.Mem, s.w.s.amLimit(q).Mem)
		}
		b.WriteString("\n")
		for _, a := range q.apps {
			fmt.Fprintf(&b, "  %s: %d MB used, demand %d, share %d\n", a.app.ID, a.Used.Mem, a.Demand.Mem, a.share.Mem)
		}
		for _, a := range q.parked {
			fmt.Fprintf(&b, "  %s: parked, demand %d\n", a.app.ID, a.Demand.Mem)
		}
	}
	return b.String()
}
