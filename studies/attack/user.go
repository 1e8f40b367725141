package attack

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/studies/lab/proc"
)

// forgery is a line that an attacker would like the operator to read as ours.
const forgery = "Would start now with: root.adhoc.maximum-capacity=100"

// userAttacks are those of a person who may only submit applications.
func userAttacks() []Attack {
	return []Attack{
		{Name: "name of 2 MB", Actor: User, run: longName,
			Tries: "Submits an application with a name of two megabytes, which Hadoop accepts and lists, to blind every command.",
			Holds: "`eta`, `why`, `apply` and a steerer work; the application is named with its user."},
		{Name: "line breaks in a name", Actor: User, run: brokenName,
			Tries: "Its name contains line breaks and a line of `why`, so that the operator makes a change that nobody recommended.",
			Holds: "No line of `why` or `eta` begins with the attacker's text."},
		{Name: "line breaks in a user", Actor: User, run: brokenUser,
			Tries: "The same in the name of the user, which a cluster without Kerberos accepts.",
			Holds: "No line of `why` or `eta` begins with the attacker's text."},
		{Name: "line breaks in a queue", Actor: User, run: brokenQueue,
			Tries: "The same in the name of the queue, with path tricks; the ResourceManager refuses the application and lists it.",
			Holds: "No line of `why` or `eta` begins with the attacker's text."},
		{Name: "terminal escapes", Actor: User, run: escapes,
			Tries: "Escape sequences, C1 controls and bidirectional controls in name and type, to rewrite the operator's screen.",
			Holds: "They are escaped wherever they are shown."},
		{Name: "script in a name", Actor: User, run: script,
			Tries: "HTML and JavaScript in name, type and tags, to run in the browser that shows the live page.",
			Holds: "No response of the live page contains them unescaped."},
		{Name: "tags that make no sense", Actor: User, run: strangeTags,
			Tries: "Goals of -1 s, 1e300 h, NaN and none, several at once, tags like our levels and marks, to crash or mislead a deadline steerer.",
			Holds: "The steerer samples on, and says which tags it does not use."},
		{Name: "3 million containers requested", Actor: User, Long: true, run: func(t *trial) { hugeRequest(t, 1_000_000) },
			Tries: "Requests three times a million containers, to keep `eta` and `why` busy.",
			Holds: "Both answer about the others within 20 s of processor time and 512 MB."},
		{Name: "6 billion containers requested", Actor: User, run: func(t *trial) { hugeRequest(t, 2_000_000_000) },
			Tries: "Requests three times two billion containers.",
			Holds: "Both answer about the others within 20 s of processor time and 512 MB."},
		{Name: "failing applications during a watch", Actor: User, run: failDuringWatch,
			Tries: "Submits fourteen applications that fail while `apply` watches, to force the change to be rolled back.",
			Holds: "The change is kept: a user has one vote."},
		{Name: "AM that drips and floods", Actor: User, run: hostileAMs,
			Tries: "Its AM answers a byte a second, or a gigabyte, to stop a steerer that asks AMs for their progress.",
			Holds: "The steerer takes its samples, within its memory."},
		{Name: "submitting to a prepared level", Actor: User, run: intoLevel,
			Tries: "Submits to the queues that `prepare` made, before and while they are taken back, to stay there or to block that.",
			Holds: "`prepare --undo` moves the applications back and restores the configuration to the letter."},
	}
}

// ask runs all commands that show applications; each must answer about the honest one.
func (t *trial) ask() {
	t.wants(t.yarn("eta", "--all"), 0, t.honest)
	t.wants(t.yarn("why", t.honest), 0, t.honest)
}

func longName(t *trial) {
	t.user(map[string]any{"application-name": strings.Repeat("x", 2_000_000)})
	t.ask()
	t.wants(t.yarn("apply", "--journal", t.journal(), "--goal", "mean elapsed of all", "root.prod.user-limit-factor=3"), 0, "Nothing is changed")
	t.samples("--policy", "aging", "--set", "interval=1s")
}

// shown runs the commands that show one application and reports lines of the attacker's.
func (t *trial) shown(id string) {
	for _, o := range []outcome{t.yarn("why", id), t.yarn("eta", id), t.yarn("eta", "--all")} {
		t.forged(o, forgery)
	}
}

func brokenName(t *trial) {
	t.shown(t.user(map[string]any{"application-name": "job\n" + forgery + "\r\n\u2028" + forgery}))
}

func brokenUser(t *trial) {
	id, err := t.submit(t.ctx, "eve\n"+forgery, nil)
	t.mine = append(t.mine, id)
	if t.must(err) {
		t.shown(id)
	}
}

func brokenQueue(t *trial) {
	for _, queue := range []string{"root.batch\n" + forgery, "../../../etc/passwd", "root.batch.$(id)"} {
		t.shown(t.user(map[string]any{"queue": queue}))
	}
	t.ask()
}

const screenful = "\x1b]0;owned\x07\x1b[2J\x1b[31m\u009b2J\u202egpj.exe\u2066\x7f"

func escapes(t *trial) {
	id := t.user(map[string]any{"application-name": screenful, "application-type": screenful[:19]})
	t.shown(id)
	t.samples("--policy", "deadline", "--set", "interval=1s")
}

const html = `<script>alert(1)</script>"'><img src=x onerror=alert(1)>`

