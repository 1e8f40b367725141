package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestLive types the questions about a live cluster. $RM answers as a ResourceManager of three nodes with applications that run and wait.
func TestLive(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(busyManager))
	t.Cleanup(server.Close)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/live",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("RM", server.URL)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"exitcode": exitcode, "jsonkeys": jsonkeys},
	})
}

// busyManager is littleManager with applications that have not ended. The second name is that of somebody who tries to paint the terminal.
func busyManager(w http.ResponseWriter, r *http.Request) {
	const began = 1794723900000
	app := func(n int, state, name string, more string) string {
		return fmt.Sprintf(`{"id":"application_1794723706888_%04d","user":"dave","name":"%s","queue":"root.adhoc","state":%q,"finalStatus":"UNDEFINED","progress":40,
"applicationType":"YARN","startedTime":%d,"elapsedTime":%d%s}`, n, name, state, began+1000*n, 120000-1000*n, more)
	}
	request := func(n, priority int) string {
		return fmt.Sprintf(`,"resourceRequests":[{"resourceName":"*","capability":{"memory":1024,"vCores":1},"numContainers":%d,"priority":%d}]`, n, priority)
	}
	switch path := strings.TrimPrefix(r.URL.Path, "/ws/v1/cluster/"); {
	case path == "apps":
		w.Header().Set("Content-Type", "application/json")
		held := `,"allocatedMB":8192,"allocatedVCores":8,"runningContainers":8,"memorySeconds":800000`
		fmt.Fprintf(w, `{"apps":{"app":[%s,%s,%s]}}`, app(1, "RUNNING", "etl-1", held+request(20, 20)),
			app(2, "RUNNING", `\u001b[31mred\nX`, held), app(3, "ACCEPTED", "etl-2", request(1, 0)))
	case strings.HasSuffix(path, "/containers"):
		w.Header().Set("Content-Type", "application/json")
		var list []string
		for k := range 8 {
			list = append(list, fmt.Sprintf(`{"containerId":"container_%s_01_%06d","allocatedMB":1024,"allocatedVCores":1,"assignedNodeId":"127.0.0.%d:8041","priority":%d,"startedTime":%d,"containerState":"RUNNING"}`,
				strings.TrimPrefix(strings.Split(path, "/")[1], "application_"), k+1, 2+k%3, 20*min(k, 1), began+10000))
		}
		fmt.Fprintf(w, `{"container":[%s]}`, strings.Join(list, ","))
	default:
		littleManager(w, r)
	}
}
