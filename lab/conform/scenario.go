package conform

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"sort"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/lab/hadoop/sls"
)

// Scenario is one experiment: a trace, nodes and the configuration files of a ResourceManager. The same bytes drive SLS and
// the simulator.
type Scenario struct {
	Name  string
	About string // what it tries, in a few words
	Limit string // what limits the agreement, where it was looked into
	Small bool   // short enough for every run of CI
	Jobs  []sls.Job
	Racks []sls.Rack
	// Capacity is a capacity-scheduler.xml, Fair a fair-scheduler.xml; one is set.
	Capacity, Fair []byte
	Site           map[string]string // yarn-site.xml
}

// Options is the scenario as a run of SLS.
func (s *Scenario) Options(dir string) sls.Options {
	return sls.Options{
		Name: s.Name, Trace: s.digest(), Jobs: s.Jobs, Racks: s.Racks, Capacity: s.Capacity, Fair: s.Fair, Site: s.Site, Heartbeat: time.Second, Dir: dir,
	}
}

// digest is a fingerprint of all that the scenario gives to SLS.
func (s *Scenario) digest() string {
	h := fnv.New64a()
	_ = sls.WriteTrace(h, s.Jobs) // a hash does not fail
	_ = sls.WriteNodes(h, s.Racks)
	_, _ = h.Write(s.Capacity)
	_, _ = h.Write(s.Fair)
	_, _ = h.Write(sls.Properties(s.Site))
	return fmt.Sprintf("%016x", h.Sum64())
}

// Counted is how many jobs count: all but the one that warms SLS up.
func (s *Scenario) Counted() (jobs int, containers int64) {
	for i := range s.Jobs {
		if s.Jobs[i].ID != warmUp {
			jobs++
			containers += s.Jobs[i].Containers()
		}
	}
	return jobs, containers
}

const (
	warmUp = "warm-up"
	begin  = 10_000 // ms: when the first job that counts is submitted; the JVM is slow before
	gap    = 23     // ms: jobs are submitted at least this far apart, so that their order is never in doubt
)

// Scenarios makes all scenarios, the small ones last. They are the same on every call.
func Scenarios() []Scenario {
	var all []Scenario
	for _, make := range append(capacityScenarios(), fairScenarios()...) {
		all = append(all, make(false))
	}
	for _, make := range smallScenarios() {
		s := make(true)
		s.Name, s.Small = s.Name+"-small", true
		all = append(all, s)
	}
	return all
}

// Named picks scenarios by name, separated by commas; "": all that are not small, "small": the small ones, "all": everything.
func Named(names string) ([]Scenario, error) {
	all := Scenarios()
	var some []Scenario
	switch names {
	case "all":
		return all, nil
	case "", "small":
		for _, s := range all {
			if s.Small == (names == "small") {
				some = append(some, s)
			}
		}
		return some, nil
	}
	for name := range strings.SplitSeq(names, ",") {
		found := false
		for _, s := range all {
			if s.Name == name {
				some, found = append(some, s), true
			}
		}
		if !found {
			var list []string
			for _, s := range all {
				list = append(list, s.Name)
			}
			return nil, fmt.Errorf("there is no scenario %q; choose from %s, or small, or all", name, strings.Join(list, ", "))
		}
	}
	return some, nil
}

// racks makes nodes of a size in racks of equal length. Their names are loopback addresses: a name that resolves to
// something else would put the node into the default rack.
func racks(n, nodes int, mem, cores int64) []sls.Rack {
	all := make([]sls.Rack, n)
	for i := range nodes {
		r := i * n / nodes
		all[r].Name = fmt.Sprintf("rack%d", r+1)
		all[r].Nodes = append(all[r].Nodes, sls.Node{Name: fmt.Sprintf("127.1.%d.%d", r+1, len(all[r].Nodes)+1), Mem: mem, Cores: cores})
	}
	return all
}

// span is a range of whole numbers.
type span struct{ from, to int64 }

func (s span) draw(r *rand.Rand) int64 { return s.from + r.Int64N(s.to-s.from+1) }

