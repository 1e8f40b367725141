package study

import (
	"fmt"

	"github.com/yardmaster/yardmaster/lab/hadoop"
)

// mapreduceQueues are the settings before (b is false) and after the change: the larger shares go to another queue, fewer masters may
// run at once, and a user may no longer take twice his queue's share.
func mapreduceQueues(b bool) string {
	m := map[string]string{
		"root.queues": "prod,batch,adhoc", "maximum-am-resource-percent": "0.3",
		"root.prod.capacity": "50", "root.prod.maximum-capacity": "100", "root.prod.user-limit-factor": "2",
		"root.batch.capacity": "30", "root.batch.maximum-capacity": "70", "root.batch.user-limit-factor": "2",
		"root.adhoc.capacity": "20", "root.adhoc.maximum-capacity": "60", "root.adhoc.user-limit-factor": "3",
	}
	if b {
		for k, v := range map[string]string{
			"maximum-am-resource-percent": "0.2", "root.prod.capacity": "25", "root.prod.maximum-capacity": "50", "root.prod.user-limit-factor": "1.5",
			"root.batch.capacity": "55", "root.batch.maximum-capacity": "100", "root.batch.minimum-user-limit-percent": "50",
			"root.adhoc.maximum-capacity": "40", "root.adhoc.user-limit-factor": "1",
		} {
			m[k] = v
		}
	}
	return hadoop.Properties("yarn.scheduler.capacity.", m)
}

// The nodes of the study of MapReduce: nine containers in all, of which some are masters. A computer with two processors cannot
// start more at a time without all of them becoming slow.
const (
	mapreduceNodes = 3
	mapreduceMB    = 1536
	taskMB         = 512
)

// mapreduceJobs is the list of jobs: mostly sleep, whose tasks take as long as they are told and need the processor only to start,
// with some that count words and some that compute.
func mapreduceJobs(small bool) []hadoop.Job {
	type job struct {
		at            float64
		kind          string
		queue, user   string
		maps, reduces int
		mapS, reduceS float64
	}
	list := []job{
		{0, "sleep", "prod", "ann", 3, 1, 20, 8},
		{14, "sleep", "batch", "ben", 3, 0, 22, 0},
		{28, "sleep", "adhoc", "eva", 2, 1, 16, 6},
		{42, "wordcount", "prod", "cem", 2, 1, 0, 0},
		{56, "sleep", "batch", "dora", 2, 1, 24, 8},
		{70, "sleep", "prod", "ann", 4, 0, 18, 0},
		{84, "pi", "adhoc", "finn", 2, 1, 0, 0},
		{98, "sleep", "batch", "ben", 3, 1, 16, 8},
		{112, "sleep", "prod", "cem", 2, 1, 26, 6},
		{126, "sleep", "adhoc", "eva", 2, 0, 20, 0},
		{140, "wordcount", "batch", "dora", 2, 1, 0, 0},
		{154, "sleep", "prod", "ann", 2, 1, 14, 8},
	}
	if small {
		list = []job{{0, "sleep", "prod", "ann", 2, 1, 3, 2}, {2, "sleep", "batch", "ben", 2, 0, 4, 0}}
	}
	jobs := make([]hadoop.Job, len(list))
	for i, j := range list {
		jobs[i] = hadoop.Job{
			ID: fmt.Sprintf("%s-%02d", j.kind, i+1), Kind: j.kind, User: j.user, Queue: j.queue, Submit: hadoop.Millis(j.at * 1000), Maps: j.maps, Reduces: j.reduces,
			MapTime: hadoop.Millis(j.mapS * 1000), ReduceTime: hadoop.Millis(j.reduceS * 1000), Bytes: 1 << 18, Points: 200_000, MapMB: taskMB, ReduceMB: taskMB, MasterMB: taskMB,
		}
	}
	return jobs
}
