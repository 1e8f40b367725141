package yard

import (
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/yardmaster/yardmaster/yarn/rest"
)

func TestHostCounters(t *testing.T) {
	const tail = "\ncpu0 1 1 1 1 1 1 1 1 1 1\nctxt 5\n"
	lines := []string{
		"cpu  1000 100 500 8000 300 10 20 5 900 90",
		"cpu  1060 110 520 8020 390 10 20 5 950 95", // 200 ticks: 60 user, 10 nice, 20 system, 20 idle, 90 waiting for a disk
		"cpu  1060 110 520 8020 390 10 20 5 950 95", // the clock stands still
		"cpu  1060 110 520 8000 390 10 20 5 950 95",
		"cpu  1060 110 520 8100 390 10 20 5 950 95",
	}
	read := func(i int) counters {
		t.Helper()
		c, err := parseStat([]byte(lines[i] + tail))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for nice, want := range map[bool]float64{false: 20.0 / 200, true: 30.0 / 200} {
		if got, err := idleBetween(read(0), read(1), nice); err != nil || math.Abs(got-want) > 1e-12 {
			t.Error(got, want, err)
		}
		for i := 1; i < 3; i++ {
			if _, err := idleBetween(read(i), read(i+1), nice); err == nil {
				t.Error("counters that do not go on")
			}
		}
		if got, err := idleBetween(read(3), read(4), nice); err != nil || got != 1 {
			t.Error(got, err)
		}
	}
	for _, bad := range []string{"", "cpu0 1 2 3 4\n", "cpu  1 2 x 4 5\n"} {
		if _, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q", bad)
		}
	}
	synctest.Test(t, testHostCounters)
}

func testHostCounters(t *testing.T) {
	n := uint64(0)
	h := &hostCounters{minInterval: 50 * time.Millisecond, read: func() (counters, error) {
		n++
		return counters{total: 10 * n, idle: 5 * n, at: time.Now()}, nil
	}}
	for _, pause := range []time.Duration{0, 0, 300 * time.Millisecond} { // after a long pause it measures anew
		time.Sleep(pause)
		began := time.Now()
		if got, _, err := h.idle(t.Context(), nil, nil); err != nil || got != 0.5 || time.Since(began) < 45*time.Millisecond {
			t.Error(got, err, time.Since(began))
		}
	}
	if n != 5 {
		t.Error(n, "readings")
	}
	h.read = func() (counters, error) { return counters{}, errors.New("gone") }
	if _, _, err := h.idle(t.Context(), nil, nil); err == nil {
		t.Error("no error")
	}
}

func TestNodesThatReport(t *testing.T) {
	m := newManager("2.10.2", true)
	node := func(used any, mem int, state string) map[string]any {
		return map[string]any{"id": "n", "state": state, "resourceUtilization": map[string]any{"nodeCPUUsage": used, "nodePhysicalMemoryMB": mem}}
	}
	m.nodes = []map[string]any{node(3.0, 900, "RUNNING"), node(1.0, 900, "RUNNING"), node(8.0, 900, "LOST")}
	y := m.open(t, Options{CPU: "rm:cores=8"})
	idle := func() (float64, error) {
		s, err := y.Snapshot(t.Context())
		return s.CPUIdle, err
	}
	if got, err := idle(); err != nil || got != 0.75 {
		t.Error(got, err)
	}
	m.nodes[0] = node(15.2, 900, "RUNNING")
	if got, err := idle(); err != nil || got != 0 {
		t.Error("a little more than all in use:", got, err)
	}
	m.nodes[0] = node(24.0, 900, "RUNNING")
	if _, err := idle(); err == nil || !strings.Contains(err.Error(), "more than 8 each") {
		t.Error(err)
	}
	m.nodes[0] = node("NaN", 900, "RUNNING")
	if got, err := idle(); err != nil || !math.IsNaN(got) {
		t.Error("a lie is passed on:", got, err)
	}
	m.nodes[0] = map[string]any{"id": "n", "state": "RUNNING"}
	if _, err := idle(); err == nil || !strings.Contains(err.Error(), "1 of 2 nodes do not report what they use") {
		t.Error(err)
	}
	m.nodes = nil
	if _, err := idle(); err == nil {
		t.Error("no nodes")
	}
	y = m.open(t, Options{CPU: "rm"})
	if _, err := y.Snapshot(t.Context()); err == nil || !strings.Contains(err.Error(), "rm:cores=N") {
		t.Error(err)
	}
	if y := m.open(t, Options{CPU: "none"}); y.cpu.describe() != "not read" {
		t.Error(y.cpu.describe())
	} else if s, err := y.Snapshot(t.Context()); err != nil || s.CPUIdle != -1 {
		t.Error(s.CPUIdle, err)
	}
}

