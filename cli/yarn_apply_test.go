//go:build unix

package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/steer/drive/live"
	"github.com/yardmaster/yardmaster/steer/session"
	"github.com/yardmaster/yardmaster/whatif/apply"
	"github.com/yardmaster/yardmaster/whatif/goal"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// busy gives the ResourceManager applications: forty that took 10 s before, and with each answer one more that takes as given.
func (rm *preparedRM) busy(took func(capacity string) time.Duration) {
	began, n := time.Now().UnixMilli()-1000_000, 0
	rm.mu.Lock() // its server runs
	defer rm.mu.Unlock()
	rm.list = func() (list []any) {
		app := func(i int, ms int64) {
			list = append(list, map[string]any{"id": fmt.Sprintf("application_1_%04d", i), "queue": "root.prod", "state": "FINISHED", "finalStatus": "SUCCEEDED", "name": "a\x1b[31m\nb",
				"startedTime": began + int64(i)*1000, "finishedTime": began + int64(i)*1000 + ms, "elapsedTime": ms})
		}
		for i := range 40 {
			app(i, 10_000+int64(i*37%1000))
		}
		n += 3
		for i := range n {
			app(940+i, took(rm.conf[conf.Prefix+"root.prod.capacity"]).Milliseconds()+int64(i))
		}
		return list
	}
}

func (rm *preparedRM) apply(t *testing.T, journal string, want int, part string, args ...string) string {
	t.Helper()
	code, text := ran(t, append([]string{"yarn", "apply", "--rm", rm.URL, "--user", "u", "--journal", journal}, args...)...)
	if code != want || !strings.Contains(text, part) {
		t.Errorf("%v: %d, want %d and %q:\n%s", args, code, want, part, text)
	}
	return text
}

func (rm *preparedRM) capacities() string {
	s := rm.settings()
	return s[conf.Prefix+"root.prod.capacity"] + " " + s[conf.Prefix+"root.batch.capacity"]
}

var raised = []string{"root.prod.capacity=70", "root.batch.capacity=30"}

func closed(t *testing.T, journal string) {
	t.Helper()
	if _, open, err := live.ReadJournal(journal); err != nil || len(open) > 0 {
		t.Errorf("the journal is open: %v %v", open, err)
	}
}

// outcomes are those in the record.
func outcomes(t *testing.T, journal string) string {
	t.Helper()
	var list []string
	for line := range strings.Lines(readText(t, filepath.Join(journal, session.RecordFile))) {
		var r apply.Record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		list = append(list, r.Outcome)
	}
	return strings.Join(list, ", ")
}

// Without --act nothing is changed, and the ResourceManager validates.
func TestApplyDryRun(t *testing.T) {
	t.Parallel()
	rm := newPreparedRM(t)
	before := fmt.Sprint(rm.settings())
	text := rm.apply(t, "", 0, "Valid, by the ResourceManager's own validation.", raised...)
	if !strings.Contains(text, "root.prod   capacity  40   70") {
		t.Errorf("no table:\n%s", text)
	}
	rm.apply(t, "", 1, "add up to 130", "root.prod.capacity=70")
	rm.apply(t, "", 1, `did you mean "root.prod"`, "root.prd.capacity=70")
	rm.apply(t, "", 0, "nothing to change", "root.prod.capacity=40")
	rm.apply(t, "", 1, "in the last day, and 10 are needed", append(raised, "--keep", "p95 elapsed of root.prod <= +2 %")...)
	rm.set(func() { rm.fault = "invalid" })
	rm.apply(t, "", 1, "would not take it", raised...)
	rm.set(func() { rm.fault = "old" })
	rm.apply(t, "", 0, "cannot validate a change", raised...)
	for part, args := range map[string][]string{
		"no change":              {},
		"is no change of":        {"x=", "y"},
		"nothing to watch":       {"root.prod.capacity=70", "--watch", "1m"},
		"use elapsed":            {"root.prod.capacity=70", "--goal", "mean slowdown of all"},
		"is not a bound":         {"root.prod.capacity=70", "--keep", "p95 elapsed of root.prod"},
		"changes name their":     {"root.prod.capacity=70", "--queue", "root.prod"},
		"--expect belongs to":    {"root.prod.capacity=70", "--expect", "x.json"},
		"give --watch more than": {"root.prod.capacity=70", "--goal", "mean elapsed of all", "--watch", "0s"},
	} {
		rm.apply(t, "", 2, part, args...)
	}
	if now := fmt.Sprint(rm.settings()); now != before {
		t.Errorf("changed to %s", now)
	}
}