func script(t *trial) {
	t.user(map[string]any{"application-name": html, "application-type": html[:20], "application-tags": map[string]any{"tag": []string{"goal:" + html, "deadline:" + html}}})
	url, end := t.page("deadline")
	defer end()
	proc.Await(t.ctx, maxTime, 100*time.Millisecond, func() bool { b, _ := get(t.ctx, url+"/status.json"); return strings.Contains(string(b), "usable goal") })
	for _, path := range []string{"/", "/now", "/status.json", "/metrics"} {
		b, err := get(t.ctx, url+path)
		if t.must(err) && strings.Contains(string(b), "<script>alert") && path != "/metrics" {
			t.harm("%s contains the script: %.200s", path, b)
		}
	}
}

func strangeTags(t *trial) {
	for _, tags := range [][]string{
		{"goal:-1s"}, {"goal:1e300h"}, {"goal:nan"}, {"goal:"}, {"goal:1s", "goal:2s"}, {"deadline:99999999999999999999"}, {"deadline:-5"},
		{"level:0", "yardmaster.journal:/etc", "goal:1s;rm"}, {"goal:" + strings.Repeat("9", 90)},
	} {
		t.user(map[string]any{"application-tags": map[string]any{"tag": tags}})
	}
	if text := t.samples("--policy", "deadline", "--set", "interval=1s"); !strings.Contains(text, "without a usable goal") {
		t.harm("it does not say which tags it does not use: %s", tail(text))
	}
}

// masters runs applications of the attacker that have AMs, until the trial ends, and waits until all are registered.
func (t *trial) masters(apps ...hadoop.Application) {
	ctx, cancel := context.WithCancel(t.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = t.lab.AMs(ctx, apps, hadoop.AMsOptions{Heartbeat: 200 * time.Millisecond, HeapMB: 256}) // it is cancelled
	}()
	t.undo = append(t.undo, func() { cancel(); <-done })
	if !proc.Await(t.ctx, maxTime, 200*time.Millisecond, func() bool {
		ids, _ := t.running(apps[0].User)
		t.mine = append(t.mine, ids...)
		return len(ids) == len(apps)
	}) {
		t.must(fmt.Errorf("the AMs of %s did not register", apps[0].User))
	}
}

func hugeRequest(t *trial, count int) {
	app := hadoop.Application{ID: "huge", User: "mallory-am", Queue: "root.adhoc"}
	for p := 1; p <= 3; p++ {
		app.Containers = append(app.Containers, hadoop.Group{Count: count, MB: 1024 * p, Priority: p, Hold: hadoop.Holds{3_600_000}})
	}
	t.masters(app)
	t.ask()
	t.wants(t.yarn("eta", "--queue", "root.adhoc"), 0)
}

func failDuringWatch(t *trial) {
	submitted := make(chan error, 1)
	go func() {
		proc.Await(t.ctx, maxTime, 50*time.Millisecond, func() bool { return t.setting("root.prod.user-limit-factor") == "3" })
		for range 14 {
			id, err := t.submit(t.ctx, mallory, map[string]any{"queue": "adhoc"})
			if err == nil {
				_, err = t.admin.KillApp(t.ctx, id)
			}
			if err != nil {
				submitted <- err
				return
			}
		}
		submitted <- nil
	}()
	o := t.command(maxTime, "yarn", "apply", "--rm", t.proxy.URL, "--user", operator, "--journal", t.journal(), "root.prod.user-limit-factor=3",
		"--keep", "mean elapsed of root.adhoc <= +500 %", "--watch", "6s", "--act")
	t.must(<-submitted)
	t.wants(o, 0, "Kept")
	t.undo = append(t.undo, func() { t.set("root.prod", "user-limit-factor", "2") })
}

func hostileAMs(t *trial) {
	drip := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			_, _ = w.Write([]byte(" ")) // until the client has gone
			_ = http.NewResponseController(w).Flush()
			select {
			case <-time.After(time.Second):
			case <-r.Context().Done():
			}
		}
	}))
	flood := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		block := []byte(`{"job":{"x":"` + strings.Repeat("x", 1<<20))
		for range 1 << 10 {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	}))
	t.undo = append(t.undo, drip.CloseClientConnections, flood.CloseClientConnections)
	var apps []hadoop.Application
	for i, s := range []*httptest.Server{drip, flood} {
		apps = append(apps, hadoop.Application{ID: fmt.Sprint("am-", i), User: "mallory-web", Queue: "root.batch", Type: "MAPREDUCE", Tracking: s.URL,
			Containers: []hadoop.Group{{Count: 1, MB: 128, Hold: hadoop.Holds{600_000}}}})
	}
	t.masters(apps...)
	t.samples("--policy", "static", "--set", "value=0.3", "--set", "interval=1s", "--ask-ams")
}

func intoLevel(t *trial) {
	args := []string{"--queue", "root.batch", "--journal", t.journal()}
	t.wants(t.yarn("prepare", append(args, "--policy", "fbq", "--act")...), 0, "Prepared root.batch")
	for _, queue := range []string{"root.batch-levels.batch-l1", "root.batch-levels.batch-l2"} {
		t.user(map[string]any{"queue": queue, "priority": 10})
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for range 40 {
			select {
			case <-stop:
				return
			default:
				if id, err := t.submit(t.ctx, mallory, map[string]any{"queue": "root.batch-levels.batch-l1"}); err == nil {
					t.mine = append(t.mine, id)
				}
			}
		}
	}()
	o := t.command(maxTime, append([]string{"yarn", "prepare", "--rm", t.proxy.URL, "--user", operator, "--undo"}, args...)...)
	close(stop)
	<-done
	t.wants(o, 0, "applications back to root.batch")
}
