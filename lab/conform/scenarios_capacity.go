package conform

// maker makes a scenario, in full size or small.
type maker func(small bool) Scenario

func capacityScenarios() []maker {
	return []maker{
		oneQueue, twoQueues, threeLevels, weights, absolute, userLimits, userLimitHalf, userLimitFour, amLimit, priorities,
		fairLeaf, locality, localityDelay, reservation, preemption, dominant, largest,
	}
}

// smallScenarios are those that CI runs: one of each idea that costs the simulator most.
func smallScenarios() []maker {
	return []maker{userLimits, amLimit, locality, reservation, fairWeights}
}

var gb = span{1024, 1024}

func oneQueue(bool) Scenario {
	rk := racks(2, 10, 10240, 10)
	return Scenario{
		Name: "one-queue", About: "one queue, fifo, any node", Racks: rk,
		Jobs: generate("one-queue", rk, mix{
			jobs: 24, over: 60_000, maps: span{4, 30}, reduces: span{0, 4}, length: 9000, sigma: 0.5, mapMem: gb,
			queues: []string{"default"}, users: users(1),
		}),
		Capacity: capacityXML(map[string]string{
			"root.queues": "default", "root.default.capacity": "100", "maximum-am-resource-percent": "0.5",
		}),
	}
}

func twoQueues(bool) Scenario {
	rk := racks(2, 12, 10240, 10)
	return Scenario{
		Name: "two-queues", About: "two queues in percent with maximum capacities, monitor on", Racks: rk, Site: monitor(),
		Jobs: generate("two-queues", rk, mix{
			jobs: 30, over: 60_000, maps: span{5, 30}, reduces: span{0, 4}, length: 10_000, sigma: 0.5, mapMem: gb,
			queues: []string{"prod", "batch", "batch"}, users: users(3),
		}),
		Capacity: capacityXML(map[string]string{
			"root.queues": "prod,batch", "maximum-am-resource-percent": "0.5",
			"root.prod.capacity": "70", "root.prod.maximum-capacity": "90", "root.prod.user-limit-factor": "2",
			"root.batch.capacity": "30", "root.batch.maximum-capacity": "60", "root.batch.user-limit-factor": "2",
		}),
	}
}

func threeLevels(bool) Scenario {
	rk := racks(2, 14, 10240, 10)
	return Scenario{
		Name: "three-levels", About: "three levels of queues, priority-utilization in one parent", Racks: rk,
		Jobs: generate("three-levels", rk, mix{
			jobs: 36, over: 70_000, maps: span{5, 30}, reduces: span{0, 4}, length: 10_000, sigma: 0.5, mapMem: span{1024, 2048},
			queues: []string{"etl", "adhoc", "ads", "search", "misc"}, users: users(4),
		}),
		Capacity: capacityXML(map[string]string{
			"root.queues": "eng,biz,misc", "maximum-am-resource-percent": "0.4",
			"root.eng.capacity": "50", "root.eng.queues": "data,search", "root.eng.ordering-policy": "priority-utilization",
			"root.eng.data.capacity": "60", "root.eng.data.queues": "etl,adhoc", "root.eng.data.priority": "1",
			"root.eng.data.etl.capacity": "70", "root.eng.data.etl.user-limit-factor": "3", "root.eng.data.etl.priority": "2",
			"root.eng.data.adhoc.capacity": "30", "root.eng.data.adhoc.user-limit-factor": "4",
			"root.eng.search.capacity": "40", "root.eng.search.user-limit-factor": "2", "root.eng.search.maximum-capacity": "80",
			"root.biz.capacity": "30", "root.biz.queues": "ads", "root.biz.ads.capacity": "100", "root.biz.ads.user-limit-factor": "2",
			"root.misc.capacity": "20", "root.misc.maximum-capacity": "50", "root.misc.user-limit-factor": "3",
		}),
	}
}

