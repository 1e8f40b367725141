package adapt_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/capacity"
	"github.com/yardmaster/yardmaster/policy/fair"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/policy/rm/adapt"
	capacityrm "github.com/yardmaster/yardmaster/policy/rm/capacity"
	fairrm "github.com/yardmaster/yardmaster/policy/rm/fair"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// BenchmarkEndAndBeat is the end of a container and the report of its node on 600 full nodes, with applications that all want more:
// what the exact schedulers cost, and the orders of ideal time behind the adapter.
func BenchmarkEndAndBeat(b *testing.B) {
	for _, size := range []struct{ queues, apps int }{{3, 30}, {200, 2000}} {
		site := conf.DefaultSite()
		site.Fair.AssignMultiple, site.Fair.DynamicMaxAssign = true, false
		var settings, allocations strings.Builder
		set := func(name, value string) {
			fmt.Fprintf(&settings, "<property><name>%s%s</name><value>%s</value></property>\n", conf.Prefix, name, value)
		}
		var names []string
		for i := range size.queues {
			name := fmt.Sprint("q", i)
			names = append(names, name)
			set("root."+name+".capacity", "1w")
			set("root."+name+".user-limit-factor", "-1")
			fmt.Fprintf(&allocations, "<queue name=%q/>\n", name)
		}
		set("root.queues", strings.Join(names, ","))
		set("maximum-am-resource-percent", "1")
		set("per-node-heartbeat.maximum-offswitch-assignments", "100")
		c, err := conf.ReadCapacity(strings.NewReader("<configuration>"+settings.String()+"</configuration>"), "c.xml")
		if err != nil {
			b.Fatal(err)
		}
		f, err := conf.ReadFair(strings.NewReader("<allocations>"+allocations.String()+"</allocations>"), "f.xml")
		if err != nil {
			b.Fatal(err)
		}
		order := func(p policy.Policy, err error) (rm.Scheduler, error) {
			if err != nil {
				return nil, err
			}
			return adapt.New(p)
		}
		for _, k := range []struct {
			name string
			make func() (rm.Scheduler, error)
		}{
			{"capacity/exact", func() (rm.Scheduler, error) { return capacityrm.New(c, site) }},
			{"capacity/order", func() (rm.Scheduler, error) { return order(capacity.New(c)) }},
			{"fair/exact", func() (rm.Scheduler, error) { return fairrm.New(f, site) }},
			{"fair/order", func() (rm.Scheduler, error) { return order(fair.FromConf(f)) }},
		} {
			b.Run(fmt.Sprintf("%s/queues=%d", k.name, size.queues), func(b *testing.B) {
				s, err := k.make()
				if err != nil {
					b.Fatal(err)
				}
				endAndBeat(b, s, size.queues, size.apps)
			})
		}
	}
}

func endAndBeat(b *testing.B, s rm.Scheduler, queues, apps int) {
	var live []*rm.Container
	nodes := make([]rm.Node, 600)
	for i := range nodes {
		nodes[i] = rm.Node{Index: int32(i), Name: fmt.Sprint("n", i), Total: unit.Resources{Mem: 6144, Cores: 6}}
		s.NodeAdded(&nodes[i], 0)
	}
	one := unit.Resources{Mem: 1024, Cores: 1}
	for i := range apps {
		a := &rm.App{Index: int32(i), Seq: int64(i), ID: fmt.Sprint(i), User: fmt.Sprint("u", i%10), Queue: fmt.Sprint("root.q", i%queues)}
		if err := s.Added(a, 0); err != nil {
			b.Fatal(err)
		}
		if err := s.Asked(a, []rm.Ask{{Priority: 20, Place: rm.Anywhere, Count: 1 << 40, Size: one}}, nil, 0); err != nil {
			b.Fatal(err)
		}
	}
	s.Round(0)
	for i := range nodes {
		live = append(live, s.Beat(&nodes[i], 0)...)
	}
	i := 0
	for b.Loop() {
		c := live[i%len(live)]
		s.Ended(c, 0)
		got := s.Beat(c.Node, 0)
		if len(got) != 1 {
			b.Fatalf("%d containers for one that ended", len(got))
		}
		live[i%len(live)] = got[0]
		i += 7
	}
}
