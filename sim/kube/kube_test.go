package kube

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/all"
	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

type start struct {
	at  unit.Time
	job string
}

// watched logs the starts that an order is told of and that are not undone.
type watched struct {
	policy.Order
	starts *[]start
}

func (w watched) Started(e *policy.Event) {
	*w.starts = append(*w.starts, start{e.Now, e.Job.ID})
	w.Order.Started(e)
}

func (w watched) Ended(e *policy.Event) {
	if e.Why == policy.Undone {
		for i := len(*w.starts) - 1; i >= 0; i-- {
			if (*w.starts)[i].job == e.Job.ID {
				*w.starts = append((*w.starts)[:i], (*w.starts)[i+1:]...)
				break
			}
		}
	}
	w.Order.Ended(e)
}

// watching makes a policy that logs. After an end, ideal time offers only the node that has room again, even if a limit has been lifted that kept others free;
// again makes it offer all.
func watching(t *testing.T, spec string, to *[]start, again bool) func() (policy.Policy, error) {
	fresh, _, err := all.Load(all.Policies, spec)
	if err != nil {
		t.Fatal(err)
	}
	return func() (policy.Policy, error) {
		p, err := fresh()
		p.Order = watched{p.Order, to}
		if again {
			asked := false
			p.Shifted = func() bool { asked = !asked; return asked }
		}
		return p, err
	}
}

// jobs are some of a heavy tail.
func jobs(seed uint64, n int) workload.Slice {
	r := rand.New(rand.NewPCG(seed, 29))
	var out workload.Slice
	at := unit.Time(0)
	for i := range n {
		at += unit.Time(1 + r.Int64N(int64(3*unit.Second)))
		tasks := 1 + int64(r.ExpFloat64()*8)
		if r.IntN(12) == 0 {
			tasks *= 10
		}
		v := make([]unit.Time, tasks)
		for k := range v {
			v[k] = unit.Time(1 + r.Int64N(int64(20*unit.Second)))
		}
		j := &workload.Job{
			ID: fmt.Sprintf("j%03d", i), User: fmt.Sprintf("u%d", r.IntN(5)), Queue: []string{"a", "b", "c"}[r.IntN(3)], Submit: at,
			Stages: []workload.Stage{{Tasks: tasks, Ask: unit.Resources{Mem: 1024, Cores: 1000}, Length: workload.Lengths{Kind: workload.List, Values: v}}},
		}
		if i%3 == 0 {
			j.Deadline = at + 5*unit.Minute
		}
		out = append(out, j)
	}
	return out
}

const tree = `<configuration>
<property><name>yarn.scheduler.capacity.root.queues</name><value>a,b,c</value></property>
<property><name>yarn.scheduler.capacity.root.a.capacity</name><value>50</value></property>
<property><name>yarn.scheduler.capacity.root.b.capacity</name><value>30</value></property>
<property><name>yarn.scheduler.capacity.root.b.maximum-capacity</name><value>60</value></property>
<property><name>yarn.scheduler.capacity.root.c.capacity</name><value>20</value></property>
<property><name>yarn.scheduler.capacity.root.c.user-limit-factor</name><value>3</value></property>
</configuration>`

