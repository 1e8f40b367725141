//go:build unix

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// forged is what a user's name, an application's name or its diagnostics would add to the output.
const forged = "Would start now with: root.adhoc.maximum-capacity=100"

// evil is a name with lines of its own, the first of them just where an 80 column terminal breaks its line.
var evil = "etl " + strings.Repeat("x ", 12) + forged + "\n" + forged + "\r\n" + forged

// readable fails if a line of the output is a forged one.
func readable(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(strings.TrimPrefix(line, "yardmaster: ")), forged) {
			t.Errorf("a forged line:\n%.2000s", text)
			return
		}
	}
}

// evilApps is a list of applications of the given state: one of dave's, and eve's with a name of 2 MB, a hostile user name and
// hostile diagnostics.
func evilApps(state string) string {
	const began = 1794723900000
	app := func(n int, user, name, more string) string {
		text, _ := json.Marshal([]string{user, name, name[:min(len(name), 1000)]})
		var parts []json.RawMessage
		_ = json.Unmarshal(text, &parts)
		return fmt.Sprintf(`{"id":"application_1794723706888_%04d","user":%s,"name":%s,"diagnostics":%s,"queue":"root.adhoc","state":%q,"finalStatus":"SUCCEEDED","progress":40,"applicationType":"YARN",
"startedTime":%d,"elapsedTime":%d,"launchTime":%d,"finishedTime":%d%s}`, n, parts[0], parts[1], parts[2], state, began+1000*n, 120000-1000*n, began+1000*n, began+60000, more)
	}
	held := `,"allocatedMB":8192,"allocatedVCores":8,"runningContainers":8,"memorySeconds":800000,"vcoreSeconds":800`
	return fmt.Sprintf(`{"apps":{"app":[%s,%s,%s]}}`, app(1, "dave", "etl-1", held), app(2, "eve", evil+strings.Repeat("n", 2<<20), held), app(3, evil, evil, held))
}

const cutNote = "application_1794723706888_0002, of user eve: its name of 2 MiB was cut to 64 KiB."

// An application with a name of 2 MB, and names and diagnostics with line breaks, neither stop a command nor write lines of their
// own.
func TestEvilNames(t *testing.T) {
	var state atomic.Value
	state.Store("RUNNING")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/apps"):
			_, _ = io.WriteString(w, evilApps(state.Load().(string)))
		case strings.HasSuffix(r.URL.Path, "/containers"):
			http.NotFound(w, r)
		default:
			busyManager(w, r)
		}
	}))
	defer server.Close()
	for _, columns := range []string{"", "80"} {
		t.Setenv("COLUMNS", columns)
		for _, args := range [][]string{{"eta", "--all"}, {"eta", "application_1794723706888_0002"}, {"why", "application_1794723706888_0002"}, {"why", "application_1794723706888_0003"}} {
			code, text := ran(t, append([]string{"yarn", "--rm", server.URL}, args...)...)
			if flat := strings.Join(strings.Fields(text), " "); code != exitDone || !strings.Contains(flat, cutNote) {
				t.Errorf("%v: %d\n%.2000s", args, code, text)
			}
			readable(t, text)
		}
	}
	text, err := exec.Command("yardmaster", "yarn", "eta", "--all", "--json", "--rm", server.URL).Output()
	var out struct {
		Applications []struct{ Name, User string }
		Notes        []string
	}
	if wrong := json.Unmarshal(text, &out); wrong != nil || err != nil || len(out.Applications) != 3 || out.Applications[2].User != evil || out.Applications[2].Name != evil {
		t.Errorf("%v %v: programs get names as they are: %.300s", err, wrong, text)
	}
	state.Store("FINISHED")
	for _, more := range [][]string{nil, {"--anonymise"}} {
		code, text := ran(t, append([]string{"import", "yarn", "--rm", server.URL, "--since", "all", "-o", filepath.Join(t.TempDir(), "out")}, more...)...)
		flat := strings.Join(strings.Fields(text), " ")
		if code != exitDone || !strings.Contains(flat, "3 jobs") || strings.Contains(flat, "of user eve") == (more != nil) || !strings.Contains(flat, "cut") {
			t.Errorf("import %v: %d\n%.2000s", more, code, text)
		}
		readable(t, text)
	}
}

// A steerer and a change that is watched go on, and say whose application was cut.
func TestEvilNamesSteered(t *testing.T) {
	rm := newSteeredRM(t, "")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/ws/v1/cluster/apps" {
			rm.ServeHTTP(w, r)
			return
		}
		_, _ = io.WriteString(w, strings.ReplaceAll(evilApps(r.URL.Query().Get("states")), "root.adhoc", "root.default"))
	}))
	defer server.Close()
	code, text := ran(t, "yarn", "steer", "--rm", server.URL, "--queue", "root.default", "--user", "u", "--policy", "cbt", "--listen", "off", "--for", "1s")
	if code != exitDone || !strings.Contains(text, "Note: "+cutNote) || strings.Count(text, cutNote) != 1 || strings.Contains(text, "no good sample") {
		t.Errorf("%d\n%.3000s", code, text)
	}
	readable(t, text)

	apply := newPreparedRM(t)
	apply.busy(func(string) time.Duration { return 10 * time.Second })
	apply.mu.Lock()
	list := apply.list
	apply.list = func() []any {
		return append(list(), map[string]any{"id": "application_1794723706888_0002", "user": "eve", "name": evil + strings.Repeat("n", 2<<20), "queue": "root.prod", "state": "RUNNING", "startedTime": 1})
	}
	apply.mu.Unlock()
	text = apply.apply(t, filepath.Join(t.TempDir(), "journal"), exitDone, "Note: "+cutNote, append(raised, "--keep", "p95 elapsed of root.prod <= +50 %")...)
	readable(t, text)
}

// A server that sends a byte now and then does not hold a question for ever: the error says what was slow, and which flag gives
// it more time.
func TestQuestionsEnd(t *testing.T) {
	for _, slow := range []string{"/ws/v1/cluster/apps", "/ws/v1/cluster/scheduler"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != slow {
				busyManager(w, r)
				return
			}
			_, _ = io.WriteString(w, `{"apps":{"app":[{"id":"application_1_0001","state":"RUNNING","startedTime":1,"queue":"root.adhoc"}`)
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, " ")
				_ = http.NewResponseController(w).Flush()
				time.Sleep(20 * time.Millisecond)
			}
		}))
		defer server.Close()
		for _, args := range [][]string{{"yarn", "eta", "--all"}, {"yarn", "why", "application_1_0001"}, {"import", "yarn", "-o", filepath.Join(t.TempDir(), "out")}} {
			code, text := ran(t, append(args, "--rm", server.URL, "--timeout", "300ms")...)
			if code != exitFailed || !strings.Contains(text, "--timeout") || !strings.Contains(text, "300ms") {
				t.Errorf("%v, %s is slow: %d %s", args, slow, code, text)
			}
		}
	}
}

// Simulations end with the time, too.
func TestSimulationsEnd(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(busyManager))
	defer server.Close()
	past := filepath.Join(t.TempDir(), "past")
	if err := os.Mkdir(past, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(past, "scenario.yaml"), []byte("workload: synth:demo\ncluster: 3x8\nscheduler: fifo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, text := ran(t, "yarn", "eta", "--all", "--rm", server.URL, "--history", past, "--draws", "999", "--timeout", "2s")
	if code != exitFailed || !strings.Contains(text, "the simulations were not done within 2s: --timeout gives them more time") {
		t.Errorf("%d %s", code, text)
	}
}
