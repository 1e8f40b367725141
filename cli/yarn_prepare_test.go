//go:build unix

package cli

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/yardmaster/yardmaster/internal/hostlock"
	"github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/steer/drive/live"
	"github.com/yardmaster/yardmaster/steer/session"
	"github.com/yardmaster/yardmaster/yarn/conf"
	"github.com/yardmaster/yardmaster/yarn/queues/queuestest"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// preparedRM answers as a ResourceManager whose queues may be changed over REST: it removes only stopped queues. Real ones are met in the lab.
type preparedRM struct {
	*httptest.Server
	mu      sync.Mutex
	conf    map[string]string
	apps    map[string]string // queues of applications
	asked   int
	before  func(n int) // called before and after the effect of the n-th request
	after   func(n int)
	fault   string // of the next change: refuse, drop (made, but the connection ends)
	fair    bool
	inAFile bool
	list    func() []any // of applications; nil: apps
	version int          // of the configuration
}

func newPreparedRM(t *testing.T) *preparedRM {
	rm := &preparedRM{conf: map[string]string{}, apps: map[string]string{}, before: func(int) {}, after: func(int) {}}
	for name, v := range map[string]string{"root.queues": "prod, batch", "root.prod.capacity": "40", "root.batch.capacity": "60", "root.batch.maximum-capacity": "80"} {
		rm.conf[conf.Prefix+name] = v
	}
	rm.Server = httptest.NewServer(rm)
	t.Cleanup(rm.Close)
	return rm
}

// queue is a queue and those below it, in the form of the REST API.
func (rm *preparedRM) queue(path, state string) map[string]any {
	if s := rm.conf[conf.Prefix+path+".state"]; s != "" {
		state = s
	}
	q := map[string]any{"queueName": path[strings.LastIndexByte(path, '.')+1:], "queuePath": path, "state": state}
	if x, err := strconv.ParseFloat(rm.conf[conf.Prefix+path+".capacity"], 64); err == nil {
		q["capacity"] = x
	}
	var kids []any
	for name := range strings.SplitSeq(rm.conf[conf.Prefix+path+".queues"], ",") {
		if name = strings.TrimSpace(name); name != "" {
			kids = append(kids, rm.queue(path+"."+name, state))
		}
	}
	if kids != nil {
		q["queues"] = map[string]any{"queue": kids}
	}
	for _, at := range rm.apps {
		if at == path && state == "STOPPED" {
			q["state"] = "DRAINING"
		}
	}
	return q
}

func (rm *preparedRM) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rm.mu.Lock()
	rm.asked++
	n := rm.asked
	rm.before(n)
	status, answer := rm.answer(r)
	drop := rm.fault == "drop" && r.Method == http.MethodPut
	if drop {
		rm.fault = ""
	}
	rm.after(n)
	rm.mu.Unlock()
	if drop {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}

