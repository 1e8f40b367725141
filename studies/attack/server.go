package attack

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/yardmaster/yardmaster/studies/endure"
)

// serverAttacks are those of whoever answers for the ResourceManager: a proxy changes the answers of a real one.
func serverAttacks() []Attack {
	return []Attack{
		{Name: "a byte a second", Actor: Server, run: drips,
			Tries: "Answers the list of applications with a byte a second, to hold `eta` and `why` for ever.",
			Holds: "They end with an error when `--timeout` is over."},
		{Name: "list without an end", Actor: Server, run: endless,
			Tries: "Lists applications without an end, to exhaust the memory of `eta`, `why` and `apply`.",
			Holds: "They end with an error, within 20 s of processor time and 512 MB."},
		{Name: "few bytes that grow", Actor: Server, run: growing,
			Tries: "Less than 1 MB of nodes and requests, of sizes and counts that make a simulation take all memory.",
			Holds: "`eta` and `why` end, with an answer or when `--timeout` is over, within 512 MB."},
		{Name: "wrong types", Actor: Server, run: wrongTypes,
			Tries: "Numbers as strings, objects as lists, null everywhere.",
			Holds: "Every command ends without a crash; nothing is changed."},
		{Name: "impossible numbers", Actor: Server, run: impossible,
			Tries: "NaN, -1, 1e300 and 99999999999999999999 in the place of every number.",
			Holds: "Every command ends without a crash; nothing is changed."},
		{Name: "nesting bomb", Actor: Server, run: nesting,
			Tries: "Answers nested a million levels deep.",
			Holds: "Every command ends with an error, within its memory."},
		{Name: "gzip bomb", Actor: Server, run: bomb,
			Tries: "A small compressed answer of a gigabyte.",
			Holds: "Every command ends with an error, within its memory."},
		{Name: "redirect to another host", Actor: Server, run: redirects,
			Tries: "Redirects reads and changes to another server, to get requests and credentials there.",
			Holds: "No request reaches the other server."},
		{Name: "false Content-Length", Actor: Server, run: lengths,
			Tries: "Announces more than it sends, and 9 exabytes.",
			Holds: "Every command ends with an error; nothing is changed."},
		{Name: "queue omitted", Actor: Server, run: omitted,
			Tries: "Leaves the queue out of the scheduler's state or of the configuration, so that a change is made to nothing, or twice.",
			Holds: "Nothing is changed, or what is changed is what was asked for."},
		{Name: "configuration that changes between reads", Actor: Server, run: shifting,
			Tries: "Shows another value at each read, so that a wrong value is recorded as the original.",
			Holds: "Nothing is changed."},
		{Name: "change accepted and not made", Actor: Server, Long: true, run: notMade,
			Tries: "Answers 200 to a change and does not make it.",
			Holds: "`apply` and `prepare` end with an error that says so."},
		{Name: "mark that names another folder", Actor: Server, run: foreignMark,
			Tries: "A mark in the configuration that names /etc, with path tricks and escape sequences, to be opened, shown or overwritten.",
			Holds: "The value is not overwritten, nothing is opened there, and the mark is escaped."},
		{Name: "application ids with path tricks", Actor: Server, run: pathIDs,
			Tries: "Lists applications whose ids are paths, so that moving one becomes another request.",
			Holds: "No request leaves the address of applications."},
	}
}

// at reports whether a request is for one of the ResourceManager's named answers.
func at(r *http.Request, names ...string) bool {
	for _, n := range names {
		if r.URL.Path == "/ws/v1/cluster/"+n {
			return true
		}
	}
	return false
}

