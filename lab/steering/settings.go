package steering

import (
	"strconv"
	"time"

	"github.com/yardmaster/yardmaster/lab/hadoop"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/steer/marp"
)

// Size is the cluster and the batch.
//
// Masters and tasks are of one size, and the queue is the whole cluster: it holds twelve of them. All six jobs at once leave half of it to
// their tasks, three for each of two processors; one job alone leaves eleven.
type Size struct {
	Nodes, NodeMB, NodeVcores int
	ContainerMB               int // of masters and tasks
	LeastMB                   int // minimum allocation, and the Fair Scheduler's steps of it, which are 1024 by default
	Jobs, Maps, Reduces       int
	Bytes                     int64 // of each map's input
	Archive                   bool  // processes start from an archive of classes, and a first batch warms the daemons up
	// Scale is by how much shorter the controllers' waits are than in the source, whose jobs took about 130 s each when alone.
	Scale float64
	// FileWait is the least wait after an increase with the Fair Scheduler, whose file takes up to 15 s.
	FileWait time.Duration
}

// Sizes of the study and of the miniature that tests run.
var (
	Full = Size{Archive: true, Nodes: 3, NodeMB: 2048, NodeVcores: 4, ContainerMB: 512, LeastMB: 128, Jobs: 6, Maps: 2, Reduces: 1, Bytes: 1 << 20, Scale: 1.0 / 4, FileWait: 15 * time.Second}
	Mini = Size{Nodes: 2, NodeMB: 3072, NodeVcores: 6, ContainerMB: 512, LeastMB: 128, Jobs: 4, Maps: 1, Reduces: 1, Bytes: 1 << 14, Scale: 1.0 / 4, FileWait: 15 * time.Second}
)

const queue = "root.default"

// QueueMB is what the queue may use.
func (s Size) QueueMB() int { return s.Nodes * s.NodeMB }

// master is one master's share of the queue.
func (s Size) master() float64 { return float64(s.ContainerMB) / float64(s.QueueMB()) }

// Arm is one way to run a batch.
type Arm struct {
	Name   string
	Share  float64 // that stands when the jobs come
	Policy string  // the controller; "": the share stands still
	What   string
}

// arms of a scheduler, the sweep's among them.
func (s Size) arms(sweep bool) []Arm {
	one, all := marp.Derive(s.master()).Start, marp.PRJ(s.master(), s.Jobs)
	list := []Arm{
		{"fifo", one, "", "one job at a time"},
		{"prj", all, "", "all jobs at once"},
	}
	if sweep {
		list = append(list, Arm{"prj-2", marp.SlotShare(s.master(), 2), "", "two jobs at a time"})
		list = append(list, Arm{"0.9", 0.9, "", "more than all jobs need"})
	}
	for _, name := range []string{"cbt", "cbtws", "cbtwat", "ahead", "kalman-mem"} {
		list = append(list, Arm{name, one, name, "controller"})
	}
	return list
}

// waits are the controller's settings that differ from its defaults, as the command takes them.
func (s Size) waits(policy, scheduler string) map[string]time.Duration {
	d := marp.Defaults(policy, queue)
	if scheduler == "capacity" {
		d = d.On(steer.CapacityAM)
	}
	scaled := func(us int64) time.Duration {
		return (time.Duration(float64(us)*s.Scale) * time.Microsecond).Round(100 * time.Millisecond)
	}
	m := map[string]time.Duration{}
	for name, v := range map[string]int64{
		"settle": int64(d.Settle), "warm": int64(d.Warm), "lockout": int64(d.Lockout), "nothing-waits": int64(d.NothingWaits), "after-increase": int64(d.AfterIncrease),
	} {
		if samples := name == "lockout" || name == "nothing-waits"; v > 0 && (!samples || policy == "cbtws" || policy == "cbtwat") {
			m[name] = scaled(v)
		}
	}
	if v, ok := m["after-increase"]; ok && scheduler == "fair" {
		m["after-increase"] = max(v, s.FileWait)
	}
	return m
}

// options bring the cluster up.
func (s Size) options(scheduler string, share float64) hadoop.Options {
	xml := fairFile(share)
	if scheduler == "capacity" {
		xml = capacityFile(share)
	}
	mb := strconv.Itoa(s.ContainerMB)
	return hadoop.Options{
		Scheduler: scheduler, SchedulerXML: xml, Nodes: s.Nodes, NodeMB: s.NodeMB, NodeVcores: s.NodeVcores, HDFS: true, History: true,
		Site: map[string]string{"yarn.scheduler.minimum-allocation-mb": strconv.Itoa(s.LeastMB), "yarn.scheduler.increment-allocation-mb": strconv.Itoa(s.LeastMB), "yarn.resourcemanager.rm.container-allocation.expiry-interval-ms": "600000"},
		Mapred: map[string]string{
			"yarn.app.mapreduce.am.resource.mb": mb, "mapreduce.map.memory.mb": mb, "mapreduce.reduce.memory.mb": mb,
		},
	}
}

// text is a share as the scheduler's files have it.
func text(share float64) string { return strconv.FormatFloat(share, 'f', -1, 64) }

func fairFile(share float64) string {
	return `<?xml version="1.0"?>
<allocations>
  <queue name="default"><maxAMShare>` + text(share) + `</maxAMShare></queue>
  <queuePlacementPolicy><rule name="specified"/><rule name="default" queue="default"/></queuePlacementPolicy>
</allocations>
`
}

func capacityFile(share float64) string {
	s := `<?xml version="1.0"?>` + "\n<configuration>\n"
	for _, p := range [][2]string{
		{"root.queues", "default"}, {"root.default.capacity", "100"}, {"root.default.maximum-am-resource-percent", text(share)},
		{"root.acl_administer_queue", "*"}, {"node-locality-delay", "-1"},
	} {
		s += "  <property><name>yarn.scheduler.capacity." + p[0] + "</name><value>" + p[1] + "</value></property>\n"
	}
	return s + "</configuration>\n"
}