// Without delays, the live core starts what the simulator starts: the same jobs at the same instants, also if every seventh binding fails.
func TestAgreesWithIdealTime(t *testing.T) {
	file := filepath.Join(t.TempDir(), "capacity-scheduler.xml")
	if err := os.WriteFile(file, []byte(tree), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, spec := range []string{
		"fifo", "fair", "fair:by=pool", "fair:by=user,resource=drf", "capacity:queues=a:60;b:30;c:10", "capacity:queues=a:60;b:30;c:10,ordering=fair,calculator=dominant", file,
		"fbq:limits=60", "fbq:limits=30,200", "fbq:limits=30,count=completed", "comp:queues=3", "deadline",
	} {
		t.Run(filepath.Base(spec), func(t *testing.T) {
			t.Parallel()
			total := 0
			for seed := range uint64(4) {
				for _, every := range []int64{0, 7} {
					source, machines := jobs(seed, 400), cluster.Uniform(6, 1, unit.Resources{Mem: 8192, Cores: 8000})
					var want, got []start
					if _, err := sim.Run(context.Background(), sim.Config{Cluster: machines, Source: source.Source(), Sink: result.Tee(), NoAlone: true, NewPolicy: watching(t, spec, &want, true)}); err != nil {
						t.Fatal(err)
					}
					sum, err := Run(context.Background(), Config{
						Cluster: machines, Source: source.Source(), Sink: result.Tee(), NoAlone: true, NewPolicy: watching(t, spec, &got, false),
						failBind: func(n int64) bool { return every > 0 && n%every == 0 },
					})
					if err != nil {
						t.Fatal(err)
					}
					if len(got) != len(want) || int(sum.Tasks) != len(want) {
						t.Fatalf("seed %d, every %d: %d starts and %d tasks instead of %d", seed, every, len(got), sum.Tasks, len(want))
					}
					if every > 0 { // a job whose binding failed is next again, after those that were released with it
						for _, list := range [][]start{want, got} {
							slices.SortStableFunc(list, func(a, b start) int { return cmp.Or(cmp.Compare(a.at, b.at), strings.Compare(a.job, b.job)) })
						}
					}
					for i := range want {
						if got[i] != want[i] {
							t.Fatalf("seed %d, every %d: start %d of %d is %v instead of %v", seed, every, i, len(want), got[i], want[i])
						}
					}
					total += len(got)
				}
			}
			t.Logf("%d starts agree", total)
		})
	}
}

// A replay knows when pods were there, when the policy was asked, and when a job was known to be over. A refused job's later pods are none.
func TestReplay(t *testing.T) {
	file := filepath.Join(t.TempDir(), "capacity-scheduler.xml")
	if err := os.WriteFile(file, []byte(tree), 0o600); err != nil {
		t.Fatal(err)
	}
	fresh, _, err := all.Load(all.Policies, file)
	if err != nil {
		t.Fatal(err)
	}
	ask := unit.Resources{Mem: 1024, Cores: 1000}
	stages := []workload.Stage{{Tasks: 3, Ask: ask, Length: workload.Fixed(10 * unit.Second)}}
	source := workload.Slice{{ID: "waits", Queue: "a", Stages: stages}, {ID: "refused", Queue: "x", Stages: stages},
		{ID: "huge", Queue: "a", Stages: []workload.Stage{{Tasks: 1 << 40, Ask: ask, Length: workload.Fixed(unit.Second)}}}}
	for name, c := range map[string]struct {
		config       Config
		start, known []unit.Time // in seconds
	}{
		"pods come every 4 s":   {Config{Creation: func(_ *workload.Job, _ int, task int64) unit.Time { return unit.Time(1+4*task) * unit.Second }}, []unit.Time{1, 5, 11}, []unit.Time{21}},
		"asked at 2 s and 13 s": {Config{Turns: []unit.Time{2 * unit.Second, 13 * unit.Second}}, []unit.Time{2, 2, 13}, []unit.Time{23}},
		"over after 3 s": {Config{
			Worked: func(*workload.Job, int, int64) unit.Time { return 9 * unit.Second }, Left: func(*workload.Job) unit.Time { return 3 * unit.Second },
		}, []unit.Time{0, 0, 10}, []unit.Time{23}},
	} {
		ends, w := kept{}, &life{}
		c.config.Cluster, c.config.Source, c.config.Sink, c.config.NoAlone = cluster.Uniform(1, 1, ask.Times(2)), source.Source(), ends, true
		c.config.NewPolicy = func() (policy.Policy, error) {
			p, err := fresh()
			w.Order, p.Order = p.Order, w
			return p, err
		}
		if _, err := Run(t.Context(), c.config); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(w.starts, c.start) || !slices.Equal(w.left, c.known) || ends["refused"].Outcome != sim.Refused ||
			!strings.Contains(ends["huge"].Reason, "pods") {
			t.Errorf("%s: started at %v, left at %v; want %v, %v; the other job is %v", name, w.starts, w.left, c.start, c.known, ends["refused"].Outcome)
		}
		if worked := []unit.Time{30, 27}; !slices.Contains(worked, w.worked) || c.config.Worked != nil != (w.worked == 27) {
			t.Errorf("%s: worked %d s", name, w.worked)
		}
	}
}

// life notes, in seconds, what an order is told of the job that it has.
type life struct {
	policy.Order
	starts, left []unit.Time
	worked       unit.Time
}

func (l *life) Started(e *policy.Event) {
	l.starts = append(l.starts, e.Now/unit.Second)
	l.Order.Started(e)
}

func (l *life) Left(now unit.Time, j *policy.Job) {
	l.left, l.worked = append(l.left, now/unit.Second), j.Stages[0].Worked/unit.Second
	l.Order.Left(now, j)
}

type kept map[string]sim.JobRecord

func (k kept) Job(r *sim.JobRecord) { k[r.Job.ID] = *r }
func (k kept) Sample(*sim.Sample)   {}
