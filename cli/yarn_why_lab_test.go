//go:build unix

package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// whyLab asks why applications of a real cluster wait. All of them are AMs that sleep.
type whyLab struct {
	*testing.T
	lab *hadoop.Cluster
	c   *rest.Client
	ids map[string]string // by name

	file string // the scheduler's, where the ResourceManager does not show it
}

func newWhyLab(t *testing.T, o hadoop.Options) *whyLab {
	o.Site = map[string]string{
		"yarn.scheduler.minimum-allocation-mb": "1024", "yarn.scheduler.maximum-allocation-mb": fmt.Sprint(o.NodeMB), "yarn.cluster.max-application-priority": "10",
	}
	lab, c := labUp(t, o)
	return &whyLab{T: t, lab: lab, c: c, ids: map[string]string{}}
}

func (w *whyLab) ask(method, path, user string, body, answer any) {
	w.Helper()
	if err := hadoop.Ask(w.Context(), http.DefaultClient, method, w.lab.RM()+"/ws/v1/cluster/"+path+"?user.name="+user, body, answer); err != nil {
		w.Fatal(err)
	}
}

// submit submits an application and, if it is to run, waits until it does.
func (w *whyLab) submit(name, user, queue string, mb, priority int, runs bool) {
	w.Helper()
	var made struct {
		ID string `json:"application-id"`
	}
	w.ask(http.MethodPost, "apps/new-application", user, nil, &made)
	w.ids[name] = made.ID
	w.ask(http.MethodPost, "apps", user, map[string]any{
		"application-id": made.ID, "application-name": name, "queue": queue, "application-type": "YARN", "max-app-attempts": 1, "priority": priority,
		"am-container-spec": map[string]any{"commands": map[string]string{"command": "sleep 600"}}, "resource": map[string]int{"memory": mb, "vCores": 1},
	}, nil)
	for range 240 {
		a, err := w.c.App(w.Context(), made.ID)
		if err != nil {
			w.Fatal(err)
		}
		if a.RunningContainers > 0 || !runs && (a.State == "ACCEPTED" || a.State == "FAILED") {
			return
		}
		time.Sleep(250 * time.Millisecond)
	}
	w.Fatalf("%s does not start", name)
}

// app is an unmanaged application that holds its containers to the end of the test.
func app(name, queue string, second, priority, count, mb int) hadoop.Application {
	return hadoop.Application{
		ID: name, User: "ann", Queue: queue, Submit: hadoop.Millis(second) * 1000, Priority: priority,
		Containers: []hadoop.Group{{Count: count, MB: mb, Priority: 1, Hold: hadoop.Holds{600_000}}},
	}
}

// hold runs applications until the test ends.
func (w *whyLab) hold(apps ...hadoop.Application) { w.Cleanup(runAMs(w.T, w.lab, apps)) }

// await waits until applications have asked for their containers.
func (w *whyLab) await(names ...string) {
	w.Helper()
	for range 240 {
		asked := map[string]bool{}
		for a, err := range w.c.Apps(w.Context(), rest.AppFilter{Requests: true}) {
			if err != nil {
				w.Fatal(err)
			}
			w.ids[a.Name], asked[a.Name] = a.ID, a.Asked() > 0
		}
		missing := 0
		for _, n := range names {
			if !asked[n] {
				missing++
			}
		}
		if missing == 0 {
			return
		}
		time.Sleep(250 * time.Millisecond)
	}
	w.Fatalf("%v do not all wait", names)
}