// answers injects a function that answers some requests in the ResourceManager's place.
func (t *trial) answers(f func(w http.ResponseWriter, r *http.Request), names ...string) {
	t.proxy.Inject(&endure.Fault{Answer: func(w http.ResponseWriter, r *http.Request) bool {
		if !at(r, names...) {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		f(w, r)
		return true
	}})
}

// every runs each live command; none may do harm, and none succeeds unless may says so.
func (t *trial) every(may bool) {
	for _, args := range [][]string{
		{"eta", "--all"}, {"why", t.honest}, {"apply", "--journal", t.journal(), "--act", "root.prod.user-limit-factor=2.5"},
		{"prepare", "--journal", t.journal(), "--queue", "root.batch", "--policy", "fbq", "--act"},
		{"steer", "--queue", "root.batch", "--policy", "aging", "--listen", "off", "--for", "2s"},
	} {
		o := t.yarn(args[0], args[1:]...)
		if o.code == 0 && args[0] != "steer" && !may {
			t.harm("%s succeeds: %s", args[0], tail(o.text))
		}
		if o.code == 2 {
			t.harm("%s takes it for a mistake of the operator's: %s", args[0], tail(o.text))
		}
	}
}

func drips(t *trial) {
	t.answers(func(w http.ResponseWriter, r *http.Request) {
		for _, b := range []byte(`{"apps":{"app":[` + strings.Repeat(" ", 1<<10)) {
			_, _ = w.Write([]byte{b}) // until the client has gone
			_ = http.NewResponseController(w).Flush()
			select {
			case <-time.After(time.Second):
			case <-r.Context().Done():
				return
			}
		}
	}, "apps")
	for _, args := range [][]string{{"eta", "--all"}, {"why", t.honest}} {
		t.wants(t.yarn(args[0], append(args[1:], "--timeout", "4s")...), 1)
	}
}

func endless(t *trial) {
	t.answers(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(`{"apps":{"app":[`)) // as below: until the client has gone
		for i := 0; ; i++ {
			if _, err := fmt.Fprintf(w, `{"id":"application_1_%07d","user":"u","name":"%s","queue":"root.batch","state":"RUNNING","startedTime":1},`, i, strings.Repeat("n", 300)); err != nil {
				return
			}
		}
	}, "apps")
	for _, args := range [][]string{{"eta", "--all"}, {"why", t.honest}, {"apply", "--journal", t.journal(), "--goal", "mean elapsed of all", "root.prod.user-limit-factor=3"}} {
		t.wants(t.yarn(args[0], args[1:]...), 1)
	}
}

func growing(t *trial) {
	node := func(i int) map[string]any {
		return map[string]any{"id": fmt.Sprintf("n%d:1", i), "state": "RUNNING", "rack": "/r", "totalResource": map[string]any{"memory": 1 << 40, "vCores": 1 << 30}, "availMemoryMB": 1 << 40,
			"availableVirtualCores": 1 << 30}
	}
	t.proxy.Inject(&endure.Fault{JSON: func(path string, x map[string]any) {
		switch path {
		case "/ws/v1/cluster/nodes":
			list := make([]any, 200)
			for i := range list {
				list[i] = node(i)
			}
			x["nodes"] = map[string]any{"node": list}
		case "/ws/v1/cluster/apps":
			list := make([]any, 300)
			for i := range list {
				request := map[string]any{"resourceName": "*", "numContainers": 1 << 30, "relaxLocality": true, "priority": map[string]any{"priority": 1},
					"capability": map[string]any{"memorySize": 1, "virtualCores": 1}}
				list[i] = map[string]any{"id": fmt.Sprintf("application_1_%04d", i), "user": fmt.Sprint("u", i), "name": "n", "queue": "root.batch", "state": "RUNNING",
					"startedTime": 1, "launchTime": 1, "runningContainers": 1 << 30, "allocatedMB": 1 << 40, "allocatedVCores": 1 << 30, "resourceRequests": []any{request}}
			}
			x["apps"] = map[string]any{"app": list}
		}
	}})
	t.yarn("eta", "--all", "--timeout", "5s")
	t.yarn("why", "application_1_0002", "--timeout", "5s")
}

func wrongTypes(t *trial) {
	number := regexp.MustCompile(`:\s*-?[0-9][0-9.E+-]*([,}])`)
	for _, f := range []func(b []byte) []byte{
		func(b []byte) []byte { return number.ReplaceAll(b, []byte(`:"x"$1`)) },
		func(b []byte) []byte { return number.ReplaceAll(b, []byte(`:[{}]$1`)) },
		func(b []byte) []byte { return []byte(strings.ReplaceAll(string(b), `":{`, `":[],"x":{`)) },
		func(b []byte) []byte { return []byte("null") },
		func(b []byte) []byte { return []byte("[]") },
	} {
		t.proxy.Inject(&endure.Fault{Text: func(_ string, b []byte) []byte { return f(b) }})
		t.every(false)
	}
}

