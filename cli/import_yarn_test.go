package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestImportYarn types import yarn as a person would. $RECORDED is a folder of real history files; $RM answers as a ResourceManager of three
// nodes that remembers one application, enough to see what the command does with it. Real daemons are met in yarn/history's own tests.
func TestImportYarn(t *testing.T) {
	t.Parallel()
	recorded, err := filepath.Abs("../yarn/jhist/testdata/recorded")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(littleManager))
	t.Cleanup(server.Close)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/yarn",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("RECORDED", recorded)
			e.Setenv("RM", server.URL)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"exitcode": exitcode},
	})
}

func littleManager(w http.ResponseWriter, r *http.Request) {
	answers := map[string]string{
		"/ws/v1/cluster/info":  `{"clusterInfo":{"state":"STARTED","haState":"ACTIVE","hadoopVersion":"3.4.2"}}`,
		"/ws/v1/cluster/nodes": `{"nodes":{"node":[` + strings.Join([]string{littleNode(2), littleNode(3), littleNode(4)}, ",") + `]}}`,
		"/ws/v1/cluster/scheduler": `{"scheduler":{"schedulerInfo":{"type":"capacityScheduler","queueName":"root","queuePath":"root","capacity":100,"queues":{"queue":[` +
			littleQueue("prod", 40) + "," + littleQueue("batch", 40) + "," + littleQueue("adhoc", 20) + `]}}}}`,
		"/ws/v1/cluster/scheduler-conf": "",
		"/conf":                         `<configuration><property><name>yarn.scheduler.minimum-allocation-mb</name><value>128</value></property></configuration>`,
		"/ws/v1/cluster/apps": `{"apps":{"app":[{"id":"application_1794723706888_0099","user":"dave","name":"shell","queue":"root.adhoc","state":"FINISHED","finalStatus":"SUCCEEDED",
"applicationType":"YARN","startedTime":1794723900000,"launchTime":1794723901000,"finishedTime":1794723961000,"memorySeconds":61440,"vcoreSeconds":120}]}}`,
	}
	text, ok := answers[r.URL.Path]
	switch {
	case !ok:
		http.NotFound(w, r)
	case text == "":
		http.Error(w, "Only admins can carry out this operation.", http.StatusForbidden)
	default:
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, text)
	}
}

func littleNode(n int) string {
	return fmt.Sprintf(`{"id":"127.0.0.%d:8041","rack":"/rack-%c","state":"RUNNING","nodeHostName":"127.0.0.%d","availMemoryMB":8192,"availableVirtualCores":8}`, n, 'a'+n/4, n)
}

func littleQueue(name string, capacity int) string {
	return fmt.Sprintf(`{"queueName":%q,"queuePath":"root.%s","capacity":%d,"maxCapacity":100,"state":"RUNNING","userLimit":100,"userLimitFactor":3,"mode":"percentage","weight":-1}`, name, name, capacity)
}
