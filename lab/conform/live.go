package conform

import (
	"time"

	"github.com/yardmaster/yardmaster/lab/hadoop/sls"
)

// Live is a large cluster with a load of ordinary jobs, to be driven over REST.
func Live(nodes, jobs int, over time.Duration, fair bool) sls.Options {
	rk := racks((nodes+24)/25, nodes, 10240, 10)
	o := sls.Options{Name: "live", Racks: rk}
	if jobs > 0 {
		o.Jobs = generate("live", rk, mix{
			jobs: jobs, over: over.Milliseconds(), maps: span{5, 80}, reduces: span{0, 8}, length: 20_000, sigma: 0.8, mapMem: span{1024, 2048},
			queues: []string{"prod", "prod", "batch", "adhoc"}, users: users(8), hosted: 0.5,
		})
	}
	if fair {
		o.Fair = []byte(`<?xml version="1.0"?>
<allocations>
  <queue name="prod"><weight>3.0</weight></queue>
  <queue name="batch"><weight>2.0</weight></queue>
  <queue name="adhoc"><weight>1.0</weight></queue>
</allocations>
`)
		return o
	}
	conf := map[string]string{
		"root.queues": "prod,batch,adhoc", "maximum-am-resource-percent": "0.3",
		"root.prod.capacity": "50", "root.batch.capacity": "30", "root.adhoc.capacity": "20",
	}
	for _, q := range []string{"prod", "batch", "adhoc"} {
		conf["root."+q+".user-limit-factor"] = "4"
	}
	o.Capacity = capacityXML(conf)
	return o
}