// because checks the first reason and, if it is given, who is ahead.
func (w *whyLab) because(name, limit, queue, user, ahead, setting string) {
	w.Helper()
	args := []string{"yarn", "why", w.ids[name], "--rm", w.lab.RM(), "--user", "yardmaster"}
	if w.file != "" {
		args = append(args, "--file", w.file)
	}
	_, text := ran(w.T, args...)
	w.Logf("%s:\n%s", name, text)
	code, text := ran(w.T, append(args, "--json")...)
	var got struct {
		Reasons []struct {
			Limit, Queue, User string
			First              []string
		}
		Settings []struct{ Changes string }
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil || code != 0 || len(got.Reasons) == 0 {
		w.Errorf("%s: %d, %v, %s", name, code, err, text)
		return
	}
	if r := got.Reasons[0]; r.Limit != limit || r.Queue != queue || r.User != user {
		w.Errorf("%s waits because of %+v, want %s of %s%s", name, r, limit, queue, user)
	}
	var first []string
	for _, r := range got.Reasons {
		first = append(first, r.First...)
	}
	if ahead != "" && !strings.Contains(strings.Join(first, " "), w.ids[ahead]) {
		w.Errorf("%s: ahead are %v, want %s", name, first, w.ids[ahead])
	}
	if setting != "" && (len(got.Settings) == 0 || !strings.HasPrefix(got.Settings[0].Changes, setting+"=")) {
		w.Errorf("%s: settings %v, want %s", name, got.Settings, setting)
	}
}

func TestLabWhyCapacity(t *testing.T) {
	queues := map[string]string{"root.queues": "max,par,user,ams,amu,apps,prio,rest", "root.par.queues": "x", "root.par.x.capacity": "100", "maximum-am-resource-percent": "1", "root.acl_administer_queue": "yardmaster"}
	for _, q := range strings.Split("max,par,user,ams,amu,apps,prio", ",") {
		queues["root."+q+".capacity"] = "10"
		queues["root."+q+".user-limit-factor"] = "10"
	}
	queues["root.rest.capacity"] = "30"
	for k, v := range map[string]string{
		"max.maximum-capacity": "12.5", "par.maximum-capacity": "12.5", "par.x.user-limit-factor": "10", "user.user-limit-factor": "1", "prio.maximum-capacity": "12.5",
		"ams.maximum-am-resource-percent": "0.05", "amu.maximum-am-resource-percent": "0.3", "amu.user-limit-factor": "1", "apps.maximum-applications": "1",
	} {
		queues["root."+k] = v
	}
	w := newWhyLab(t, hadoop.Options{SchedulerXML: hadoop.Properties("yarn.scheduler.capacity.", queues), Nodes: 2, NodeMB: 16 << 10})
	w.hold(app("max1", "root.max", 0, 0, 6, 1024), app("par1", "root.par.x", 0, 0, 6, 1024), app("user1", "root.user", 0, 0, 8, 1024), app("prio1", "root.prio", 0, 0, 6, 1024),
		app("max2", "root.max", 12, 0, 1, 1024), app("par2", "root.par.x", 12, 0, 1, 1024), app("user2", "root.user", 12, 0, 1, 1024),
		app("prio2", "root.prio", 12, 0, 1, 1024), app("prio3", "root.prio", 13, 5, 1, 1024))
	w.submit("ams1", "ann", "root.ams", 1024, 0, true)
	w.submit("ams2", "ann", "root.ams", 1024, 0, true)
	w.submit("ams3", "ann", "root.ams", 1024, 0, false)
	w.submit("ams4", "ann", "root.ams", 1024, 0, false)
	w.submit("amu1", "ann", "root.amu", 1024, 0, true)
	w.submit("amu2", "ann", "root.amu", 1024, 0, false)
	w.submit("apps1", "ann", "root.apps", 1024, 0, true)
	w.submit("apps2", "ann", "root.apps", 1024, 0, false)
	w.await("max2", "par2", "user2", "prio2", "prio3")
	time.Sleep(3 * time.Second)
	w.because("max2", "maximum-capacity", "root.max", "", "", "root.max.maximum-capacity")
	w.because("par2", "maximum-capacity", "root.par", "", "", "root.par.maximum-capacity")
	w.because("user2", "user-limit-factor", "root.user", "ann", "", "root.user.user-limit-factor")
	w.because("ams4", "maximum-am-resource-percent", "root.ams", "", "ams3", "root.ams.maximum-am-resource-percent")
	w.because("amu2", "maximum-am-resource-percent", "root.amu", "ann", "", "root.amu.user-limit-factor")
	w.because("apps2", "maximum-applications", "root.apps", "", "", "root.apps.maximum-applications")
	w.because("prio2", "maximum-capacity", "root.prio", "", "prio3", "root.prio.maximum-capacity")
}

func TestLabWhyCapacityNodes(t *testing.T) {
	w := newWhyLab(t, hadoop.Options{SchedulerXML: hadoop.Properties("yarn.scheduler.capacity.", map[string]string{
		"root.queues": "default", "root.default.capacity": "100", "maximum-am-resource-percent": "1", "root.acl_administer_queue": "yardmaster",
	}), Nodes: 2, NodeMB: 4096})
	w.hold(app("fill1", "root.default", 0, 0, 1, 3072), app("fill2", "root.default", 0, 0, 1, 3072), app("large", "root.default", 8, 0, 1, 2048), app("small", "root.default", 14, 0, 1, 1024))
	w.await("large", "small")
	time.Sleep(3 * time.Second)
	w.because("large", policy.Reserved, "", "", "", "")
	w.because("small", policy.Reserved, "", "", "large", "")
}

func TestLabWhyCapacityRoom(t *testing.T) {
	w := newWhyLab(t, hadoop.Options{SchedulerXML: hadoop.Properties("yarn.scheduler.capacity.", map[string]string{
		"root.queues": "default", "root.default.capacity": "100", "maximum-am-resource-percent": "1", "root.acl_administer_queue": "yardmaster",
	}), Nodes: 2, NodeMB: 4096})
	w.hold(app("fill", "root.default", 0, 0, 8, 1024), app("next", "root.default", 12, 0, 1, 1024))
	w.await("next")
	time.Sleep(2 * time.Second)
	w.because("next", policy.NodeRoom, "", "", "", "")
}

func TestLabWhyFair(t *testing.T) {
	w := newWhyLab(t, hadoop.Options{Scheduler: "fair", SchedulerXML: `<?xml version="1.0"?>
<allocations>
  <queue name="max"><maxResources>2048 mb, 8 vcores</maxResources><maxAMShare>-1.0</maxAMShare></queue>
  <queue name="ams"><maxAMShare>0.2</maxAMShare></queue>
  <queue name="run"><maxRunningApps>1</maxRunningApps></queue>
  <queue name="rest"><maxAMShare>-1.0</maxAMShare></queue>
  <user name="carl"><maxRunningApps>1</maxRunningApps></user>
  <queuePlacementPolicy><rule name="specified"/><rule name="default" queue="rest"/></queuePlacementPolicy>
</allocations>`, Nodes: 2, NodeMB: 12 << 10})
	w.file = filepath.Join(w.lab.Conf(), "fair-scheduler.xml")
	w.submit("max1", "ann", "root.max", 2048, 0, true)
	w.submit("max2", "ann", "root.max", 1024, 0, false)
	w.submit("ams1", "ann", "root.ams", 1024, 0, true)
	w.submit("ams2", "ann", "root.ams", 5120, 0, false) // more than a fifth of the cluster, with ams1: it waits however many queues are active by then
	w.submit("run1", "ann", "root.run", 1024, 0, true)
	w.submit("run2", "ann", "root.run", 1024, 0, false)
	w.submit("run3", "ann", "root.run", 1024, 0, false)
	w.submit("carl1", "carl", "root.rest", 1024, 0, true)
	w.submit("carl2", "carl", "root.rest", 1024, 0, false)
	time.Sleep(3 * time.Second)
	w.because("max2", "maxResources", "root.max", "", "", "root.max.maxResources")
	w.because("ams2", "maxAMShare", "root.ams", "", "", "root.ams.maxAMShare")
	w.because("run3", "maxRunningApps", "root.run", "", "run2", "")
	w.because("carl2", "maxRunningApps", "", "carl", "", "")
	w.submit("fill1", "ann", "root.rest", 7168, 0, true) // one on each node, however the 5 GB of the others are spread
	w.submit("fill2", "ann", "root.rest", 7168, 0, true)
	w.submit("large", "ann", "root.rest", 8192, 0, false)
	time.Sleep(4 * time.Second)
	w.because("large", policy.Reserved, "", "", "", "") // on one node; of the other the ResourceManager says that it cannot be reserved, too
}