func (rm *preparedRM) answer(r *http.Request) (int, any) {
	type m = map[string]any
	body, _ := io.ReadAll(r.Body)
	switch path := strings.TrimPrefix(r.URL.Path, "/ws/v1/cluster"); {
	case path == "/info":
		return 200, m{"clusterInfo": m{"id": 1, "state": "STARTED", "haState": "ACTIVE", "hadoopVersion": "3.4.2"}}
	case path == "/metrics":
		return 200, m{"clusterMetrics": m{"activeNodes": 4, "totalMB": 32768, "totalVirtualCores": 32}}
	case path == "/conf":
		store := "memory"
		if rm.inAFile {
			store = "file"
		}
		return 200, m{"properties": []any{m{"key": "yarn.scheduler.configuration.store.class", "value": store}}}
	case path == "/scheduler" && rm.fair:
		return 200, m{"scheduler": m{"schedulerInfo": m{"type": "fairScheduler", "rootQueue": m{"queueName": "root", "childQueues": m{"queue": []any{m{"queueName": "root.batch"}}}}}}}
	case path == "/scheduler":
		root := rm.queue("root", "RUNNING")
		root["type"] = "capacityScheduler"
		return 200, m{"scheduler": m{"schedulerInfo": root}}
	case path == "/scheduler-conf" && r.Method == http.MethodPut:
		var c rest.SchedulerChange
		err := xml.Unmarshal(body, &c)
		for _, q := range c.Remove {
			if strings.Contains(fmt.Sprint(rm.queue(q, "RUNNING")), "DRAINING") || rm.conf[conf.Prefix+q+".state"] != "STOPPED" {
				err = fmt.Errorf("%s is not stopped", q)
			}
		}
		if err != nil || rm.fault == "refuse" {
			return 400, fmt.Sprint("refused: ", err)
		}
		rm.conf = queuestest.Apply(rm.conf, c)
		rm.version++
		return 200, "applied"
	case path == "/scheduler-conf/validate" && rm.fault == "invalid":
		return 400, "refused: illegal capacity"
	case path == "/scheduler-conf/validate" && rm.fault != "old":
		return 200, "valid"
	case path == "/scheduler-conf/version":
		return 200, m{"versionID": rm.version + 1}
	case path == "/scheduler-conf" && rm.fault == "forbidden":
		return 403, "not an administrator"
	case path == "/scheduler-conf" && rm.inAFile:
		return 400, "Configuration change only supported by MutableConfScheduler."
	case path == "/apps" && rm.list != nil:
		return 200, m{"apps": m{"app": rm.list()}}
	case path == "/scheduler-conf":
		var list []any
		for name, v := range rm.conf {
			list = append(list, m{"name": name, "value": v})
		}
		return 200, m{"property": list}
	case path == "/apps":
		var list []any
		for id, q := range rm.apps {
			list = append(list, m{"id": id, "queue": q, "state": "RUNNING"})
		}
		return 200, m{"apps": m{"app": list}}
	case strings.HasPrefix(path, "/apps/") && r.Method == http.MethodPut:
		var to struct{ Queue string }
		_ = json.Unmarshal(body, &to)
		rm.apps[strings.Split(path, "/")[2]] = to.Queue
		return 200, to
	}
	return 404, "not found"
}

func (rm *preparedRM) settings() map[string]string {
	rm.mu.Lock()
	defer rm.mu.Unlock()
	return maps.Clone(rm.conf)
}

func (rm *preparedRM) set(f func()) {
	rm.mu.Lock()
	defer rm.mu.Unlock()
	f()
}

// run runs yarn prepare, and checks its exit code and what it says.
func (rm *preparedRM) run(t *testing.T, journal string, want int, part string, args ...string) {
	t.Helper()
	code, text := ran(t, append([]string{"yarn", "prepare", "--rm", rm.URL, "--queue", "root.batch", "--user", "u", "--journal", journal}, args...)...)
	if code != want || !strings.Contains(text, part) {
		t.Errorf("%v: %d, want %d and %q:\n%s", args, code, want, part, text)
	}
}

