package tune

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/scenario"
	"github.com/yardmaster/yardmaster/studies/live"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/swim"
	"github.com/yardmaster/yardmaster/workload/synth"
	"github.com/yardmaster/yardmaster/workload/trace"
)

// history is one on which tune and random points compete.
type history struct {
	Name, About string
	Developed   bool // the search was developed on it
	Goal        string
	Keep        []string
	Over        []string // settings; empty: the default ones of a capacity-scheduler.xml
	load        func(dir string) (*scenario.Setup, error)
}

// usual are the settings that tune varies by default.
var usual = []string{"capacity", "maximum-capacity", "user-limit-factor", "minimum-user-limit-percent", "maximum-am-resource-percent"}

const (
	lightGoal = "p95 elapsed of root.light"
	heavyKeep = "p95 elapsed of root.heavy <= +2 %"
	adhocGoal = "p95 elapsed of root.adhoc"
)

// histories is the definition of the study. It was committed before the study ran.
func histories() []history {
	day := func(name, about, file string, developed bool, first, every int, block unit.Bytes, nodes string) history {
		return history{Name: name, About: fmt.Sprintf("%s, in blocks of %v, in three queues by shuffle size, on ", about, block) + nodes + "; an untouched installation's settings", Developed: developed, Goal: lightGoal,
			Keep: []string{heavyKeep}, Over: append([]string{"node-locality-delay"}, usual...),
			load: func(dir string) (*scenario.Setup, error) {
				jobs, err := swimDay(file, first, every, block)
				if err != nil {
					return nil, err
				}
				return made(dir, jobs, nodes, untouched)
			}}
	}
	week := func(seed uint64, developed bool) history {
		return history{Name: fmt.Sprintf("week %d", seed), About: fmt.Sprintf("a synthetic week of about 900 jobs in three queues, seed %d, on 3x8/1", seed), Developed: developed,
			Goal: adhocGoal, Keep: []string{"p95 elapsed of root.prod <= +5 %"}, Over: usual,
			load: func(dir string) (*scenario.Setup, error) {
				jobs, err := synthetic(weekOf(seed))
				if err != nil {
					return nil, err
				}
				return made(dir, jobs, "3x8/1", weekQueues)
			}}
	}
	lab := func(name, about string, developed bool, size live.SettingsSize) history {
		return history{Name: name, About: about, Developed: developed, Goal: "mean elapsed of root.adhoc", Over: usual[:3], load: func(dir string) (*scenario.Setup, error) {
			if err := (&live.Settings{Size: size}).Export(dir); err != nil {
				return nil, err
			}
			s, err := scenario.Load(dir)
			if err != nil {
				return nil, err
			}
			return s.Resolve()
		}}
	}
	return []history{
		day("FB-2010", "every sixteenth job of FB-2010's day", "FB-2010_samples_24_times_1hr_0.tsv", true, 0, 16, 2*unit.GiB, "25x6/5"),
		week(1, true),
		{Name: "demo", About: "the example of docs/which-setting-is-best.md: an afternoon in three queues, on 40x8/4", Developed: true, Goal: adhocGoal, Over: usual,
			load: func(dir string) (*scenario.Setup, error) {
				c, err := synth.Preset("demo")
				if err != nil {
					return nil, err
				}
				jobs, err := synthetic(c)
				if err != nil {
					return nil, err
				}
				return made(dir, jobs, "40x8/4", demoQueues)
			}},
		lab("lab", "the applications of the lab's study of settings, on Hadoop's clock", true, live.SettingsFull),
		day("FB-2009 day 1", "every second job of FB-2009's first day", "FB-2009_samples_24_times_1hr_0.tsv", false, 0, 2, 512*unit.MiB, "10x6/2"),
		day("FB-2009 day 2", "every second job of FB-2009's second day", "FB-2009_samples_24_times_1hr_1.tsv", false, 0, 2, 512*unit.MiB, "10x6/2"),
		day("FB-2010 with paths", "every sixteenth job of FB-2010's day with input paths", "FB-2010_samples_24_times_1hr_withInputPaths_0.tsv", false, 0, 16, 2*unit.GiB, "25x6/5"),
		week(2, false),
		week(3, false),
		week(4, false),
		lab("lab, larger", "other applications of the same kind, for 200 s on 4 NodeManagers, on Hadoop's clock", true, live.SettingsSize{Seconds: 200, Nodes: 4, PerNode: 12}),
		// New ones: the search was changed after the first run of those above.
		day("FB-2009 day 1, the other jobs", "the other half of FB-2009's first day", "FB-2009_samples_24_times_1hr_0.tsv", false, 1, 2, 512*unit.MiB, "10x6/2"),
		day("FB-2009 day 2, the other jobs", "the other half of FB-2009's second day", "FB-2009_samples_24_times_1hr_1.tsv", false, 1, 2, 512*unit.MiB, "10x6/2"),
		day("FB-2010 with paths, other jobs", "another sixteenth of FB-2010's day with input paths", "FB-2010_samples_24_times_1hr_withInputPaths_0.tsv", false, 8, 16,
			2*unit.GiB, "25x6/5"),
		week(5, false),
		week(6, false),
		lab("lab, larger nodes", "other applications of the same kind, for 150 s on 2 NodeManagers, on Hadoop's clock", false, live.SettingsSize{Seconds: 150, Nodes: 2, PerNode: 20}),
		// New ones for the third version, which judges on other perturbed replays and, after a rejection, tries those first that keep what was broken.
		day("FB-2009 day 1, a third", "every third job of FB-2009's first day", "FB-2009_samples_24_times_1hr_0.tsv", false, 2, 3, 512*unit.MiB, "7x6/1"),
		day("FB-2009 day 2, a third", "every third job of FB-2009's second day", "FB-2009_samples_24_times_1hr_1.tsv", false, 2, 3, 512*unit.MiB, "7x6/1"),
		day("FB-2010 with paths, a third part", "a third sixteenth of FB-2010's day with input paths", "FB-2010_samples_24_times_1hr_withInputPaths_0.tsv", false, 4, 16, 2*unit.GiB, "25x6/5"),
		day("FB-2010, other jobs", "another sixteenth of FB-2010's day", "FB-2010_samples_24_times_1hr_0.tsv", false, 8, 16, 2*unit.GiB, "25x6/5"),
		week(7, false),
		week(8, false),
		lab("lab, more nodes", "other applications of the same kind, for 180 s on 3 NodeManagers, on Hadoop's clock", false, live.SettingsSize{Seconds: 180, Nodes: 3, PerNode: 16}),
	}
}