func impossible(t *trial) {
	number := regexp.MustCompile(`:\s*-?[0-9][0-9.E+-]*([,}])`)
	for _, text := range []string{"NaN", "-1", "1e300", "99999999999999999999", "0"} {
		t.proxy.Inject(&endure.Fault{Text: func(path string, b []byte) []byte {
			if strings.HasSuffix(path, "scheduler-conf") {
				return b
			}
			return number.ReplaceAll(b, []byte(":"+text+"$1"))
		}})
		for _, args := range [][]string{{"eta", "--all"}, {"why", t.honest}, {"apply", "--journal", t.journal(), "--goal", "mean elapsed of all", "root.prod.user-limit-factor=3"},
			{"steer", "--queue", "root.batch", "--policy", "deadline", "--listen", "off", "--for", "2s"}} {
			t.yarn(args[0], args[1:]...)
		}
	}
}

func nesting(t *trial) {
	for _, text := range []string{strings.Repeat("[", 1_000_000), strings.Repeat(`{"queues":`, 1_000_000), strings.Repeat("<a>", 1_000_000)} {
		t.answers(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(text)) }, "scheduler", "scheduler-conf", "apps", "nodes", "info")
		t.every(false)
	}
}

func bomb(t *trial) {
	t.answers(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		block := []byte(strings.Repeat(" ", 1<<20))
		for range 1 << 10 {
			if _, err := z.Write(block); err != nil {
				return
			}
		}
		_ = z.Close() // the client has gone
	}, "scheduler", "scheduler-conf", "apps", "nodes")
	for _, args := range [][]string{{"eta", "--all"}, {"apply", "--journal", t.journal(), "--act", "root.prod.user-limit-factor=2.5"}} {
		t.wants(t.yarn(args[0], args[1:]...), 1)
	}
}

func redirects(t *trial) {
	var lured atomic.Int64
	trap := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { lured.Add(1) }))
	defer trap.Close()
	for _, code := range []int{302, 307} {
		for _, method := range []string{"", http.MethodPut} {
			t.proxy.Inject(&endure.Fault{Answer: func(w http.ResponseWriter, r *http.Request) bool {
				if method != "" && r.Method != method {
					return false
				}
				http.SetCookie(w, &http.Cookie{Name: "hadoop.auth", Value: "x"})
				w.Header().Set("Location", trap.URL+r.RequestURI)
				w.Header().Set("Refresh", "0;url="+trap.URL+r.RequestURI)
				w.WriteHeader(code)
				return true
			}})
			if method == "" {
				t.wants(t.yarn("eta", "--all"), 1)
			} else {
				t.wants(t.yarn("apply", "--journal", t.journal(), "--act", "root.prod.user-limit-factor=2.5"), 1)
			}
		}
	}
	if n := lured.Load(); n > 0 {
		t.harm("%d requests reached the other server", n)
	}
}

func lengths(t *trial) {
	for _, length := range []string{"100000", strconv.FormatInt(1<<62, 10)} {
		t.answers(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", length)
			_, _ = w.Write([]byte(`{"apps":{"app":[]}}`)) // the client has gone
		}, "apps", "scheduler", "scheduler-conf")
		t.every(false)
	}
}

func omitted(t *trial) {
	args := []string{"--journal", t.journal(), "--act", "root.prod.user-limit-factor=2.5"}
	t.proxy.Inject(&endure.Fault{JSON: func(path string, x map[string]any) {
		if list, ok := x["property"].([]any); ok && strings.HasSuffix(path, "scheduler-conf") {
			var kept []any
			for _, p := range list {
				if b, _ := json.Marshal(p); !strings.Contains(string(b), "root.prod") {
					kept = append(kept, p)
				}
			}
			x["property"] = kept
		}
	}})
	t.wants(t.yarn("apply", args...), 1)
	t.proxy.Inject(&endure.Fault{Text: func(path string, b []byte) []byte {
		if strings.HasSuffix(path, "/scheduler") {
			return []byte(strings.ReplaceAll(string(b), "batch", "elsewhere"))
		}
		return b
	}})
	t.wants(t.yarn("prepare", "--queue", "root.batch", "--policy", "fbq", "--journal", t.journal(), "--act"), 1)
	t.wants(t.yarn("steer", "--queue", "root.batch", "--policy", "static", "--set", "value=0.3", "--listen", "off", "--journal", t.journal(), "--act", "--for", "2s"), 1)
}

