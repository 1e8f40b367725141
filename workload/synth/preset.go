package synth

import (
	"fmt"
	"strings"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Presets lists the presets, with a line about each.
func Presets() []struct{ Name, About string } {
	return []struct{ Name, About string }{
		{"demo", "a busy afternoon in three queues (etl, adhoc, ml): six hours, about 1,500 jobs, for a cluster of 320 containers"},
		{"facebook", "a day with the mix of Facebook in 2010: 24,000 jobs, most of one map, a few of tens of thousands"},
		{"training", "half a day of model training: gangs of 8 to 64 GPUs beside single-GPU runs and preparation of data, for a cluster like docs/examples/gpus.yaml"},
		{"week", "a week of 5,000 jobs in three queues (prod, batch, adhoc), with nights and a weekend, for a cluster like docs/examples/mycluster"},
	}
}

// Preset returns a configuration by name. Callers may change it, its seed first of all.
func Preset(name string) (Config, error) {
	var names []string
	for _, p := range Presets() {
		names = append(names, p.Name)
	}
	switch name {
	case "demo":
		return demo(), nil
	case "facebook":
		return facebook(), nil
	case "training":
		return training(), nil
	case "week":
		return Config{Name: "week", Made: week, Seed: 1}, nil
	}
	return Config{}, fmt.Errorf("unknown synthetic workload %q: want one of %s", name, strings.Join(names, ", "))
}

func lognormal(mean unit.Time, cv float64) workload.Lengths {
	return workload.Lengths{Kind: workload.LogNormal, A: mean, P: cv}
}

// demo is made for 40 nodes of 8 containers: its work is about nine tenths of what 320 containers do in six hours, so
// that every hour has some waiting and no scheduler can hide. People's small queries come in bursts all the time; each
// half hour the pipelines start together and fill the cluster at once; now and then someone trains a model in five long
// steps. In order of arrival the queries wait behind both others.
func demo() Config {
	const span = 6 * unit.Hour
	perSpan := func(jobs float64) float64 { return jobs / span.Seconds() }
	return Config{
		Name: "demo", Span: span, Seed: 1,
		Classes: []Class{
			{
				Name: "adhoc", Queue: "adhoc", Ask: cluster.Unit, Spread: 0.6,
				Users: []string{"ana", "ben", "chloe", "dev", "emil", "fatma", "goran", "hana", "ivo", "june"},
				Arrivals: &Arrivals{
					Kind: Bursts, Rate: perSpan(1330), Busy: 8 * unit.Minute, Quiet: 6 * unit.Minute, Calm: 0.25,
				},
				Stages: mapReduce(
					Count{Kind: BoundedPareto, Min: 6, Max: 600, Shape: 0.7}, lognormal(26*unit.Second, 0.7), 128*unit.MiB,
					Count{Kind: Share, Mid: 0.15, Min: 1, Max: 40}, lognormal(46*unit.Second, 0.6), 64*unit.MiB),
			},
			{
				Name: "etl", Queue: "etl", Ask: cluster.Unit, Spread: 0.3, Deadline: 8,
				Users:    []string{"ingest", "billing", "search"},
				Arrivals: &Arrivals{Kind: Batch, Rate: perSpan(84), Size: 7, Start: 5 * unit.Minute},
				Stages: mapReduce(
					Count{Kind: LogNormal, Mid: 500, Shape: 0.6, Min: 40, Max: 4000}, lognormal(38*unit.Second, 0.4), 128*unit.MiB,
					Count{Kind: Share, Mid: 0.12, Min: 8, Max: 200}, lognormal(80*unit.Second, 0.5), 256*unit.MiB),
			},
			{
				Name: "ml", Queue: "ml", Ask: cluster.Unit, Spread: 0.5,
				Users:    []string{"vision", "ranking"},
				Arrivals: &Arrivals{Kind: Poisson, Rate: perSpan(36)},
				Stages: chain(5, Count{Kind: LogNormal, Mid: 72, Shape: 0.4, Min: 16, Max: 240},
					workload.Lengths{Kind: workload.Pareto, A: 98 * unit.Second, P: 2.5}, 32*unit.MiB),
			},
		},
	}
}

// training is made for 16 nodes of 8 GPUs and 32 vcores. Runs on one GPU each use about six tenths of the GPUs, and no node is empty for long; models are
// trained by gangs, whose workers start together or not at all; data is prepared on processors alone.
func training() Config {
	const span = 12 * unit.Hour
	perSpan := func(jobs float64) *Arrivals { return &Arrivals{Kind: Poisson, Rate: jobs / span.Seconds()} }
	gpu := unit.Resources{Mem: 16 * 1024, Cores: 2, Extra: unit.Named("nvidia.com/gpu", 1)}
	driver := unit.Resources{Mem: 1024, Cores: 1}
	return Config{
		Name: "training", Span: span, Seed: 1,
		Classes: []Class{
			{
				Name: "tune", Queue: "research", Ask: gpu, AM: driver, Spread: 0.5, Users: []string{"ana", "ben", "chloe", "dev", "emil"}, Arrivals: perSpan(1000),
				Stages: []Stage{{Name: "trial", Kind: workload.Other, Tasks: Count{Kind: BoundedPareto, Min: 1, Max: 32, Shape: 0.8}, Length: lognormal(15*unit.Minute, 0.6)}},
			},
			{
				Name: "train", Queue: "models", Ask: gpu, AM: driver, Spread: 0.4, Users: []string{"ranking", "speech", "vision"}, Arrivals: perSpan(32),
				Stages: []Stage{{Name: "worker", Kind: workload.Other, Tasks: Count{Kind: BoundedPareto, Min: 8, Max: 64, Shape: 1}, Length: workload.Fixed(unit.Hour), Gang: true}},
			},
			{
				Name: "prepare", Queue: "data", Ask: unit.Resources{Mem: 4 * 1024, Cores: 1}, AM: driver, Spread: 0.3, Users: []string{"ingest"}, Arrivals: perSpan(300),
				Stages: []Stage{{Name: "shard", Kind: workload.Map, Tasks: Count{Kind: LogNormal, Mid: 40, Shape: 0.6, Min: 4, Max: 200}, Length: lognormal(2*unit.Minute, 0.5)}},
			},
		},
	}
}

// mapReduce is MapReduce with bytes: each map reads input, each reduce takes shuffle and writes as much.
func mapReduce(maps Count, mapLength workload.Lengths, input unit.Bytes, reduces Count, reduceLength workload.Lengths, shuffle unit.Bytes) []Stage {
	s := MapReduce(maps, mapLength, reduces, reduceLength, 0.05)
	s[0].Input, s[1].Shuffle, s[1].Output = input, shuffle, shuffle
	return s
}

// chain is n stages of as many tasks, each after all of the one before.
func chain(n int, tasks Count, length workload.Lengths, pass unit.Bytes) []Stage {
	stages := make([]Stage, n)
	for i := range stages {
		stages[i] = Stage{Name: fmt.Sprintf("step%d", i+1), Kind: workload.Other, Tasks: tasks, Length: length, SlowStart: 1, Shuffle: pass}
		if i > 0 {
			stages[i].Tasks = Count{Kind: Share, Mid: 1, Min: 1, Max: tasks.Max}
		}
	}
	stages[0].Shuffle, stages[0].Input = 0, 4*pass
	return stages
}

// facebook follows the published day of 2010 (SWIM's FB-2010 sample at 128 MiB a map): 24,442 jobs; 69 % shuffle under a
// mebibyte, most of them of one map and some large map-only scans; 13 % medium; 19 % heavy with a tail to 87,000 maps.
func facebook() Config {
	users := make([]string, 200)
	for i := range users {
		users[i] = fmt.Sprintf("u%03d", i+1)
	}
	short := lognormal(4*unit.Second, 0.5)
	task := lognormal(10*unit.Second, 0.4)
	class := func(name string, weight float64, stages []Stage) Class {
		return Class{Name: name, Weight: weight, Users: users, Ask: cluster.Unit, Stages: stages}
	}
	scan := Stage{
		Name: "map", Kind: workload.Map, Length: task, Input: 128 * unit.MiB,
		Tasks: Count{Kind: LogNormal, Mid: 40, Shape: 2.2, Min: 1, Max: 87_000},
	}
	return Config{
		Name: "facebook", Span: unit.Day, Seed: 1,
		Arrivals: Arrivals{Kind: Bursts, Rate: 24_442 / unit.Day.Seconds(), Busy: 20 * unit.Minute, Quiet: 20 * unit.Minute, Calm: 0.4},
		Classes: []Class{
			class("light", 0.55, mapReduce(N(1), short, 64*unit.KiB, Count{Kind: Between, Min: 0, Max: 1}, short, 64*unit.KiB)),
			class("scan", 0.137, []Stage{scan}),
			class("medium", 0.126, mapReduce(
				Count{Kind: LogNormal, Mid: 2, Shape: 2.3, Min: 1, Max: 16_000}, task, 128*unit.MiB, N(1), task, 20*unit.MiB)),
			class("heavy", 0.187, mapReduce(
				Count{Kind: LogNormal, Mid: 26, Shape: 2.9, Min: 1, Max: 87_000}, task, 128*unit.MiB,
				Count{Kind: Share, Mid: 0.05, Min: 1, Max: 1000}, lognormal(40*unit.Second, 0.5), 600*unit.MiB)),
		},
	}
}
