//go:build linux

package history

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// TestLabSums imports applications that only a real ResourceManager knows of, one that has ended and one that runs: they hold what the
// ResourceManager says they held.
func TestLabSums(t *testing.T) {
	if os.Getenv("YARDMASTER_LAB_TESTS") == "" {
		t.Skip("YARDMASTER_LAB_TESTS is not set")
	}
	c, err := hadoop.Up(t.Context(), hadoop.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Down(); err != nil {
			t.Error(err)
		}
	})
	client, err := rest.New(rest.Options{RM: []string{c.RM()}, RMRate: -1, Auth: rest.User("yardmaster")})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := c.AMs(ctx, []hadoop.Application{
			{ID: "short", User: "alice", Queue: "prod", Containers: []hadoop.Group{
				{Count: 3, MB: 384, Hold: hadoop.Holds{4000, 5500, 7000}}, {Count: 1, MB: 640, Vcores: 2, Priority: 2, Hold: hadoop.Holds{3300}},
			}},
			{ID: "long", User: "bob", Queue: "batch", Containers: []hadoop.Group{{Count: 2, MB: 256, Hold: hadoop.Holds{600_000}}}},
		}, hadoop.AMsOptions{})
		done <- err
	}()
	t.Cleanup(func() { cancel(); <-done })

	list := func() map[string]rest.App {
		apps := map[string]rest.App{}
		for a, err := range client.Apps(ctx, rest.AppFilter{}) {
			if err != nil {
				t.Fatal(err)
			}
			apps[a.User] = a
		}
		return apps
	}
	var before map[string]rest.App
	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(time.Second) {
		if before = list(); before["alice"].State == "FINISHED" && before["bob"].MemorySeconds > 0 {
			break
		}
		select {
		case err := <-done:
			done <- nil
			t.Fatalf("the applications ended: %v", err)
		default:
		}
		if time.Now().After(end) {
			t.Fatalf("the applications do not run: %+v", before)
		}
	}
	dir := t.TempDir()
	sum, err := Run(ctx, Options{Client: client, RM: true, Running: true, Now: time.Now(), Dir: dir, Jobs: "jobs.parquet"})
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprint(sum.Notes); before["alice"].LaunchTime > 0 || !strings.Contains(text, "do not say when they got their first container") {
		t.Errorf("launched at %d: %s", before["alice"].LaunchTime, text)
	}
	after := list()
	jobs := map[string]*workload.Job{}
	for _, j := range read(t, filepath.Join(dir, "jobs.parquet")) {
		jobs[j.User] = j
	}
	for user, j := range jobs {
		mem, cores := holds(j, 0)
		t.Logf("%s: %.3f MiB-s and %.3f core-s; the ResourceManager says %d and %d, later %d and %d: %+v", user, mem, cores, before[user].MemorySeconds, before[user].VCoreSeconds,
			after[user].MemorySeconds, after[user].VCoreSeconds, j.Stages)
		if !j.AM.IsZero() || mem < float64(before[user].MemorySeconds)-1 || mem > float64(after[user].MemorySeconds)+1 ||
			cores < float64(before[user].VCoreSeconds)-1 || cores > float64(after[user].VCoreSeconds)+1 {
			t.Errorf("%s holds %v MiB-s and %v core-s", user, mem, cores)
		}
	}
	if a := jobs["alice"]; a == nil || a.Observed == nil || math.Abs(float64(after["alice"].MemorySeconds-before["alice"].MemorySeconds)) != 0 {
		t.Errorf("the one that has ended: %+v", a)
	}
	if b := jobs["bob"]; b == nil || b.Observed != nil {
		t.Errorf("the one that runs: %+v", b)
	}
}
