package attack

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/yardmaster/yardmaster/studies/endure"
)

// answers injects a function that answers some requests in the ResourceManager's place, besides those that others of the trial answer.
func (t *trial) answers(f http.HandlerFunc, names ...string) {
	t.replies = maps.Clone(t.replies) // requests may be under way
	for _, name := range names {
		t.replies["/ws/v1/cluster/"+name] = f
	}
	replies := t.replies
	t.proxy.Inject(&endure.Fault{Answer: func(w http.ResponseWriter, r *http.Request) bool {
		reply := replies[r.URL.Path]
		if reply != nil {
			w.Header().Set("Content-Type", "application/json")
			reply(w, r)
		}
		return reply != nil
	}})
}

// answer answers some requests with a text, and announces a length unless that is "".
func answer(t *trial, args []string) {
	t.answers(func(w http.ResponseWriter, _ *http.Request) {
		if args[1] != "" {
			w.Header().Set("Content-Length", args[1])
		}
		_, _ = io.WriteString(w, args[0]) // the client has gone
	}, args[2:]...)
}

func drip(t *trial, _ []string) {
	t.answers(func(w http.ResponseWriter, r *http.Request) { dripText(w, r, `{"apps":{"app":[`) }, "apps")
}

// dripText answers a byte a second until the client has gone: a text, and spaces.
func dripText(w http.ResponseWriter, r *http.Request, text string) {
	for i := 0; r.Context().Err() == nil; i++ {
		_, _ = io.WriteString(w, (text + " ")[min(i, len(text)):][:1])
		_ = http.NewResponseController(w).Flush()
		select {
		case <-time.After(time.Second):
		case <-r.Context().Done():
		}
	}
}

// flood writes a block of a megabyte a thousand times, or until the client has gone.
func flood(w io.Writer, block string) {
	for range 1 << 10 {
		if _, err := io.WriteString(w, block); err != nil {
			return
		}
	}
}

func gzipBomb(t *trial, _ []string) {
	t.answers(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		flood(z, strings.Repeat(" ", 1<<20))
		_ = z.Close() // the client has gone
	}, "scheduler", "scheduler-conf", "apps", "nodes")
}

func endless(t *trial, _ []string) {
	t.answers(func(w http.ResponseWriter, _ *http.Request) {
		_, err := io.WriteString(w, `{"apps":{"app":[`)
		for i := 0; err == nil; i++ { // until the client has gone
			_, err = fmt.Fprintf(w, `{"id":"application_1_%07d","user":"u","name":"%s","queue":"root.batch","state":"RUNNING","startedTime":1},`, i, strings.Repeat("n", 300))
		}
	}, "apps")
}

// redirect redirects the requests of a method, "" is any, to a server that nothing may reach.
func redirect(t *trial, args []string) {
	code, err := strconv.Atoi(args[0])
	t.must(err)
	var lured atomic.Int64
	trap := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { lured.Add(1) }))
	t.undo = append(t.undo, func() {
		trap.Close()
		if n := lured.Load(); n > 0 {
			t.harm("%d requests reached the other server", n)
		}
	})
	t.proxy.Inject(&endure.Fault{Answer: func(w http.ResponseWriter, r *http.Request) bool {
		if args[1] != "" && r.Method != args[1] {
			return false
		}
		http.SetCookie(w, &http.Cookie{Name: "hadoop.auth", Value: "x"})
		w.Header().Set("Location", trap.URL+r.RequestURI)
		w.Header().Set("Refresh", "0;url="+trap.URL+r.RequestURI)
		w.WriteHeader(code)
		return true
	}})
}

// rewrite replaces a pattern in the answers whose path ends with a text, or does not if that begins with "!".
func rewrite(t *trial, args []string) {
	suffix, not := strings.CutPrefix(args[0], "!")
	pattern := regexp.MustCompile(args[1])
	t.proxy.Inject(&endure.Fault{Text: func(path string, b []byte) []byte {
		if strings.HasSuffix(path, suffix) == not {
			return b
		}
		return pattern.ReplaceAll(b, []byte(args[2]))
	}})
}

// omit leaves a queue out of the configuration.
func omit(t *trial, args []string) {
	t.proxy.Inject(&endure.Fault{JSON: func(path string, x map[string]any) {
		if list, ok := x["property"].([]any); ok && strings.HasSuffix(path, "scheduler-conf") {
			x["property"] = slices.DeleteFunc(list, func(p any) bool {
				b, _ := json.Marshal(p) // it was JSON
				return strings.Contains(string(b), args[0])
			})
		}
	}})
}

// shift shows another value of root.prod.user-limit-factor at each read of the configuration.
func shift(t *trial, _ []string) {
	var reads atomic.Int64
	t.proxy.Inject(&endure.Fault{Text: func(path string, b []byte) []byte {
		if !strings.HasSuffix(path, "scheduler-conf") {
			return b
		}
		n := reads.Add(1)
		if before, after, ok := strings.Cut(string(b), "root.prod.user-limit-factor"); ok {
			return []byte(before + "root.prod.user-limit-factor" + strings.Replace(after, `"2"`, fmt.Sprintf(`"%d"`, 2+n), 1))
		}
		return b
	}})
	t.undo = append(t.undo, func() {
		if reads.Load() < 2 {
			t.harm("it was read once")
		}
	})
}

// unmade answers 200 to changes and does not make them.
func unmade(t *trial, _ []string) {
	t.proxy.Inject(&endure.Fault{Status: func(r *http.Request) (int, string) {
		if r.Method == http.MethodPut {
			return 200, ""
		}
		return 0, ""
	}})
}

// pathIDs lists applications whose ids are paths while the levels of root.batch are taken back.
func pathIDs(t *trial, _ []string) {
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
	t.command(4*time.Second, t.words([]string{"undo"})...)
	t.harms = harms // it may try for two minutes
	for _, r := range t.proxy.Asked() {
		if r.Method == http.MethodPut && !(strings.HasPrefix(r.Path, "/ws/v1/cluster/apps/") && strings.HasSuffix(r.Path, "/queue")) {
			t.harm("it sent %s %s", r.Method, r.Path)
		}
	}
	t.proxy.Inject(nil)
}