func TestPrometheus(t *testing.T) {
	answer, status := "", 200
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/prom/api/v1/query" || r.URL.Query().Get("query") != `avg(x{mode="idle"}[1m]) + 0` {
			t.Error(r.URL)
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(answer))
	}))
	defer s.Close()
	for _, text := range []string{s.URL + `/prom/?avg(x{mode="idle"}[1m]) + 0`, s.URL + "/prom?query=avg(x%7Bmode%3D%22idle%22%7D%5B1m%5D)+%2B+0"} {
		src, err := newPrometheus(text)
		if err != nil {
			t.Fatal(err)
		}
		p := src.(*prometheus)
		p.now = func() time.Time { return time.Unix(1_700_000_002, 500_000_000) }
		for _, c := range []struct {
			status       int
			answer, want string
			idle         float64
		}{
			{200, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1700000000.5,"0.25"]}]}}`, "", 0.25},
			{200, `{"status":"success","data":{"resultType":"scalar","result":[1700000003.5,"0.5"]}}`, "", 0.5},
			{200, `{"status":"success","data":{"resultType":"scalar","result":[1700000002,"NaN"]}}`, "", math.NaN()},
			{200, `{"status":"success","data":{"resultType":"scalar","result":[1700000002,"-3"]}}`, "", -3},
			{200, `{"status":"success","data":{"resultType":"scalar","result":[1700000002,"1.003"]}}`, "", 1},
			{200, `{"status":"success","data":{"resultType":"scalar","result":[1699990002,"0.5"]}}`, "are the clocks right?", 0},
			{200, `{"status":"success","data":{"resultType":"vector","result":[]}}`, "gives 0 numbers", 0},
			{200, `{"status":"success","data":{"resultType":"vector","result":[{"value":[1,"1"]},{"value":[1,"1"]}]}}`, "gives 2 numbers", 0},
			{200, `{"status":"success","data":{"resultType":"matrix","result":[]}}`, "gives a matrix", 0},
			{400, `{"status":"error","error":"parse error:\n bad"}`, "parse error: bad", 0},
			{502, "<html>", "502 Bad Gateway, and no JSON", 0},
			{200, `{"status":"success","data":{"resultType":"scalar","result":["x","y"]}}`, "not understood", 0},
		} {
			answer, status = c.answer, c.status
			got, age, err := p.idle(t.Context(), nil, &rest.Metrics{})
			switch {
			case c.want != "":
				if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
					t.Errorf("%s: %v", c.answer, err)
				}
			case err != nil || !(got == c.idle || math.IsNaN(c.idle) && math.IsNaN(got)) || age < 0 || age > 3*time.Second:
				t.Errorf("%s: %v %v %v", c.answer, got, age, err)
			}
		}
	}
	s.Close()
	src, err := newPrometheus(s.URL + `/prom?x`)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := src.idle(t.Context(), nil, nil); err == nil || strings.Contains(err.Error(), "\n") {
		t.Error(err)
	} else {
		t.Log(err)
	}
	for _, s := range Sources() {
		if strings.Contains(s, "\n") || !strings.Contains(s, ": ") {
			t.Error(s)
		}
	}
}