// Killed at any request, before or after its effect, the configuration is the old one or the new one, and --undo leads back to the old one;
// the applications are all there.
func TestPrepareKilledAnywhere(t *testing.T) {
	t.Parallel()
	// The requests of a whole run, counted.
	count := func(run func(rm *preparedRM, dir string)) int {
		rm, dir := newPreparedRM(t), t.TempDir()
		run(rm, dir)
		return rm.asked
	}
	begin := func(rm *preparedRM, dir string) {
		rm.run(t, dir, 0, "Prepared", "--policy", "fbq", "--act")
		rm.set(func() {
			rm.apps["application_1_1"], rm.apps["application_1_2"] = "root.batch-levels.batch-l1", "root.batch-levels.batch-l2"
			rm.apps["application_1_3"], rm.apps["application_1_4"] = "root.batch", "root.prod"
		})
	}
	acts := count(begin)
	all := count(func(rm *preparedRM, dir string) {
		begin(rm, dir)
		rm.run(t, dir, 0, "Moved 2 applications", "--undo")
	})
	kills := 0
	killed := func(rm *preparedRM, dir string, at int, late bool, args ...string) {
		t.Helper()
		c := started(t, append([]string{"yarn", "prepare", "--rm", rm.URL, "--queue", "root.batch", "--user", "u", "--journal", dir}, args...)...)
		hit := func(n int) {
			if n == at {
				_ = c.Process.Kill()
			}
		}
		rm.set(func() {
			if late {
				rm.after = hit
			} else {
				rm.before = hit
			}
		})
		if c.ends(t) < 0 {
			kills++
		}
		rm.set(func() { rm.before, rm.after = func(int) {}, func(int) {} })
	}
	for _, late := range []bool{false, true} {
		for at := 2; at <= all; at++ { // the first request may come before the trap is set
			rm, dir := newPreparedRM(t), t.TempDir()
			original := rm.settings()
			if at <= acts {
				killed(rm, dir, at, late, "--policy", "fbq", "--act")
			} else {
				begin(rm, dir)
				killed(rm, dir, at, late, "--undo")
			}
			rm.run(t, dir, 0, "", "--undo")
			rm.run(t, dir, 0, "nothing to take back", "--undo")
			if now := rm.settings(); !maps.Equal(now, original) {
				t.Errorf("killed at request %d (late %v): the configuration is %v, it was %v", at, late, now, original)
			}
			for id, q := range rm.apps {
				if want := map[bool]string{true: "root.prod", false: "root.batch"}[id == "application_1_4"]; q != want {
					t.Errorf("killed at request %d (late %v): %s is in %s", at, late, id, q)
				}
			}
			if _, open, err := live.ReadJournal(rm.journal(dir)); err != nil || len(open) > 0 {
				t.Errorf("killed at request %d (late %v): the journal has %v open, %v", at, late, open, err)
			}
		}
	}
	if kills < all {
		t.Errorf("only %d of %d runs were killed", kills, 2*(all-1))
	}
	t.Logf("%d kills, %d requests", kills, all)
}

