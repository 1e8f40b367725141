package hybrid

import (
	"context"
	_ "embed"
	"fmt"
	"math"
	"slices"
	"sync"
	"text/template"

	"github.com/yardmaster/yardmaster/internal/yamlfile"
	"github.com/yardmaster/yardmaster/result"
	x "github.com/yardmaster/yardmaster/studies/experiment"
	"github.com/yardmaster/yardmaster/studies/experiment/facebook"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload/swim"
	"github.com/yardmaster/yardmaster/workload/synth"
)

//go:embed study.yaml
var studyFile []byte

//go:embed sections.tmpl
var story string

// texts are the texts of the study.
var texts = sync.OnceValue(func() *x.Texts { return yamlfile.Decode[x.Texts](studyFile) })

// Study is the study as data. All experiments but HY-M1 and HY-P need the Facebook traces.
func Study() *x.Study {
	day, train := facebook.File(facebook.FB2010), facebook.File(facebook.FB2010Paths)
	hour := synth.Respread{How: "uniform", Time: unit.Hour}
	small := func(r swim.Replay) *world {
		return &world{racks: 5, machines: 10, ups: 2, jobs: 1000, examples: 600, online: hour, day: day, train: train, replay: r}
	}
	return study(
		small(swim.Replay{Machines: 50, Traced: traced}),
		&world{racks: 20, machines: 30, ups: 6, examples: 600, day: day, train: train, replay: swim.Replay{Machines: 600, Traced: traced}},
		small(swim.Replay{}),
	)
}

// traced is the number of machines of the trace's cluster.
const traced = 3000

// study makes the study of a real and a simulated cluster, and of the real one with the trace as it is.
func study(small, large, raw *world) *x.Study {
	return texts().With(runners(newWorld(small), newWorld(large), newWorld(raw)), nil, sections)
}

// The variants of the source, and those of the ablations.
var (
	six       = []string{"fs", "ds", "fs-with", "ds-with", "fs-without", "ds-without"}
	seven     = append(slices.Clone(six), "default")
	ablations = []string{"fs-with", "no-p", "no-js", "no-dps", "idle", "idle-no-dps"}
)

// runners are the experiments' runs, by ID. Experiments share runs: see experiment.Cache.
func runners(small, large, raw *world) map[string]x.Runner {
	classified := func(_ context.Context, seed uint64) (x.Metrics, error) {
		return small.classifies(seed, even, plain, both)
	}
	var wrong []string
	for _, e := range errorsOfShuffle {
		wrong = append(wrong, "error/"+e)
	}
	batch, online := small.plays(true, "", seven...), small.plays(false, "", seven...)
	dayBatch, dayOnline := large.plays(true, "", "fs", "ds", "fs-with", "ds-with", "default"), large.plays(false, "", seven...)
	former := []string{"fs", "fs-without", "fs-with", "default"}
	probe := newWorld(&world{
		racks: 3, machines: 4, ups: 1, jobs: 150, examples: 100, online: synth.Respread{How: "uniform", Time: 10 * unit.Minute},
		day: facebook.StandIn(400, 64*unit.GiB), train: facebook.StandIn(300, 64*unit.GiB),
	})
	return map[string]x.Runner{
		"HY-M1": measure, "HY-C1": classified, "HY-C2": classified,
		"HY-R1": batch, "HY-R2": batch, "HY-R3": online, "HY-R4": online, "HY-R5": online,
		"HY-S1": dayBatch, "HY-S2": dayBatch, "HY-S3": dayOnline, "HY-S4": dayOnline, "HY-S5": dayOnline,
		"HY-A1": small.plays(true, "", ablations...), "HY-A2": small.plays(false, "", ablations...),
		"HY-T1": small.plays(true, "", wrong...), "HY-T2": small.plays(false, "", wrong...),
		"HY-X1": small.plays(true, "5:1", six...), "HY-X2": small.plays(false, "5:1", six...),
		"HY-X3": large.plays(false, "5:1", "fs", "fs-with"),
		"HY-X4": large.plays(false, "", ablations[:5]...),
		"HY-X5": raw.plays(true, "", former...), "HY-X6": raw.plays(false, "", former...),
		"HY-P": probed(probe),
	}
}

