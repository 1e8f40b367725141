//go:build unix

package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/yardmaster/yardmaster/steer/drive/live"
	"github.com/yardmaster/yardmaster/steer/session"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// steeredRM answers as a ResourceManager with one queue, two jobs that run and three that wait. Real daemons are met in the lab.
type steeredRM struct {
	*httptest.Server
	mu   sync.Mutex
	file string // fair-scheduler.xml, read at every request; "": a CapacityScheduler with settings over REST
	conf string // the queue's setting; "": not set
	mark string // likewise
	puts []string
	down bool
	leaf string // the queue's name, default at first
}

func newSteeredRM(t *testing.T, file string) *steeredRM {
	rm := &steeredRM{file: file, leaf: "default"}
	rm.Server = httptest.NewServer(rm)
	t.Cleanup(rm.Close)
	return rm
}

var shareIn = regexp.MustCompile(`<maxAMShare>(.*)</maxAMShare>`)

// share is what is in force.
func (rm *steeredRM) share() float64 {
	text := rm.conf
	if rm.file != "" {
		data, _ := os.ReadFile(rm.file)
		if m := shareIn.FindSubmatch(data); m != nil {
			text = string(m[1])
		}
	}
	if x, err := strconv.ParseFloat(text, 64); err == nil {
		return x
	}
	return 0.1
}

func (rm *steeredRM) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rm.mu.Lock()
	defer rm.mu.Unlock()
	if rm.down {
		http.Error(w, "down", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	switch path := r.URL.Path; {
	case path == "/ws/v1/cluster/info":
		fmt.Fprint(w, `{"clusterInfo":{"id":1,"startedOn":1,"state":"STARTED","haState":"ACTIVE","hadoopVersion":"3.4.2"}}`)
	case path == "/ws/v1/cluster/metrics":
		fmt.Fprint(w, `{"clusterMetrics":{"appsPending":3,"appsRunning":2,"totalMB":32768,"allocatedMB":8192,"totalVirtualCores":32,"allocatedVirtualCores":8,"activeNodes":4,"totalNodes":4}}`)
	case path == "/ws/v1/cluster/scheduler" && rm.file != "":
		fmt.Fprintf(w, `{"scheduler":{"schedulerInfo":{"type":"fairScheduler","rootQueue":{"queueName":"root","childQueues":{"queue":[{"type":"fairSchedulerLeafQueueInfo","queueName":"root.default",
"numActiveApps":2,"numPendingApps":3,"fairResources":{"memory":32768,"vCores":32},"maxResources":{"memory":32768,"vCores":32},"usedResources":{"memory":8192,"vCores":8},
"amUsedResources":{"memory":4096,"vCores":2},"amMaxResources":{"memory":%d,"vCores":32}}]}}}}}`, int(rm.share()*32768))
	case path == "/ws/v1/cluster/scheduler":
		fmt.Fprintf(w, `{"scheduler":{"schedulerInfo":{"type":"capacityScheduler","queueName":"root","queuePath":"root","capacity":100,"queues":{"queue":[{"type":"capacitySchedulerLeafQueueInfo",
"queueName":%q,"queuePath":%q,"capacity":100,"absoluteCapacity":100,"absoluteMaxCapacity":100,"numActiveApplications":2,"numPendingApplications":3,
"usedAMResource":{"memory":4096,"vCores":2},"AMResourceLimit":{"memory":%d,"vCores":32},"resourcesUsed":{"memory":8192,"vCores":8},"configuredMaxAMResourceLimit":%v}]}}}}`, rm.leaf, "root."+rm.leaf, int(rm.share()*32768), rm.share())
	case path == "/conf":
		store := "memory"
		if rm.file != "" {
			store = "file"
		}
		w.Header().Set("Content-Type", "application/xml")
		fmt.Fprintf(w, `<configuration><property><name>yarn.scheduler.minimum-allocation-mb</name><value>1024</value></property>
<property><name>yarn.scheduler.configuration.store.class</name><value>%s</value></property></configuration>`, store)
	case path == "/ws/v1/cluster/apps":
		state := r.URL.Query().Get("states")
		var apps []string
		for i, s := range []string{"RUNNING", "RUNNING", "ACCEPTED", "ACCEPTED", "ACCEPTED"} {
			if s == state {
				apps = append(apps, fmt.Sprintf(`{"id":"application_1_%04d","user":"u","queue":"root.default","state":%q,"applicationType":"MAPREDUCE","progress":%d,"startedTime":%d,"allocatedMB":2048,"runningContainers":2}`, i, s, 20*i, 1000+i))
			}
		}
		fmt.Fprintf(w, `{"apps":{"app":[%s]}}`, strings.Join(apps, ","))
	case path == "/ws/v1/cluster/scheduler-conf" && r.Method == http.MethodPut:
		body, _ := io.ReadAll(r.Body)
		var c rest.SchedulerChange
		if err := xml.Unmarshal(body, &c); err != nil || len(c.Update) != 1 || len(c.Update[0].Settings) != 2 {
			http.Error(w, "bad", http.StatusBadRequest)
			return
		}
		rm.conf, rm.mark = c.Update[0].Settings[0].Value, c.Update[0].Settings[1].Value
		rm.puts = append(rm.puts, rm.conf)
		fmt.Fprint(w, "Configuration change successfully applied.")
	case path == "/ws/v1/cluster/scheduler-conf":
		setting := ""
		if rm.conf != "" {
			setting = `{"name":"yarn.scheduler.capacity.root.default.maximum-am-resource-percent","value":"` + rm.conf + `"},`
		}
		if rm.mark != "" {
			setting += `{"name":"yarn.scheduler.capacity.root.default.yardmaster.journal","value":"` + rm.mark + `"},`
		}
		fmt.Fprintf(w, `{"property":[%s{"name":"yarn.scheduler.capacity.root.queues","value":"default"}]}`, setting)
	default:
		http.NotFound(w, r)
	}
}

func (rm *steeredRM) setting() string {
	rm.mu.Lock()
	defer rm.mu.Unlock()
	return rm.conf
}

func (rm *steeredRM) set(f func()) {
	rm.mu.Lock()
	defer rm.mu.Unlock()
	f()
}

// command is a steerer at work.
type command struct {
	*exec.Cmd
	out   *bufio.Scanner
	lines []string
	err   *said
}

// said is standard error, which can be read while it is written.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// steered starts yarn steer as a person would.
func steered(t *testing.T, rm *steeredRM, args ...string) *command {
	t.Helper()
	return started(t, append([]string{"yarn", "steer", "--rm", rm.URL, "--queue", "root.default", "--listen", "127.0.0.1:0", "--user", "u"}, args...)...)
}

// started starts the command.
func started(t *testing.T, args ...string) *command {
	t.Helper()
	text := &said{}
	return startedTo(t, text, text, args...)
}

// startedTo starts the command with standard error as given.
func startedTo(t *testing.T, stderr io.Writer, text *said, args ...string) *command {
	t.Helper()
	c := &command{Cmd: exec.Command("yardmaster", args...), err: text}
	c.Stderr = stderr
	c.Env = append(os.Environ(), "HOME="+t.TempDir(), "XDG_STATE_HOME=")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.out = bufio.NewScanner(out)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill() })
	return c
}

