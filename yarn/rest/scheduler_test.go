package rest

import (
	"strings"
	"testing"
)

func paths(q *Queue) string {
	s := q.Path
	for _, c := range q.Children {
		s += " " + paths(c)
	}
	return s
}

func TestScheduler(t *testing.T) {
	for name, c := range map[string]struct{ text, kind, paths string }{
		"capacity": {`{"scheduler":{"schedulerInfo":{"type":"capacityScheduler","queueName":"root","queuePath":"root","capacity":100.0,"queues":{"queue":[
			{"type":"capacitySchedulerLeafQueueInfo","queuePath":"root.prod","queueName":"prod","capacity":40.0,"userLimitFactor":3.0,"AMResourceLimit":{"memory":12288,"vCores":1}},
			{"queuePath":"root.batch","queueName":"batch","queues":{"queue":[{"queueName":"night","queuePath":"root.batch.night"}]}}]}}}}`, "capacityScheduler", "root root.prod root.batch root.batch.night"},
		"capacity of Hadoop 2, one child": {`{"scheduler":{"schedulerInfo":{"type":"capacityScheduler","queueName":"root","queues":{"queue":{"queueName":"a","capacity":"100","queues":null}}}}}`, "capacityScheduler", "root root.a"},
		"fair": {`{"scheduler":{"schedulerInfo":{"type":"fairScheduler","rootQueue":{"queueName":"root","schedulingPolicy":"fair","childQueues":{"queue":[
			{"type":"fairSchedulerLeafQueueInfo","queueName":"root.a","numActiveApps":2,"steadyFairResources":{"memory":1820,"vCores":0}},{"queueName":"root.b","childQueues":{"queue":[{"queueName":"root.b.c"}]}}]}}}}}`, "fairScheduler", "root root.a root.b root.b.c"},
		"fair, bare list": {`{"scheduler":{"schedulerInfo":{"type":"fairScheduler","rootQueue":{"queueName":"root","childQueues":[{"queueName":"root.a"}]}}}}`, "fairScheduler", "root root.a"},
		"fifo":            {`{"scheduler":{"schedulerInfo":{"type":"fifoScheduler","capacity":1.0,"qstate":"RUNNING"}}}`, "fifoScheduler", ""},
	} {
		s, err := readScheduler([]byte(c.text))
		if err != nil {
			t.Error(name, err)
			continue
		}
		got := ""
		if s.Root != nil {
			got = paths(s.Root)
		}
		if s.Type != c.kind || got != c.paths {
			t.Errorf("%s: %s %q", name, s.Type, got)
		}
		if name == "capacity" {
			if q := s.Root.Children[0]; q.Capacity != 40 || q.UserLimitFactor != 3 || q.AMLimit.Memory != 12288 || !q.Leaf() {
				t.Errorf("%+v", q)
			}
		}
	}
	for _, text := range []string{`{"scheduler":null}`, `{"scheduler":{"schedulerInfo":[]}}`, `{"scheduler":{"schedulerInfo":{"rootQueue":3}}}`,
		`{"scheduler":{"schedulerInfo":{"queueName":"root","queues":{"queue":[7]}}}}`,
		`{"scheduler":{"schedulerInfo":` + strings.Repeat(`{"queueName":"a","queues":[`, 200) + strings.Repeat("]}", 200) + "}}"} {
		if _, err := readScheduler([]byte(text)); err == nil {
			t.Errorf("%.60s: no error", text)
		}
	}
}