func TestPrepareRefuses(t *testing.T) {
	t.Parallel()
	rm, dir := newPreparedRM(t), t.TempDir()
	original := rm.settings()
	same := func(what string, want map[string]string) {
		t.Helper()
		if now := rm.settings(); !maps.Equal(now, want) {
			t.Errorf("%s: the configuration is %v, it was %v", what, now, want)
		}
	}
	rm.set(func() { rm.fault = "refuse" })
	rm.run(t, dir, 1, "nothing is changed", "--policy", "fbq", "--act")
	same("refused", original)
	rm.set(func() {
		rm.fault, rm.conf[conf.Prefix+"root.batch.capacity"], rm.conf[conf.Prefix+"root.prod.capacity"] = "", "70", "30"
	})
	rm.run(t, dir, 0, "nothing to take back", "--undo")
	original = rm.settings()

	id := "yarn:" + strings.TrimPrefix(rm.URL, "http://") + "/root.batch"
	lock, err := hostlock.Take(id)
	if err != nil {
		t.Fatal(err)
	}
	rm.run(t, dir, 1, "is already being steered or restored", "--policy", "fbq", "--act")
	_ = lock.Close()
	same("steered", original)

	// The answer is lost, and the change was made.
	rm.set(func() { rm.fault = "drop" })
	rm.run(t, dir, 0, "Prepared root.batch", "--policy", "fbq", "--act")
	prepared := rm.settings()
	if lock, err = hostlock.Take(id + "-levels.batch-l2"); err != nil {
		t.Fatal(err)
	}
	rm.run(t, dir, 1, "is already being steered or restored", "--undo")
	_ = lock.Close()
	same("steered", prepared)

	// Somebody else's changes stay; a queue that they have added does not matter.
	key := conf.Prefix + "root.batch-levels.batch-l1.capacity"
	rm.set(func() { rm.conf[key] = "50" })
	rm.run(t, dir, 1, "batch-l1 capacity is 50, and was set to 99", "--undo")
	rm.run(t, dir, 1, "somebody else has changed", "--policy", "fbq", "--act")
	rm.set(func() {
		rm.conf[key] = prepared[key]
		rm.conf[conf.Prefix+"root.queues"] += ",new"
		rm.conf[conf.Prefix+"root.new.capacity"] = "0"
	})
	other := t.TempDir() // another account has no record
	rm.run(t, other, 1, "there is no record", "--undo")
	rm.run(t, other, 1, "is already there", "--policy", "fbq", "--act")
	rm.set(func() { rm.fault = "drop" })
	rm.run(t, dir, 0, "removed root.batch-levels", "--undo")
	want := maps.Clone(original)
	want[conf.Prefix+"root.queues"], want[conf.Prefix+"root.new.capacity"] = "prod,batch,new", "0"
	same("undone", want)

	// A journal that others could have written is not used.
	rm.run(t, dir, 0, "Prepared", "--policy", "tags", "--act")
	journal := filepath.Join(rm.journal(dir), "journal.jsonl")
	if err := os.Chmod(journal, 0o666); err != nil {
		t.Fatal(err)
	}
	rm.run(t, dir, 1, "others may write", "--undo")
	if err := os.Chmod(journal, 0o600); err != nil {
		t.Fatal(err)
	}
	code, text := ran(t, "yarn", "restore", "--rm", rm.URL, "--user", "u", "--journal", rm.journal(dir))
	if code != 1 || !strings.Contains(text, "yarn prepare --undo") {
		t.Errorf("%d: %s", code, text)
	}
	rm.run(t, dir, 0, "removed root.batch-levels", "--undo")

	rm.set(func() { rm.inAFile = true })
	rm.run(t, dir, 1, "--file capacity-scheduler.xml --out FILE", "--policy", "fbq", "--act")
	rm.set(func() { rm.inAFile, rm.fair = false, true })
	rm.run(t, dir, 1, "only the CapacityScheduler", "--policy", "fbq")
}

// journal is the journal's folder of root.batch.
func (rm *preparedRM) journal(dir string) string {
	return filepath.Join(dir, session.FileName("yarn:"+strings.TrimPrefix(rm.URL, "http://")+"/root.batch"))
}

// asRecord replaces the journal of a prepared queue by what earlier versions wrote, and returns its name.
func (rm *preparedRM) asRecord(t *testing.T, dir string) (path string) {
	t.Helper()
	_, open, err := live.ReadJournal(rm.journal(dir))
	if err != nil || len(open) != 1 {
		t.Fatal(open, err)
	}
	path = rm.journal(dir) + ".json"
	text := fmt.Sprintf(`{"queue":%q,"at":"2026-11-01T10:00:00Z","plan":%s}`, open[0].Engine, open[0].New.Text)
	if err := errors.Join(os.WriteFile(path, drive.Seal([]byte(text)), 0o600), os.RemoveAll(rm.journal(dir))); err != nil {
		t.Fatal(err)
	}
	return path
}

