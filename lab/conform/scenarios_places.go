package conform

import "fmt"

func locality(small bool) Scenario {
	rk, m := racks(3, 15, 10240, 10), mix{
		jobs: 30, over: 60_000, maps: span{5, 40}, reduces: span{0, 4}, length: 10_000, sigma: 0.5, mapMem: gb,
		queues: []string{"a", "b"}, users: users(2), hosted: 0.7,
	}
	if small {
		rk, m.jobs, m.over, m.length, m.maps = racks(2, 6, 8192, 8), 8, 10_000, 3500, span{4, 16}
	}
	return Scenario{
		Name: "locality", About: "most jobs name hosts in three racks, default delays", Racks: rk,
		Jobs: generate("locality", rk, m),
		Capacity: capacityXML(map[string]string{
			"root.queues": "a,b", "maximum-am-resource-percent": "0.5", "root.a.capacity": "60", "root.b.capacity": "40",
			"root.a.user-limit-factor": "2", "root.b.user-limit-factor": "2",
		}),
	}
}

func localityDelay(bool) Scenario {
	rk := racks(3, 15, 10240, 10)
	return Scenario{
		Name: "locality-delay", About: "node-locality-delay 5, rack-locality-additional-delay 6, jobs with few hosts", Racks: rk,
		Jobs: generate("locality-delay", rk, mix{
			jobs: 30, over: 60_000, maps: span{5, 40}, reduces: span{0, 4}, length: 10_000, sigma: 0.5, mapMem: gb,
			queues: []string{"a", "b"}, users: users(2), hosted: 0.8, hosts: 3,
		}),
		Capacity: capacityXML(map[string]string{
			"root.queues": "a,b", "maximum-am-resource-percent": "0.5", "root.a.capacity": "60", "root.b.capacity": "40",
			"root.a.user-limit-factor": "2", "root.b.user-limit-factor": "2",
			"node-locality-delay": "5", "rack-locality-additional-delay": "6",
		}),
	}
}

func reservation(small bool) Scenario {
	rk := racks(2, 10, 10240, 10)
	little := mix{
		jobs: 20, over: 60_000, maps: span{10, 40}, reduces: span{0, 3}, length: 9000, sigma: 0.5, mapMem: gb,
		queues: []string{"a", "b"}, users: users(2),
	}
	large := mix{
		jobs: 8, over: 50_000, after: 5000, maps: span{2, 8}, reduces: span{0, 1}, length: 12_000, sigma: 0.4, mapMem: span{4096, 7168},
		queues: []string{"a", "b"}, users: users(2),
	}
	if small {
		rk = racks(2, 5, 10240, 10)
		little.jobs, little.over, little.length, little.maps = 6, 10_000, 4000, span{8, 20}
		large.jobs, large.over, large.after, large.length, large.maps = 2, 5000, 3000, 4000, span{2, 4}
	}
	return Scenario{
		Name: "reservation", About: "containers of 4 to 7 GB among small ones on nodes of 10 GB", Racks: rk,
		Jobs: generate("reservation", rk, little, large),
		Capacity: capacityXML(map[string]string{
			"root.queues": "a,b", "maximum-am-resource-percent": "0.5", "root.a.capacity": "50", "root.b.capacity": "50",
			"root.a.user-limit-factor": "2", "root.b.user-limit-factor": "2",
		}),
	}
}

func preemption(bool) Scenario {
	rk := racks(2, 10, 10240, 10)
	long := mix{
		jobs: 2, over: 2000, maps: span{60, 70}, length: 80_000, sigma: 0.05, mapMem: gb, queues: []string{"a"}, users: users(1),
	}
	late := mix{
		jobs: 6, over: 20_000, after: 15_000, maps: span{15, 25}, reduces: span{0, 2}, length: 12_000, sigma: 0.3, mapMem: gb,
		queues: []string{"b"}, users: users(1),
	}
	return Scenario{
		Name: "preemption", About: "two equal queues, one takes all with long tasks, the other comes later", Racks: rk,
		Site: monitor("yarn.resourcemanager.monitor.capacity.preemption.total_preemption_per_round", "0.3",
			"yarn.resourcemanager.monitor.capacity.preemption.natural_termination_factor", "0.5"),
		Jobs: generate("preemption", rk, long, late),
		Capacity: capacityXML(map[string]string{
			"root.queues": "a,b", "maximum-am-resource-percent": "0.5", "root.a.capacity": "50", "root.b.capacity": "50",
			"root.a.user-limit-factor": "2", "root.b.user-limit-factor": "2",
		}),
	}
}

func dominant(bool) Scenario {
	rk := racks(2, 12, 16384, 12)
	m := func(jobs int, mem, cores span) mix {
		return mix{
			jobs: jobs, over: 60_000, maps: span{5, 25}, reduces: span{0, 3}, length: 10_000, sigma: 0.5, mapMem: mem, cores: cores,
			queues: []string{"a", "b"}, users: users(3),
		}
	}
	return Scenario{
		Name: "dominant", About: "DominantResourceCalculator, jobs that need memory and jobs that need cores", Racks: rk,
		Jobs: generate("dominant", rk, m(14, span{1024, 1536}, span{1, 4}), m(14, span{2048, 4096}, span{1, 1})),
		Capacity: capacityXML(map[string]string{
			"root.queues": "a,b", "maximum-am-resource-percent": "0.5", "root.a.capacity": "55", "root.b.capacity": "45",
			"root.a.user-limit-factor": "2", "root.b.user-limit-factor": "2",
			"resource-calculator": "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
		}),
	}
}

func largest(bool) Scenario {
	rk := racks(4, 40, 10240, 10)
	conf := map[string]string{
		"root.queues": "prod,research,adhoc", "maximum-am-resource-percent": "0.3", "root.prod.queues": "etl,reports",
		"root.prod.capacity": "50", "root.prod.etl.capacity": "60", "root.prod.reports.capacity": "40",
		"root.research.capacity": "30", "root.adhoc.capacity": "20", "root.adhoc.maximum-capacity": "60",
	}
	for _, q := range []string{"prod.etl", "prod.reports", "research", "adhoc"} {
		conf[fmt.Sprintf("root.%s.user-limit-factor", q)] = "3"
		conf[fmt.Sprintf("root.%s.minimum-user-limit-percent", q)] = "25"
	}
	conf["root.adhoc.ordering-policy"] = "fair"
	return Scenario{
		Name: "largest", About: "the largest: 40 nodes, four leaves at two levels, eight users, half name hosts, monitor on", Racks: rk,
		Site: monitor(),
		Jobs: generate("largest", rk, mix{
			jobs: 110, over: 90_000, maps: span{5, 50}, reduces: span{0, 6}, length: 8000, sigma: 0.6, mapMem: span{1024, 2048},
			queues: []string{"etl", "etl", "reports", "research", "adhoc"}, users: users(8), hosted: 0.5,
		}),
		Capacity: capacityXML(conf),
	}
}