func weights(bool) Scenario {
	rk := racks(2, 12, 10240, 10)
	return Scenario{
		Name: "weights", About: "weights at two levels, user-limit-factor -1", Racks: rk,
		Jobs: generate("weights", rk, mix{
			jobs: 30, over: 60_000, maps: span{5, 30}, reduces: span{0, 4}, length: 10_000, sigma: 0.5, mapMem: gb,
			queues: []string{"a1", "a2", "b", "c"}, users: users(3),
		}),
		Capacity: capacityXML(map[string]string{
			"root.queues": "a,b,c", "maximum-am-resource-percent": "0.5", "root.a.queues": "a1,a2",
			"root.a.capacity": "3w", "root.b.capacity": "1w", "root.c.capacity": "2w",
			"root.a.a1.capacity": "2w", "root.a.a2.capacity": "1w",
			"root.a.a1.user-limit-factor": "-1", "root.a.a2.user-limit-factor": "-1",
			"root.b.user-limit-factor": "-1", "root.c.user-limit-factor": "2",
		}),
	}
}

func absolute(bool) Scenario {
	rk := racks(2, 12, 10240, 10)
	return Scenario{
		Name: "absolute", About: "capacities as absolute resources", Racks: rk,
		Jobs: generate("absolute", rk, mix{
			jobs: 30, over: 60_000, maps: span{5, 30}, reduces: span{0, 4}, length: 10_000, sigma: 0.5, mapMem: gb,
			queues: []string{"x", "y", "z"}, users: users(3),
		}),
		Capacity: capacityXML(map[string]string{
			"root.queues": "x,y,z", "maximum-am-resource-percent": "0.5",
			"root.x.capacity": "[memory=61440,vcores=60]", "root.x.maximum-capacity": "[memory=92160,vcores=90]", "root.x.user-limit-factor": "2",
			"root.y.capacity": "[memory=40960,vcores=40]", "root.y.maximum-capacity": "[memory=122880,vcores=120]", "root.y.user-limit-factor": "2",
			"root.z.capacity": "[memory=20480,vcores=20]", "root.z.maximum-capacity": "[memory=61440,vcores=60]", "root.z.user-limit-factor": "3",
		}),
	}
}

func userLimits(small bool) Scenario {
	rk, m := racks(2, 12, 10240, 10), mix{
		jobs: 30, over: 60_000, maps: span{8, 40}, reduces: span{0, 4}, length: 10_000, sigma: 0.5, mapMem: gb,
		queues: []string{"a", "a", "b"}, users: users(5),
	}
	if small {
		rk, m.jobs, m.over, m.length, m.maps = racks(2, 5, 8192, 8), 8, 10_000, 3500, span{5, 14}
		m.users = users(3)
	}
	return Scenario{
		Name: "user-limits", About: "minimum-user-limit-percent 25, five users", Racks: rk,
		Jobs: generate("user-limits", rk, m),
		Capacity: capacityXML(map[string]string{
			"root.queues": "a,b", "maximum-am-resource-percent": "0.5",
			"root.a.capacity": "60", "root.a.minimum-user-limit-percent": "25", "root.a.user-limit-factor": "1",
			"root.b.capacity": "40", "root.b.minimum-user-limit-percent": "25", "root.b.user-limit-factor": "1",
		}),
	}
}

func userLimitHalf(bool) Scenario {
	rk := racks(2, 12, 10240, 10)
	return Scenario{
		Name: "user-limit-half", About: "user-limit-factor 0.5, minimum-user-limit-percent 50", Racks: rk,
		Jobs: generate("user-limit-half", rk, mix{
			jobs: 24, over: 60_000, maps: span{8, 30}, reduces: span{0, 3}, length: 8000, sigma: 0.5, mapMem: gb,
			queues: []string{"a", "b"}, users: users(3),
		}),
		Capacity: capacityXML(map[string]string{
			"root.queues": "a,b", "maximum-am-resource-percent": "0.5", "minimum-user-limit-percent": "50",
			"root.a.capacity": "50", "root.a.user-limit-factor": "0.5", "root.b.capacity": "50", "root.b.user-limit-factor": "0.5",
		}),
	}
}