// probed runs everything on a few jobs.
func probed(w *world) x.Runner {
	return func(ctx context.Context, seed uint64) (x.Metrics, error) {
		m, err := w.classifies(seed, even)
		if err != nil {
			return nil, err
		}
		for _, batch := range []bool{true, false} {
			for _, net := range []string{"", "5:1"} {
				names := slices.Concat(seven, ablations[1:], []string{"error/-1", "error/1"})
				if net != "" {
					names = six[:3]
				}
				got, err := w.plays(batch, net, names...)(ctx, seed)
				if err != nil {
					return nil, err
				}
				m.Add(fmt.Sprintf("%v/%s/", batch, net), got)
			}
		}
		return m, nil
	}
}

// sections are the study's own tables and charts.
func sections(r *x.Runs) []x.Section {
	mean := func(id, metric string) float64 { return r.Point(id, metric).Mean }
	return x.Story(story, r, template.FuncMap{
		"errors": func() []string { return errorsOfShuffle }, "percentiles": func() []int { return percentiles }, "sizes": func() []float64 { return sizes },
		"title":   func(variant string) string { return titles[variant] },
		"percent": func(id, metric string) string { return fmt.Sprintf("%.1f %%", 100*mean(id, metric)) },
		// change is that of the mean over seeds from one figure to another.
		"change": func(id, prefix, from, to string) string {
			return fmt.Sprintf("%+.1f %%", 100*(mean(id, prefix+to)/mean(id, prefix+from)-1))
		},
		// atMost is the change of the mean if small jobs took no time.
		"atMost": func(id string) string {
			return fmt.Sprintf("%.1f %%", -100*mean(id, "jobs/small")*mean(id, "fs/mean/small")/mean(id, "fs/mean"))
		},
		"heading": texts().Heading,
		"variants": func(id string) []string {
			return slices.DeleteFunc(slices.Concat(seven, ablations[1:]), func(v string) bool { return math.IsNaN(mean(id, v+"/makespan")) })
		},
		// spread is a row: how a figure changes from FS, seed by seed.
		"spread": func(id, figure, variant string) string {
			falls, changes := 0, []float64(nil)
			from := r.Values(id, "fs/"+figure)
			for i, v := range r.Values(id, variant+"/"+figure) {
				if changes = append(changes, 100*(v/from[i]-1)); changes[i] < 0 {
					falls++
				}
			}
			return fmt.Sprintf("| %s | %s | %d of %d | %+.0f %% | %+.0f %% | %+.0f %% |\n", titles[figure], titles[variant], falls, len(changes), slices.Min(changes), result.Quantile(changes, 0.5), slices.Max(changes))
		},
		"stolen": func(id, variant string) string {
			if n := mean(id, variant+"/stolen"); !math.IsNaN(n) {
				return x.Number(n)
			}
			return ""
		},
	})
}

// titles are the source's names of the variants, and those of figures.
var titles = map[string]string{
	"fs": "FS", "ds": "DS", "fs-with": "H-FS-with", "ds-with": "H-DS-with", "fs-without": "H-FS-w/o", "ds-without": "H-DS-w/o",
	"no-p": "H-w/o-P", "no-js": "H-w/o-JS", "no-dps": "H-w/o-DPS", "idle": "H-FS-with, steal=idle", "idle-no-dps": "H-w/o-DPS, steal=idle",
	"makespan": "makespan, batch", "last/small": "end of the last small job, batch", "mean": "mean, online", "mean/small": "mean of small jobs, online",
	"mean/large": "mean of large jobs, online", "median": "median, online",
	"default": "hybrid as shipped",
}