// until reads lines until one has the text.
func (c *command) until(t *testing.T, text string) string {
	t.Helper()
	for c.out.Scan() {
		c.lines = append(c.lines, c.out.Text())
		if strings.Contains(c.out.Text(), text) {
			return c.out.Text()
		}
	}
	_ = c.Wait()
	t.Fatalf("no line with %q:\n%s\n%s", text, strings.Join(c.lines, "\n"), c.err)
	return ""
}

// ends waits for the end, and returns the exit code.
func (c *command) ends(t *testing.T) int {
	t.Helper()
	done := time.AfterFunc(2*time.Minute, func() { _ = c.Process.Kill() })
	defer done.Stop()
	for c.out.Scan() {
		c.lines = append(c.lines, c.out.Text())
	}
	_ = c.Wait() // the code tells
	return c.ProcessState.ExitCode()
}

var pageAt = regexp.MustCompile(`page: +(http://127\.0\.0\.1:\d+)/`)

// Acting, then told to end: the value comes back, and the command has done its work. Meanwhile the page and the metrics say what is so.
func TestSteerRestoresWhenToldTo(t *testing.T) {
	t.Parallel()
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, syscall.SIGHUP) // the commands start with it at its default, even where it is ignored (nohup)
	t.Cleanup(func() { signal.Stop(heard) })
	for _, sig := range []os.Signal{syscall.SIGTERM, syscall.SIGHUP, os.Interrupt} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			rm := newSteeredRM(t, "")
			journal := t.TempDir()
			c := steered(t, rm, "--policy", "static", "--set", "value=0.3", "--set", "interval=1s", "--act", "--journal", journal)
			c.until(t, "msg=taken")
			if got := rm.setting(); got != "0.3" {
				t.Errorf("while it acts: %q", got)
			}
			page := pageAt.FindStringSubmatch(c.err.String())
			if page == nil {
				t.Fatalf("no page: %s", c.err)
			}
			for path, want := range map[string]string{"/metrics": "yardmaster_steer_share_in_force 0.3\n", "/": "root.default under static", "/healthz": "ok: mode act", "/status.json": `"original": "unset (0.1)"`} {
				if body := fetch(t, page[1]+path); !strings.Contains(body, want) {
					t.Errorf("%s has no %q:\n%s", path, want, body)
				}
			}
			if err := c.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if code := c.ends(t); code != 0 {
				t.Errorf("it ended with %d", code)
			}
			if got := rm.setting(); got != "" {
				t.Errorf("left behind: %q", got)
			}
			if text := strings.Join(c.lines, "\n"); !strings.Contains(text, "msg=restored") || !strings.Contains(text, "msg=stopped") {
				t.Errorf("%s", text)
			}
			if strings.Contains(c.err.String(), "guard") {
				t.Errorf("the guard had something to say: %s", c.err)
			}
			if _, open, err := live.ReadJournal(journal); err != nil || len(open) > 0 {
				t.Errorf("the journal: %v, %v", open, err)
			}
		})
	}
}

