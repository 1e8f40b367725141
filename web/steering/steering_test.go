package steering

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/steer/drive"
)

var update = flag.Bool("update", false, "rewrite golden files")

var knob = drive.Knob{Kind: steer.SetQueue, Queue: "root.default", Property: "maxAMShare"}

// play lets a board see a small story: looks, a raise that is taken after nine seconds, a refused one, a blind look, a restore.
func play(t testing.TB) *Board {
	t.Helper()
	kept := []Kept{}
	b := New(About{Version: "v0", Cluster: "http://rm:8088", Scheduler: "Fair Scheduler", Queue: "root.default", Policy: "cbtws", Actuator: "fair-file", CPU: "host", Act: true, AMShare: true,
		Journal: "/var/lib/yardmaster/steer", Started: time.Now().Add(-10 * time.Minute), Facts: []Fact{{"note", "a <b>bold</b> queue"}}}, func() []Kept { return kept })
	at := time.Now().Add(-10 * time.Minute)
	share := 0.05
	look := func(decision, why string, pending, running int, attrs ...slog.Attr) {
		at = at.Add(5 * time.Second)
		idle := 0.3 + 0.25*math.Sin(float64(at.Unix())/40)
		b.Observe(drive.Event{At: at, Kind: drive.Decided, Mode: "act", Open: len(kept), Attrs: append(attrs, slog.String("decision", decision), slog.String("why", why)),
			Snapshot: &steer.Snapshot{CPUIdle: idle, Queues: []steer.Queue{{Name: "root.other"}, {Name: "root.default", Waiting: pending, Running: running, AMShare: share}}}})
	}
	b.Observe(drive.Event{At: at, Kind: drive.Started, Mode: "act"})
	for range 20 {
		look("wait", "5 % idle, no job is almost done", 5, 1)
	}
	for i := range 3 {
		look("raise", "smoothed progress grows: one more", 5-i, 1+i, slog.Float64("old", share), slog.Float64("new", share+0.04))
		kept = []Kept{{"maxAMShare of root.default", "0.05"}}
		b.Observe(drive.Event{At: at, Kind: drive.Asked, Mode: "act", Knob: knob, Old: share, New: share + 0.04, Open: 1, Attrs: []slog.Attr{slog.String("why", "smoothed progress grows: one more")}})
		look("wait", "the change is not in force yet", 5-i, 1+i)
		share += 0.04
		at = at.Add(4 * time.Second)
		b.Observe(drive.Event{At: at, Kind: drive.Taken, Mode: "act", Knob: knob, Old: share - 0.04, New: share, Latency: 9 * time.Second, Open: 1})
		for range 12 {
			look("wait", "12 % idle, no job is almost done", 4-i, 2+i)
		}
	}
	b.Observe(drive.Event{At: at, Kind: drive.Refused, Mode: "act", Knob: knob, Old: share, New: 0.95, Open: 1, Err: errors.New("the file is read-only: make it writable for this account")})
	b.Observe(drive.Event{At: at, Kind: drive.Blind, Mode: "act", Open: 1, Err: errors.New("http://rm:8088: connection refused")})
	return b
}

func get(t testing.TB, b *Board, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	b.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w
}

// names are the steerer's metrics with their labels and kinds, as a scrape shows them.
func names(t testing.TB, b *Board) []string {
	t.Helper()
	var list []string
	scan := bufio.NewScanner(get(t, b, "/metrics").Body)
	for scan.Scan() {
		line := scan.Text()
		if strings.HasPrefix(line, "# TYPE "+prefix) {
			list = append(list, strings.TrimPrefix(line, "# TYPE "))
		}
	}
	return list
}

func TestMetricNames(t *testing.T) {
	got := strings.Join(names(t, play(t)), "\n") + "\n"
	golden := filepath.Join("testdata", "metrics.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("names that dashboards and alerts rely on have changed (-update rewrites them):\n%s", d)
	}
}