// mix describes jobs of one kind.
type mix struct {
	jobs    int
	over    int64 // ms within which they are submitted
	after   int64 // ms after the first moment
	maps    span
	reduces span
	length  float64 // median of a task's length, ms
	sigma   float64 // of its logarithm
	mapMem  span    // MiB, drawn per job, in steps of 512
	redMem  span
	cores   span
	amMem   span
	queues  []string // drawn per job
	users   []string
	prio    span
	hosted  float64 // share of jobs whose maps name hosts
	hosts   int     // hosts that such a job names; 0: any number
}

// generate draws the jobs of a scenario. It depends on nothing but its arguments.
func generate(name string, rk []sls.Rack, mixes ...mix) []sls.Job {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // cannot fail
	r := rand.New(rand.NewPCG(h.Sum64(), 0x5157))
	var jobs []sls.Job
	for _, m := range mixes {
		for range m.jobs {
			jobs = append(jobs, m.draw(r, rk))
		}
	}
	sort.SliceStable(jobs, func(a, b int) bool { return jobs[a].Start < jobs[b].Start })
	last := int64(begin - gap)
	for i := range jobs {
		jobs[i].Start = max(jobs[i].Start, last+gap)
		last = jobs[i].Start
		jobs[i].ID = fmt.Sprintf("j%03d", i+1)
	}
	warm := sls.Job{
		ID: warmUp, Type: "mapreduce", Queue: mixes[0].queues[0], User: mixes[0].users[0],
		Tasks: []sls.Task{
			{Duration: 500, Type: "map", Mem: 1024, Cores: 1, Count: int64(min(2*len(rk[0].Nodes), 8))},
			{Duration: 500, Type: "reduce", Mem: 1024, Cores: 1},
		},
	}
	return append([]sls.Job{warm}, jobs...)
}

func (m *mix) draw(r *rand.Rand, rk []sls.Rack) sls.Job {
	pick := func(s []string) string { return s[r.IntN(len(s))] }
	half := func(s span) int64 { return (s.draw(r) + 511) / 512 * 512 }
	j := sls.Job{
		Type: "mapreduce", Start: begin + m.after + int64(r.Float64()*float64(m.over)), Queue: pick(m.queues), User: pick(m.users),
		Priority: int(m.prio.draw(r)), AMCores: 1, AMMem: 1024,
	}
	if m.amMem.to > 0 {
		j.AMMem = half(m.amMem)
	}
	cores := max(m.cores.draw(r), 1)
	task := func(typ string, mem int64) sls.Task {
		ms := m.length * math.Exp(m.sigma*r.NormFloat64())
		return sls.Task{Duration: int64(min(max(ms, 500), 120_000)), Type: typ, Mem: mem, Cores: cores}
	}
	mapMem := half(m.mapMem)
	named := r.Float64() < m.hosted
	hosts := m.hosts
	first := r.IntN(1 << 20)
	for range m.maps.draw(r) {
		t := task("map", mapMem)
		if named {
			k := r.IntN(1 << 20)
			if hosts > 0 {
				k = first + r.IntN(hosts)
			}
			t.Host = host(rk, k)
		}
		j.Tasks = append(j.Tasks, t)
	}
	redMem := mapMem
	if m.redMem.to > 0 {
		redMem = half(m.redMem)
	}
	for range m.reduces.draw(r) {
		j.Tasks = append(j.Tasks, task("reduce", redMem))
	}
	return j
}

// host is the k-th node, counted around, as a trace names it.
func host(rk []sls.Rack, k int) string {
	n := 0
	for i := range rk {
		n += len(rk[i].Nodes)
	}
	k %= n
	for i := range rk {
		if k < len(rk[i].Nodes) {
			return "/" + rk[i].Name + "/" + rk[i].Nodes[k].Name
		}
		k -= len(rk[i].Nodes)
	}
	return ""
}

// users makes n names.
func users(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("user%d", i+1)
	}
	return all
}

// capacityXML writes a capacity-scheduler.xml of properties named without their prefix.
func capacityXML(m map[string]string) []byte {
	full := make(map[string]string, len(m))
	for k, v := range m {
		full["yarn.scheduler.capacity."+k] = v
	}
	return sls.Properties(full)
}

// monitor is the site of a cluster that preempts between queues.
func monitor(more ...string) map[string]string {
	return site(append(more, "yarn.resourcemanager.scheduler.monitor.enable", "true")...)
}

// site makes properties out of names and values in turn.
func site(pairs ...string) map[string]string {
	m := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return m
}