func fetch(t *testing.T, url string) string {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const fairXML = `<?xml version="1.0"?>
<allocations>
  <queue name="default">
    <maxAMShare>0.25</maxAMShare> <!-- as agreed -->
  </queue>
</allocations>
`

// fairFile writes a file that is old enough to be changed at once.
func fairFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fair-scheduler.xml")
	if err := os.WriteFile(path, []byte(fairXML), 0o644); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	return path
}

// Killed without a chance to do anything: the guard puts the file back, to the letter.
func TestGuardRestoresAfterAKill(t *testing.T) {
	t.Parallel()
	file := fairFile(t)
	rm := newSteeredRM(t, file)
	journal := t.TempDir()
	c := steered(t, rm, "--policy", "static", "--set", "value=0.5", "--set", "interval=1s", "--act", "--journal", journal, "--file", file)
	c.until(t, "msg=asked")
	if data, _ := os.ReadFile(file); !strings.Contains(string(data), "<maxAMShare>0.5<") {
		t.Errorf("while it acts:\n%s", data)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.ends(t) // when the guard has ended, too: it holds standard error
	if data, _ := os.ReadFile(file); string(data) != fairXML {
		t.Errorf("left behind:\n%s\n%s", data, c.err)
	}
	if text := c.err.String(); !strings.Contains(text, "guard: the steerer exited without restoring: restoring 1 setting") || !strings.Contains(text, "msg=restored") {
		t.Errorf("%s", text)
	}
	if _, open, err := live.ReadJournal(journal); err != nil || len(open) > 0 {
		t.Errorf("the journal: %v, %v", open, err)
	}
}

// Steerer and guard killed together: yarn restore finds by itself what to do, and so does the next steerer.
func TestRestoreByHand(t *testing.T) {
	t.Parallel()
	rm := newSteeredRM(t, "")
	rm.set(func() { rm.conf = "0.15" })
	journal := t.TempDir()
	leave := func() {
		c := steered(t, rm, "--policy", "static", "--set", "value=0.3", "--set", "interval=1s", "--act", "--journal", journal)
		c.until(t, "msg=taken")
		pid, err := strconv.Atoi(strings.TrimSpace(readText(t, filepath.Join(journal, session.GuardFile))))
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = c.ends(t)
		if got := rm.setting(); got != "0.3" {
			t.Fatalf("nobody should have put it back: %q", got)
		}
	}
	restore := func(args ...string) (string, error) {
		out, err := exec.Command("yardmaster", append([]string{"yarn", "restore", "--journal", journal}, args...)...).CombinedOutput()
		return string(out), err
	}
	leave()
	if text, err := restore("--list"); err != nil || !strings.Contains(text, "maximum-am-resource-percent: set to 0.3 at ") || !strings.Contains(text, "will be restored to 0.15") {
		t.Errorf("%v %s", err, text)
	}
	if text, err := restore(); err != nil || !strings.Contains(text, "msg=restored") {
		t.Errorf("%v %s", err, text)
	}
	if got := rm.setting(); got != "0.15" {
		t.Errorf("restored to %q", got)
	}
	if text, err := restore(); err != nil || text != "There is nothing to restore.\n" {
		t.Errorf("%v %s", err, text)
	}

	leave()
	c := steered(t, rm, "--policy", "static", "--set", "value=0.4", "--set", "interval=1s", "--act", "--journal", journal, "--log-format", "json")
	c.until(t, `"msg":"taken"`)
	if !strings.Contains(c.err.String(), "a steerer left 1 setting changed: restoring first") {
		t.Errorf("%s", c.err)
	}
	// While it is at work nobody else gets at the queue.
	if text, err := restore(); err == nil || !strings.Contains(text, fmt.Sprintf("a steerer is running: process %d", c.Process.Pid)) {
		t.Errorf("%v %s", err, text)
	}
	second := steered(t, rm, "--policy", "static", "--set", "value=0.4", "--act", "--journal", journal)
	if code := second.ends(t); code != 1 || !strings.Contains(second.err.String(), fmt.Sprintf("is held by process %d", c.Process.Pid)) {
		t.Errorf("a second steerer: %d %s", code, second.err)
	}
	for _, line := range c.lines {
		var v map[string]any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := c.ends(t); code != 0 || rm.setting() != "0.15" {
		t.Errorf("%d, %q is set", code, rm.setting())
	}
}

// A guard that was killed is replaced, and the new one is as good.
func TestGuardIsReplaced(t *testing.T) {
	t.Parallel()
	rm := newSteeredRM(t, "")
	journal := t.TempDir()
	c := steered(t, rm, "--policy", "static", "--set", "value=0.3", "--set", "interval=1s", "--act", "--journal", journal)
	c.until(t, "msg=taken")
	first := readText(t, filepath.Join(journal, session.GuardFile))
	pid, err := strconv.Atoi(strings.TrimSpace(first))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for begin := time.Now(); !strings.Contains(c.err.String(), "stands guard now"); time.Sleep(50 * time.Millisecond) {
		if time.Since(begin) > time.Minute {
			t.Fatalf("no new guard: %s", c.err)
		}
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.ends(t)
	if got := rm.setting(); got != "" {
		t.Errorf("left behind %q: %s", got, c.err)
	}
}

// A ResourceManager that is away when the steerer leaves: the guard waits for it.
func TestGuardWaitsForTheResourceManager(t *testing.T) {
	t.Parallel()
	rm := newSteeredRM(t, "")
	rm.set(func() { rm.conf = "0.15" })
	c := steered(t, rm, "--policy", "static", "--set", "value=0.3", "--set", "interval=1s", "--act")
	c.until(t, "msg=taken")
	rm.set(func() { rm.down = true })
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Second)
	rm.set(func() { rm.down = false })
	_ = c.ends(t)
	if got := rm.setting(); got != "0.15" {
		t.Errorf("left behind %q: %s", got, c.err)
	}
}

// Watching changes nothing, and says so.
func TestObserveChangesNothing(t *testing.T) {
	t.Parallel()
	rm := newSteeredRM(t, "")
	c := steered(t, rm, "--policy", "static", "--set", "value=0.3", "--set", "interval=1s", "--for", "3s")
	if code := c.ends(t); code != 0 {
		t.Errorf("it ended with %d: %s", code, c.err)
	}
	rm.set(func() {
		if len(rm.puts) > 0 {
			t.Errorf("it wrote %q", rm.puts)
		}
	})
	text := strings.Join(c.lines, "\n")
	for _, want := range []string{"msg=decided", "maximum-am-resource-percent to 0.3", "decision=set"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q:\n%s", want, text)
		}
	}
	for _, want := range []string{"observe. Nothing is changed", "add --act", "Capacity Scheduler", "room for 2 AMs of 2048 MiB", "2 run, 3 wait"} {
		if !strings.Contains(c.err.String(), want) {
			t.Errorf("no %q:\n%s", want, c.err)
		}
	}
}

func readText(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestSteerScript types the verbs as a person would. $RM is a CapacityScheduler, $FAIR a FairScheduler.
func TestSteerScript(t *testing.T) {
	t.Parallel()
	capacity, fair := newSteeredRM(t, ""), newSteeredRM(t, fairFile(t))
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/steer",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("RM", capacity.URL)
			e.Setenv("FAIR", fair.URL)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"exitcode": exitcode},
	})
}

