package rest

import (
	"math"
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

// A number that is none is kept where acting on a 0 in its place would be wrong.
func TestNoNumberIsKept(t *testing.T) {
	var a App
	if err := decodeWhole([]byte(`{"progress":"NaN","priority":"3"}`), &a); err != nil || !math.IsNaN(a.Progress) || a.Priority != 3 {
		t.Error(a.Progress, err)
	}
	for text, want := range map[string]bool{`{"progress":"Infinity"}`: true, `{"progress":1e999}`: true, `{"progress":12.5}`: false, `{"progress":null}`: false, `{}`: false} {
		a = App{}
		if err := decodeWhole([]byte(text), &a); err != nil || math.IsNaN(a.Progress) != want {
			t.Error(text, a.Progress, err)
		}
	}
	var n Node
	if err := decodeWhole([]byte(`{"resourceUtilization":{"nodeCPUUsage":1.5,"nodePhysicalMemoryMB":3518}}`), &n); err != nil || n.Utilization != (Utilization{3518, 1.5}) {
		t.Error(n.Utilization, err)
	}
	s, err := readScheduler([]byte(`{"scheduler":{"schedulerInfo":{"type":"capacityScheduler","queueName":"root","queues":{"queue":[
		{"queueName":"a","absoluteCapacity":"NaN","numActiveApplications":0,"capacities":{"queueCapacitiesByPartition":[{"partitionName":"","maxAMLimitPercentage":3.3300002}]}},{"queueName":"b"}]}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if a, b := s.Root.Children[0], s.Root.Children[1]; a.AbsoluteCapacity != 0 || !a.Counted || b.Counted || a.Capacities.Partitions[0].MaxAMPercent != 3.3300002 {
		t.Errorf("%+v", a)
	}
}
