package deadline

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"
	"text/template"

	"github.com/yardmaster/yardmaster/internal/yamlfile"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/all"
	"github.com/yardmaster/yardmaster/policy/fair"
	x "github.com/yardmaster/yardmaster/studies/experiment"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

//go:embed study.yaml
var studyFile []byte

//go:embed sections.tmpl
var story string

// texts are the texts of the study.
var texts = sync.OnceValue(func() *x.Texts { return yamlfile.Decode[x.Texts](studyFile) })

// Study is the study as data.
func Study() *x.Study { return texts().With(runners, nil, sections) }

// joinGoals are the two goals of J3 and J4 that the source states, in seconds.
var joinGoals = []float64{120, 150}

// runners are the experiments' runs, by ID.
var runners = map[string]x.Runner{
	"DL-1":  accuracies,
	"DL-2":  under(map[string]scheduler{"": managed("mode=min")}),
	"DL-3":  under(map[string]scheduler{"": managed("mode=max")}),
	"DL-4a": under(map[string]scheduler{"": pools(1, 1, 1, 1)}),
	"DL-4b": under(map[string]scheduler{"": pools(1, 1.4, 122)}),
	"DL-X1": under(map[string]scheduler{"": named("fifo")}),
	"DL-X2": under(map[string]scheduler{
		"min/": managed("mode=min"), "min-guard/": managed("mode=min,tail-guard=yes"), "min-literal/": managed("mode=min,clamp=no"), "min-samples/": managed("mode=min,min-samples=30"),
		"min-work/": managed("mode=min,reduce=work"), "max/": managed("mode=max"), "max-guard/": managed("mode=max,tail-guard=yes"), "max-cap/": managed("mode=max,nodata-cap=20"),
	}),
}

// scheduler is a scheduler with the pool of each job.
type scheduler struct {
	pools map[string]string
	fresh func() (policy.Policy, error)
}

func named(spec string) scheduler {
	return scheduler{fresh: func() (policy.Policy, error) {
		fresh, _, err := all.Load(all.Policies, spec)
		if err != nil {
			return policy.Policy{}, err
		}
		return fresh()
	}}
}

// managed is the deadline policy; idle slots are offered again every 3 s, at Hadoop's heartbeat.
func managed(settings string) scheduler { return named("deadline:refresh=3s," + settings) }

// pools is the Fair Scheduler with a pool for each weight; jobs beyond the last share it.
func pools(weights ...float64) scheduler {
	var file strings.Builder
	file.WriteString("<allocations>")
	s := scheduler{pools: map[string]string{}}
	for i, name := range names {
		s.pools[name] = fmt.Sprint("pool", min(i, len(weights)-1)+1)
	}
	for i, w := range weights {
		fmt.Fprintf(&file, `<queue name="pool%d"><weight>%g</weight><schedulingPolicy>fifo</schedulingPolicy></queue>`, i+1, w)
	}
	file.WriteString("</allocations>")
	s.fresh = func() (policy.Policy, error) {
		c, err := conf.ReadFair(strings.NewReader(file.String()), "pools")
		if err != nil {
			return policy.Policy{}, err
		}
		return fair.FromConf(c)
	}
	return s
}

// under runs all jobs under schedulers, by the prefix of their figures, with both goals.
func under(schedulers map[string]scheduler) func(context.Context, uint64) (x.Metrics, error) {
	return func(ctx context.Context, seed uint64) (x.Metrics, error) {
		m := x.Metrics{}
		for prefix, s := range schedulers {
			for _, goal := range joinGoals {
				w, err := play(ctx, seed, four(seed, goal, s.pools), s.fresh)
				if err != nil {
					return nil, err
				}
				w.figures(m, fmt.Sprintf("%s%g/", prefix, goal), goal)
			}
		}
		return m, nil
	}
}

// accuracies runs each application alone.
func accuracies(ctx context.Context, seed uint64) (x.Metrics, error) {
	m := x.Metrics{}
	for i, name := range names[:3] {
		alone := four(seed, joinGoals[0], nil)[i : i+1]
		alone[0].Deadline, alone[0].Submit = alone[0].Deadline-alone[0].Submit, 0
		w, err := play(ctx, seed, alone, named("fifo").fresh)
		if err != nil {
			return nil, err
		}
		w.jobs[name].accuracy(m, applications[name]+"/")
	}
	return m, nil
}

// sections are the study's own tables and charts.
func sections(r *x.Runs) []x.Section {
	return x.Story(story, r, template.FuncMap{
		"names": func() []string { return names },
		"times": func() (list []string) {
			for s := curveStep; s <= 6600; s += curveStep {
				list = append(list, fmt.Sprintf("%04d", s))
			}
			return list
		},
		"shares": func() (list []string) {
			for p := 5; p < 100; p += 5 {
				list = append(list, fmt.Sprintf("%03d", p))
			}
			return list
		},
		"plain": func(s string) string { return strings.TrimLeft(s[:len(s)-1], "0") + s[len(s)-1:] },
		"span": func(e, metric string) string {
			v := slices.Sorted(slices.Values(r.Values(e, metric)))
			return x.Number(v[0]) + " to " + x.Number(v[len(v)-1])
		},
	})
}
