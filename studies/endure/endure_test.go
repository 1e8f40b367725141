package endure

import (
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
)

// The committed page is what the committed records give.
func TestPageIsCurrent(t *testing.T) {
	studies := filepath.Join("..", "..", "docs", "studies")
	want, err := os.ReadFile(filepath.Join(studies, "endurance.md"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := read(filepath.Join(studies, "endure"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.page(""); err != nil || got != string(want) {
		t.Errorf("run: go run ./studies endure --offline (%v)\n%s", err, got)
	}
	if n := len(r.verdicts()); n != len(Parts()) {
		t.Errorf("%d of %d parts have records", n, len(Parts()))
	}
}

// A second run is stored beside the first, and both count.
func TestRunsAreAddedNeverReplaced(t *testing.T) {
	dir := t.TempDir()
	a := sheet[Kill]{Head: Head{Part: "kills", Seed: 7}, Rows: []Kill{{N: 1, Scheduler: "capacity", Open: true}, {N: 2, Scheduler: "capacity", By: "guard"}}, Sum: Sum{Final: []string{"x"}, Misses: []string{"a miss"}}}
	if err := a.save(dir); err != nil {
		t.Fatal(err)
	}
	b := sheet[Kill]{Head: (&Study{program: "v2", Seed: 8}).head("kills"), Rows: []Kill{{N: 1, Scheduler: "fair"}}, Sum: Sum{Final: []string{"y"}}}
	if err := b.save(dir); err != nil {
		t.Fatal(err)
	}
	r, err := read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Kills) != 2 || len(r.Faults) != 0 {
		t.Fatalf("%d runs of kills and %d of lies", len(r.Kills), len(r.Faults))
	}
	r.Kills[0].Head.Run, a.Head.Run = evidence.Run{}, evidence.Run{}
	if !reflect.DeepEqual(r.Kills[0], a) || r.Kills[1].Head.Run.Program != "v2" {
		t.Errorf("%+v\n%+v", r.Kills[0], a)
	}
	r, _ = read(dir)
	page, err := r.page("")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"**MISSED in run 1 of 2**: 3 times kill -9", "  - run 1: a miss", "| blows | 2 | 1 |", "| 2 | ", " | v2 | ", "Last looks of run 1: x.", "Last looks of run 2: y."} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	if misses, err := Misses(dir); err != nil || len(misses) > 0 {
		t.Errorf("the newest run has missed nothing: %v, %v", misses, err)
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
