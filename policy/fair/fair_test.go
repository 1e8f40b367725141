package fair

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policytest"
	"github.com/yardmaster/yardmaster/unit"
)

func TestPlainScenarios(t *testing.T) {
	policytest.Golden(t, "testdata/plain", func(spec string) (policy.Policy, error) {
		s, err := policy.ParseSpec(spec)
		if err != nil {
			return policy.Policy{}, err
		}
		return policy.Registry{Entry}.New(s)
	})
}

func TestParams(t *testing.T) {
	for spec, want := range map[string]string{
		"fair": "",
		"fair:by=user,weights=a:2;b:0.5,min=a:1024": "",
		"fair:by=user,weights=a=2;b=1":              "",
		"fair:by=queue,resource=drf":                "",
		"fair:by=team":                              "want job or user",
		"fair:weights=a:2":                          "add by=user",
		"fair:by=user,weights=a":                    "not name:number",
		"fair:by=user,weights=a:0":                  "of a",
		"fair:by=user,weights=a:NaN":                "of a",
		"fair:by=user,weights=a:1;a:2":              "named twice",
		"fair:by=user,min=a:-1":                     "of a",
		"fair:am-share=0.1":                         "",
		"fair:am-share=2":                           "not between 0 and 1",
		"fair:speed=2":                              "no parameter speed",
	} {
		s, err := policy.ParseSpec(spec)
		if err == nil {
			_, err = policy.Registry{Entry}.New(s)
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", spec, err, want)
		}
	}
}

// world is random jobs on one engine, for orders that are checked against a slow, obvious one.
type world struct {
	*policytest.Engine
	live []*policytest.Job
	n    int
}

func (w *world) step(t *rapid.T) {
	pick := func() *policytest.Job { return w.live[rapid.IntRange(0, len(w.live)-1).Draw(t, "job")] }
	name := rapid.SampledFrom([]string{"a", "b", "c"})
	op := rapid.IntRange(0, 9).Draw(t, "op")
	switch {
	case op <= 2 || len(w.live) == 0:
		w.n++
		j := &policytest.Job{Job: policy.Job{ID: fmt.Sprint("j", w.n), User: name.Draw(t, "user"), Queue: name.Draw(t, "queue")}}
		ask := unit.Resources{Mem: rapid.Int64Range(1, 3).Draw(t, "mem"), Cores: rapid.Int64Range(1, 3).Draw(t, "cores")}
		if rapid.Bool().Draw(t, "master") {
			j.AM = unit.Resources{Mem: 1, Cores: 1}
		}
		if err := w.Arrive(j, rapid.Int64Range(0, 5).Draw(t, "tasks"), ask); err != nil {
			t.Fatal(err)
		}
		w.live = append(w.live, j)
	case op <= 5:
		w.Start()
	case op <= 7:
		if j := pick(); j.Held() > 0 {
			w.End(j, false)
		}
	case op == 8:
		j := pick()
		to := name.Draw(t, "to")
		if err := w.Order.(policy.Knobs).Move(&j.Job, to); err == nil {
			j.Queue = to
		}
	default:
		j := pick()
		w.Leave(j)
		w.live = slices.DeleteFunc(w.live, func(x *policytest.Job) bool { return x == j })
	}
}

func (w *world) check(t *rapid.T, want []*policytest.Job) {
	var ids []string
	for _, j := range want {
		ids = append(ids, j.ID)
	}
	if got := w.Ranking(); !slices.Equal(got, ids) {
		t.Fatalf("ranked %v, want %v", got, ids)
	}
}

// waiting are the jobs that could start something, by the key and then by arrival.
func (w *world) waiting(key func(*policytest.Job) float64) []*policytest.Job {
	var jobs []*policytest.Job
	for _, j := range w.live {
		if j.Pending > 0 {
			jobs = append(jobs, j)
		}
	}
	slices.SortFunc(jobs, func(a, b *policytest.Job) int { return cmp.Or(cmp.Compare(key(a), key(b)), cmp.Compare(a.Seq, b.Seq)) })
	return jobs
}

func TestByJobAgainstSorting(t *testing.T) {
	for _, resource := range []string{"memory", "drf"} {
		rapid.Check(t, func(t *rapid.T) {
			o, _ := New(policy.Params{"resource": resource})
			total := unit.Resources{Mem: 32, Cores: 64}
			w := world{Engine: policytest.New(o, total)}
			for range rapid.IntRange(1, 50).Draw(t, "steps") {
				w.step(t)
				w.check(t, w.waiting(func(j *policytest.Job) float64 {
					if resource == "drf" {
						return j.Used.DominantShare(total)
					}
					return float64(j.Used.Mem)
				}))
			}
		})
	}
}

func TestByGroupAgainstSorting(t *testing.T) {
	weights, floors := map[string]float64{"a": 2, "b": 1, "c": 0.5}, map[string]float64{"b": 6, "c": 3}
	for _, by := range []string{"user", "pool"} {
		rapid.Check(t, func(t *rapid.T) {
			o, err := New(policy.Params{"by": by, "weights": "a:2;c:0.5", "min": "b:6;c:3"})
			if err != nil {
				t.Fatal(err)
			}
			w := world{Engine: policytest.New(o, unit.Resources{Mem: 32, Cores: 64})}
			group := func(j *policytest.Job) string {
				if by == "user" {
					return j.User
				}
				return j.Queue
			}
			for range rapid.IntRange(1, 50).Draw(t, "steps") {
				w.step(t)
				used := map[string]float64{}
				for _, j := range w.live {
					used[group(j)] += float64(j.Used.Mem)
				}
				jobs := w.waiting(func(j *policytest.Job) float64 { return float64(j.Used.Mem) })
				first := map[string]int64{} // arrival of each group's next job
				for _, j := range slices.Backward(jobs) {
					first[group(j)] = j.Seq
				}
				key := func(g string) []float64 {
					if used[g] < floors[g] {
						return []float64{0, used[g] / floors[g], float64(first[g])}
					}
					return []float64{1, used[g] / weights[g], float64(first[g])}
				}
				slices.SortStableFunc(jobs, func(x, y *policytest.Job) int { return slices.Compare(key(group(x)), key(group(y))) })
				w.check(t, jobs)
			}
		})
	}
}

// One decision: a task ends, its container is offered, the neediest job starts one. From 100 to 100,000 waiting jobs the
// cost by job rises about 2.7 times: the heap is 9 levels deep instead of 4, and neither it nor the jobs that hold
// containers fit the nearest cache any more. From 10,000 on it is flat.
func BenchmarkDecision(b *testing.B) {
	for _, c := range []struct {
		name  string
		p     policy.Params
		shape func(int, *policy.Job)
	}{
		{"job", nil, nil},
		{"drf", policy.Params{"resource": "drf"}, nil},
		{"user", policy.Params{"by": "user", "min": "u1:2048"}, func(i int, j *policy.Job) { j.User = fmt.Sprint("u", i%50) }},
	} {
		for _, n := range []int{1, 3, 100, 10_000, 100_000} {
			b.Run(fmt.Sprint(c.name, "/", n), func(b *testing.B) {
				o, err := New(c.p)
				if err != nil {
					b.Fatal(err)
				}
				policytest.Bench(b, o, n, c.shape)
			})
		}
	}
}
