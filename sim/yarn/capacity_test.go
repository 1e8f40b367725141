package yarn

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/rm"
	fairrm "github.com/yardmaster/yardmaster/policy/rm/fair"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// Settings of one queue that has everything.
var oneQueue = []string{"root.queues", "default", "root.default.capacity", "100", "maximum-am-resource-percent", "0.1"}

// under is the CapacityScheduler with some settings, ready to be played.
func under(t testing.TB, site conf.Site, settings ...string) rm.Scheduler {
	t.Helper()
	sched, err := capacityOf(t, site, settings...)()
	if err != nil {
		t.Fatal(err)
	}
	return sched
}

func nodes(n int) *cluster.Cluster {
	return cluster.Uniform(n, 2, unit.Resources{Mem: 10240, Cores: 10})
}

// The same timelines as under the small scheduler.
func TestSLSTimelinesUnderCapacity(t *testing.T) {
	one := cluster.Uniform(1, 1, unit.Resources{Mem: 10240, Cores: 10})
	for name, c := range map[string]struct {
		job    *workload.Job
		finish unit.Time
	}{
		"one map":                 {mr("j", 0, 1, 10*s, 0, 0), 16 * s},
		"map and reduce":          {mr("j", 0, 1, 10*s, 1, 5*s), 25 * s},
		"three maps anywhere":     {mr("j", 0, 3, 10*s, 0, 0), 18 * s},
		"three maps on the host":  {mr("j", 0, 3, 10*s, 0, 0, "/rack1/node1"), 16 * s},
		"in a rack not known":     {mr("j", 0, 3, 10*s, 0, 0, "/elsewhere/node1"), 19 * s},
		"on a host that is not":   {mr("j", 0, 3, 10*s, 0, 0, "/elsewhere/node77"), 19 * s},
		"on a node without racks": {mr("j", 0, 3, 10*s, 0, 0, "node1"), 16 * s},
	} {
		t.Run(name, func(t *testing.T) {
			out, _ := play(t, Config{Cluster: one, Timing: SLS(), Phases: []unit.Time{300 * ms}}, under(t, conf.DefaultSite(), oneQueue...), c.job)
			if len(out.jobs) != 1 || out.jobs[0].Finish != c.finish {
				t.Errorf("want the end at %v\n%+v\n%s", c.finish, out.jobs, out.tell())
			}
		})
	}
}

