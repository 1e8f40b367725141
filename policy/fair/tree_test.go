package fair

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/fair/queues"
	"github.com/yardmaster/yardmaster/policytest"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

func fromXML(text string) (policy.Policy, error) {
	c, err := conf.ReadFair(strings.NewReader(text), "fair-scheduler.xml")
	if err != nil {
		return policy.Policy{}, err
	}
	return FromConf(c)
}

func TestTreeScenarios(t *testing.T) { policytest.Golden(t, "testdata/xml", fromXML) }

func TestPour(t *testing.T) {
	type kid struct {
		weight   float64
		min, max int64
		active   int64
	}
	const all = 1 << 50
	for name, c := range map[string]struct {
		total int64
		kids  []kid
		want  []int64
	}{
		"weights":         {102400, []kid{{1, 0, all, 1}, {2, 0, all, 1}, {1, 0, all, 1}}, []int64{25600, 51200, 25600}},
		"min and max":     {102400, []kid{{1, 40960, all, 1}, {2, 0, 20480, 1}, {1, 0, all, 1}}, []int64{40960, 20480, 40960}},
		"thirds":          {102400, []kid{{1, 0, all, 3}}, []int64{34134}},
		"idle":            {100000, []kid{{3, 0, all, 1}, {1, 0, all, 0}, {1, 0, all, 1}}, []int64{75000, 0, 25000}},
		"no weight":       {1000, []kid{{0, 100, all, 1}, {1, 0, all, 1}}, []int64{100, 900}},
		"no room at all":  {1000, []kid{{1, 0, 0, 1}, {1, 0, all, 1}}, []int64{0, 1000}},
		"minima too many": {100, []kid{{1, 80, all, 1}, {1, 70, all, 1}}, []int64{80, 70}},
		"tiny weights":    {1000, []kid{{1e-300, 0, all, 1}, {0, 0, all, 1}}, []int64{1000, 0}},
		"nobody":          {1000, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var classes []queues.Class
			for _, k := range c.kids {
				classes = append(classes, queues.Class{Active: k.active, Claim: queues.Claim{Weight: k.weight,
					Min: unit.Resources{Mem: k.min}, Max: unit.Resources{Mem: k.max}}})
			}
			queues.ComputeShares(classes, unit.Resources{Mem: c.total}, false)
			for i, w := range c.want {
				if got := classes[i].Share.Mem; got != w {
					t.Errorf("share %d is %d, want %d", i, got, w)
				}
			}
		})
	}
}

// naive ranks jobs by the rules as they are written down, from nothing but the file and the jobs.
type naive struct {
	c     *conf.Fair
	total unit.Resources
	jobs  []*policytest.Job // runnable ones
}

func (n *naive) below(q *conf.FairQueue) (jobs []*policytest.Job, used unit.Resources) {
	for _, j := range n.jobs {
		if name := "root." + j.Queue; name == q.Name || strings.HasPrefix(name, q.Name+".") || q.Name == "root" {
			jobs, used = append(jobs, j), used.Add(j.Used)
		}
	}
	return jobs, used
}

func (n *naive) limit(q *conf.FairQueue) unit.Resources {
	return q.Max.Of(n.total).Max(q.Min.Of(n.total))
}