func userLimitFour(bool) Scenario {
	rk := racks(2, 12, 10240, 10)
	return Scenario{
		Name: "user-limit-four", About: "user-limit-factor 4 in three small queues, overloaded, monitor on", Racks: rk, Site: monitor(),
		Jobs: generate("user-limit-four", rk, mix{
			jobs: 36, over: 60_000, maps: span{8, 40}, reduces: span{0, 4}, length: 9000, sigma: 0.5, mapMem: gb,
			queues: []string{"a", "b", "c"}, users: users(4),
		}),
		Capacity: capacityXML(map[string]string{
			"root.queues": "a,b,c", "maximum-am-resource-percent": "0.5",
			"root.a.capacity": "25", "root.a.user-limit-factor": "4", "root.b.capacity": "25", "root.b.user-limit-factor": "4",
			"root.c.capacity": "50", "root.c.user-limit-factor": "4",
		}),
	}
}

func amLimit(small bool) Scenario {
	rk, m := racks(2, 10, 10240, 10), mix{
		jobs: 36, over: 40_000, maps: span{1, 8}, reduces: span{0, 2}, length: 7000, sigma: 0.4, mapMem: gb,
		queues: []string{"a", "b"}, users: users(4), amMem: span{1024, 2048},
	}
	if small {
		rk, m.jobs, m.over, m.length = racks(2, 5, 10240, 10), 12, 10_000, 3000
		m.users = users(3)
	}
	return Scenario{
		Name: "am-limit", About: "maximum-am-resource-percent 0.1 binds, masters of 1 and 2 GB, per-user limit too", Racks: rk,
		Jobs: generate("am-limit", rk, m),
		Capacity: capacityXML(map[string]string{
			"root.queues": "a,b", "maximum-am-resource-percent": "0.1", "root.a.capacity": "60", "root.b.capacity": "40",
			"root.a.minimum-user-limit-percent": "25", "root.b.user-limit-factor": "2",
		}),
	}
}

func priorities(bool) Scenario {
	rk := racks(2, 10, 10240, 10)
	return Scenario{
		Name: "priorities", About: "application priorities 0 to 9", Racks: rk, Site: site("yarn.cluster.max-application-priority", "10"),
		Jobs: generate("priorities", rk, mix{
			jobs: 30, over: 50_000, maps: span{5, 30}, reduces: span{0, 4}, length: 9000, sigma: 0.5, mapMem: gb,
			queues: []string{"a", "b"}, users: users(2), prio: span{0, 9},
		}),
		Capacity: capacityXML(map[string]string{
			"root.queues": "a,b", "maximum-am-resource-percent": "0.3", "root.a.capacity": "60", "root.b.capacity": "40",
			"root.a.user-limit-factor": "2", "root.b.user-limit-factor": "2",
		}),
	}
}

func fairLeaf(bool) Scenario {
	rk := racks(2, 10, 10240, 10)
	return Scenario{
		Name: "fair-leaf", About: "ordering-policy fair in the leaves", Racks: rk,
		Jobs: generate("fair-leaf", rk, mix{
			jobs: 24, over: 60_000, maps: span{5, 40}, reduces: span{0, 4}, length: 9000, sigma: 0.5, mapMem: span{1024, 2048},
			queues: []string{"a", "a", "b"}, users: users(3),
		}),
		Capacity: capacityXML(map[string]string{
			"root.queues": "a,b", "maximum-am-resource-percent": "0.5", "root.a.capacity": "60", "root.b.capacity": "40",
			"root.a.ordering-policy": "fair", "root.b.ordering-policy": "fair",
			"root.a.ordering-policy.fair.enable-size-based-weight": "true",
			"root.a.user-limit-factor":                             "2", "root.b.user-limit-factor": "2",
		}),
	}
}
