package endure

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/studies/evidence"
	"github.com/yardmaster/yardmaster/studies/harness"
)

// The committed page is what the committed records give.
func TestPageIsCurrent(t *testing.T) {
	studies := filepath.Join("..", "..", "docs", "studies")
	want, err := os.ReadFile(filepath.Join(studies, "endurance.md"))
	if err != nil {
		t.Fatal(err)
	}
	h := new(Study).Study()
	h.Options = harness.Options{Dir: filepath.Join(studies, "endure"), Page: filepath.Join(t.TempDir(), "page.md")}
	if got, _, err := h.Report(t.Context()); err != nil || got != string(want) {
		t.Errorf("run: go run ./studies endure --offline (%v)\n%s", err, got)
	}
	_, list, err := h.Records()
	if n := len(recordsOf(list).verdicts()); err != nil || n != len(parts) {
		t.Errorf("%d of %d parts have records (%v)", n, len(parts), err)
	}
}

// A second run is stored beside the first, and both count.
func TestRunsAreAddedNeverReplaced(t *testing.T) {
	h := new(Study).Study()
	h.Dir = filepath.Join(t.TempDir(), "endure")
	a := &sheet{Head: Head{Part: "kills", Seed: 7}, Rows: []any{&Kill{N: 1, Scheduler: "capacity", Open: true}, &Kill{N: 2, Scheduler: "capacity", By: "guard"}}, Sum: Sum{Final: []string{"x"}, Misses: []string{"a miss"}}}
	b := &sheet{Head: Head{Part: "kills", Seed: 8}, Rows: []any{&Kill{N: 1, Scheduler: "fair"}}, Sum: Sum{Final: []string{"y"}}}
	for i, sheet := range []*sheet{a, b} {
		if _, err := h.Keep(evidence.Begin(fmt.Sprint("v", i+1)), sheet); err != nil {
			t.Fatal(err)
		}
	}
	_, list, err := h.Records()
	if err != nil || len(list) != 2 {
		t.Fatalf("%d runs, %v", len(list), err)
	}
	if list[1].Head.Run.Program != "v2" {
		t.Errorf("%+v", list[1].Head)
	}
	list[0].Head.Run = evidence.Run{}
	if !reflect.DeepEqual(list[0], a) {
		t.Errorf("%+v\n%+v", list[0], a)
	}
	page, _, err := h.Report(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"**MISSED in run 1 of 2**: 3 times kill -9", "  - run 1: a miss", "| blows | 2 | 1 |", "| 2 | ", " | v2 | ", "Last looks of run 1: x.", "Last looks of run 2: y."} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	if err := h.Verdict(); err != nil {
		t.Errorf("the newest run has missed nothing: %v", err)
	}
}

// Every fault changes what it is about, and every request is recorded.
func TestProxyLies(t *testing.T) {
	rm := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		text := map[string]string{
			"/ws/v1/cluster/metrics":   `{"clusterMetrics":{"appsPending":3,"activeNodes":2,"totalMB":1024}}`,
			"/ws/v1/cluster/scheduler": `{"scheduler":{"schedulerInfo":{"queueName":"root","queuePath":"root","queues":{"queue":[{"queueName":"default","queuePath":"root.default","numPendingApplications":4,"capacity":100.0}]}}}}`,
			"/ws/v1/cluster/apps":      `{"apps":{"app":[{"id":"application_1_1","state":"RUNNING","queue":"default","progress":10.5}]}}`,
		}[r.URL.Path]
		_, _ = io.WriteString(w, text)
	}))
	defer rm.Close()
	p, err := NewProxy(rm.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	web := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	ask := func() string {
		var all strings.Builder
		for _, path := range []string{"metrics", "scheduler", "apps"} {
			for _, method := range []string{http.MethodGet, http.MethodPut} {
				r, err := http.NewRequest(method, p.URL+"/ws/v1/cluster/"+path, strings.NewReader("<key>"+amPercent+"</key><value>0.5</value>"))
				if err != nil {
					t.Fatal(err)
				}
				a, err := web.Do(r)
				if err != nil {
					all.WriteString("no answer")
					continue
				}
				b, _ := io.ReadAll(a.Body)
				_ = a.Body.Close()
				all.WriteString(a.Status + string(b))
			}
		}
		return all.String()
	}
	honest := ask()
	if n := len(p.Asked()); n != 6 {
		t.Errorf("%d requests were counted, want 6", n)
	}
	for _, c := range faultCases() {
		p.Inject(&c.fault)
		web.Timeout = 10 * time.Second
		if c.fault.Stall > 0 {
			web.Timeout = 200 * time.Millisecond
		}
		told := ask()
		web.Timeout = 10 * time.Second
		if told == honest {
			t.Errorf("%s: the answers are the same", c.name)
		}
		if got := values(p.Asked()); !c.fault.Refuse && c.fault.Stall == 0 && (len(got) != 3 || got[0] != "0.5") {
			t.Errorf("%s: changes %q", c.name, got)
		}
		p.Inject(nil)
	}
	if ask() != honest {
		t.Error("it still lies")
	}
}

// A write counts against a steerer only if nodes are known to have been missing then: not during a reading of the watcher.
func TestMissing(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	w := &watcher{nodes: 2, samples: []sample{{at(0), at(1), 2}, {at(3), at(4), -1}, {at(4), at(6), 1}, {at(6), at(7), 2}, {at(8), at(9), -1}}}
	if got := w.since(at(2)).missing; got != at(4) {
		t.Errorf("missing until %v", got.Unix())
	}
}
