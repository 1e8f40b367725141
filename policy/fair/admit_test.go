package fair

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/fair/queues"
	"github.com/yardmaster/yardmaster/policytest"
	"github.com/yardmaster/yardmaster/unit"
)

// No limit on running jobs is passed, and nobody is parked who may run.
func TestRunningLimits(t *testing.T) {
	const text = `<allocations><userMaxAppsDefault>3</userMaxAppsDefault><user name="u0"><maxRunningApps>1</maxRunningApps></user>
		<queue name="p"><maxRunningApps>4</maxRunningApps><queue name="a"><maxRunningApps>2</maxRunningApps></queue><queue name="b"/></queue>
		<queue name="c"><maxRunningApps>3</maxRunningApps></queue></allocations>`
	rapid.Check(t, func(t *rapid.T) {
		p, err := fromXML(text)
		if err != nil {
			t.Fatal(err)
		}
		tree := p.Order.(*Tree)
		e := policytest.New(p.Order, unit.Resources{Mem: 100, Cores: 100})
		var live []*policytest.Job
		names := rapid.SampledFrom([]string{"p.a", "p.b", "c", "new"})
		for i := range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch op := rapid.IntRange(0, 5).Draw(t, "op"); {
			case op <= 2 || len(live) == 0:
				j := &policytest.Job{Job: policy.Job{ID: fmt.Sprint("j", i), Queue: names.Draw(t, "queue"), User: fmt.Sprint("u", rapid.IntRange(0, 3).Draw(t, "user"))}}
				if err := e.Arrive(j, 1, unit.Resources{Mem: 1, Cores: 1}); err != nil {
					t.Fatal(err)
				}
				live = append(live, j)
			case op == 3:
				j := live[rapid.IntRange(0, len(live)-1).Draw(t, "job")]
				if to := names.Draw(t, "to"); tree.Move(&j.Job, to) == nil {
					j.Queue = to
				}
			default:
				at := rapid.IntRange(0, len(live)-1).Draw(t, "job")
				e.Leave(live[at])
				live = slices.Delete(live, at, at+1)
			}
			runnable, parked := map[*queue]int{}, 0
			byUser := map[*user]int{}
			for _, j := range live {
				a := &tree.apps[j.Index]
				if a.queue.Name != queues.FullName(j.Queue) {
					t.Fatalf("%s is in %s, not in %s", j.ID, a.queue.Name, j.Queue)
				}
				if a.parked {
					parked++
					if tree.mayRun(a.queue, a.user) {
						t.Fatalf("%s is parked and may run", j.ID)
					}
					continue
				}
				byUser[a.user]++
				for q := a.queue; q != nil; q = q.Parent {
					runnable[q]++
				}
			}
			for _, q := range tree.Queues {
				if q.Runnable != runnable[q] || q.Runnable > q.MaxApps {
					t.Fatalf("%s counts %d of %d, at most %d", q.Name, q.Runnable, runnable[q], q.MaxApps)
				}
			}
			for name, u := range tree.users.ByName {
				if u.running != byUser[u] || u.running > u.most {
					t.Fatalf("user %s counts %d of %d, at most %d", name, u.running, byUser[u], u.most)
				}
			}
			if got := len(e.Ranking()); got != len(live)-parked {
				t.Fatalf("%d proposed of %d, %d parked", got, len(live), parked)
			}
		}
	})
}

// Parked jobs run in the order in which they came, whoever leaves meanwhile.
func TestParkedJobsInOrder(t *testing.T) {
	p, err := fromXML(`<allocations><queue name="q"><maxRunningApps>1</maxRunningApps></queue></allocations>`)
	if err != nil {
		t.Fatal(err)
	}
	for leaves, want := range map[int]string{1: "[j2] [j3] [j4]", 2: "[j1] [j3] [j4]", 3: "[j1] [j2] [j4]", 4: "[j1] [j2] [j3]"} {
		e := policytest.New(p.Order, unit.Resources{Mem: 100, Cores: 100})
		var jobs []*policytest.Job
		for i := range 5 {
			jobs = append(jobs, &policytest.Job{Job: policy.Job{ID: fmt.Sprint("j", i), Queue: "q", User: "u"}})
			if err := e.Arrive(jobs[i], 1, unit.Resources{Mem: 1, Cores: 1}); err != nil {
				t.Fatal(err)
			}
		}
		e.Leave(jobs[leaves])
		e.Leave(jobs[0])
		var got []string
		for len(e.Jobs) > 0 && len(got) < 5 {
			runs := e.Ranking()
			got = append(got, fmt.Sprint(runs))
			for _, id := range runs {
				e.Leave(e.Jobs[id])
			}
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("after %d has left: %s, want %s", leaves, s, want)
		}
	}
}

// A queue that may start something knows the smallest ask that waits in it: of tasks, and of AMs, which may become eligible at
// any time.
func TestSmallestAsk(t *testing.T) {
	am, task := unit.Resources{Mem: 2, Cores: 3}, unit.Resources{Mem: 4, Cores: 1}
	for _, c := range []struct {
		name      string
		ams, task bool
		want      unit.Resources
	}{{"an AM", true, false, am}, {"a task", false, true, task}, {"both", true, true, unit.Resources{Mem: 2, Cores: 1}}} {
		p, err := fromXML(`<allocations><queue name="q"/></allocations>`)
		if err != nil {
			t.Fatal(err)
		}
		e := policytest.New(p.Order, unit.Resources{Mem: 100, Cores: 100})
		for i, arrives := range []bool{c.ams, c.task} {
			j := &policytest.Job{Job: policy.Job{ID: fmt.Sprint("j", i), Queue: "q", User: "u"}}
			if i == 0 {
				j.AM = am
			}
			if !arrives {
				continue
			}
			if err := e.Arrive(j, 1, task); err != nil {
				t.Fatal(err)
			}
		}
		for _, q := range p.Order.(*Tree).Queues {
			if q.Leaf && q.Name == "root.q" && q.minAsk != c.want {
				t.Errorf("%s waits: %v, want %v", c.name, q.minAsk, c.want)
			}
		}
	}
}
