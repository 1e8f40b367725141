//go:build unix

package cli

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/steer/drive/live"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// adhoc submits short applications of users in turn to root.adhoc, one a second, until the test ends. It returns when some of each have ended.
func adhoc(t *testing.T, lab *hadoop.Cluster, c *rest.Client, users ...string) {
	var apps []hadoop.Application
	for i := range 400 {
		apps = append(apps, hadoop.Application{ID: fmt.Sprintf("adhoc-%03d", i), User: users[i%len(users)], Queue: "root.adhoc", Submit: hadoop.Millis(1000 * i),
			Containers: []hadoop.Group{{Count: 1, MB: 512, Hold: hadoop.Holds{hadoop.Millis(800 + i*7919%400)}}}})
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = lab.AMs(ctx, apps, hadoop.AMsOptions{Heartbeat: 200 * time.Millisecond, Threads: 64, HeapMB: 256}) // it is cancelled
	}()
	t.Cleanup(func() { cancel(); <-ended })
	eventually(t, "enough applications have ended", func() bool {
		n := 0
		for a, err := range c.Apps(t.Context(), rest.AppFilter{States: []string{"FINISHED"}}) {
			if err == nil && a.FinalStatus == "SUCCEEDED" {
				n++
			}
		}
		return n >= 10+10*len(users)
	})
}

func setting(t *testing.T, c *rest.Client, name string) string {
	t.Helper()
	p, err := c.SchedulerConf(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if x := p.Get("yarn.scheduler.capacity." + name); x != nil {
		return x.Value
	}
	return "unset"
}

// On a real ResourceManager: the dry run changes nothing, a harmless change stays, and a harmful one is rolled back without a person.
func TestLabApply(t *testing.T) {
	lab, c := labUp(t, hadoop.Options{NodeMB: 16384, NodeVcores: 64})
	journal := filepath.Join(t.TempDir(), "journal")
	run := func(want int, part string, args ...string) string {
		t.Helper()
		code, text := ran(t, append([]string{"yarn", "apply", "--rm", lab.RM(), "--user", "yardmaster", "--journal", journal}, args...)...)
		if t.Logf("yarn apply %s\n%s", strings.Join(args, " "), text); code != want || !strings.Contains(text, part) {
			t.Errorf("%v: %d, want %d and %q", args, code, want, part)
		}
		return text
	}
	adhoc(t, lab, c, "alice")
	goal := []string{"--goal", "p95 elapsed of root.adhoc", "--keep", "p95 elapsed of root.adhoc <= +20 %"}
	prod, batch := setting(t, c, "root.prod.capacity"), setting(t, c, "root.batch.capacity")

	run(0, "Valid, by the ResourceManager's own validation", append(goal, "root.adhoc.maximum-am-resource-percent=0.01")...)
	run(1, "add up to", "root.prod.capacity=99")
	run(1, "want RUNNING or STOPPED", "root.adhoc.state=HALTED")
	before := setting(t, c, "root.adhoc.maximum-am-resource-percent")
	run(1, "rolled back: the old settings are in force again", append(goal, "root.adhoc.maximum-am-resource-percent=0.01", "--watch", "60s", "--act")...)
	if got := setting(t, c, "root.adhoc.maximum-am-resource-percent"); got != before {
		t.Errorf("it is %s, and was %s", got, before)
	}
	run(0, "Kept: the new settings stay", append(goal[:2:2], "root.prod.capacity="+batch, "root.batch.capacity="+prod, "--watch", "10s", "--act")...)
	if got := setting(t, c, "root.prod.capacity") + " " + setting(t, c, "root.batch.capacity"); got != batch+" "+prod {
		t.Errorf("the capacities are %s", got)
	}
	if p, err := c.SchedulerConf(t.Context()); err != nil || strings.Contains(fmt.Sprint(p.List), "yardmaster.journal") {
		t.Errorf("a mark is left: %v", err)
	}
	if got := outcomes(t, journal); got != "started, rolled back, started, kept" {
		t.Errorf("the record says %s", got)
	}
}

// A kill at any moment leaves the old or the new configuration, and the journal says which; what is open is restored.
func TestLabApplyKills(t *testing.T) {
	lab, c := labUp(t, hadoop.Options{})
	journal := filepath.Join(t.TempDir(), "journal")
	prod, batch := setting(t, c, "root.prod.capacity"), setting(t, c, "root.batch.capacity")
	was, is := prod+" "+batch, batch+" "+prod
	now := func() string { return setting(t, c, "root.prod.capacity") + " " + setting(t, c, "root.batch.capacity") }
	random := rand.New(rand.NewPCG(1, 2))
	args := []string{"yarn", "apply", "--rm", lab.RM(), "--user", "yardmaster", "--journal", journal, "root.prod.capacity=" + batch, "root.batch.capacity=" + prod,
		"--goal", "mean elapsed of all", "--watch", "2s", "--act"}
	for n := range 8 {
		y := started(t, args...)
		time.Sleep(time.Duration(random.IntN(3000)) * time.Millisecond)
		_ = syscall.Kill(-y.Process.Pid, syscall.SIGKILL) // it may have ended
		_ = y.Process.Kill()
		y.ends(t)
		eventually(t, "the old or the new configuration, closed in the journal", func() bool {
			_, open, err := live.ReadJournal(journal)
			return err == nil && len(open) == 0 && (now() == was || now() == is)
		})
		if t.Logf("kill %d: %s", n, now()); now() == is { // it was kept
			was, is, prod, batch = is, was, batch, prod
			args[8], args[9] = "root.prod.capacity="+batch, "root.batch.capacity="+prod
		}
	}
}
