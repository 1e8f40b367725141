package fair

import (
	"fmt"
	"testing"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policytest"
	"github.com/yardmaster/yardmaster/unit"
)

// What is closed must not be walked: with 100,000 jobs behind a limit, a decision that starts none of them looks at few.
func TestClosedQueuesAreNotWalked(t *testing.T) {
	one := unit.Resources{Mem: 1024, Cores: 1}
	const n = 20_000
	const weighty = `<queue name="a"><weight>1000</weight><maxResources>`
	for name, c := range map[string]struct {
		text string
		am   unit.Resources
		task func(i int) unit.Resources
	}{
		"maximum": {weighty + `2048 mb, 2 vcores</maxResources></queue>`, unit.Resources{}, nil},
		"parent":  {`<queue name="a"/><maxResources>2048 mb, 2 vcores</maxResources>`, unit.Resources{}, nil},
		"masters": {`<queue name="a"><maxAMShare>0.0001</maxAMShare></queue>`, one, nil},
		// The first job, the only small one, starts all its tasks and is no longer a reason to look.
		"one small": {weighty + `7168 mb, 9 vcores</maxResources></queue>`, unit.Resources{}, func(i int) unit.Resources {
			return unit.Resources{Mem: 1024 + 7168*int64(min(i, 1)), Cores: 1}
		}},
		"mixed maximum": {weighty + `2048 mb, 2 vcores</maxResources></queue>`, unit.Resources{}, func(i int) unit.Resources {
			return unit.Resources{Mem: 1024 + 2048*int64(i%2), Cores: 3 - 2*int64(i%2)}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "parent" {
				c.text = `<queue name="p">` + c.text + `</queue>`
			}
			p, err := fromXML("<allocations>" + c.text + `<queue name="b"/></allocations>`)
			if err != nil {
				t.Fatal(err)
			}
			e := policytest.New(p.Order, one.Times(1000))
			for i := range n {
				q, task := "a", one
				if name == "parent" {
					q = "p.a"
				}
				if c.task != nil {
					task = c.task(i)
				}
				if err := e.Arrive(&policytest.Job{Job: policy.Job{ID: fmt.Sprint("a", i), Queue: q, AM: c.am}}, 5, task); err != nil {
					t.Fatal(err)
				}
			}
			if err := e.Arrive(&policytest.Job{Job: policy.Job{ID: "b", Queue: "b"}}, 1<<30, one); err != nil {
				t.Fatal(err)
			}
			for range 10 {
				e.Start()
			}
			tree := p.Order.(*Tree)
			if got := e.Ranking(); len(got) != 1 || got[0] != "b" {
				t.Fatalf("%d jobs are proposed", len(got))
			}
			if name == "one small" {
				e.End(e.Jobs["a0"], false) // something happens, and still the others are too large
			}
			before := tree.visited
			for range 10 {
				e.Ranking()
			}
			if looked := tree.visited - before; looked > 10 {
				t.Errorf("%d jobs were looked at in 10 walks that propose b alone", looked)
			}
		})
	}
}

func FuzzTree(f *testing.F) {
	f.Add(`<allocations><queue name="a"><weight>0</weight><maxResources>3 mb, 3 vcores</maxResources></queue></allocations>`)
	f.Add(`<allocations><queue name="p"><schedulingPolicy>drf</schedulingPolicy>
		<queue name="a"><minResources>99 mb, 99 vcores</minResources></queue></queue></allocations>`)
	f.Add(`<allocations><userMaxAppsDefault>1</userMaxAppsDefault>
		<queuePlacementPolicy><rule name="default" queue="x.y"/></queuePlacementPolicy></allocations>`)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := fromXML(text)
		if err != nil {
			return
		}
		e := policytest.New(p.Order, unit.Resources{Mem: 16, Cores: 16})
		var jobs []*policytest.Job
		for i, q := range []string{"a", "p.a", "b", "", "a"} {
			am := unit.Resources{Mem: int64(i % 2), Cores: int64(i % 2)}
			j := &policytest.Job{Job: policy.Job{ID: fmt.Sprint(i), Queue: q, User: "u", AM: am}}
			if e.Arrive(j, 4, unit.Resources{Mem: 1 + int64(i), Cores: 1}) == nil {
				jobs = append(jobs, j)
			}
		}
		for range 20 {
			e.Start()
		}
		e.Resize(unit.Resources{Mem: 8, Cores: 32})
		for _, j := range jobs {
			e.Leave(j)
		}
		if got := e.Ranking(); len(got) > 0 || !p.Order.(*Tree).Root.Used.IsZero() {
			t.Fatalf("left over: %v, %v", got, p.Order.(*Tree).Root.Used)
		}
	})
}
