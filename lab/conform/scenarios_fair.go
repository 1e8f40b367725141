package conform

func fairScenarios() []maker { return []maker{fairWeights, fairMinShare} }

func fairWeights(small bool) Scenario {
	rk, m := racks(2, 10, 10240, 10), mix{
		jobs: 24, over: 60_000, maps: span{5, 30}, reduces: span{0, 4}, length: 9000, sigma: 0.5, mapMem: gb,
		queues: []string{"a", "b", "c"}, users: users(3),
	}
	if small {
		rk, m.jobs, m.over, m.length, m.maps = racks(2, 5, 8192, 8), 8, 10_000, 3500, span{4, 12}
	}
	return Scenario{
		Name: "fair-weights", About: "FairScheduler, weights 3, 2 and 1", Racks: rk,
		Jobs: generate("fair-weights", rk, m),
		Fair: []byte(`<?xml version="1.0"?>
<allocations>
  <queue name="a"><weight>3.0</weight></queue>
  <queue name="b"><weight>2.0</weight></queue>
  <queue name="c"><weight>1.0</weight></queue>
  <queueMaxAMShareDefault>0.5</queueMaxAMShareDefault>
</allocations>
`),
	}
}

func fairMinShare(bool) Scenario {
	rk := racks(2, 10, 10240, 10)
	return Scenario{
		Name: "fair-min-share", About: "FairScheduler, minimum shares, maxAMShare, two levels, several containers a heartbeat", Racks: rk,
		Site: site("yarn.scheduler.fair.assignmultiple", "true"),
		Jobs: generate("fair-min-share", rk, mix{
			jobs: 28, over: 60_000, maps: span{5, 30}, reduces: span{0, 4}, length: 9000, sigma: 0.5, mapMem: span{1024, 2048},
			queues: []string{"root.a.a1", "root.a.a2", "root.b", "root.c"}, users: users(3),
		}),
		Fair: []byte(`<?xml version="1.0"?>
<allocations>
  <queue name="a">
    <weight>2.0</weight>
    <queue name="a1"><minResources>20480 mb, 20 vcores</minResources></queue>
    <queue name="a2"><weight>2.0</weight><maxAMShare>0.3</maxAMShare></queue>
  </queue>
  <queue name="b"><minResources>30720 mb, 30 vcores</minResources><maxAMShare>0.2</maxAMShare></queue>
  <queue name="c"><maxResources>40960 mb, 40 vcores</maxResources><schedulingPolicy>fifo</schedulingPolicy></queue>
  <queueMaxAMShareDefault>0.4</queueMaxAMShareDefault>
</allocations>
`),
	}
}