// A change that does no harm stays, one that does is rolled back; the record says so.
func TestApplyWatches(t *testing.T) {
	t.Parallel()
	rm, journal := newPreparedRM(t), filepath.Join(t.TempDir(), "j")
	rm.busy(func(capacity string) time.Duration {
		return map[string]time.Duration{"70": 80 * time.Millisecond}[capacity] + 10*time.Second
	})
	watch := []string{"--goal", "mean elapsed of all", "--keep", "p95 elapsed of root.prod <= +2 %", "--watch", "4s", "--act"}
	// No application submitted since can have taken longer than the watch: the clock of a ResourceManager may jump.
	rm.apply(t, journal, 0, "No bound was broken", append(watch, raised...)...)
	if rm.capacities() != "70 30" || len(rm.settings()) != 4 {
		t.Errorf("%v", rm.settings())
	}
	closed(t, journal)
	rm.apply(t, journal, 0, "Nothing was watched", "root.prod.capacity=40", "root.batch.capacity=60", "--act")

	rm.set(func() {
		began, inner := time.Now(), rm.list
		rm.list = func() (list []any) { // 0.1 s before, all the time since
			for i, x := range inner() {
				a := x.(map[string]any)
				if i < 40 {
					a["finishedTime"], a["elapsedTime"] = a["startedTime"].(int64)+100, 100
				} else {
					a["state"], a["finalStatus"], a["finishedTime"], a["elapsedTime"] = "RUNNING", "UNDEFINED", 0, time.Since(began).Milliseconds()
				}
				list = append(list, a)
			}
			return list
		}
	})
	text := rm.apply(t, journal, 1, "rolled back: the old settings are in force again", append(watch, raised...)...)
	if rm.capacities() != "40 60" || len(rm.settings()) != 4 {
		t.Errorf("%v:\n%s", rm.settings(), text)
	}
	if strings.Contains(text, "\x1b") {
		t.Error("a name has reached the console")
	}
	closed(t, journal)
	if got := outcomes(t, journal); got != "started, kept, started, kept, started, rolled back" {
		t.Error(got)
	}
}

// A setting without a value is removed. The log shows values as a person writes them.
func TestApplyUnsets(t *testing.T) {
	rm, journal := newPreparedRM(t), filepath.Join(t.TempDir(), "j")
	rm.set(func() { rm.conf[conf.Prefix+"root.batch.maximum-allocation-mb"] = "80" })
	text := rm.apply(t, "", 0, "root.batch  maximum-allocation-mb  80   unset", "root.batch.maximum-allocation-mb=")
	if !strings.Contains(text, "Nothing is changed") || rm.settings()[conf.Prefix+"root.batch.maximum-allocation-mb"] != "80" {
		t.Errorf("%v:\n%s", rm.settings(), text)
	}
	text = rm.apply(t, journal, 0, "Kept", "root.batch.maximum-allocation-mb=", "root.prod.maximum-allocation-mb=90", "--act")
	if v, set := rm.settings()[conf.Prefix+"root.batch.maximum-allocation-mb"]; set || !strings.Contains(text, `old="80, unset" new="unset, 90"`) || strings.Contains(text, `[\"`) {
		t.Errorf("%q:\n%s", v, text)
	}
	rm.apply(t, journal, 0, "nothing to change", "root.batch.maximum-allocation-mb=", "--act")
	rm.apply(t, journal, 0, "old=90 new=95 original=90", "root.prod.maximum-allocation-mb=95", "--act")
}