// swimDay is a day of SWIM's, or every n-th job of it from a number on, in queues by shuffle size, as the classes of reports.
func swimDay(file string, first, every int, block unit.Bytes) (workload.Slice, error) {
	dir := os.Getenv("YARDMASTER_TRACES")
	if dir == "" {
		return nil, fmt.Errorf("set YARDMASTER_TRACES to the folder with swim/%s", file)
	}
	text, err := os.ReadFile(filepath.Join(dir, "swim", file))
	if err != nil {
		return nil, err
	}
	var parts [3]bytes.Buffer
	for i, line := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
		columns := bytes.Split(line, []byte("\t"))
		if i%every != first || len(columns) < 6 {
			continue
		}
		shuffle, err := strconv.ParseInt(string(columns[4]), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, i+1, err)
		}
		k := 2
		if shuffle < int64(unit.MiB) {
			k = 0
		} else if shuffle < 100*int64(unit.MiB) {
			k = 1
		}
		parts[k].Write(append(line, '\n'))
	}
	m := swim.Default()
	m.Block, m.AM = block, cluster.Unit
	var sources []workload.Source
	for k := range parts {
		m.Queues = []string{[]string{"light", "medium", "heavy"}[k]}
		r, err := swim.NewReader(&parts[k], file, m)
		if err != nil {
			return nil, err
		}
		sources = append(sources, r)
	}
	return workload.ReadAll(trace.Merged(sources...))
}