// Prometheus' own rules for names, units and help hold.
func TestMetricsAreWellMade(t *testing.T) {
	problems, err := promlint.New(get(t, play(t), "/metrics").Body).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, prefix) {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

func TestMetricValues(t *testing.T) {
	b := play(t)
	body := get(t, b, "/metrics").Body.String()
	for _, want := range []string{
		`yardmaster_steer_share_in_force 0.17`,
		`yardmaster_steer_share_wanted 0.17`,
		`yardmaster_steer_share_original 0.05`,
		`yardmaster_steer_jobs_pending 2`,
		`yardmaster_steer_jobs_running 4`,
		`yardmaster_steer_open_knobs 1`,
		`yardmaster_steer_up 0`,
		`yardmaster_steer_mode{mode="act"} 1`,
		`yardmaster_steer_blind_looks_total 1`,
		`yardmaster_steer_decisions_total{kind="raise"} 3`,
		`yardmaster_steer_decisions_total{kind="wait"} 59`,
		`yardmaster_steer_decisions_total{kind="refuse"} 0`,
		`yardmaster_steer_writes_total{outcome="taken"} 3`,
		`yardmaster_steer_writes_total{outcome="refused"} 1`,
		`yardmaster_steer_writes_total{outcome="restored"} 0`,
		`yardmaster_steer_actuation_seconds_sum 27`,
		`yardmaster_steer_actuation_seconds_bucket{le="10"} 3`,
		`yardmaster_steer_actuation_seconds_bucket{le="7.5"} 0`,
	} {
		if !strings.Contains(body, "\n"+want+"\n") {
			t.Errorf("no line %q", want)
		}
	}
	if t.Failed() {
		t.Log(body)
	}
	b.Observe(drive.Event{At: time.Now(), Kind: drive.Restored, Knob: knob, Old: 0.17, New: 0.05, Latency: 8 * time.Second, Mode: "act"})
	body = get(t, b, "/metrics").Body.String()
	for _, want := range []string{"yardmaster_steer_share_in_force 0.05", "yardmaster_steer_share_original 0.05", "yardmaster_steer_open_knobs 0", `yardmaster_steer_writes_total{outcome="restored"} 1`} {
		if !strings.Contains(body, "\n"+want+"\n") {
			t.Errorf("after the restore there is no line %q", want)
		}
	}
}

func TestPage(t *testing.T) {
	b := play(t)
	w := get(t, b, "/")
	body := w.Body.String()
	for _, want := range []string{
		"root.default under cbtws", "0.17", "No good sample of the scheduler: http://rm:8088: connection refused", "One setting is changed now",
		"the file is read-only: make it writable for this account", "a &lt;b&gt;bold&lt;/b&gt; queue", `<td>0.05</td>`, "9 s", "<path",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if strings.Contains(body, "ZgotmplZ") || strings.Contains(body, "NaN") {
		t.Error("the page holds something that should not be there")
	}
	part := get(t, b, "/now").Body.String()
	if !strings.Contains(body, "<main>"+part[:40]) || strings.Contains(part, "<main>") {
		t.Error("the part that is fetched again is not the inside of the page")
	}
	for header, want := range map[string]string{"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store"} {
		if got := w.Header().Get(header); got != want {
			t.Errorf("%s: %q, want %q", header, got, want)
		}
	}
	if csp := w.Header().Get("Content-Security-Policy"); strings.Contains(csp, "unsafe") || !strings.HasPrefix(csp, "default-src 'none'") {
		t.Errorf("Content-Security-Policy: %s", csp)
	}
	if file := os.Getenv("YARDMASTER_PAGE"); file != "" { // for a look in a browser
		if err := os.WriteFile(file, []byte(body), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// The page of a policy that moves jobs towards deadlines shows these, lateness and queues by name, and no AM share.
func TestDeadlinesPage(t *testing.T) {
	b := New(About{Queue: "root.batch, root.batch-deadlines.batch-d1", Policy: "deadline", Act: true, Started: time.Now()}, nil)
	facts := slog.Group("application_1_0007", slog.String("state", "adjust"), slog.Float64("goal", 57), slog.Int64("runs", 3), slog.Float64("needs", 4.2), slog.Float64("late", -12), slog.Int64("target", 6))
	late := slog.Group("application_1_0003", slog.String("state", "missed"), slog.Float64("goal", -8), slog.Int64("runs", 2), slog.Float64("late", 30), slog.Int64("target", 2))
	for range 2 {
		b.Observe(drive.Event{At: time.Now(), Kind: drive.Decided, Mode: "act", Attrs: []slog.Attr{slog.String("by", "slots"), late, facts, slog.String("decision", "set"), slog.String("why", "by need")},
			Snapshot: &steer.Snapshot{CPUIdle: -1, Queues: []steer.Queue{{Name: "root.batch", Waiting: 2, AMShare: 0.1}, {Name: "root.batch-deadlines.batch-d1", Running: 1, Containers: 4}}}})
	}
	move := drive.Knob{Kind: steer.MoveJob, Job: "application_1_0007"}
	b.Observe(drive.Event{At: time.Now(), Kind: drive.Asked, Mode: "act", Knob: move, Open: 1,
		Attrs: []slog.Attr{slog.String("old", "root.batch"), slog.String("new", "root.batch-deadlines.batch-d1"), slog.String("why", "57 s to its goal")}})
	body := get(t, b, "/").Body.String()
	for _, want := range []string{
		"Jobs with deadlines", `<td>application_1_0007</td><td>adjust</td><td class="n">57 s</td><td class="n">12 s early</td><td class="n">3</td><td class="n">5</td><td class="n">6</td>`,
		`<td>missed</td><td class="n">passed 8 s ago</td><td class="n">30 s late</td>`, `<td>root.batch-deadlines.batch-d1</td><td class="n">1</td><td class="n">0</td><td class="n">4</td>`,
		`<td class="n">root.batch</td><td class="n">root.batch-deadlines.batch-d1</td>`, "<b>Jobs</b>",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if strings.Contains(body, "AM share") || strings.Contains(body, "share in force") {
		t.Error("the page shows an AM share")
	}
	if file := os.Getenv("YARDMASTER_PAGE"); file != "" { // for a look in a browser
		if err := os.WriteFile(file+"-deadlines.html", []byte(body), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// A board that has seen nothing yet shows a page all the same.
func TestEmptyPage(t *testing.T) {
	b := New(About{Queue: "root.default", Started: time.Now()}, nil)
	if body := get(t, b, "/").Body.String(); !strings.Contains(body, "The steerer is starting.") {
		t.Error(body)
	}
	if w := get(t, b, "/healthz"); w.Code != http.StatusServiceUnavailable {
		t.Errorf("healthz: %d before the first look", w.Code)
	}
	w := httptest.NewRecorder()
	b.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", nil))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", w.Code)
	}
}

func TestStatusJSON(t *testing.T) {
	b := play(t)
	var s struct {
		About, Now   map[string]any
		WouldRestore []Kept `json:"would_restore"`
		Writes       []struct{ Outcome, Knob, Note string }
		Decisions    []struct {
			Decision string
			Times    int
		}
	}
	if err := json.Unmarshal(get(t, b, "/status.json").Body.Bytes(), &s); err != nil {
		t.Fatal(err)
	}
	if s.Now["share_in_force"] != 0.17 || s.Now["mode"] != "act" || s.Now["snapshot_seconds"] != nil || s.About["queue"] != "root.default" {
		t.Errorf("%v %v", s.About, s.Now)
	}
	if len(s.WouldRestore) != 1 || s.WouldRestore[0].Original != "0.05" {
		t.Errorf("would restore %v", s.WouldRestore)
	}
	if len(s.Writes) != 4 || s.Writes[0].Outcome != "refused" || s.Writes[3].Outcome != "taken" {
		t.Errorf("writes %v", s.Writes)
	}
	if len(s.Decisions) != 7 || s.Decisions[6].Times != 20 || s.Decisions[1].Decision != "raise" {
		t.Errorf("decisions %v", s.Decisions)
	}
}

func TestHealth(t *testing.T) {
	b := play(t)
	if w := get(t, b, "/healthz"); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "no good sample") {
		t.Errorf("blind: %d %s", w.Code, w.Body)
	}
	b.Observe(drive.Event{At: time.Now(), Kind: drive.Decided, Mode: "act", Snapshot: &steer.Snapshot{}})
	if w := get(t, b, "/healthz"); w.Code != http.StatusOK {
		t.Errorf("seeing again: %d %s", w.Code, w.Body)
	}
}

// What is remembered is bounded, however long a steerer runs.
func TestMemoryIsBounded(t *testing.T) {
	b := New(About{Queue: "q"}, nil)
	at := time.Unix(1e9, 0)
	for i := range 20_000 {
		at = at.Add(5 * time.Second)
		b.Observe(drive.Event{At: at, Kind: drive.Decided, Attrs: []slog.Attr{slog.String("decision", []string{"raise", "wait"}[i%2])}, Snapshot: &steer.Snapshot{}})
		b.Observe(drive.Event{At: at, Kind: drive.Asked, Knob: knob})
		b.Observe(drive.Event{At: at, Kind: drive.Taken, Knob: knob})
	}
	if len(b.lines) > maxLines || len(b.writes) > maxWrites || len(b.points) > maxPoints || cap(b.points) > 8*maxPoints {
		t.Errorf("%d lines, %d writes, %d points", len(b.lines), len(b.writes), len(b.points))
	}
	if n := b.points[len(b.points)-1].at.Sub(b.points[0].at); n < 55*time.Minute {
		t.Errorf("the charts show only the last %v", n)
	}
}

// A browser that watches is told of every change.
func TestEvents(t *testing.T) {
	b := New(About{Queue: "q"}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- b.Serve(ctx, l) }()
	r, err := http.Get(fmt.Sprintf("http://%s/events", l.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	lines := bufio.NewScanner(r.Body)
	next := func() string {
		for lines.Scan() {
			if lines.Text() != "" {
				return lines.Text()
			}
		}
		return "the end"
	}
	if got := next(); got != "data: now" {
		t.Errorf("at first %q", got)
	}
	b.Observe(drive.Event{At: time.Now(), Kind: drive.Started})
	if got := next(); got != "data: now" {
		t.Errorf("after an event %q", got)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if got := next(); got != "the end" {
		t.Errorf("after the end %q", got)
	}
}

// However many connect, so many are served at a time, and pages that stay open leave room for others.
func TestConnections(t *testing.T) {
	b := New(About{Queue: "q"}, nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- b.Serve(ctx, l) }()
	defer func() { cancel(); <-ended }()
	get := func(path string) (*http.Response, error) { return http.Get(fmt.Sprintf("http://%s%s", l.Addr(), path)) }
	for i := range maxWatchers + 1 {
		r, err := get("/events")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		if want := map[bool]int{true: http.StatusOK, false: http.StatusServiceUnavailable}[i < maxWatchers]; r.StatusCode != want {
			t.Errorf("page %d: %d, want %d", i, r.StatusCode, want)
		}
	}
	if r, err := get("/metrics"); err != nil || r.StatusCode != http.StatusOK {
		t.Error("beside the pages:", err)
	} else {
		_ = r.Body.Close()
	}
	http.DefaultClient.CloseIdleConnections()
	var open []net.Conn
	refused := 0
	for range maxConnections {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_ = c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		if _, err := c.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
			open = append(open, c)
		} else {
			refused++
		}
	}
	if len(open) > maxConnections-maxWatchers || len(open) < maxConnections-maxWatchers-2 || refused == 0 {
		t.Errorf("beside %d pages %d more are open, %d were refused", maxWatchers, len(open), refused)
	}
	for _, c := range open {
		_ = c.Close()
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		r, err := get("/metrics")
		if err == nil {
			_ = r.Body.Close()
			break
		}
		if time.Now().After(end) {
			t.Fatal("when there is room again:", err)
		}
	}
}

// fakeEngine takes a few requests for a look.
type fakeEngine struct {
	drive.Engine
	sent int64
}

func (f *fakeEngine) Snapshot(context.Context) (steer.Snapshot, error) {
	f.sent += 4
	return steer.Snapshot{}, nil
}

func TestMeasure(t *testing.T) {
	b := New(About{Queue: "q"}, nil)
	f := &fakeEngine{sent: 7}
	e := b.Measure(f, func() int64 { return f.sent })
	for range 3 {
		if _, err := e.Snapshot(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.sent++ // something between looks
	}
	body := get(t, b, "/metrics").Body.String()
	for _, want := range []string{"yardmaster_steer_requests_per_cycle 4", "yardmaster_steer_requests_total 14", "yardmaster_steer_snapshot_seconds_count 3"} {
		if !strings.Contains(body, want) {
			t.Errorf("no %q", want)
		}
	}
}

// A change that is refused while another waits to come into force leaves that one as it is.
func TestARefusalIsAChangeOfItsOwn(t *testing.T) {
	b := New(About{Queue: "q"}, nil)
	for _, e := range []drive.Event{
		{Kind: drive.Asked, Knob: knob, Old: 0.1, New: 0.2},
		{Kind: drive.Refused, Knob: knob, New: 0.3, Err: errors.New("too many writes")},
		{Kind: drive.Taken, Knob: knob, Old: 0.1, New: 0.2, Latency: time.Second},
	} {
		b.Observe(e)
	}
	w := b.Status().Writes
	if len(w) != 2 || w[0].Outcome != refused || w[0].Old.known() || w[0].Note != "too many writes" || w[1].Outcome != taken || w[1].New != 0.2 {
		t.Errorf("%+v", w)
	}
}

// A policy that sleeps is not told of every look. One that is good again still ends the alarm, unless everything was put back.
func TestSightBetweenDecisions(t *testing.T) {
	f := &fakeEngine{}
	for mode, code := range map[string]int{"act": http.StatusOK, "observe": http.StatusOK, "wait": http.StatusServiceUnavailable, "restore": http.StatusServiceUnavailable} {
		b := New(About{Queue: "q"}, nil)
		e := b.Measure(f, func() int64 { return f.sent })
		b.Observe(drive.Event{At: time.Now(), Kind: drive.Blind, Mode: mode, Err: errors.New("no answer")})
		if w := get(t, b, "/healthz"); w.Code != http.StatusServiceUnavailable {
			t.Errorf("%s: blind: %d", mode, w.Code)
		}
		if _, err := e.Snapshot(t.Context()); err != nil {
			t.Fatal(err)
		}
		if w := get(t, b, "/healthz"); w.Code != code {
			t.Errorf("%s: seeing: %d", mode, w.Code)
		}
	}
}

// The dashboard asks for metrics that there are, and for labels that they have.
func TestDashboard(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "dashboards", "steering.json"))
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Title         string
		UID           string
		SchemaVersion int
		Panels        []struct {
			Title   string
			Type    string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr, RefID string }
		}
		Templating struct {
			List []struct{ Name, Type, Query string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	if n := len(board.Templating.List); n != 1 || board.Templating.List[0].Type != "datasource" || board.SchemaVersion < 38 || board.UID == "" {
		t.Errorf("%d variables, schema %d, uid %q", n, board.SchemaVersion, board.UID)
	}
	scrape := get(t, play(t), "/metrics").Body.String()
	exported := map[string]bool{}
	for line := range strings.Lines(scrape) {
		if name, _, ok := strings.Cut(strings.TrimSpace(line), " "); ok && !strings.HasPrefix(line, "#") {
			name, _, _ = strings.Cut(name, "{")
			exported[name] = true
		}
	}
	asked := map[string]bool{}
	for _, p := range board.Panels {
		if p.Type != "row" && p.Type != "text" && len(p.Targets) == 0 {
			t.Errorf("panel %q asks for nothing", p.Title)
		}
		for _, target := range p.Targets {
			for _, name := range metricsIn(target.Expr) {
				asked[name] = true
				if !exported[name] {
					t.Errorf("panel %q asks for %s, which is not exported", p.Title, name)
				}
			}
		}
	}
	for _, full := range names(t, play(t)) {
		name, kind, _ := strings.Cut(full, " ")
		if kind == "histogram" {
			name += "_bucket"
		}
		if !asked[name] {
			t.Errorf("no panel shows %s", name)
		}
	}
	// Panels do not lie on each other.
	for i, a := range board.Panels {
		for _, b := range board.Panels[:i] {
			g, h := a.GridPos, b.GridPos
			if g.X < h.X+h.W && h.X < g.X+g.W && g.Y < h.Y+h.H && h.Y < g.Y+g.H {
				t.Errorf("panels %q and %q overlap", a.Title, b.Title)
			}
		}
		if a.GridPos.X+a.GridPos.W > 24 {
			t.Errorf("panel %q is beyond the edge", a.Title)
		}
	}
}

// metricsIn finds the metrics in an expression: names that begin as ours do, and those of the process.
func metricsIn(expr string) []string {
	var list []string
	for _, word := range strings.FieldsFunc(expr, func(r rune) bool {
		return r != '_' && r != ':' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	}) {
		if strings.HasPrefix(word, prefix) || strings.HasPrefix(word, "process_") {
			list = append(list, word)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func TestChart(t *testing.T) {
	if draw(nil, 1, nil) != nil {
		t.Error("a chart of nothing")
	}
	at := time.Unix(1e9, 0)
	points := []point{{at: at, share: 0.1}, {at: at.Add(10 * time.Second), share: math.NaN()}, {at: at.Add(20 * time.Second), share: 0.2}, {at: at.Add(30 * time.Second), share: -1}}
	c := draw(points, 0.1, func(v float64) string { return fmt.Sprint(v) }, series{"c2", func(p *point) float64 { return p.share }})
	if got := c.Lines[0].Path; strings.Count(got, "M") != 2 || strings.Contains(got, "NaN") {
		t.Errorf("gaps: %s", got)
	}
	if c.Ticks[2].Label != "0.2" {
		t.Errorf("the scale ends at %s", c.Ticks[2].Label)
	}
	for v, want := range map[float64]float64{0: 1, 0.13: 0.2, 0.2: 0.2, 0.21: 0.4, 7: 8, 10: 10, 61: 80} {
		if got := round(v); math.Abs(got-want) > 1e-9 {
			t.Errorf("round(%v) = %v, want %v", v, got, want)
		}
	}
}

// A page of elsewhere whose name was made to lead here gets nothing.
func TestOnlyByItsOwnName(t *testing.T) {
	h := atHome(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {}))
	for host, want := range map[string]int{
		"localhost:9099": 200, "127.0.0.1:9099": 200, "[::1]:9099": 200, "LOCALHOST": 200, "evil.example:9099": 421, "192.0.2.1": 421, "": 421,
	} {
		r := httptest.NewRequest(http.MethodGet, "/status.json", nil)
		r.Host = host
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != want {
			t.Errorf("%q: %d, want %d", host, w.Code, want)
		}
	}
}

func TestPasswordsAreNotShown(t *testing.T) {
	for cpu, want := range map[string]string{"": "allocation", "rm:cores=4": "rm:cores=4", "host": "host", "prometheus=http://me:secret@host?query=x": "prometheus"} {
		if got := SourceName(cpu); got != want {
			t.Errorf("%q: %q", cpu, got)
		}
	}
}
