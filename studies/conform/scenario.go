package conform

import (
	_ "embed"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/internal/yamlfile"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop/sls"
)

// Scenario is one experiment: a trace, nodes and the configuration files of a ResourceManager. The same bytes drive SLS and
// the simulator.
type Scenario struct {
	sls.Options
	About string // what it tests, in a few words
	Small bool   // short enough for CI
}

// Counted are the numbers of jobs and containers that count: all but those of the warm-up job.
func (s *Scenario) Counted() (n [2]int64) {
	for i := range s.Jobs {
		if s.Jobs[i].ID != warmUp {
			n[0], n[1] = n[0]+1, n[1]+s.Jobs[i].Containers()
		}
	}
	return n
}

const (
	warmUp = "warm-up"
	begin  = 10_000 // ms: when the first job that counts is submitted; the JVM is slow before
	gap    = 23     // ms: minimum distance between submissions, so that their order is unambiguous
)

//go:embed scenarios.yaml
var scenariosText []byte

// Scenarios makes all scenarios of scenarios.yaml, the small ones last. Every call returns the same.
func Scenarios() []Scenario {
	type nodes struct {
		Racks, Nodes int
		Mem, Cores   int64
	}
	type form struct {
		Name, About    string
		Cluster        nodes
		Mixes          []mix
		SmallCluster   nodes `yaml:"small-cluster"`
		SmallMixes     []mix `yaml:"small-mixes"`
		Site, Capacity map[string]string
		Fair           string
	}
	var full, small []Scenario
	for _, x := range *yamlfile.Decode[[]form](scenariosText) {
		made := func(n nodes, mixes []mix) Scenario {
			rk := racks(n.Racks, n.Nodes, n.Mem, n.Cores)
			s := Scenario{About: x.About, Options: sls.Options{Name: x.Name, Racks: rk, Jobs: generate(x.Name, rk, mixes...), Site: x.Site, Fair: []byte(x.Fair)}}
			if x.Fair == "" {
				s.Capacity, s.Fair = capacityXML(x.Capacity), nil
			}
			return s
		}
		full = append(full, made(x.Cluster, x.Mixes))
		if len(x.SmallMixes) > 0 {
			s := made(x.SmallCluster, x.SmallMixes)
			s.Name, s.Small = s.Name+"-small", true
			small = append(small, s)
		}
	}
	return append(full, small...)
}

// Named picks scenarios by name, separated by commas; "": all that are not small, "small": the small ones, "all": everything.
func Named(names string) ([]Scenario, error) {
	all := Scenarios()
	switch names {
	case "all":
		return all, nil
	case "", "small":
		return slices.DeleteFunc(all, func(s Scenario) bool { return s.Small != (names == "small") }), nil
	}
	var some []Scenario
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(all, func(s Scenario) bool { return s.Name == name })
		if i < 0 {
			var list []string
			for _, s := range all {
				list = append(list, s.Name)
			}
			return nil, fmt.Errorf("unknown scenario %q; choose from %s, or small, or all", name, strings.Join(list, ", "))
		}
		some = append(some, all[i])
	}
	return some, nil
}

// racks makes equal racks of nodes of one size. Node names are loopback addresses: a name that resolves to
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

// span is a range of whole numbers, both ends included.
type span [2]int64

func (s span) draw(r *rand.Rand) int64 { return s[0] + r.Int64N(s[1]-s[0]+1) }

// mix describes jobs of one class.
type mix struct {
	Jobs          int
	Over          int64 // submission window, ms
	After         int64 // start of the window, ms after begin
	Maps, Reduces span
	Length        float64 // median of a task's length, ms
	Sigma         float64 // of its logarithm
	MapMem        span    // MiB, drawn per job, in steps of 512
	RedMem        span    // default: that of the maps
	Cores         span
	AMMem         span     // default: 1024
	Queues        []string // drawn per job
	Users         int
	Prio          span
	Hosted        float64 // share of jobs whose maps name hosts
	Hosts         int     // max number of hosts that such a job names; 0: any
}

