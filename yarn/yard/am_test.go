package yard

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/yarn/rest"
)

// An AM that hangs, drips, floods or says what cannot be loses its own values and no other's, and the sample is in time.
func TestLyingAMs(t *testing.T) {
	m := newManager("3.4.2", false)
	m.ams = true
	for i := range 8 {
		m.apps = append(m.apps, app(i, "RUNNING", map[string]any{"progress": 14.0}))
	}
	m.leaf["numActiveApplications"], m.leaf["numPendingApplications"] = 8, 0
	say := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
	}
	bad := map[string]http.HandlerFunc{
		"0": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"1": say(`{"job":{"mapsTotal":10,"mapProgress":1e9}}`),
		"2": say(`{"job":{"mapsTotal":10,"mapProgress":50,"mapsPending":-5}}`),
		"3": say(`{"job":{"mapsTotal":9e18,"mapProgress":50}}`),
		"4": say("\x1b[2J\x00 no JSON"),
		"5": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, " ")
				_ = http.NewResponseController(w).Flush()
				time.Sleep(20 * time.Millisecond)
			}
		},
		"6": say(`{"job":{"mapsTotal":10,"mapProgress":50,"name":"` + strings.Repeat("x", 2<<20) + `"}}`),
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, ok := strings.CutPrefix(r.URL.Path, "/proxy/application_1_0000")
		if h := bad[id[:1]]; ok && h != nil {
			h(w, r)
			return
		}
		m.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	c, err := rest.New(rest.Options{RM: []string{s.URL}, RMRate: -1, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdle)
	y, err := New(t.Context(), Options{Client: c, Queues: []string{"root.default"}, AMs: true})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	seen, err := y.Snapshot(t.Context())
	if took := time.Since(began); err != nil || took > 5*amAnswers {
		t.Errorf("after %v: %v", took, err)
	}
	for i, j := range seen.Jobs {
		got, want := fmt.Sprint(j.Maps, j.Tasks, j.Pending), "0.2 0 0"
		if bad[fmt.Sprint(i)] == nil {
			want = "0.625 12 4"
		}
		if got != want {
			t.Errorf("job %d: maps, tasks and pending are %s, want %s", i, got, want)
		}
	}
	if len(seen.Jobs) != 8 {
		t.Errorf("%d jobs", len(seen.Jobs))
	}
}
