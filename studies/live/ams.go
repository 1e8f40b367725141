// Package live has the studies that compare the simulator, and what the product says and does, with real Hadoop daemons: not SLS, which has simulated nodes, but a
// ResourceManager and NodeManagers as separate processes that talk over the network. Each study is a declaration on package harness, in a file of its own: AMs
// (unmanaged applications; every decision of the scheduler is compared), MapReduce, Sized, Settings, Deadlines, ETA, Watched and Cycles.
package live

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/yardmaster/yardmaster/studies/evidence"
	"github.com/yardmaster/yardmaster/studies/harness"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/studies/lab/host"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// AMs is a study of AMs.
type AMs struct {
	Size Size
}

// Study declares it.
func (m *AMs) Study() *harness.Study[Record] {
	return &harness.Study[Record]{
		Options: harness.Options{Repetitions: 3}, Folder: "masters", File: "report.md", Small: func() { m.Size = Mini }, Nice: -18, Ready: warmUp(""), Run: m.run, Series: "run",
		Lab: func() hadoop.Options {
			o := lab(amsQueues(), m.Size.Nodes, m.Size.NodeGB)
			o.ConfStore, o.Site, o.Debug = "file", site(m.Size.NodeGB<<10, 512), slices.Concat(hadoop.DebugBeats, hadoop.DebugTicks)
			return o
		},
		Template: amsPage,
		Facts: func(ctx context.Context, _ []evidence.Run, records []*Record) (map[string]any, template.FuncMap, error) {
			c, err := compare(ctx, records)
			if err != nil {
				return nil, nil, err
			}
			return c.data(), amsFuncs, nil
		},
	}
}

// run runs the workload on real daemons.
func (m *AMs) run(ctx context.Context, now *harness.Run) (*Record, string, error) {
	apps := m.Size.made()
	res, err := now.Cluster.AMs(ctx, apps, hadoop.AMsOptions{})
	if err != nil {
		return nil, "", err
	}
	rec := &Record{Hadoop: now.Cluster.Version, At: time.Now().UTC().Truncate(time.Second), Load: [2]float64{now.Began.Load[0], host.LoadAverage(host.OneMinute)}, Queues: amsQueues(), Workload: apps}
	siteXML, err := os.ReadFile(filepath.Join(now.Cluster.Conf(), "yarn-site.xml"))
	if err != nil {
		return nil, "", err
	}
	rec.Site = string(siteXML)
	if rec.Nodes, err = nodesOf(now.Cluster, m.Size.NodeGB<<10); err != nil {
		return nil, "", err
	}
	return rec, fmt.Sprintf("%d applications, %d containers in %.0f s", len(rec.Apps), len(rec.Containers), res.Cost.Wall.Seconds()), rec.fill(now.Cluster, &res)
}

// nodesOf are the nodes of a lab, each with that memory.
func nodesOf(c *hadoop.Cluster, mb int) (list []NodeRecord, err error) {
	for _, n := range c.Nodes {
		name, port, _ := strings.Cut(n.ID, ":")
		p, err := strconv.Atoi(port)
		if err != nil {
			return nil, fmt.Errorf("the id of node %s: %w", n.ID, err)
		}
		list = append(list, NodeRecord{Name: name, Port: int32(p), Rack: n.Rack, MB: mb})
	}
	return list, nil
}

// warm is a warm-up workload for the daemons' JIT compilers.
func warm() []hadoop.Application {
	s := Mini
	s.Apps, s.Containers, s.Over, s.Hold = 20, 120, 4000, [2]hadoop.Millis{500, 2500}
	return s.made()
}

// processors returns a function that reports the total CPU utilisation from now on; 0 where unavailable.
func processors() func() float64 {
	read := func() (used, all int64) {
		spent, _ := host.Ticks() // unavailable: 0
		for i, v := range spent {
			if all += v; i != 3 && i != 4 { // idle, and waiting for a disk
				used += v
			}
		}
		return used, all
	}
	u, a := read()
	return func() float64 {
		v, b := read()
		if b <= a {
			return 0
		}
		return float64(v-u) / float64(b-a)
	}
}

// Size is the size of a study of AMs.
type Size struct {
	Apps, Containers int
	Over             hadoop.Millis    // arrivals
	Hold             [2]hadoop.Millis // of containers: min and max
	Nodes, NodeGB    int
}

// Sizes of the study and of its miniature.
var (
	Full = Size{Apps: 200, Containers: 2000, Over: 200_000, Hold: [2]hadoop.Millis{5000, 40_000}, Nodes: 4, NodeGB: 88}
	Mini = Size{Apps: 24, Containers: 200, Over: 12_000, Hold: [2]hadoop.Millis{2000, 8000}, Nodes: 3, NodeGB: 40}
)