func shifting(t *trial) {
	var reads atomic.Int64
	t.proxy.Inject(&endure.Fault{Text: func(path string, b []byte) []byte {
		if !strings.HasSuffix(path, "scheduler-conf") {
			return b
		}
		n := reads.Add(1)
		const name = "root.prod.user-limit-factor"
		if i := strings.Index(string(b), name); i >= 0 {
			return []byte(string(b[:i]) + strings.Replace(string(b[i:]), `"2"`, fmt.Sprintf(`"%d"`, 2+n), 1))
		}
		return b
	}})
	t.wants(t.yarn("apply", "--journal", t.journal(), "--act", "root.prod.user-limit-factor=2.5"), 1)
	if reads.Load() < 2 {
		t.harm("it was read once")
	}
}

func notMade(t *trial) {
	t.proxy.Inject(&endure.Fault{Status: func(r *http.Request) (int, string) {
		if r.Method == http.MethodPut {
			return 200, ""
		}
		return 0, ""
	}})
	t.wants(t.yarn("prepare", "--queue", "root.batch", "--policy", "fbq", "--journal", t.journal(), "--act"), 1)
	o := t.command(maxTime, "yarn", "apply", "--rm", t.proxy.URL, "--user", operator, "--journal", t.journal(), "--act", "root.prod.user-limit-factor=2.5")
	t.wants(o, 1)
	t.proxy.Inject(nil)
	t.yarn("restore", "--journal", t.journal())
}

func foreignMark(t *trial) {
	for _, value := range []string{"elsewhere:/etc/../../etc", "elsewhere:/etc/\u202ecte"} {
		t.set("root.batch", "yardmaster.journal", value)
		t.set("root.prod", "yardmaster.journal.user-limit-factor", value)
		o := t.yarn("steer", "--queue", "root.batch", "--policy", "static", "--set", "value=0.3", "--listen", "off", "--journal", t.journal(), "--act", "--for", "2s")
		if got := t.setting("root.batch.maximum-am-resource-percent"); got != "unset" {
			t.harm("the value with another's mark was set to %s: %s", got, tail(o.text))
		}
		t.yarn("restore", "--journal", t.journal())
	}
	t.set("root.batch", "yardmaster.journal", "")
	t.set("root.prod", "yardmaster.journal.user-limit-factor", "")
}

func pathIDs(t *trial) {
	args := []string{"--queue", "root.batch", "--journal", t.journal()}
	t.wants(t.yarn("prepare", append(args, "--policy", "fbq", "--act")...), 0)
	t.proxy.Asked()
	t.proxy.Inject(&endure.Fault{JSON: func(path string, x map[string]any) {
		if path == "/ws/v1/cluster/apps" {
			var list []any
			for _, id := range []string{"../scheduler-conf", "x/../../../../conf?x=", "application_1_1/state#", "%2e%2e/x", "a\r\nHost: b"} {
				list = append(list, map[string]any{"id": id, "queue": "root.batch-levels.batch-l1", "state": "RUNNING", "user": "u"})
			}
			x["apps"] = map[string]any{"app": list}
		}
	}})
	harms := t.harms
	t.command(4*time.Second, append([]string{"yarn", "prepare", "--rm", t.proxy.URL, "--user", operator, "--undo"}, args...)...)
	t.harms = harms // it may try for two minutes
	for _, r := range t.proxy.Asked() {
		if r.Method == http.MethodPut && !(strings.HasPrefix(r.Path, "/ws/v1/cluster/apps/") && strings.HasSuffix(r.Path, "/queue")) {
			t.harm("it sent %s %s", r.Method, r.Path)
		}
	}
	t.proxy.Inject(nil)
	t.wants(t.yarn("prepare", append(args, "--undo")...), 0)
}