// weekOf is one of hourly pipelines, nightly jobs and queries.
func weekOf(seed uint64) synth.Config {
	const span = 7 * unit.Day
	users := func(n int) (list []string) {
		for i := range n {
			list = append(list, fmt.Sprintf("u%d", i+1))
		}
		return list
	}
	rate := func(jobs float64) float64 { return jobs / span.Seconds() }
	length := func(mean unit.Time, cv float64) workload.Lengths {
		return workload.Lengths{Kind: workload.LogNormal, A: mean, P: cv}
	}
	reduces := synth.Count{Kind: synth.Share, Mid: 0.15, Min: 1, Max: 40}
	class := func(queue string, n int, arrivals synth.Arrivals, maps synth.Count, task unit.Time) synth.Class {
		return synth.Class{Name: queue, Queue: queue, Users: users(n), Ask: cluster.Unit, AM: cluster.Unit, Spread: 0.5, Arrivals: &arrivals,
			Stages: synth.MapReduce(maps, length(task, 0.5), reduces, length(task, 0.5), 0.05)}
	}
	return synth.Config{Name: "week", Span: span, Seed: seed, Classes: []synth.Class{
		class("prod", 3, synth.Arrivals{Kind: synth.Batch, Rate: rate(24 * 7), Size: 1, Start: 5 * unit.Minute},
			synth.Count{Kind: synth.LogNormal, Mid: 25, Shape: 0.5, Min: 4, Max: 150}, 600*unit.Second),
		class("batch", 4, synth.Arrivals{Kind: synth.Batch, Rate: rate(4 * 7), Size: 4, Start: 21 * unit.Hour},
			synth.Count{Kind: synth.LogNormal, Mid: 100, Shape: 0.7, Min: 10, Max: 1000}, 900*unit.Second),
		class("adhoc", 10, synth.Arrivals{Kind: synth.Bursts, Rate: rate(700), Busy: 90 * unit.Minute, Quiet: 90 * unit.Minute, Calm: 0.3},
			synth.Count{Kind: synth.BoundedPareto, Min: 2, Max: 150, Shape: 0.8}, 60*unit.Second),
	}}
}

func synthetic(c synth.Config) (workload.Slice, error) {
	src, err := synth.New(c)
	if err != nil {
		return nil, err
	}
	return workload.ReadAll(src)
}

// queue is a queue's settings: capacity and maximum-capacity in percent, and user-limit-factor.
type queue struct {
	name                 string
	capacity, max, limit float64
}

var (
	untouched  = []queue{{"light", 34, 100, 1}, {"medium", 33, 100, 1}, {"heavy", 33, 100, 1}}
	weekQueues = []queue{{"prod", 40, 100, 2}, {"batch", 40, 100, 2}, {"adhoc", 20, 40, 1}}
	demoQueues = []queue{{"etl", 50, 100, 1}, {"adhoc", 25, 100, 1}, {"ml", 25, 100, 1}}
)

// made is a scenario of jobs on a cluster, in ideal time. Its scheduler's file is in dir.
func made(dir string, jobs workload.Slice, nodes string, queues []queue) (*scenario.Setup, error) {
	text, names := "", ""
	set := func(name, value string) {
		text += "<property><name>yarn.scheduler.capacity." + name + "</name><value>" + value + "</value></property>\n"
	}
	for _, q := range queues {
		names += "," + q.name
		for _, x := range []struct {
			property string
			value    float64
		}{{"capacity", q.capacity}, {"maximum-capacity", q.max}, {"user-limit-factor", q.limit}} {
			set("root."+q.name+"."+x.property, fmt.Sprint(x.value))
		}
	}
	set("root.queues", names[1:])
	file := filepath.Join(dir, "capacity-scheduler.xml")
	if err := os.WriteFile(file, []byte("<configuration>\n"+text+"</configuration>\n"), 0o644); err != nil {
		return nil, err
	}
	s := scenario.Default()
	s.Workload, s.Cluster, s.Schedulers = []string{"synth:demo"}, nodes, []string{file}
	out, err := s.Resolve()
	if err != nil {
		return nil, err
	}
	out.Workload = run.Jobs(jobs)
	return out, nil
}