// What was expected comes from compare or tune.
func TestApplyExpectation(t *testing.T) {
	f := applyFlags{expect: filepath.Join(t.TempDir(), "x.json"), figures: []goal.Goal{{Statistic: goal.Mean, Figure: goal.Elapsed, Queue: "root.prod"}}}
	run := `{"by_queue":[{"name":"root.prod","elapsed":{"count":5,"mean":%d}}]}`
	for text, want := range map[string]float64{
		`{"runs":[[` + fmt.Sprintf(run, 10) + `],[` + fmt.Sprintf(run, 15) + `]]}`:   0.5,
		`{"expected":[{"name":"mean elapsed of root.prod","before":20,"after":15}]}`: -0.25,
		`{"runs":[[null]]}`: 0, `{`: 0,
	} {
		if err := os.WriteFile(f.expect, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := f.expectation(); (err != nil) != (want == 0) || got["mean elapsed of root.prod"] != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}

// A signal rolls back, unless the change shall stay; somebody else's change is not overwritten.
func TestApplyEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, want, part string
		args             []string
		do               func(*preparedRM, *command)
	}{
		{"signal", "40 60", "a signal ended the watch", nil, func(_ *preparedRM, y *command) { _ = y.Process.Signal(syscall.SIGTERM) }},
		{"stays", "70 30", "Kept", []string{"--keep-on-exit"}, func(_ *preparedRM, y *command) { _ = y.Process.Signal(syscall.SIGTERM) }},
		{"kill", "40 60", "", nil, func(_ *preparedRM, y *command) { _ = y.Process.Kill() }},
		{"others", "65 35", "somebody else has changed root.prod.capacity to 65", nil, func(rm *preparedRM, _ *command) {
			rm.set(func() {
				rm.conf[conf.Prefix+"root.prod.capacity"], rm.conf[conf.Prefix+"root.batch.capacity"] = "65", "35"
			})
		}},
		{"forgotten", "40 60", "the old settings are there again", nil, func(rm *preparedRM, _ *command) {
			rm.set(func() {
				rm.conf[conf.Prefix+"root.prod.capacity"], rm.conf[conf.Prefix+"root.batch.capacity"] = "40", "60"
				for name := range rm.conf {
					if strings.Contains(name, "yardmaster") {
						delete(rm.conf, name)
					}
				}
			})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rm, journal := newPreparedRM(t), filepath.Join(t.TempDir(), "j")
			rm.busy(func(string) time.Duration { return 10 * time.Second })
			y := started(t, append(append([]string{"yarn", "apply", "--rm", rm.URL, "--user", "u", "--journal", journal, "--goal", "mean elapsed of all", "--watch", "10s", "--act"}, raised...), c.args...)...)
			y.until(t, "in force")
			if marks := fmt.Sprint(rm.settings()); !strings.Contains(marks, "root.yardmaster.journal.capacities") {
				t.Errorf("no mark: %s", marks)
			}
			y.until(t, "mean elapsed of all")
			c.do(rm, y)
			y.ends(t)
			if text := strings.Join(y.lines, "\n") + y.err.String(); !strings.Contains(text, c.part) {
				t.Errorf("no %q:\n%s", c.part, text)
			}
			eventually(t, "the journal is closed", func() bool { _, open, err := live.ReadJournal(journal); return err == nil && len(open) == 0 })
			if got := rm.capacities(); got != c.want || strings.Contains(fmt.Sprint(rm.settings()), "yardmaster") {
				t.Errorf("%v", rm.settings())
			}
		})
	}
}

// What an earlier command and its guard left behind is reported, and restored first.
func TestApplyUnfinished(t *testing.T) {
	t.Parallel()
	rm, journal := newPreparedRM(t), filepath.Join(t.TempDir(), "j")
	rm.busy(func(string) time.Duration { return 10 * time.Second })
	y := started(t, append([]string{"yarn", "apply", "--rm", rm.URL, "--user", "u", "--journal", journal, "--goal", "mean elapsed of all", "--watch", "10s", "--act"}, raised...)...)
	y.until(t, "in force")
	guard := strings.TrimSpace(readText(t, filepath.Join(journal, session.GuardFile)))
	var pid int
	if _, err := fmt.Sscan(guard, &pid); err != nil {
		t.Fatal(err)
	}
	_ = syscall.Kill(pid, syscall.SIGSTOP)
	_ = y.Process.Kill()
	_ = syscall.Kill(pid, syscall.SIGKILL)
	y.ends(t)
	rm.apply(t, journal, 0, "Unfinished: root.prod.capacity, root.batch.capacity", raised...)
	if rm.capacities() != "70 30" {
		t.Error("the dry run has restored")
	}
	text := rm.apply(t, journal, 0, "Restored 1 setting", append(raised, "--act")...)
	if rm.capacities() != "70 30" || !strings.Contains(text, "Kept") {
		t.Errorf("%v:\n%s", rm.settings(), text)
	}
	closed(t, journal)
}