// FairScheduler with its defaults: a request is seen by the update thread within half a second, and one container a report is given.
func TestSLSTimelineUnderFair(t *testing.T) {
	c, err := conf.ReadFair(strings.NewReader("<allocations/>"), "fair-scheduler.xml")
	if err != nil {
		t.Fatal(err)
	}
	sched, err := fairrm.New(c, conf.DefaultSite())
	if err != nil {
		t.Fatal(err)
	}
	one := cluster.Uniform(1, 1, unit.Resources{Mem: 10240, Cores: 10})
	out, _ := play(t, Config{Cluster: one, Timing: SLS(), Phases: []unit.Time{700 * ms}, RoundPhase: 100 * ms}, sched, mr("j", 0, 3, 10*s, 0, 0))
	const want = "AM 1.7 1.7 1.7 18 18.7\n" + "map 2.7 3 4 14 14.7\n" + "map 3.7 4 5 15 15.7\n" + "map 4.7 5 6 16 16.7\n"
	if got := out.tell(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// One container a report goes to requests without a place: ten nodes give at most ten a second. With hosts named, all come in the
// first second.
func TestOffSwitchLimit(t *testing.T) {
	var hosts []string
	for i := range 10 {
		hosts = append(hosts, fmt.Sprint("node", i+1))
	}
	for _, c := range []struct {
		hosts []string
		most  int
		wait  unit.Time
	}{{nil, 10, 10 * s}, {hosts, 90, s}} {
		site := conf.DefaultSite()
		out, _ := play(t, Config{Cluster: nodes(10), Timing: SLS(), Seed: 3}, under(t, site, oneQueue...), mr("j", 0, 90, 60*s, 0, 0, c.hosts...))
		var given []unit.Time
		for _, r := range out.conts {
			if r.Stage == 0 {
				given = append(given, r.Allocated)
			}
		}
		slices.Sort(given)
		most := 0
		for i := range given {
			k := i
			for k < len(given) && given[k] < given[i]+s {
				k++
			}
			most = max(most, k-i)
		}
		if most != c.most || given[len(given)-1]-given[0] > c.wait {
			t.Errorf("hosts %v: %d containers within a second, want %d; the last one %v after the first", c.hosts != nil, most, c.most, given[len(given)-1]-given[0])
		}
	}
}

// Twelve AMs of 1024 MiB in a queue of 102400: ten run, and the eleventh is given one when the first one's node has reported its end, at
// a later report.
func TestAMsWaitForTheLimit(t *testing.T) {
	var jobs []*workload.Job
	for i := range 12 {
		jobs = append(jobs, mr(fmt.Sprint("j", i), unit.Time(i)*ms, 1, 30*s+unit.Time(i)*s, 0, 0))
	}
	out, _ := play(t, Config{Cluster: nodes(10), Timing: SLS(), Seed: 3}, under(t, conf.DefaultSite(), append(oneQueue, "root.default.user-limit-factor", "2")...), jobs...)
	var ams []ContainerRecord
	for _, r := range out.conts {
		if r.Stage == policy.AMStage {
			ams = append(ams, r)
		}
	}
	slices.SortFunc(ams, func(a, b ContainerRecord) int { return int(a.Allocated - b.Allocated) })
	first := slices.MinFunc(ams, func(a, b ContainerRecord) int { return int(a.Freed - b.Freed) })
	if ams[9].Allocated > 3*s || ams[10].Allocated <= first.Freed || ams[10].Allocated > first.Freed+s {
		t.Errorf("the tenth AM came at %v, the eleventh at %v; the first one's room was free at %v", ams[9].Allocated, ams[10].Allocated, first.Freed)
	}
}

// Preemption between two queues: what is killed leaves its queue at once, and its node has room one to two reports later.
func TestPreemption(t *testing.T) {
	site := conf.DefaultSite()
	site.Monitor = true
	a, b := mr("a", 0, 95, 300*s, 0, 0), mr("b", 60*s, 60, 20*s, 0, 0)
	a.Queue, b.Queue = "a", "b"
	sched := under(t, site, "root.queues", "a,b", "root.a.capacity", "50", "root.b.capacity", "50", "root.a.user-limit-factor", "2", "root.b.user-limit-factor", "2")
	out, sum := play(t, Config{Cluster: nodes(10), Timing: SLS(), Seed: 3}, sched, a, b)
	killed := 0
	for _, r := range out.conts {
		if r.Killed {
			killed++
			if wait := r.Freed - r.Ended; wait <= s || wait > 2*s {
				t.Errorf("killed at %v, its room free %v later", r.Ended, wait)
			}
		}
	}
	if sum.Finished != 2 || killed == 0 || int64(killed) != sum.Lost {
		t.Errorf("%d killed, %+v", killed, sum)
	}
}

// Under the real schedulers too, every task is done once, and all ends as it began.
func TestManyJobsUnderCapacity(t *testing.T) {
	jobs := busy()
	for _, timing := range []Timing{SLS(), Hadoop()} {
		out, sum := play(t, Config{Cluster: nodes(8), Timing: timing, Seed: 5}, under(t, conf.DefaultSite(), oneQueue...), jobs...)
		if sum.Finished != 100 || sum.Tasks != 3000 || sum.Stuck != 0 {
			t.Errorf("%+v", sum)
		}
		held := make([]unit.Resources, 8)
		type change struct {
			at   unit.Time
			node int32
			by   unit.Resources
		}
		var changes []change
		for _, r := range out.conts {
			changes = append(changes, change{r.Allocated, r.Node, r.Size}, change{r.Freed, r.Node, unit.Resources{Mem: -r.Size.Mem}})
		}
		slices.SortStableFunc(changes, func(a, b change) int {
			if a.at != b.at {
				return int(a.at - b.at)
			}
			return int(a.by.Mem - b.by.Mem) // room is freed before it is given
		})
		for _, c := range changes {
			held[c.node].Mem += c.by.Mem
			if held[c.node].Mem > 10240 || held[c.node].Mem < 0 {
				t.Fatalf("node %d holds %d MiB at %v", c.node, held[c.node].Mem, c.at)
			}
		}
	}
}
