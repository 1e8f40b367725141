package trace

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/workload"
)

func TestDeal(t *testing.T) {
	var jobs workload.Slice
	for i := range 200 {
		jobs = append(jobs, &workload.Job{ID: fmt.Sprintf("j%d", i), User: fmt.Sprintf("ann%d", i%7), Queue: "old"})
	}
	read := func(d Deal) workload.Slice {
		t.Helper()
		out, err := workload.ReadAll(d.Source(jobs.Source()))
		if err != nil || len(out) != len(jobs) {
			t.Fatalf("%d jobs, %v", len(out), err)
		}
		return out
	}
	users := func(js workload.Slice) map[string]string {
		queue := map[string]string{}
		for _, j := range js {
			if q, seen := queue[j.User]; seen && q != j.Queue {
				t.Errorf("%s is in %s and in %s", j.User, q, j.Queue)
			}
			queue[j.User] = j.Queue
		}
		return queue
	}
	if got := users(read(Deal{Users: 3, Queues: []string{"a", "b"}, Seed: 1})); len(got) != 3 || got["u001"] != "a" || got["u002"] != "b" {
		t.Errorf("users and queues: %v", got)
	}
	if got := users(read(Deal{Queues: []string{"a", "b"}, Seed: 1})); len(got) != 7 || got["ann0"] == "old" {
		t.Errorf("queues alone keep users: %v", got)
	}
	if got := users(read(Deal{Users: 5, Seed: 1})); len(got) != 5 || got["u001"] != "old" {
		t.Errorf("users alone keep queues: %v", got)
	}
	if d := cmp.Diff(read(Deal{Users: 9, Seed: 4}), read(Deal{Users: 9, Seed: 4})); d != "" {
		t.Error(d)
	}
	if jobs[0].Queue != "old" || jobs[0].User != "ann0" {
		t.Error("a job that was handed out was changed")
	}
}

// Users and queues are reassigned whatever the format is; SWIM, which has none, keeps its own way.
func TestOptionsDeal(t *testing.T) {
	for name, text := range map[string]string{"parquet": parquet(t), "swim": swimText} {
		t.Run(name, func(t *testing.T) {
			opt := Defaults()
			opt.Users, opt.Queues = 2, []string{"a", "b"}
			w, err := Open([]string{write(t, "f", text)}, opt)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			jobs, err := workload.ReadAll(w)
			if err != nil || len(jobs) == 0 {
				t.Fatal(len(jobs), err)
			}
			for _, j := range jobs {
				if j.User != "u001" && j.User != "u002" || j.Queue != "a" && j.Queue != "b" {
					t.Errorf("%s is of %q in %q", j.ID, j.User, j.Queue)
				}
			}
			if all := strings.Join(w.Assumptions(), "\n"); !strings.Contains(all, "2 users") || !strings.Contains(all, "2 queues") {
				t.Errorf("assumptions: %s", all)
			}
		})
	}
}
