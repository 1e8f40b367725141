package hadoop_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
)

// queues lets a node get several containers per heartbeat: with the default of one, three nodes at one heartbeat per second
// take eleven minutes for two thousand.
const queues = `<configuration>
  <property><name>yarn.scheduler.capacity.root.queues</name><value>prod,batch,adhoc</value></property>
  <property><name>yarn.scheduler.capacity.maximum-am-resource-percent</name><value>0.5</value></property>
  <property><name>yarn.scheduler.capacity.per-node-heartbeat.maximum-offswitch-assignments</name><value>20</value></property>
  <property><name>yarn.scheduler.capacity.root.prod.capacity</name><value>50</value></property>
  <property><name>yarn.scheduler.capacity.root.batch.capacity</name><value>30</value></property>
  <property><name>yarn.scheduler.capacity.root.adhoc.capacity</name><value>20</value></property>
  <property><name>yarn.scheduler.capacity.root.batch.maximum-capacity</name><value>60</value></property>
  <property><name>yarn.scheduler.capacity.root.prod.user-limit-factor</name><value>2</value></property>
  <property><name>yarn.scheduler.capacity.root.batch.user-limit-factor</name><value>2</value></property>
  <property><name>yarn.scheduler.capacity.root.adhoc.user-limit-factor</name><value>2</value></property>
</configuration>
`

// TestLabTwoHundred is the size of a conformance run: 200 applications of five users with 2,000 containers in all.
func TestLabTwoHundred(t *testing.T) {
	needLab(t)
	c := up(t, hadoop.Options{SchedulerXML: queues, NodeMB: 1 << 16, NodeVcores: 1024, Heartbeat: 500 * time.Millisecond, Debug: debug()})
	random := rand.New(rand.NewPCG(1, 2))
	names, users := []string{"prod", "batch", "adhoc"}, []string{"alice", "bob", "carol", "dave", "eve"}
	apps := make([]hadoop.Application, 200)
	for i := range apps {
		a := hadoop.Application{ID: fmt.Sprintf("app-%03d", i), User: users[random.IntN(len(users))], Queue: names[random.IntN(len(names))],
			Submit: hadoop.Millis(random.IntN(20_000))}
		first := 1 + random.IntN(9) // the rest of ten has another size and priority
		for p, n := range []int{first, 10 - first} {
			g := hadoop.Group{Count: n, MB: 512 << random.IntN(3), Priority: p + 1}
			for range n {
				g.Hold = append(g.Hold, hadoop.Millis(1000+random.IntN(5000)))
			}
			a.Containers = append(a.Containers, g)
		}
		apps[i] = a
	}
	before := usage(t, c)
	res := runAMs(t, c, apps, hadoop.AMsOptions{})
	for name, cpu := range usage(t, c) {
		t.Logf("%-16s %.1f s of processor time", name, (cpu - before[name]).Seconds())
	}
	var slow, calls int
	for _, a := range res.Apps {
		for _, took := range a.Took {
			calls++
			if took > 100 {
				slow++
			}
		}
	}
	t.Logf("%d calls, %d of them took more than 100 ms", calls, slow)
}

func usage(t *testing.T, c *hadoop.Cluster) map[string]time.Duration {
	t.Helper()
	list, err := hadoop.Usages(c.Dir)
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]time.Duration{}
	for _, u := range list {
		name, _, _ := strings.Cut(u.Name, "-")
		m[name] += u.CPU
	}
	return m
}