func (n *naive) rank(q *conf.FairQueue, room, share unit.Resources) []*policytest.Job {
	jobs, used := n.below(q)
	room = room.Min(n.limit(q).Sub(used))
	var out []*policytest.Job
	if len(q.Children) == 0 {
		slices.SortFunc(jobs, func(a, b *policytest.Job) int {
			by := 0
			switch q.Policy {
			case "fair":
				by = cmp.Compare(a.Used.Mem, b.Used.Mem)
			case "drf":
				by = cmp.Compare(a.Used.DominantShare(n.total), b.Used.DominantShare(n.total))
				if by == 0 {
					by = cmp.Compare(n.lesserShare(a.Used), n.lesserShare(b.Used))
				}
			}
			return cmp.Or(by, cmp.Compare(a.Seq, b.Seq))
		})
		var ams unit.Resources
		for _, j := range jobs {
			if j.Front != policy.AMStage || j.Pending == 0 {
				if j.Running > j.Held() {
					ams = ams.Add(j.AM)
				}
			}
		}
		var cluster unit.Resources
		for _, j := range n.jobs {
			cluster = cluster.Add(j.Used)
		}
		if share.Mem == 0 {
			share.Mem = min(n.total.Mem-cluster.Mem, n.limit(q).Mem)
		}
		if share.Cores == 0 {
			share.Cores = min(n.total.Cores-cluster.Cores, n.limit(q).Cores)
		}
		up := func(v int64) int64 { return int64(math.Ceil(float64(v) * q.MaxAMShare)) }
		am := unit.Resources{Mem: up(share.Mem), Cores: up(share.Cores)}
		for _, j := range jobs {
			ok := j.Pending > 0 && j.Ask.Fits(room)
			if ok && j.Front == policy.AMStage && q.MaxAMShare >= 0 {
				ok = ams.Add(j.Ask).Fits(am)
			}
			if ok {
				out = append(out, j)
			}
		}
		return out
	}
	type place struct {
		q   *conf.FairQueue
		key []float64
		fs  unit.Resources
	}
	var kids []place
	var classes []queues.Class
	for _, k := range q.Children {
		jobs, used := n.below(k)
		classes = append(classes, queues.Class{Claim: queues.Claim{Weight: k.Weight, Min: k.Min.Of(n.total), Max: n.limit(k)}, Active: int64(min(len(jobs), 1))})
		key := []float64{1, 0, 0}
		mem, cores := part(used.Mem, n.total.Mem), part(used.Cores, n.total.Cores)
		switch q.Policy {
		case "fair":
			demand := used.Mem
			for _, j := range jobs {
				demand += j.Pending * j.Ask.Mem
			}
			if floor := min(int64(k.Min.Mem), demand); used.Mem < floor {
				key = []float64{0, float64(used.Mem) / float64(floor), millionths(mem / k.Weight)}
			} else {
				key[1] = float64(used.Mem) / k.Weight
			}
		case "drf":
			held, floor, beside := used.Mem, int64(k.Min.Mem), part(used.Cores, int64(k.Min.Cores))
			if cores > mem {
				held, floor, beside = used.Cores, int64(k.Min.Cores), part(used.Mem, int64(k.Min.Mem))
			}
			if held < floor {
				key = []float64{0, float64(held) / float64(floor), millionths(beside)}
			} else {
				key = []float64{1, max(mem, cores) / k.Weight, millionths(min(mem, cores) / k.Weight)}
			}
		}
		kids = append(kids, place{q: k, key: key})
	}
	queues.ComputeShares(classes, share, q.Policy == "drf")
	for i := range kids {
		kids[i].fs = classes[i].Share
	}
	slices.SortFunc(kids, func(a, b place) int { return cmp.Or(slices.Compare(a.key, b.key), cmp.Compare(a.q.Name, b.q.Name)) })
	for _, k := range kids {
		out = append(out, n.rank(k.q, room, k.fs)...)
	}
	return out
}

func (n *naive) lesserShare(u unit.Resources) float64 {
	return millionths(min(part(u.Mem, n.total.Mem), part(u.Cores, n.total.Cores)))
}

func millionths(share float64) float64 { return math.Floor(min(share, 1) * (1 << 20)) }

func TestTreeAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		maxima := []string{"", "", "<maxResources>6 mb, 9 vcores</maxResources>",
			"<maxResources>12 mb, 6 vcores</maxResources>", "<maxResources>30%</maxResources>"}
		settings := func() string {
			return rapid.SampledFrom(maxima).Draw(t, "max") +
				rapid.SampledFrom([]string{"", "<weight>2</weight>", "<weight>0.5</weight>"}).Draw(t, "weight") +
				rapid.SampledFrom([]string{"", "", "<minResources>4 mb, 2 vcores</minResources>"}).Draw(t, "min") +
				rapid.SampledFrom([]string{"", "<maxAMShare>0.25</maxAMShare>", "<maxAMShare>-1</maxAMShare>"}).Draw(t, "am") +
				rapid.SampledFrom([]string{"", "<schedulingPolicy>drf</schedulingPolicy>", "<schedulingPolicy>fifo</schedulingPolicy>"}).Draw(t, "policy")
		}
		parent := rapid.SampledFrom([]string{"", "<schedulingPolicy>drf</schedulingPolicy>"}).Draw(t, "root")
		text := `<allocations><queue name="root">` + parent + `<queue name="a">` + settings() + `</queue><queue name="p">` + parent +
			rapid.SampledFrom(maxima).Draw(t, "max") + `<queue name="b">` + settings() + `</queue><queue name="c">` + settings() +
			`</queue></queue></queue></allocations>`
		c, err := conf.ReadFair(strings.NewReader(text), "x")
		if err != nil {
			t.Fatal(err)
		}
		p, err := FromConf(c)
		if err != nil {
			t.Fatal(err)
		}
		total := unit.Resources{Mem: 32, Cores: 32}
		e := policytest.New(p.Order, total)
		var live []*policytest.Job
		names := rapid.SampledFrom([]string{"a", "p.b", "p.c"})
		for i := range rapid.IntRange(1, 60).Draw(t, "steps") {
			op := rapid.IntRange(0, 19).Draw(t, "op")
			pick := func() *policytest.Job { return live[rapid.IntRange(0, len(live)-1).Draw(t, "job")] }
			switch {
			case op <= 6 || len(live) == 0:
				j := &policytest.Job{Job: policy.Job{ID: fmt.Sprint("j", i), Queue: names.Draw(t, "queue")}}
				if rapid.Bool().Draw(t, "master") {
					j.AM = unit.Resources{Mem: rapid.Int64Range(1, 2).Draw(t, "mm"), Cores: 1}
				}
				if err := e.Arrive(j, rapid.Int64Range(0, 5).Draw(t, "tasks"),
					unit.Resources{Mem: rapid.Int64Range(1, 4).Draw(t, "mem"), Cores: rapid.Int64Range(1, 4).Draw(t, "cores")}); err != nil {
					t.Fatal(err)
				}
				live = append(live, j)
			case op <= 12:
				e.Start()
			case op <= 15:
				if j := pick(); j.Held() > 0 {
					e.End(j, false)
				}
			case op == 16:
				j, to := pick(), names.Draw(t, "to")
				if e.Order.(policy.Knobs).Move(&j.Job, to) == nil {
					j.Queue = to
				}
			case op == 17:
				total.Mem = rapid.Int64Range(20, 40).Draw(t, "total")
				e.Resize(total)
			default:
				j := pick()
				e.Leave(j)
				live = slices.DeleteFunc(live, func(x *policytest.Job) bool { return x == j })
			}
			var want []string
			n := naive{c: c, total: total, jobs: live}
			for _, j := range n.rank(c.Root, unit.Resources{Mem: 1 << 60, Cores: 1 << 60}, total) {
				want = append(want, j.ID)
			}
			if got := e.Ranking(); !slices.Equal(got, want) {
				t.Fatalf("step %d: ranked %v, want %v\n%s", i, got, want, text)
			}
			if got := e.Ranking(); !slices.Equal(got, want) {
				t.Fatalf("step %d, asked again: ranked %v, want %v\n%s", i, got, want, text)
			}
		}
	})
}

func TestHadoopSample(t *testing.T) {
	dir := os.Getenv("YARDMASTER_TRACES")
	if dir == "" {
		t.Skip("YARDMASTER_TRACES is not set")
	}
	f, err := os.Open(filepath.Join(dir, "hadoop-sls", "fair-scheduler.xml"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c, err := conf.ReadFair(f, f.Name())
	if err != nil {
		t.Fatal(err)
	}
	p, err := FromConf(c)
	if err != nil {
		t.Fatal(err)
	}
	e := policytest.New(p.Order, unit.Resources{Mem: 8192, Cores: 8})
	for _, q := range []string{"sls_queue_1", "sls_queue_2", "sls_queue_3"} {
		if err := e.Arrive(&policytest.Job{Job: policy.Job{ID: q, Queue: q}}, 99, unit.Resources{Mem: 1024, Cores: 1}); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]int{}
	for range 8 {
		got[e.Start().ID]++
	}
	if got["sls_queue_1"] != 2 || got["sls_queue_2"] != 2 || got["sls_queue_3"] != 4 {
		t.Errorf("8 containers went %v, want them by weight", got)
	}
	if len(p.NotModelled) != 3 {
		t.Errorf("not modelled: %q", p.NotModelled)
	}
}

func BenchmarkTree(b *testing.B) {
	var many strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&many, `<queue name="q%d"><weight>%d</weight></queue>`, i, 1+i%7)
	}
	for _, c := range []struct {
		name, text string
		queues     int
	}{
		{"3-queues", `<queue name="q0"/><queue name="q1"><minResources>2048 mb, 1 vcores</minResources></queue>
			<queue name="q2"><weight>3</weight></queue>`, 3},
		{"full-queue", `<queue name="q0"><weight>1000000</weight><maxResources>4096 mb, 4 vcores</maxResources></queue><queue name="q1"/>`, 2},
		{"3000-queues", many.String(), 3000},
	} {
		for _, n := range []int{100, 10_000, 100_000} {
			b.Run(fmt.Sprint(c.name, "/", n), func(b *testing.B) {
				p, err := fromXML("<allocations>" + c.text + "</allocations>")
				if err != nil {
					b.Fatal(err)
				}
				policytest.Bench(b, p.Order, n, func(i int, j *policy.Job) { j.Queue = fmt.Sprint("q", i%c.queues) })
			})
		}
	}
}