// Killed at any moment, again and again, with the next one started at once: the value that was there before the first one is there after
// the last.
func TestKilledAgainAndAgain(t *testing.T) {
	t.Parallel()
	rm := newSteeredRM(t, "")
	rm.set(func() { rm.conf = "0.150" }) // spelt as a person would
	journal := t.TempDir()
	rounds := 12
	if testing.Short() {
		rounds = 3
	}
	for i := range rounds {
		c := steered(t, rm, "--policy", "kalman-mem", "--set", "interval=50ms", "--spacing", "100ms", "--per-hour", "100000", "--act", "--journal", journal)
		time.Sleep(time.Duration(20+i*i*13%400) * time.Millisecond)
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if i%3 == 0 {
			_ = c.ends(t) // with its guard; else the next one meets the guard at work
		} else {
			defer c.ends(t)
		}
	}
	var text string
	for begin := time.Now(); time.Since(begin) < time.Minute; time.Sleep(100 * time.Millisecond) {
		out, err := exec.Command("yardmaster", "yarn", "restore", "--journal", journal).CombinedOutput()
		if text = string(out); err == nil {
			break
		}
	}
	if got := rm.setting(); got != "0.150" {
		t.Errorf("left behind %q: %s", got, text)
	}
	if _, open, err := live.ReadJournal(journal); err != nil || len(open) > 0 {
		t.Errorf("the journal: %v, %v", open, err)
	}
}
