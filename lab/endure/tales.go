package endure

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// tale is one lie and what may come of it.
type tale struct {
	name   string
	lie    Lie
	bounds bool          // a change is no harm as long as it stays within bounds and steps: the numbers could be true
	first  bool          // it is told from the start on
	long   time.Duration // how long it is told; 4 s, in CI 2 s
	brief  bool          // among the few of CI
}

// at says whether a path is one of the ResourceManager's answers.
func at(path, name string) bool { return strings.HasSuffix(path, "/ws/v1/cluster/"+name) }

// every calls f for each object below x, x included.
func every(x any, f func(m map[string]any)) {
	switch x := x.(type) {
	case map[string]any:
		f(x)
		for _, v := range x {
			every(v, f)
		}
	case []any:
		for _, v := range x {
			every(v, f)
		}
	}
}

// put sets fields wherever they are.
func put(x any, value any, names ...string) {
	every(x, func(m map[string]any) {
		for _, n := range names {
			if _, ok := m[n]; ok {
				m[n] = value
			}
		}
	})
}

var counts = []string{"numApplications", "numActiveApplications", "numPendingApplications", "numPendingApps", "numActiveApps", "numContainers"}

// tales are the lies over REST.
func tales() []tale {
	number := regexp.MustCompile(`:\s*-?[0-9.]+(E-?[0-9]+)?([,}])`)
	apps := func(f func(a map[string]any)) func(string, map[string]any) {
		return func(path string, x map[string]any) {
			if at(path, "apps") {
				every(x["apps"], func(m map[string]any) {
					if _, ok := m["progress"]; ok {
						f(m)
					}
				})
			}
		}
	}
	status := func(put bool, code int, text string) func(*http.Request) (int, string) {
		return func(r *http.Request) (int, string) {
			if put && r.Method != http.MethodPut {
				return 0, ""
			}
			return code, text
		}
	}
	return []tale{
		{name: "every count of the queue is negative", brief: true, lie: Lie{JSON: func(path string, x map[string]any) {
			if at(path, "scheduler") {
				put(x, json.Number("-7"), counts...)
			}
		}}},
		{name: "the cluster's counts are negative", lie: Lie{JSON: func(path string, x map[string]any) {
			if at(path, "metrics") {
				put(x, json.Number("-1"), "appsPending", "appsRunning", "totalMB", "allocatedMB", "totalVirtualCores", "allocatedVirtualCores", "activeNodes")
			}
		}}},
		{name: "every number is NaN", brief: true, lie: Lie{Text: func(path string, b []byte) []byte {
			if at(path, "scheduler") || at(path, "metrics") || at(path, "apps") {
				return number.ReplaceAll(b, []byte(":NaN$2"))
			}
			return b
		}}},
		{name: "every number is 1e300", lie: Lie{Text: func(path string, b []byte) []byte {
			if at(path, "scheduler") || at(path, "metrics") {
				return number.ReplaceAll(b, []byte(":1e300$2"))
			}
			return b
		}}},
		{name: "every number is 99999999999999999999", lie: Lie{Text: func(path string, b []byte) []byte {
			if at(path, "scheduler") || at(path, "metrics") {
				return number.ReplaceAll(b, []byte(":99999999999999999999$2"))
			}
			return b
		}}},
		{name: "10^9 applications wait in the queue", brief: true, lie: Lie{JSON: func(path string, x map[string]any) {
			if at(path, "scheduler") {
				put(x, json.Number("1000000000"), "numPendingApplications", "numPendingApps")
			}
		}}},
		{name: "500 more wait than are listed", lie: Lie{JSON: func(path string, x map[string]any) {
			if at(path, "scheduler") {
				put(x, json.Number("500"), "numPendingApplications", "numPendingApps")
			}
		}}},
		{name: "the list of applications is empty", lie: Lie{JSON: func(path string, x map[string]any) {
			if at(path, "apps") {
				x["apps"] = nil
			}
		}}},
		{name: "progress is 10^9 %", lie: Lie{JSON: apps(func(a map[string]any) { a["progress"] = json.Number("1000000000") })}},
		{name: "progress is -50 %", lie: Lie{JSON: apps(func(a map[string]any) { a["progress"] = json.Number("-50") })}},
		{name: "applications have no progress, state or queue", lie: Lie{JSON: apps(func(a map[string]any) {
			delete(a, "progress")
			delete(a, "state")
			delete(a, "queue")
		})}},
		{name: "applications have no id", lie: Lie{JSON: apps(func(a map[string]any) { delete(a, "id") })}},
		{name: "the queue is not in the tree", lie: Lie{JSON: func(path string, x map[string]any) {
			if at(path, "scheduler") {
				put(x, "elsewhere", "queueName")
				put(x, "root.elsewhere", "queuePath")
			}
		}}},
		{name: "the queue has no counts and no sizes", lie: Lie{JSON: func(path string, x map[string]any) {
			if at(path, "scheduler") {
				every(x, func(m map[string]any) {
					for _, n := range append(counts, "AMResourceLimit", "usedAMResource", "configuredMaxAMResourceLimit", "resourcesUsed", "absoluteMaxCapacity", "absoluteCapacity") {
						delete(m, n)
					}
				})
			}
		}}},
		{name: "the cluster has no counts", lie: Lie{JSON: func(path string, x map[string]any) {
			if at(path, "metrics") {
				x["clusterMetrics"] = map[string]any{}
			}
		}}},
		{name: "no nodes", brief: true, lie: Lie{JSON: func(path string, x map[string]any) {
			if at(path, "metrics") {
				put(x, json.Number("0"), "activeNodes", "totalNodes", "totalMB", "totalVirtualCores", "availableMB", "availableVirtualCores")
			}
			if at(path, "nodes") {
				x["nodes"] = nil
			}
		}}},
		{name: "no nodes, from the start", first: true, lie: Lie{JSON: func(path string, x map[string]any) {
			if at(path, "metrics") {
				put(x, json.Number("0"), "activeNodes", "totalNodes", "totalMB", "totalVirtualCores", "availableMB", "availableVirtualCores")
			}
			if at(path, "nodes") {
				x["nodes"] = nil
			}
		}}},
		{name: "half of each answer", lie: Lie{Text: func(_ string, b []byte) []byte { return b[:len(b)/2] }}},
		{name: "a login page instead of each answer", lie: Lie{Text: func(string, []byte) []byte {
			return []byte("<html><head><title>Sign in</title></head><body></body></html>")
		}}},
		{name: "an empty object instead of each answer", lie: Lie{Text: func(string, []byte) []byte { return []byte("{}") }}},
		{name: "500 for everything", brief: true, lie: Lie{Status: status(false, 500, "java.lang.NullPointerException")}},
		{name: "500 for everything, from the start", first: true, lie: Lie{Status: status(false, 500, "java.lang.NullPointerException")}},
		{name: "500 for changes", lie: Lie{Status: status(true, 500, "java.lang.NullPointerException")}},
		{name: "400 for changes", brief: true, lie: Lie{Status: status(true, 400, "Illegal value of maximumAMResource Percent")}},
		{name: "403 for changes", lie: Lie{Status: status(true, 403, "Only admins can carry out this operation.")}},
		{name: "changes are answered 200 and not made", lie: Lie{Status: status(true, 200, "")}, long: 45 * time.Second},
		{name: "nothing listens", brief: true, lie: Lie{Refuse: true}},
		{name: "nothing listens, from the start", first: true, lie: Lie{Refuse: true}},
		{name: "each answer takes 30 s", lie: Lie{Stall: 30 * time.Second}, long: 35 * time.Second},
		{name: "nothing listens for 80 s", lie: Lie{Refuse: true}, long: 80 * time.Second},
	}
}

// values finds the shares that changes would set: the value beside the knob's name, or none for one that unsets it.
func values(list []Request) (all []string) {
	find := regexp.MustCompile(amPercent + `</key>\s*(<value>([^<]*)</value>)?`)
	for _, r := range list {
		if r.Method != http.MethodPut {
			continue
		}
		if m := find.FindStringSubmatch(r.Body); m != nil {
			all = append(all, m[2])
		} else if bytes.Contains([]byte(r.Body), []byte(amPercent)) {
			all = append(all, r.Body)
		}
	}
	return all
}