// generate draws the jobs of a scenario. It depends on its arguments only.
func generate(name string, rk []sls.Rack, mixes ...mix) []sls.Job {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // cannot fail
	r := rand.New(rand.NewPCG(h.Sum64(), 0x5157))
	var jobs []sls.Job
	for _, m := range mixes {
		for range m.Jobs {
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
		ID: warmUp, Type: "mapreduce", Queue: mixes[0].Queues[0], User: user(0),
		Tasks: []sls.Task{
			{Duration: 500, Type: "map", Mem: 1024, Cores: 1, Count: int64(min(2*len(rk[0].Nodes), 8))},
			{Duration: 500, Type: "reduce", Mem: 1024, Cores: 1},
		},
	}
	return append([]sls.Job{warm}, jobs...)
}

func (m *mix) draw(r *rand.Rand, rk []sls.Rack) sls.Job {
	half := func(s span) int64 { return (s.draw(r) + 511) / 512 * 512 }
	j := sls.Job{
		Type: "mapreduce", Start: begin + m.After + int64(r.Float64()*float64(m.Over)), Queue: m.Queues[r.IntN(len(m.Queues))], User: user(r.IntN(m.Users)),
		Priority: int(m.Prio.draw(r)), AMCores: 1, AMMem: 1024,
	}
	if m.AMMem[1] > 0 {
		j.AMMem = half(m.AMMem)
	}
	cores := max(m.Cores.draw(r), 1)
	task := func(typ string, mem int64) sls.Task {
		ms := m.Length * math.Exp(m.Sigma*r.NormFloat64())
		return sls.Task{Duration: int64(min(max(ms, 500), 120_000)), Type: typ, Mem: mem, Cores: cores}
	}
	mapMem := half(m.MapMem)
	named := r.Float64() < m.Hosted
	first := r.IntN(1 << 20)
	for range m.Maps.draw(r) {
		t := task("map", mapMem)
		if named {
			k := r.IntN(1 << 20)
			if m.Hosts > 0 {
				k = first + r.IntN(m.Hosts)
			}
			t.Host = nodeAt(rk, k)
		}
		j.Tasks = append(j.Tasks, t)
	}
	redMem := mapMem
	if m.RedMem[1] > 0 {
		redMem = half(m.RedMem)
	}
	for range m.Reduces.draw(r) {
		j.Tasks = append(j.Tasks, task("reduce", redMem))
	}
	return j
}

// nodeAt is the k-th node, modulo the number of nodes, as a trace names it.
func nodeAt(rk []sls.Rack, k int) string {
	var all []string
	for i := range rk {
		for _, n := range rk[i].Nodes {
			all = append(all, "/"+rk[i].Name+"/"+n.Name)
		}
	}
	return all[k%len(all)]
}

func user(i int) string { return fmt.Sprintf("user%d", i+1) }

// capacityXML writes a capacity-scheduler.xml of properties named without their prefix.
func capacityXML(m map[string]string) []byte {
	return []byte(hadoop.Properties("yarn.scheduler.capacity.", m))
}

//go:embed live.xml
var liveFair []byte

// Live is a large cluster with an ordinary load, to be driven over REST.
func Live(nodes, jobs int, over time.Duration, fair bool) sls.Options {
	o := sls.Options{Name: "live", Racks: racks((nodes+24)/25, nodes, 10240, 10)}
	if jobs > 0 {
		o.Jobs = generate("live", o.Racks, mix{
			Jobs: jobs, Over: over.Milliseconds(), Maps: span{5, 80}, Reduces: span{0, 8}, Length: 20_000, Sigma: 0.8, MapMem: span{1024, 2048},
			Queues: []string{"prod", "prod", "batch", "adhoc"}, Users: 8, Hosted: 0.5,
		})
	}
	if o.Fair = liveFair; fair {
		return o
	}
	o.Fair, o.Capacity = nil, capacityXML(map[string]string{
		"root.queues": "prod,batch,adhoc", "maximum-am-resource-percent": "0.3",
		"root.prod.capacity": "50", "root.batch.capacity": "30", "root.adhoc.capacity": "20",
		"root.prod.user-limit-factor": "4", "root.batch.user-limit-factor": "4", "root.adhoc.user-limit-factor": "4",
	})
	return o
}