// sizes of containers, MB, with their frequencies in percent.
var sizes = []struct{ mb, often int }{{512, 25}, {1024, 35}, {2048, 25}, {4096, 10}, {12 << 10, 5}}

// made is the workload of a size; deterministic.
func (s Size) made() []hadoop.Application {
	random := rand.New(rand.NewPCG(2024, uint64(s.Apps)))
	queues := []string{"prod", "prod", "prod", "batch", "batch", "adhoc"}
	users := map[string][]string{"prod": {"ann", "ben", "eva"}, "batch": {"ben", "cem", "dora"}, "adhoc": {"ann", "cem", "eva", "finn"}}
	submits := make([]hadoop.Millis, s.Apps)
	for i := range submits {
		submits[i] = hadoop.Millis(random.Int64N(int64(s.Over)))
	}
	sort.Slice(submits, func(i, k int) bool { return submits[i] < submits[k] })
	apps := make([]hadoop.Application, s.Apps)
	left := s.Containers
	for i := range apps {
		q := queues[random.IntN(len(queues))]
		a := hadoop.Application{ID: fmt.Sprintf("app-%03d", i), Queue: q, User: users[q][random.IntN(len(users[q]))], Submit: submits[i]}
		mean := left / (s.Apps - i)
		n := min(left-(s.Apps-i-1), max(1, mean/3+random.IntN(max(1, mean*4/3+1))))
		if i == s.Apps-1 {
			n = left
		}
		left -= n
		first := n
		if n > 1 && random.IntN(2) == 0 { // two sizes
			first = 1 + random.IntN(n-1)
		}
		for p, count := range []int{first, n - first} {
			if count == 0 {
				continue
			}
			g := hadoop.Group{Count: count, MB: pick(random), Priority: p + 1}
			for range count {
				g.Hold = append(g.Hold, s.Hold[0]+hadoop.Millis(random.Int64N(int64(s.Hold[1]-s.Hold[0]))))
			}
			a.Containers = append(a.Containers, g)
		}
		apps[i] = a
	}
	return apps
}

func pick(random *rand.Rand) int {
	x := random.IntN(100)
	for _, s := range sizes {
		if x -= s.often; x < 0 {
			return s.mb
		}
	}
	return sizes[0].mb
}

// jobs is the same workload for the simulator: one stage per group. Its stages request at priorities 1, 2, ..., as the groups do.
func jobs(apps []hadoop.Application) (workload.Slice, error) {
	all := make(workload.Slice, len(apps))
	for i, a := range apps {
		j := &workload.Job{ID: a.ID, User: a.User, Queue: a.Queue, Priority: a.Priority, Submit: millis(a.Submit)}
		for k, g := range a.Containers {
			if g.Priority != k+1 {
				return nil, fmt.Errorf("application %s: group %d has priority %d; the simulator counts them from 1", a.ID, k+1, g.Priority)
			}
			s := workload.Stage{
				Kind: workload.Other, Tasks: int64(g.Count), Ask: unit.Resources{Mem: int64(g.MB), Cores: int64(max(1, g.Vcores))},
				Length: workload.Lengths{Kind: workload.List},
			}
			for n := range g.Count {
				s.Length.Values = append(s.Length.Values, millis(g.Hold[n%len(g.Hold)]))
			}
			j.Stages = append(j.Stages, s)
		}
		all[i] = j
	}
	return all, nil
}

func millis(m hadoop.Millis) unit.Time { return unit.Time(m) * unit.Millisecond }

//go:embed queues.conf
var queuesText string

// queues is a capacity-scheduler.xml from parts of queues.conf; later parts override earlier ones.
func queues(parts ...string) string {
	all, err := hadoop.Settings(queuesText, nil)
	if err != nil {
		panic("study: " + err.Error()) // a file of this package
	}
	m := map[string]string{}
	for _, part := range parts {
		maps.Copy(m, all[part])
	}
	return hadoop.Properties("yarn.scheduler.capacity.", m)
}

func amsQueues() string { return queues("masters") }

// site is the scheduler's part of yarn-site.xml, for a lab with nodes of that memory.
func site(nodeMB, minMB int) map[string]string {
	return map[string]string{
		"yarn.scheduler.minimum-allocation-mb":                    fmt.Sprint(minMB),
		"yarn.scheduler.maximum-allocation-mb":                    fmt.Sprint(nodeMB),
		"yarn.scheduler.maximum-allocation-vcores":                "1024",
		"yarn.cluster.max-application-priority":                   "10",
		"yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": "1000",
	}
}