// The record of an earlier version that is damaged, or of something else, does no harm; and one that is still needed is not replaced.
func TestPrepareRecord(t *testing.T) {
	t.Parallel()
	rm, dir := newPreparedRM(t), t.TempDir()
	original := rm.settings()
	rm.run(t, dir, 0, "Prepared", "--policy", "fbq", "--act")
	prepared := rm.settings()
	rm.set(func() {
		rm.apps["application_1_1"], rm.apps["application_1_2"] = "root.batch-levels.batch-l1", "root.prod"
	})
	rm.run(t, t.TempDir(), 1, "root.batch-levels is already there", "--policy", "deadline", "--act") // another account
	path := rm.asRecord(t, dir)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := drive.Unseal(bytes.TrimSpace(good)) // as earlier versions wrote it
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, with, want string }{
		{string(plain), "", "unexpected end of JSON input"},
		{string(plain), "{}", "not the record of this queue"},
		{string(plain[100:]), "", "unexpected end of JSON input"},
		{`"root.batch-levels.batch-l2"`, `"root.prod"`, "level 2 is root.prod"},
		{`"parent":"root.batch-levels"`, `"parent":"root.prod"`, "it is no plan"},
		{`"parent":"root.batch-levels"`, `"parent":"root.batch-levels.x"`, "it is no plan"},
		{`"queue":"root",`, `"queue":"root.prod",`, "none of its settings"},
		{`"policy":"fbq"`, `"policy":"none"`, "it is no plan"},
		{`"old":"60"`, `"old":"90"`, ""}, // nothing else would show it
	} {
		edited := strings.Replace(string(plain), c.old, c.with, 1)
		if edited == string(plain) {
			t.Fatalf("the record has no %s: %s", c.old, plain)
		}
		for text, want := range map[string]string{edited: "it has no checksum", strings.Replace(string(good), c.old, c.with, 1): "checksum"} {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if text != string(good) {
				rm.run(t, dir, 1, want, "--undo")
				rm.run(t, dir, 1, want, "--policy", "fbq", "--act")
			}
		}
		if err := os.WriteFile(path, []byte(edited), 0o600); err != nil {
			t.Fatal(err)
		}
		if c.want != "" {
			rm.run(t, dir, 1, c.want, "--undo", "--force")
			rm.run(t, dir, 1, c.want, "--policy", "fbq", "--act", "--force")
		}
	}
	elsewhere := filepath.Join(t.TempDir(), "record") // by a link
	if err := os.WriteFile(elsewhere, good, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(path), os.Symlink(elsewhere, path)); err != nil {
		t.Fatal(err)
	}
	rm.run(t, dir, 1, "the record", "--undo")
	if now := rm.settings(); !maps.Equal(now, prepared) || rm.apps["application_1_1"] != "root.batch-levels.batch-l1" || rm.apps["application_1_2"] != "root.prod" {
		t.Errorf("%v, %v", now, rm.apps)
	}

	// Somebody has removed the new queues by hand, and has not restored the old settings.
	if err := errors.Join(os.Remove(path), os.WriteFile(path, good, 0o600)); err != nil {
		t.Fatal(err)
	}
	rm.set(func() {
		rm.conf = maps.Clone(original)
		rm.conf[conf.Prefix+"root.batch.capacity"], rm.conf[conf.Prefix+"root.prod.capacity"] = prepared[conf.Prefix+"root.batch.capacity"], "99.4"
	})
	rm.run(t, dir, 1, "root.batch-levels is gone", "--policy", "fbq", "--act")
	if _, open, err := live.ReadJournal(rm.journal(dir)); err != nil || len(open) != 1 || !strings.Contains(string(good), open[0].New.Text) {
		t.Errorf("the journal: %v, %v", open, err)
	}
	rm.set(func() { rm.conf = maps.Clone(original) })
	rm.run(t, dir, 0, " --journal "+dir, "--policy", "fbq", "--act")
	again, err := os.ReadFile(rm.asRecord(t, dir))
	if err == nil {
		if plain, err = drive.Unseal(bytes.TrimSpace(again)); err == nil {
			err = os.WriteFile(path, plain, 0o600)
		}
	}
	if err != nil {
		t.Fatal(err)
	}

	// Only the steerer may submit to the new queues. This goes with them.
	rm.set(func() {
		rm.conf[conf.Prefix+"root.batch-levels.acl_submit_applications"], rm.conf[conf.Prefix+"root.batch-levels.batch-l2.acl_submit_applications"] = "steer", " "
	})
	rm.run(t, dir, 1, "it has no checksum", "--undo")
	rm.run(t, dir, 0, "Moved 1 applications", "--undo", "--force")
	if now := rm.settings(); !maps.Equal(now, original) {
		t.Errorf("the configuration is %v, it was %v", now, original)
	}
}
