package study

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/yardmaster/yardmaster/lab/hadoop"
	"github.com/yardmaster/yardmaster/policy/rm"
	capacityrm "github.com/yardmaster/yardmaster/policy/rm/capacity"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// mastersQueues is the scheduler's configuration in the study of masters: shares, limits of users and of masters all bind.
func mastersQueues() string {
	return hadoop.Properties("yarn.scheduler.capacity.", map[string]string{
		"root.queues": "prod,batch,adhoc", "maximum-am-resource-percent": "0.06",
		"per-node-heartbeat.maximum-offswitch-assignments": "5",
		"root.prod.capacity": "50", "root.prod.maximum-capacity": "80",
		"root.prod.minimum-user-limit-percent": "34", "root.prod.user-limit-factor": "1.2",
		"root.batch.capacity": "30", "root.batch.maximum-capacity": "60",
		"root.batch.minimum-user-limit-percent": "50", "root.batch.user-limit-factor": "1.5",
		"root.adhoc.capacity": "20", "root.adhoc.maximum-capacity": "40",
		"root.adhoc.minimum-user-limit-percent": "25", "root.adhoc.user-limit-factor": "1",
	})
}

// site is what a yarn-site.xml says to the scheduler, for a lab whose nodes have so much memory.
func site(nodeMB, minMB int) map[string]string {
	return map[string]string{
		"yarn.scheduler.minimum-allocation-mb":                    fmt.Sprint(minMB),
		"yarn.scheduler.maximum-allocation-mb":                    fmt.Sprint(nodeMB),
		"yarn.scheduler.maximum-allocation-vcores":                "1024",
		"yarn.cluster.max-application-priority":                   "10",
		"yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": "1000",
	}
}

// scheduler reads the XML that the ResourceManager got.
func scheduler(queues, siteXML string) (func() (rm.Scheduler, error), error) {
	s, err := conf.ReadSite(strings.NewReader(siteXML), "yarn-site.xml")
	if err != nil {
		return nil, err
	}
	c, err := conf.ReadCapacity(strings.NewReader(queues), "capacity-scheduler.xml")
	if err != nil {
		return nil, err
	}
	return func() (rm.Scheduler, error) { return capacityrm.New(c, s) }, nil
}

// sameSite makes sure that what the simulator reads is what the daemons have.
func sameSite(c *hadoop.Cluster, siteXML string) error {
	b, err := os.ReadFile(filepath.Join(c.Conf(), "yarn-site.xml"))
	if err != nil {
		return err
	}
	theirs, err := conf.ReadSite(bytes.NewReader(b), "the lab's yarn-site.xml")
	if err != nil {
		return err
	}
	ours, err := conf.ReadSite(strings.NewReader(siteXML), "the study's yarn-site.xml")
	if err != nil {
		return err
	}
	if theirs != ours {
		return fmt.Errorf("the lab's yarn-site.xml says %+v to the scheduler, the study's %+v", theirs, ours)
	}
	return nil
}