// Without write access the file is written, with how to hand it over.
func TestApplyHandsOver(t *testing.T) {
	t.Parallel()
	rm := newPreparedRM(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "capacity-scheduler.xml")
	var b strings.Builder
	b.WriteString("<configuration>\n  <!-- ours -->\n")
	for name, v := range rm.settings() {
		fmt.Fprintf(&b, "  <property><name>%s</name><value>%s</value></property>\n", name, v)
	}
	b.WriteString("</configuration>\n")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, how := range []string{"file", "forbidden"} {
		rm.set(func() { rm.inAFile, rm.fault = how == "file", how })
		rm.apply(t, "", 1, "name the ResourceManager's file with --file", raised...)
		out := filepath.Join(dir, how+".xml")
		rm.apply(t, "", 0, "yarn rmadmin -refreshQueues", append(raised, "--file", file, "--out", out)...)
		rm.apply(t, "", 1, "not applied: hand the new configuration over", append(raised, "--file", file, "--out", out, "--act")...)
		if text := readText(t, out); !strings.Contains(text, "<!-- ours -->") || !strings.Contains(text, "root.prod.capacity</name><value>70<") {
			t.Errorf("%s", text)
		}
	}
	rm.set(func() { rm.inAFile, rm.fault = false, "" })
	whole := strings.Replace(readText(t, filepath.Join(dir, "file.xml")), "</configuration>", "<property><name>yarn.resourcemanager.hostname</name><value>rm</value></property></configuration>", 1)
	if err := os.WriteFile(filepath.Join(dir, "file.xml"), []byte(whole), 0o600); err != nil {
		t.Fatal(err)
	}
	text := rm.apply(t, filepath.Join(dir, "j"), 0, "Ignored in "+filepath.Join(dir, "file.xml")+", because the CapacityScheduler has no such setting: yarn.resourcemanager.hostname.", filepath.Join(dir, "file.xml"), "--act")
	if rm.capacities() != "70 30" {
		t.Errorf("a whole file: %v\n%s", rm.settings(), text)
	}
}

// A new file that another account can write or replace may be looked at, but not applied: it may have been replaced since.
func TestApplyFileOfOthers(t *testing.T) {
	rm := newPreparedRM(t)
	dir := t.TempDir()
	ours, journal := filepath.Join(dir, "ours.xml"), filepath.Join(dir, "j")
	rm.apply(t, journal, 0, "Nothing is changed", append(raised, "--out", ours)...)
	before := rm.capacities()
	shared := filepath.Join(dir, "shared")
	for _, err := range []error{os.Mkdir(shared, 0o700), os.Chmod(shared, 0o777), os.Chmod(ours, 0o666), os.Link(ours, filepath.Join(shared, "new.xml")),
		os.Symlink(filepath.Join(shared, "new.xml"), filepath.Join(dir, "link.xml")), syscall.Mkfifo(filepath.Join(dir, "pipe.xml"), 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	rm.apply(t, journal, 0, "Nothing is changed", ours)
	rm.apply(t, journal, 1, "others may write", ours, "--act")
	if err := os.Chmod(ours, 0o600); err != nil {
		t.Fatal(err)
	}
	rm.apply(t, journal, 1, "others may write", filepath.Join(shared, "new.xml"), "--act")
	rm.apply(t, journal, 1, "others may write", filepath.Join(dir, "link.xml"), "--act")
	rm.apply(t, journal, 1, "not a regular file", filepath.Join(dir, "pipe.xml"), "--act")
	if got := rm.capacities(); got != before {
		t.Errorf("the capacities are %s, and were %s", got, before)
	}
	rm.apply(t, journal, 0, "Kept", ours, "--act")
}
